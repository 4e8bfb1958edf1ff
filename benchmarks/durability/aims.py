"""Where a worker is killed: it sends itself kill -9 at a place that no clock would hit often
enough."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.durability import records
from kernelbandits.storage import Log, Turn, statements

STAGES = {
    "locked": "with the write lock, before anything is written",
    "written": "with the write lock, when all is written but the commit",
    "committed": "after the commit, before the reply",
    "statement": "before its n-th SQL statement",
}
ANYWHERE = "anywhere"
BETWEEN = "between ask and tell"
AIMS = (BETWEEN, *(f"{call}: {stage}" for call in ("ask", "tell") for stage in STAGES))


@dataclass
class Aim:
    """Of one worker: at the `count`-th time that it comes to `where`, after `pause` seconds
    there."""

    where: str
    count: int
    pause: float
    path: str
    """The file in which kills are recorded."""
    worker: str
    call: str = field(default="", init=False)

    @classmethod
    def take(cls, given: Mapping[str, Any]) -> Aim:
        """Aim, with hooks in the log and in the statements that it sends."""
        aim = cls(**given)
        if aim.where != ANYWHERE:
            Turn.__enter__ = aim.entering(Turn.__enter__)  # type: ignore[method-assign]
            Log.turns = aim.around(Log.turns)  # type: ignore[method-assign]
            statements.send = aim.sending(statements.send)
        return aim

    def sending(self, send: Callable[..., Any]) -> Callable[..., Any]:
        def watched(connection: Any, statement: str, *values: Any) -> Any:
            self.reached("statement")
            if statement == "COMMIT":
                self.reached("written")
            return send(connection, statement, *values)

        return watched

    def calling(self, call: str) -> None:
        self.call = call

    def reached(self, stage: str) -> None:
        if self.where not in (stage, f"{self.call}: {stage}"):
            return
        self.count -= 1
        if self.count <= 0:
            self.strike()

    def strike(self) -> None:
        time.sleep(self.pause)
        records.append(self.path, at=time.monotonic(), worker=self.worker, where=self.where)
        os.kill(os.getpid(), signal.SIGKILL)

    def entering(self, enter: Callable[[Turn], Turn]) -> Callable[[Turn], Turn]:
        def watched(turn: Turn) -> Turn:
            entered = enter(turn)
            self.reached("locked")
            return entered

        return watched

    def around(self, turns: Callable[[Log], Iterator[Turn]]) -> Callable[[Log], Iterator[Turn]]:
        def watched(log: Log) -> Iterator[Turn]:
            yield from turns(log)
            self.reached("committed")

        return watched
