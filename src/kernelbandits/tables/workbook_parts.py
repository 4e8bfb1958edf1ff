"""The parts of a workbook (.xlsx), parsed while they are unpacked.

A workbook is an archive of XML. A program that makes objects of all its elements can be made to
fill the memory by a file of a few kB: one merged range over the whole sheet, one long text in every
cell, a million formatted rows. Here only the values of the cells of one sheet are handed on. All
elements and all texts are counted as they come, and too many are refused.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from posixpath import join, normpath
from typing import Any, NoReturn
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, is_zipfile

from kernelbandits.tables.csv_files import MOST_COLUMNS
from kernelbandits.tables.table import MOST_PROBLEMS, MOST_ROWS

WORKBOOK, BINARY = "xl/workbook.xml", "xl/workbook.bin"
"""Where an archive that is a workbook says so; the second is the binary form (.xlsb)."""
RELATIONS = "xl/_rels/workbook.xml.rels"
MOST_UNPACKED = 2**28
LARGEST_RATIO, SMALL = 100, 2**24
"""How many times its size a workbook may unpack to, if that is more than SMALL bytes."""
LARGEST_DIRECTORY = 2**22
"""Bytes of the directory of an archive: about 50 000 parts, each of which becomes an object."""
MOST_CELLS = 2**21
MOST_ELEMENTS, DEEPEST = 2**23, 100
"""XML elements of all parts that are read, and how deep one may lie in others."""
MOST_TEXT = 2**26
"""Bytes in memory of all shared texts, and of the texts of all cells of a sheet."""
LONGEST_TOKEN = 2**22
"""Bytes of a tag: the parser holds it as a whole, and begins it anew with each chunk."""
MOST_SHEETS, MOST_PLACES = 2**10, 2**16
"""Sheets; and styles, formats, merged ranges and hidden columns: more than programs write."""
LONGEST_FORMAT = 255
CHUNK = 2**20
CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")
TRUE = ("1", "true")

DAMAGE = (
    ExpatError,
    BadZipFile,
    zlib.error,
    struct.error,
    LookupError,
    RuntimeError,
    EOFError,
    OSError,
)
"""What is raised where a damaged archive, or damaged XML, is first met."""

Attributes = Mapping[str, str]
Handlers = Mapping[str, Callable[[Attributes], None]]
Keep = Callable[[int, int, Any, bool], None]
"""Takes a cell that is not blank: row and column from 1, value, and whether it is in percent."""


class TooLarge(ValueError):
    """A workbook would fill the memory or take too long."""


class EndOfInterest(Exception):
    """All that was asked for is known, and the rest of a part need not be parsed."""


@dataclass(frozen=True)
class SheetEntry:
    """A sheet as the workbook lists it."""

    title: str
    is_visible: bool
    part: str


@dataclass(frozen=True)
class CellStyle:
    """The meaning that the format of a cell gives to its number."""

    in_percent: bool = False
    is_date: bool = False
    is_duration: bool = False


@dataclass(frozen=True)
class MergedRange:
    """The corners of merged cells, columns and rows from 1."""

    left: int
    top: int
    right: int
    bottom: int
    text: str


def is_workbook(path: Path) -> bool:
    """Tell whether a file is a workbook in the format of Office Open XML, whatever its name."""
    if not is_zipfile(path) or directory_size(path) > LARGEST_DIRECTORY:
        return False
    try:
        with ZipFile(path) as archive:
            return not {WORKBOOK, BINARY}.isdisjoint(archive.namelist())
    except (*DAMAGE, ValueError):
        # Its directory is damaged: what is known of its content is said by the reader of text.
        return False


def directory_size(path: Path) -> int:
    """Return how many bytes the directory of an archive has, read off the end of the file."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 2**16 - 42))
        end = file.read()
    # Without a comment the record is the last 22 bytes; with one it is before the comment.
    plain = end[-22:-18] == b"PK\5\6" and end[-2:] == b"\0\0"
    at = len(end) - 22 if plain else end.rfind(b"PK\5\6")
    large = end[max(0, at - 20) : at].startswith(b"PK\6\7")
    record = end[at + 12 : at + 16]
    return size if large or len(record) < 4 else int(struct.unpack("<I", record)[0])


