"""A CSV file as named columns of text, each cell traceable to its line; numbers are read strictly.

The cells are split by the standard csv module: it never shifts a ragged row, and it knows the line.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD, Array

DELIMITERS = (",", ";", "\t")
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
COMMA_NUMBER = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")

Record = tuple[int, list[str]]


@dataclass(frozen=True)
class Sheet:
    """The columns of a file by name, and the line at which each row begins."""

    file: str
    columns: dict[str, tuple[str, ...]]
    lines: tuple[int, ...]
    decimal: str = "."
    """The decimal mark; a comma only where it does not separate cells."""

    def is_numeric(self, name: str) -> bool:
        """Whether any cell of the column is a number."""
        return any(self._value(cell) is not None for cell in self.columns[name])

    def numbers(self, name: str) -> Array:
        """The column as finite numbers; the first cell that is none is refused by line and column."""
        pairs = zip(self.lines, self.columns[name], strict=True)
        return np.array([self._number(line, name, cell) for line, cell in pairs])

    def _number(self, line: int, name: str, cell: str) -> float:
        value = self._value(cell)
        if value is not None:
            return value
        place = f"in line {line}, column {name!r}"
        if cell.casefold() in MISSING:
            raise ValueError(f"{self.file} needs a value {place}, got a missing one ({cell!r})")
        form = f"ASCII digits, decimal {'comma' if self.decimal == ',' else 'point'}, at most {LARGEST_REWARD:g}"
        raise ValueError(f"{self.file} needs a number ({form}) {place}, got {cell!r}")

    def _value(self, cell: str) -> float | None:
        if self.decimal == ",":
            cell = cell.translate({ord(","): ".", ord("."): ","})
        value = float(cell) if NUMBER.fullmatch(cell) else math.nan
        return value if abs(value) <= LARGEST_REWARD else None


def read_sheet(path: str | Path) -> Sheet:
    """The file as a Sheet: encoding, delimiter and decimal mark are recognised, ragged rows refused."""
    file = Path(path).name
    checks.needs(Path(path).is_file(), "a table", "a file that can be read", str(path))
    text = decoded(file, Path(path).read_bytes())
    delimiter = sniffed(text)
    found = list(records(file, text, delimiter))
    if len(found) < 2:
        raise ValueError(f"{file} needs a header and at least one row, got {len(found)} lines of cells")
    header, rows = named(file, found[0], found[1:]), found[1:]
    columns = {name: tuple(cells[i] for _, cells in rows) for i, name in header.items()}
    return Sheet(file, columns, tuple(line for line, _ in rows), decimal_mark(delimiter, columns))


def decoded(file: str, raw: bytes) -> str:
    """UTF-8 with or without byte-order mark, UTF-16 with one, else Latin-1; no NUL."""
    try:
        text = raw.decode("utf-16" if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    before, nul, _ = text.partition("\0")
    if nul:
        raise ValueError(f"{file} needs text, got a NUL character in line {before.count(chr(10)) + 1}")
    return text


def sniffed(text: str) -> str:
    """The delimiter that cuts the header into most cells; a comma on ties."""
    header = next((line for line in io.StringIO(text, newline=None) if line.strip()), "")
    widths = {mark: len(next(csv.reader([header], delimiter=mark), [])) for mark in DELIMITERS}
    return max(DELIMITERS, key=widths.__getitem__)


def records(file: str, text: str, delimiter: str) -> Iterator[Record]:
    """(first line, stripped cells) of each record that is not blank."""
    reader, line = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells) or len(cells) > 1:
                yield line, [cell.strip() for cell in cells]
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{file} needs well-formed cells, got {error} in line {line}") from None


def named(file: str, header: Record, rows: list[Record]) -> dict[int, str]:
    """Position -> name in NFC, without nameless empty columns (what trailing delimiters leave)."""
    names = [unicodedata.normalize("NFC", name) for name in header[1]]
    for line, cells in rows:
        if len(cells) != len(names):
            raise ValueError(f"{file} needs {len(names)} cells in line {line}, as in its header, got {len(cells)}")
    kept = {i: name for i, name in enumerate(names) if name or any(cells[i] for _, cells in rows)}
    counts = Counter(names)
    for i, name in kept.items():
        if not name:
            raise ValueError(f"{file} needs a name for every column, got none for column number {i + 1}")
        if counts[name] > 1:
            raise ValueError(f"{file} needs distinct column names, got {name!r} {counts[name]} times")
    return kept


def decimal_mark(delimiter: str, columns: dict[str, tuple[str, ...]]) -> str:
    """A comma if it does not separate cells and some cell is a number written with it, else a point."""
    if delimiter == ",":
        return "."
    written = any(COMMA_NUMBER.fullmatch(cell) for cells in columns.values() for cell in cells)
    return "," if written else "."
