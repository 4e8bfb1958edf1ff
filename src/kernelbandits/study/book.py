"""An open study: its log, and what the events say, in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, TypeVar

from kernelbandits.runtime import gc_paused
from kernelbandits.storage import Event, Log, Turn
from kernelbandits.study.answers import Answers
from kernelbandits.study.candidates import Candidates, stored_candidates
from kernelbandits.study.pen import Pen
from kernelbandits.study.player import Player
from kernelbandits.study.state import State

T = TypeVar("T")


ATTEMPTS = 3
"""Turns given up for the sake of others; then they wait."""


class Behind(Exception):
    """The policy has much to learn before it can choose."""


class Book:
    """The events read so far, their fold, and a policy that has learnt the results."""

    def __init__(self, log: Log) -> None:
        self.log, self._lock, self._process = log, RLock(), os.getpid()
        self.state = State()
        with gc_paused:
            self.read(log.events())
        created = self.state.events[0].body["candidates"]
        self.candidates: Candidates = stored_candidates(log.columns, log.cells(), created)
        self.player = Player(self.candidates, self.state.settings)

    @property
    def lock(self) -> Any:
        """One thread at a time; a child process has its own, and reads anew what its parent may have half read."""
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
                self.state = State(version=self.state.version + 1)
                raise

    def refresh(self) -> None:
        """See what others have done since."""
        with self.lock:
            self.read(self.log.events(self.state.last))

    def write(self, work: Callable[[Pen], T]) -> T:
        """See what others wrote, decide and write; only when it is written, count it."""
        pens: list[Pen] = []

        def turn_taken(turn: Turn) -> T:
            self.read(turn.events(self.state.last))
            pens.append(Pen(turn))
            return work(pens[-1])

        with self.lock:
            found = self.log.write(turn_taken)
            self.read(pens[-1].written)
            return found

    def decide(self, work: Callable[[Pen, Player], T]) -> T:
        """Write by what the policy knows; what takes it long to learn is learnt while others may write."""
        with self.lock:
            for _ in range(ATTEMPTS):
                try:
                    return self.write(lambda pen: work(pen, self._ready()))
                except Behind:
                    self.taught()
            return self.write(lambda pen: work(pen, self.taught()))

    def _ready(self) -> Player:
        if self.player.behind(self.state):
            raise Behind
        return self.taught()

    def taught(self) -> Player:
        """The policy with all results learnt."""
        with gc_paused:
            self.player.follow(self.state)
        return self.player

    def answers(self) -> Answers:
        """What is known now; to be used under the lock."""
        self.refresh()
        return Answers(self.taught(), self.state)
