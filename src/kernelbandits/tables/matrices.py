"""Square matrices in files: the similarity of all pairs of candidates, or the edges of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.tables.encodings import decode_text, read_content
from kernelbandits.tables.sources import NUMPY, read_start, read_table
from kernelbandits.tables.table import (
    LARGEST,
    TEXT,
    Table,
    column_kind,
    column_numbers,
    column_texts,
    has_only_numbers,
    origin,
    read_numbers,
)

FEWEST = 3
"""Candidates of a matrix that is recognised; a smaller one may be symmetric by chance."""


def read_matrix(path: str | PathLike[str]) -> tuple[Array, tuple[str, ...]]:
    """Read an (n, n) matrix, and the names of its candidates if the file has them.

    A numpy file (.npy) has no names. Of a CSV file, a workbook or a Parquet file the names of the
    columns are those of the candidates; a first column of text has the same names again.
    """
    start = read_start(path)
    from_array = start.startswith(NUMPY)
    hint = (
        ""
        if from_array or not start
        else "; the first line of a matrix has the names of the candidates"
    )
    try:
        table = read_table(path)
    except ValueError as error:
        raise ValueError(f"{error}{hint}") from None
    assert table is not None
    names = tuple(table.columns)
    if names and column_kind(table, names[0]) == TEXT:
        check_row_names(table, names)
        names = names[1:]
    columns = [read_numbers(table, name, LARGEST) for name in names]
    matrix = np.column_stack(columns) if columns else np.zeros((0, 0))
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{origin(table).source} needs an (n, n) matrix, got {matrix.shape}{hint}")
    return matrix, () if from_array else names


def is_similarity(table: Table) -> bool:
    """Tell whether a table is a symmetric matrix: no table of candidates, but their similarity.

    A first column of text may have the names of the rows.
    """
    names = list(table.columns)
    if names and column_kind(table, names[0]) == TEXT:
        del names[0]
    numbers = all(has_only_numbers(table, name) for name in names)
    if not numbers or len(names) != len(table) or len(names) < FEWEST:
        return False
    matrix = np.column_stack([column_numbers(table, name) for name in names])
    return bool(np.isfinite(matrix).all() and (matrix == matrix.T).all())


def check_row_names(table: Table, names: Sequence[str]) -> None:
    """Refuse a matrix whose rows are in another order than its columns."""
    for row, (here, there) in enumerate(
        zip(column_texts(table, names[0]), names[1:], strict=False)
    ):
        needed = f"the same name for row {row} as for its column, {there!r}"
        checks.needs(here == there, origin(table).source, needed, here)


def read_labels(path: str | PathLike[str], size: int) -> tuple[str, ...]:
    """Read the names of n candidates, one in each line; one line more is a heading."""
    text, _ = decode_text(Path(path).name, read_content(path))
    lines = [line.strip() for line in text.rstrip().splitlines()]
    found = lines[1:] if len(lines) == size + 1 else lines
    needed = f"a name in each of {size} lines, one for each candidate"
    checks.needs(len(found) == size, Path(path).name, needed, len(found))
    return tuple(found)
