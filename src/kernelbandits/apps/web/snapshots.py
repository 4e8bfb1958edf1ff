"""What a page shows of a study, computed once for each event and kept until the next one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event as Signal
from threading import Lock, RLock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from kernelbandits.apps.web.library import Library
from kernelbandits.checks import StudyConflict
from kernelbandits.formatting import format_count
from kernelbandits.report.studies.drawing import available_drawings
from kernelbandits.report.studies.maps import estimate_map
from kernelbandits.report.studies.marks import Mark
from kernelbandits.report.studies.sheets import Drawing, render_with_marks
from kernelbandits.report.studies.view import View, read_view
from kernelbandits.storage import Event
from kernelbandits.study import Status, Study

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.study import Check, Explained

T = TypeVar("T")

PATIENCE = 0.4
"""Seconds that a page waits for the answers of the model before it is shown without them."""
RECENT = 8
"""Results on the first page of a study."""
ENDED = ("told", "failed", "withdrawn")
"""States of trials that are listed among the results."""
LONGEST_REST = 1.0
"""The most seconds between two computations of a status."""
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


@dataclass(frozen=True)
class FigureName:
    """Which figure is meant: one of a kind by its place there, or the map of two columns."""

    kind: str = ""
    place: int = 0
    across: str = ""
    up: str = ""


class LatestStatus:
    """The newest status of a study that is known; the next one is computed in the background.

    Results may come in faster than a status is computed. So one is computed at a time, and after
    that a while passes before the next one: others need the processor too.
    """

    def __init__(self) -> None:
        self.known: Status | None = None
        self._lock = Lock()
        self._current: Snapshot | None = None
        self._rest_until = 0.0

    def begin(self, snapshot: Snapshot) -> bool:
        """Begin with the status of a snapshot if nothing else is; return whether it is coming."""
        with self._lock:
            if self._current is None and time.monotonic() >= self._rest_until:
                self._current = snapshot
                Thread(target=self._compute, args=(snapshot,), daemon=True).start()
            return self._current is snapshot

    def _compute(self, snapshot: Snapshot) -> None:
        start = time.monotonic()
        try:
            self.known = snapshot.status
        finally:
            # If it failed, the next page tries again.
            with self._lock:
                self._current, end = None, time.monotonic()
                self._rest_until = end + min(end - start, LONGEST_REST)


class Snapshot:
    """A study as it was after one of its events; each answer is computed when it is first used.

    `study` is quick: its events and trials. `reader` is the same study for what takes long.
    """

    def __init__(
        self,
        name: str,
        study: Study,
        reader: Study,
        events: list[Event],
        latest: LatestStatus,
    ) -> None:
        self.name, self.study, self.reader = name, study, reader
        self.events, self.latest = events, latest
        # A lock of each snapshot: before Python 3.12 a cached_property has one for all of them.
        self._lock = RLock()
        self._answers: dict[tuple[Any, ...], Any] = {}
        self._ready = Signal()

    def once(self, key: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """Computed by the first thread that needs it, while the others wait."""
        if key not in self._answers:
            with self._lock:
                if key not in self._answers:
                    self._answers[key] = compute()
        found: T = self._answers[key]
        return found

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

    # ------------------------------------------------------------------ trials, without a model

    @cached_property
    def trials(self) -> pd.DataFrame:
        return self.study.to_dataframe()

    @cached_property
    def pending(self) -> list[dict[Any, Any]]:
        """The lines of the table of trials that wait for a result."""
        return self.trials[self.trials["state"] == "pending"].to_dict("records")

    @cached_property
    def recent(self) -> list[dict[Any, Any]]:
        """The lines of the last results, the newest first."""
        told = self.trials[self.trials["state"].isin(ENDED)]
        newest = told.sort_values("told_at", kind="stable").tail(RECENT).iloc[::-1]
        return newest.to_dict("records")

    @cached_property
    def counts(self) -> Counts:
        """How many trials are in which state."""
        states = self.trials["state"].tolist()
        known = {name: states.count(name) for name in ("told", "pending", "failed", "withdrawn")}
        return Counts(describe_extent(self.study), **known)

    @cached_property
    def last_step(self) -> list[Event]:
        """The events that undo would take back, the last first."""
        return self.study.last_step()

    # ------------------------------------------------------------------ answers of the model

    @property
    def status(self) -> Status:
        found = self.once(("status",), self.reader.status)
        self._ready.set()
        return found

    def status_soon(self) -> Status | None:
        """The status, if it is known within a moment; else the one before, if there is one.

        The likely best of ten thousand candidates takes seconds, and what to measure is known at
        once. `is_ready` says whether it is the status of this snapshot.
        """
        if not self.is_ready and self.latest.begin(self):
            self._ready.wait(PATIENCE)
        return self.status if self.is_ready else self.latest.known

    @property
    def is_ready(self) -> bool:
        """Whether the answers of the model are known."""
        return self._ready.is_set()

    @property
    def estimates(self) -> pd.DataFrame:
        return self.once(("estimates",), self.reader.estimates)

    @property
    def check(self) -> Check:
        return self.once(("check",), self.reader.check)

    def explain(self, trial: int) -> Explained:
        """Why a trial was suggested."""
        return self.once(("explain", trial), lambda: self.reader.explain(trial))

    # ------------------------------------------------------------------ figures

    @property
    def view(self) -> View:
        return self.once(("view",), lambda: read_view(self.reader))

    @cached_property
    def drawings(self) -> dict[str, list[Drawing]]:
        """Kind -> the figures of that kind that the study has data for."""
        # The map has a place of its own, where its columns can be chosen.
        view = replace(self.view, map=None)
        found = {kind: available_drawings(view, kind) for kind in SHOWN}
        return {kind: drawings for kind, drawings in found.items() if drawings}

    def find_drawing(self, name: FigureName) -> Drawing:
        """The figure of this name, which need not be drawn yet."""
        if name.kind == "map":
            return self.once(("map", name), lambda: self._find_map(name.across, name.up))
        drawings = self.drawings.get(name.kind, [])
        if not 0 <= name.place < len(drawings):
            raise StudyConflict(f"this study has no figure {name.kind[:40]!r} yet")
        return drawings[name.place]

    def _find_map(self, across: str, up: str) -> Drawing:
        return estimate_map(self.view, self.reader.estimate_map(across, up), chosen=True)

    def draw(self, name: FigureName) -> tuple[str, list[Mark]]:
        """A figure as SVG, and where its marks are."""
        drawing, key = self.find_drawing(name), ("drawn", name)
        if key not in self._answers:
            with drawing_lock:
                self._answers.setdefault(key, render_with_marks(drawing))
        found: tuple[str, list[Mark]] = self._answers[key]
        return found


class Snapshots:
    """The newest snapshot of each study."""

    def __init__(self) -> None:
        self._found: dict[str, Snapshot] = {}
        self._lock = Lock()

    def of(self, name: str, library: Library) -> Snapshot:
        """The study of this name as it is now."""
        study = library.study(name)
        with self._lock:
            known = self._found.get(name)
        events, latest = list[Event](), LatestStatus()
        if known is not None and known.study is study:
            fresh = study.history(after=known.number)
            if not fresh:
                return known
            events, latest = [*known.events, *fresh], known.latest
        found = Snapshot(name, study, library.reader(name), events or study.history(), latest)
        with self._lock:
            self._found[name] = found
        return found
