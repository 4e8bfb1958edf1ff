"""The true values of the candidates, from which the regret of a study is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.tables.cells import parse_numbers

if TYPE_CHECKING:
    from kernelbandits.study import Study
    from kernelbandits.study.candidates import Candidates

NEEDED = (
    "the true values as row -> value, one number for each row, "
    "a column of the table or of a CSV file"
)


def read_truth(study: Study, truth: Any, measured: Indices) -> Array:
    """Return one true value for each row of the table.

    Every row that is allowed or measured needs a value. The other rows may be missing (nan).
    """
    rows = len(study.candidates.table)
    values = np.full(rows, np.nan)
    for row, value in values_by_row(study, truth).items():
        checks.needs(
            checks.is_whole(row) and 0 <= row < rows, "truth", f"rows from 0 to {rows - 1}", row
        )
        values[int(row)] = (
            np.nan if is_missing(value) else checks.number("truth", f"for row {row}", value)
        )
    needed = np.union1d(np.flatnonzero(study.candidates.table.allowed_rows), measured)
    for row in needed[np.isnan(values[needed])][:1]:
        raise ValueError(
            f"truth needs a value for every row that is allowed or measured, got none for row {row}"
        )
    return values


def is_missing(value: Any) -> bool:
    return value is None or bool(value != value)


def values_by_row(study: Study, truth: Any) -> Mapping[Any, Any]:
    if isinstance(truth, Mapping):
        return truth
    if isinstance(truth, (str, Path)):
        return values_by_name(study, truth)
    if hasattr(truth, "columns"):
        return values_of_columns(
            study, {str(name): list(truth.iloc[:, i]) for i, name in enumerate(truth.columns)}
        )
    checks.needs(np.ndim(truth) == 1, "truth", NEEDED, type(truth).__name__)
    return number_rows(study, list(truth))


def values_by_name(study: Study, name: str | Path) -> Mapping[int, Any]:
    """Read a column of the study's own table, or a CSV file."""
    from kernelbandits.study.candidates import read_candidates

    if name in study.candidates.table.columns:
        return number_rows(study, column_numbers(study.candidates.table, str(name)))
    checks.needs(Path(name).is_file(), "truth", NEEDED, str(name))
    table = read_candidates(name)
    return values_of_columns(
        study,
        {one: column_numbers(table, one) for one in table.columns if one in ("row", study.target)},
    )


def values_of_columns(study: Study, columns: Mapping[str, list[Any]]) -> Mapping[int, Any]:
    """Take the column of the target: in the order of the table, or by a column `row`."""
    checks.needs(
        study.target in columns,
        "truth",
        f"a column {study.target!r}",
        ", ".join(columns) or "others",
    )
    values = columns[study.target]
    if "row" not in columns:
        return number_rows(study, values)
    return {int(row): value for row, value in zip(columns["row"], values, strict=True)}


def number_rows(study: Study, values: Sequence[Any]) -> dict[int, Any]:
    rows = len(study.candidates.table)
    checks.needs(
        len(values) == rows,
        "truth",
        f"one value for each of the {rows} rows",
        f"{len(values)} values",
    )
    return dict(enumerate(values))


def column_numbers(table: Candidates, name: str) -> list[float | None]:
    texts = table.texts(name)
    numbers = parse_numbers(texts).tolist()
    for row, (cell, number) in enumerate(zip(texts, numbers, strict=True)):
        if cell and number != number:
            raise ValueError(f"truth needs numbers, got {cell!r} in row {row}")
    return [number if cell else None for cell, number in zip(texts, numbers, strict=True)]
