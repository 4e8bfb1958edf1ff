"""E Z = int_0^inf P(Z > u) du of a variable Z >= 0, at any scale and for any tail.

The tail is looked at on powers of two first: they show its scale, where it ends and whether the integral is finite.
Then 33 points on each of many panels, from end to end, are looked at together: where a polynomial through every other
point misses the points between, there is a jump or a bend, and the panel is halved.
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
"""Shifted, so that no panel ends where a law is likely to."""
UNSEEN = 1e-6
"""The chance that may be left beyond the last power."""
NEGLIGIBLE = 1e-17
"""A share of the integral that none of its digits can see."""
LEAST_TAIL, ROUNDED_TAIL = 1e-290, 1e-12
"""How small a tail is believed, and how small one that was computed as 1 - cdf."""
GRAIN = 2.0**-54
"""No 1 - cdf lies between 0 and this."""
ACCURATE, USABLE = 1e-7, 1e-3
"""The relative errors up to which an integral is taken for exact, and up to which it is better than a simulation."""
TOLERANCE = 1e-11
HALVINGS, MOST_PANELS = 60, 2000
"""No tail that needs more is piecewise smooth."""
AT_ONCE = 4096
INSET = 1e-10
"""By which the outermost points keep off the ends of a panel, where the tail may jump."""
ANGLES = np.pi * np.arange(33) / 32
NODES = np.clip((1 - np.cos(ANGLES)) / 2, INSET, 1 - INSET)
MOMENTS = [0.0 if k % 2 else 1 / (1 - k * k) for k in range(33)]
"""int cos(k arccos(1 - 2x)) dx over [0, 1]"""
WEIGHTS = np.linalg.solve(np.cos(np.outer(np.arange(33), ANGLES)), MOMENTS)
"""Clenshaw-Curtis, exact for polynomials of degree 32."""
COSINES = np.cos(np.outer(ANGLES, np.arange(17)))
BETWEEN = np.linalg.solve(COSINES[::2].T, COSINES[1::2].T)
"""From every other point to the points between them, by the polynomial of degree 16."""


@dataclass(frozen=True)
class Area:
    """An integral, and by how much it may be off."""

    value: float
    error: float = 0.0

    @property
    def usable(self) -> bool:
        return self.error <= USABLE * self.value

    @property
    def remark(self) -> float:
        """The error, where it is worth a word."""
        return self.error if self.error > ACCURATE * self.value else 0.0


INFINITE, UNKNOWN = Area(math.inf), Area(math.nan, math.inf)


def area(tail: Tail, breaks: Iterable[float] = (), least: float = LEAST_TAIL) -> Area:
    """int_0^inf tail(u) du of a falling tail that may jump at the breaks and is believed down to the least height.

    Infinite for a tail that falls no faster than 1/u as far as it is believed; unknown for what does not fall.
    """
    with np.errstate(all="ignore"):
        sizes = chances(tail, POWERS)
        if not falls(sizes) or sizes[-1] > UNSEEN:
            return UNKNOWN
        points, heights = octaves(tail, sizes)
        last, beyond = ending(points, heights, least)
        if beyond is INFINITE:
            return INFINITE
        jumps = np.fromiter(breaks, float)
        edges = np.unique([0.0, *points[: last + 1], *jumps[(jumps > 0) & (jumps < points[last])]])
        inner = integral(tail, edges, TOLERANCE * float((points * heights).max()))
    return Area(inner.value + beyond.value, inner.error + beyond.error)


def believed(tail: Tail) -> float:
    """The least height down to which a tail has digits: not far if it is 1 - cdf in disguise."""
    with np.errstate(all="ignore"):
        sizes = chances(tail, POWERS)
    return LEAST_TAIL if ((sizes > 0) & (sizes < GRAIN)).any() else ROUNDED_TAIL


def octaves(tail: Tail, sizes: Array) -> tuple[Array, Array]:
    """The powers of two at which the tail matters, and the tail there."""
    first, last = relevant(POWERS, sizes)
    points = POWERS[first] * 2.0 ** np.arange(8.0 * (last - first) + 1)
    heights = chances(tail, points)
    first, last = relevant(points, heights)
    return points[first : last + 1], heights[first : last + 1]


def relevant(points: Array, heights: Array) -> tuple[int, int]:
    """The last point before which the tail is 1 or u too small, and the first beyond which nothing is left."""
    weights = points * heights
    live = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
    full = np.flatnonzero(heights >= 1 - GRAIN)
    first = max([0, *(live[:1] - 1), *full[-1:]])
    return int(first), int(min([len(points) - 1, *(live[-1:] + 1)]))


def ending(points: Array, heights: Array, least: float) -> tuple[int, Area]:
    """The last point to integrate to, and u P(Z > u) / (a - 1) beyond it for a tail c u^-a; its error is that of a.

    Only a tail that has a steady a down to the least height is such; one that stops before, or falls ever faster, ends.
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
    """The integral over panels between the edges, halved until each is smooth."""
    left, right = edges[:-1], edges[1:]
    value = error = 0.0
    for halving in range(HALVINGS + 1):
        found, gap = on_panels(tail, left, right)
        rough = gap > tolerance
        if halving == HALVINGS or rough.sum() > MOST_PANELS:
            rough[:] = False
        value, error = value + math.fsum(found[~rough]), error + float(gap[~rough].sum())
        middle = (left[rough] + right[rough]) / 2
        left, right = np.append(left[rough], middle), np.append(middle, right[rough])
        if not len(left):
            break
    return Area(value, error)


def on_panels(tail: Tail, left: Array, right: Array) -> tuple[Array, Array]:
    """The integral on each panel from 33 points, and by how much every other point misjudges the points between."""
    value, gap = np.empty(len(left)), np.empty(len(left))
    for start in range(0, len(left), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        width = (right - left)[part]
        points = left[part, None] + width[:, None] * NODES
        heights = chances(tail, points.ravel()).reshape(points.shape)
        value[part] = width * (heights @ WEIGHTS)
        gap[part] = width * abs(heights[:, ::2] @ BETWEEN - heights[:, 1::2]).mean(axis=1)
    return value, gap


def falls(heights: Array) -> bool:
    return bool((np.diff(heights) <= 1e-9).all() and not np.isnan(heights).any())


def chances(tail: Tail, points: Array) -> Array:
    return np.clip(at_all(tail, points), 0.0, 1.0)


def at_all(function: Callable[[Any], Any], points: Array) -> Array:
    """The function of every point: at once where it takes an array, one by one where it does not."""
    try:
        values = np.asarray(function(points), dtype=float)
        if values.shape == points.shape:
            return values
    except (TypeError, ValueError):
        pass
    return np.array([function(float(point)) for point in points], dtype=float)
