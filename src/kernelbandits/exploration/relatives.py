"""The laws of two close relatives of Generic-GP: RandUCB's truncated Gaussian on a grid, and IRGP-UCB's root."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import erfcx

from kernelbandits import checks
from kernelbandits.exploration.laws import Discrete, Law, like


@dataclass(frozen=True)
class DiscretisedGaussian(Discrete):
    """w on the grid 0 = z_1 < ... < z_M = upper of M equal steps: P(w = z_M) = top, and for the others

    P(w = z_m) proportional to exp(-z_m^2 / (2 scale^2)). Vaswani et al. (2020).
    """

    points: int = 20
    """M"""
    scale: float = 1 / 8
    upper: float = 1.0
    top: float = 1e-7
    """The chance of the greatest weight, which optimism needs."""

    def __post_init__(self) -> None:
        checks.whole("DiscretisedGaussian", "points", self.points, least=2)
        checks.positive("DiscretisedGaussian", "scale", self.scale)
        checks.positive("DiscretisedGaussian", "upper", self.upper)
        checks.chance("DiscretisedGaussian", "top", self.top)

    @cached_property
    def support(self) -> tuple[float, ...]:
        return tuple(self.upper * (m / (self.points - 1)) for m in range(self.points))

    @cached_property
    def chances(self) -> tuple[float, ...]:
        steps = [z / self.scale for z in self.support[:-1]]
        bells = [math.exp(-0.5 * step * step) for step in steps]
        share = (1 - self.top) / math.fsum(bells)
        return (*(share * bell for bell in bells), float(self.top))


@dataclass(frozen=True)
class RootExponential(Law):
    """w = sqrt(shift + E), E exponential with the given mean: a Rayleigh weight that never falls below sqrt(shift)."""

    shift: float = 0.0
    mean: float = 2.0

    def __post_init__(self) -> None:
        checks.nonnegative("RootExponential", "shift", self.shift)
        checks.positive("RootExponential", "mean", self.mean)

    def draw(self, u: Any) -> Any:
        """sqrt(shift - mean ln(1 - u))."""
        weights = np.sqrt(self.shift - self.mean * np.log1p(-np.asarray(u)))
        return weights if np.ndim(u) else float(weights)

    def cdf(self, x: float) -> float:
        """1 - exp(-(x^2 - shift) / mean) from sqrt(shift) on."""
        return -math.expm1(-max(x * x - self.shift, 0.0) / self.mean) if x > 0 else 0.0

    @property
    def optimism(self) -> float:
        """exp(-(1 - shift) / mean), one where the shift is at least one."""
        return math.exp(-max(1 - self.shift, 0.0) / self.mean)

    @property
    def mean_abs(self) -> float:
        """sqrt(shift) + (sqrt(pi mean) / 2) erfcx(sqrt(shift / mean)), erfcx(z) = exp(z^2) erfc(z)."""
        tail = math.sqrt(math.pi * self.mean) / 2 * erfcx(math.sqrt(self.shift / self.mean))
        return math.sqrt(self.shift) + float(tail)

    @property
    def expectation(self) -> float:
        return self.mean_abs

    def tail(self, x: Any) -> Any:
        """exp(-(x^2 - shift)^+ / mean) for x >= 0."""
        return like(
            x, np.exp(-np.maximum(np.square(np.maximum(x, 0.0)) - self.shift, 0.0) / self.mean)
        )

    def tail_abs(self, u: Any) -> Any:
        return self.tail(u)

    def below(self, x: Any) -> Any:
        return 1.0 - self.tail(x)
