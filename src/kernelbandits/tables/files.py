"""A CSV file as named columns of text, each cell traceable to its line; numbers are read strictly.

The cells are split by the standard csv module: it never shifts a ragged row, and it knows the line.
"""

from __future__ import annotations

import codecs
import csv
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD, Array

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = (",", ";", "\t")
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none"})
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
COMMA_NUMBER = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
SEPARATOR = re.compile(r'"?sep=([^\r\n"])"?[ ,;\t]*(?=[\r\n])', re.IGNORECASE)
FORMULA = r"[=+\-@\t\r\n\0]"
"""How text begins that a spreadsheet may run."""
GUARDED = re.compile(f"'+{FORMULA}")
"""Text that an export protected from being taken for a formula, by an apostrophe."""

SAMPLE = 50
MOST_ROWS = 2**20
"""As many as a spreadsheet holds."""
MOST_COLUMNS = 2**14
MOST_BYTES = 2**29
LARGEST = sys.float_info.max

Record = tuple[int, list[str]]


@dataclass(frozen=True)
class Sheet:
    """The columns of a file by name, and the line at which each row begins."""

    file: str
    columns: dict[str, tuple[str, ...]]
    lines: tuple[int, ...]
    decimal: str = "."
    """The decimal mark; a comma only where it does not separate cells."""
    unit: str = "line"
    """What `lines` counts."""
    labels: tuple[str, ...] = ()
    """Columns that only number or name the rows."""

    def is_numeric(self, name: str) -> bool:
        """Whether any cell of the column is a number."""
        return any(self.value(cell) is not None for cell in self.columns[name])

    def numbers(self, name: str, largest: float = LARGEST_REWARD) -> Array:
        """The column as finite numbers; a cell that is none is refused by line and column."""
        return np.array([self.number(i, name, largest) for i in range(len(self.lines))])

    def number(self, i: int, name: str, largest: float = LARGEST_REWARD) -> float:
        """Cell i of the column as a finite number."""
        cell = self.columns[name][i]
        value = self.value(cell, largest)
        if value is not None:
            return value
        if cell.casefold() in MISSING:
            raise ValueError(
                f"{self.file} needs a value {self.place(i, name)}, got a missing one ({cell!r})"
            )
        mark = "comma" if self.decimal == "," else "point"
        form = f"ASCII digits, decimal {mark}, at most {largest:g}"
        raise ValueError(f"{self.file} needs a number ({form}) {self.place(i, name)}, got {cell!r}")

    def value(self, cell: str, largest: float = LARGEST_REWARD) -> float | None:
        """The number that is written in a cell, None if there is none."""
        if self.decimal == ",":
            cell = cell.translate({ord(","): ".", ord("."): ","})
        value = float(cell) if NUMBER.fullmatch(cell) else math.nan
        return value if abs(value) <= largest else None

    def place(self, i: int, name: str) -> str:
        return f"in {self.unit} {self.lines[i]}, column {name!r}"


def read_sheet(path: str | PathLike[str], nameless: str = "") -> Sheet:
    """The file as a Sheet; encoding, delimiter and decimal mark are recognised.

    A row with more or fewer cells than the header is refused. A first column without a name is
    called `nameless`, and refused if that is empty.
    """
    file = Path(path).name
    text = decode_text(file, read_content(path))
    declared = SEPARATOR.match(text)
    delimiter = declared[1] if declared else sniff_delimiter(file, text)
    header, rows = split_rows(file, text[declared.end() :] if declared else text, delimiter)
    names = name_columns(file, header, rows, nameless)
    columns = {name: tuple(cells[i] for _, cells in rows) for i, name in names.items()}
    labels = (names[0],) if 0 in names and not header[1][0] else ()
    return Sheet(
        file,
        columns,
        tuple(line for line, _ in rows),
        decimal_mark(delimiter, columns),
        labels=labels,
    )


def read_content(path: str | PathLike[str]) -> bytes:
    """The bytes of a file that can be read and is not too large to be a table."""
    file = Path(path)
    if not file.exists():
        raise ValueError(f"No such file: {path}")
    if not file.is_file():
        kind = "a folder" if file.is_dir() else "no regular file"
        raise ValueError(f"a table needs a file, got {path}, which is {kind}")
    try:
        checks.needs(
            file.stat().st_size <= MOST_BYTES, "a table", f"at most {MOST_BYTES} bytes", str(path)
        )
        return file.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None


def decode_text(file: str, raw: bytes) -> str:
    """Decode UTF-8, UTF-16 with a byte-order mark, Windows-1252 or Latin-1; no NUL is allowed."""
    if raw.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise ValueError(f"{file} needs to be text, got a workbook; save the sheet as CSV")
    text = next(possible_texts(raw), None)
    checks.needs(
        text is not None, file, "text in the encoding that its byte-order mark names", "other bytes"
    )
    before, nul, _ = str(text).partition("\0")
    if nul:
        raise ValueError(
            f"{file} needs text, got a NUL character in line {len(LINE.findall(before + '.'))}"
        )
    return before


