"""E max_s Z_s of independent variables Z_s >= 0, of which many have the same law.

It is a finite sum if all variables are discrete, else an integral:

    E max_s Z_s = int_0^inf (1 - prod_s P(Z_s <= u)) du
                = int_0^inf -expm1(sum_j n_j log1p(-P(Z_j > u))) du.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.exploration import Law
from kernelbandits.exploration.tails import LEAST_TAIL, Area, area, chances, evaluate_at_all

Rows = tuple[Array, Array, Array]
"""Values and probabilities of discrete variables, a row each, and how many variables each has."""

BLOCK = 1 << 20
"""Weights drawn at once."""


@dataclass(frozen=True)
class ContinuousLaw:
    """The law of a variable that is not discrete, and how many variables have it."""

    count: float
    tail: Callable[[Any], Any]
    """P(Z > u)"""
    atoms: tuple[float, ...] = ()
    least_tail: float = LEAST_TAIL
    """Values of the tail below this are rounding errors."""


def expected_maximum(variables: Iterable[Rows | ContinuousLaw]) -> Area:
    """Return E max over all variables, with an estimate of the error."""
    given = list(variables)
    parts = [part for part in given if isinstance(part, ContinuousLaw)]
    steps = Steps.of(rows for rows in given if not isinstance(rows, ContinuousLaw))
    if not parts:
        return Area(steps.mean)

    def exceeds(u: Array) -> Array:
        logs = steps.log_within(u)
        for part in parts:
            logs += part.count * np.log1p(-chances(part.tail, u))
        return -np.expm1(logs)

    atoms = np.concatenate([steps.values, *(part.atoms for part in parts)])
    rounded = sum(part.count * part.least_tail for part in parts if part.least_tail > LEAST_TAIL)
    return area(exceeds, atoms, max(LEAST_TAIL, rounded))


@dataclass(frozen=True)
class Steps:
    """The distribution of the maximum of discrete variables."""

    values: Array
    """From the largest to the smallest."""
    logs: Array
    """ln P(max <= u): first for u at or above the largest value, then between each two values."""

    @classmethod
    def of(cls, rows: Iterable[Rows]) -> Steps:
        found = [log_probability_drops(*row) for row in rows]
        values = np.concatenate([np.empty(0), *(values for values, _ in found)])
        changes = np.concatenate([np.empty(0), *(changes for _, changes in found)])
        order = np.argsort(-values, kind="stable")
        return cls(values[order], np.append(0.0, np.cumsum(changes[order])))

    @property
    def mean(self) -> float:
        """sum_j (v_j - v_(j+1)) P(max >= v_j)"""
        return float(np.sum(np.diff(self.values, append=0.0) * np.expm1(self.logs[1:])))

    def log_within(self, u: Array) -> Array:
        """Return ln P(max <= u)."""
        return self.logs[np.searchsorted(-self.values, -u)]


def log_probability_drops(values: Array, chances: Array, counts: Array) -> tuple[Array, Array]:
    """Return the positive values v, and how ln P(max <= u) jumps at each.

    n [ln P(Z < v) - ln P(Z <= v)]
    """
    order = np.argsort(-values, axis=1)
    falling = np.take_along_axis(values, order, axis=1)
    shares = np.take_along_axis(chances, order, axis=1)
    reached = np.minimum(np.cumsum(shares, axis=1), 1.0)
    before = np.hstack([np.zeros((len(values), 1)), reached[:, :-1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = counts[:, None] * np.where(
            before < 1, np.log1p(-reached) - np.log1p(-before), 0.0
        )
    live = (falling > 0) & (shares > 0)
    return falling[live], changes[live]


def simulate_maxima(
    laws: Mapping[Law, int], least: float, samples: int, rng: np.random.Generator
) -> Array:
    """Draw schedules, and return three maxima of each of them, an array (3, samples).

    max |w_t|,  max a_t |w_t|,  max a_t (w_t - E w_t)^+

    a_t = least / C1_t.
    """
    greatest = np.zeros((3, samples))
    for law, count in laws.items():
        low, high = draw_extremes(law, count, samples, rng)
        size, scale = np.maximum(high, -low), least / law.optimism
        greatest = np.maximum(greatest, [size, scale * size, scale * (high - law.expectation)])
    return greatest


def draw_extremes(
    law: Law, count: int, samples: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw the smallest and the largest of `count` weights, for each of the samples."""
    low, high = np.full(samples, np.inf), np.full(samples, -np.inf)
    step = max(1, BLOCK // samples)
    for start in range(0, count, step):
        uniforms = rng.random(samples * min(step, count - start))
        drawn = evaluate_at_all(law.draw, uniforms).reshape(samples, -1)
        low, high = np.minimum(low, drawn.min(axis=1)), np.maximum(high, drawn.max(axis=1))
    return low, high
