"""An open study: its log, what the events say, and the policy, built when first needed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from threading import Condition
from typing import TYPE_CHECKING, Any, TypeVar

from kernelbandits.runtime import gc_paused
from kernelbandits.storage import Draft, Event, Log, StorageBusy
from kernelbandits.study import asks, tells
from kernelbandits.study.asks import Asker, AskPlan
from kernelbandits.study.events import State
from kernelbandits.study.places import PlaceHistory, drop_lost_rows, stored_place

if TYPE_CHECKING:
    from kernelbandits.study.answers import Answers
    from kernelbandits.study.driver import Driver
    from kernelbandits.study.place import Place

T = TypeVar("T")


MOST_ATTEMPTS = 50
"""How often rows are chosen, where others are always faster and the lock would be held too long."""
LONGEST_HOLD = 0.5
"""Seconds: rows whose choice took longer are not chosen with the lock."""
FIT_PATIENCE = 0.5
"""Seconds for which a worker waits for a fit that another one is making; then it makes it too."""
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.04
"""Seconds between two looks at the log while it waits; each pause is twice the one before."""


class StudySession:
    """The events read so far, their fold, and a policy that has learnt the results."""

    def __init__(self, log: Log) -> None:
        self.log, self._lock, self._process = log, Condition(), os.getpid()
        self.state = State()
        self._driver: Driver | None = None
        with gc_paused:
            events = log.events()
            self.places = PlaceHistory(stored_place(log, events[0]))
            self.read(events)

    @property
    def candidates(self) -> Place:
        """The table as it is now, or the points of a space."""
        return self.places.now(self.state.changes)

    @property
    def lock(self) -> Condition:
        """Admits one thread at a time; one that waits for news lets the others in.

        A forked process gets a lock of its own and reads all events again, because its parent may
        have been in the middle of reading.
        """
        if self._process != os.getpid():
            self._lock, self._process = Condition(), os.getpid()
            self.state = State(version=self.state.version + 1)
        return self._lock

    def read(self, events: Sequence[Event]) -> None:
        """Fold new events; if that is interrupted halfway, the next call folds all anew."""
        if events:
            try:
                self.state.extend(self._with_rows(events))
            except BaseException:
                # Some events may be applied and others not. An empty state reads them all again.
                self.state = State(version=self.state.version + 1)
                raise

    def _with_rows(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return events as they are in memory.

        A point of a space has a number. In a salvaged table, events of lost rows are remarks.
        """
        place = self.places.created
        events = place.from_stored(events)
        salvaged = self.state.salvaged or any(event.kind == "noted" for event in events)
        if not salvaged:
            return events
        known = [event for event in self.state.events if event.kind == "added"]
        return drop_lost_rows(place, [*known, *events])[len(known) :]

    def refresh(self) -> float:
        """See what others have done since; return the time of the database."""
        with self.lock:
            found = self.log.read(self.state.last)
            self.read(found.events)
            return found.now

    def write(
        self, decide: Callable[[State, float], tuple[list[Draft], T]]
    ) -> tuple[list[Event], T]:
        """Write in one transaction: see what others wrote, decide, write all drafts or none.

        Only when they are stored, they count in memory.
        """
        # A collection of garbage while the lock is held would keep all others waiting.
        with self.lock, gc_paused:
            for turn in self.log.turns():
                with turn:
                    self.read(turn.events(self.state.last))
                    drafts, answer = decide(self.state, turn.now)
                    stored = turn.append(self.places.created.to_stored(drafts))
                    events = list(self._with_rows(stored))
                    events += turn.append(tells.rescale(self.state, events))
            self.read(events)
            self.lock.notify_all()
            return events, answer

    def ask(self, asker: Asker) -> list[Event]:
        """Write the asks of a call, and return them.

        Rows are chosen without the lock, so that nobody waits for them. If somebody else takes one
        of them before they are written, the rows from this one on are chosen once more, and then
        with the lock.
        """
        with self.lock:
            plan: AskPlan | None = None
            for attempt in range(MOST_ATTEMPTS):
                now, start = self._await_fit(asker), time.monotonic()
                if written := asker.find_written(self.state):
                    # A call that is repeated with its key.
                    return [*asker.find_held(self.state, now), *written][: asker.n]
                # Others may have written since the plan met its conflict.
                plan = plan and asks.keep_plan(self.state, plan, asker, self.first_rows, now)
                plan = asks.plan_ask(self.state, self.updated_driver(), asker, now, plan)
                quick = time.monotonic() - start < LONGEST_HOLD
                plan, complete = self._write_plan(asker, plan, attempt > 0 and quick)
                if plan and complete:
                    return [*plan.held, *asker.find_written(self.state)][: asker.n]
            raise StorageBusy(
                f"{self.log.place}: others kept asking for the same rows; nothing was written"
            )

    def _await_fit(self, asker: Asker) -> float:
        """See what others have done, and the fit that one of them is making; return the time.

        Workers find at the same moment that a fit is due. It is left to the one whose result made
        it due, or all would spend their processors on the same fit. That one may be a thread of
        this process, so the lock is free meanwhile.
        """
        now, end, pause = self.refresh(), time.monotonic() + FIT_PATIENCE, FIRST_PAUSE
        while time.monotonic() < end:
            fitter = self.driver.find_fitter(self.state, now - FIT_PATIENCE)
            if asker.worker is None or fitter in (None, asker.worker):
                break
            self.lock.wait(pause)
            now, pause = self.refresh(), min(2 * pause, LONGEST_PAUSE)
        return now

    def _write_plan(
        self, asker: Asker, plan: AskPlan, with_lock: bool
    ) -> tuple[AskPlan | None, bool]:
        """Write the asks of a plan if its rows are still free; return what holds of it.

        The second part of the answer tells whether that is all, and written.
        `with_lock` chooses other rows for those that somebody else took, while nobody can write. A
        fit that is due would keep the others waiting too long, and is made without the lock.
        """

        def decide(state: State, now: float) -> tuple[list[Draft], tuple[AskPlan | None, bool]]:
            if asker.find_written(state):
                return [], (plan, True)
            kept = asks.keep_plan(state, plan, asker, self.first_rows, now)
            complete = kept is not None and len(kept.asks) == len(plan.asks)
            if not complete and with_lock and not self.driver.find_due_fit(state):
                kept = asks.plan_ask(state, self.updated_driver(), asker, now, kept)
                complete = True
            drafts = asks.draft_asks(state, kept, asker) if kept and complete else []
            return drafts, (kept, complete)

        return self.write(decide)[1]

    @property
    def first_rows(self) -> Any:
        """For each row the first row of the same candidate."""
        return self.candidates.first_rows

    @property
    def driver(self) -> Driver:
        """The policy, with the results that it has learnt so far."""
        if self._driver is None or self._driver.candidates is not self.candidates:
            from kernelbandits.study.driver import build_driver

            spread = self.state.scale.spread
            self._driver = build_driver(self.candidates, self.state.settings, spread)
        return self._driver

    def updated_driver(self) -> Driver:
        """Return the driver with all results learnt."""
        driver = self.driver
        with gc_paused:
            driver.follow(self.state)
        return driver

    def answers(self) -> Answers:
        """Return what is known now; to be used under the lock."""
        from kernelbandits.study.answers import answers_of

        self.refresh()
        return answers_of(self.updated_driver(), self.state)
