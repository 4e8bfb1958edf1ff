"""The rows of an SQLite file, read from its pages without SQLite.

Intact rows of a damaged file are found even where SQLite cannot read it. A leaf page of a table
holds cells: length of the record, rowid, record. A record is a header of types followed by the
values (https://www.sqlite.org/fileformat2.html). The result may contain wrong values: the caller
must verify checksums.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any

LEAF = 13
USUAL_SIZE = 4096
WHOLE = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Type of a whole number -> its length in bytes."""

HEAD = re.compile(rb"(?=[\x02-\x40]\x00)")
CELL_STARTS = range(2, 13)
"""The number of bytes that the length of a record and its rowid can take together."""

Found = tuple[int, tuple[Any, ...]]
"""rowid and values"""


def rows_in(content: bytes, everywhere: bool = False) -> Iterator[Found]:
    """Yield all records that can be read; `everywhere` searches also where no page points to."""
    for size in sorted({USUAL_SIZE, page_size(content)}):
        for start in range(0, len(content), size):
            page = content[start : start + size]
            offsets = (
                likely_offsets(page) if everywhere else cell_offsets(page, 100 if start == 0 else 0)
            )
            for offset in offsets:
                try:
                    yield read_cell(content, size, page, offset)
                except (IndexError, ValueError, struct.error):
                    continue


def page_size(content: bytes) -> int:
    size = int.from_bytes(content[16:18], "big")
    return size if size >= 512 and size & (size - 1) == 0 else USUAL_SIZE


def cell_offsets(page: bytes, start: int) -> list[int]:
    if len(page) < start + 8 or page[start] != LEAF:
        return []
    count = int.from_bytes(page[start + 3 : start + 5], "big")
    listed = page[start + 8 : start + 8 + 2 * count]
    return [int.from_bytes(listed[i : i + 2], "big") for i in range(0, len(listed) - 1, 2)]


def likely_offsets(page: bytes) -> list[int]:
    """Return the offsets at which a record of a study may start.

    Its header begins with its length and the type 0 of the first column, which is stored as rowid.
    """
    heads = [found.start() for found in HEAD.finditer(page)]
    return sorted({head - back for head in heads for back in CELL_STARTS if head >= back})


def read_cell(content: bytes, size: int, page: bytes, offset: int) -> Found:
    length, offset = read_varint(page, offset)
    rowid, offset = read_varint(page, offset)
    if not 2 <= length <= len(content):
        raise ValueError("no record is this long")
    kept = local_length(length, size)
    payload = page[offset : offset + kept]
    if kept < length:
        follower = int.from_bytes(page[offset + kept : offset + kept + 4], "big")
        payload += read_overflow(content, size, follower, length - kept)
    return rowid, read_record(payload)


def local_length(length: int, size: int) -> int:
    """Return the number of bytes of a record that are on its own page, not on overflow pages."""
    least = (size - 12) * 32 // 255 - 23
    fitting = least + (length - least) % (size - 4)
    if length <= size - 35:
        return length
    return fitting if fitting <= size - 35 else least


def read_overflow(content: bytes, size: int, number: int, length: int) -> bytes:
    parts: list[bytes] = []
    while length > 0 and number > 0:
        page = content[(number - 1) * size : number * size]
        parts.append(page[4 : 4 + min(length, size - 4)])
        number, length = int.from_bytes(page[:4], "big"), length - (size - 4)
        if not page:
            raise ValueError("the chain of pages leaves the file")
    return b"".join(parts)


def read_record(payload: bytes) -> tuple[Any, ...]:
    end, offset = read_varint(payload, 0)
    if not 2 <= end <= 64:
        raise ValueError("no record of ours has such a header")
    values, place = [], end
    while offset < end:
        kind, offset = read_varint(payload, offset)
        value, place = decode_value(payload, kind, place)
        values.append(value)
    return tuple(values)


def decode_value(payload: bytes, kind: int, place: int) -> tuple[Any, int]:
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind], place
    length = WHOLE.get(kind) or (8 if kind == 7 else (kind - 12) // 2)
    part = payload[place : place + length]
    if len(part) != length or kind in (10, 11):
        raise ValueError("the record ends before its values")
    return value_of(part, kind), place + length


def value_of(part: bytes, kind: int) -> Any:
    if kind in WHOLE:
        return int.from_bytes(part, "big", signed=True)
    if kind == 7:
        return struct.unpack(">d", part)[0]
    return part.decode() if kind % 2 else part


def read_varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return SQLite's variable-length integer at an offset, and the offset behind it.

    Each byte gives seven bits, while its first bit is set; a ninth byte gives all eight bits.
    """
    value = 0
    for i in range(8):
        byte = data[offset + i]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, offset + i + 1
    value = value << 8 | data[offset + 8]
    return value - (1 << 64) if value >> 63 else value, offset + 9
