"""The information gain gamma_t that a width uses, in three declared meanings.

    realised   L / 2 = (1/2) log det(I + K / ridge) of what was played
    greedy     a certified upper bound of the maximum on a finite set, from the gain G_t of t
               greedily chosen points: the least of G_t / (1 - 1/e) and three others
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

EPSILON = float(np.finfo(float).eps)

Rounds = Any
"""A round t or an array of rounds; the formulas below return a number or an array accordingly."""

Term = Callable[[Rounds], tuple[Rounds, Rounds]]
"""t -> (fixed, share): gamma_t = fixed + share * L."""


class GreedyGain:
    """The information gain of t points, each the one with the largest variance.

    G_t = (1/2) log det(I + K / ridge)

    Points may repeat. (1 - 1/e) gamma_t <= G_t <= gamma_t, because the gain is monotone and
    submodular. Values are computed when they are first needed.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> from kernelbandits.theory import GreedyGain
    >>> greedy = GreedyGain(kb.RBF(0.2), kb.Arms(np.linspace(0, 1, 20)[:, None]), 1.0)
    >>> print(f"{greedy.value(50):.2f} <= gamma <= {greedy.bound(50):.2f}")
    5.70 <= gamma <= 5.83
    """

    def __init__(self, kernel: Any, arms: Arms, ridge: float) -> None:
        self._posterior = posterior_on(kernel, arms, ridge)
        self._values, self._bounds = [0.0], [0.0]
        self._counts = np.zeros(len(arms))
        self._largest, self._ridge = float(self._posterior.variance.max()), ridge

    def value(self, t: Rounds) -> Rounds:
        """Return G_t, the gain of t greedy points and a lower bound of gamma_t."""
        self._choose_points(int(np.max(t)))
        return np.array(self._values)[t] if np.ndim(t) else self._values[t]

    def bound(self, t: Rounds) -> Rounds:
        """Return an upper bound of gamma_t, the least of four.

        G_t / (1 - 1/e),   G_t + (1/2) (t max_x v(x) - sum_s v(x_s)),
        (t/2) ln(1 + sup k/ridge),   (n/2) ln(1 + t sup k/(n ridge))

        v is the variance / ridge after the t greedy points x_s. The second bound holds because the
        gain is a concave function of how often each arm is played, and v/2 is its gradient.
        """
        self._choose_points(int(np.max(t)))
        return np.array(self._bounds)[t] if np.ndim(t) else self._bounds[t]

    def _choose_points(self, rounds: int) -> None:
        """Choose greedy points up to this number."""
        while len(self._values) <= rounds:
            chosen = int(self._posterior.variance.argmax())
            self._posterior.update(chosen, 0.0)
            self._counts[chosen] += 1
            self._values.append(self._posterior.log_det / 2)
            self._bounds.append(self._bound_now())

    def _bound_now(self) -> float:
        """Return the upper bound of gamma_t after the last greedy point."""
        t, gain, arms = len(self._values) - 1, self._values[-1], len(self._counts)
        ratio = self._largest / self._ridge
        left = self._posterior.variance / self._ridge
        # The allowance for rounding is that of the D-optimal relaxation (docs/theory).
        rounding = 4 * np.count_nonzero(self._counts) * EPSILON * (1 + t * ratio)
        relaxed = gain + 0.5 * (t * float(left.max()) - float(self._counts @ left)) + rounding
        traces = (t / 2 * math.log1p(ratio), arms / 2 * math.log1p(t * ratio / arms))
        return min(gain / (1 - math.exp(-1)), relaxed, *traces)


def analytic_gain(kernel: Any, points: Array, ridge: float, t: Rounds) -> Rounds:
    """Return an upper bound of gamma_t for the linear kernel and |x| <= 1.

    gamma_t <= (d / 2) ln(1 + t / (d ridge))

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> points = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> [round(float(kb.theory.analytic_gain(kb.Linear(), points, 1.0, t)), 3) for t in (10, 100)]
    [1.792, 3.932]
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
    """Return gamma_t as fixed + share * L, by name or from a function t -> gamma_t.

    The result is a function t -> (fixed, share).

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[1.0, 0.0], [0.0, 1.0]])
    >>> realised = kb.theory.gain_term("realised", kb.Linear(), arms, ridge=1.0)
    >>> given = kb.theory.gain_term(lambda t: 2.0 * t, kb.Linear(), arms, ridge=1.0)
    >>> realised(10), given(10)
    ((0.0, 0.5), (array(20.), 0.0))
    """
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
