"""Two processes tell one trial at the same moment, each another value.

One wins, the other is told what is stored.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.durability import records
from benchmarks.durability.films import Table
from benchmarks.durability.judge import RESULTS, twice
from benchmarks.durability.nursery import Nursery, until
from benchmarks.durability.tasks import Gate
from kernelbandits.storage import Log
from kernelbandits.study import Study

PER_STUDY = 1000
TASK = "benchmarks.durability.tasks:race"


@dataclass(frozen=True)
class Outcome:
    races: int
    won: tuple[int, int]
    """By either side: a race that the same side always wins is none."""
    faults: tuple[str, ...]


def run(
    nursery: Nursery,
    fresh: Callable[[], str],
    table: Table,
    folder: Path,
    races: int,
    seed: int,
    tick: Any,
    task: str = TASK,
    end: float = math.inf,
) -> list[Outcome]:
    """So many races; no further study after `end`, by the monotonic clock."""
    outcomes: list[Outcome] = []
    for number, start in enumerate(range(0, races, PER_STUDY)):
        if outcomes and time.monotonic() > end:
            break
        many, here = min(PER_STUDY, races - start), folder / f"races-{number}"
        here.mkdir(parents=True)
        outcomes.append(raced(nursery, fresh(), table, here, many, seed + number, task))
        tick(many)
    return outcomes


def raced(
    nursery: Nursery,
    place: str,
    table: Table,
    folder: Path,
    races: int,
    seed: int,
    task: str = TASK,
) -> Outcome:
    Study.create(place, table.candidates, **table.settings).close()
    gate = Gate.build(folder / "gate", 2)
    sides = [str(folder / f"side {side}") for side in (0, 1)]
    given = {"place": place, "barrier": gate, "races": races, "seed": seed}
    together(
        nursery,
        [nursery.start(task, side=side, out=out, **given) for side, out in enumerate(sides)],
    )
    with Log.open(place) as log:
        return compared(log.events(), *(records.read(out) for out in sides))


def together(nursery: Nursery, pids: list[int], seconds: float = 3600.0) -> None:
    """Wait for workers that need each other; if one fails, the rest are stopped."""

    def over() -> bool:
        codes = [nursery.ended(pid) for pid in pids]
        return None not in codes or any(codes)

    until(over, seconds)
    failed = [nursery.said(pid) for pid in pids if nursery.ended(pid)]
    if failed:
        for pid in pids:
            nursery.kill(pid)
        raise RuntimeError(failed[0])


def compared(events: list[Any], left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Outcome:
    stored = {event.trial: event.value for event in events if event.kind in RESULTS}
    faults = [fault for pair in zip(left, right, strict=True) for fault in faults_of(*pair, stored)]
    again = twice(event.trial for event in events if event.kind in RESULTS)
    if again:
        faults.append(f"{again} results are stored twice")
    alone = [pair for pair in zip(left, right, strict=True) if not pair[0]["same"]]
    return Outcome(
        len(left), (sum(a["won"] for a, _ in alone), sum(b["won"] for _, b in alone)), tuple(faults)
    )


def faults_of(a: dict[str, Any], b: dict[str, Any], stored: dict[int, float]) -> list[str]:
    """One winner, or two where value and key were the same; both know what is stored."""
    trial, winners, found = a["trial"], a["won"] + b["won"], []
    if winners != (2 if a["same"] else 1):
        found.append(f"trial {trial} had {winners} winners")
    if {a["stored"], b["stored"]} != {stored.get(trial)}:
        found.append(
            f"trial {trial} has {stored.get(trial)} stored, "
            f"its tellers heard {a['stored']} and {b['stored']}"
        )
    if not any(side["won"] and side["value"] == stored.get(trial) for side in (a, b)):
        found.append(f"trial {trial} has {stored.get(trial)} stored, which its winner did not tell")
    return found
