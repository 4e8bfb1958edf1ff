"""A table as every reader leaves it: a DataFrame of text with the line of each row as its index.

A column has the cells as they stand in the file; one that came as numbers, from an array or a
DataFrame, has float64 numbers, nan where one is missing. The functions below turn cells into
numbers, and refuse a cell by its line and its column.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

import numpy as np

from kernelbandits.checks import LARGEST_REWARD, Array
from kernelbandits.tables.cells import (
    ABSENT,
    MISSING,
    canonical_texts,
    is_number,
    looks_numeric,
    parse_numbers,
    parse_result,
    suggest_number,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 2**20
"""As many as a spreadsheet holds."""
LARGEST = sys.float_info.max
MOST_PROBLEMS, LISTED = 1000, 20
"""Wrong cells that are looked for, and those that a message lists."""
SHOWN = 60
"""How many characters of a cell a message shows."""

NUMBERS, TEXT = "number", "category"
"""The two kinds of columns: numbers, and text whose values are categories."""

Table: TypeAlias = "pd.DataFrame"
"""A DataFrame that `make_table` made."""
Derived = TypeVar("Derived")


@dataclass(frozen=True)
class WrongCell:
    """A cell that cannot be used for what its column is for.

    >>> WrongCell("Cs", "B7", "films.xlsx", "in row 7, column 'Cs'", "a number", "'x'").sentence
    "films.xlsx needs a number in row 7, column 'Cs', got 'x'"
    """

    column: str
    cell: str
    """Its name, such as B7; "" in a table that is no file of cells."""
    source: str
    place: str
    """Where it stands, in words."""
    needed: str
    got: str
    hint: str = ""
    """What to write."""
    spread: bool = False
    """Whether it has the value of the cells that it is merged with, which is enough for a
    description. A result is that of one row."""

    @property
    def sentence(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.source} needs {self.needed} {self.place}, got {self.got}{hint}"

    @property
    def entry(self) -> str:
        """The cell and what it has, in a list of cells."""
        where = f"{self.cell} ({self.column})" if self.cell else self.place
        return f"{where} {self.got}"


class WrongCells(ValueError):
    """Cells of a table that cannot be used, all of them at once."""

    def __init__(self, problems: Sequence[WrongCell], advice: str = "") -> None:
        self.cells = tuple(problems)
        first = self.cells[0]
        listed = [one.entry for one in self.cells[:LISTED]]
        if rest := len(self.cells) - len(listed):
            listed.append(f"and {rest} more")
        count = f"all {len(self.cells)}"
        if len(self.cells) >= MOST_PROBLEMS:
            count = f"the first {len(self.cells)}"
        several = f"; {count} cells to correct: {', '.join(listed)}" if problems[1:] else ""
        super().__init__(f"{first.sentence}{advice}{several}")


def problems_of(
    table: Table, columns: Collection[str | None], described: Collection[str]
) -> list[WrongCell]:
    """Return the wrong cells of these columns, of which some describe candidates."""
    return [
        one
        for one in origin(table).problems
        if one.column in columns and not (one.spread and one.column in described)
    ]


def refuse_problems(problems: Iterable[WrongCell], advice: str = "") -> None:
    """Raise the error of cells that cannot be used, if there are any."""
    found = list(islice(problems, MOST_PROBLEMS))
    if found:
        raise WrongCells(found, advice)


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a table came from, and what was decided about it."""

    source: str
    """How messages call it: films.csv, the DataFrame."""
    unit: str = "line"
    """What the index counts."""
    decimal: str = "."
    """The decimal mark of text."""
    labels: tuple[str, ...] = ()
    """Columns that only number or name the rows."""
    notices: tuple[str, ...] = ()
    """What was decided about the file: its encoding, its delimiter."""
    from_file: bool = False
    """Whether it may be told again after it has grown."""
    positions: Mapping[str, str] = field(default_factory=dict)
    """Column -> its letters in the file, by which a cell is called B7; empty for other tables."""
    header: int = 0
    """The number of the row of the names, in a file of cells."""
    first_rows: Sequence[tuple[int, Mapping[int, str]]] = ()
    """The first rows of a file as they stand: the number of each, and its cells by column."""
    unnamed: tuple[str, ...] = ()
    """Columns that the file has no name for."""
    problems: tuple[WrongCell, ...] = ()
    """Cells that cannot be used, whatever their column is for."""
    derived: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False)
    """What was computed from a column of the table."""

    def __deepcopy__(self, memo: Any) -> Origin:
        # pandas copies the attributes of a table whenever a column is taken out of it.
        return self


