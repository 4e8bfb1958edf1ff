"""Finished searches as lines of JSON: one for each task, contestant, version and seed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.json_lines import append_object, read_objects
from benchmarks.search.tasks import Task


@dataclass(frozen=True)
class Searched:
    """What one contestant found in one seed of a task."""

    task: str
    noise: float
    batch: int
    contestant: str
    version: str
    seed: int
    measured: tuple[float, ...]
    """Simple regret of the best place measured, after 10, 20, 30, 40 and 60 measurements."""
    recommended: tuple[float, ...]
    """Simple regret of the place it recommended then."""
    different: int
    """How many different places it measured."""
    seconds: tuple[float, float]
    """The median and the mean of ask + tell, in seconds of the processor."""

    @property
    def key(self) -> tuple[Any, ...]:
        return self.task, self.noise, self.batch, self.contestant, self.version, self.seed

    @property
    def task_key(self) -> Task:
        return Task(self.task, self.noise, self.batch)


def read(path: Path) -> list[Searched]:
    return [searched(fields) for fields in read_objects(path)]


def searched(fields: dict[str, Any]) -> Searched:
    several = {name: tuple(fields[name]) for name in ("measured", "recommended", "seconds")}
    return Searched(**fields | several)


def append(path: Path, row: Searched) -> None:
    append_object(path, asdict(row))


def latest(rows: Iterable[Searched]) -> list[Searched]:
    """Of each contestant the rows of the version that was appended last."""
    kept = list(rows)
    versions = {row.contestant: row.version for row in kept}
    return [row for row in kept if row.version == versions[row.contestant]]
