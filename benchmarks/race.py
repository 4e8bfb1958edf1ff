"""Laws, widths and schedules of kb.Auto against each other: the race that chose its default."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping
from multiprocessing import Pool
from statistics import fmean
from typing import Any

import numpy as np

import kernelbandits as kb
from benchmarks import machine, tables
from benchmarks.pools import (
    CANDIDATES,
    FUNCTIONS,
    PEROVSKITE,
    RANDOM_MOVES,
    PoolInstance,
    arms_instance,
)
from kernelbandits import widths
from kernelbandits.calibration import Prior
from kernelbandits.catalogue.problems import named_function, read_problem

ROUNDS, SEEDS = 100, 10
PART = "part of "
SIDE = 0.7
OTHERS = (
    *(
        PART + name
        for name in (
            "six-hump-camel",
            "hartmann3",
            "ackley2",
            "levy8",
            "rosenbrock4",
            "ackley6",
            "levy3",
        )
    ),
    "gp:kernel=matern(0.2),dimension=2",
    "gp:kernel=rbf(0.5),dimension=4",
    "gp:kernel=matern(0.15),dimension=3",
    "gp:kernel=matern(1.0),dimension=6",
    "gp:kernel=matern(2.0),dimension=12",
    "rkhs:kernel=rbf(0.2),dimension=2",
)
"""Pools that `regret` does not report.

Parts of other boxes (0.7 of each side), random functions.
"""
POOLS = (PEROVSKITE, *FUNCTIONS, *OTHERS)
DEFAULT = "w = 1, width 5 t^-1/3"

Settings = Mapping[str, Any]
VARIANTS: Mapping[str, Callable[[], Settings]] = {
    DEFAULT: dict,
    "w = 1, width 5 t^-1/4": lambda: {"width": widths.polynomial_decay(5.0, 0.25)},
    "w = 1, width 3 t^-1/4": lambda: {"width": widths.polynomial_decay(3.0, 0.25)},
    "w = 1, width 3 t^-1/3": lambda: {"width": widths.polynomial_decay(3.0, 1 / 3)},
    "w = 1, width 8 t^-1/2": lambda: {"width": widths.polynomial_decay(8.0, 0.5)},
    "w = 1, width 0.5": lambda: {"width": 0.5},
    "w = 1, width 1": lambda: {"width": 1.0},
    "w = 1, width 2": lambda: {"width": 2.0},
    "Bernoulli(1/2), width 2": lambda: {"width": 2.0, "exploration": kb.Bernoulli(0.5)},
    "Bernoulli(1/2), width 5 t^-1/3": lambda: {"exploration": kb.Bernoulli(0.5)},
    "Bernoulli, p = t^-1/2, width 3": lambda: {
        "width": 3.0,
        "exploration": kb.Decay(1.0, 0.5, 0.05),
    },
    "Certainty(1/2, 1/20), width 3": lambda: {"width": 3.0, "exploration": kb.Certainty(0.5, 0.05)},
    "N(0, 1), width 2": lambda: {"width": 2.0, "exploration": kb.Gaussian()},
    "N(1, 1/4), width 5 t^-1/3": lambda: {"exploration": kb.Gaussian(1.0, 0.5)},
    "w = 1, theory": lambda: {"width": "theory"},
    "Bernoulli(1/2), theory": lambda: {"width": "theory", "exploration": kb.Bernoulli(0.5)},
    "default, one length for all": lambda: {"shared": True},
    "default, RBF kernel": lambda: {"nu": math.inf},
    "default, lengths do not grow": lambda: {"prior": Prior(length=-1.2, growth=0.0)},
    "default, 3 first points": lambda: {"first": 3},
    "default, first about the middle": lambda: {"opening": "middle"},
}


def candidates(pool: str, streams: kb.Streams) -> PoolInstance:
    """500 candidates from a random part of a box, or of a random function.

    With a random part, the optimum is not in the middle of the candidates.
    """
    if pool.startswith(PART):
        function, generator = (
            named_function(pool.removeprefix(PART)),
            streams.generator(RANDOM_MOVES),
        )
        corner = generator.uniform(0.0, 1 - SIDE, function.dimension)
        unit = generator.random((CANDIDATES, function.dimension))
        return scale_values(unit, -function(function.natural(corner + SIDE * unit)), streams)
    if ":" in pool:
        instance = read_problem(f"{pool},candidates={CANDIDATES}").instance(streams)
        return scale_values(instance.domain.points, instance.values, streams)
    return arms_instance(pool, streams)


def scale_values(points: Any, values: Any, streams: kb.Streams) -> PoolInstance:
    unit = (values - values.min()) / np.ptp(values)
    return PoolInstance(kb.Arms(points), lambda arm: float(unit[arm]), 1.0, streams)


def regret(task: tuple[str, str, int]) -> float:
    """Of one variant on one pool in one seed."""
    warnings.simplefilter("ignore")
    variant, pool, seed = task
    here = candidates(pool, kb.Streams(10_000 + seed))
    policy = kb.Auto(here.domain, goal="earn", **{"opening": "random"} | dict(VARIANTS[variant]()))
    lost = 0.0
    for t in range(1, ROUNDS + 1):
        choice = policy.ask(t, here.streams)
        policy.tell(choice, here.reward(choice.arm, t))
        lost += here.regret(choice.arm)
    return lost


def run(seeds: int = SEEDS) -> None:
    """All variants on all pools; the table goes to results/race.{json,md}."""
    tasks = [
        (variant, pool, seed) for variant in VARIANTS for pool in POOLS for seed in range(seeds)
    ]
    with machine.threads.threadpool_limits(1), Pool() as workers:
        values = dict(zip(tasks, workers.imap(regret, tasks, chunksize=seeds), strict=True))
    means = {(v, p): fmean(values[v, p, s] for s in range(seeds)) for v in VARIANTS for p in POOLS}
    text = document(means, values, seeds)
    (tables.RESULTS / "race.md").write_text(text)
    plain = [{"variant": v, "pool": p, "regret": round(mean, 3)} for (v, p), mean in means.items()]
    (tables.RESULTS / "race.json").write_text(json.dumps(plain, indent=0) + "\n")
    print(text)


def ratio(means: Mapping[tuple[str, str], float], variant: str, pools: tuple[str, ...]) -> float:
    """Geometric mean over the pools of regret / the default's."""
    return math.exp(fmean(math.log(means[variant, pool] / means[DEFAULT, pool]) for pool in pools))


