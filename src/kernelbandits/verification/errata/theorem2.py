"""Errata of Theorem 2, the lower bound (E6): what its proof uses, leaves out, and what is true."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kernelbandits.problems.lower_bound import ALPHA, BETA, LowerBound
from kernelbandits.verification.laws import SCHEDULES
from kernelbandits.verification.lower_bound import count_late_exploration, count_pulls
from kernelbandits.verification.statements import CheckedStatement, Effort


def check_lower_bound_proof(effort: Effort) -> Iterator[CheckedStatement]:
    yield from check_missing_identity()
    yield from check_horizons()
    yield check_missing_noise_scale()
    yield check_two_cases()
    yield check_every_run(effort)


def check_missing_identity() -> Iterator[CheckedStatement]:
    """Check (b): V = I + sum X X' is meant, not sum X X'.

    The determinant of the latter is 0 until every arm was played.
    """
    played = np.diag([2.0, 1.0, 0.0])
    for name, matrix, should_hold in (
        ("as printed: V = sum X X'", played, False),
        ("meant: V = I + sum X X'", played + np.eye(3), True),
    ):
        determinant = float(np.linalg.det(matrix))
        yield CheckedStatement(
            f"{name} has a positive determinant, so that its logarithm exists; "
            "3 arms played (2, 1, 0) times",
            "det > 0",
            f"{determinant:g}",
            holds=determinant > 0,
            should_hold=should_hold,
        )


def check_horizons() -> Iterator[CheckedStatement]:
    """Check (e): the printed proof uses T >= 180 and T > e^d / (alpha - beta), both not stated.

    Both are sufficient, not necessary: instead of the second, 2 ln 2 + ln(1 + Q_1) >= d/2 is
    enough.
    """
    for horizon in (179, 180):
        ratio = math.sqrt((BETA * horizon + 1) / ((ALPHA - BETA) * horizon + 1))
        yield CheckedStatement(
            "as used by the printed proof: sqrt((beta T + 1) / ((alpha - beta) T + 1)) <= 1/2; "
            f"T = {horizon}",
            "<= 0.5",
            f"{ratio:.5f}",
            holds=ratio <= 0.5 + 1e-12,
            should_hold=horizon >= 180,
        )
    d, horizon = 10, 10_000
    least = math.exp(d) / (ALPHA - BETA)
    yield CheckedStatement(
        f"as used by the printed proof: ln((alpha - beta) T) > d; d = {d}, T = {horizon}",
        f"T > e^d / (alpha - beta) = {least:.0f}",
        f"T = {horizon}",
        holds=horizon > least,
        should_hold=False,
        detail="the smallest such T grows exponentially in d",
    )


def check_missing_noise_scale() -> CheckedStatement:
    """Check (f): without R, sqrt(d T) (sqrt(d) + D) exceeds even T Delta, the largest regret."""
    d, horizon, scale = 3, 2000, 0.01
    problem = LowerBound(d, horizon, scale, scale)
    printed, most = math.sqrt(d * horizon) * (math.sqrt(d) + scale), horizon * problem.gap
    return CheckedStatement(
        "as printed: the regret is of order sqrt(dT) (sqrt(d) + D) for every R; "
        f"R = D = {scale:g}, d = {d}, T = {horizon}",
        f"about {printed:.0f}",
        f"at most T Delta = {most:.2f}",
        holds=most >= printed / 10,
        should_hold=False,
        detail="a factor of 10 is allowed for the constant",
    )


def check_two_cases() -> CheckedStatement:
    """Check (g): two cases that depend on the future give less than min(a, b).

    min_q max(a q, b (1 - q)) = ab / (a + b)
    """
    a, b = (1 - ALPHA) * 0.15865525393145707, BETA
    chances = np.linspace(0, 1, 100_001)
    least = float(np.maximum(a * chances, b * (1 - chances)).min())
    return CheckedStatement(
        "as argued: two cases combined by their probabilities give min(a, b); N(0, 1)",
        f"{min(a, b):.5f} T Delta",
        f"combined in this way they give {least:.5f} T Delta",
        holds=min(a, b) <= least * (1 + 1e-4),
        should_hold=False,
        detail="the argument is wrong, not the bound",
    )


def check_every_run(effort: Effort) -> CheckedStatement:
    """Check (g): in each run the suboptimal pulls are enough, so min(a, b) holds.

    n_2 + ... + n_d >= #{t > floor(alpha T): w_t >= 1}
    """
    d, horizon, name = 3, 2000, "N(0, 1)"
    seeds = effort.seeds(effort.runs(10, least=3))
    weights = [SCHEDULES[name].weights(horizon, seed) for seed in seeds]
    rounds = np.array([count_late_exploration(one) for one in weights])
    pulls = np.array([count_pulls(name, d, horizon, seed, "numpy")[1:].sum() for seed in seeds])
    runs, kept = len(seeds), np.count_nonzero(pulls >= rounds)
    return CheckedStatement(
        "in every run the suboptimal pulls are at least as many as the rounds t > 0.85 T "
        f"with w_t >= 1, so that min(a, b) is right; {name}",
        f"{runs} of {runs} runs, with {rounds.min()} to {rounds.max()} such rounds",
        f"{kept} of {runs} runs, with {pulls.min()} to {pulls.max()} such pulls",
        holds=bool(np.all(pulls >= rounds)),
        detail=f"d = {d}, T = {horizon}",
    )
