"""Workers are killed, at random moments and at chosen places, and start again.

Then everything is compared.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.durability import records
from benchmarks.durability.aims import AIMS, ANYWHERE
from benchmarks.durability.films import Table
from benchmarks.durability.judge import Verdict, compared, waits
from benchmarks.durability.nursery import Nursery, until
from kernelbandits.study import Study

WORKERS = 4
BYSTANDER = "bystander"
"""One more worker, which is not killed: how long does it wait after a kill?"""
LEASE = 2.0
LAST_ASKS = 200
"""How many trials may be asked and told in the end until none is pending."""
PER_STUDY = 100
"""Kills that one study lives through."""
TASKS = "benchmarks.durability.tasks"
Tick = Callable[[int], object]


@dataclass(frozen=True)
class Outcome:
    verdict: Verdict
    kills: int
    acknowledged: int
    waits: tuple[float, ...]
    places: tuple[str, ...]
    """Where each kill hit."""


def run(
    nursery: Nursery,
    fresh: Callable[[], str],
    table: Table,
    folder: Path,
    kills: int,
    seed: int,
    tick: Tick,
    end: float = math.inf,
) -> list[Outcome]:
    """So many kills, a hundred a study; no further study after `end`, by the monotonic clock."""
    outcomes: list[Outcome] = []
    for number, start in enumerate(range(0, kills, PER_STUDY)):
        if outcomes and time.monotonic() > end:
            break
        here = folder / f"kills-{number}"
        here.mkdir(parents=True)
        torment = Torment(nursery, fresh(), here, np.random.default_rng([seed, number]))
        outcomes.append(torment.outcome(table, min(PER_STUDY, kills - start), tick))
    return outcomes


@dataclass
class Worker:
    name: str
    life: int
    pid: int
    until: float
    """When it is killed from outside, by the monotonic clock."""


@dataclass
class Torment:
    """One study, its workers, and whoever kills them."""

    nursery: Nursery
    place: str
    folder: Path
    generator: np.random.Generator
    task: str = f"{TASKS}:play"
    names: int = 0
    lives: dict[str, int] = field(default_factory=dict)

    def outcome(self, table: Table, kills: int, tick: Tick) -> Outcome:
        created = self.creation(table, max(1, kills // 10), tick)
        witness = Study.open(self.place)
        try:
            self.killing(kills - created.kills, witness, tick)
            verdict = created.verdict + self.judged(witness)
        finally:
            witness.close()
        killed, acks = records.read(self.path("kills")), self.told("acks")
        hit = tuple(kill["where"] for kill in killed)
        calm = [ack for ack in acks if ack["worker"] == BYSTANDER]
        return Outcome(
            verdict, len(killed), len(acks), tuple(waits(killed[created.kills :], calm)), hit
        )

    def creation(self, table: Table, most: int, tick: Tick) -> Outcome:
        """Creators killed before their 1st, 2nd, ... statement.

        Each leaves no study, or a whole one.
        """
        killed, verdict = 0, Verdict()
        while killed < most and not records.read(self.path("created")):
            aim = self.aim("creator", "create: statement", count=killed + 1)
            pid = self.start(
                "create",
                table=table.cells,
                settings=table.settings | {"lease": LEASE},
                aim=aim,
                out=self.path("created"),
            )
            killed += self.nursery.wait(pid) < 0
            verdict += self.whole_or_none()
            tick(1)
        if not records.read(self.path("created")):
            Study.create(
                self.place, table.candidates, **table.settings, lease=LEASE, or_open=True
            ).close()
        return Outcome(verdict, killed, 0, (), ())

    def whole_or_none(self) -> Verdict:
        self.nursery.wait(self.start("seen", out=self.path("seen")))
        seen = records.read(self.path("seen"))[-1]
        return Verdict(unhealthy=int(not seen["ok"]))

    def killing(self, kills: int, witness: Study, tick: Tick) -> None:
        """Keep the workers alive, and kill them, until there were enough kills."""
        calm = self.start(
            "play",
            folder=str(self.folder),
            name=BYSTANDER,
            life=1,
            aim=self.aim(BYSTANDER, ANYWHERE, 1),
        )
        until(lambda: self.told("acks"))
        workers = [self.born(self.new_name()) for _ in range(WORKERS)]
        killed = 0
        while killed < kills:
            time.sleep(0.003)
            for place, worker in enumerate(workers):
                if self.dead(worker):
                    workers[place] = self.born(self.heir(worker))
                    killed += 1
                    tick(1)
                    if killed % 10 == 0:
                        witness.status()
        for pid in (calm, *(worker.pid for worker in workers)):
            self.nursery.kill(pid)

    def dead(self, worker: Worker) -> bool:
        """Whether it has fallen by its own hand, or does now by ours."""
        if self.nursery.ended(worker.pid) is None and time.monotonic() > worker.until:
            records.append(
                self.path("kills"), at=time.monotonic(), worker=worker.name, where=ANYWHERE
            )
            self.nursery.kill(worker.pid)
        status = self.nursery.ended(worker.pid)
        if status is not None and status >= 0:
            raise RuntimeError(f"a worker ended by itself: {self.nursery.said(worker.pid)}")
        return status is not None

    def born(self, name: str) -> Worker:
        """A worker that dies at a chosen place, or at a random moment that begins with its
        birth."""
        life = self.lives[name] = self.lives.get(name, 0) + 1
        aimed = self.generator.random() < 0.5
        where = AIMS[self.generator.integers(len(AIMS))] if aimed else ANYWHERE
        aim = self.aim(
            name, where, int(self.generator.integers(1, 25 if "statement" in where else 8))
        )
        delay = 10.0 if aimed else float(self.generator.exponential(0.25))
        pid = self.start("play", folder=str(self.folder), name=name, life=life, aim=aim)
        return Worker(name, life, pid, time.monotonic() + delay)

    def heir(self, worker: Worker) -> str:
        """Mostly the same name again; one in five does not come back."""
        return worker.name if self.generator.random() < 0.8 else self.new_name()

    def new_name(self) -> str:
        self.names += 1
        return f"w{self.names}"

    def aim(self, worker: str, where: str, count: int) -> dict[str, Any]:
        pause = float(self.generator.choice([0.0, 0.02]))
        return {
            "where": where,
            "count": count,
            "pause": pause,
            "path": self.path("kills"),
            "worker": worker,
        }

    def start(self, task: str, **arguments: Any) -> int:
        module = self.task.rpartition(":")[0] if task == "play" else TASKS
        return self.nursery.start(f"{module}:{task}", place=self.place, **arguments)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def told(self, what: str) -> list[dict[str, Any]]:
        files = sorted(self.folder.glob(f"{what}-*"))
        return [
            record | {"worker": file.name.partition("-")[2]}
            for file in files
            for record in records.read(file)
        ]

    def judged(self, witness: Study) -> Verdict:
        """All comparisons, at the end."""
        stuck = left_over(witness, self.folder)
        with Study.open(self.place) as study:
            verdict = compared(study.history(), self.told("acks"), self.told("intents"))
            errors = len(records.read(self.path("errors")))
            unhealthy = sum(not finding.ok for finding in study.doctor())
        return verdict + Verdict(
            stuck=stuck,
            errors=errors,
            unhealthy=unhealthy,
            different=differences(witness, self.folder),
        )


def left_over(study: Study, folder: Path) -> int:
    """Trials that still wait when, after the lease, somebody has asked and told often enough."""
    from benchmarks.durability.tasks import tell

    time.sleep(LEASE)
    for _ in range(LAST_ASKS):
        (suggestion,) = study.ask(worker="finisher")
        tell(study, folder, "finisher", suggestion.trial, 0.5, f"finisher-{suggestion.trial}")
        if study.status().pending == 0:
            return 0
    return study.status().pending


def differences(witness: Study, folder: Path) -> int:
    """Between the study that lived through it all and its copy opened now.

    Estimates, the next row, the past.
    """
    copy = folder / "copy.db"
    witness.backup(copy)
    with Study.open(copy) as reopened:
        estimates = not witness.estimates().equals(reopened.estimates())
        mine, theirs = witness.ask()[0], reopened.ask()[0]
        row = mine.row != theirs.row or (mine.trial, mine.x, mine.note) != (
            theirs.trial,
            theirs.x,
            theirs.note,
        )
        return estimates + row + replayed_otherwise(reopened)


def replayed_otherwise(study: Study, most: int = 10) -> int:
    """Of a few past suggestions: those that a replay would not make."""
    asked = [event.trial or 0 for event in study.history() if event.kind == "asked"]
    return sum(not study.replay(trial).same for trial in asked[:: max(1, len(asked) // most)])
