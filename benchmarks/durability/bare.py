"""The protocol without a model.

An ask takes the next row in turn, and a tell is written without a look at others.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from kernelbandits.storage import Draft, Event, Log


@dataclass
class Bare:
    log: Log
    last: Event | None = None
    trials: int = 0

    @classmethod
    def create(cls, where: str, rows: int = 94) -> Bare:
        table = {"x": [float(row) for row in range(rows)]}
        return cls(Log.create(where, Draft(kind="created", body={"rows": rows}), table))

    @classmethod
    def open(cls, where: str) -> Bare:
        return cls(Log.open(where))

    def ask(self, worker: str | None = None) -> list[Any]:
        event = self.written(
            lambda trials: Draft(kind="asked", trial=trials + 1, row=trials % 94, worker=worker)
        )
        return [SimpleNamespace(trial=event.trial, row=event.row)]

    def tell(
        self, trial: int, value: float, key: str | None = None, worker: str | None = None
    ) -> Event:
        key = key or uuid4().hex
        return self.written(
            lambda _: Draft(kind="told", trial=trial, value=value, key=key, worker=worker)
        )

    def written(self, draft: Any) -> Event:
        """One transaction: see what the others wrote, write one event."""

        for turn in self.log.turns():
            with turn:
                events = turn.events(self.last)
                known = self.trials + sum(event.kind == "asked" for event in events)
                (written,) = turn.append([draft(known)])
        self.trials += sum(event.kind == "asked" for event in (*events, written))
        self.last = written
        return written

    def close(self) -> None:
        self.log.close()