def possible_texts(raw: bytes) -> Iterator[str]:
    """The text in every encoding in which there is one."""
    for encoding in encodings(raw):
        with suppress(UnicodeDecodeError):
            yield raw.decode(encoding)


def encodings(raw: bytes) -> tuple[str, ...]:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ("utf-16",)
    return ("utf-8-sig",) if raw.startswith(codecs.BOM_UTF8) else ("utf-8", "cp1252", "latin-1")


def sniff_delimiter(file: str, text: str) -> str:
    """The delimiter that cuts all lines into equally many cells, and finds most numbers."""
    first = next((line for line in lines(text) if line.strip()), "")
    few = max(first.count(mark) for mark in DELIMITERS) < MOST_COLUMNS
    checks.needs(
        few, file, f"at most {MOST_COLUMNS} columns", f"a header of {len(first)} characters"
    )
    return max(DELIMITERS, key=partial(rate_delimiter, text))


def rate_delimiter(text: str, delimiter: str) -> tuple[bool, int, int]:
    """How well a delimiter fits, as a key to compare: does it, and how many numbers it finds.

    It fits if the first rows have equally many cells; else the cells of the header count.

    On ties the mark that is rarer in text and in numbers wins where it fits, a comma elsewhere.
    """
    found = (cells for cells in reader(text, delimiter) if any(map(str.strip, cells)))
    try:
        sample = list(islice(found, SAMPLE)) or [[]]
    except csv.Error:
        return False, 0, 0
    if len(sample[0]) < 2 or len({len(row) for row in sample}) > 1:
        return False, 0, len(sample[0])
    cells = [cell.strip() for row in sample[1:] for cell in row]
    numbers = sum(bool(NUMBER.fullmatch(cell) or COMMA_NUMBER.fullmatch(cell)) for cell in cells)
    return True, numbers, DELIMITERS.index(delimiter)


def reader(text: str, delimiter: str, strict: bool = False) -> Reader:
    return csv.reader(lines(text), delimiter=delimiter, skipinitialspace=True, strict=strict)


def lines(text: str) -> Iterator[str]:
    """Lines with their ends: CR, LF or both."""
    return (match.group() for match in LINE.finditer(text))


def split_rows(file: str, text: str, delimiter: str) -> tuple[Record, list[Record]]:
    """The header and the rows, without blank ones at the end."""
    found = list(islice(read_records(file, text, delimiter), MOST_ROWS + 2))
    checks.needs(len(found) <= MOST_ROWS + 1, file, f"at most {MOST_ROWS} rows", "more")
    while found and not any(found[-1][1]):
        found.pop()
    if len(found) < 2:
        raise ValueError(
            f"{file} needs a header and at least one row, got {len(found)} lines of cells"
        )
    return found[0], found[1:]


def read_records(file: str, text: str, delimiter: str) -> Iterator[Record]:
    """(first line, cells) of each record that is not blank."""
    found, line = reader(text, delimiter, strict=True), 1
    try:
        for cells in found:
            if any(cell.strip() for cell in cells) or len(cells) > 1:
                yield line, [remove_guard(plain(cell)) for cell in cells]
            line = found.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{file} needs well-formed cells, got {error} in line {line}") from None


def plain(cell: str) -> str:
    """The text of a cell, composed (NFC), without blanks around it."""
    return cell.strip() if cell.isascii() else unicodedata.normalize("NFC", cell).strip()


def remove_guard(cell: str) -> str:
    return cell[1:] if GUARDED.match(cell) else cell


def name_columns(
    file: str, header: Record, rows: list[Record], nameless: str = ""
) -> dict[int, str]:
    """Position -> name, without nameless empty columns (what trailing delimiters leave)."""
    names = [name or (nameless if i == 0 else "") for i, name in enumerate(header[1])]
    for line, cells in rows:
        if len(cells) != len(names):
            raise ValueError(
                f"{file} needs {len(names)} cells in line {line}, as in its header, "
                f"got {len(cells)}"
            )
    kept = {
        i: name
        for i, name in enumerate(names)
        if header[1][i] or any(cells[i] for _, cells in rows)
    }
    counts = Counter(kept.values())
    for i, name in kept.items():
        if not name:
            raise ValueError(
                f"{file} needs a name for every column, got none for column number {i + 1}"
            )
        if counts[name] > 1:
            raise ValueError(
                f"{file} needs distinct column names, got {name!r} {counts[name]} times"
            )
    return kept


def decimal_mark(delimiter: str, columns: dict[str, tuple[str, ...]]) -> str:
    """A comma if some cell is a number written with it and it separates no cells, else a point."""
    if delimiter == ",":
        return "."
    written = any(COMMA_NUMBER.fullmatch(cell) for cells in columns.values() for cell in cells)
    return "," if written else "."
