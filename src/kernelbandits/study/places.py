"""Where a study measures: a table of candidates, which may change, or the points of a space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelbandits.storage import Damaged, Event, Log
from kernelbandits.study.candidates import Candidates, stored_candidates
from kernelbandits.study.growing import grow_candidates, permit_rows

if TYPE_CHECKING:
    from kernelbandits.study.points import Points

    Place = Candidates | Points


class PlaceHistory:
    """The place of a study at any time: as it was created, with the changes until then."""

    def __init__(self, created: Place) -> None:
        self.created = created
        self._now: tuple[tuple[int, ...], Place] = (), created

    def now(self, changes: Sequence[Event]) -> Place:
        """Return the place after all changes that stand; the same object until they are others."""
        place = self.at(changes)
        self._now = tuple(event.seq for event in changes), place
        return place

    def at(self, changes: Sequence[Event]) -> Place:
        """Return the place at an earlier time, after the changes that stood then."""
        numbers = tuple(event.seq for event in changes)
        known, place = self._now
        if numbers == known:
            return place
        if numbers[: len(known)] == known:
            return change_place(place, changes[len(known) :])
        return change_place(self.created, changes)


def drop_lost_rows(created: Place, events: Sequence[Event]) -> list[Event]:
    """Replace the events of rows whose addition is lost, in a salvaged study, by remarks.

    Their candidates are unknown, so their results say nothing.
    """
    known = [range(len(created))]
    kept: list[Event] = []
    for event in events:
        if event.kind == "added":
            first, size = event.body["first"], len(next(iter(event.body["columns"].values())))
            known.append(range(first, first + size))
        rows = [*event.body.get("rows", ()), *(() if event.row is None else (event.row,))]
        there = all(any(row in span for span in known) for row in rows)
        kept.append(event if there else replace(event, kind="noted", trial=None, row=None))
    return kept


def change_place(place: Place, changes: Sequence[Event]) -> Place:
    """Return the place after some events; a space has none."""
    for event in changes:
        assert isinstance(place, Candidates)
        if event.kind == "added":
            place = grow_candidates(place, event.body)
        else:
            place = permit_rows(place, event.body["rows"], event.kind == "allowed")
    return place


def stored_place(log: Log, created: Event) -> Place:
    """Return the place of a stored study, which its first event describes."""
    try:
        if "space" not in created.body:
            return stored_candidates(log.columns(), created.body["candidates"])
        # Imported here, because tables need no domains.
        from kernelbandits.domains import MixedBox
        from kernelbandits.study.points import Points

        return Points(MixedBox.from_dict(created.body["space"]))
    except (KeyError, TypeError, ValueError) as error:
        raise Damaged(
            f"{log.place} is damaged: its first event does not describe what may be measured "
            f"({type(error).__name__}: {error})"
        ) from None
