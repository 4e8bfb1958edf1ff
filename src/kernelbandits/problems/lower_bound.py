"""The linear bandit on which the paper shows that its rule must lose: Theorem 2, lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.domains import Arms
from kernelbandits.exploration import Exploration, chance_range
from kernelbandits.problems.base import Instance
from kernelbandits.problems.noise import GaussianNoise, Noise
from kernelbandits.streams import Streams
from kernelbandits.theory.law_constants import count_laws

ALPHA, BETA = 5.1 / 6, 1 / 6
"""Shares of the horizon in the paper's two cases."""
SHORTEST = 180
"""The least T for which the paper's ratio is at most 1/2."""


@dataclass(frozen=True)
class LowerBound:
    """Arms e_1..e_d, f = Delta e_1, no noise.

    Delta = (R sqrt(d/2) + D) / (2 sqrt(1 + (T/6) / (d - 1)))    if T > e^d / (alpha - beta),
    Delta = (R sqrt(d ln(2)/2) + D) / (2 sqrt(1 + (T/6) / (d - 1)))    else, for T >= 1.5 d^2.

    R and D are what the policy is told, with the linear kernel and ridge 1. The printed proof uses
    d >= 2, T >= 180, T > e^d / (alpha - beta) and Delta <= D. Where d is larger, the second Delta
    has a proof of ours (docs/theory); what neither covers is refused. It is a bound for this
    rule, whatever its law, and none for others (E6).

    >>> from kernelbandits.problems import LowerBound
    >>> LowerBound(d=3, horizon=2000).proof, LowerBound(d=30, horizon=2000).proof
    ('printed', 'ours')
    """

    d: int = 3
    """How many arms there are."""
    horizon: int = 2000
    """T, how many rounds will be played."""
    noise_scale: float = 1.0
    """R, as the policy is told."""
    norm_bound: float = 1.0
    """D, as the policy is told."""

    def __post_init__(self) -> None:
        name = "the lower-bound instance"
        checks.whole(name, "d", self.d, least=2)
        checks.whole(name, "horizon", self.horizon, least=SHORTEST)
        checks.scale(name, "noise_scale", self.noise_scale)
        checks.positive(name, "norm_bound", checks.scale(name, "norm_bound", self.norm_bound))
        least = math.ceil(1.5 * self.d**2)
        needed = f"horizon >= 1.5 d^2 = {least} (or > 1.4634 e^d)"
        checks.needs(self._is_printed or self.horizon >= least, name, needed, self.horizon)
        checks.needs(
            self.gap <= self.norm_bound, name, f"a gap Delta <= D = {self.norm_bound:g}", self.gap
        )

    @property
    def _is_printed(self) -> bool:
        """Whether T > e^d / (alpha - beta)."""
        return self.horizon > math.exp(min(self.d, 700)) / (ALPHA - BETA)

    @property
    def proof(self) -> str:
        """Which proof covers d and T: "printed", or "ours" with ln 2 in Delta."""
        return "printed" if self._is_printed else "ours"

    @property
    def size(self) -> float:
        """R sqrt(d/2) + D, or R sqrt(d ln(2)/2) + D.

        It is below the width of a rule with R and D in the rounds that count.
        """
        return self.size_of_rule(self.noise_scale, self.norm_bound)

    def size_of_rule(self, noise_scale: float, norm_bound: float) -> float:
        """Return the `size` for a rule that is given another R and D."""
        share = 1.0 if self._is_printed else math.log(2)
        return noise_scale * math.sqrt(share * self.d / 2) + norm_bound

    @property
    def gap(self) -> float:
        """Delta."""
        return self.size / (2 * math.sqrt(1 + BETA * self.horizon / (self.d - 1)))

    def regret_bound(self, exploration: Any) -> float:
        """Return the lower bound of the regret, for a law or schedule, or its least P(w >= 1).

        (1 - alpha) T Delta min C1,  C1 = P(w >= 1)

        The paper's constant, another proof (ours): in all runs suboptimal pulls >= #{t >
        floor(alpha T): w_t >= 1}. For while arms 2..d have fewer than beta T pulls, each such round
        plays one of them; and beta T pulls are as many as all rounds t > floor(alpha T), or more.
        Take expectations.
        """
        optimism = (
            exploration
            if checks.is_number(exploration)
            else least_optimism(exploration, self.horizon)
        )
        return (
            (1 - ALPHA)
            * self.horizon
            * self.gap
            * checks.chance("regret_bound", "optimism", optimism)
        )

    @property
    def name(self) -> str:
        return f"lower-bound-{self.d}"

    @property
    def title(self) -> str:
        return f"Lower bound (d = {self.d})"

    @property
    def description(self) -> str:
        return (
            f"the {self.d} unit vectors as arms, the first better than the others by "
            f"{self.gap:.4g}, no noise; made for the linear kernel, R = {self.noise_scale:g}, "
            f"D = {self.norm_bound:g} and T = {self.horizon}, "
            "where the paper's rule must lose of the order of sqrt(T) (its Theorem 2"
            f"{'' if self._is_printed else ', with ln 2 in the gap, since T is below 1.46 e^d'})"
        )

    @property
    def dimension(self) -> int:
        return self.d

    @property
    def noise(self) -> Noise:
        return GaussianNoise(0.0)

    def instance(self, streams: Streams) -> Instance:
        return Instance(self.name, Arms(np.eye(self.d)), self.gap * np.eye(self.d)[0], self.noise)


def least_optimism(exploration: Any, horizon: int) -> float:
    """Return min_t C1_t, zero allowed; over all histories, where the law depends on them."""
    limits = chance_range(Exploration.of(exploration).source)
    if limits is not None:
        return limits[0]
    return min(law.optimism for law in count_laws(exploration, horizon))
