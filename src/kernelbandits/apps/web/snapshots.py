"""What a page shows of a study, computed once for each event and kept until the next one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event as Signal
from threading import Lock, RLock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from kernelbandits.apps.web.figures import (
    MAP,
    DrawnFigure,
    FigureName,
    RecentFigures,
    drawing_lock,
)
from kernelbandits.apps.web.library import Library
from kernelbandits.checks import StudyConflict
from kernelbandits.report.studies.figures import STUDY_FIGURES
from kernelbandits.report.studies.maps import estimate_map
from kernelbandits.report.studies.sheets import Drawing, render_with_marks
from kernelbandits.report.studies.ternary import ternary_map
from kernelbandits.report.studies.view import View, read_view
from kernelbandits.storage import Event
from kernelbandits.study import Status, Study

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.study import Check, Explained, RowComparison

T = TypeVar("T")

PATIENCE = 0.4
"""Seconds that a page waits for the answers of the model before it is shown without them."""
TURN = 0.02
"""Seconds after which a page looks again whether the computation that it waits for can begin."""
RECENT = 8
"""Results on the first page of a study."""
ENDED = ("told", "failed", "withdrawn")
"""States of trials that are listed among the results."""
LONGEST_REST = 1.0
"""The most seconds between two computations of a status."""
STATUS, DRAWINGS = ANSWERS = ("status", "drawings")
"""What is computed in the background: status and estimates, and what the figures show."""
"""The kinds of figures on the page of figures, in their order."""


@dataclass(frozen=True)
class Counts:
    """The progress of a study, which is known without a model."""

    extent: str
    told: int
    pending: int
    failed: int
    withdrawn: int


class Background:
    """The answers of a study's model that take long, computed one at a time in a thread.

    Results may come in faster than an answer is computed. So pages show the newest that is known,
    and after each computation a while passes before the next one: others need the processor too.
    """

    def __init__(self) -> None:
        self.known: dict[str, Snapshot] = {}
        """Answer -> the newest snapshot for which it was computed."""
        self._lock = Lock()
        self._current: tuple[Snapshot, str] | None = None
        self._rest_until = 0.0

    def begin(self, snapshot: Snapshot, what: str) -> bool:
        """Begin with an answer of a snapshot if nothing else is; return whether it is coming."""
        with self._lock:
            if self._current is None and time.monotonic() >= self._rest_until:
                self._current = snapshot, what
                Thread(target=self._compute, args=(snapshot, what), daemon=True).start()
            return self._current == (snapshot, what)

    def _compute(self, snapshot: Snapshot, what: str) -> None:
        start = time.monotonic()
        # If it fails, the next page computes it itself, and shows the error.
        with suppress(Exception):
            snapshot.compute(what)
        snapshot.ready[what].set()
        with self._lock:
            self.known[what] = snapshot
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
        background: Background,
        recent: RecentFigures,
    ) -> None:
        self.name, self.study, self.reader = name, study, reader
        self.events, self.background = events, background
        # The figures of all snapshots are kept in one place, under a mark of each snapshot.
        self._recent, self._mark = recent, object()
        # A lock of each snapshot: before Python 3.12 a cached_property has one for all of them.
        self._lock = RLock()
        self._answers: dict[tuple[Any, ...], Any] = {}
        self.ready = {what: Signal() for what in ANSWERS}

    def once(self, key: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """Return an answer; the first thread that needs it computes it, while the others wait."""
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
        return self.study.candidates.varying

    @cached_property
    def asks(self) -> Mapping[int, Event]:
        """The event by which each trial was asked for, by trial."""
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
        """The numbers of trials in each state."""
        states = self.trials["state"].tolist()
        known = {name: states.count(name) for name in ("told", "pending", "failed", "withdrawn")}
        return Counts(self.study.candidates.describe_size(), **known)

    @cached_property
    def last_step(self) -> list[Event]:
        """The events that undo would take back, the last first."""
        return self.study.last_step()

    # ------------------------------------------------------------------ answers of the model

    @property
    def status(self) -> Status:
        return self.once(("status",), self.reader.status)

    def compute(self, what: str) -> None:
        """Compute one of `ANSWERS`."""
        for one in ("status", "estimates") if what == STATUS else ("drawings",):
            getattr(self, one)

    def newest_with(self, what: str, *, in_turn: bool = True) -> Snapshot | None:
        """Return this snapshot, if an answer is known within a moment; else the newest that has it.

        The likely best of ten thousand candidates takes seconds, and what to measure is known at
        once. None if the answer was never computed: it will be. While something else is computed,
        the moment is spent waiting for the turn of this answer, if `in_turn`.
        """
        end = time.monotonic() + PATIENCE
        while not self.is_ready(what) and (left := end - time.monotonic()) > 0:
            if self.background.begin(self, what):
                self.ready[what].wait(left)
            elif in_turn:
                time.sleep(min(left, TURN))
            else:
                break
        return self if self.is_ready(what) else self.background.known.get(what)

    def is_ready(self, what: str = STATUS) -> bool:
        """Tell whether an answer of the model is known."""
        return self.ready[what].is_set()

    @property
    def estimates(self) -> pd.DataFrame:
        return self.once(("estimates",), self.reader.estimates)

    @property
    def check(self) -> Check:
        return self.once(("check",), self.reader.check)

    def explain(self, trial: int | str) -> Explained:
        """Explain why a trial was suggested, or the row of this name."""
        number, label = (None, trial) if isinstance(trial, str) else (trial, None)
        return self.once(("explain", trial), lambda: self.reader.explain(number, label=label))

    def compare(self, row: int | str) -> RowComparison:
        """Compare a row with the likely best."""
        return self.once(("compare", row), lambda: self.reader.compare(row))

    # ------------------------------------------------------------------ figures

    @property
    def view(self) -> View:
        """The values that the figures show; the check and the status are computed once."""
        return self.once(
            ("view",), lambda: read_view(self.reader, check=self.check, status=self.status)
        )

    @property
    def drawings(self) -> dict[str, list[Drawing]]:
        """The figures that the study has data for, by kind."""
        return self.once(("drawings",), self._list_drawings)

    def _list_drawings(self) -> dict[str, list[Drawing]]:
        # The map has a place of its own, where its columns can be chosen.
        view = replace(self.view, map=None)
        shown = [one for one in STUDY_FIGURES if one.on_lab_page and one.has_data(view)]
        return {one.name: one.draw(view) for one in shown}

    def find_drawing(self, name: FigureName) -> Drawing:
        """Return the figure of this name, which need not be drawn yet."""
        if name.kind == MAP:
            return self._find_map(name)
        drawings = self.drawings.get(name.kind, [])
        if not 0 <= name.place < len(drawings):
            raise StudyConflict(f"this study has no figure {name.kind[:40]!r} yet")
        return drawings[name.place]

    def _find_map(self, name: FigureName) -> Drawing:
        key = (self._mark, MAP, replace(name, narrow=False))
        with self._lock:
            found: Drawing | None = self._recent.find(key)
            if found is None:
                computed = self.reader.estimate_map(name.across, name.up)
                if computed.total is None:
                    found = estimate_map(self.view, computed, chosen=True)
                else:
                    found = ternary_map(self.view, computed)
                self._recent.keep(key, found, computed.mean.nbytes + computed.sd.nbytes)
        return found

    def draw(self, name: FigureName) -> DrawnFigure:
        """Draw a figure as SVG, with the places of its marks."""
        drawing, key = self.find_drawing(name), (self._mark, "drawn", name)
        found: DrawnFigure | None = self._recent.find(key)
        if found is None:
            with drawing_lock:
                # Another thread may have drawn it meanwhile.
                found = self._recent.find(key) or DrawnFigure.of(
                    *render_with_marks(drawing, narrow=name.narrow)
                )
            self._recent.keep(key, found, found.size)
        return found


class Snapshots:
    """The newest snapshot of each study."""

    def __init__(self) -> None:
        self._found: dict[str, Snapshot] = {}
        self._recent, self._lock = RecentFigures(), Lock()

    def of(self, name: str, library: Library) -> Snapshot:
        """Return the snapshot of the study of this name as it is now."""
        study = library.study(name)
        with self._lock:
            known = self._found.get(name)
        events, background = list[Event](), Background()
        if known is not None and known.study is study:
            fresh = study.history(after=known.number)
            if not fresh:
                return known
            events, background = [*known.events, *fresh], known.background
        events, reader = events or study.history(), library.reader(name)
        found = Snapshot(name, study, reader, events, background, self._recent)
        with self._lock:
            self._found[name] = found
            # A study that was closed is not kept open, or in memory, by what was known of it.
            self._found = {one: kept for one, kept in self._found.items() if library.has_open(one)}
        return found
