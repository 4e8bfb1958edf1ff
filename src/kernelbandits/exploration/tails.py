"""Integrals of tails, E Z = int_0^inf P(Z > u) du of a variable Z >= 0, at any scale.

The tail is evaluated at powers of two first. They show its scale, where it ends, and whether the
integral is finite. The range is then divided into panels of 33 points each. Where the polynomial
through every other point misses the points between them, the tail has a jump or a bend, and the
panel is halved.

A general integrator does not serve here: the scale of a user's law is unknown, and a law may have
atoms, at which the tail jumps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.checks import Array

Tail = Callable[[Any], Any]
"""u -> P(Z > u)"""

POWERS: Array = 0.7548776662466927 * 2.0 ** np.arange(-496.0, 497.0, 8.0)
"""Powers of 2^8, multiplied by a number that is not round, so that no panel ends at a point such as
1, where a law is likely to have an atom."""
UNSEEN = 1e-6
"""The probability that may be left beyond the last power."""
NEGLIGIBLE = 1e-17
"""A share of the integral too small to change any of its digits."""
LEAST_TAIL, ROUNDED_TAIL = 1e-290, 1e-12
"""The smallest tail whose digits are right: if computed directly, and if computed as 1 - cdf."""
GRAIN = 2.0**-54
"""1 - cdf takes no value between 0 and this."""
ACCURATE, USABLE = 1e-7, 1e-3
"""Relative errors: up to the first an integral counts as exact, up to the second it is more
accurate than a simulation."""
TOLERANCE = 1e-11
HALVINGS, MOST_PANELS = 60, 2000
"""Limits of the refinement. A tail that needs more is not piecewise smooth."""
AT_ONCE = 4096
"""Panels evaluated in one call, to limit the memory."""
INSET = 1e-10
"""Distance of the outermost points from the ends of a panel, where the tail may jump."""
ANGLES = np.pi * np.arange(33) / 32
NODES = np.clip((1 - np.cos(ANGLES)) / 2, INSET, 1 - INSET)
MOMENTS = [0.0 if k % 2 else 1 / (1 - k * k) for k in range(33)]
"""int cos(k arccos(1 - 2x)) dx over [0, 1]"""
WEIGHTS = np.linalg.solve(np.cos(np.outer(np.arange(33), ANGLES)), MOMENTS)
"""The weights of Clenshaw and Curtis, exact for polynomials of degree 32."""
COSINES = np.cos(np.outer(ANGLES, np.arange(17)))
BETWEEN = np.linalg.solve(COSINES[::2].T, COSINES[1::2].T)
"""The matrix that interpolates from every other point to the points between, by degree 16."""


@dataclass(frozen=True)
class Area:
    """An integral and a bound on its error."""

    value: float
    error: float = 0.0

    @property
    def usable(self) -> bool:
        """Whether the integral is more accurate than a simulation would be."""
        return self.error <= USABLE * self.value

    @property
    def remark(self) -> float:
        """The error if it is large enough to be reported, otherwise 0."""
        return self.error if self.error > ACCURATE * self.value else 0.0


INFINITE, UNKNOWN = Area(math.inf), Area(math.nan, math.inf)


def area(tail: Tail, breaks: Iterable[float] = (), least: float = LEAST_TAIL) -> Area:
    """Return the integral of a falling tail over u > 0.

    The result is INFINITE for a tail that falls no faster than 1/u, and UNKNOWN for a function that
    does not fall.

    Parameters
    ----------
    tail
        u -> P(Z > u), of a number or an array.
    breaks
        Points where the tail may jump.
    least
        The smallest value of the tail whose digits are right.
    """
    with np.errstate(all="ignore"):
        sizes = chances(tail, POWERS)
        if not is_falling(sizes) or sizes[-1] > UNSEEN:
            return UNKNOWN
        points, heights = octaves(tail, sizes)
        last, beyond = find_end(points, heights, least)
        if beyond is INFINITE:
            return INFINITE
        jumps = np.fromiter(breaks, float)
        edges = np.unique([0.0, *points[: last + 1], *jumps[(jumps > 0) & (jumps < points[last])]])
        inner = integral(tail, edges, TOLERANCE * float((points * heights).max()))
    return Area(inner.value + beyond.value, inner.error + beyond.error)


def least_trusted_tail(tail: Tail) -> float:
    """Return the smallest value of a tail whose digits are right.

    A tail computed as 1 - cdf has no digits left below 1e-12. It is recognised by having no value
    between 0 and 2^-54.
    """
    with np.errstate(all="ignore"):
        sizes = chances(tail, POWERS)
    return LEAST_TAIL if ((sizes > 0) & (sizes < GRAIN)).any() else ROUNDED_TAIL


def octaves(tail: Tail, sizes: Array) -> tuple[Array, Array]:
    """Return the powers of two at which the tail matters, and the tail there."""
    first, last = relevant_range(POWERS, sizes)
    points = POWERS[first] * 2.0 ** np.arange(8.0 * (last - first) + 1)
    heights = chances(tail, points)
    first, last = relevant_range(points, heights)
    return points[first : last + 1], heights[first : last + 1]


def relevant_range(points: Array, heights: Array) -> tuple[int, int]:
    """Return the first and the last point that matter for the integral.

    Before the first the tail is 1 or u is negligible; beyond the last nothing is left.
    """
    weights = points * heights
    live = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
    full = np.flatnonzero(heights >= 1 - GRAIN)
    first = max([0, *(live[:1] - 1), *full[-1:]])
    return int(first), int(min([len(points) - 1, *(live[-1:] + 1)]))


def find_end(points: Array, heights: Array, least: float) -> tuple[int, Area]:
    """Return the last point to integrate to, and the integral beyond it.

    A tail c u^-a has the integral u P(Z > u) / (a - 1) beyond u, which diverges for a <= 1. The
    exponent is measured over the last two octaves and must be steady. A tail that falls faster and
    faster, or ends, has nothing beyond its last point.
    """
    seen = np.flatnonzero(heights > least)
    last = int(seen[-1]) if len(seen) else 0
    if last < 2:
        return len(points) - 1, Area(0.0)
    before, power = np.log2(heights[last - 2 : last] / heights[last - 1 : last + 1])
    drift = abs(power - before)
    stops = last + 1 < len(points) and heights[last + 1] < heights[last] * 2**-power / 2
    if stops or drift > 0.05 * power:
        return len(points) - 1, Area(0.0)
    if power - 1 <= max(1e-9, 10 * drift):
        return last, INFINITE
    rest = points[last] * heights[last] / (power - 1)
    return last, Area(float(rest), float(rest * drift / (power - 1)))


def integral(tail: Tail, edges: Array, tolerance: float) -> Area:
    """Return the integral over the panels between the edges, halved until each is smooth."""
    left, right = edges[:-1], edges[1:]
    value = error = 0.0
    for halving in range(HALVINGS + 1):
        found, gap = integrate_panels(tail, left, right)
        rough = gap > tolerance
        if halving == HALVINGS or rough.sum() > MOST_PANELS:
            rough[:] = False
        value, error = value + math.fsum(found[~rough]), error + float(gap[~rough].sum())
        middle = (left[rough] + right[rough]) / 2
        left, right = np.append(left[rough], middle), np.append(middle, right[rough])
        if not len(left):
            break
    return Area(value, error)


def integrate_panels(tail: Tail, left: Array, right: Array) -> tuple[Array, Array]:
    """Return the integral on each panel, and an estimate of its error.

    The error is the mean distance between the tail and the polynomial through every other point.
    """
    value, gap = np.empty(len(left)), np.empty(len(left))
    for start in range(0, len(left), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        width = (right - left)[part]
        points = left[part, None] + width[:, None] * NODES
        heights = chances(tail, points.ravel()).reshape(points.shape)
        value[part] = width * (heights @ WEIGHTS)
        gap[part] = width * abs(heights[:, ::2] @ BETWEEN - heights[:, 1::2]).mean(axis=1)
    return value, gap


def is_falling(heights: Array) -> bool:
    """Tell whether the heights never rise, up to rounding."""
    return bool((np.diff(heights) <= 1e-9).all() and not np.isnan(heights).any())


def chances(tail: Tail, points: Array) -> Array:
    """Return the tail at the points, cut to [0, 1]."""
    return np.clip(evaluate_at_all(tail, points), 0.0, 1.0)


def evaluate_at_all(function: Callable[[Any], Any], points: Array) -> Array:
    """Return the function of every point, in one call if it takes an array."""
    try:
        values = np.asarray(function(points), dtype=float)
        if values.shape == points.shape:
            return values
    except (TypeError, ValueError):
        pass
    return np.array([function(float(point)) for point in points], dtype=float)
