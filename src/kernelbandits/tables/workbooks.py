"""Workbooks (.xlsx): a sheet as a table, and tables as the sheets of a new workbook.

A sheet holds more than its values: formulas, merged cells, hidden rows, formats. What changes the
meaning of a value is said in a notice, or refused with the sheet, the row and the column.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile, is_zipfile

from kernelbandits import checks
from kernelbandits.formatting import format_count
from kernelbandits.outputs import replace_file
from kernelbandits.runtime import require
from kernelbandits.tables.cells import text_of
from kernelbandits.tables.encodings import read_content
from kernelbandits.tables.export import is_formula, is_missing
from kernelbandits.tables.headers import find
from kernelbandits.tables.table import MOST_ROWS, Column, Table

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell import Cell
    from openpyxl.worksheet.worksheet import Worksheet

PARTS = ("xl/workbook.xml", "xl/workbook.bin")
"""Where an archive that is a workbook says so; the second is the binary form (.xlsb)."""
MOST_UNPACKED = 2**28
LARGEST_RATIO, SMALL = 100, 2**24
"""How many times its size a workbook may unpack to, if that is more than SMALL bytes."""
MOST_CELLS = 2**21
MOST_TAGS = {"xl/worksheets/": 8 * MOST_CELLS, "xl/sharedStrings.xml": 4 * MOST_CELLS, "": 2**19}
"""How many XML tags a part may have whose name begins so: each becomes an object in memory."""
CHUNK = 2**20
CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
MERGED = re.compile(rb"""mergeCell\s[^>]*?ref=["']([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})""")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
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


def is_workbook(path: str | PathLike[str]) -> bool:
    """Whether a file is a workbook in the format of Office Open XML, whatever its name."""
    if not is_zipfile(path):
        return False
    with ZipFile(path) as archive:
        return any(part in archive.namelist() for part in PARTS)


def read_workbook(
    path: str | PathLike[str],
    worksheet: str | None = None,
    preferred: Sequence[str] = (),
    nameless: str = "",
) -> Table:
    """One sheet of a workbook as a table: the first row that is not blank names the columns.

    Parameters
    ----------
    path
        The file.
    worksheet
        The name of the sheet. None: one of the `preferred` names if there is such a sheet, else the
        only visible sheet that is not empty.
    preferred
        Names of sheets.
    nameless
        What a first column without a name is called; "" refuses it.
    """
    file = Path(path).name
    require("openpyxl", extra="excel", owner=file)
    raw = read_content(path)
    check_archive(file, raw)
    book = load_book(file, raw)
    sheet, notices = choose_sheet(file, book, worksheet, preferred)
    return WorksheetReader(file, raw, sheet).read(nameless, notices)


def check_archive(file: str, raw: bytes) -> None:
    """Refuse an archive that is small on the disk and would fill the memory."""
    with ZipFile(BytesIO(raw)) as archive:
        parts = archive.infolist()
        if any(part.filename == PARTS[1] for part in parts):
            raise ValueError(
                f"{file} needs to be an .xlsx workbook, got a binary one (.xlsb); save it as .xlsx "
                "or CSV"
            )
        size = sum(part.file_size for part in parts)
        needed = f"at most {MOST_UNPACKED} bytes when unpacked; save the sheet as CSV"
        checks.needs(size <= MOST_UNPACKED, file, needed, size)
        needed = f"to unpack to at most {LARGEST_RATIO} times its size of {len(raw)} bytes"
        checks.needs(size <= max(SMALL, LARGEST_RATIO * len(raw)), file, needed, size)
        for part in parts:
            if part.filename.endswith((".xml", ".rels")):
                check_part(file, archive, part.filename)


