"""Laws made of others: mixtures, and any object with `cdf` and `ppf`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.exploration.laws import GREATEST_UNIFORM, Law
from kernelbandits.streams import LEAST_UNIFORM

MANY = 10_000
QUANTILES = (1e-12, 1e-6, 0.001, 0.1, 0.5, 0.9, 0.999, 1 - 1e-6, 1 - 1e-12)
"""Where the integral of a law's tail is split, so that no part of it is overlooked."""


@dataclass(frozen=True)
class Mixture(Law):
    """Draw a law, then the weight from it; one uniform serves for both."""

    weights: tuple[float, ...]
    laws: tuple[Law, ...]

    def __init__(self, weights: Iterable[float], laws: Iterable[Any]) -> None:
        parts = tuple(as_law(law) for law in laws)
        chances = checks.weights("Mixture", weights)
        checks.needs(len(parts) == len(chances), "Mixture", f"{len(chances)} laws", len(parts))
        object.__setattr__(self, "weights", chances)
        object.__setattr__(self, "laws", parts)

    def draw(self, u: Any) -> Any:
        """Law j where u falls in its share [s_j, s_j + p_j), then its weight at the rescaled (u - s_j) / p_j."""
        if np.ndim(u):
            return np.array([self.draw(float(item)) for item in u])
        starts = [0.0, *accumulate(self.weights)]
        which = max(j for j, chance in enumerate(self.weights) if chance > 0 and starts[j] <= u)
        inner = (u - starts[which]) / self.weights[which]
        return self.laws[which].draw(min(max(inner, 0.0), GREATEST_UNIFORM))

    def cdf(self, x: float) -> float:
        return self._average(law.cdf(x) for law in self.laws)

    @property
    def optimism(self) -> float:
        return self._average(law.optimism for law in self.laws)

    @property
    def mean_abs(self) -> float:
        return self._average(law.mean_abs for law in self.laws)

    def cdf_abs(self, u: float) -> float:
        return self._average(law.cdf_abs(u) for law in self.laws)

    @property
    def expectation(self) -> float:
        return self._average(law.expectation for law in self.laws)

    def tail(self, x: float) -> float:
        return self._average(law.tail(x) for law in self.laws)

    def tail_abs(self, u: float) -> float:
        return self._average(law.tail_abs(u) for law in self.laws)

    @property
    def atoms(self) -> tuple[float, ...]:
        live = (law for chance, law in zip(self.weights, self.laws, strict=True) if chance > 0)
        return tuple(sorted({value for law in live for value in law.atoms}))

    def _average(self, values: Iterable[float]) -> float:
        return math.fsum(p * value for p, value in zip(self.weights, values, strict=True))


@dataclass(frozen=True)
class Frozen(Law):
    """Any object with `cdf` and `ppf`, such as a frozen scipy.stats law; a mixed law must name its atoms."""

    law: Any
    given_atoms: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        name = type(self.law).__name__
        for u in (0.25, 0.5, 0.75):
            first, again = self.law.ppf(u), self.law.ppf(u)
            one = np.ndim(first) == 0 and checks.is_number(np.asarray(first)[()])
            checks.needs(one, name, "one finite weight", first)
            checks.needs(first == again, name, "ppf to give the same weight twice", (first, again))

    def draw(self, u: Any) -> Any:
        weights = np.asarray(self.law.ppf(np.maximum(u, LEAST_UNIFORM) if np.ndim(u) else max(u, LEAST_UNIFORM)), float)
        checks.needs(bool(np.isfinite(weights).all()), type(self.law).__name__, "finite weights", weights)
        return weights if np.ndim(u) else float(weights)

    def cdf(self, x: float) -> float:
        return float(self.law.cdf(x))

    @property
    def optimism(self) -> float:
        """P(w >= 1) = P(w > 1) + P(w = 1)."""
        if hasattr(self.law, "pmf"):
            return float(self.law.sf(1) + self.law.pmf(1))
        below = math.nextafter(1.0, 0.0)
        return float(self.law.sf(below)) if hasattr(self.law, "sf") else 1.0 - self.cdf(below)

    def cdf_abs(self, u: float) -> float:
        """P(|w| <= u) = P(w <= u) - P(w <= -u) + P(w = -u)."""
        if not hasattr(self.law, "pmf"):
            return super().cdf_abs(u)
        return float(self.law.cdf(u) - self.law.cdf(-u) + self.law.pmf(-u)) if u >= 0 else 0.0

    @property
    def atoms(self) -> tuple[float, ...]:
        """As given; for a law with `pmf`, its values, up to 10 000 of them that carry all but 1e-12 of the chance."""
        if self.given_atoms or not hasattr(self.law, "pmf"):
            return self.given_atoms
        if hasattr(self.law, "xk"):
            return tuple(sorted(float(value) for value in self.law.xk))
        least, most = float(self.law.ppf(1e-12)), float(self.law.ppf(1 - 1e-12))
        values = np.arange(least, min(most, least + MANY) + 1)
        return tuple(values[np.asarray(self.law.pmf(values)) > 0].tolist())

    @property
    def mean_abs(self) -> float:
        """E|w|, the sum over the values of a discrete law, else the integral of P(|w| > u), infinite if it diverges."""
        if hasattr(self.law, "pmf"):
            return math.fsum(abs(value) * float(self.law.pmf(value)) for value in self.atoms)
        from scipy.integrate import IntegrationWarning, quad

        quantiles = [abs(float(self.law.ppf(q))) for q in QUANTILES]
        breaks = [*sorted({0.0, *quantiles, *(abs(value) for value in self.atoms)}), math.inf]
        with warnings.catch_warnings():
            warnings.simplefilter("error", IntegrationWarning)
            try:
                return math.fsum(quad(lambda u: 1 - self.cdf_abs(u), a, b, limit=200)[0] for a, b in pairwise(breaks))
            except IntegrationWarning:
                return math.inf


def as_law(law: Any) -> Law:
    if isinstance(law, Law):
        return law
    if hasattr(law, "ppf") and hasattr(law, "cdf") and not isinstance(law, type):
        return Frozen(law)
    raise ValueError(f"an exploration law needs cdf and ppf, or one of kernelbandits' own laws, got {law!r}")
