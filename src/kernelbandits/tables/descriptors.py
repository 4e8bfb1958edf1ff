"""Descriptors: what a file says of the values of a category, and how alike two values are by it.

    S(v, w) = exp(-d(v, w)^2) for two values of the file,   S(v, w) = [v = w] otherwise

where d^2 is the mean over the descriptors of the squared difference, in units in which its mean
over all pairs of values of the file is 1. Two values become points at the distance sqrt(1 - S), so
a value that the file does not know is at distance 1 from every other one, as without descriptors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.formatting import format_count
from kernelbandits.tables.headers import find, numbers_rows
from kernelbandits.tables.scaling import scale_to_unit
from kernelbandits.tables.sources import read_table
from kernelbandits.tables.table import (
    LARGEST,
    NUMBERS,
    Table,
    cell_place,
    column_kind,
    origin,
    read_numbers,
    read_texts,
    row_place,
)

MOST_CELLS = 100_000
"""Cells of descriptors that a study stores; it reads them whenever it is opened."""
OWN_SHARE = 1e-9
"""The part of the likeness of a value with itself that no other value has: without it the matrix of
likenesses of many values with one descriptor has no Cholesky factor."""
LISTED = 8
"""How many descriptors or values a notice lists."""


@dataclass(frozen=True, eq=False)
class Descriptors:
    """The descriptors of the values of one category, and how alike they make two values.

    >>> acids = Descriptors(("acetic", "formic", "citric"), {"pKa": [4.76, 3.75, 3.13]})
    >>> acids.likeness(["formic", "citric", "unknown"]).round(2).tolist()
    [[1.0, 0.75, 0.0], [0.75, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    values: tuple[str, ...]
    """The values that are described."""
    columns: Mapping[str, Sequence[float] | Sequence[str]]
    """Name of a descriptor -> its numbers or texts, in the order of the values."""

    @property
    def body(self) -> dict[str, Any]:
        """The values and their descriptors as JSON has them."""
        return {
            "values": list(self.values),
            "columns": {k: list(v) for k, v in self.columns.items()},
        }

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Descriptors:
        """Return the descriptors that `body` wrote."""
        return cls(
            tuple(body["values"]), {name: tuple(cells) for name, cells in body["columns"].items()}
        )

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each value."""
        return {value: place for place, value in enumerate(self.values)}

    @cached_property
    def points(self) -> Array:
        """Values with equal descriptors are at one point, and d is the distance of two points."""
        parts = [spread_out(cells) for cells in self.columns.values()]
        return np.asarray(np.column_stack(parts) / np.sqrt(len(parts)))

    def likeness(self, values: Sequence[str]) -> Array:
        """Return S of all pairs of some values, of which the file need not know all."""
        likeness = np.eye(len(values))
        known = [i for i, value in enumerate(values) if value in self.places]
        points = self.points[[self.places[values[i]] for i in known]]
        squares = np.zeros((len(known), len(known)))
        for coordinate in points.T:
            squares += np.square(coordinate[:, None] - coordinate)
        likeness[np.ix_(known, known)] = np.exp(-squares)
        return likeness

    def embed(self, values: Sequence[str]) -> Array:
        """Return a point for each of some different values, two of them sqrt(1 - S) apart.

        A further value at the end leaves the points of the others as they are, but for one more
        coordinate, which is 0.
        """
        likeness = self.likeness(values)
        _, first, group = np.unique(likeness, axis=0, return_index=True, return_inverse=True)
        kept = np.sort(first)
        same = np.searchsorted(kept, first[group.reshape(-1)])
        different = likeness[np.ix_(kept, kept)] * (1 - OWN_SHARE) + OWN_SHARE * np.eye(len(kept))
        points = np.zeros((len(values), len(values)))
        points[:, kept] = np.linalg.cholesky(different)[same]
        return np.asarray(points * np.sqrt(0.5))


def spread_out(cells: Sequence[float] | Sequence[str]) -> Array:
    """Return coordinates of one descriptor, in which two values differ by 1 in the mean square."""
    if isinstance(cells[0], str):
        texts = {text: i for i, text in enumerate(dict.fromkeys(cells))}
        points = np.sqrt(0.5) * np.eye(len(texts))[[texts[text] for text in cells]]
    else:
        points = scale_to_unit(np.array(cells, dtype=np.float64))[:, None]
    # The mean over pairs of the squared distance is twice the sum of the variances, n / (n - 1).
    mean_square = 2 * points.var(axis=0).sum() * len(cells) / (len(cells) - 1)
    return np.asarray(points / np.sqrt(mean_square))


def read_descriptors(name: str, source: Any, used: Sequence[str]) -> tuple[Descriptors, list[str]]:
    """Read the descriptors of the values of a column, and say what is worth knowing about them.

    Parameters
    ----------
    name
        The column of the table. The values stand in the column of this name, or in the first one;
        all other columns are descriptors.
    source
        A CSV file, a workbook, a Parquet file or a DataFrame.
    used
        The values that the column of the table has.
    """
    table = read_table(source, preferred=(describing_sheet(name),))
    if table is None:
        got = type(source).__name__
        raise ValueError(f"describe needs a file or a DataFrame for {name!r}, got {got}")
    about = origin(table).source
    checks.needs(len(table) > 0, about, "at least one row", 0)
    naming = find(table.columns, name) or table.columns[0]
    values = read_texts(table, naming)
    first: dict[str, int] = {}
    for i, value in enumerate(values):
        first.setdefault(value, i)
    columns, notices = choose_descriptors(table, name, naming, [first[value] for value in values])
    size = len(first) * len(columns)
    known = [value for value in used if value in first]
    if len(known) < 2:
        got = f"{known[0]!r} only" if known else f"none of {list_some(used)}"
        raise ValueError(
            f"{about} needs descriptors of at least two values of column {name!r}, got {got} in "
            f"its column {naming!r}"
        )
    if not columns:
        got = f"none: {'; '.join(notices)}" if notices else "no column beside the values"
        raise ValueError(f"{about} needs a descriptor that differs between values, got {got}")
    checks.needs(size <= MOST_CELLS, about, f"at most {MOST_CELLS} cells of descriptors", size)
    cells = {column: [cells[i] for i in first.values()] for column, cells in columns.items()}
    found = Descriptors(tuple(first), cells)
    return found, [*notices, *remark_descriptors(name, found, used)]


def choose_descriptors(
    table: Table, name: str, naming: str, first: Sequence[int]
) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the cells of the columns that say which values are alike, and why others do not.

    first: for each row the first one with the same value, which must have the same descriptors.
    """
    columns: dict[str, list[Any]] = {}
    notices: list[str] = []
    for column in table.columns:
        if column == naming:
            continue
        cells = read_descriptor(table, column)
        if numbers_rows(column):
            fault = "only numbers the rows"
        else:
            check_equal(table, column, cells, first)
            fault = find_fault([cells[i] for i in sorted(set(first))])
        if fault:
            notices.append(f"descriptor {column!r} of {name!r} {fault} and is left out")
        else:
            columns[column] = cells
    return columns, notices


def describing_sheet(name: str) -> str:
    """Return the sheet of an exported workbook with the descriptors of a column."""
    allowed = "".join("_" if letter in "[]:*?/\\'" else letter for letter in name)
    return f"values of {allowed}"[:31]


def read_descriptor(table: Table, column: str) -> list[Any]:
    """Return the cells of a descriptor: finite numbers, or texts."""
    try:
        if column_kind(table, column) == NUMBERS:
            return list(read_numbers(table, column, LARGEST).tolist())
        return read_texts(table, column)
    except ValueError as error:
        raise ValueError(f"{error}; correct it, or leave the row or the column out") from None


def find_fault(cells: Sequence[Any]) -> str:
    """Return why the cells of different values do not say which are alike; "" if they do."""
    if len(set(cells)) == 1:
        return "has the same value in every row"
    if isinstance(cells[0], str) and len(set(cells)) == len(cells):
        return "is text that is never the same twice"
    return ""


def check_equal(table: Table, column: str, cells: Sequence[Any], first: Sequence[int]) -> None:
    """Refuse a cell that differs from that of the first row with the same value."""
    for i, k in enumerate(first):
        if cells[i] != cells[k]:
            raise ValueError(
                f"{origin(table).source} needs the same descriptors wherever a value comes, got "
                f"{cells[k]} in {row_place(table, k)} and {cells[i]} {cell_place(table, i, column)}"
            )


def remark_descriptors(name: str, found: Descriptors, used: Iterable[str]) -> Iterator[str]:
    """Yield how the values of a column are compared, and which of them look the same."""
    values = list(used)
    unknown = [value for value in values if value not in found.places]
    size = format_count(len(found.columns), "descriptor")
    by_name = f"; by name only: {list_some(unknown)}" if unknown else ""
    yield (f"values of {name!r} are compared by {size}: {list_some(list(found.columns))}{by_name}")
    seen: dict[bytes, str] = {}
    for value in values:
        if value in found.places:
            point = found.points[found.places[value]].tobytes()
            other = seen.setdefault(point, value)
            if other != value:
                yield (
                    f"values {other!r} and {value!r} of {name!r} have equal descriptors and are "
                    "the same to the model; their rows stay different candidates"
                )


def list_some(names: Sequence[str]) -> str:
    """Return the first few of some names."""
    return ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
