"""The best point of a box, searched for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains.box import Box, check_sides, is_empty, is_flat, rows_of
from kernelbandits.domains.climb import Function, climb, evaluated, numbers
from kernelbandits.domains.mixed import MixedBox
from kernelbandits.domains.sobol import shifted, sobol

Values = Callable[[Array], Array]
"""Rows (n, d) -> values (n,)."""

CANDIDATES, ABOUT, STARTS = 128, 64, 10
"""For each variable: Sobol points, points about those worth starting about, and places to climb from."""
VARIABLES = 2, 8
"""No fewer variables are counted, and no more."""
FARTHEST = 2.5
"""So many scales away are the points about others at the most."""
POOL = 20
"""Places to climb from are chosen among so many times as many rows, the best ones."""
EVERY = 2048
"""A box of no more points is looked at as a whole."""
LARGEST_COUNT = 2**20
"""No more candidates are looked at, and no more starts climbed from."""
REACHED = 1e-6
EXCHANGES = 50


@dataclass(frozen=True)
class Found:
    """The best row met, its value, and how it was found."""

    row: Array
    value: float
    starts: int
    """Places climbed from; most of them give up where others are higher."""
    reached: int
    """How many of them came within 1e-6 of the best value."""
    evaluations: int
    """Rows at which the function was evaluated."""


def maximise(
    function: Function,
    box: Box | MixedBox,
    *,
    near: Any = None,
    scale: Any = None,
    candidates: int | None = None,
    starts: int | None = None,
    u: float = 0.5,
    values: Values | None = None,
) -> Found:
    """The row of the box where a function, given with its gradient, is greatest, as far as a search can tell.

    Looked at (by `values` if given: the function without gradient) are Sobol points shifted by u, the rows `near`, and
    rows about these at up to 2.5 times `scale`, a distance for each coordinate over which the function changes. From
    the best that are apart a quasi-Newton method climbs; separate values are changed one at a time until nothing
    improves. Equal arguments give equal results.
    """
    checks.needs(isinstance(box, (Box, MixedBox)), "maximise", "a Box or a MixedBox", box)
    checks.needs(checks.chance("maximise", "u", u) < 1, "maximise", "u < 1", u)
    checks.needs(callable(function), "maximise", "a function of rows", function)
    checks.needs(
        values is None or callable(values), "maximise", "values that are a function of rows", values
    )
    check_sides("maximise", box)
    count = number_of("candidates", candidates, CANDIDATES * counted(box))
    climbs = number_of("starts", starts, STARTS * counted(box))
    lengths, close = scales(scale, np.subtract(box.upper, box.lower)), worth(box, near)
    if isinstance(box, MixedBox) and box.count <= EVERY:
        return best_of_all(function, box, u, values)
    rows = looked_at(box, close, lengths, count, u)
    first = apart(rows, heights_of(function, values, rows), lengths, climbs)
    return Search(function, box, lengths).climbed(rows[first], len(rows))


def best_of_all(function: Function, box: MixedBox, u: float, values: Values | None = None) -> Found:
    """Of a small finite box every point is looked at; u chooses among equals."""
    rows = box.all()
    heights = heights_of(function, values, rows)
    equal = (heights == heights.max()).nonzero()[0]
    best = equal[int(u * len(equal))]
    return Found(rows[best], float(heights[best]), len(rows), within_reach(heights), len(rows))


def within_reach(heights: Array) -> int:
    return int((heights >= heights.max() - REACHED).sum())


def scales(given: Any, span: Array) -> Array:
    """One distance for each coordinate, no longer than its side: a quarter of that unless given."""
    if given is None:
        return span / 4
    of = (
        checks.lengthscales("maximise", list(given))
        if is_flat(given)
        else checks.positive("maximise", "lengthscale", given)
    )
    lengths = np.array(of)
    checks.needs(
        lengths.ndim == 0 or len(lengths) == len(span), "maximise", f"{len(span)} scales", given
    )
    shorter: Array = np.minimum(lengths, span)
    return shorter


def worth(box: Box | MixedBox, near: Any) -> Array:
    """The rows worth starting about, made admissible."""
    if near is None or is_empty(near):
        return np.empty((0, box.dimension))
    return box.nearest(rows_of("maximise", near, box.dimension))


def counted(box: Box | MixedBox) -> int:
    """The number of variables, kept within bounds."""
    return min(max(box.sides, VARIABLES[0]), VARIABLES[1])


def number_of(name: str, given: int | None, usual: int) -> int:
    count = usual if given is None else checks.whole("maximise", name, given)
    checks.needs(count <= LARGEST_COUNT, "maximise", f"{name} <= 2^20", given)
    return count


def looked_at(box: Box | MixedBox, near: Array, scale: Array, candidates: int, u: float) -> Array:
    """Sobol points, as many as the next power of two, the rows near, and rows about these."""
    spread = box.place(shifted(sobol(power_of(candidates), box.sides), u))
    if not len(near):
        return spread
    return np.vstack([spread, near, box.nearest(about(near, scale, ABOUT * counted(box), u))])


def power_of(count: int) -> int:
    """The least power of two that is no less."""
    return math.ceil(math.log2(count))


def about(near: Array, scale: Array, count: int, u: float) -> Array:
    """Rows x_i + r scale e, e a direction, 0 < r < FARTHEST, i = floor(m v^2): about the first ones more often."""
    unit = shifted(sobol(power_of(count), near.shape[1] + 2), u)
    normal = ndtri(np.clip(unit[:, 2:], 1e-9, 1 - 1e-9))
    normal /= np.maximum(np.sqrt((normal**2).sum(1)), 1e-9)[:, None]
    which = (len(near) * unit[:, 0] ** 2).astype(int)
    points: Array = near[which] + FARTHEST * unit[:, 1:2] * scale * normal
    return points


def heights_of(function: Function, values: Values | None, rows: Array) -> Array:
    """By `values` if given, else by the function."""
    return evaluated(function, rows)[0] if values is None else measured(values, rows)


def measured(values: Values, rows: Array) -> Array:
    """Values, -infinity for those that are no number."""
    needed = f"{len(rows)} values"
    with np.errstate(all="ignore"):
        heights = numbers(needed, values(rows.copy()))
    checks.needs(heights.shape == (len(rows),), "maximise", needed, heights.shape)
    return np.where(np.isnan(heights), -np.inf, heights)


def apart(rows: Array, heights: Array, scale: Array, count: int) -> npt.NDArray[np.intp]:
    """The best rows of which no two are within half a scale."""
    best = np.argsort(-heights, kind="stable")[: POOL * count]
    places, left = rows[best] / scale, np.isfinite(heights[best])
    left[0] = True
    chosen: list[int] = []
    while left.any() and len(chosen) < count:
        chosen.append(int(left.argmax()))
        left &= ((places - places[chosen[-1]]) ** 2).sum(1) > 0.25
        left[chosen[-1]] = False
    return best[chosen]


@dataclass(frozen=True)
class Search:
    """Climbs of a function in a box."""

    function: Function
    box: Box | MixedBox
    scale: Array

    def climbed(self, rows: Array, looked: int) -> Found:
        """Climb in the real coordinates, exchange separate values, and so on until nothing improves."""
        rows, heights, evaluations = self.up(rows)
        if any(self.box.discrete):
            rows, heights, more = self.exchanged(rows, heights)
            evaluations += more
        best = int(heights.argmax())
        return Found(
            rows[best], float(heights[best]), len(rows), within_reach(heights), looked + evaluations
        )

    def up(self, rows: Array) -> tuple[Array, Array, int]:
        """To local maxima, with the separate values held."""
        held = np.array(self.box.discrete)
        lower, upper = np.where(held, rows, self.box.lower), np.where(held, rows, self.box.upper)
        return climb(self.function, rows, lower, upper, self.scale)

    def exchanged(self, rows: Array, heights: Array) -> tuple[Array, Array, int]:
        """The best row's separate values are changed one at a time and climbed from, while that improves it."""
        evaluations = 0
        for _ in range(EXCHANGES):
            best = int(heights.argmax())
            tried, found, more = self.up(self.box.moves(rows[best]))
            evaluations += more
            if not found.max(initial=-np.inf) > heights[best]:
                break
            rows[best], heights[best] = tried[found.argmax()], found.max()
        return rows, heights, evaluations
