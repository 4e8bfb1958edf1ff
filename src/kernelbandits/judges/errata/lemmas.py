"""Errata of single lines: a lost factor, the smoothness that is needed, and what is not a difference."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kernelbandits.judges.finding import FAILS, HOLDS, Effort, Finding, verdict
from kernelbandits.kernels import Linear
from kernelbandits.policies import SimpleUCB
from kernelbandits.streams import Streams


def lost_factor(effort: Effort) -> Iterator[Finding]:
    """E7: |V^-1/2 f| <= |V^-1/2 h| |f| is false; |h' V^-1 f| <= |V^-1/2 h| |f| is what is meant."""
    pulls = 99
    half = np.array([1 / math.sqrt(1 + pulls), 1.0])
    h, f = np.eye(2)
    left, right, meant = (
        np.linalg.norm(half * f),
        np.linalg.norm(half * h) * np.linalg.norm(f),
        abs(h @ (half**2 * f)),
    )
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
            f"constants of order one give a sub-linear bound, whatever the kernel; Matern nu = {nu:g}, d = {d}",
            "a power of T below 1",
            f"gamma_T sqrt(T) ~ T^{power:.3g}",
            verdict(power < 1),
            HOLDS if nu > d / 2 else FAILS,
            "gamma_T = O~(T^(d/(2 nu + d)))",
        )


def same_index(effort: Effort) -> Iterator[Finding]:
    """E9: the greatest f(x) over the confidence ball of Whitehouse et al. is the index of Simple-UCB.

    On the plane with the linear kernel the ball {f : |V^1/2 (f - mean)| <= U}, U = R sqrt(2 ln(2 sqrt(det V))) + D, is
    searched by its boundary: f = mean + U V^-1/2 u for many directions u.
    """
    generator = Streams(effort.seed).generator(9)
    points = generator.uniform(-0.7, 0.7, (20, 2))
    rule = SimpleUCB(points, Linear(), noise_scale=1.0, norm_bound=1.0)
    arms, rewards = generator.integers(20, size=30), generator.standard_normal(30)
    for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
        rule.tell(rule.choice(arm), reward)
    x = points[arms]
    matrix = np.eye(2) + x.T @ x
    radius = math.sqrt(2 * math.log(2) + math.log(float(np.linalg.det(matrix)))) + 1
    angles = np.linspace(0, 2 * math.pi, 100_001)
    values, vectors = np.linalg.eigh(matrix)
    boundary = (vectors / np.sqrt(values)) @ np.array([np.cos(angles), np.sin(angles)])
    ball = points @ np.linalg.solve(matrix, x.T @ rewards) + radius * (points @ boundary).max(1)
    difference = float(np.abs(ball - rule.index(31)).max())
    yield Finding(
        "E9",
        "the greatest f(x) over the confidence ball of GP-UCB (Whitehouse et al.) = the index of Simple-UCB; 20 arms",
        "difference <= 1e-08",
        f"difference {difference:.0e}",
        verdict(difference <= 1e-8),
        detail="100 000 directions: (pi / 100 000)^2 / 2 of the radius",
    )
