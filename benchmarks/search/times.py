"""Time of a suggestion after 20, 60, 100 and 500 results, on tables and on a box.

All contestants are timed in turn at one place and one number of results before the next, so that
what else the machine does at that time slows all of them.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import kernelbandits as kb
from benchmarks import machine
from benchmarks.opponents import version_of
from benchmarks.pools import PoolInstance
from benchmarks.search.contestants import CONTESTANTS, SearchContestant
from benchmarks.search.tasks import Task

TIMES = Path(__file__).parents[1] / "results" / "search_times.json"


@dataclass(frozen=True)
class Place:
    """Where suggestions are timed: a task, or the first rows of its table."""

    task: Task
    results: tuple[int, ...] = (20, 60, 100, 500)
    """After how many results."""
    rows: int | None = None
    own: bool = False
    """Whether these results are those of its own suggestions, and not of random places."""

    @property
    def name(self) -> str:
        cut = "" if self.rows is None else f", {self.rows} rows"
        return self.task.name + cut + (", own results" if self.own else "")

    def instance(self) -> PoolInstance:
        """The place in seed 0."""
        whole = self.task.instance(0)
        if self.rows is None:
            return whole
        assert whole.table is not None
        points, table = whole.domain.points[: self.rows], whole.table
        # The values stay those of the whole table: what the best row is does not matter here.
        values = table.values.copy()
        values[[0, 1]] = 0.0, 1.0
        part = replace(table, frame=table.frame[: self.rows], values=values[: self.rows])
        return replace(whole, domain=kb.Arms(points), table=part)


PLACES = (
    Place(Task("photo_pce10", 0.05)),
    Place(Task("photo_pce10", 0.05), results=(100,), rows=500),
    Place(Task("photo_pce10", 0.05), results=(100,), rows=500, own=True),
    Place(Task("hartmann6", 0.05)),
)
"""A table of 1020 rows with 4 columns, half of it, and a box of 6 dimensions.

Half of the table is played from the first suggestion on too, as a user would. After random results
at different rows the first row measured again calls for a fit, which such a game had long before.
"""
ROUNDS, PATIENCE = 20, 20.0
"""Suggestions that are timed, or a fifth of the results if that is more, in which at least one fit
is due; no further one after so many seconds, but at least three."""


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


def time_contestant(
    contestant: SearchContestant, place: Place, results: int, version: str
) -> Timed:
    """Tell results of random places or of its own, then time the suggestions that follow."""
    rounds = max(ROUNDS, results // 5)
    with machine.threads.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        instance = place.instance()
        player = contestant.opponent(instance)
        draw: Any = instance.different_arms if instance.finite else instance.random_moves
        for t, drawn in enumerate(draw(results), 1):
            move = player.ask(t, ()) if place.own else drawn
            player.tell(move, instance.reward(move, t))
        seconds: list[float] = []
        while len(seconds) < 3 or (len(seconds) < rounds and sum(seconds) < PATIENCE):
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
        place.name,
        results,
        round(median(seconds), 6),
        round(fmean(seconds), 6),
        len(seconds),
    )


def measure(names: Sequence[str], label: str | None = None, path: Path = TIMES) -> None:
    """Time the contestants and write the file; those that are left out keep their times."""
    timed = {(one.contestant, one.task, one.results): one for one in read(path)}
    contestants = [CONTESTANTS[name] for name in names if name != "random"]
    for place in PLACES:
        for results in place.results:
            for contestant in contestants:
                if contestant.missing or not contestant.takes(place.task):
                    continue
                version = version_of(contestant, label)
                one = time_contestant(contestant, place, results, version)
                timed[contestant.name, place.name, results] = one
                text = f"{place.name:34} {contestant.name:20} {results:4}"
                spent = f"median {1e3 * one.median:9.2f} ms, mean {1e3 * one.mean:9.2f} ms"
                print(text, spent, file=sys.stderr, flush=True)
    path.write_text(json.dumps([asdict(one) for one in timed.values()], indent=1) + "\n")


def read(path: Path = TIMES) -> list[Timed]:
    return [Timed(**fields) for fields in json.loads(path.read_text())] if path.exists() else []
