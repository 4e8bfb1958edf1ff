"""What a table is made from: a CSV file, a DataFrame, an array or a list of mappings."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.tables.cells import plain, storable, text_of
from kernelbandits.tables.csv_files import read_csv
from kernelbandits.tables.headers import NAMELESS, distinct
from kernelbandits.tables.table import MOST_ROWS, Column, Table

if TYPE_CHECKING:
    import pandas as pd

ARRAY = "the array"


def read_table(source: Any) -> Table | None:
    """A CSV file or a DataFrame as a table; None for what is neither."""
    if isinstance(source, (str, PathLike)):
        return read_csv(source, NAMELESS)
    return frame_table(source) if is_frame(source) else None


def is_frame(source: Any) -> bool:
    """Whether this is a DataFrame, without importing pandas for the question."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, pandas.DataFrame)


def frame_table(frame: pd.DataFrame) -> Table:
    """Missing values are blank cells; a named index is a column of labels."""
    checks.needs(len(frame) <= MOST_ROWS, "the DataFrame", f"at most {MOST_ROWS} rows", len(frame))
    names = [label(name) for name in frame.columns]
    distinct("the DataFrame", names)
    labels = index_labels(frame, names)
    columns = {name: frame_column(name, values) for name, values in labels.items()}
    columns |= {name: frame_column(name, frame.iloc[:, i]) for i, name in enumerate(names)}
    return Table("the DataFrame", columns, range(len(frame)), unit="row", labels=tuple(labels))


def index_labels(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """Return the named levels of an index; an index 0, 1, 2, ... only numbers the rows."""
    if frame.index.nlevels == 1 and list(frame.index) == list(range(len(frame))):
        return {}
    levels = {label(name): i for i, name in enumerate(frame.index.names) if name is not None}
    return {
        name: frame.index.get_level_values(i).to_series()
        for name, i in levels.items()
        if name not in names
    }


def frame_column(name: str, values: Any) -> Column:
    dtype = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        return Column(values.to_numpy(dtype=np.float64))
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return Column(tuple(map(str, values.tolist())))
    missing = values.isna().to_numpy()
    items = enumerate(zip(values, missing, strict=True))
    return Column(
        tuple(
            "" if absent else cell_text(f"row {row}, column {name!r}", value)
            for row, (value, absent) in items
        )
    )


def cell_text(place: str, value: Any) -> str:
    try:
        return text_of(value)
    except ValueError as error:
        raise ValueError(f"{error} in {place}") from None


def array_table(values: Any, names: Sequence[str] | None) -> Table:
    """The columns of an (n, d) array, called x1 ... xd unless they are named."""
    checks.needs(
        not hasattr(values, "columns"),
        "candidates",
        "a pandas DataFrame (to_pandas())",
        type(values).__name__,
    )
    array = checks.points("candidates", values)
    checks.needs(len(array) <= MOST_ROWS, ARRAY, f"at most {MOST_ROWS} rows", len(array))
    given = (
        [f"x{i + 1}" for i in range(array.shape[1])]
        if names is None
        else [label(name) for name in names]
    )
    checks.needs(
        len(given) == array.shape[1], "candidates", f"{array.shape[1]} names of columns", given
    )
    distinct("candidates", given)
    columns = {name: Column(array[:, i].copy()) for i, name in enumerate(given)}
    return Table(ARRAY, columns, range(len(array)), unit="row")


def mapping_table(items: Iterable[Mapping[str, Any]]) -> Table:
    """One row for each mapping; what it does not have is blank."""
    rows = list(items) if isinstance(items, Iterable) else [items]
    checks.needs(
        all(isinstance(row, Mapping) for row in rows), "results", "a list of mappings", items
    )
    names = {name: label(name) for row in rows for name in row}
    distinct("results", list(names.values()))
    columns = {
        text: Column(
            tuple(
                cell_text(f"item {i}, column {text!r}", row.get(name)) for i, row in enumerate(rows)
            )
        )
        for name, text in names.items()
    }
    return Table("results", columns, range(len(rows)), unit="item")


def label(name: Any) -> str:
    return storable(plain(str(name)))
