"""Events as rows of the table, and rows as events."""

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
"""They fill a frozen Event in a third of the time of its constructor, which counts for a log of a
hundred thousand events."""


def build_event(row: Row, body: Mapping[str, Any]) -> Event:
    made = object.__new__(Event)
    for put, value in zip(SETTERS, (*row[:8], row[10], body), strict=True):
        put(made, value)
    return made


def build_events(rows: Sequence[Row]) -> list[Event]:
    """The events of these rows."""
    # All bodies are parsed as one JSON text, which is faster than parsing each.
    bodies = json.loads(f"[{','.join([row[8] for row in rows])}]")
    return [build_event(row, body) for row, body in zip(rows, bodies, strict=True)]


def event_fields(draft: Draft, seq: int, at: float) -> Row:
    """The values of an event without its checksums, in the order of the table."""
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
    """A number or an array of numpy as a number or a list of Python."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(type(value).__name__)
