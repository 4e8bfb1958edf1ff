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
from kernelbandits.domains.box import Box, rows_of
from kernelbandits.domains.climb import Function, climb, evaluated
from kernelbandits.domains.mixed import MixedBox
from kernelbandits.domains.sobol import shifted, sobol

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
    values: Callable[[Array], Array] | None = None,
) -> Found:
    """The row of the box where a function, given with its gradient, is greatest, as far as a search can tell.

    Looked at (by `values` if given: the function without gradient) are Sobol points shifted by u, the rows `near`, and
    rows about these at up to 2.5 times `scale`, a distance for each coordinate over which the function changes. From
    the best that are apart a quasi-Newton method climbs; separate values are changed one at a time until nothing
    improves. Equal arguments give equal results.
    """
    checks.needs(isinstance(box, (Box, MixedBox)), "maximise", "a Box or a MixedBox", box)
    checks.needs(checks.chance("maximise", "u", u) < 1, "maximise", "u < 1", u)
    if isinstance(box, MixedBox) and box.count <= EVERY:
        return best_of_all(function, box, u)
    count = number_of("candidates", candidates, CANDIDATES * counted(box))
    climbs = number_of("starts", starts, STARTS * counted(box))
    lengths = scales(scale, np.subtract(box.upper, box.lower))
    rows = looked_at(box, worth(box, near), lengths, count, u)
    heights = evaluated(function, rows)[0] if values is None else measured(values, rows)
    first = apart(rows, heights, lengths, climbs)
    return Search(function, box, lengths).climbed(rows[first], len(rows))


def best_of_all(function: Function, box: MixedBox, u: float) -> Found:
    """Of a small finite box every point is looked at; u chooses among equals."""
    rows = box.all()
    heights = evaluated(function, rows)[0]
    equal = (heights == heights.max()).nonzero()[0]
    best = equal[int(u * len(equal))]
    return Found(rows[best], float(heights[best]), len(rows), within_reach(heights), len(rows))


def within_reach(heights: Array) -> int:
    return int((heights >= heights.max() - REACHED).sum())


def scales(given: Any, span: Array) -> Array:
    """One distance for each coordinate, no longer than its side: a quarter of that unless given."""
    if given is None:
        return span / 4
    lengths = np.array(checks.lengthscales("maximise", given if np.ndim(given) == 0 else list(given)))
    checks.needs(lengths.ndim == 0 or len(lengths) == len(span), "maximise", f"{len(span)} scales", given)
    shorter: Array = np.minimum(lengths, span)
    return shorter


def worth(box: Box | MixedBox, near: Any) -> Array:
    """The rows worth starting about, made admissible."""
    if near is None or np.size(near) == 0:
        return np.empty((0, box.dimension))
    return box.nearest(rows_of("maximise", near, box.dimension))


def counted(box: Box | MixedBox) -> int:
    """The number of variables, kept within bounds."""
    return min(max(box.sides, VARIABLES[0]), VARIABLES[1])


def number_of(name: str, given: int | None, usual: int) -> int:
    return usual if given is None else checks.whole("maximise", name, given)


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


def measured(values: Callable[[Array], Array], rows: Array) -> Array:
    """Values, -infinity for those that are no number."""
    with np.errstate(all="ignore"):
        heights = values(rows)
    checks.needs(np.shape(heights) == (len(rows),), "maximise", f"{len(rows)} values", np.shape(heights))
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
        return Found(rows[best], float(heights[best]), len(rows), within_reach(heights), looked + evaluations)

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
