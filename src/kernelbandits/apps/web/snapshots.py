"""What a page shows of a study, computed once for each event and kept until the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event as Signal
from threading import Lock, RLock, Thread
from typing import TYPE_CHECKING, Any

from kernelbandits.apps.web.library import Library
from kernelbandits.checks import StudyConflict
from kernelbandits.formatting import format_count
from kernelbandits.report.studies.drawing import available_drawings
from kernelbandits.report.studies.maps import estimate_map
from kernelbandits.report.studies.sheets import Drawing, render_svg
from kernelbandits.report.studies.view import View, read_view
from kernelbandits.storage import Event
from kernelbandits.study import Status, Study

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.study import Check

PATIENCE = 0.4
"""Seconds that a page waits for the answers of the model before it is shown without them."""
SHOWN = ("progress", "check", "dependence", "posterior")
"""The kinds of figures on the page of figures, in their order."""
drawing_lock = Lock()
"""The settings of matplotlib belong to the whole process, so one thread draws at a time."""


@dataclass(frozen=True)
class Counts:
    """How far a study is; it is known without a model."""

    extent: str
    told: int
    pending: int
    failed: int
    withdrawn: int


def describe_extent(study: Study) -> str:
    """How many candidates there are, or what the space is, in words."""
    if study.space is None:
        return format_count(study.candidates.distinct, "candidate")
    return f"a space of {format_count(len(study.space.names), 'variable')}"


class Snapshot:
    """A study as it was after one of its events; each answer is computed when it is first used.

    `study` is quick: its events and trials. `reader` is the same study for what takes long.
    """

    def __init__(self, study: Study, reader: Study, events: list[Event]) -> None:
        self.study, self.reader, self.events, self.lock = study, reader, events, RLock()
        self._drawn: dict[tuple[Any, ...], str] = {}
        self._ready, self._asked = Signal(), Lock()

    @property
    def number(self) -> int:
        """The number of the last event."""
        return self.events[-1].seq

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, or variables, that differ between candidates."""
        study = self.study
        if study.space is None:
            return study.candidates.varying
        known = zip(study.space.names, study.space.variables, strict=True)
        return tuple(name for name, one in known if one.levels > 1)

    @cached_property
    def asks(self) -> Mapping[int, Event]:
        """Trial -> the event by which it was asked for."""
        return {event.trial or 0: event for event in self.events if event.kind == "asked"}

    @cached_property
    def status(self) -> Status:
        with self.lock:
            found = self.reader.status()
        self._ready.set()
        return found

    def status_soon(self) -> Status | None:
        """The status, if it is known within a moment; else it is computed while others wait.

        The likely best of ten thousand candidates takes seconds, and what to measure is known at
        once.
        """
        if not self._ready.is_set() and self._asked.acquire(blocking=False):
            Thread(target=self._compute_status, daemon=True).start()
        return self.status if self._ready.wait(PATIENCE) else None

    def _compute_status(self) -> None:
        try:
            _ = self.status
        finally:
            # If it failed, the next page tries again.
            self._asked.release()

    @property
    def is_ready(self) -> bool:
        """Whether the answers of the model are known."""
        return self._ready.is_set()

    @cached_property
    def counts(self) -> Counts:
        """How many trials are in which state."""
        states = self.trials["state"].tolist()
        known = {name: states.count(name) for name in ("told", "pending", "failed", "withdrawn")}
        return Counts(describe_extent(self.study), **known)

    @cached_property
    def estimates(self) -> pd.DataFrame:
        with self.lock:
            return self.reader.estimates()

    @cached_property
    def trials(self) -> pd.DataFrame:
        # Without the lock, which is held while the model is computed.
        return self.study.to_dataframe()

    @cached_property
    def check(self) -> Check:
        with self.lock:
            return self.reader.check()

    # ------------------------------------------------------------------ figures

    @cached_property
    def view(self) -> View:
        with self.lock:
            return read_view(self.reader)

    @cached_property
    def drawings(self) -> dict[str, list[Drawing]]:
        """Kind -> the figures of that kind that the study has data for."""
        # The map has a place of its own, where its columns can be chosen.
        view = replace(self.view, map=None)
        found = {kind: available_drawings(view, kind) for kind in SHOWN}
        return {kind: drawings for kind, drawings in found.items() if drawings}

    def figure(self, kind: str, place: int) -> str:
        """One of the figures as SVG."""
        drawings = self.drawings.get(kind, [])
        if not 0 <= place < len(drawings):
            raise StudyConflict(f"this study has no figure {kind[:40]!r} yet")
        return self._draw(("figure", kind, place), drawings[place])

    def map(self, across: str, up: str) -> tuple[str, str]:
        """The map of two columns as SVG, and its caption."""
        found = estimate_map(self.view, self.reader.estimate_map(across, up), chosen=True)
        return self._draw(("map", across, up), found), found.caption

    def _draw(self, key: tuple[Any, ...], drawing: Drawing) -> str:
        with drawing_lock:
            if key not in self._drawn:
                self._drawn[key] = render_svg(drawing)
            return self._drawn[key]


class Snapshots:
    """The newest snapshot of each study."""

    def __init__(self) -> None:
        self._found: dict[int, Snapshot] = {}
        self._lock = Lock()

    def of(self, study: Study, library: Library) -> Snapshot:
        """The study as it is now."""
        with self._lock:
            known = self._found.get(id(study))
        if known is not None and known.study is study:
            fresh = study.history(after=known.number)
            if not fresh:
                return known
            events = [*known.events, *fresh]
        else:
            events = study.history()
        found = Snapshot(study, library.reader(study), events)
        with self._lock:
            self._found[id(study)] = found
        return found
