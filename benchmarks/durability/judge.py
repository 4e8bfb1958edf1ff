"""What was stored, against what the workers know.

Nothing acknowledged lost, none wrong, none twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

RESULTS = ("told", "failed")


@dataclass(frozen=True)
class Verdict:
    """Faults by kind; all are zero where all is well."""

    lost: int = 0
    """Acknowledged tells that are not stored."""
    wrong: int = 0
    """Stored values that nobody told for that trial, or other than the one acknowledged."""
    duplicated: int = 0
    """Results, keys and trial numbers that are there twice."""
    stuck: int = 0
    """Trials that wait after their lease ran out."""
    errors: int = 0
    """Errors shown to a worker."""
    unhealthy: int = 0
    """Findings of the store's own examination."""
    different: int = 0
    """Answers of the study opened anew that differ from those of one that lived through it all."""

    @property
    def faults(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))

    def __add__(self, other: Verdict) -> Verdict:
        return Verdict(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, field.name)} {field.name}" for field in fields(self))


Record = Mapping[str, Any]


def compared(events: Sequence[Any], acks: Iterable[Record], intents: Iterable[Record]) -> Verdict:
    """A stored result must have been intended.

    An acknowledged one must be stored, once, with its value.
    """
    stored = {event.trial: event.value for event in events if event.kind in RESULTS}
    meant = defaultdict(set)
    for intent in intents:
        meant[intent["trial"]].add(intent["value"])
    known = [(ack["trial"], ack["value"]) for ack in acks]
    return Verdict(
        lost=sum(trial not in stored for trial, _ in known),
        wrong=sum(stored.get(trial, value) != value for trial, value in known)
        + sum(value not in meant[trial] for trial, value in stored.items()),
        duplicated=twice(event.trial for event in events if event.kind in RESULTS)
        + twice(event.trial for event in events if event.kind == "asked")
        + twice(event.key for event in events if event.key is not None)
        + twice(event.seq for event in events),
    )


def twice(things: Iterable[Any]) -> int:
    return sum(number - 1 for number in Counter(things).values())


def waits(kills: Iterable[Record], acks: Iterable[Record]) -> list[float]:
    """Seconds from each kill to the next tell that was acknowledged to somebody else."""
    times = sorted((ack["at"], ack["worker"]) for ack in acks)
    found = (
        next(
            (at - kill["at"] for at, who in times if at > kill["at"] and who != kill["worker"]),
            None,
        )
        for kill in kills
    )
    return [wait for wait in found if wait is not None]
