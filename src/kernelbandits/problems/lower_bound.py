"""The linear bandit on which the paper shows that its rule must lose: Theorem 2, lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.domains import Arms
from kernelbandits.problems.base import Instance
from kernelbandits.problems.noise import GaussianNoise, Noise
from kernelbandits.streams import Streams
from kernelbandits.theory.constants import counted_laws

ALPHA, BETA = 5.1 / 6, 1 / 6
"""Shares of the horizon in the paper's two cases."""
SHORTEST = 180
"""The least T for which the paper's ratio is at most 1/2."""


@dataclass(frozen=True)
class LowerBound:
    """Arms e_1..e_d, f = Delta e_1, no noise; Delta = (R sqrt(d/2) + D) / (2 sqrt(1 + (T/6) / (d - 1))).

    R and D are what the policy is told, with the linear kernel and ridge 1. The proof needs d >= 2, T >= 180,
    T > e^d / (alpha - beta) and Delta <= D. It is a bound for this rule, whatever its law, and none for others (E6).
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
        checks.positive(name, "norm_bound", checks.scale(name, "norm_bound", self.norm_bound))
        longest = math.exp(min(self.d, 700)) / (ALPHA - BETA)
        checks.needs(self.horizon > longest, name, f"horizon > 1.4634 e^d = {longest:.6g}", self.horizon)
        checks.needs(self.gap <= self.norm_bound, name, f"a gap Delta <= D = {self.norm_bound:g}", self.gap)

    @property
    def size(self) -> float:
        """R sqrt(d/2) + D, which the width of a rule told R and D exceeds in the rounds that count."""
        return self.noise_scale * math.sqrt(self.d / 2) + self.norm_bound

    @property
    def gap(self) -> float:
        """Delta."""
        return self.size / (2 * math.sqrt(1 + BETA * self.horizon / (self.d - 1)))

    def regret_bound(self, exploration: Any, random: bool | None = None) -> float:
        """T Delta a b / (a + b), a = (1 - alpha) min C1, b = beta; T Delta min(a, b) where nothing is random.

        For a law or schedule, or its least C1 = P(w >= 1). The paper's min(a, b) is not valid for random weights, for
        which of its two cases happens depends on the future; it is where C1 = 1, for then every run is in one of them.
        """
        optimism = exploration if checks.is_number(exploration) else least_optimism(exploration, self.horizon)
        a, b = (1 - ALPHA) * checks.chance("regret_bound", "optimism", optimism), BETA
        uncertain = optimism < 1 if random is None else random
        return self.horizon * self.gap * (a * b / (a + b) if uncertain else min(a, b))

    @property
    def name(self) -> str:
        return f"lower-bound-{self.d}"

    @property
    def title(self) -> str:
        return f"Lower bound (d = {self.d})"

    @property
    def description(self) -> str:
        arms = f"the {self.d} unit vectors as arms, the first better than the others by {self.gap:.4g}, no noise"
        world = f"the linear kernel, R = {self.noise_scale:g}, D = {self.norm_bound:g} and T = {self.horizon}"
        return f"{arms}; made for {world}, where the paper's rule must lose of the order of sqrt(T) (its Theorem 2)"

    @property
    def dimension(self) -> int:
        return self.d

    @property
    def noise(self) -> Noise:
        return GaussianNoise(0.0)

    def instance(self, streams: Streams) -> Instance:
        return Instance(self.name, Arms(np.eye(self.d)), self.gap * np.eye(self.d)[0], self.noise)


def least_optimism(exploration: Any, horizon: int) -> float:
    """min_t C1_t, zero allowed."""
    return min(law.optimism for law in counted_laws(exploration, horizon))
