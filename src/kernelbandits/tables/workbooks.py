"""Workbooks (.xlsx): a sheet as a table, and tables as the sheets of a new workbook.

A sheet holds more than its values: formulas, merged cells, hidden rows, formats. What changes the
meaning of a value is said in a notice, or refused with the sheet, the row and the column.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from kernelbandits import checks
from kernelbandits.formatting import format_count
from kernelbandits.outputs import replace_file
from kernelbandits.runtime import require
from kernelbandits.tables.cells import text_of
from kernelbandits.tables.encodings import check_file
from kernelbandits.tables.export import is_formula, is_missing
from kernelbandits.tables.headers import NAMELESS, find
from kernelbandits.tables.table import MOST_ROWS, Origin, Table, make_table
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
) -> Table:
    """Read one sheet of a workbook as a table, whose columns the first row with a value names.

    Parameters
    ----------
    path
        The file.
    worksheet
        The name of the sheet. None: one of the `preferred` names if there is such a sheet, else the
        only visible sheet that is not empty.
    preferred
        Names of sheets.
    """
    place = check_file(path)
    require("openpyxl", extra="excel", owner=place.name)
    with ZipFile(place) as archive:
        book = WorkbookArchive(archive)
        sheet, notices = choose_sheet(book, worksheet, preferred)
        return WorksheetReader(book, sheet).read(notices)


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


class WorksheetReader:
    """A reader that turns the cells of one sheet into a table and collects remarks on them."""

    def __init__(self, book: WorkbookArchive, sheet: SheetEntry) -> None:
        self.book, self.sheet, self.file = book, sheet, book.file
        self.unit = f"sheet {sheet.title!r}, row"
        self.columns: dict[int, dict[int, str]] = {}
        """Column -> row -> the text of a cell that is not blank; both from 1."""
        self.header: int | None = None
        """The first row that is not blank."""
        self.percents: dict[int, dict[bool, int]] = {}
        """Column -> the first rows with a number in percent, and with another one."""
        self._same: dict[str, str] = {}
        """Each word once, however many cells have it."""

    def read(self, notices: Sequence[str]) -> Table:
        said = list(notices)
        found = self.book.read(self.sheet, self._keep)
        if found.unsaved is not None:
            row, column, formula = found.unsaved
            raise ValueError(
                f"{self.file} needs a value {self._place(row, column)}, got the formula "
                f"{formula!r}, whose value was not saved; open the file in a spreadsheet program "
                "and save it, or write the values"
            )
        if found.formulas:
            said.append(
                f"formulas in {format_count(found.formulas, 'cell')} of sheet "
                f"{self.sheet.title!r}: the values that were saved with them are read"
            )
        rows = sorted({row for cells in self.columns.values() for row in cells})
        if len(rows) < 2:
            raise ValueError(
                f"{self.file} needs a header and at least one row in sheet {self.sheet.title!r}, "
                f"got {format_count(len(rows), 'row')}"
            )
        checks.needs(len(rows) <= MOST_ROWS + 1, self.file, f"at most {MOST_ROWS} rows", len(rows))
        names = self._name_columns(rows[0])
        self._refuse_merged(found.merged, rows, names)
        columns = {
            name: [self.columns[column].get(row, "") for row in rows[1:]]
            for column, name in names.items()
        }
        first = self.columns[min(names)]
        labels = () if rows[0] in first else (NAMELESS,)
        said += self._remark_percents(names)
        said += self._remark_hidden(found.hidden_rows, found.hidden_columns, rows, names)
        said += self._remark_gaps(rows)
        origin = Origin(self.file, self.unit, labels=labels, notices=tuple(said), from_file=True)
        return make_table(columns, rows[1:], origin)

    def _keep(self, row: int, column: int, value: Any, in_percent: bool) -> None:
        text = self._text_of(row, column, value)
        if not text:
            return
        self.header = row if self.header is None else min(row, self.header)
        if isinstance(value, str):
            text = self._same.setdefault(text, text)
        self.columns.setdefault(column, {})[row] = text
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value:
            first = self.percents.setdefault(column, {})
            first[in_percent] = min(row, first.get(in_percent, row))

    def _text_of(self, row: int, column: int, value: Any) -> str:
        """Return a value as text: numbers in their canonical form, dates as 2026-05-04."""
        if isinstance(value, dt.datetime) and value.time() == dt.time():
            value = value.date()
        if isinstance(value, str):
            value = ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)
        try:
            return text_of(value)
        except ValueError as error:
            raise ValueError(f"{error} {self._place(row, column)}") from None

    def _place(self, row: int, column: int) -> str:
        name = self.columns.get(column, {}).get(row if self.header is None else self.header)
        named = "" if name is None else f", column {name!r}"
        return f"in {self.unit} {row}{named} ({address(row, column)})"

    def _name_columns(self, header: int) -> dict[int, str]:
        """Return the name of each column that has a value."""
        columns = sorted(self.columns)
        names = {column: self.columns[column].get(header, "") for column in columns}
        names[columns[0]] = names[columns[0]] or NAMELESS
        counts = Counter(names.values())
        for column, name in names.items():
            if not name:
                row = min(self.columns[column])
                raise ValueError(
                    f"{self.file} needs a name for every column in {self.unit} {header}, the first "
                    f"that is not blank, got none above cell {address(row, column)}; remove what "
                    "stands above or beside the table"
                )
            if counts[name] > 1:
                raise ValueError(
                    f"{self.file} needs distinct column names in {self.unit} {header}, got "
                    f"{name!r} {counts[name]} times"
                )
        return names

    def _refuse_merged(
        self, merged: Sequence[MergedRange], rows: Sequence[int], names: Mapping[int, str]
    ) -> None:
        columns = sorted(names)
        for area in merged:
            outside = area.top > rows[-1] or area.bottom < rows[0]
            column = bisect_left(columns, area.left)
            if not outside and column < len(columns) and columns[column] <= area.right:
                raise ValueError(
                    f"{self.file} needs a value in each cell of its own, got the merged cells "
                    f"{area.text} {self._place(area.top, area.left)}; separate them and fill in "
                    "each cell"
                )

    def _remark_percents(self, names: Mapping[int, str]) -> Iterator[str]:
        """Yield a remark on numbers in percent: those shown as 12 % are stored as 0.12.

        A column with both kinds is refused.
        """
        shown = []
        for column, first in sorted(self.percents.items()):
            if len(first) > 1:
                row, other = first[False], first[True]
                raise ValueError(
                    f"{self.file} needs all numbers of a column in percent or none, got "
                    f"{self.columns[column][row]} {self._place(row, column)} beside "
                    f"{self.columns[column][other]}, which is shown in percent, in row {other}"
                )
            if True in first:
                shown.append(repr(names[column]))
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


def address(row: int, column: int) -> str:
    """Return the name of a cell, such as B3."""
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column)}{row}"


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
