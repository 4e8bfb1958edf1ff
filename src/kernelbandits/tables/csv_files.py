"""A CSV file as a table: delimiter, decimal mark and header are recognised.

The cells are split by the standard csv module: it never shifts a ragged row, and it knows the line.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbandits import checks
from kernelbandits.formatting import format_count
from kernelbandits.runtime import gc_paused, require_memory
from kernelbandits.tables.cells import COMMA_NUMBER, is_number, plain, remove_guard
from kernelbandits.tables.encodings import LINE, decode_text, describe_encoding, read_content
from kernelbandits.tables.headers import NAMELESS
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


def read_csv(path: str | PathLike[str]) -> Table:
    """Read a file as a table; encoding, delimiter and decimal mark are recognised.

    A row with more or fewer cells than the header is refused.

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
        records, lines = split_records(file, body, delimiter)
    names = name_columns(file, records, lines)
    if len(names) == 1:
        refuse_other_delimiter(file, [cells[next(iter(names))] for cells in records[:SAMPLE]])
    cells = {name: list(map(itemgetter(i), records[1:])) for i, name in names.items()}
    notices = [describe_encoding(encoding), describe_delimiter(delimiter, others)]
    origin = Origin(
        file,
        decimal=find_decimal_mark(delimiter, cells.values()),
        labels=(names[0],) if 0 in names and not records[0][0] else (),
        notices=tuple(filter(None, notices)),
        from_file=True,
    )
    return make_table(cells, lines[1:], origin)


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

    It fits if the first rows have equally many cells; else the cells of the header count.

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
        return False, 0, len(sample[0])
    cells = [cell.strip() for row in sample[1:] for cell in row]
    return True, sum(map(is_written_number, cells)), DELIMITERS.index(delimiter)


def open_reader(text: str, delimiter: str, strict: bool = False) -> Reader:
    return csv.reader(split_lines(text), delimiter=delimiter, skipinitialspace=True, strict=strict)


def split_lines(text: str) -> Iterator[str]:
    """Return the lines of a text with their ends: CR, LF or both."""
    return map(itemgetter(0), LINE.finditer(text))


def split_records(file: str, text: str, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Return the cells of header and rows, and the line at which each begins.

    Blank lines are left out everywhere, and rows of blank cells at the end.
    """
    found, line = open_reader(text, delimiter, strict=True), 1
    records: list[list[str]] = []
    lines: list[int] = []
    try:
        for cells in found:
            if len(cells) > 1 or (cells and cells[0].strip()):
                records.append(cells)
                lines.append(line)
                if len(records) > MOST_ROWS + 1:
                    break
            line = found.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{file} needs well-formed cells, got {error} in line {line}") from None
    checks.needs(len(records) <= MOST_ROWS + 1, file, f"at most {MOST_ROWS} rows", "more")
    records = clean_cells(records, text)
    while records and not any(records[-1]):
        records.pop()
        lines.pop()
    if len(records) < 2:
        count = format_count(len(records), "line")
        raise ValueError(f"{file} needs a header and at least one row, got {count} of cells")
    return records, lines


def clean_cells(records: list[list[str]], text: str) -> list[list[str]]:
    """Return the cells without blanks around them, composed, without the guards of an export."""
    if text.isascii():
        cleaned = [[cell.strip() for cell in cells] for cells in records]
    else:
        cleaned = [[plain(cell) for cell in cells] for cells in records]
    if "'" in text:
        cleaned = [[remove_guard(cell) for cell in cells] for cells in cleaned]
    return cleaned


def name_columns(
    file: str, records: Sequence[Sequence[str]], lines: Sequence[int]
) -> dict[int, str]:
    """Return the names of columns by position; nameless columns that are empty are left out.

    Such columns are what delimiters at the ends of lines leave.
    """
    header = records[0]
    names = [name or (NAMELESS if i == 0 else "") for i, name in enumerate(header)]
    if set(map(len, records)) != {len(names)}:
        wrong = next(i for i, cells in enumerate(records) if len(cells) != len(names))
        # A title above the header has one cell, and the header below it has more and no numbers.
        title = len(names) == 1 and not any(map(is_written_number, records[1]))
        advice = f"; if {header[0]!r} stands above the header, remove that line" if title else ""
        raise ValueError(
            f"{file} needs {format_count(len(names), 'cell')} in line {lines[wrong]}, as in its "
            f"header, got {len(records[wrong])}{advice}"
        )
    kept = {
        i: name for i, name in enumerate(names) if header[i] or any(map(itemgetter(i), records[1:]))
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


def is_written_number(cell: str) -> bool:
    return is_number(cell) or COMMA_NUMBER.fullmatch(cell) is not None


def find_decimal_mark(delimiter: str, columns: Iterable[list[str]]) -> str:
    """Return a comma if it separates no cells and some number is written with it, else a point."""
    if delimiter == ",":
        return "."
    written = any(
        COMMA_NUMBER.fullmatch(cell) for cells in columns for cell in cells if "," in cell
    )
    return "," if written else "."
