"""Time of a suggestion after 20, 60, 100 and 500 results, on a table and on a box."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks import machine
from benchmarks.opponents import version_of
from benchmarks.search.contestants import CONTESTANTS, SearchContestant
from benchmarks.search.tasks import Task

TIMES = Path(__file__).parents[1] / "results" / "search_times.json"
PLACES = (Task("photo_pce10", 0.05), Task("hartmann6", 0.05))
"""A table of 1020 rows with 4 columns, and a box of 6 dimensions."""
RESULTS = (20, 60, 100, 500)
ROUNDS, PATIENCE = 20, 20.0
"""Suggestions that are timed, or as many as these seconds allow, and at least three."""


@dataclass(frozen=True)
class Timed:
    """Seconds of the processor for ask + tell after so many results, on one thread."""

    contestant: str
    version: str
    task: str
    results: int
    median: float
    mean: float
    rounds: int


def time_contestant(contestant: SearchContestant, task: Task, results: int, version: str) -> Timed:
    """Tell results of random places, then time the suggestions that follow."""
    with machine.threads.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        instance = task.instance(0)
        player = contestant.opponent(instance)
        draw: Any = instance.different_arms if instance.finite else instance.random_moves
        for t, move in enumerate(draw(results), 1):
            player.tell(move, instance.reward(move, t))
        seconds: list[float] = []
        while len(seconds) < 3 or (len(seconds) < ROUNDS and sum(seconds) < PATIENCE):
            t = results + len(seconds) + 1
            began = time.process_time()
            move = player.ask(t, ())
            asked = time.process_time()
            result = instance.reward(move, t)
            heard = time.process_time()
            player.tell(move, result)
            seconds.append(asked - began + time.process_time() - heard)
    return Timed(
        contestant.name,
        version,
        task.name,
        results,
        round(median(seconds), 6),
        round(fmean(seconds), 6),
        len(seconds),
    )


def measure(names: Sequence[str], label: str | None = None, path: Path = TIMES) -> None:
    """Time the contestants and write the file; those that are left out keep their times."""
    timed = {(one.contestant, one.task, one.results): one for one in read(path)}
    for name in names:
        contestant = CONTESTANTS[name]
        if contestant.missing or name == "random":
            continue
        for task in filter(contestant.takes, PLACES):
            for results in RESULTS:
                one = time_contestant(contestant, task, results, version_of(contestant, label))
                timed[name, task.name, results] = one
                text = f"{task.name:12} {name:20} {results:4} {1e3 * one.mean:9.2f} ms"
                print(text, file=sys.stderr, flush=True)
    path.write_text(json.dumps([asdict(one) for one in timed.values()], indent=1) + "\n")


def read(path: Path = TIMES) -> list[Timed]:
    return [Timed(**fields) for fields in json.loads(path.read_text())] if path.exists() else []
