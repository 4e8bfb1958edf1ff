"""Speed-up of experiments by processes, and how busy the workers of `optimize` are.

An experiment is one slow policy on one problem, played by one process, by two, and by a Dask
cluster of two. For `optimize` the durations of measurements are drawn from three laws of equal
mean, and the share of the workers' time in which they measure is compared between batches and
asynchronous workers, on the same seeds. Measurements sleep, so more workers than cores are fine.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import numpy as np

import kernelbandits as kb
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
BUSY_WORKERS, BUSY_ROUNDS, MEAN_SECONDS = 4, 32, 0.5
LAWS = {
    "equal durations": lambda rng: 1.0,
    "exponential durations": lambda rng: rng.exponential(),
    "one in eight takes ten times as long": lambda rng: (10 if rng.random() < 1 / 8 else 1) / 2.125,
}
"""Durations of measurements, in units of their mean."""
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
        {"processes": lambda: speedup_rows(given.seconds), "optimize": busy_rows},
        {"rounds a seed": ROUNDS},
    )


def busy_rows() -> list[Row]:
    """The share of time in which workers measure: asynchronous, beside batches in the note."""
    rows = []
    for name in LAWS:
        shares = {free: [measure_share(name, free, seed) for seed in range(3)] for free in (0, 1)}
        batches, free = (float(np.mean(shares[form])) for form in (0, 1))
        note = (
            f"{batches:.2f} in batches of {BUSY_WORKERS}: a ratio of {free / batches:.2f}; "
            f"standard errors {standard_error(shares[1]):.2f} and {standard_error(shares[0]):.2f}"
        )
        rows.append(Row(f"busy with {name}, asynchronous", free, "of 1", None, note))
    return rows


def standard_error(shares: list[float]) -> float:
    return float(np.std(shares, ddof=1)) / math.sqrt(len(shares))


def measure_share(law: str, asynchronous: bool, seed: int) -> float:
    """The time that measurements take, over that which all workers have, until the last ends."""
    ends: list[float] = []
    spent: list[float] = []

    def note_end(trial: kb.policies.OptimizationTrial[object]) -> None:
        ends.append(time.perf_counter())
        spent.append(draw_seconds(law, seed, trial.x))

    kb.optimize(
        partial(rest_and_measure, law, seed),
        kb.Box((0.0, 0.0), (1.0, 1.0)),
        BUSY_ROUNDS + BUSY_WORKERS,
        workers=BUSY_WORKERS,
        asynchronous=bool(asynchronous),
        seed=seed,
        each=note_end,
    )
    # The first points start the processes. Of later ones counts what lies after these.
    start = ends[BUSY_WORKERS - 1]
    busy = sum(
        min(seconds, end - start)
        for seconds, end in zip(spent[BUSY_WORKERS:], ends[BUSY_WORKERS:], strict=True)
    )
    return busy / (BUSY_WORKERS * (ends[-1] - start))


def rest_and_measure(law: str, seed: int, x: np.ndarray) -> float:
    time.sleep(draw_seconds(law, seed, x))
    return -float(((x - 0.3) ** 2).sum())


def draw_seconds(law: str, seed: int, x: np.ndarray) -> float:
    """How long the measurement of a point takes: random, and the same in both processes."""
    rng = np.random.default_rng([seed, *(abs(int(value * 1e9)) for value in x)])
    return float(MEAN_SECONDS * LAWS[law](rng))


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