def error(values: Mapping[tuple[str, str, int], float], variant: str, seeds: int) -> float:
    """Standard error of the logarithm of the ratio over all pools, by bootstrap of the seeds."""
    generator = kb.Streams(0).generator(1)
    drawn = []
    for picked in generator.integers(0, seeds, (200, seeds)):
        means = {
            (v, p): fmean(values[v, p, int(s)] for s in picked)
            for v in (variant, DEFAULT)
            for p in POOLS
        }
        drawn.append(math.log(ratio(means, variant, POOLS)))
    return float(np.std(drawn))


def document(
    means: Mapping[tuple[str, str], float], values: Mapping[tuple[str, str, int], float], seeds: int
) -> str:
    named, others = (PEROVSKITE, *FUNCTIONS), OTHERS
    head = ["variant", "all pools", "standard error", "pools of `regret`", "others", "worst pool"]
    rows = []
    for variant in VARIANTS:
        worst = max(means[variant, pool] / means[DEFAULT, pool] for pool in POOLS)
        numbers = [ratio(means, variant, POOLS), error(values, variant, seeds)]
        numbers += [ratio(means, variant, named), ratio(means, variant, others), worst]
        rows.append([variant, *(f"{number:.2f}" for number in numbers)])
    body = "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])
    detail = "\n".join(
        f"| {pool} | " + " | ".join(f"{means[variant, pool]:.1f}" for variant in VARIANTS) + " |"
        for pool in POOLS
    )
    titles = "| pool | " + " | ".join(VARIANTS) + " |\n|" + "---|" * (len(VARIANTS) + 1)
    told = (
        f"Cumulative regret after {ROUNDS} rounds relative to the default (geometric means), "
        f"{seeds} seeds, noise sd 0.05, 500 candidates. All variants start at random points, so "
        "that an optimum in the middle of a box is no advantage. The standard error is that of the "
        "logarithm; the worst pool is the maximum of noisy ratios. The default was chosen by "
        "several such races, so they prove nothing about other problems."
    )
    parts = ["# The race for the default", told, body, "## Regret by pool", f"{titles}\n{detail}\n"]
    return "\n\n".join(parts)
