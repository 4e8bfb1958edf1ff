"""Events as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelbandits.storage.event import Draft, Event

Row = tuple[Any, ...]
"""seq, kind, trial, row, value, key, worker, at, body, before, check: as stored."""


FIELDS = ("seq", "kind", "trial", "row", "value", "key", "worker", "at", "check", "body")
SETTERS = [getattr(Event, name).__set__ for name in FIELDS]
"""A frozen class is filled through these where a hundred thousand are made: its constructor takes thrice as long."""


def build_event(row: Row, body: Mapping[str, Any]) -> Event:
    made = object.__new__(Event)
    for put, value in zip(SETTERS, (*row[:8], row[10], body), strict=True):
        put(made, value)
    return made


def build_events(rows: Sequence[Row]) -> list[Event]:
    """All bodies are read as one text, which is faster than each by itself."""
    bodies = json.loads(f"[{','.join([row[8] for row in rows])}]")
    return [build_event(row, body) for row, body in zip(rows, bodies, strict=True)]


def event_fields(draft: Draft, seq: int, at: float) -> Row:
    """All of an event but its checksums."""
    text = write_body(draft.body)
    return (
        seq,
        draft.kind,
        draft.trial,
        draft.row,
        draft.value,
        draft.key,
        draft.worker,
        float(at),
        text,
    )


def write_body(body: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(body), allow_nan=False, separators=(",", ":"), default=plain_value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"an event needs a body of finite numbers and text, as JSON has them, got {error}"
        ) from None


def plain_value(value: Any) -> Any:
    """A number or an array of numpy, as Python has it."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(type(value).__name__)
