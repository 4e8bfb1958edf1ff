"""The information gain gamma_t that a width uses, in three declared meanings.

    realised   L / 2 = (1/2) log det(I + K / ridge) of what was played
    greedy     G_t / (1 - 1/e), a certified upper bound of the maximum on a finite set; G_t is the
               gain of t greedily chosen points
    analytic   (d / 2) ln(1 + t / (d ridge)), for the linear kernel on the unit ball

realised <= maximum <= greedy. To compare two policies, give both the same kind of gain: the kinds
differ by more than the policies do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.kernels import Linear
from kernelbandits.posterior import posterior_on

GAINS = ("realised", "greedy", "analytic")

Rounds = Any
"""A round t or an array of rounds; the formulas below return a number or an array accordingly."""

Term = Callable[[Rounds], tuple[Rounds, Rounds]]
"""t -> (fixed, share): gamma_t = fixed + share * L."""


class GreedyGain:
    """G_t = (1/2) log det(I + K / ridge) of t points, each the one with the largest variance.

    Points may repeat. (1 - 1/e) gamma_t <= G_t <= gamma_t, because the gain is monotone and
    submodular. Values are computed when they are first needed.
    """

    def __init__(self, kernel: Any, arms: Arms, ridge: float) -> None:
        self._posterior = posterior_on(kernel, arms, ridge)
        self._values = [0.0]

    def value(self, t: Rounds) -> Rounds:
        """Return G_t, the gain of t greedy points and a lower bound of gamma_t."""
        while len(self._values) <= np.max(t):
            self._posterior.update(int(self._posterior.variance.argmax()), 0.0)
            self._values.append(self._posterior.log_det / 2)
        return np.array(self._values)[t] if np.ndim(t) else self._values[t]

    def bound(self, t: Rounds) -> Rounds:
        """Return G_t / (1 - 1/e), an upper bound of gamma_t."""
        return self.value(t) / (1 - math.exp(-1))


def analytic_gain(kernel: Any, points: Array, ridge: float, t: Rounds) -> Rounds:
    """Return an upper bound of gamma_t for the linear kernel and |x| <= 1.

    gamma_t <= (d / 2) ln(1 + t / (d ridge))
    """
    checks.needs(
        kernel == Linear(),
        "the analytic gain",
        "the Linear kernel (others have rates only)",
        kernel,
    )
    longest = float(kernel.diagonal(points).max())
    checks.needs(
        longest <= 1 + 1e-9, "the analytic gain", "points in the unit ball", math.sqrt(longest)
    )
    d = points.shape[1]
    return d / 2 * np.log1p(t / (d * ridge))


def gain_name(gain: str | Callable[[int], float]) -> str:
    """Return the name of the gain in files of results."""
    if isinstance(gain, str):
        return gain
    return f"given by {getattr(gain, '__name__', type(gain).__name__)}"


def gain_term(gain: str | Callable[[int], float], kernel: Any, arms: Arms, ridge: float) -> Term:
    """Return gamma_t as fixed + share * L, by name or from a function t -> gamma_t."""
    if callable(gain):
        given = np.vectorize(
            lambda t: checks.nonnegative("a gain function", "gamma_t", gain(t)), otypes=[float]
        )
        return lambda t: (given(t), 0.0)
    checks.one_of("information gain", "gain", gain, GAINS)
    if gain == "realised":
        return lambda t: (0.0, 0.5)
    if gain == "greedy":
        greedy = GreedyGain(kernel, arms, ridge)
        return lambda t: (greedy.bound(t), 0.0)
    analytic_gain(kernel, arms.points, ridge, 0)
    return lambda t: (analytic_gain(kernel, arms.points, ridge, t), 0.0)
