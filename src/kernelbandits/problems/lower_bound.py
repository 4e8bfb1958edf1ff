"""The linear bandit on which the paper shows that its rule must lose: Theorem 2, lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kernelbandits import checks
from kernelbandits.domains import Arms
from kernelbandits.problems.base import Instance
from kernelbandits.problems.noise import GaussianNoise, Noise
from kernelbandits.streams import Streams

ALPHA, BETA = 5.1 / 6, 1 / 6
"""Shares of the horizon in the paper's two cases."""
SHORTEST = 180
"""The least T for which the paper's ratio is at most 1/2."""


@dataclass(frozen=True)
class LowerBound:
    """Arms e_1..e_d, f = Delta e_1, no noise; Delta = (R sqrt(d/2) + D) / (2 sqrt(1 + (T/6) / (d - 1))).

    R and D are what the policy is told, with the linear kernel and ridge 1. The proof needs d >= 2, T >= 180,
    T > e^d / (alpha - beta) and Delta <= D.
    """

    d: int = 3
    horizon: int = 2000
    noise_scale: float = 1.0
    norm_bound: float = 1.0

    def __post_init__(self) -> None:
        name = "the lower-bound instance"
        checks.whole(name, "d", self.d, least=2)
        checks.whole(name, "horizon", self.horizon, least=SHORTEST)
        checks.scale(name, "noise_scale", self.noise_scale)
        checks.positive(name, "norm_bound", self.norm_bound)
        longest = math.log(self.horizon * (ALPHA - BETA))
        checks.needs(
            self.d < longest,
            name,
            f"horizon > e^d / {ALPHA - BETA:.4f}, e^{self.d} = {math.exp(min(self.d, 700)):.4g}",
            self.horizon,
        )
        checks.needs(self.gap <= self.norm_bound, name, f"a gap Delta <= D = {self.norm_bound:g}", self.gap)

    @property
    def gap(self) -> float:
        """Delta."""
        size = self.noise_scale * math.sqrt(self.d / 2) + self.norm_bound
        return size / (2 * math.sqrt(1 + BETA * self.horizon / (self.d - 1)))

    def regret_bound(self, optimism: float, random: bool = True) -> float:
        """T Delta a b / (a + b), a = (1 - alpha) min C1, b = beta; for a rule without randomness T Delta min(a, b).

        The paper's min(a, b) is not valid for random weights: which of its two cases happens depends on the future.
        """
        a, b = (1 - ALPHA) * checks.chance("regret_bound", "optimism", optimism), BETA
        share = (a * b / (a + b) if a else 0.0) if random else min(a, b)
        return self.horizon * self.gap * share

    @property
    def name(self) -> str:
        return f"lower-bound-{self.d}"

    @property
    def title(self) -> str:
        return f"Lower bound (d = {self.d})"

    @property
    def description(self) -> str:
        return f"the basis of R^{self.d}, one arm better by {self.gap:.4g}, no noise: Theorem 2 for T = {self.horizon}"

    @property
    def dimension(self) -> int:
        return self.d

    @property
    def noise(self) -> Noise:
        return GaussianNoise(0.0)

    def instance(self, streams: Streams) -> Instance:
        return Instance(self.name, Arms(np.eye(self.d)), self.gap * np.eye(self.d)[0], self.noise)
