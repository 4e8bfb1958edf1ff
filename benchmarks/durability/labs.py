"""A lab server with several processes, robots, listings, new studies and commands, all at once.

Each acknowledged result must be stored: whoever lists or creates may not disturb who writes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.durability import records
from benchmarks.durability.films import Table
from benchmarks.durability.judge import Verdict, compared
from benchmarks.durability.nursery import Nursery, until
from benchmarks.lab import serving
from kernelbandits.checks import StorageError
from kernelbandits.study import Study

TASKS = "benchmarks.durability.tasks"
STUDIES = 3
"""Studies that are written to; others are created meanwhile."""
ROBOTS = 6
"""Clients of the API, some of them on each study."""
SERVERS = 2
"""Processes of the server."""
LONGEST = 3600.0
"""Seconds after which the workers end, whether all is told or not."""


@dataclass(frozen=True)
class Outcome:
    tells: int
    """Results that were acknowledged."""
    commands: int
    """How many of them to a command."""
    listings: int
    created: int
    rate: float
    """Results a second."""
    verdict: Verdict


def run(nursery: Nursery, table: Table, folder: Path, tells: int) -> Outcome:
    """So many results of robots and commands, in a folder that others list and add to."""
    shelf = folder / "studies"
    shelf.mkdir(parents=True)
    names = [f"film{number}" for number in range(STUDIES)]
    for name in names:
        (folder / name).mkdir()
        Study.create(shelf / f"{name}.db", table.candidates, **table.settings).close()
    start, stop = time.monotonic(), folder / "stop"
    with serving(shelf, "--workers", str(SERVERS)) as (address, token, *_):
        server = {"address": address, "token": token}
        share = {"tells": tells // (ROBOTS + STUDIES) + 1, "end": start + LONGEST}
        writers = [
            nursery.start(
                f"{TASKS}:send_results",
                study=names[number % STUDIES],
                folder=str(folder / names[number % STUDIES]),
                name=f"robot{number}",
                **server,
                **share,
            )
            for number in range(ROBOTS)
        ]
        writers += [
            nursery.start(
                f"{TASKS}:call_tell",
                place=str(shelf / f"{name}.db"),
                folder=str(folder / name),
                name="command",
                rows=len(table.cells),
                **share,
            )
            for name in names
        ]
        others = [
            nursery.start(
                f"{TASKS}:list_and_create", **server, out=str(folder / "lists"), stop=str(stop)
            ),
            nursery.start(
                f"{TASKS}:call_list", shelf=str(shelf), out=str(folder / "calls"), stop=str(stop)
            ),
        ]
        until(lambda: all(nursery.ended(pid) is not None for pid in writers), LONGEST + 120)
        seconds = time.monotonic() - start
        stop.touch()
        for pid in others:
            nursery.wait(pid)
    errors = sum(nursery.ended(pid) != 0 for pid in (*writers, *others))
    verdict = sum((judge(shelf / f"{name}.db", folder / name) for name in names), Verdict())
    acks = [ack for name in names for ack in told(folder / name, "acks")]
    lists = records.read(folder / "lists")
    return Outcome(
        len(acks),
        sum(ack["key"].startswith("command") for ack in acks),
        sum(one["lists"] for one in (*lists, *records.read(folder / "calls"))),
        sum(one["created"] for one in lists),
        len(acks) / seconds,
        verdict + Verdict(errors=errors),
    )


def judge(place: Path, folder: Path) -> Verdict:
    """What is stored against what was acknowledged; all of a study that cannot be read is lost."""
    acks, intents = told(folder, "acks"), told(folder, "intents")
    try:
        with Study.open(place, writable=False) as study:
            unhealthy = sum(not finding.ok for finding in study.doctor())
            return compared(study.history(), acks, intents) + Verdict(unhealthy=unhealthy)
    except StorageError:
        return Verdict(lost=len(acks), unhealthy=1)


def told(folder: Path, what: str) -> list[dict[str, object]]:
    return [record for file in folder.glob(f"{what}-*") for record in records.read(file)]
