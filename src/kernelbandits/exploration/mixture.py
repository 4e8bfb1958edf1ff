"""Mixtures of exploration laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.exploration.frozen import as_law
from kernelbandits.exploration.laws import GREATEST_UNIFORM, Law, Masses
from kernelbandits.exploration.tails import evaluate_at_all


@dataclass(frozen=True)
class Mixture(Law):
    """A law is drawn first, and then the weight from that law.

    >>> from kernelbandits import Gaussian, Mixture, PointMass
    >>> law = Mixture((0.75, 0.25), (PointMass(0.0), Gaussian(1.0, 0.5)))
    >>> law.draw(0.5), law.draw(0.875)
    (0.0, 1.0)
    >>> law.optimism
    0.125
    """

    spelling: ClassVar[str] = "mixture"

    weights: tuple[float, ...]
    """The probability of each law."""
    laws: tuple[Law, ...]
    """The laws; frozen laws of scipy.stats are accepted too."""

    def __init__(self, weights: Iterable[float], laws: Iterable[Any]) -> None:
        parts = tuple(as_law(law) for law in laws)
        chances = checks.weights("Mixture", weights)
        checks.needs(len(parts) == len(chances), "Mixture", f"{len(chances)} laws", len(parts))
        object.__setattr__(self, "weights", chances)
        object.__setattr__(self, "laws", parts)

    def draw(self, u: Any) -> Any:
        """Return the weight of law j at (u - s_j) / p_j, where u lies in [s_j, s_j + p_j).

        One uniform serves for both draws, because given the law the rescaled number is uniform.
        """
        if np.ndim(u):
            return self._draw_all(u)
        starts = [0.0, *accumulate(self.weights)]
        which = max(j for j, chance in enumerate(self.weights) if chance > 0 and starts[j] <= u)
        inner = (u - starts[which]) / self.weights[which]
        return self.laws[which].draw(min(max(inner, 0.0), GREATEST_UNIFORM))

    def _draw_all(self, u: Array) -> Array:
        """Draw for an array of uniforms, one law after the other."""
        starts, live = np.array([0.0, *accumulate(self.weights)]), np.flatnonzero(self.weights)
        which = live[np.searchsorted(starts[live], u, side="right") - 1]
        inner = np.clip((u - starts[which]) / np.array(self.weights)[which], 0.0, GREATEST_UNIFORM)
        drawn = np.empty(len(u))
        for j in live:
            drawn[which == j] = evaluate_at_all(self.laws[j].draw, inner[which == j])
        return drawn

    def cdf(self, x: float) -> float:
        return self._average(lambda law: law.cdf(x))

    @property
    def optimism(self) -> float:
        return self._average(lambda law: law.optimism)

    @property
    def mean_abs(self) -> float:
        return self._average(lambda law: law.mean_abs)

    def cdf_abs(self, u: float) -> float:
        return self._average(lambda law: law.cdf_abs(u))

    @property
    def expectation(self) -> float:
        return self._average(lambda law: law.expectation)

    def tail(self, x: Any) -> Any:
        return sum(p * law.tail(x) for p, law in self._parts())

    def below(self, x: Any) -> Any:
        return sum(p * law.below(x) for p, law in self._parts())

    @property
    def masses(self) -> Masses | None:
        """Values and probabilities of all parts, or None if one part cannot be listed."""
        listed = [(p, law.masses) for p, law in self._parts()]
        if any(masses is None for _, masses in listed):
            return None
        found = [
            (value, p * chance)
            for p, masses in listed
            if masses
            for value, chance in zip(*masses, strict=True)
        ]
        return [value for value, _ in found], [chance for _, chance in found]

    @property
    def atoms(self) -> tuple[float, ...]:
        return tuple(sorted({value for _, law in self._parts() for value in law.atoms}))

    def _parts(self) -> list[tuple[float, Law]]:
        """Return the laws of positive probability, each with its probability."""
        return [
            (chance, law) for chance, law in zip(self.weights, self.laws, strict=True) if chance > 0
        ]

    def _average(self, of: Callable[[Law], float]) -> float:
        return math.fsum(p * of(law) for p, law in self._parts())