class WorkbookArchive:
    """The parts of one workbook: its sheets, shared texts and styles.

    archive: the file, which stays open as long as parts are read.
    """

    def __init__(self, archive: ZipFile) -> None:
        self.archive, path = archive, Path(str(archive.filename))
        self.file = path.name
        self.elements = 0
        """How many were parsed so far."""
        self._check_sizes(path.stat().st_size)

    def _check_sizes(self, packed: int) -> None:
        """Refuse an archive that is small on the disk and would fill the memory."""
        size = 0
        for part in self.archive.infolist():
            if part.filename == BINARY:
                raise ValueError(
                    f"{self.file} needs to be an .xlsx workbook, got a binary one (.xlsb); save it "
                    "as .xlsx or CSV"
                )
            if part.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                self._refuse_xml(f"another compression of {part.filename[:40]}")
            size += part.file_size
        if size > MOST_UNPACKED:
            self.refuse_size(f"at most {MOST_UNPACKED} bytes when unpacked", str(size))
        if size > max(SMALL, LARGEST_RATIO * packed):
            times = f"to unpack to at most {LARGEST_RATIO} times its size of {packed} bytes"
            self.refuse_size(times, str(size))

    def refuse_size(self, needed: str, got: str) -> NoReturn:
        raise TooLarge(f"{self.file} needs {needed}, got {got}; save the sheet as CSV")

    def _refuse_xml(self, got: str) -> NoReturn:
        raise ValueError(
            f"{self.file} needs XML as spreadsheet programs write it, got {got}; save the sheet as "
            "CSV"
        )

    def damage_error(self, error: Exception) -> ValueError:
        """Return the error of a workbook that cannot be read."""
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        return ValueError(
            f"{self.file} needs to be a workbook that can be read, got one that is damaged "
            f"({said}); save it again in a spreadsheet program"
        )

    def parse(
        self, name: str, starts: Handlers, ends: Mapping[str, Callable[[], None]], text: Any = None
    ) -> None:
        """Parse a part: hand on the elements that are named, by their names without a prefix."""
        parser, depth, fed = ParserCreate(), 0, 0
        parser.buffer_text = True

        def begin(tag: str, attributes: Attributes) -> None:
            nonlocal depth
            depth += 1
            self.elements += 1
            if self.elements > MOST_ELEMENTS or depth > DEEPEST:
                most = f"at most {MOST_ELEMENTS} elements of XML, at most {DEEPEST} in each other"
                self.refuse_size(most, f"more in {name}")
            act = starts.get(tag.rpartition(":")[2] if ":" in tag else tag)
            if act is not None:
                act(attributes)

        def finish(tag: str) -> None:
            nonlocal depth
            depth -= 1
            act = ends.get(tag.rpartition(":")[2] if ":" in tag else tag)
            if act is not None:
                act()

        def define(*_: Any) -> None:
            self._refuse_xml(f"definitions in {name}")

        parser.StartElementHandler, parser.EndElementHandler = begin, finish
        parser.StartDoctypeDeclHandler, parser.CharacterDataHandler = define, text
        try:
            with self.archive.open(name) as part:
                while chunk := part.read(CHUNK):
                    parser.Parse(chunk, False)
                    fed += len(chunk)
                    if fed - parser.CurrentByteIndex > LONGEST_TOKEN:
                        longest = f"tags of at most {LONGEST_TOKEN} bytes"
                        self.refuse_size(longest, f"a longer one in {name}")
                parser.Parse(b"", True)
        except EndOfInterest:
            pass
        except DAMAGE as error:
            raise self.damage_error(error) from None

    def check_places(self, count: int, what: str, most: int = MOST_PLACES) -> None:
        if count > most:
            self.refuse_size(f"at most {most} {what}", "more")

    @cached_property
    def _relations(self) -> dict[str, tuple[str, str]]:
        """The type of a part, such as worksheet, and its name in the archive, by identifier."""
        found: dict[str, tuple[str, str]] = {}

        def relate(attributes: Attributes) -> None:
            target = normpath(join("xl", attributes.get("Target", ""))).lstrip("/")
            kind = attributes.get("Type", "").rpartition("/")[2]
            found[attributes.get("Id", "")] = kind, target
            self.check_places(len(found), "parts")

        self.parse(RELATIONS, {"Relationship": relate}, {})
        return found

    def _find_part(self, kind: str) -> str | None:
        return next((part for one, part in self._relations.values() if one == kind), None)

    @property
    def sheets(self) -> list[SheetEntry]:
        """The worksheets, in their order."""
        return self._contents[0]

    @cached_property
    def _contents(self) -> tuple[list[SheetEntry], bool]:
        """The worksheets, and whether days are counted from 1904."""
        sheets: list[SheetEntry] = []
        from_1904 = False

        def enter(attributes: Attributes) -> None:
            link = next((text for name, text in attributes.items() if name.endswith(":id")), "")
            kind, part = self._relations.get(link, ("", ""))
            if kind == "worksheet":
                state = attributes.get("state", "visible")
                sheets.append(SheetEntry(attributes.get("name", ""), state == "visible", part))
                self.check_places(len(sheets), "sheets", MOST_SHEETS)

        def set_epoch(attributes: Attributes) -> None:
            nonlocal from_1904
            from_1904 = attributes.get("date1904") in TRUE

        self.parse(WORKBOOK, {"sheet": enter, "workbookPr": set_epoch}, {})
        return sheets, from_1904

    @cached_property
    def epoch(self) -> Any:
        """The day from which dates are counted."""
        from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH

        return MAC_EPOCH if self._contents[1] else WINDOWS_EPOCH

    @cached_property
    def shared_texts(self) -> list[str]:
        """The texts to which cells refer by their numbers."""
        part, texts = self._find_part("sharedStrings"), list[str]()
        collector = TextCollector(self)

        def keep() -> None:
            texts.append(collector.take())
            if len(texts) > MOST_CELLS:
                self.refuse_size(f"at most {MOST_CELLS} texts", "more")

        if part is not None:
            starts = {"t": collector.begin, "rPh": collector.skip}
            ends = {"t": collector.pause, "rPh": collector.go_on, "si": keep}
            self.parse(part, starts, ends, collector.add)
        return texts

    @cached_property
    def styles(self) -> list[CellStyle]:
        """The styles to which cells refer by their numbers."""
        part, codes, numbers = self._find_part("styles"), dict[str, str](), list[str]()
        of_cells = False

        def name_format(attributes: Attributes) -> None:
            code = attributes.get("formatCode", "")
            if len(code) > LONGEST_FORMAT:
                self.refuse_size(f"formats of at most {LONGEST_FORMAT} letters", "a longer one")
            codes[attributes.get("numFmtId", "")] = code
            self.check_places(len(codes), "formats")

        def begin(_: Attributes) -> None:
            nonlocal of_cells
            of_cells = True

        def end() -> None:
            nonlocal of_cells
            of_cells = False

        def add_style(attributes: Attributes) -> None:
            if of_cells:
                numbers.append(attributes.get("numFmtId", "0"))
                self.check_places(len(numbers), "styles")

        if part is not None:
            starts = {"numFmt": name_format, "cellXfs": begin, "xf": add_style}
            self.parse(part, starts, {"cellXfs": end})
        formats = {number: describe_format(number, codes) for number in set(numbers)}
        return [formats[number] for number in numbers]

    def has_values(self, sheet: SheetEntry) -> bool:
        """Tell whether a cell of a sheet is not blank."""
        found: list[bool] = []

        def keep(*_: Any) -> None:
            found.append(True)
            raise EndOfInterest

        self.read(sheet, keep)
        return bool(found)

    def read(self, sheet: SheetEntry, keep: Keep) -> SheetParser:
        """Hand on the cells of a sheet that are not blank, and return what else it says."""
        parser = SheetParser(self, keep)
        self.parse(sheet.part, parser.starts, parser.ends, parser.add)
        return parser


