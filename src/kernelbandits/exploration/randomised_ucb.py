"""The exploration laws of two related algorithms, RandUCB and IRGP-UCB."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import erfcx

from kernelbandits import checks
from kernelbandits.exploration.laws import Discrete, Law, match_shape


@dataclass(frozen=True)
class DiscretisedGaussian(Discrete):
    """The law of RandUCB (Vaswani et al., 2020): a half-normal law on a grid of M weights.

    The grid is 0 = z_1 < ... < z_M = upper, evenly spaced. P(w = z_M) = top, and the other weights
    have probabilities proportional to exp(-z_m^2 / (2 scale^2)).

    >>> from kernelbandits.exploration import DiscretisedGaussian
    >>> law = DiscretisedGaussian(points=5)
    >>> law.support
    (0.0, 0.25, 0.5, 0.75, 1.0)
    >>> law.optimism
    1e-07
    """

    spelling: ClassVar[str] = "discretised-gaussian"

    points: int = 20
    """M, the number of weights."""
    scale: float = 1 / 8
    """The standard deviation of the normal law that is discretised."""
    upper: float = 1.0
    """The largest weight."""
    top: float = 1e-7
    """The probability of the largest weight. It keeps C1 = P(w >= 1) positive."""

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
    """The law of IRGP-UCB: w = sqrt(shift + E), with E exponential.

    The weight never falls below sqrt(shift); with shift 0 it has a Rayleigh law.

    >>> from kernelbandits.exploration import RootExponential
    >>> law = RootExponential(shift=1.0, mean=2.0)
    >>> law.draw(0.0), law.optimism
    (1.0, 1.0)
    """

    spelling: ClassVar[str] = "root-exponential"

    shift: float = 0.0
    """The square of the smallest weight."""
    mean: float = 2.0
    """The mean of the exponential variable E."""

    def __post_init__(self) -> None:
        checks.nonnegative("RootExponential", "shift", self.shift)
        checks.positive("RootExponential", "mean", self.mean)

    def draw(self, u: Any) -> Any:
        """Return the weight of a uniform number u.

        sqrt(shift - mean ln(1 - u))
        """
        weights = np.sqrt(self.shift - self.mean * np.log1p(-np.asarray(u)))
        return weights if np.ndim(u) else float(weights)

    def cdf(self, x: float) -> float:
        """Return P(w <= x), from sqrt(shift) on.

        1 - exp(-(x^2 - shift) / mean)
        """
        return -math.expm1(-max(x * x - self.shift, 0.0) / self.mean) if x > 0 else 0.0

    @property
    def optimism(self) -> float:
        """exp(-(1 - shift) / mean), one where the shift is at least one."""
        return math.exp(-max(1 - self.shift, 0.0) / self.mean)

    @property
    def mean_abs(self) -> float:
        """sqrt(shift) + (sqrt(pi mean) / 2) erfcx(sqrt(shift / mean)).

        erfcx(z) = exp(z^2) erfc(z) in one function, because the first factor overflows alone.
        """
        tail = math.sqrt(math.pi * self.mean) / 2 * erfcx(math.sqrt(self.shift / self.mean))
        return math.sqrt(self.shift) + float(tail)

    @property
    def expectation(self) -> float:
        return self.mean_abs

    def tail(self, x: Any) -> Any:
        """Return P(w > x), for x >= 0.

        exp(-(x^2 - shift)^+ / mean)
        """
        return match_shape(
            x, np.exp(-np.maximum(np.square(np.maximum(x, 0.0)) - self.shift, 0.0) / self.mean)
        )

    def tail_abs(self, u: Any) -> Any:
        return self.tail(u)

    def below(self, x: Any) -> Any:
        return 1.0 - self.tail(x)
