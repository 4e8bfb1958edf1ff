"""Errata of single lines: a lost factor, the smoothness that is needed, and what is not a difference."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kernelbandits.judges.finding import FAILS, HOLDS, Effort, Finding, verdict
from kernelbandits.kernels import RBF
from kernelbandits.policies import SimpleUCB, WhitehouseUCB
from kernelbandits.streams import Streams


def lost_factor(effort: Effort) -> Iterator[Finding]:
    """E7: |V^-1/2 f| <= |V^-1/2 h| |f| is false; |h' V^-1 f| <= |V^-1/2 h| |f| is what is meant."""
    pulls = 99
    half = np.array([1 / math.sqrt(1 + pulls), 1.0])
    h, f = np.eye(2)
    left, right, meant = np.linalg.norm(half * f), np.linalg.norm(half * h) * np.linalg.norm(f), abs(h @ (half**2 * f))
    play = f"h = e1 played {pulls} times, f = e2"
    yield Finding(
        "E7",
        f"as printed: |V^-1/2 f| <= |V^-1/2 h| |f|; {play}",
        f"<= {right:.2f}",
        f"{left:.2f}",
        verdict(left <= right),
        FAILS,
    )
    yield Finding(
        "E7",
        f"meant: |h' V^-1 f| <= |V^-1/2 h| |f|; {play}",
        f"<= {right:.2f}",
        f"{meant:.2f}",
        verdict(bool(meant <= right)),
    )


def matern(effort: Effort) -> Iterator[Finding]:
    """E8: at a fixed ridge gamma sqrt(T) is sub-linear for Matern kernels only if nu > d/2."""
    for nu, d in ((0.5, 2), (1.5, 4), (2.5, 2)):
        power = 0.5 + d / (2 * nu + d)
        yield Finding(
            "E8",
            f"as suggested: constants of order one give sub-linear regret; Matern nu = {nu:g}, d = {d}",
            "a power of T below 1",
            f"gamma_T sqrt(T) ~ T^{power:.3g}",
            verdict(power < 1),
            HOLDS if nu > d / 2 else FAILS,
            "gamma_T = O~(T^(d/(2 nu + d)))",
        )


def same_index(effort: Effort) -> Iterator[Finding]:
    """E9: Simple-UCB and GP-UCB of Whitehouse et al. have one index, so neither is the more efficient."""
    points = Streams(effort.seed).generator(9).random((20, 2))
    rules = [
        rule(points, RBF(0.2), noise_scale=1.0, norm_bound=1.0, delta=0.5, ridge=1.0, ties="lowest")
        for rule in (SimpleUCB, WhitehouseUCB)
    ]
    largest = 0.0
    for t in range(1, 101):
        first, second = (rule.index(t) for rule in rules)
        largest = max(largest, float(np.abs(first - second).max()))
        for rule in rules:
            rule.tell(rule.ask(t, Streams(effort.seed)), math.sin(t))
    yield Finding(
        "E9",
        "as printed: Simple-UCB saves the confidence balls of GP-UCB (Whitehouse et al.), so their indices differ",
        "different indices",
        f"equal to {largest:.0e} in 100 rounds at delta = 1/2, ridge 1",
        verdict(largest > 1e-9),
        FAILS,
    )