def describe_format(number: str, codes: Mapping[str, str]) -> CellStyle:
    """Return what the format of a number means; `codes` are those that the workbook defines."""
    from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format, is_timedelta_format

    code = codes.get(number) or BUILTIN_FORMATS.get(int(number) if number.isdigit() else 0, "")
    in_percent = "%" in re.sub(r'"[^"]*"|\\.', "", code)
    return CellStyle(in_percent, is_date_format(code), is_timedelta_format(code))


class TextCollector:
    """A collector of the text of some elements, which also counts it."""

    def __init__(self, book: WorkbookArchive) -> None:
        self.book, self.total = book, 0
        self._parts: list[str] = []
        self._open = self._skips = False

    def begin(self, _: Attributes) -> None:
        self._open = not self._skips

    def pause(self) -> None:
        self._open = False

    def skip(self, _: Attributes) -> None:
        """Leave out what follows: how a text is pronounced."""
        self._skips = True

    def go_on(self) -> None:
        self._skips = False

    def add(self, text: str) -> None:
        if self._open:
            self._parts.append(text)
            self.count(text)

    def count(self, text: str) -> None:
        self.total += len(text) if text.isascii() else 4 * len(text)
        if self.total > MOST_TEXT:
            self.book.refuse_size(f"at most {MOST_TEXT} bytes of text", "more")

    def take(self) -> str:
        """Return the text that came since the last one was taken."""
        text = "".join(self._parts)
        self._parts.clear()
        return text


