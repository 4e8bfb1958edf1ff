"""Workbooks (.xlsx): a sheet as a table, and tables as the sheets of a new workbook.

A sheet holds more than its values: formulas, merged cells, hidden rows, formats. What changes the
meaning of a value is said in a notice, or refused with the sheet, the row and the column.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise, product
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from kernelbandits import checks
from kernelbandits.formatting import format_count
from kernelbandits.outputs import replace_file
from kernelbandits.runtime import require
from kernelbandits.tables.cells import plain, text_of
from kernelbandits.tables.encodings import check_file
from kernelbandits.tables.export import is_formula, is_missing
from kernelbandits.tables.headers import find
from kernelbandits.tables.layout import (
    LOOKED,
    address,
    column_letters,
    describe_correction,
    find_layout,
    first_rows,
    read_address,
    read_commas,
)
from kernelbandits.tables.table import (
    MOST_PROBLEMS,
    MOST_ROWS,
    Origin,
    Table,
    WrongCell,
    make_table,
)
from kernelbandits.tables.workbook_parts import MergedRange, SheetEntry, WorkbookArchive

if TYPE_CHECKING:
    from openpyxl import Workbook

LISTED = 5
"""How many sheets or rows a message lists."""
LONGEST_TEXT = 32767
"""Characters in a cell; a longer text would be cut off."""
LARGEST_EXACT = 2**53
"""A larger whole number would lose its last digits in a workbook."""
UNWRITABLE = re.compile("[\0-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
"""Characters that XML cannot hold, and what looks as if it stood for one of them."""
ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
WIDEST = 40
"""Letters of the widest column."""


# ---------------------------------------------------------------------- reading


def read_workbook(
    path: str | PathLike[str],
    worksheet: str | None = None,
    preferred: Sequence[str] = (),
    header_row: int | None = None,
    cells: Mapping[str, str] | None = None,
) -> Table:
    """Read one sheet of a workbook as a table (`layout` says which of its cells are the table).

    Parameters
    ----------
    path
        The file.
    worksheet
        The name of the sheet. None: one of the `preferred` names if there is such a sheet, else the
        only visible sheet that is not empty.
    preferred
        Names of sheets.
    header_row
        The row with the names of the columns, if it is known.
    cells
        What to read in place of some cells, by their names such as B7.
    """
    place = check_file(path)
    require("openpyxl", extra="excel", owner=place.name)
    with ZipFile(place) as archive:
        book = WorkbookArchive(archive)
        sheet, notices = choose_sheet(book, worksheet, preferred)
        return WorksheetReader(book, sheet).read(notices, header_row, cells)


class SeveralSheets(ValueError):
    """A workbook has several sheets, and nobody said which one is meant."""

    def __init__(self, file: str, sheets: Sequence[str]) -> None:
        self.sheets = tuple(sheets)
        super().__init__(
            f"{file} needs one sheet to read, got {len(sheets)}: {list_names(sheets)}; "
            f"{WHICH_SHEET}"
        )


WHICH_SHEET = "say which with --worksheet NAME (worksheet=)"


def choose_sheet(
    book: WorkbookArchive, wanted: str | None, preferred: Sequence[str]
) -> tuple[SheetEntry, list[str]]:
    """Return the sheet to read, and a notice that names those left out."""
    file = book.file
    filled = [sheet for sheet in book.sheets if book.has_values(sheet)]
    names = [sheet.title for sheet in filled]
    if wanted is not None:
        name = find(names, wanted)
        if name is None:
            raise ValueError(f"{file} needs a worksheet among {list_names(names)}, got {wanted!r}")
        return filled[names.index(name)], []
    visible = [sheet.title for sheet in filled if sheet.is_visible]
    name = next((name for name in preferred if name in visible), None)
    if name is None and len(visible) != 1:
        if not visible:
            raise ValueError(f"{file} needs a visible sheet that is not empty, got none")
        raise SeveralSheets(file, visible)
    name = name or visible[0]
    others = [other for other in names if other != name]
    left_out = f"; left out: {list_names(others)}" if others else ""
    return filled[names.index(name)], [f"sheet {name!r} is read{left_out}"] if others else []


def list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(map(repr, names[:LISTED])) + more


@dataclass(frozen=True)
class SheetCells:
    """The cells of a sheet, row by row (`layout.Grid`)."""

    source: str
    unit: str
    columns: Mapping[int, dict[int, str]]
    """Column -> row -> the text of a cell that is not blank; both from 1."""
    lines: Sequence[int]
    upright: Sequence[MergedRange]
    """Cells of one column near the top that are merged with those below."""

    def row(self, i: int) -> dict[int, str]:
        line = self.lines[i]
        return {number: cells[line] for number, cells in self.columns.items() if line in cells}

    def heading(self, i: int) -> dict[int, str]:
        names, line = self.row(i), self.lines[i]
        for one in self.upright:
            name = self.columns.get(one.left, {}).get(one.top)
            if one.top < line <= one.bottom and name:
                names.setdefault(one.left, name)
        return names

    def column(self, number: int, start: int, stop: int) -> list[str]:
        cells = self.columns.get(number, {})
        return [cells.get(line, "") for line in self.lines[start:stop]]

    def filled(self, start: int, stop: int) -> set[int]:
        first, last = self.lines[start], self.lines[stop - 1]
        return {
            number
            for number, cells in self.columns.items()
            if any(first <= row <= last for row in cells)
        }

    def follows_blank(self, i: int) -> bool:
        return i > 0 and self.lines[i] > self.lines[i - 1] + 1


class WorksheetReader:
    """A reader that turns the cells of one sheet into a table and collects remarks on them."""

    def __init__(self, book: WorkbookArchive, sheet: SheetEntry) -> None:
        self.book, self.sheet, self.file = book, sheet, book.file
        self.unit = f"sheet {sheet.title!r}, row"
        self.columns: dict[int, dict[int, str]] = {}
        """Column -> row -> the text of a cell that is not blank; both from 1."""
        self.percents: dict[int, dict[bool, list[int]]] = {}
        """Column -> the rows with a number in percent, and with another one."""
        self.corrected: dict[tuple[int, int], str] = {}
        """Row and column -> what is read there in place of what the file has."""
        self.spread: set[tuple[int, int]] = set()
        """Row and column of cells that have the value of the cells they are merged with."""
        self._same: dict[str, str] = {}
        """Each word once, however many cells have it."""

    def read(
        self,
        notices: Sequence[str],
        header_row: int | None = None,
        cells: Mapping[str, str] | None = None,
    ) -> Table:
        said = list(notices)
        found = self.book.read(self.sheet, self._keep)
        if found.formulas:
            said.append(
                f"formulas in {format_count(found.formulas, 'cell')} of sheet "
                f"{self.sheet.title!r}: the values that were saved with them are read"
            )
        said += self._correct(cells or {})
        rows = sorted({row for filled in self.columns.values() for row in filled})
        if len(rows) < 2:
            raise ValueError(
                f"{self.file} needs a header and at least one row in sheet {self.sheet.title!r}, "
                f"got {format_count(len(rows), 'row')}"
            )
        checks.needs(len(rows) <= MOST_ROWS + 1, self.file, f"at most {MOST_ROWS} rows", len(rows))
        upright = [
            one
            for one in found.merged
            if one.left == one.right and one.top <= rows[min(LOOKED, len(rows) - 1)]
        ]
        grid = SheetCells(self.file, self.unit, self.columns, rows, upright[:LOOKED])
        shown = first_rows(grid)
        layout = find_layout(grid, header_row)
        names = layout.names
        inside = rows[layout.start : layout.stop]
        said += self._spread_merged(found.merged, inside, names)
        table = {}
        for number, name in names.items():
            texts = grid.column(number, layout.start, layout.stop)
            table[name], comma = read_commas(texts)
            if comma:
                said.append(
                    f"column {name!r} has texts with a decimal comma, which are read as numbers: "
                    f"{comma!r} is {comma.replace(',', '.')}"
                )
        said += layout.notices
        said += self._remark_percents(names, inside)
        said += self._remark_hidden(found.hidden_rows, found.hidden_columns, inside, names)
        said += self._remark_gaps(inside)
        problems = [
            *layout.problems,
            *self._find_unsaved(found.unsaved, inside, names),
            *self._find_merged(found.merged, inside, names),
            *self._find_mixed_percents(inside, names),
        ]
        origin = Origin(
            self.file,
            self.unit,
            labels=layout.labels,
            notices=tuple(said),
            from_file=True,
            positions={name: column_letters(number) for number, name in names.items()},
            header=rows[layout.header],
            first_rows=shown,
            unnamed=layout.unnamed,
            problems=tuple(problems),
        )
        return make_table(table, inside, origin)

    def _keep(self, row: int, column: int, value: Any, in_percent: bool) -> None:
        text = self._text_of(row, column, value)
        if not text:
            return
        if isinstance(value, str):
            text = self._same.setdefault(text, text)
        self.columns.setdefault(column, {})[row] = text
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value:
            self.percents.setdefault(column, {}).setdefault(in_percent, []).append(row)

    def _text_of(self, row: int, column: int, value: Any) -> str:
        """Return a value as text: numbers in their canonical form, dates as 2026-05-04."""
        if isinstance(value, dt.datetime) and value.time() == dt.time():
            value = value.date()
        if isinstance(value, str):
            value = ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)
        try:
            return text_of(value)
        except ValueError as error:
            where = f"in {self.unit} {row} ({address(row, column)})"
            raise ValueError(f"{error} {where}") from None

    def _correct(self, cells: Mapping[str, str]) -> Iterator[str]:
        """Put what is to be read in place of some cells; yield what was put where."""
        for name, text in cells.items():
            row, column = read_address(name)
            filled = self.columns.setdefault(column, {})
            yield describe_correction(name, filled.pop(row, ""), text)
            self.corrected[row, column] = plain(text)
            if plain(text):
                filled[row] = plain(text)

    def _spread_merged(
        self, merged: Sequence[MergedRange], rows: Sequence[int], names: Mapping[int, str]
    ) -> Iterator[str]:
        """Give cells that are merged with those above the value of these; yield where.

        Whoever merges the cells of four rows says that the four have one temperature.
        """
        spread: dict[str, list[str]] = {}
        for area in sorted(merged, key=lambda area: (area.left, area.top)):
            filled = self.columns.get(area.left, {})
            down = rows[bisect_left(rows, area.top) : bisect_right(rows, area.bottom)]
            if area.left != area.right or area.left not in names or down[:1] != [area.top]:
                continue
            for row in down[1:]:
                if area.top in filled and (row, area.left) not in self.corrected:
                    filled.setdefault(row, filled[area.top])
                    self.spread.add((row, area.left))
            spread.setdefault(names[area.left], []).append(area.text)
        for name, areas in spread.items():
            more = f" and {len(areas) - 3} more" if len(areas) > 3 else ""
            yield (
                f"column {name!r} has merged cells ({', '.join(areas[:3])}{more}): their value is "
                "read for each of their rows"
            )

    def _problem(self, row: int, column: int, name: str, needed: str, got: str) -> WrongCell:
        cell = address(row, column)
        where = f"in {self.unit} {row}, column {name!r} ({cell})"
        spread = (row, column) in self.spread
        return WrongCell(name, cell, self.file, where, needed, got, spread=spread)

    def _find_unsaved(
        self,
        unsaved: Mapping[tuple[int, int], str],
        rows: Sequence[int],
        names: Mapping[int, str],
    ) -> Iterator[WrongCell]:
        """Yield the cells of the table whose formula has no value."""
        inside = set(rows)
        for (row, column), formula in unsaved.items():
            if row in inside and column in names and (row, column) not in self.corrected:
                got = (
                    f"the formula {formula!r}, whose value was not saved; open the file in a "
                    "spreadsheet program and save it, or write the values"
                )
                yield self._problem(row, column, names[column], "a value", got)

    def _find_merged(
        self, merged: Sequence[MergedRange], rows: Sequence[int], names: Mapping[int, str]
    ) -> Iterator[WrongCell]:
        """Yield the cells of the table that are merged with the one before them."""
        columns = sorted(names)
        found = 0
        for area in merged:
            across = columns[bisect_left(columns, area.left) : bisect_right(columns, area.right)]
            down = rows[bisect_left(rows, area.top) : bisect_right(rows, area.bottom)]
            got = f"the merged cells {area.text}; separate them and fill in each cell"
            for row, column in product(down, across):
                first = (row, column) == (area.top, area.left)
                if not first and (row, column) not in self.corrected and found < MOST_PROBLEMS:
                    found += 1
                    needed = "a value in each cell of its own"
                    yield self._problem(row, column, names[column], needed, got)

    def _find_mixed_percents(
        self, rows: Sequence[int], names: Mapping[int, str]
    ) -> Iterator[WrongCell]:
        """Yield the fewer numbers of a column that has some in percent and others not."""
        for column, shown, others in self._percents(rows, names):
            if not others:
                continue
            fewer, more = sorted([shown, others], key=len)
            word = "not " if fewer is others else ""
            beside = self.columns[column][more[0]]
            for row in fewer[:MOST_PROBLEMS]:
                got = (
                    f"{self.columns[column][row]}, which is {word}shown in percent, beside "
                    f"{beside} in row {more[0]}"
                )
                needed = "all numbers of a column in percent or none"
                yield self._problem(row, column, names[column], needed, got)

    def _percents(
        self, rows: Sequence[int], names: Mapping[int, str]
    ) -> Iterator[tuple[int, list[int], list[int]]]:
        """Yield each column with numbers in percent: their rows, and those of its other numbers."""
        inside = set(rows)
        for column, first in sorted(self.percents.items()):
            if column in names and True in first:
                shown, others = (
                    [
                        row
                        for row in first.get(kind, ())
                        if row in inside and (row, column) not in self.corrected
                    ]
                    for kind in (True, False)
                )
                if shown:
                    yield column, shown, others

    def _remark_percents(self, names: Mapping[int, str], rows: Sequence[int]) -> Iterator[str]:
        """Yield a remark on numbers in percent: those shown as 12 % are stored as 0.12."""
        shown = [repr(names[column]) for column, *_ in self._percents(rows, names)]
        if shown:
            yield (
                f"numbers in percent are read as they are stored, 12 % as 0.12: column "
                f"{', '.join(shown)}"
            )

    def _remark_hidden(
        self,
        hidden: Collection[int],
        ranges: Sequence[tuple[int, int]],
        rows: Sequence[int],
        names: Mapping[int, str],
    ) -> Iterator[str]:
        """Yield remarks on hidden rows, and on columns within hidden ranges, that were read too."""
        unseen = [row for row in rows if row in hidden]
        if unseen:
            listed = ", ".join(map(str, unseen[:LISTED])) + (", ..." if unseen[LISTED:] else "")
            yield f"hidden rows of the sheet are read too: {listed}"
        within = bytearray(max(names) + 1)
        for first, last in ranges:
            within[first : last + 1] = b"\1" * len(within[first : last + 1])
        columns = [name for column, name in names.items() if within[column]]
        if columns:
            yield f"hidden columns of the sheet are read too: {list_names(columns)}"

    def _remark_gaps(self, rows: Sequence[int]) -> Iterator[str]:
        gap = next((one for one, two in pairwise(rows) if two > one + 1), None)
        if gap is not None:
            yield f"row {gap + 1} of the sheet is blank; the rows below it are read too"


# ---------------------------------------------------------------------- writing


@dataclass(frozen=True)
class Sheet:
    """A table that becomes a sheet of a workbook."""

    name: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    to_fill: frozenset[str] = frozenset()
    """Columns in which somebody is to write; their cells have a frame and a colour."""


def write_workbook(path: str | Path, sheets: Sequence[Sheet], force: bool = False) -> None:
    """Write a workbook, completely or not at all.

    An existing file is only replaced with `force`, and a study never. Text is written as text: what
    looks like a formula is never run. Times are in UTC.
    """
    from openpyxl import Workbook

    year = time.gmtime().tm_year
    needed = "a clock that shows a year from 1980 to 2107 (a file .csv does not)"
    checks.needs(1980 <= year < 2108, "a workbook", needed, year)
    book = Workbook(write_only=True)
    book.properties.creator = "kernelbandits"
    for sheet in sheets:
        most = MOST_ROWS - 1
        needed = f"at most {most} rows in sheet {sheet.name!r} of a workbook"
        checks.needs(len(sheet.rows) <= most, "an export", needed, len(sheet.rows))
        add_sheet(book, sheet)
    content = BytesIO()
    book.save(content)
    replace_file(path, content.getvalue(), force=force)


def add_sheet(book: Workbook, sheet: Sheet) -> None:
    """Add a sheet to a workbook, with a frame around the cells to fill in."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Border, Font, PatternFill, Side

    page: Any = book.create_sheet(sheet.name)
    lay_out_page(page, sheet)
    line = Side(style="thin", color="808080")
    frame, colour = Border(line, line, line, line), PatternFill("solid", fgColor="FFF8DC")

    def make_cell(value: Any, bold: bool, to_fill: bool) -> Any:
        plain = as_stored(value)
        if not bold and not to_fill and is_written_as_is(plain):
            return plain
        if isinstance(plain, float):
            # openpyxl writes 16 digits of a float, and leaves a text as it is.
            cell = WriteOnlyCell(page, repr(plain))
            cell.data_type = "n"
        else:
            cell = WriteOnlyCell(page, plain)
        if isinstance(plain, str):
            # openpyxl takes text that begins with = for a formula.
            cell.data_type = "s"
            cell.quotePrefix = is_formula(plain)
        if isinstance(plain, dt.datetime):
            cell.number_format = 'yyyy-mm-dd hh:mm:ss.000" UTC"'
        if bold:
            cell.font = Font(bold=True)
        if to_fill:
            cell.border, cell.fill = frame, colour
        return cell

    page.append([make_cell(name, True, name in sheet.to_fill) for name in sheet.header])
    for cells in sheet.rows:
        named = zip(sheet.header, cells, strict=True)
        page.append([make_cell(value, False, name in sheet.to_fill) for name, value in named])


