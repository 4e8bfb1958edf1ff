"""The table of candidates by column, in numbered segments.

Segment 0 holds the names of the columns. Each other segment is a block of at most 8192 rows, and
each of its columns is stored as one JSON list, of numbers or of texts. Segments are only ever
added, so a table can grow by later events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from kernelbandits import checks
from kernelbandits.codec import write_compact
from kernelbandits.storage.checksums import add_check
from kernelbandits.storage.event import is_storable
from kernelbandits.storage.statements import Row

SEGMENT_ROWS = 8192
"""Rows of a segment. A damaged page of a file costs one column of one segment."""
ESCAPED = re.compile(r"\\u(0000|d[89a-f])")
"""What the JSON of a text has, if the text may hold a NUL character or half a surrogate pair."""

Column = Sequence[float] | Sequence[str]


def check_columns(columns: Mapping[str, Column]) -> int:
    """Check the form of a table, and return its number of rows.

    A study over a space has no table: no columns and no rows.
    """
    named = all(isinstance(name, str) and is_storable(name) for name in columns)
    checks.needs(named, "a study", "names of columns", tuple(columns))
    if not columns:
        return 0
    lengths = {len(cells) for cells in columns.values()}
    checks.needs(len(lengths) == 1, "a study", "columns of the same length", sorted(lengths))
    for name, cells in columns.items():
        if set(map(type, cells)) <= {str, float}:
            continue
        for number, cell in enumerate(cells):
            if not isinstance(cell, (str, float)):
                checks.needs(False, f"row {number}", f"a number or text as {name!r}", cell)
    return lengths.pop()


def count_rows(columns: Mapping[str, Column]) -> int:
    """Return the number of rows of a table; a study over a space has none."""
    return len(next(iter(columns.values()), ()))


def split_columns(columns: Mapping[str, Column]) -> list[Row]:
    """Return the rows of the table `candidates`: id, segment, column, cells, check."""
    size = check_columns(columns)
    rows = [add_check((0, 0, 0, write_compact(list(columns))))]
    for segment, start in enumerate(range(0, size, SEGMENT_ROWS), 1):
        for number, (name, cells) in enumerate(columns.items()):
            text = write_cells(name, cells[start : start + SEGMENT_ROWS], start)
            rows.append(add_check((len(rows), segment, number, text)))
    return rows


def write_cells(name: str, cells: Column, start: int) -> str:
    """Return a part of a column as JSON; numbers are written so that the same numbers are read."""
    try:
        text = write_compact(list(cells))
    except ValueError:
        raise ValueError(f"column {name!r} needs finite numbers, got others") from None
    if ESCAPED.search(text):
        for number, cell in enumerate(cells, start):
            plain = not isinstance(cell, str) or is_storable(cell)
            checks.needs(plain, f"row {number}", f"plain text as {name!r}", cell)
    return text


def join_columns(rows: Sequence[Row]) -> dict[str, list[Any]] | None:
    """Return each column with all its cells; None if segments or columns are missing."""
    if not rows or tuple(rows[0][:3]) != (0, 0, 0):
        return None
    names = json.loads(rows[0][3])
    if not names:
        return {} if len(rows) == 1 else None
    columns: list[list[Any]] = [[] for _ in names]
    for i, (identity, segment, number, text, _) in enumerate(rows[1:]):
        if (identity, segment, number) != (i + 1, 1 + i // len(names), i % len(names)):
            return None
        columns[number] += json.loads(text)
    complete = (len(rows) - 1) % len(names) == 0
    return dict(zip(names, columns, strict=True)) if complete else None


def fingerprint_segments(rows: Sequence[Row]) -> str:
    """Return the fingerprint of a table: sha256 of names and cells in the order of their rows."""
    found = sha256()
    for number, row in enumerate(rows):
        # Piece by piece: the table of a million candidates is 100 MB of text.
        found.update((f"\n{row[3]}" if number else str(row[3])).encode())
    return found.hexdigest()