class SheetParser:
    """A parser that turns the elements of a worksheet into values of cells."""

    def __init__(self, book: WorkbookArchive, keep: Keep) -> None:
        from openpyxl.utils.datetime import from_excel, from_ISO8601

        self._from_serial, self._from_iso = from_excel, from_ISO8601
        self.book, self.keep, self.texts = book, keep, TextCollector(book)
        self.cells = self.formulas = 0
        self.unsaved: dict[tuple[int, int], str] = {}
        """Row and column -> a formula whose value was not saved; not more than a message needs."""
        self.merged: list[MergedRange] = []
        self.hidden_rows: set[int] = set()
        self.hidden_columns: list[tuple[int, int]] = []
        """First and last column of each hidden range."""
        self._row = self._column = 0
        self._kind = self._style = ""
        self._formula: str | None = None
        self._in_formula = False
        self.starts: Handlers = {
            "row": self._begin_row,
            "c": self._begin_cell,
            "v": lambda one: None if self._kind == "inlineStr" else self.texts.begin(one),
            "t": lambda one: self.texts.begin(one) if self._kind == "inlineStr" else None,
            "rPh": self.texts.skip,
            "f": self._begin_formula,
            "mergeCell": self._add_merged,
            "col": self._add_column,
        }
        self.ends: Mapping[str, Callable[[], None]] = {
            "c": self._end_cell,
            "v": self.texts.pause,
            "t": self.texts.pause,
            "rPh": self.texts.go_on,
            "f": self._end_formula,
        }

    def add(self, text: str) -> None:
        if not self._in_formula:
            self.texts.add(text)
        elif self._formula is not None and len(self._formula) < LONGEST_FORMAT:
            self._formula += text[:LONGEST_FORMAT]

    def _begin_row(self, attributes: Attributes) -> None:
        self._row = self._read_number(attributes.get("r", self._row + 1), MOST_ROWS)
        self._column = 0
        if attributes.get("hidden") in TRUE:
            self.hidden_rows.add(self._row)

    def _begin_cell(self, attributes: Attributes) -> None:
        self.cells += 1
        if self.cells > MOST_CELLS:
            self.book.refuse_size(f"at most {MOST_CELLS} cells", "more")
        where = attributes.get("r")
        if where is None:
            self._column = self._read_number(self._column + 1, MOST_COLUMNS)
        else:
            self._column, self._row = self._read_corner(where)
        self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
        self._formula = None
        self.texts.take()

    def _begin_formula(self, _: Attributes) -> None:
        if self._kind:
            self._in_formula, self._formula = True, "="

    def _end_formula(self) -> None:
        self._in_formula = False

    def _end_cell(self) -> None:
        text, kind = self.texts.take(), self._kind
        self._kind = ""
        if self._formula is not None:
            self.formulas += 1
            # A formula that gives an empty text is saved with the type of a text and no value.
            if not text and kind != "str" and len(self.unsaved) < MOST_PROBLEMS:
                self.unsaved[self._row, self._column] = self._formula
        if text:
            style = self._find_style()
            value = self._read_value(kind, text, style)
            self.keep(self._row, self._column, value, style.in_percent)

    def _find_style(self) -> CellStyle:
        number = int(self._style) if self._style.isdecimal() and len(self._style) < 9 else 0
        styles = self.book.styles
        return styles[number] if number < len(styles) else CellStyle()

    def _read_value(self, kind: str, text: str, style: CellStyle) -> Any:
        """Return the value of a cell in Python: a number, a truth value, a date or a text."""
        try:
            if kind == "n":
                number = float(text) if set(text) & set(".eE") else int(text)
                if not style.is_date:
                    return number
                try:
                    return self._from_serial(number, self.book.epoch, timedelta=style.is_duration)
                except (OverflowError, ValueError):
                    return "#VALUE!"
            if kind == "s":
                shared = self.book.shared_texts[int(text)]
                self.texts.count(shared)
                return shared
            if kind == "b":
                return bool(int(text))
            return self._from_iso(text) if kind == "d" else text
        except (ValueError, IndexError) as error:
            if isinstance(error, TooLarge):
                raise
            raise self.book.damage_error(error) from None

    def _add_merged(self, attributes: Attributes) -> None:
        first, _, last = attributes.get("ref", "").partition(":")
        if last:
            ends = (*self._read_corner(first), *self._read_corner(last))
            self.merged.append(MergedRange(*ends, f"{first}:{last}"))
            self.book.check_places(len(self.merged), "merged ranges")

    def _add_column(self, attributes: Attributes) -> None:
        if attributes.get("hidden") in TRUE:
            first, last = (attributes.get(end, 0) for end in ("min", "max"))
            ends = self._read_number(first, MOST_COLUMNS), self._read_number(last, MOST_COLUMNS)
            self.hidden_columns.append(ends)
            self.book.check_places(len(self.hidden_columns), "hidden ranges of columns")

    def _read_corner(self, text: str) -> tuple[int, int]:
        """Return column and row of a cell such as B3."""
        found = CELL.fullmatch(text)
        if found is None:
            raise self.book.damage_error(ValueError(f"no cell is called {text[:40]!r}"))
        column = column_number(found[1])
        return column, self._read_number(found[2], MOST_ROWS)

    def _read_number(self, given: str | int, most: int) -> int:
        """Return the number of a row or a column; refuse one that no sheet has."""
        number = int(given) if str(given).isdecimal() and len(str(given)) < 9 else -1
        if not 0 <= number <= most:
            raise self.book.damage_error(
                ValueError(f"no row or column has the number {given!s:.40}")
            )
        return number


def column_number(letters: str) -> int:
    """Return the number of a column: A is 1, Z is 26, AA is 27."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - 64
    return number
