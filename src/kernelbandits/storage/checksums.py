"""Checksums of events. Each includes the one before, so that lost or changed events are noticed.

    check = blake2b(ascii((seq, kind, trial, row, value, key, worker, at, body, before)))

The check has 16 hexadecimal digits. `before` is the check of the previous event; for the first
event it is the first 16 digits of the table's fingerprint. `before` is stored too, so that an event
can be verified when its neighbours are lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from kernelbandits.storage.event import Draft, check_time, write_body
from kernelbandits.storage.statements import Row

DIGITS = 16
COLUMNS = 11
"""Of the table of events."""


class BrokenChain(Exception):
    """The checksums do not fit; the argument is the number of the first event that is wrong."""


def digest(values: Row) -> str:
    return blake2b(ascii(values).encode(), digest_size=DIGITS // 2).hexdigest()


def add_check(values: Row) -> Row:
    """Return the values with their checksum at the end."""
    return (*values, digest(values))


def is_intact(row: Row) -> bool:
    """Tell whether a row has the checksum of its own values, without regard to its neighbours."""
    return bool(row) and digest(tuple(row[:-1])) == row[-1]


def build_row(draft: Draft, seq: int, at: float | None, before: str) -> Row:
    """Return an event as it is stored, in the order of the table."""
    said = (draft.kind, draft.trial, draft.row, draft.value, draft.key, draft.worker)
    return add_check((seq, *said, check_time(at), write_body(draft.body), before))


def verify_chain(rows: Sequence[Row], start: tuple[int, str], end: tuple[int, str]) -> None:
    """Raise BrokenChain unless the rows lead from one number and checksum to another."""
    seq, check = start
    for row in rows:
        seq += 1
        if len(row) != COLUMNS or row[0] != seq or row[9] != check or not is_intact(row):
            raise BrokenChain(seq)
        check = row[10]
    if (seq, check) != end:
        raise BrokenChain(seq + 1)