def make_table(
    columns: Mapping[str, Sequence[str] | Array], lines: Sequence[int], origin: Origin
) -> Table:
    """Return columns of text or numbers as a table, the rows of which stand in these lines."""
    import pandas as pd

    index = pd.Index(lines, dtype=np.int64)
    series = {
        name: pd.Series(cells, index, np.float64 if isinstance(cells, np.ndarray) else object)
        for name, cells in columns.items()
    }
    table = pd.DataFrame(series, index)
    table.attrs["origin"] = origin
    # The texts of a large file are taken as they came, and not once more from the DataFrame.
    texts = {name: cells for name, cells in columns.items() if isinstance(cells, list)}
    origin.derived.update(((column_texts.__name__, name), cells) for name, cells in texts.items())
    return table


def origin(table: Table) -> Origin:
    """Return where a table came from."""
    found: Origin = table.attrs["origin"]
    return found


def keep_derived(
    derive: Callable[[Table, str], Derived],
) -> Callable[[Table, str], Derived]:
    """Let a function of a table and a column compute its result once and keep it."""

    @wraps(derive)
    def look_up(table: Table, name: str) -> Derived:
        kept, key = table.attrs["origin"].derived, (derive.__name__, name)
        if key not in kept:
            kept[key] = derive(table, name)
        result: Derived = kept[key]
        return result

    return look_up


def came_as_numbers(table: Table, name: str) -> bool:
    """Tell whether a column was never text."""
    return table[name].dtype == np.float64


@keep_derived
def column_texts(table: Table, name: str) -> list[str]:
    """Return the cells as they stand; numbers that came as numbers in their canonical form."""
    if not came_as_numbers(table, name):
        return list(table[name].tolist())
    values = table[name].to_numpy()
    finite = np.isfinite(values)
    texts = canonical_texts(np.where(finite, values, 0.0))
    for i in np.flatnonzero(~finite).tolist():
        texts[i] = "" if np.isnan(values[i]) else str(values[i])
    return texts


@keep_derived
def column_numbers(table: Table, name: str) -> Array:
    """Return the number in each cell, nan where there is none; -0.0 is 0."""
    if came_as_numbers(table, name):
        values = table[name].to_numpy()
        return np.where(np.isfinite(values), values, np.nan) + 0.0
    return parse_numbers(column_texts(table, name), origin(table).decimal) + 0.0


@keep_derived
def column_results(table: Table, name: str) -> Array:
    """Return the number in each cell, also of a limit such as <0.5; -inf for n.d., nan if none."""
    values = column_numbers(table, name).copy()
    texts = column_texts(table, name) if np.isnan(values).any() else []
    for i in np.flatnonzero(np.isnan(values)).tolist():
        values[i] = float(parse_result(texts[i], origin(table).decimal))
    return values


@keep_derived
def distinct_texts(table: Table, name: str) -> set[str]:
    """Return the different cells, without missing ones."""
    return set(column_texts(table, name)) - ABSENT


@keep_derived
def column_kind(table: Table, name: str) -> str:
    """Return the kind of the cells: numbers if half of them are or look like numbers, else text."""
    numbers = int(np.count_nonzero(~np.isnan(column_numbers(table, name))))
    if numbers == len(table):
        return NUMBERS
    filled = [cell for cell in column_texts(table, name) if cell not in ABSENT]
    if 2 * numbers >= len(filled):
        return NUMBERS
    meant = {cell for cell in distinct_texts(table, name) if looks_numeric(cell)}
    return NUMBERS if 2 * sum(cell in meant for cell in filled) >= len(filled) else TEXT


def is_empty(table: Table, name: str) -> bool:
    """Tell whether every cell of a column is blank."""
    if came_as_numbers(table, name):
        return bool(table[name].isna().all())
    return not any(column_texts(table, name))


def has_only_numbers(table: Table, name: str) -> bool:
    """Tell whether every cell that is not missing is a number."""
    return lacks_only_missing(table, name, column_numbers(table, name))


def has_only_results(table: Table, name: str) -> bool:
    """Tell whether every cell that is not missing is a number, or a limit such as <0.5."""
    return lacks_only_missing(table, name, column_results(table, name))


