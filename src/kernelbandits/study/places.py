"""The place of a study, read from what a user gives or from a log, and as it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernelbandits import checks
from kernelbandits.storage import Damaged, Event, Log
from kernelbandits.study.candidates import read_candidates, stored_candidates
from kernelbandits.study.place import Place


class PlaceHistory:
    """The place of a study at any time: as it was created, with the changes until then.

    It is no reader: it keeps the place of now, so that a table that did not change stays the same
    object, with all that was computed of it, while a replay asks for the table of an earlier time.
    """

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
    """Return the place after some events that change it."""
    for event in changes:
        place = place.changed_by(event)
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


def read_place(candidates: Any, names: Sequence[str], options: Mapping[str, Any]) -> Place:
    """Read what may be measured: candidates by their similarity, a table, or the points of a space.

    `names` are those of the targets, which are no columns. `options` are those of a table.
    """
    # Imported here, because a table needs no domains.
    from kernelbandits.study.points import Points, find_space
    from kernelbandits.study.similarity import find_similarity, refuse_table_options

    similar = find_similarity(candidates)
    if similar is not None:
        refuse_table_options(options, names)
        return similar
    space = find_space(candidates)
    if space is None:
        return read_candidates(candidates, target=names, **options)
    if options.get("describe") is not None:
        raise ValueError(
            "describe needs a table of candidates, got a space; the points of a small space can be "
            "listed as a table"
        )
    for name, given in options.items():
        needed = f"no {name} for a space, whose variables say it themselves"
        checks.needs(given is None, "Study", needed, given)
    for one in names:
        free = one not in space.names
        checks.needs(free, "Study", "a target that is no variable of the space", one)
    return Points(space)


def tasks_of(created: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the columns of a study are for; their scales and the notices are left out."""
    tasks = created.get("candidates", {}).items()
    others = ("log", "ranges", "notices", "lines", "describe", "reading")
    return {name: value for name, value in tasks if name not in others}
