"""The judge of the lower bound: on the instance of Theorem 2 the paper's rule must lose, and the run has a closed form.

index_i = Delta n_1 1{i = 1} / (1 + n_1) + w (R sqrt(2 ln 2 + sum_j ln(1 + n_j)) + D) / sqrt(1 + n_i)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.experiment.engines import play
from kernelbandits.judges import oracle
from kernelbandits.judges.finding import Effort, Finding, verdict
from kernelbandits.judges.players import PLAYERS, drawn
from kernelbandits.judges.stage import engines
from kernelbandits.kernels import Linear
from kernelbandits.policies import GenericGP
from kernelbandits.problems import LowerBound
from kernelbandits.streams import Streams

DIMENSION, DIMENSIONS, HORIZON = 3, (2, 3, 4, 5, 6, 7), 2000
ALPHA = 5.1 / 6
GOLDEN = (1062, 469, 469)
"""Pulls of w = 1 for d = 3, T = 2000, R = D = 1, ties to the lowest arm; regret 80.58045."""
RANDOM = ("Ber(1/2)", "i/4, i = 1..4", "1 or N(0, 1)", "N(0, 1)")


def above_lower_bound(effort: Effort) -> Iterator[Finding]:
    """Observed regret above the bound for every law, equal runs by the closed form, growth like sqrt(T)."""
    yield stated()
    yield from deterministic()
    for name in RANDOM:
        yield random_law(name, effort)
    for engine in engines():
        yield closed_form(engine, effort)
        yield late_rounds(engine, effort)
    yield growth()


def gap(d: int, horizon: int) -> float:
    """Delta = (R sqrt(d/2) + D) / (2 sqrt(1 + (T/6) / (d - 1))), R = D = 1."""
    return (math.sqrt(d / 2) + 1) / (2 * math.sqrt(1 + horizon / 6 / (d - 1)))


def proved(d: int, horizon: int, optimism: float = 1.0) -> float:
    """(1 - alpha) T Delta C1."""
    return (1 - ALPHA) * horizon * gap(d, horizon) * optimism


def late(weights: Sequence[float]) -> int:
    """#{t > floor(alpha T): w_t >= 1}, alpha = 51/60."""
    return sum(weight >= 1 for weight in weights[51 * len(weights) // 60 :])


def counts(name: str, d: int, horizon: int, seed: int, engine: str = "auto") -> Any:
    """How often the engine plays each arm."""
    problem, streams = LowerBound(d=d, horizon=horizon), Streams(seed)
    instance, law = problem.instance(streams), PLAYERS[name].exploration(horizon)
    policy = GenericGP(
        instance.domain, Linear(), law, noise_scale=1.0, norm_bound=1.0, ties="lowest"
    )
    return np.bincount(play(policy, instance, horizon, streams, engine).arms, minlength=d)


def closed_counts(weights: Iterable[float], d: int, better: float) -> Array:
    """The same without posterior, kernel or matrix: n_i by the index above."""
    n, first = np.zeros(d), np.eye(d)[0]
    for weight in weights:
        width = math.sqrt(2 * math.log(2) + float(np.log1p(n).sum())) + 1
        n[oracle.best(first * better * n / (1 + n) + weight * width / np.sqrt(1 + n))] += 1
    return n


def stated() -> Finding:
    """The instance and its bound are those of the theorem."""
    problem = LowerBound(d=DIMENSION, horizon=HORIZON)
    pairs = [(LowerBound(d=d, horizon=HORIZON).gap, gap(d, HORIZON)) for d in DIMENSIONS]
    laws = ("w = 1", *RANDOM)
    pairs += [
        (problem.regret_bound(law_of(name)), proved(3, HORIZON, optimism_of(name))) for name in laws
    ]
    worst = max(abs(one / other - 1) for one, other in pairs)
    return Finding(
        "lower-bound",
        "Delta for d = 2..7, and the bounds of five laws, by their formulas",
        "relative difference 0",
        f"{worst:.1e}",
        verdict(worst <= 1e-12),
        detail="1e-12: rounding",
    )


def law_of(name: str) -> Any:
    return PLAYERS[name].exploration(HORIZON)


def optimism_of(name: str) -> float:
    """C1, by the definition of the law."""
    return PLAYERS[name].parts[0][1].optimism


def deterministic() -> Iterator[Finding]:
    """w = 1: the golden run on every engine, and the bound for all d that T = 2000 allows."""
    for engine in engines():
        found = tuple(counts("w = 1", DIMENSION, HORIZON, 0, engine).tolist())
        regret = gap(DIMENSION, HORIZON) * (HORIZON - found[0])
        yield Finding(
            "lower-bound",
            f"{engine}, w = 1, d = 3, T = 2000: pulls and regret of the closed form",
            f"{GOLDEN}, 80.58045",
            f"{found}, {regret:.5f}",
            verdict(found == GOLDEN and round(regret, 5) == 80.58045),
        )
    regrets = [gap(d, HORIZON) * (HORIZON - counts("w = 1", d, HORIZON, 0)[0]) for d in DIMENSIONS]
    bounds = [proved(d, HORIZON) for d in DIMENSIONS]
    yield Finding(
        "lower-bound",
        "w = 1, T = 2000: regret >= (1 - alpha) T Delta, d = 2..7",
        ">= " + ", ".join(f"{bound:.1f}" for bound in bounds),
        ", ".join(f"{regret:.1f}" for regret in regrets),
        verdict(all(regret >= bound for regret, bound in zip(regrets, bounds, strict=True))),
    )


def random_law(name: str, effort: Effort) -> Finding:
    """mean - 3 standard errors >= (1 - alpha) T Delta C1."""
    better, bound = gap(DIMENSION, HORIZON), proved(DIMENSION, HORIZON, optimism_of(name))
    seeds = range(effort.seed * 10**6, effort.seed * 10**6 + effort.runs(40, least=10))
    regrets = [better * (HORIZON - counts(name, DIMENSION, HORIZON, seed)[0]) for seed in seeds]
    error = float(np.std(regrets, ddof=1)) / math.sqrt(len(regrets))
    return Finding(
        "lower-bound",
        f"{name}, d = 3, T = 2000: E regret >= (1 - alpha) T Delta C1",
        f">= {bound:.2f}",
        f"{np.mean(regrets):.2f} +- {error:.2f}",
        verdict(float(np.mean(regrets)) - 3 * error >= bound),
        detail=f"{len(seeds)} runs, 3 standard errors",
    )


def closed_form(engine: str, effort: Effort) -> Finding:
    """Equal weights, equal pulls."""
    seeds = range(effort.seed * 10**6, effort.seed * 10**6 + effort.runs(5, least=2))
    runs = [(name, seed) for name in ("w = 1", *RANDOM) for seed in seeds]
    better = gap(DIMENSION, HORIZON)
    same = [
        np.array_equal(
            closed_counts(drawn(name, HORIZON, seed), DIMENSION, better),
            counts(name, DIMENSION, HORIZON, seed, engine),
        )
        for name, seed in runs
    ]
    return Finding(
        "lower-bound",
        f"{engine}, five laws, d = 3, T = 2000: the pulls of every arm are those of the closed form",
        f"{len(runs)} of {len(runs)} runs",
        f"{sum(same)} of {len(runs)} runs",
        verdict(all(same)),
    )


def late_rounds(engine: str, effort: Effort) -> Finding:
    """n_2 + ... + n_d >= #{t > floor(alpha T): w_t >= 1} in every run, not only in expectation."""
    seeds = range(effort.seed * 10**6, effort.seed * 10**6 + effort.runs(5, least=2))
    runs = [(name, seed) for name in RANDOM for seed in seeds]
    spare = [spared(name, seed, engine) for name, seed in runs]
    return Finding(
        "lower-bound",
        f"{engine}, four laws: suboptimal pulls >= rounds t > floor(alpha T) with w_t >= 1, in every run",
        f"{len(runs)} of {len(runs)} runs",
        f"{sum(more >= 0 for more in spare)} of {len(runs)} runs",
        verdict(min(spare) >= 0),
        detail=f"d = 3, T = 2000; at the closest {min(spare)} pulls more",
    )


def spared(name: str, seed: int, engine: str) -> int:
    """Suboptimal pulls less the late rounds with w_t >= 1, which the proof says is never below 0."""
    return int(counts(name, DIMENSION, HORIZON, seed, engine)[1:].sum()) - late(
        drawn(name, HORIZON, seed)
    )


def growth() -> Finding:
    """regret / sqrt(T) does not fall below (1 - alpha) Delta sqrt(T), which tends to a constant."""
    horizons = (500, 2000, 8000)
    shares = [gap(3, t) * (t - counts("w = 1", 3, t, 0)[0]) / math.sqrt(t) for t in horizons]
    bounds = [proved(3, t) / math.sqrt(t) for t in horizons]
    return Finding(
        "lower-bound",
        "w = 1, d = 3: regret / sqrt(T) >= (1 - alpha) sqrt(T) Delta, T = 500, 2000, 8000",
        ">= " + ", ".join(f"{bound:.3f}" for bound in bounds),
        ", ".join(f"{share:.3f}" for share in shares),
        verdict(all(share >= bound for share, bound in zip(shares, bounds, strict=True))),
    )
