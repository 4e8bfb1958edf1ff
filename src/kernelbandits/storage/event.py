"""An event: one thing that happened to a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelbandits import checks

KINDS = (
    "created",
    "asked",
    "told",
    "failed",
    "corrected",
    "withdrawn",
    "released",
    "settings",
    "undone",
    "noted",
)
"""`noted` changes nothing: it is a remark, or replaces an event that was lost."""

LARGEST = 2**63 - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """An event before it is written; writing adds number, time and checksum."""

    kind: str
    trial: int | None = None
    row: int | None = None
    value: float | None = None
    """Finite; -0.0 becomes 0.0."""
    key: str | None = None
    """Chosen by the writer to find the event again; no two valid events have the same key."""
    worker: str | None = None
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
    """An event that was written."""

    seq: int
    """1, 2, 3, ... without gaps: the order of events, whatever the clocks say."""
    at: float
    """Seconds since 1970 by the clock of the database."""
    check: str
    """A checksum of this event and of the checksum before it."""

    def __post_init__(self) -> None:
        """Nothing to check: it was checked as a draft."""


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
    """Whether both databases can store the text: no NUL character, no half of a surrogate pair."""
    return "\0" not in value and (
        value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)
    )
