"""Many workers ask and tell at once: none lost, no error shown, and how many trials a second."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.durability import records
from benchmarks.durability.bare import Bare
from benchmarks.durability.films import Table
from benchmarks.durability.judge import RESULTS, Verdict, compared
from benchmarks.durability.nursery import Nursery
from benchmarks.durability.races import together
from benchmarks.durability.tasks import Gate
from kernelbandits.storage import Log, check_health
from kernelbandits.study import Study

TASK = "benchmarks.durability.tasks:crowd"


@dataclass(frozen=True)
class Outcome:
    trials: int
    rate: float
    """Trials a second, one ask and one tell each, from the first start to the last end."""
    slowest: float
    """Seconds of the slowest worker over the fastest: 1 where all were served alike."""
    verdict: Verdict
    times: tuple[float, ...] = ()
    """When each result was stored, in order, in seconds by the clock of the database."""
    spent: tuple[float, ...] = ()
    """Seconds of the processor for each trial, in the same order."""

    def rate_between(self, first: int, last: int) -> float:
        """Trials a second from the first-th result to the last-th."""
        return (last - first) / (self.times[last - 1] - self.times[first - 1])

    def spent_between(self, first: int, last: int) -> float:
        """Seconds of the processor for a trial, from the first-th result to the last-th."""
        return fmean(self.spent[first:last])


def run(
    nursery: Nursery,
    place: str,
    table: Table,
    folder: Path,
    player: str,
    workers: int,
    trials: int,
    task: str = TASK,
) -> Outcome:
    folder.mkdir(parents=True)
    create(player, place, table)
    out, gate = str(folder / "done"), Gate.build(folder / "gate", workers)
    given: dict[str, Any] = {
        "place": place,
        "player": player,
        "barrier": gate,
        "sides": workers,
        "trials": trials,
        "out": out,
    }
    together(nursery, [nursery.start(task, side=side, **given) for side in range(workers)])
    return outcome(place, records.read(out))


def create(player: str, place: str, table: Table) -> None:
    if player == "bare":
        Bare.create(place, len(table.cells)).close()
    else:
        Study.create(place, table.candidates, **table.settings).close()


def outcome(place: str, done: list[dict[str, Any]]) -> Outcome:
    acks = [{"trial": trial, "value": value} for one in done for trial, value in one["done"]]
    log = Log.open(place)
    events = log.events()
    verdict = compared(events, acks, acks) + Verdict(
        unhealthy=sum(not finding.ok for finding in check_health(log))
    )
    log.close()
    seconds = max(one["end"] for one in done) - min(one["start"] for one in done)
    lengths = [one["end"] - one["start"] for one in done]
    results = [event for event in events if event.kind in RESULTS]
    times = tuple(event.at for event in results)
    took = {
        trial: spent
        for one in done
        for (trial, _), spent in zip(one["done"], one["spent"], strict=True)
    }
    spent = tuple(took[event.trial] for event in results)
    slowest = max(lengths) / min(lengths)
    return Outcome(len(acks), len(acks) / seconds, slowest, verdict, times, spent)
