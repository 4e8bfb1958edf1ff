"""Speed-up of experiments by processes: one slow policy on one problem, played by one process, by
two, and by a Dask cluster of two."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from benchmarks import tables
from benchmarks.rows import Goal, Row
from kernelbandits.experiment import (
    Cell,
    CellResult,
    dask_mapper,
    plan_experiment,
    process_mapper,
    run_cells,
)
from kernelbandits.processes import Mapper
from kernelbandits.runtime import is_installed

SECONDS = 60.0
"""How long the run takes in one process, about."""
WORKERS = 2
ROUNDS = 60
TRIED_SEEDS = 8
"""Seeds by which the time of one is estimated; they differ by a factor of two."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="how long one process plays, about"
    )


def run(given: argparse.Namespace) -> None:
    """Measure the speed-up, print the table and write results/parallel.*."""
    tables.measure(
        "parallel",
        "Experiments in several processes",
        {"processes": lambda: speedup_rows(given.seconds)},
        {"rounds a seed": ROUNDS},
    )


def speedup_rows(seconds: float) -> list[Row]:
    """Wall-clock time of one process over that of several, which include starting them."""
    seeds = max(2 * WORKERS, math.ceil(seconds / seed_seconds()))
    plan = plan_slow(seeds)
    mappers: dict[str, Callable[[], AbstractContextManager[Mapper]]] = {}
    # First, because it pays for the process from which all workers are forked.
    if is_installed("distributed"):
        mappers[f"a Dask cluster of {WORKERS} processes"] = lambda: dask_mapper("local", WORKERS)
    mappers[f"{WORKERS} processes"] = lambda: process_mapper(WORKERS)
    alone, expected = time_run(plan, lambda: nullcontext(map))
    rows = []
    for name, mapper in mappers.items():
        taken, found = time_run(plan, mapper)
        same = all(same_bits(found[key], expected[key]) for key in expected)
        note = f"{seeds} seeds, {alone:.1f} s in one process, {taken:.1f} s; " + (
            "the same bits" if same else "OTHER RESULTS"
        )
        rows.append(Row(f"speed-up by {name}", alone / taken, "x", Goal(">=", 1.7), note))
    return rows


def plan_slow(seeds: int) -> tuple[Cell, ...]:
    """A single cell: without blocks of seeds, one core would play all of it."""
    return plan_experiment("hartmann6", "auto", horizon=ROUNDS, seeds=seeds)


def seed_seconds() -> float:
    """How long a seed takes in one process, after imports and caches are warm."""
    run_cells(plan_slow(2))
    start = time.perf_counter()
    run_cells(plan_slow(TRIED_SEEDS))
    return (time.perf_counter() - start) / TRIED_SEEDS


def time_run(
    plan: tuple[Cell, ...], mappers: Callable[[], AbstractContextManager[Mapper]]
) -> tuple[float, dict[str, CellResult]]:
    """Wall-clock seconds of a run, and what it found."""
    start = time.perf_counter()
    with mappers() as mapper:
        found = run_cells(plan, mapper=mapper)
    return time.perf_counter() - start, found


def same_bits(first: CellResult, second: CellResult) -> bool:
    names = ("regret", "simple", "arms", "log_det")
    return all(first.arrays()[name].tobytes() == second.arrays()[name].tobytes() for name in names)
