"""An open study: its log, and what the events say, in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, TypeVar

from kernelbandits.runtime import gc_paused
from kernelbandits.storage import Event, Log
from kernelbandits.study.answers import Answers
from kernelbandits.study.driver import Driver
from kernelbandits.study.state import State
from kernelbandits.study.writer import Writer
from kernelbandits.tables.candidates import Candidates, stored_candidates

T = TypeVar("T")


ATTEMPTS = 3
"""Transactions given up so that others can write while the policy learns; then they wait."""


class Behind(Exception):
    """The policy has much to learn before it can choose."""


class StudySession:
    """The events read so far, their fold, and a policy that has learnt the results."""

    def __init__(self, log: Log) -> None:
        self.log, self._lock, self._process = log, RLock(), os.getpid()
        self.state = State()
        with gc_paused:
            self.read(log.events())
        created = self.state.events[0].body["candidates"]
        self.candidates: Candidates = stored_candidates(log.columns(), created)
        self.driver = Driver(self.candidates, self.state.settings)

    @property
    def lock(self) -> Any:
        """Admits one thread at a time.

        A forked process gets a lock of its own and reads all events again, because its parent may
        have been in the middle of reading.
        """
        if self._process != os.getpid():
            self._lock, self._process = RLock(), os.getpid()
            self.state = State(version=self.state.version + 1)
        return self._lock

    def read(self, events: Sequence[Event]) -> None:
        """If it is interrupted halfway, the next call folds all anew."""
        if events:
            try:
                self.state.extend(events)
            except BaseException:
                # Some events may be applied and others not. An empty state reads them all again.
                self.state = State(version=self.state.version + 1)
                raise

    def refresh(self) -> None:
        """See what others have done since."""
        with self.lock:
            self.read(self.log.events(self.state.last))

    def write(self, work: Callable[[Writer], T]) -> T:
        """See what others wrote, decide and write; only when it is written, count it."""
        with self.lock:
            for turn in self.log.turns():
                with turn:
                    self.read(turn.events(self.state.last))
                    writer = Writer(turn)
                    found = work(writer)
            self.read(writer.written)
            return found

    def decide(self, work: Callable[[Writer, Driver], T]) -> T:
        """Let the policy choose and write its choice; it learns before, while others may write."""
        with self.lock:
            for _ in range(ATTEMPTS):
                try:
                    return self.write(lambda writer: work(writer, self._ready()))
                except Behind:
                    self.updated_driver()
            return self.write(lambda writer: work(writer, self.updated_driver()))

    def _ready(self) -> Driver:
        if self.driver.behind(self.state):
            raise Behind
        return self.updated_driver()

    def updated_driver(self) -> Driver:
        """The policy with all results learnt."""
        with gc_paused:
            self.driver.follow(self.state)
        return self.driver

    def answers(self) -> Answers:
        """What is known now; to be used under the lock."""
        self.refresh()
        return Answers(self.updated_driver(), self.state)
