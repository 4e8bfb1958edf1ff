"""Checksums: each event's continues the one before it, so that a lost, changed or swapped event is seen.

    check = blake2b(ascii((seq, kind, trial, row, value, key, worker, at, body, before)))      16 hexadecimal digits

with `before` the check of the event before it, for the first one the first 16 digits of the table's fingerprint.
`before` is stored too, so that an event can be verified when its neighbours are lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import blake2b, sha256

from kernelbandits.storage.event import Draft
from kernelbandits.storage.rows import Row, event_fields

DIGITS = 16


class BrokenChain(Exception):
    """The chain does not hold, with the number of the event where that shows."""


def digest(values: Row) -> str:
    return blake2b(ascii(values).encode(), digest_size=DIGITS // 2).hexdigest()


def add_check(values: Row) -> Row:
    return (*values, digest(values))


def is_intact(row: Row) -> bool:
    """By itself, whatever became of its neighbours."""
    return bool(row) and digest(tuple(row[:-1])) == row[-1]


def build_row(draft: Draft, seq: int, at: float, before: str) -> Row:
    return add_check((*event_fields(draft, seq, at), before))


def verify_chain(rows: Sequence[Row], start: tuple[int, str], end: tuple[int, str]) -> None:
    """Whether the rows lead from one number and checksum to another, without a gap."""
    seq, check = start
    for row in rows:
        seq += 1
        if row[0] != seq or row[9] != check or digest(row[:10]) != row[10]:
            raise BrokenChain(seq)
        check = row[10]
    if (seq, check) != end:
        raise BrokenChain(seq + 1)


def format_line(cells: Sequence[str]) -> str:
    """The header or one row of the candidate table, as it is stored."""
    return json.dumps(list(cells), separators=(",", ":"))


def fingerprint(lines: Iterable[str]) -> str:
    """sha256 of header and rows, one line each."""
    return sha256("\n".join(lines).encode()).hexdigest()
