"""Where the table stands among the cells of a file: its header, its rows, and what is beside them.

The rules are about filled cells only, so they are the same for CSV files and workbooks:

- the header is the first row with a name in every column that at least half of the rows below it
  fill; the first column may lack its name. Rows above it fill at most half of these columns, and
  a header below others has no numbers;
- the row under the header has units if it has no number and all its texts stand above columns of
  which at least half of the cells are numbers;
- rows at the end are notes if they stand below a blank row and fill less than half of the columns,
  or if they are one sentence; a last row that begins with a word such as total is no row of the
  table.

What is moved, left out or renamed is said in a notice.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from kernelbandits import checks
from kernelbandits.formatting import format_count
from kernelbandits.tables.cells import (
    ABSENT,
    COMMA_NUMBER,
    MISSING,
    SIDES,
    is_number,
    parse_result,
)
from kernelbandits.tables.headers import NAMELESS, bare, loose
from kernelbandits.tables.table import WrongCell

LOOKED, BODY = 40, 100
"""How many rows may stand above the header, and how many below it say which columns are filled."""
LONGEST_UNIT = 16
SENTENCE = 15
"""Letters of a single cell at the end that is a remark, and not the beginning of a row."""
SHOWN = 60
"""How many characters of a cell a notice shows."""
TOTALS = frozenset(
    {"total", "totals", "sum", "grand total", "subtotal", "average", "mean", "summe", "gesamt"}
    | {"mittelwert", "std", "sd", "stdev", "std dev", "standard deviation"}
)
"""Words that begin a last row of sums or averages."""
ADDRESS = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
"""What may be a number with a comma between thousands."""
LIMIT = re.compile(rf"[{''.join(SIDES)}]=?\s*")
"""How a limit begins, as <0,5 does."""
NO_UNIT = frozenset({"-", "\u2013", "\u2014", "1"})
"""What a row of units has above numbers without a unit."""


class Grid(Protocol):
    """The cells of a file, row by row; rows that are blank are left out."""

    @property
    def source(self) -> str:
        """The name of the file."""

    @property
    def unit(self) -> str:
        """What `lines` count: line, or sheet 'Films', row."""

    @property
    def lines(self) -> Sequence[int]:
        """The number of each row in the file."""

    def row(self, i: int) -> Mapping[int, str]:
        """Return the filled cells of row i, by the numbers of their columns, from 1."""

    def heading(self, i: int) -> Mapping[int, str]:
        """Return the names in row i, also those of cells that are merged with cells above."""

    def column(self, number: int, start: int, stop: int) -> list[str]:
        """Return the cells of a column in some rows."""

    def filled(self, start: int, stop: int) -> Collection[int]:
        """Return the columns that have a cell in some rows."""

    def follows_blank(self, i: int) -> bool:
        """Tell whether a blank row of the file stands above row i."""


@dataclass
class TableLayout:
    """Which cells of a grid are the table."""

    header: int
    """The row of the names, as the grid counts."""
    start: int
    stop: int
    """The first row, and the one behind the last."""
    names: dict[int, str] = field(default_factory=dict)
    """Number of a column -> its name."""
    labels: tuple[str, ...] = ()
    """The first column, if the file has no name for it."""
    unnamed: tuple[str, ...] = ()
    """Other columns that are called by their letter, because the file has no name for them."""
    notices: list[str] = field(default_factory=list)
    problems: list[WrongCell] = field(default_factory=list)


class NoHeader(ValueError):
    """No row of a file names the columns that are filled below it."""

    def __init__(self, grid: Grid) -> None:
        self.rows = first_rows(grid)
        first = grid.lines[0]
        names = grid.heading(0)
        below = range(1, min(len(grid.lines), BODY))
        column = min(c for i in below for c in grid.row(i) if c not in names and c != 1)
        row = next(grid.lines[i] for i in below if column in grid.row(i))
        super().__init__(
            f"{grid.source} needs a name for every column in {grid.unit} {first}, the first that "
            f"is not blank, got none above cell {address(row, column)}; say which row has the "
            "names with --header-row N (header_row=)"
        )


def address(row: int, column: int) -> str:
    """Return the name of a cell.

    >>> address(3, 2), address(10, 28)
    ('B3', 'AB10')
    """
    return f"{column_letters(column)}{row}"


def column_letters(number: int) -> str:
    """Return the letters of a column: A, B, ..., Z, AA."""
    letters = ""
    while number:
        number, place = divmod(number - 1, 26)
        letters = chr(65 + place) + letters
    return letters


def read_address(text: str) -> tuple[int, int]:
    """Return row and column of a cell such as B3."""
    found = ADDRESS.fullmatch(str(text).strip().upper())
    if found is None:
        raise ValueError(f"cells needs names of cells such as B7, got {text!r}")
    number = 0
    for letter in found[1]:
        number = 26 * number + ord(letter) - 64
    return int(found[2]), number


def describe_correction(cell: str, before: str, text: str) -> str:
    """Return the notice of a cell in place of which something else is read."""
    return f"cell {cell} is read as {text!r} in place of {before!r}"


def first_rows(grid: Grid) -> list[tuple[int, dict[int, str]]]:
    """Return the first rows of a file as they stand, each with its number."""
    return [(line, dict(grid.row(i))) for i, line in enumerate(islice(grid.lines, LOOKED))]


def find_layout(grid: Grid, header_row: int | None = None) -> TableLayout:
    """Return which cells are the table; `header_row` is the row of the names, if it is known."""
    header = find_header(grid) if header_row is None else row_with_number(grid, header_row)
    found = TableLayout(header, header + 1, len(grid.lines))
    if header:
        above = f"{count_lines(grid, 0, header)} above the header left out"
        found.notices.append(f"the names of the columns are read in {place(grid, header)}; {above}")
    names = grid.heading(header)
    leave_out_notes(grid, found, len(names))
    leave_out_totals(grid, found)
    name_columns(grid, found, names)
    move_units(grid, found)
    return found


def place(grid: Grid, i: int) -> str:
    return f"{grid.unit} {grid.lines[i]}"


def count_lines(grid: Grid, start: int, stop: int) -> str:
    """Say how many rows stand there, and how the first begins."""
    shown = next(iter(grid.row(start).values()))
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
    return f"{format_count(stop - start, 'row')} ({shown!r}{', ...' if stop - start > 1 else ''})"


def row_with_number(grid: Grid, number: int) -> int:
    """Return the row that has this number in the file."""
    number = checks.whole(grid.source, "header_row", number)
    if number not in grid.lines[:-1]:
        raise ValueError(
            f"{grid.source} needs a header_row with names and a row below it, got {number}"
        )
    return grid.lines.index(number)


def find_header(grid: Grid) -> int:
    """Return the first row that names what is filled below it."""
    for i in range(min(LOOKED, len(grid.lines) - 1)):
        body = range(i + 1, min(i + 1 + BODY, len(grid.lines)))
        counts = Counter(column for j in body for column in grid.row(j))
        names = grid.heading(i)
        first = min({*counts, *names})
        wanted = {column for column, n in counts.items() if 2 * n >= len(body)} - {first}
        named = not any(map(is_written_number, names.values()))
        if wanted <= names.keys() and (i == 0 or named):
            return i
        if 2 * len(names) > len(wanted) + 1:
            break
    raise NoHeader(grid)


def is_written_number(cell: str) -> bool:
    """Tell whether a cell is a number with a decimal point or a decimal comma."""
    return is_number(cell) or COMMA_NUMBER.fullmatch(cell) is not None


def leave_out_notes(grid: Grid, found: TableLayout, width: int) -> None:
    """Leave out rows at the end that are no rows of the table."""
    stop = found.stop
    while stop - found.start > 1:
        block = stop - 1
        while block > found.start and not grid.follows_blank(block):
            block -= 1
        apart = block > found.start and all(
            2 * len(grid.row(i)) < width for i in range(block, stop)
        )
        if apart:
            stop = block
        elif width > 1 and is_sentence(grid.row(stop - 1)):
            stop -= 1
        else:
            break
    if stop < found.stop:
        noted = count_lines(grid, stop, found.stop)
        found.notices.append(
            f"{noted} from {place(grid, stop)} on left out, as notes below the table"
        )
        found.stop = stop


def is_sentence(row: Mapping[int, str]) -> bool:
    """Tell whether a row has one cell, of several words."""
    if len(row) != 1:
        return False
    [text] = row.values()
    return len(text) >= SENTENCE and " " in text


def leave_out_totals(grid: Grid, found: TableLayout) -> None:
    """Leave out last rows of sums or averages, which are no candidates."""
    while found.stop - found.start > 2:
        row = grid.row(found.stop - 1)
        column = min(row)
        word = loose(row[column]).rstrip(":")
        if word not in TOTALS or row[column] in grid.column(column, found.start, found.stop - 1):
            return
        found.stop -= 1
        found.notices.append(
            f"{place(grid, found.stop)} begins with {row[column]!r} and is left out: it has sums "
            "or averages"
        )


def name_columns(grid: Grid, found: TableLayout, names: Mapping[int, str]) -> None:
    """Give a name to every column that has a name or a cell in the table."""
    columns = sorted({*grid.filled(found.start, found.stop), *names})
    seen = dict[str, int]()
    for column in columns:
        name = names.get(column, "")
        if not name:
            first = column == columns[0]
            name = NAMELESS if first else f"column {column_letters(column)}"
            found.labels += (name,) if first else ()
            found.unnamed += () if first else (name,)
        if name in seen:
            cell = address(grid.lines[found.header], column)
            said = f"{name} (column {column_letters(column)})"
            found.problems.append(
                WrongCell(
                    said,
                    cell,
                    grid.source,
                    f"in {place(grid, found.header)} ({cell})",
                    "distinct column names",
                    f"{name!r} 2 times",
                    f"rename one in the file, or here with --cell {cell}=NAME (cells=)",
                )
            )
            name = said
        seen[name] = column
        found.names[column] = name


def move_units(grid: Grid, found: TableLayout) -> None:
    """Move a row of units into the names of the columns."""
    if found.stop - found.start < 2 or not has_units(grid, found):
        return
    units = grid.row(found.start)
    moved = []
    for column, text in units.items():
        name = found.names[column]
        unit = text.strip("()[]").strip()
        title = f"{name} ({unit})"
        if bare(name) == name and unit not in NO_UNIT and title not in found.names.values():
            found.names[column] = title
            moved.append(title)
    found.notices.append(
        f"{place(grid, found.start)} has the units of the columns: {', '.join(moved) or 'none'}"
    )
    found.start += 1


def has_units(grid: Grid, found: TableLayout) -> bool:
    """Tell whether the first row below the header has units in place of values."""
    units = grid.row(found.start)
    stop = min(found.stop, found.start + BODY)
    several = 0
    for column, text in units.items():
        if is_written_number(text) or len(text) > LONGEST_UNIT:
            return False
        if text.casefold() in MISSING or column not in found.names:
            return False
        below = [cell for cell in grid.column(column, found.start + 1, stop) if cell not in ABSENT]
        if 2 * sum(map(is_written_number, below)) < len(below):
            return False
        several += bool(below) and text not in NO_UNIT
    return several > 0


def read_commas(cells: list[str]) -> tuple[list[str], str]:
    """Return cells of a workbook with decimal points, and the first that had a decimal comma.

    Texts such as 0,5 and <0,5 are numbers and limits where at least half of the filled cells are
    then. Where every comma may separate thousands, as in 1,234, nothing is changed.
    """
    known = {cell: LIMIT.sub("", cell) for cell in cells if "," in cell}
    written = {cell: one for cell, one in known.items() if COMMA_NUMBER.fullmatch(one)}
    clear = [cell for cell, one in written.items() if not THOUSANDS.fullmatch(one)]
    if not clear:
        return cells, ""
    read = [cell.replace(",", ".") if cell in written else cell for cell in cells]
    filled = [cell for cell in read if cell not in ABSENT]
    numbers = sum(not math.isnan(parse_result(cell, ".")) for cell in filled)
    return (read, clear[0]) if 2 * numbers >= len(filled) else (cells, "")
