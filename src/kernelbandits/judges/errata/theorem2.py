"""Errata of Theorem 2, the lower bound (E6): what its proof uses, what it leaves out, and what stands."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kernelbandits.judges.finding import FAILS, HOLDS, Effort, Finding, verdict
from kernelbandits.judges.lower_bound import counts, late
from kernelbandits.judges.players import drawn
from kernelbandits.problems.lower_bound import ALPHA, BETA, LowerBound


def lower_bound(effort: Effort) -> Iterator[Finding]:
    yield from dropped_identity(effort)
    yield from horizons(effort)
    yield from missing_scale(effort)
    yield from two_cases(effort)
    yield every_run(effort)


def dropped_identity(effort: Effort) -> Iterator[Finding]:
    """(b): V = I + sum X X' is not sum X X', whose determinant is 0 until every arm was played."""
    played = np.diag([2.0, 1.0, 0.0])
    for name, matrix, expected in (
        ("as printed: V = sum X X'", played, FAILS),
        ("meant: V = I + sum X X'", played + np.eye(3), HOLDS),
    ):
        found = float(np.linalg.det(matrix))
        yield Finding(
            "E6",
            f"{name} has a logarithm of its determinant; 3 arms played (2, 1, 0) times",
            "det > 0",
            f"{found:g}",
            verdict(found > 0),
            expected,
        )


def horizons(effort: Effort) -> Iterator[Finding]:
    """(e): the printed proof uses T >= 180 and T > e^d / (alpha - beta), which the statement does not say.

    Both are sufficient, not necessary: in place of the second, 2 ln 2 + ln(1 + Q_1) >= d/2 is enough.
    """
    for horizon in (179, 180):
        ratio = math.sqrt((BETA * horizon + 1) / ((ALPHA - BETA) * horizon + 1))
        yield Finding(
            "E6",
            f"as used by the printed proof: sqrt((beta T + 1) / ((alpha - beta) T + 1)) <= 1/2; T = {horizon}",
            "<= 0.5",
            f"{ratio:.5f}",
            verdict(ratio <= 0.5 + 1e-12),
            FAILS if horizon < 180 else HOLDS,
        )
    d, horizon = 10, 10_000
    least = math.exp(d) / (ALPHA - BETA)
    yield Finding(
        "E6",
        f"as used by the printed proof: ln((alpha - beta) T) > d; d = {d}, T = {horizon}",
        f"T > e^d / (alpha - beta) = {least:.0f}",
        f"T = {horizon}",
        verdict(horizon > least),
        FAILS,
        "exponential in d",
    )


def missing_scale(effort: Effort) -> Iterator[Finding]:
    """(f): without R in it, sqrt(d T) (sqrt(d) + D) exceeds even T Delta, the most the instance can cost."""
    d, horizon, scale = 3, 2000, 0.01
    problem = LowerBound(d, horizon, scale, scale)
    printed, most = math.sqrt(d * horizon) * (math.sqrt(d) + scale), horizon * problem.gap
    yield Finding(
        "E6",
        f"as printed: regret of order sqrt(dT) (sqrt(d) + D), whatever R; R = D = {scale:g}, d = {d}, T = {horizon}",
        f"about {printed:.0f}",
        f"at most T Delta = {most:.2f}",
        verdict(most >= printed / 10),
        FAILS,
        "a factor of 10 is allowed for the constant",
    )


def two_cases(effort: Effort) -> Iterator[Finding]:
    """(g): cases that depend on the future give min over their chance q of max(a q, b (1 - q)) = ab/(a + b) only."""
    a, b = (1 - ALPHA) * 0.15865525393145707, BETA
    chances = np.linspace(0, 1, 100_001)
    least = float(np.maximum(a * chances, b * (1 - chances)).min())
    yield Finding(
        "E6",
        "as argued, two cases combined by their chances: they give min(a, b); N(0, 1)",
        f"{min(a, b):.5f} T Delta",
        f"so combined they give {least:.5f} T Delta",
        verdict(min(a, b) <= least * (1 + 1e-4)),
        FAILS,
        "of the argument, not of the bound",
    )


def every_run(effort: Effort) -> Finding:
    """(g): n_2 + ... + n_d >= #{t > floor(alpha T): w_t >= 1} in each run, so a = min(a, b) holds."""
    d, horizon, name = 3, 2000, "N(0, 1)"
    statement = "pathwise: suboptimal pulls >= rounds t > 0.85 T with w_t >= 1, in every run"
    seeds = range(effort.seed * 10**6, effort.seed * 10**6 + effort.runs(10, least=3))
    rounds = np.array([late(drawn(name, horizon, seed)) for seed in seeds])
    pulls = np.array([counts(name, d, horizon, seed, "numpy")[1:].sum() for seed in seeds])
    return Finding(
        "E6",
        f"{statement}; {name}, so that min(a, b) stands",
        f"{len(seeds)} of {len(seeds)} runs, with {rounds.min()} to {rounds.max()} such rounds",
        f"{np.count_nonzero(pulls >= rounds)} of {len(seeds)} runs, with {pulls.min()} to {pulls.max()} such pulls",
        verdict(bool(np.all(pulls >= rounds))),
        HOLDS,
        f"d = {d}, T = {horizon}",
    )