def check_part(file: str, archive: ZipFile, name: str) -> None:
    """Refuse a part with too many elements, merged cells without end, or definitions of its own."""
    most = next(most for start, most in MOST_TAGS.items() if name.startswith(start))
    tags = cells = 0
    rest = b""
    try:
        with archive.open(name) as part:
            while chunk := part.read(CHUNK):
                tags += chunk.count(b"<")
                text = rest + chunk
                cells += len(CELL.findall(text))
                cells += sum(count_merged(*found) for found in MERGED.findall(text))
                # A tag that is cut in two is seen again with the next chunk.
                rest = text[text.rfind(b"<") :] if b"<" in text[-CHUNK:] else b""
                foreign = b"<!DOCTYPE" in text or b"<!ENTITY" in text or text[:2] in UTF_16
                needed = "XML as spreadsheet programs write it; save the sheet as CSV"
                checks.needs(not foreign, file, needed, f"definitions or UTF-16 in {name}")
                needed = f"at most {MOST_CELLS} cells; save the sheet as CSV"
                few = tags <= most and cells <= MOST_CELLS
                checks.needs(few, file, needed, f"more in {name}")
    except (BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise unreadable(file, error) from None


def count_merged(left: bytes, top: bytes, right: bytes, bottom: bytes) -> int:
    """How many cells lie between two corners."""
    width = column_number(right) - column_number(left) + 1
    return max(width, 0) * max(int(bottom) - int(top) + 1, 0)


def column_number(letters: bytes) -> int:
    """A is 1, Z is 26, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def load_book(file: str, raw: bytes, values: bool = False) -> Workbook:
    """The workbook; with `values` the values that formulas had when it was saved."""
    from openpyxl import load_workbook

    try:
        with warnings.catch_warnings():
            # openpyxl warns of parts that it does not read, such as rules for the input of data.
            warnings.simplefilter("ignore", UserWarning)
            return load_workbook(BytesIO(raw), data_only=values, keep_links=False)
    # A damaged workbook fails wherever openpyxl first meets the damage: as a missing key, a number
    # that is none, or XML that does not close.
    except Exception as error:
        raise unreadable(file, error) from None


def unreadable(file: str, error: Exception) -> ValueError:
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ValueError(
        f"{file} needs to be a workbook that can be read, got one that is damaged ({said}); save "
        "it again in a spreadsheet program"
    )


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
    file: str, book: Workbook, wanted: str | None, preferred: Sequence[str]
) -> tuple[Worksheet, list[str]]:
    """The sheet to read, and a notice that names those left out."""
    filled = [sheet for sheet in book.worksheets if has_values(sheet)]
    names = [sheet.title for sheet in filled]
    if wanted is not None:
        name = find(names, wanted)
        if name is None:
            raise ValueError(f"{file} needs a worksheet among {list_names(names)}, got {wanted!r}")
        return filled[names.index(name)], []
    visible = [sheet.title for sheet in filled if sheet.sheet_state == "visible"]
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


def filled_cells(sheet: Worksheet) -> Iterator[Cell]:
    """The cells that are not blank; `iter_rows` would make all those between them."""
    return (cell for cell in sheet._cells.values() if cell.value is not None)


def has_values(sheet: Worksheet) -> bool:
    return next(filled_cells(sheet), None) is not None


class WorksheetReader:
    """Turns the cells of one sheet into a table, and collects what is to be said of them."""

    def __init__(self, file: str, raw: bytes, sheet: Worksheet) -> None:
        self.file, self.raw, self.sheet = file, raw, sheet
        self.unit = f"sheet {sheet.title!r}, row"
        self.texts: dict[tuple[int, int], str] = {}
        """(row, column), both from 1 -> the text of a cell that is not blank."""
        self.percents: dict[int, dict[bool, int]] = {}
        """Column -> the first rows with a number in percent, and with another one."""

    def read(self, nameless: str, notices: Sequence[str]) -> Table:
        said = list(notices)
        cells = list(filled_cells(self.sheet))
        formulas = [cell for cell in cells if cell.data_type == "f"]
        self._keep([cell for cell in cells if cell.data_type != "f"])
        if formulas:
            self._keep(self._values_of(formulas))
            said.append(
                f"formulas in {format_count(len(formulas), 'cell')} of sheet "
                f"{self.sheet.title!r}: the values that were saved with them are read"
            )
        rows = sorted({row for row, _ in self.texts})
        if len(rows) < 2:
            raise ValueError(
                f"{self.file} needs a header and at least one row in sheet {self.sheet.title!r}, "
                f"got {format_count(len(rows), 'row')}"
            )
        checks.needs(len(rows) <= MOST_ROWS + 1, self.file, f"at most {MOST_ROWS} rows", len(rows))
        names = self._name_columns(rows[0], nameless)
        self._refuse_merged(rows, names)
        columns = {
            name: Column(tuple(self.texts.get((row, column), "") for row in rows[1:]))
            for column, name in names.items()
        }
        labels = (
            (nameless,) if nameless in columns and (rows[0], min(names)) not in self.texts else ()
        )
        said += [*self._remark_percents(names), *self._remark_hidden(rows, names)]
        said += self._remark_gaps(rows)
        return Table(self.file, columns, rows[1:], self.unit, labels, tuple(said), from_file=True)

    def _keep(self, cells: Sequence[Cell]) -> None:
        for cell in cells:
            text = self._text_of(cell)
            if text:
                self.texts[cell.row, cell.column] = text

    def _values_of(self, formulas: Sequence[Cell]) -> list[Cell]:
        """The cells of formulas with the values that they had when the workbook was saved."""
        saved = load_book(self.file, self.raw, values=True)[self.sheet.title]
        found = [saved.cell(cell.row, cell.column) for cell in formulas]
        for formula, cell in zip(formulas, found, strict=True):
            # A formula that gives an empty text is saved with the type of a text and no value.
            if cell.value is None and cell.data_type != "str":
                written = getattr(formula.value, "text", formula.value)
                raise ValueError(
                    f"{self.file} needs a value {self._place(cell.row, cell.column)}, got the "
                    f"formula {str(written)!r}, whose value was not saved; open the file in a "
                    "spreadsheet program and save it, or write the values"
                )
        return [cell for cell in found if cell.value is not None]

    def _text_of(self, cell: Cell) -> str:
        """A value as text: numbers in their canonical form, dates as 2026-05-04."""
        value: Any = cell.value
        if isinstance(value, dt.datetime) and value.time() == dt.time():
            value = value.date()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value:
            in_percent = "%" in re.sub(r'"[^"]*"|\\.', "", cell.number_format or "")
            first = self.percents.setdefault(cell.column, {})
            first[in_percent] = min(cell.row, first.get(in_percent, cell.row))
        if isinstance(value, str):
            value = ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)
        try:
            return text_of(value)
        except ValueError as error:
            raise ValueError(f"{error} {self._place(cell.row, cell.column)}") from None

    def _place(self, row: int, column: int) -> str:
        header = min((there for there, _ in self.texts), default=row)
        name = self.texts.get((header, column))
        named = "" if name is None else f", column {name!r}"
        return f"in {self.unit} {row}{named} ({address(row, column)})"

    def _name_columns(self, header: int, nameless: str) -> dict[int, str]:
        """Column -> its name, of all columns that have a value."""
        columns = sorted({column for _, column in self.texts})
        names = {column: self.texts.get((header, column), "") for column in columns}
        if nameless and not names[columns[0]]:
            names[columns[0]] = nameless
        counts = Counter(names.values())
        for column, name in names.items():
            if not name:
                row = min(row for row, there in self.texts if there == column)
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

    def _refuse_merged(self, rows: Sequence[int], names: Mapping[int, str]) -> None:
        for area in self.sheet.merged_cells.ranges:
            outside = area.min_row > rows[-1] or area.max_row < rows[0]
            if not outside and any(area.min_col <= column <= area.max_col for column in names):
                raise ValueError(
                    f"{self.file} needs a value in each cell of its own, got the merged cells "
                    f"{area.coord} {self._place(area.min_row, area.min_col)}; separate them and "
                    "fill in each cell"
                )

    def _remark_percents(self, names: Mapping[int, str]) -> Iterator[str]:
        """Numbers shown as 12 % are stored as 0.12; a column with both kinds is refused."""
        shown = []
        for column, first in sorted(self.percents.items()):
            if len(first) > 1:
                row = first[False]
                raise ValueError(
                    f"{self.file} needs all numbers of a column in percent or none, got "
                    f"{self.texts[row, column]} {self._place(row, column)} beside "
                    f"{self.texts[first[True], column]}, which is shown in percent, in row "
                    f"{first[True]}"
                )
            if True in first:
                shown.append(repr(names[column]))
        if shown:
            yield (
                f"numbers in percent are read as they are stored, 12 % as 0.12: column "
                f"{', '.join(shown)}"
            )

    def _remark_hidden(self, rows: Sequence[int], names: Mapping[int, str]) -> Iterator[str]:
        hidden = [row for row in rows if self._is_hidden_row(row)]
        if hidden:
            listed = ", ".join(map(str, hidden[:LISTED])) + (", ..." if hidden[LISTED:] else "")
            yield f"hidden rows of the sheet are read too: {listed}"
        spans = [one for one in self.sheet.column_dimensions.values() if one.hidden]
        columns = [
            name
            for column, name in names.items()
            if any((one.min or 0) <= column <= (one.max or 0) for one in spans)
        ]
        if columns:
            yield f"hidden columns of the sheet are read too: {list_names(columns)}"

    def _is_hidden_row(self, row: int) -> bool:
        return row in self.sheet.row_dimensions and bool(self.sheet.row_dimensions[row].hidden)

    def _remark_gaps(self, rows: Sequence[int]) -> Iterator[str]:
        gap = next((one for one, two in pairwise(rows) if two > one + 1), None)
        if gap is not None:
            yield f"row {gap + 1} of the sheet is blank; the rows below it are read too"


def address(row: int, column: int) -> str:
    """B3"""
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

    there: Any = book.create_sheet(sheet.name)
    lay_out_page(there, sheet)
    line = Side(style="thin", color="808080")
    frame, colour = Border(line, line, line, line), PatternFill("solid", fgColor="FFF8DC")

    def make_cell(value: Any, bold: bool, to_fill: bool) -> Any:
        plain = as_stored(value)
        if not bold and not to_fill and is_written_as_is(plain):
            return plain
        if isinstance(plain, float):
            # openpyxl writes 16 digits of a float, and leaves a text as it is.
            cell = WriteOnlyCell(there, repr(plain))
            cell.data_type = "n"
        else:
            cell = WriteOnlyCell(there, plain)
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

    there.append([make_cell(name, True, name in sheet.to_fill) for name in sheet.header])
    for cells in sheet.rows:
        named = zip(sheet.header, cells, strict=True)
        there.append([make_cell(value, False, name in sheet.to_fill) for name, value in named])


def lay_out_page(there: Any, sheet: Sheet) -> None:
    """Keep the header in sight, print all columns on one page, fit columns to their first rows."""
    from openpyxl.utils import get_column_letter

    there.freeze_panes = "A2"
    there.page_setup.orientation, there.page_setup.fitToHeight = "landscape", 0
    there.sheet_properties.pageSetUpPr.fitToPage = True
    there.print_title_rows = "1:1"
    sample = [[*map(str, cells)] for cells in (sheet.header, *sheet.rows[:50])]
    for i in range(len(sheet.header)):
        width = max(len(cells[i]) for cells in sample) + 2
        there.column_dimensions[get_column_letter(i + 1)].width = min(width, WIDEST)


def is_written_as_is(plain: Any) -> bool:
    """Whether openpyxl needs no cell of ours for a value: cells cost a third of the time."""
    if isinstance(plain, float):
        return float(f"{plain:.16g}") == plain
    if isinstance(plain, str):
        return not is_formula(plain) and not plain.startswith("#")
    return not isinstance(plain, dt.date)


def as_stored(value: Any) -> Any:
    """A value as a workbook keeps it: a number, a truth value, a time in UTC, text, or None."""
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