def lacks_only_missing(table: Table, name: str, values: Array) -> bool:
    """Tell whether the cells that have no value, which is nan, are missing ones."""
    texts = column_texts(table, name)
    return all(texts[i] in ABSENT for i in np.flatnonzero(np.isnan(values)).tolist())


def has_distinct_cells(table: Table, name: str) -> bool:
    """Tell whether no cell, missing ones apart, comes twice."""
    filled = sum(cell not in ABSENT for cell in column_texts(table, name))
    return len(distinct_texts(table, name)) == filled


def row_place(table: Table, i: int) -> str:
    """Return where row i stands: line 7."""
    return f"{origin(table).unit} {table.index[i]}"


def cell_place(table: Table, i: int, name: str) -> str:
    """Return where cell i of a column stands: in line 7, column 'Cs'."""
    return f"in {row_place(table, i)}, column {name!r}"


def cell_problem(
    table: Table, i: int, name: str, needed: str, got: str, hint: str = ""
) -> WrongCell:
    """Return what is wrong with cell i of a column."""
    about = origin(table)
    letters = about.positions.get(name)
    cell = f"{letters}{table.index[i]}" if letters else ""
    return WrongCell(name, cell, about.source, cell_place(table, i, name), needed, got, hint)


def missing_problem(table: Table, i: int, name: str, needed: str = "a value") -> WrongCell:
    """Return the problem of a cell that is blank, or has a word such as NA."""
    got = f"a missing one ({column_texts(table, name)[i]!r})"
    return cell_problem(table, i, name, needed, got)


def refuse_missing(table: Table, i: int, name: str, needed: str = "a value") -> NoReturn:
    """Raise the error of a cell that is blank, or has a word such as NA."""
    raise ValueError(missing_problem(table, i, name, needed).sentence)


def read_numbers(table: Table, name: str, largest: float = LARGEST_REWARD) -> Array:
    """Return the column as finite numbers; refuse a cell that is none by line and column."""
    values = column_numbers(table, name)
    wrong = np.isnan(values) | (np.abs(values) > largest)
    if wrong.any():
        read_number(table, int(wrong.argmax()), name, largest)
    return values


def read_number(table: Table, i: int, name: str, largest: float = LARGEST_REWARD) -> float:
    """Return cell i of the column as a finite number; refuse any other cell."""
    value = float(column_numbers(table, name)[i])
    if abs(value) <= largest:
        return value
    raise ValueError(number_problem(table, i, name, largest).sentence)


def number_problem(table: Table, i: int, name: str, largest: float) -> WrongCell:
    """Return the problem of a cell that is no finite number."""
    about, cell = origin(table), column_texts(table, name)[i]
    if cell.casefold() in MISSING:
        return missing_problem(table, i, name)
    shape = "12,5" if about.decimal == "," else "12.5"
    other = "," if about.decimal == "." else "."
    too_large = other not in cell and is_number(cell.replace(about.decimal, "."))
    limit = f", at most {largest:g}" if too_large else ""
    hint = suggest_number(cell, about.decimal)
    shown = cell if len(cell) <= SHOWN else f"{cell[:SHOWN]}..."
    needed = f"a number such as {shape}{limit}"
    return cell_problem(table, i, name, needed, repr(shown), hint)


def find_wrong_numbers(
    table: Table, name: str, largest: float = LARGEST_REWARD
) -> Iterator[WrongCell]:
    """Yield the cells of a column that are no finite numbers."""
    values = column_numbers(table, name)
    for i in np.flatnonzero(np.isnan(values) | (np.abs(values) > largest))[:MOST_PROBLEMS].tolist():
        yield number_problem(table, i, name, largest)


def find_missing_texts(table: Table, name: str) -> Iterator[WrongCell]:
    """Yield the cells of a column that are missing."""
    cells = enumerate(column_texts(table, name))
    for i in islice((i for i, cell in cells if cell in ABSENT), MOST_PROBLEMS):
        yield missing_problem(table, i, name)


def read_texts(table: Table, name: str) -> list[str]:
    """Return the column as text; refuse a missing cell by line and column."""
    texts = column_texts(table, name)
    for i, cell in enumerate(texts):
        if cell in ABSENT:
            refuse_missing(table, i, name)
    return texts
