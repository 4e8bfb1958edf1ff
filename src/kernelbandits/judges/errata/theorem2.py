"""Errata of Theorem 2, the lower bound (E6): what it needs, what it leaves out, and what it is not."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kernelbandits.experiment import play
from kernelbandits.judges.finding import FAILS, HOLDS, Effort, Finding, verdict
from kernelbandits.kernels import Linear
from kernelbandits.policies import Greedy
from kernelbandits.problems.lower_bound import ALPHA, BETA, LowerBound
from kernelbandits.streams import Streams


def lower_bound(effort: Effort) -> Iterator[Finding]:
    yield from dropped_identity(effort)
    yield from horizons(effort)
    yield from missing_scale(effort)
    yield from two_cases(effort)
    yield from other_rules(effort)


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
    """(e): the proof needs T >= 180 and T > e^d / (alpha - beta), which the statement does not say."""
    for horizon in (179, 180):
        ratio = math.sqrt((BETA * horizon + 1) / ((ALPHA - BETA) * horizon + 1))
        yield Finding(
            "E6",
            f"as used: sqrt((beta T + 1) / ((alpha - beta) T + 1)) <= 1/2; T = {horizon}",
            "<= 0.5",
            f"{ratio:.5f}",
            verdict(ratio <= 0.5 + 1e-12),
            FAILS if horizon < 180 else HOLDS,
        )
    d, horizon = 10, 10_000
    least = math.exp(d) / (ALPHA - BETA)
    yield Finding(
        "E6",
        f"as used: ln((alpha - beta) T) > d; d = {d}, T = {horizon}",
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
    """(g): cases that depend on the future give min over their chance q of max(a q, b (1 - q)), not min(a, b)."""
    optimism = 0.15865525393145707
    a, b = (1 - ALPHA) * optimism, BETA
    chances = np.linspace(0, 1, 100_001)
    least = float(np.maximum(a * chances, b * (1 - chances)).min())
    for name, share, expected in (
        ("as printed: min(a, b)", min(a, b), FAILS),
        ("valid: ab/(a + b)", a * b / (a + b), HOLDS),
    ):
        yield Finding(
            "E6",
            f"{name} follows from the two cases for random weights; N(0, 1)",
            f"{share:.5f} T Delta",
            f"the cases give {least:.5f} T Delta",
            verdict(share <= least * (1 + 1e-4)),
            expected,
        )


def other_rules(effort: Effort) -> Iterator[Finding]:
    """(h): a lower bound for this algorithm without noise, not for all: a greedy rule loses next to nothing."""
    problem = LowerBound(3, 2000)
    instance = problem.instance(Streams(effort.seed))
    rule = Greedy(instance.domain, Linear(), ties="random")
    regret = float(instance.regrets(play(rule, instance, problem.horizon, Streams(effort.seed), "numpy").arms).sum())
    bound = problem.regret_bound(1.0, random=False)
    yield Finding(
        "E6",
        "as may be read: every algorithm has this regret on the instance; greedy play, d = 3, T = 2000",
        f">= {bound:.2f}",
        f"{regret:.2f}",
        verdict(regret >= bound),
        FAILS,
    )
