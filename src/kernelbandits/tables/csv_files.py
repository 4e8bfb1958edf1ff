"""A CSV file as a table: delimiter, decimal mark and header are recognised.

The cells are split by the standard csv module: it never shifts a ragged row, and it knows the line.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbandits import checks
from kernelbandits.formatting import format_count
from kernelbandits.runtime import gc_paused, require_memory
from kernelbandits.tables.cells import COMMA_NUMBER, plain, remove_guard
from kernelbandits.tables.encodings import LINE, decode_text, describe_encoding, read_content
from kernelbandits.tables.layout import (
    NoHeader,
    column_letters,
    describe_correction,
    find_layout,
    first_rows,
    is_written_number,
    read_address,
)
from kernelbandits.tables.table import MOST_ROWS, Origin, Table, make_table

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = (",", ";", "\t")
SEPARATOR = re.compile(r'"?sep=([^\r\n"])"?[ ,;\t]*(?=[\r\n])', re.IGNORECASE)
OTHERS = {
    "vertical bars": re.compile(r"\s*\|\s*"),
    "colons": re.compile(":"),
    "blanks": re.compile(r"\s+"),
}
"""Delimiters that are recognised in order to be refused."""
SAMPLE = 50
MOST_COLUMNS, MOST_CELLS = 2**14, 2**26
CELL_MEMORY = 25
"""Bytes of memory for a byte of text while it is read: each cell is a Python object."""


@dataclass(frozen=True)
class Records:
    """The cells of a CSV file, line by line (`layout.Grid`)."""

    source: str
    records: list[list[str]]
    lines: list[int]
    behind_blanks: frozenset[int]
    """The lines above which a blank one stands."""
    unit: str = "line"

    def row(self, i: int) -> dict[int, str]:
        return {number: cell for number, cell in enumerate(self.records[i], 1) if cell}

    heading = row

    def column(self, number: int, start: int, stop: int) -> list[str]:
        rows = self.records[start:stop]
        return [cells[number - 1] if len(cells) >= number else "" for cells in rows]

    def filled(self, start: int, stop: int) -> set[int]:
        rows, width = self.records[start:stop], max(map(len, self.records[start:stop]))
        if min(map(len, rows)) < width:
            return {number for i in range(start, stop) for number in self.row(i)}
        return {number for number in range(1, width + 1) if any(map(itemgetter(number - 1), rows))}

    def follows_blank(self, i: int) -> bool:
        return self.lines[i] in self.behind_blanks

    def correct(self, cells: Mapping[str, str]) -> list[str]:
        """Put what is to be read in place of some cells, and return what was put where."""
        said = []
        for name, text in cells.items():
            line, number = read_address(name)
            i = bisect_left(self.lines, line)
            there = i < len(self.lines) and self.lines[i] == line
            there = there and number <= len(self.records[i])
            checks.needs(there, self.source, "cells of the table", name)
            said.append(describe_correction(name, self.records[i][number - 1], text))
            self.records[i][number - 1] = plain(text)
        return said


def read_csv(
    path: str | PathLike[str],
    header_row: int | None = None,
    cells: Mapping[str, str] | None = None,
) -> Table:
    """Read a file as a table; encoding, delimiter, decimal mark and header are recognised.

    A row of the table with more or fewer cells than the header is refused. `header_row` is the line
    of the names, if it is known; `cells` is what to read in place of some cells, such as B7.

    >>> import pandas as pd
    >>> from kernelbandits.tables import read_csv
    >>> films = pd.DataFrame({"heat": [20.5, 50.0], "yield": [0.3, 0.7]})
    >>> films.to_csv("films.csv", sep=";", decimal=",", index=False)
    >>> read_csv("films.csv")
       heat yield
    2  20,5   0,3
    3  50,0   0,7
    """
    file, raw = Path(path).name, read_content(path)
    require_memory(file, CELL_MEMORY * len(raw), "a Parquet or numpy file needs less")
    text, encoding = decode_text(file, raw)
    declared = SEPARATOR.match(text)
    body = text[declared.end() :] if declared else text
    check_columns(file, body, [declared[1]] if declared else DELIMITERS)
    delimiter, *others = [declared[1]] if declared else sniff_delimiters(text)
    with gc_paused:
        grid = split_records(file, body, delimiter)
    corrected = grid.correct(cells or {})
    rows = first_rows(grid)
    try:
        found = find_layout(grid, header_row)
    except NoHeader:
        check_widths(grid, 0, len(grid.lines))
        raise
    start, stop = found.start, found.stop
    check_widths(grid, found.header, stop)
    if len(found.names) == 1:
        refuse_other_delimiter(
            file, grid.column(next(iter(found.names)), found.header, found.header + SAMPLE)
        )
    table = {
        name: list(map(itemgetter(number - 1), grid.records[start:stop]))
        for number, name in found.names.items()
    }
    notices = [describe_encoding(encoding), describe_delimiter(delimiter, others)]
    origin = Origin(
        file,
        decimal=find_decimal_mark(delimiter, table.values()),
        labels=found.labels,
        notices=(*filter(None, notices), *found.notices, *corrected),
        from_file=True,
        positions={name: column_letters(number) for number, name in found.names.items()},
        header=grid.lines[found.header],
        first_rows=rows,
        unnamed=found.unnamed,
        problems=tuple(found.problems),
    )
    return make_table(table, grid.lines[start:stop], origin)


def check_columns(file: str, text: str, delimiters: Sequence[str]) -> None:
    """Refuse a line that would be cut into too many cells, before it is cut."""
    cells = sum(map(text.count, delimiters))
    checks.needs(cells <= MOST_CELLS, file, f"at most {MOST_CELLS} cells", cells)
    for number, line in enumerate(split_lines(text), 1):
        if len(line) > MOST_COLUMNS:
            cells = max(map(line.count, delimiters))
            needed = f"at most {MOST_COLUMNS} columns in line {number}"
            checks.needs(cells < MOST_COLUMNS, file, needed, cells + 1)


def sniff_delimiters(text: str) -> list[str]:
    """Return the delimiters that a text may have, the best one first.

    It cuts all lines into equally many cells and finds most numbers. Others that cut all lines into
    equally many cells follow.
    """
    ratings = {mark: rate_delimiter(text, mark) for mark in DELIMITERS}
    best = max(DELIMITERS, key=ratings.__getitem__)
    return [best, *(mark for mark, rating in ratings.items() if rating[0] and mark != best)]


def describe_delimiter(delimiter: str, others: Sequence[str]) -> str:
    """Return a notice for a file whose lines could be cut in another way, too; "" for others."""
    names = {",": "commas", ";": "semicolons", "\t": "tabs"}
    if not others:
        return ""
    listed = " and ".join(names[mark] for mark in others)
    return (
        f"cells are read between {names[delimiter]}; {listed} would cut all lines into equally "
        "many cells, too"
    )


def rate_delimiter(text: str, delimiter: str) -> tuple[bool, int, int]:
    """Return a key to compare delimiters: whether one fits, and how many numbers it finds.

    It fits if the first rows have equally many cells; else only those count that have as many as
    most of them.

    On ties the mark that is rarer in text and in numbers wins where it fits, a comma elsewhere.
    """
    # A blank line has no cells: `filter` leaves out millions of them in a second.
    filled = filter(None, open_reader(text, delimiter))
    found = (cells for cells in filled if any(map(str.strip, cells)))
    try:
        sample = list(islice(found, SAMPLE)) or [[]]
    except csv.Error:
        return False, 0, 0
    if len(sample[0]) < 2 or len({len(row) for row in sample}) > 1:
        [(width, _)] = Counter(map(len, sample)).most_common(1)
        rows = [row for row in sample if len(row) == width > 1]
        numbers = sum(is_written_number(cell.strip()) for row in rows for cell in row)
        return False, numbers, len(rows)
    cells = [cell.strip() for row in sample[1:] for cell in row]
    return True, sum(map(is_written_number, cells)), DELIMITERS.index(delimiter)


def open_reader(text: str, delimiter: str, strict: bool = False) -> Reader:
    return csv.reader(split_lines(text), delimiter=delimiter, skipinitialspace=True, strict=strict)


def split_lines(text: str) -> Iterator[str]:
    """Return the lines of a text with their ends: CR, LF or both."""
    return map(itemgetter(0), LINE.finditer(text))


def split_records(file: str, text: str, delimiter: str) -> Records:
    """Return the cells of all lines that are not blank, and the line at which each begins."""
    found, line = open_reader(text, delimiter, strict=True), 1
    records: list[list[str]] = []
    lines: list[int] = []
    blanks = set[int]()
    try:
        for cells in found:
            if len(cells) > 1 or (cells and cells[0].strip()):
                records.append(cells)
                lines.append(line)
                if len(records) > MOST_ROWS + 1:
                    break
            else:
                blanks.add(found.line_num + 1)
            line = found.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{file} needs well-formed cells, got {error} in line {line}") from None
    checks.needs(len(records) <= MOST_ROWS + 1, file, f"at most {MOST_ROWS} rows", "more")
    records = clean_cells(records, text)
    filled = list(map(any, records))
    if not all(filled):
        pairs = zip(lines, filled, strict=True)
        blanks |= {line + 1 for line, has_cells in pairs if not has_cells}
        lines, records = list(compress(lines, filled)), list(compress(records, filled))
    if len(records) < 2:
        count = format_count(len(records), "line")
        raise ValueError(f"{file} needs a header and at least one row, got {count} of cells")
    return Records(file, records, lines, frozenset(blanks))


def clean_cells(records: list[list[str]], text: str) -> list[list[str]]:
    """Return the cells without blanks around them, composed, without the guards of an export."""
    if text.isascii():
        cleaned = [[cell.strip() for cell in cells] for cells in records]
    else:
        cleaned = [[plain(cell) for cell in cells] for cells in records]
    if "'" in text:
        cleaned = [[remove_guard(cell) for cell in cells] for cells in cleaned]
    return cleaned


def check_widths(grid: Records, header: int, stop: int) -> None:
    """Refuse a row of the table with more or fewer cells than the header."""
    records, width = grid.records, len(grid.records[header])
    if {*map(len, islice(records, header, stop))} != {width}:
        wrong = next(i for i in range(header, stop) if len(records[i]) != width)
        raise ValueError(
            f"{grid.source} needs {format_count(width, 'cell')} in line {grid.lines[wrong]}, as in "
            f"its header, got {len(records[wrong])}"
        )


def refuse_other_delimiter(file: str, cells: Sequence[str]) -> None:
    """Refuse a single column whose lines are cells between blanks or vertical bars."""
    for what, mark in OTHERS.items():
        rows = [mark.split(cell.strip(" |")) for cell in cells]
        parts = len(rows[0])
        if parts < 2 or {*map(len, rows)} != {parts}:
            continue
        columns = list(zip(*rows[1:], strict=True))
        numeric = [all(is_written_number(cell) for cell in column) for column in columns]
        # "Sample 1", "Sample 2" is a list of names: one word is the same everywhere.
        names = any(len(set(column)) == 1 for column in columns) and len(rows) > 2
        if what == "vertical bars" or sum(numeric) > (parts / 2 if names else 0):
            raise ValueError(
                f"{file} needs commas, semicolons or tabs between its cells, got {what}: "
                f"{cells[0]!r}; save the table as CSV"
            )


def find_decimal_mark(delimiter: str, columns: Iterable[list[str]]) -> str:
    """Return a comma if it separates no cells and some number is written with it, else a point."""
    if delimiter == ",":
        return "."
    written = any(
        COMMA_NUMBER.fullmatch(cell) for cells in columns for cell in cells if "," in cell
    )
    return "," if written else "."
