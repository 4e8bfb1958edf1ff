"""The table of `benchmarks samplers`: median regrets, times, and which goals are met."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks import machine

OURS, GP, TPE = "KernelBanditSampler", "GPSampler", "TPESampler"
ENOUGH_SEEDS = 10
"""With fewer the table says that ratios are uncertain."""
GOALS = {"100": 1 / 5, "1000": 1 / 20}
"""Finished trials -> the share of GPSampler's time that a suggestion may take."""


def write(rows: Sequence[Any], table: Path, times: Path) -> None:
    from benchmarks.samplers import LEAST, NOISE, TRIALS

    settings = [(task, noisy) for task in NOISE for noisy in (False, True)]
    lines = [
        "# Samplers for Optuna",
        "",
        f"Median regret after {TRIALS} trials over the seeds that all three have played, of the best "
        "trial by its value without noise. Functions: in shares of their range, noise sd 0.05; "
        "nothing in kernelbandits was chosen on them. Tuning: the loss above the least loss that any "
        "study found, noise sd 0.01. Every sampler has its defaults.",
        "",
        f"| task | noise | seeds | {OURS} | {GP} | {TPE} | ours / GP | ours / TPE |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    ratios: dict[str, list[float]] = {GP: [], TPE: []}
    worse: dict[str, list[str]] = {GP: [], TPE: []}
    for task, noisy in settings:
        medians, seeds = median_regrets(rows, task, noisy)
        if not seeds:
            continue
        ours = max(medians[OURS], LEAST[task])
        shown = []
        for rival in (GP, TPE):
            ratio = ours / max(medians[rival], LEAST[task])
            ratios[rival].append(ratio)
            shown.append(f"{ratio:.2g}")
            if ratio > 1 or (rival == TPE and ratio == 1):
                worse[rival].append(f"{task}{' with noise' if noisy else ''}")
        cells = [f"{medians[name]:.2g}" for name in (OURS, GP, TPE)]
        noise = "yes" if noisy else "no"
        lines.append(f"| {task} | {noise} | {seeds} | {' | '.join((*cells, *shown))} |")
    most = max((median_regrets(rows, *one)[1] for one in settings), default=0)
    if most < ENOUGH_SEEDS:
        lines += ["", f"So far there are {most} seeds at most: single ratios are mostly chance."]
    lines += ["", *describe_goals(ratios, worse), "", *describe_times(times), ""]
    facts = machine.facts()
    lines += [f"Written {facts['date']}, {facts['processor']}, python {facts['python']}.", ""]
    table.write_text("\n".join(lines))


def median_regrets(rows: Sequence[Any], task: str, noisy: bool) -> tuple[dict[str, float], int]:
    """The median regret of each sampler over the seeds that all have played, and their number."""
    from benchmarks.samplers import BOXES

    found = {
        name: {
            row.seed: row.value
            for row in rows
            if (row.task, row.noisy) == (task, noisy) and row.sampler == name
        }
        for name in (OURS, GP, TPE)
    }
    least = (
        0.0 if task in BOXES else min((row.value for row in rows if row.task == task), default=0.0)
    )
    common = set.intersection(*(set(values) for values in found.values()))
    if not common:
        return {}, 0
    regrets = {
        name: median(values[seed] - least for seed in common) for name, values in found.items()
    }
    return regrets, len(common)


def describe_goals(ratios: dict[str, list[float]], worse: dict[str, list[str]]) -> list[str]:
    lines = []
    for rival, goal in ((GP, "not above it on any task"), (TPE, "below it on every task")):
        if not ratios[rival]:
            continue
        mean = math.exp(fmean(map(math.log, ratios[rival])))
        missed = f"missed on {', '.join(worse[rival])}" if worse[rival] else "met"
        lines.append(
            f"- {rival}: the geometric mean of the ratios is {mean:.2f}. The goal, {goal}: {missed}."
        )
    return lines


def describe_times(times: Path) -> list[str]:
    if not times.exists():
        return ["Times of a suggestion were not measured."]
    seconds = json.loads(times.read_text())["seconds"]
    lines = [
        "Processor seconds of a suggestion after a result, four dimensions, all else learnt before:",
        "",
        f"| finished trials | {OURS} | {GP} | {TPE} | ours / GP | goal |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for trials, goal in GOALS.items():
        of = {name: seconds.get(name, {}).get(trials) for name in (OURS, GP, TPE)}
        if None in of.values():
            continue
        cells = " | ".join(f"{of[name]:.3g}" for name in (OURS, GP, TPE))
        lines.append(f"| {trials} | {cells} | {of[OURS] / of[GP]:.3f} | {goal:.3f} |")
    return lines