def lay_out_page(page: Any, sheet: Sheet) -> None:
    """Keep the header in sight, print all columns on one page, fit columns to their first rows."""
    from openpyxl.utils import get_column_letter

    page.freeze_panes = "A2"
    page.page_setup.orientation, page.page_setup.fitToHeight = "landscape", 0
    page.sheet_properties.pageSetUpPr.fitToPage = True
    page.print_title_rows = "1:1"
    sample = [[*map(str, cells)] for cells in (sheet.header, *sheet.rows[:50])]
    for i in range(len(sheet.header)):
        width = max(len(cells[i]) for cells in sample) + 2
        page.column_dimensions[get_column_letter(i + 1)].width = min(width, WIDEST)


def is_written_as_is(plain: Any) -> bool:
    """Tell whether openpyxl needs no cell of ours for a value: cells cost a third of the time."""
    if isinstance(plain, float):
        return float(f"{plain:.16g}") == plain
    if isinstance(plain, str):
        return not is_formula(plain) and not plain.startswith("#")
    return not isinstance(plain, dt.date)


def as_stored(value: Any) -> Any:
    """Return a value as a workbook keeps it: a number, truth value, time in UTC, text, or None."""
    if is_missing(value):
        return None
    if isinstance(value, dt.datetime):
        plain = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
        return dt.datetime(*plain.timetuple()[:6], plain.microsecond)
    if isinstance(value, (bool, dt.date)):
        return value
    if isinstance(value, Integral) and abs(int(value)) < LARGEST_EXACT:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and math.isfinite(value):
        return float(value)
    text = UNWRITABLE.sub(lambda found: f"_x{ord(found[0]):04X}_", text_of(value))
    short = len(text) <= LONGEST_TEXT
    checks.needs(short, "a workbook", f"text of at most {LONGEST_TEXT} letters", f"{text[:40]}...")
    return text
