"""Exploration laws, each beside its definition as a mixture of normal and point masses.

The definitions share no code with `kernelbandits.exploration`, so that a law can be compared with
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erfc, erfcinv

from kernelbandits.checks import Array
from kernelbandits.exploration import (
    Bernoulli,
    Categorical,
    DiscretisedGaussian,
    Frozen,
    Gaussian,
    Mixture,
    PointMass,
    Step,
)
from kernelbandits.streams import Streams


@dataclass(frozen=True)
class WeightLaw:
    """The definition of a law of the weight w, as a mixture."""

    parts: tuple[tuple[float, float, float], ...]
    """(p, m, s): with probability p the weight is N(m, s^2), or the number m where s = 0."""

    def quantile(self, u: float) -> float:
        """Return the weight that belongs to a uniform number u.

        The parts share the interval [0, 1) in their order; within the share of a part, u moves
        through the quantiles of that part.
        """
        for probability, mean, sd in self.parts[:-1]:
            if u < probability:
                return normal_quantile(mean, sd, u / probability)
            u -= probability
        probability, mean, sd = self.parts[-1]
        return normal_quantile(mean, sd, u / probability)

    def at_most(self, x: Array) -> Array:
        """Return P(w <= x)."""
        return np.asarray(
            sum(p * (normal_cdf((x - m) / s) if s else x >= m) for p, m, s in self.parts)
        )

    def below(self, x: Array) -> Array:
        """Return P(w < x)."""
        return np.asarray(
            sum(p * (normal_cdf((x - m) / s) if s else x > m) for p, m, s in self.parts)
        )

    @property
    def optimism(self) -> float:
        """C1 = P(w >= 1)."""
        return 1 - float(self.below(np.array(1.0)))

    @property
    def mean(self) -> float:
        return sum(p * m for p, m, _ in self.parts)

    @property
    def mean_abs(self) -> float:
        """E|w|."""
        return sum(p * (normal_mean_abs(m, s) if s else abs(m)) for p, m, s in self.parts)

    @property
    def discrete(self) -> bool:
        return not any(sd for _, _, sd in self.parts)


def normal_quantile(mean: float, sd: float, u: float) -> float:
    """Return m + s Phi^-1(u)."""
    return mean - sd * math.sqrt(2) * float(erfcinv(2 * u)) if sd else mean


def normal_cdf(z: Array) -> Array:
    """Return Phi(z)."""
    return np.asarray(erfc(-z / math.sqrt(2)) / 2)


def normal_mean_abs(mean: float, sd: float) -> float:
    """Return E|N(m, s^2)|.

    s sqrt(2/pi) exp(-m^2 / (2 s^2)) + m (1 - 2 Phi(-m/s))
    """
    bell = sd * math.sqrt(2 / math.pi) * math.exp(-((mean / sd) ** 2) / 2)
    return bell + mean * (1 - 2 * float(normal_cdf(np.array(-mean / sd))))


def atoms(probabilities: Sequence[float], values: Sequence[float]) -> WeightLaw:
    """Return the law with w = values[i] with probability probabilities[i]."""
    return WeightLaw(tuple((p, v, 0.0) for p, v in zip(probabilities, values, strict=True)))


def normal(mean: float = 0.0, sd: float = 1.0) -> WeightLaw:
    return WeightLaw(((1.0, mean, sd),))


def coin(p: float) -> WeightLaw:
    """Return the law with w = 1 with probability p, and 0 otherwise."""
    return atoms((1 - p, p), (0.0, 1.0))


def bell_on_grid(points: int, scale: float, upper: float, top: float) -> WeightLaw:
    """Return the law of RandUCB, on weights z_m = upper m / (M - 1), m = 0..M-1.

    The last has probability `top`; the others have probabilities in proportion to
    exp(-z^2 / (2 scale^2)).
    """
    values = [upper * m / (points - 1) for m in range(points)]
    sizes = [math.exp(-((z / scale) ** 2) / 2) for z in values[:-1]]
    return atoms([*((1 - top) * size / sum(sizes) for size in sizes), top], values)


@dataclass(frozen=True)
class CdfAndPpf:
    """A law as another package may supply it: a distribution function and its quantiles."""

    law: WeightLaw

    def cdf(self, x: float) -> float:
        return float(self.law.at_most(np.array(x)))

    def ppf(self, u: Any) -> Any:
        return np.vectorize(self.law.quantile, otypes=[float])(u)


class CdfAndPmf(CdfAndPpf):
    """A law on whole numbers that also knows their probabilities."""

    def pmf(self, x: Any) -> Any:
        masses = self.law.at_most(np.asarray(x)) - self.law.below(np.asarray(x))
        return masses if np.ndim(x) else float(masses)

    def cdf(self, x: Any) -> Any:
        return self.law.at_most(np.asarray(x))


WHOLE_NUMBERS = atoms((0.15, 0.35, 0.3, 0.2), (-1.0, 0.0, 1.0, 2.0))
LAWS: Mapping[str, tuple[Any, WeightLaw]] = {
    "w = 1": (PointMass(1.0), atoms((1.0,), (1.0,))),
    "Ber(0.3)": (Bernoulli(0.3), coin(0.3)),
    "N(0, 1)": (Gaussian(0.0, 1.0), normal()),
    "i/4, i = 1..4": (Categorical((0.25,) * 4), atoms((0.25,) * 4, (0.25, 0.5, 0.75, 1.0))),
    "-1, 1/2 or 2": (
        Categorical((0.3, 0.3, 0.4), support=(-1.0, 0.5, 2.0)),
        atoms((0.3, 0.3, 0.4), (-1.0, 0.5, 2.0)),
    ),
    "0.4 at 1, else N(0, 1)": (
        Mixture((0.4, 0.6), (PointMass(1.0), Gaussian(0.0, 1.0))),
        WeightLaw(((0.4, 1.0, 0.0), (0.6, 0.0, 1.0))),
    ),
    "N(0.2, 0.8^2) by its ppf": (Frozen(CdfAndPpf(normal(0.2, 0.8))), normal(0.2, 0.8)),
    "2, -1 or 1/2, unsorted": (
        Categorical((0.2, 0.5, 0.3), support=(2.0, -1.0, 0.5)),
        atoms((0.5, 0.3, 0.2), (-1.0, 0.5, 2.0)),
    ),
    "a bell on 0, 0.3, ..., 1.2": (
        DiscretisedGaussian(5, 0.5, 1.2, 0.1),
        bell_on_grid(5, 0.5, 1.2, 0.1),
    ),
    "-1, 0, 1 or 2 by its pmf": (Frozen(CdfAndPmf(WHOLE_NUMBERS)), WHOLE_NUMBERS),
}
"""Every kind of law of the package -> the law, and its definition."""


@dataclass(frozen=True)
class WeightSchedule:
    """A law or a schedule of laws for T rounds, beside its definition."""

    exploration: Callable[[int], Any]
    """T -> the law or schedule, as a policy takes it."""
    parts: tuple[tuple[float, WeightLaw], ...]
    """The share of the rounds that each law rules, in the order of the rounds."""

    def weights(self, horizon: int, seed: int) -> list[float]:
        """Draw w_1, ..., w_T by the definition, from the uniform numbers of the seed."""
        laws = [law for share, law in self.parts for _ in range(round(share * horizon))]
        uniforms = Streams(seed).uniforms("weight", horizon)
        return [law.quantile(float(u)) for law, u in zip(laws, uniforms, strict=True)]

    @property
    def optimism(self) -> float:
        """min_t P(w_t >= 1)."""
        return min(law.optimism for _, law in self.parts)


def constant_schedule(law: Any, definition: WeightLaw) -> WeightSchedule:
    """Return the schedule with the same law in every round."""
    return WeightSchedule(lambda horizon: law, ((1.0, definition),))


SCHEDULES: Mapping[str, WeightSchedule] = {
    "w = 1": constant_schedule(*LAWS["w = 1"]),
    "Ber(1/2)": constant_schedule(Bernoulli(0.5), coin(0.5)),
    "Ber(1/2), then Ber(1/4)": WeightSchedule(
        lambda horizon: Step(Bernoulli(0.5), Bernoulli(0.25), horizon // 2),
        ((0.5, coin(0.5)), (0.5, coin(0.25))),
    ),
    "i/4, i = 1..4": constant_schedule(*LAWS["i/4, i = 1..4"]),
    "1 or N(0, 1)": constant_schedule(
        Mixture((0.5, 0.5), (PointMass(1.0), Gaussian(0.0, 1.0))),
        WeightLaw(((0.5, 1.0, 0.0), (0.5, 0.0, 1.0))),
    ),
    "N(0, 1)": constant_schedule(*LAWS["N(0, 1)"]),
}
"""The laws that play for the regret bounds."""
