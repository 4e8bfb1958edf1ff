"""Every policy of the catalogue on one core, and all of them together on the paper's five
problems."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Mapping
from statistics import median

import kernelbandits as kb
from benchmarks import tables
from benchmarks.processes import watch_process
from benchmarks.rows import Goal, Row
from benchmarks.speed import problems_played
from kernelbandits.catalogue import POLICIES
from kernelbandits.experiment import Cell, contender, play_cell
from kernelbandits.experiment.engines import load_loops

SEEDS, HORIZON, ARMS = 25, 1000, 50
REPEATS = 3
SHARED = {"noise_scale": 1.0, "norm_bound": 1.0, "horizon": HORIZON}
SLOW: Mapping[str, float] = {"wgp-ucb": 6, "streaming-ucb": 6, "bkb": 6, "cmm-ucb": 20}
"""Those that refit in every round -> seconds allowed."""
USUAL = 2.0
PROBLEMS = ("holder-table", "cross-in-tray", "ackley4", "hartmann6", "perovskite")


def cell_of(name: str) -> Cell:
    given = {"exploration": kb.Gaussian()} if name == "generic-gp" else {}
    problem = kb.problem("hartmann6", candidates=ARMS)
    return Cell(problem, contender(name, given, SHARED), kb.RBF(0.2), HORIZON, tuple(range(SEEDS)))


def policy_rows() -> list[Row]:
    """All seeds of each policy, policies in turn, the median of the repeats."""
    load_loops()
    cells = {name: cell_of(name) for name in POLICIES}
    taken: dict[str, list[float]] = {name: [] for name in cells}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(REPEATS):
            for name, cell in cells.items():
                taken[name].append(float(play_cell(cell).seconds.sum()))
    seconds = {name: median(times) for name, times in taken.items()}
    return [policy_row(name, seconds) for name in cells]


def policy_row(name: str, seconds: Mapping[str, float]) -> Row:
    value, floor = seconds[name], seconds["random"]
    note = f"{1e6 * value / SEEDS / HORIZON:.1f} us a round, {value / floor:.2g} x uniform random"
    return Row(
        name, value, "s", Goal("<=", SLOW.get(name, USUAL)), note, {"times_random": value / floor}
    )


def comparison_rows() -> list[Row]:
    """`kernelbandits run --policies all` on the problems of the paper, with two workers."""
    return [comparison_row(["--without", "cmm-ucb"], 120), comparison_row([], 240)]


def comparison_row(more: list[str], bound: float) -> Row:
    problems = PROBLEMS if problems_played().startswith("all") else PROBLEMS[:-1]
    chosen = [part for name in problems for part in ("--problem", name)]
    with tempfile.TemporaryDirectory() as output:
        command = [
            sys.executable,
            "-m",
            "kernelbandits",
            "run",
            *chosen,
            "--policies",
            "all",
            *more,
        ]
        run = watch_process([*command, "--output", output, "--quiet"], os.environ)
    what = " ".join(["all policies", *more])
    if run.code:
        return Row(what, None, "s", Goal("<=", bound), f"failed with code {run.code}")
    note = (
        f"{SEEDS} seeds, T = {HORIZON}, {len(problems)} problems, once, "
        "two workers, report included"
    )
    return Row(what, run.seconds, "s", Goal("<=", bound), note, {"megabytes": run.megabytes})


def run() -> None:
    sections = {"every policy": policy_rows, "the comparison": comparison_rows}
    tables.measure(
        "rivals", "Every policy", sections, {"rounds": HORIZON, "seeds": SEEDS, "arms": ARMS}
    )
