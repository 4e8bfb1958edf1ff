"""An event: one thing that happened to a study, and the chain of checksums of all events.

Each checksum includes the one before, so that lost or changed events are noticed:

    check = blake2b(ascii((seq, kind, trial, row, value, key, worker, at, body, before)))

The check has 16 hexadecimal digits. `before` is the check of the previous event; for the first
event it is the first 16 digits of the table's fingerprint. `before` is stored too, so that an event
can be verified when its neighbours are lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import StorageError
from kernelbandits.codec import write_compact
from kernelbandits.storage.statements import Row

KINDS = (
    "created",
    "asked",
    "told",
    "failed",
    "corrected",
    "withdrawn",
    "released",
    "fitted",
    "settings",
    "undone",
    "noted",
    "added",
    "forbidden",
    "allowed",
    "missing",
    "ranges",
)
"""`noted` changes nothing: it is a remark, or replaces an event that was lost."""

LATEST = 9_214_646_400.0
"""Seconds from 1970 to 2262: as nanoseconds, later times do not fit into 64 bits."""
LARGEST = 2**63 - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """An event before it is written; writing adds number, time and checksum.

    >>> from kernelbandits.storage import Draft
    >>> draft = Draft(kind="told", trial=3, value=0.7, body={"label": "second vial"})
    >>> draft.trial, draft.value, draft.key is None
    (3, 0.7, True)
    """

    kind: str
    """What happened, one of `KINDS`: "asked", "told", ..."""
    trial: int | None = None
    """The number of the trial that the event is about."""
    row: int | None = None
    """The number of the candidate, counted from 0."""
    value: float | None = None
    """Finite; -0.0 becomes 0.0."""
    key: str | None = None
    """Chosen by the writer to find the event again; no two valid events have the same key."""
    worker: str | None = None
    """Who did it."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """Everything else, as values of JSON."""

    def __post_init__(self) -> None:
        checks.one_of("an event", "kind", self.kind, KINDS)
        for name, plain in (
            ("trial", check_whole),
            ("row", check_whole),
            ("value", check_number),
            ("key", check_text),
            ("worker", check_text),
        ):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else plain(name, given))
        checks.needs(isinstance(self.body, Mapping), "an event", "a mapping as body", self.body)


@dataclass(frozen=True, kw_only=True, slots=True)
class Event(Draft):
    """An event that was written.

    >>> from kernelbandits.storage import Draft, Log
    >>> with Log.create("written.db", Draft(kind="created"), {"heat": [20.0, 90.0]}) as log:
    ...     (event,) = log.events()
    >>> event.seq, event.kind, len(event.check)
    (1, 'created', 16)
    """

    seq: int
    """1, 2, 3, ... without gaps: the order of events, whatever the clocks say."""
    at: float
    """Seconds since 1970 by the clock of the database."""
    check: str
    """A checksum of this event and of the checksum before it."""

    def __post_init__(self) -> None:
        """Check nothing: it was checked as a draft."""


def check_time(at: float | None) -> float:
    """Refuse the time of a clock that is wrong by centuries: an export could not show it."""
    if at is None or abs(at) >= LATEST:
        raise StorageError(
            "a study needs a clock that shows a year from 1678 to 2261, got another one; set the "
            "clock of the computer, or of the database server; nothing was written"
        )
    return float(at)


def check_whole(name: str, value: Any) -> int:
    checks.needs(
        checks.is_whole(value) and 0 <= value <= LARGEST,
        "an event",
        f"a whole number {name} >= 0",
        value,
    )
    return int(value)


def check_number(name: str, value: Any) -> float:
    return checks.number("an event", name, value) + 0.0


def check_text(name: str, value: Any) -> str:
    checks.needs(
        isinstance(value, str) and is_storable(value), "an event", f"plain text as {name}", value
    )
    return str(value)


def is_storable(value: str) -> bool:
    """Tell whether both databases can store the text: no NUL, no half of a surrogate pair."""
    return "\0" not in value and (
        value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)
    )


DIGITS = 16
"""Of a checksum."""


class BrokenChain(Exception):
    """The checksums do not fit; the argument is the number of the first event that is wrong."""


def add_check(values: Row) -> Row:
    """Return the values with their checksum at the end."""
    return (*values, blake2b(ascii(values).encode(), digest_size=DIGITS // 2).hexdigest())


def is_intact(row: Row) -> bool:
    """Tell whether a row has the checksum of its own values, without regard to its neighbours."""
    return add_check(tuple(row[:-1])) == row


def build_row(draft: Draft, seq: int, at: float | None, before: str) -> Row:
    """Return an event as it is stored: seq, kind, ..., at, body, before, check."""
    fields = (draft.kind, draft.trial, draft.row, draft.value, draft.key, draft.worker)
    return add_check((seq, *fields, check_time(at), write_body(draft.body), before))


def verify_chain(rows: Sequence[Row], start: tuple[int, str], end: tuple[int, str]) -> None:
    """Raise BrokenChain unless the rows lead from one number and checksum to another."""
    seq, check = start
    for row in rows:
        seq += 1
        if row[0] != seq or row[9] != check or not is_intact(row):
            raise BrokenChain(seq)
        check = row[10]
    if (seq, check) != end:
        raise BrokenChain(seq + 1)


FIELDS = ("seq", "kind", "trial", "row", "value", "key", "worker", "at", "check", "body")
(
    set_seq,
    set_kind,
    set_trial,
    set_row,
    set_value,
    set_key,
    set_worker,
    set_at,
    set_check,
    set_body,
) = (getattr(Event, name).__set__ for name in FIELDS)
"""They fill a frozen Event in half the time of its constructor; a loop over them saves a fifth.
Each of many workers reads what all others write, and a study may have a hundred thousand events."""


def build_events(rows: Sequence[Row]) -> list[Event]:
    """Return the events of rows of the table of events."""
    # All bodies are parsed as one JSON text, which is faster than parsing each.
    bodies = json.loads(f"[{','.join([row[8] for row in rows])}]")
    return [build_event(row, body) for row, body in zip(rows, bodies, strict=True)]


def build_event(row: Row, body: Mapping[str, Any]) -> Event:
    made = object.__new__(Event)
    seq, kind, trial, place, value, key, worker, at, _, _, check = row
    set_seq(made, seq)
    set_kind(made, kind)
    set_trial(made, trial)
    set_row(made, place)
    set_value(made, value)
    set_key(made, key)
    set_worker(made, worker)
    set_at(made, at)
    set_check(made, check)
    set_body(made, body)
    return made


def write_body(body: Mapping[str, Any]) -> str:
    """Return the body as JSON; numbers are written so that the same numbers are read."""
    try:
        return write_compact(dict(body))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"an event needs a body of finite numbers and text, as JSON has them, got {error}"
        ) from None
