"""The search for the best point of a box."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains.bfgs import (
    STEPS,
    USUAL,
    Ascent,
    Function,
    Halving,
    Mask,
    as_numbers,
    evaluate,
    projected_bfgs,
    value_range,
)
from kernelbandits.domains.box import Box, as_rows, check_sides, is_empty, is_flat
from kernelbandits.domains.mixed import MixedBox
from kernelbandits.domains.sobol import shift_points, sobol

Values = Callable[[Array], Array]
"""Rows (n, d) -> values (n,)."""

CANDIDATES, ABOUT, STARTS = 128, 64, 10
"""For each variable: Sobol points, rows around those given as near, and starts of the ascent."""
VARIABLES = 2, 8
"""For these counts a box has at least 2 and at most 8 variables, which limits the cost."""
FARTHEST = 2.5
"""The largest distance, in scales, of the rows around those given as near."""
INCUMBENTS = 64
"""Of the rows given as near, a quick search evaluates so many themselves, the first ones."""
POOL = 20
"""Starts are chosen among this many times as many rows, the best ones."""
TOGETHER = 96
"""Of so many rows at a time all distances are computed."""
EVERY = 2048
"""A finite box with at most this many points is evaluated completely."""
LARGEST_COUNT = 2**20
"""The most candidates, and the most starts."""
REACHED = 1e-6
"""An ascent that ends within this distance of the best value counts as having reached it."""
ENOUGH, ENOUGH_BY_SKETCH = 1e-10, 1e-9
"""A quick ascent ends when its predicted rise is below this, relative to how much the starts
differ. With a sketch the function takes long, and the last digits are not worth it."""
ROUNDED = 3
"""How many ends of an ascent that moved freely on grids are rounded."""
TRIED = 8
"""Of more exchanges of separate values than this, the best ones are tried with an ascent."""
EXCHANGES = 50
"""The most exchanges of separate values."""


SKETCHED, SETTLED, SETTLING = 10, 3, 20
"""The most steps of an ascent by a sketch, how many of its ends then ascend by the function, and
the most steps of these."""


class SearchedFunction(NamedTuple):
    """A function of rows that is searched, with its gradient and without it."""

    function: Function
    values: Values


@dataclass(frozen=True)
class Maximum:
    """The best row found, its value, and how it was found.

    `maximise` returns it.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> def hill(rows):
    ...     return 1 - np.square(rows - 0.3).sum(1), -2 * (rows - 0.3)
    >>> found = kb.domains.maximise(hill, kb.Box((0.0,), (1.0,)))
    >>> found.row.round(4), round(found.value, 6), found.starts >= found.reached
    (array([0.3]), 1.0, True)
    """

    row: Array
    """The point, as a row of the box."""
    value: float
    """The function there."""
    starts: int
    """Starts of the ascent. Most stop early, where others are higher."""
    reached: int
    """How many of them ended within 1e-6 of the best value."""
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
    effort: float = 1.0,
    steps: int = STEPS,
    u: float = 0.5,
    values: Values | None = None,
    quick: bool = False,
    sketch: SearchedFunction | None = None,
    halving: Halving = USUAL,
) -> Maximum:
    """Search the row of a box at which a function is largest.

    The function is evaluated at Sobol points, at the rows `near` and at rows around these. From the
    best of them that are not close to each other, BFGS ascends to local maxima. The separate values
    of a mixed box are then changed one at a time until nothing improves. A finite box of at most
    2048 points is evaluated completely. Equal arguments give equal results.

    This is a search: the maximum found may be a local one.

    Parameters
    ----------
    function
        Rows (n, d) -> values (n,) and gradients (n, d).
    box
        Where to search.
    near
        Rows around which maxima are expected, the most promising first; for an index policy the
        points played.
    scale
        The distance over which the function changes, one number or one for each coordinate: the
        lengthscale of a kernel. A quarter of each side by default.
    candidates, starts
        How many Sobol points are evaluated, and from how many rows the ascent starts.
    effort
        A factor on the usual numbers of candidates and starts. Half of them find nearly the same
        maxima in half of the time.
    steps
        The most steps of an ascent. One that climbs to a ridge, where the slope jumps, does not end
        by itself, and gains little after some 15 steps.
    u
        A number in [0, 1) that shifts the Sobol points. Different numbers find different maxima of
        equal height.
    values
        The function without its gradient, if that is faster.
    quick
        Whether the last digits of the maximum are not worth their time: an ascent then ends a
        little earlier, and where another start is certainly higher, and of the rows `near` only
        the first 64 are evaluated themselves.
    sketch
        A cheaper function with maxima at about the same places. Starts are chosen and moved by it,
        and only the best of their ends ascend by the function itself.
    halving
        When the lower half of the starts stops.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> def hill(rows):
    ...     away = rows - np.array([0.3, 0.8])
    ...     return -(away**2).sum(1), -2 * away
    >>> kb.domains.maximise(hill, kb.Box((0.0, 0.0), (1.0, 1.0))).row.round(4)
    array([0.3, 0.8])
    """
    checks.needs(isinstance(box, (Box, MixedBox)), "maximise", "a Box or a MixedBox", box)
    checks.needs(checks.chance("maximise", "u", u) < 1, "maximise", "u < 1", u)
    checks.needs(callable(function), "maximise", "a function of rows", function)
    checks.needs(
        values is None or callable(values), "maximise", "values that are a function of rows", values
    )
    check_sides("maximise", box)
    share = checks.positive("maximise", "effort", effort) * variable_count(box)
    count = check_count("candidates", candidates, math.ceil(CANDIDATES * share))
    checks.whole("maximise", "steps", steps)
    climbs = check_count("starts", starts, math.ceil(STARTS * share))
    if isinstance(box, MixedBox) and box.activity is not None:
        function, values = hold_inactive(box, function, values)
        if sketch is not None:
            sketch = SearchedFunction(*hold_inactive(box, *sketch))
    lengths, close = check_scales(scale, np.subtract(box.upper, box.lower)), check_near(box, near)
    if isinstance(box, MixedBox) and box.count <= EVERY:
        return search_all(function, box, u, values)
    known = close[:INCUMBENTS] if quick else close
    rows = candidate_rows(box, close, lengths, count, math.ceil(ABOUT * share), u, known)
    heights = evaluate_values(*((function, values) if sketch is None else sketch), rows)
    first = separate_rows(rows, heights, lengths, climbs)
    least = None
    if quick:
        least = (ENOUGH if sketch is None else ENOUGH_BY_SKETCH) * value_range(heights[first])
    search = Search(function, box, lengths, steps, values, least, sketch, halving)
    return search.run(rows[first], len(rows))


def hold_inactive(box: MixedBox, function: Function, values: Values | None) -> tuple[Function, Any]:
    """Return functions of rows in which inactive variables do not move: their slopes are 0."""
    assert box.activity is not None
    activity = box.activity

    def held(rows: Array) -> tuple[Array, Array]:
        heights, slopes = function(activity.neutralise(rows))
        return heights, np.where(activity.find_inactive_coordinates(rows), 0.0, slopes)

    return held, None if values is None else lambda rows: values(activity.neutralise(rows))


def search_all(
    function: Function, box: MixedBox, u: float, values: Values | None = None
) -> Maximum:
    """Evaluate every point of a small finite box; u chooses among equal maxima."""
    rows = box.all_rows()
    heights = evaluate_values(function, values, rows)
    equal = (heights == heights.max()).nonzero()[0]
    best = equal[int(u * len(equal))]
    return Maximum(rows[best], float(heights[best]), len(rows), count_reached(heights), len(rows))


def count_reached(heights: Array) -> int:
    """Return how many values are within 1e-6 of the largest."""
    return int((heights >= heights.max() - REACHED).sum())


def check_scales(given: Any, span: Array) -> Array:
    """Return one distance for each coordinate, at most its side; by default a quarter of it."""
    if given is None:
        return span / 4
    if is_flat(given):
        lengths = np.array(checks.lengthscales("maximise", list(given)))
    else:
        lengths = np.array(checks.positive("maximise", "lengthscale", given))
    checks.needs(
        lengths.ndim == 0 or len(lengths) == len(span), "maximise", f"{len(span)} scales", given
    )
    shorter: Array = np.minimum(lengths, span)
    return shorter


def check_near(box: Box | MixedBox, near: Any) -> Array:
    """Return the rows `near`, moved into the box."""
    if near is None or is_empty(near):
        return np.empty((0, box.dimension))
    return box.nearest(as_rows("maximise", near, box.dimension))


def variable_count(box: Box | MixedBox) -> int:
    """Return the number of variables, but at least 2 and at most 8."""
    return min(max(box.sides, VARIABLES[0]), VARIABLES[1])


def check_count(name: str, given: int | None, usual: int) -> int:
    """Return the number given, or the usual one, checked."""
    count = usual if given is None else checks.whole("maximise", name, given)
    checks.needs(count <= LARGEST_COUNT, "maximise", f"{name} <= 2^20", given)
    return count


def candidate_rows(
    box: Box | MixedBox,
    near: Array,
    scale: Array,
    candidates: int,
    about: int,
    u: float,
    known: Array,
) -> Array:
    """Return Sobol points, rows around those `near`, and the rows `known`.

    Sobol points are evenly spread only in powers of two, so their number is rounded up to one.
    """
    spread = box.from_unit(shift_points(sobol(next_power(candidates), box.sides), u))
    if not len(near):
        return spread
    # With short lengthscales the maxima of mean + w * width * sd lie a lengthscale or two away from
    # the points played, in places that few Sobol points reach.
    around = rows_around(near, scale, about, u)
    if is_constrained(box):
        around = box.feasible.pull_inside(box.without_constraints.nearest(around))
    else:
        around = box.nearest(around)
    return np.vstack([spread, known, around])


def next_power(count: int) -> int:
    """Return the least p with 2^p >= count."""
    return math.ceil(math.log2(count))


def rows_around(near: Array, scale: Array, count: int, u: float) -> Array:
    """Return rows x_i + r scale e, with e a direction and 0 < r < FARTHEST.

    i = floor(m v^2) for a uniform v, so there are more rows around the first, most promising ones.
    """
    unit = shift_points(sobol(next_power(count), near.shape[1] + 2), u)
    normal = ndtri(np.clip(unit[:, 2:], 1e-9, 1 - 1e-9))
    normal /= np.maximum(np.sqrt((normal**2).sum(1)), 1e-9)[:, None]
    which = (len(near) * unit[:, 0] ** 2).astype(int)
    points: Array = near[which] + FARTHEST * unit[:, 1:2] * scale * normal
    return points


def evaluate_values(function: Function, values: Values | None, rows: Array) -> Array:
    """Return the values of the rows, computed by `values` if it is given."""
    if values is None:
        return evaluate(function, rows)[0]
    return evaluate_without_gradient(values, rows)


def evaluate_without_gradient(values: Values, rows: Array) -> Array:
    """Return the values, with -infinity for those that are not a number."""
    needed = f"{len(rows)} values"
    with np.errstate(all="ignore"):
        heights = as_numbers(needed, values(rows.copy()))
    checks.needs(heights.shape == (len(rows),), "maximise", needed, heights.shape)
    return np.where(np.isnan(heights), -np.inf, heights)


# Far more scales than a float can square are still far.
@np.errstate(over="ignore", invalid="ignore")
def separate_rows(rows: Array, heights: Array, scale: Array, count: int) -> npt.NDArray[np.intp]:
    """Return the numbers of the best rows such that no two are within half a scale.

    Two starts that close would end at the same maximum.
    """
    best = np.argsort(-heights, kind="stable")[: POOL * count]
    # One row of memory for each coordinate, which is added up faster.
    places, left = np.ascontiguousarray((rows[best] / scale).T), np.isfinite(heights[best])
    # If no value is finite the first row is still returned, so that there is a result.
    left[0] = True
    chosen: list[int] = []
    for first in range(0, len(best), TOGETHER):
        block = np.arange(first, min(first + TOGETHER, len(best)))[left[first : first + TOGETHER]]
        here = places[:, block]
        if chosen:
            far = squared_distances(places[:, chosen], here) > 0.25
            free = far.all(0)
            block, here = block[free], here[:, free]
        close = squared_distances(here, here) <= 0.25
        taken = np.zeros(len(block), dtype=bool)
        for place, number in enumerate(block.tolist()):
            if not taken[place]:
                chosen.append(number)
                if len(chosen) == count:
                    return best[chosen]
                taken |= close[place]
    return best[chosen]


def squared_distances(left: Array, right: Array) -> Array:
    """Return the squared distances of points in columns, an array of all pairs."""
    squares: Array = np.zeros((left.shape[1], right.shape[1]))
    for here, there in zip(left, right, strict=True):
        squares += np.square(here[:, None] - there)
    return squares


@dataclass(frozen=True)
class Search:
    """The ascent of a function in a box, from given starts."""

    function: Function
    box: Box | MixedBox
    scale: Array
    steps: int
    """The most steps of one ascent."""
    values: Values | None = None
    least: float | None = None
    """An ascent ends when it is expected to rise by less; None for rounding. With a number, starts
    that will not become the highest stop."""
    sketch: SearchedFunction | None = None
    halving: Halving = USUAL

    def run(self, rows: Array, evaluated: int) -> Maximum:
        """Ascend in the real coordinates, then exchange separate values until nothing improves.

        On grids of many numbers the first ascent moves freely; its best ends are rounded, and
        ascend again in the real coordinates. `evaluated` is the number of rows evaluated before, to
        be counted in the result.
        """
        held = np.array(self.box.discrete)
        wide = np.array(getattr(self.box, "wide", held & False))
        starts = rows
        rows, heights, evaluations, _ = self.ascend_twice(starts, ~held | wide)
        if wide.any():
            best = np.argsort(-heights, kind="stable")[:ROUNDED]
            # The best start is on its grids already, and must not be lost by rounding.
            rounded = np.vstack([self.round_ends(rows[best]), starts[:1]])
            rows, heights, more, _ = self.ascend(rounded, ~held)
            evaluations += more
        if any(self.box.discrete):
            rows, heights, more = self.exchange_values(rows, heights)
            evaluations += more
        best_row = int(heights.argmax())
        return Maximum(
            self.settle(rows[[best_row]])[0],
            float(heights[best_row]),
            len(starts),
            count_reached(heights),
            evaluated + evaluations,
        )

    def ascend_twice(self, rows: Array, moving: Mask) -> Ascent:
        """Ascend by the sketch, if there is one, and from the best of its ends by the function."""
        if self.sketch is None:
            return self.ascend(rows, moving)
        rough = replace(self, function=self.sketch.function, steps=min(self.steps, SKETCHED))
        found = rough.ascend(rows, moving)
        likely = separate_rows(found.rows, found.values, self.scale, 2 * SETTLED)
        heights = evaluate_values(self.function, self.values, found.rows[likely])
        best = likely[np.argsort(-heights, kind="stable")[:SETTLED]]
        shapes = found.inverse_hessians
        known = None if shapes is None else shapes[best]
        fine = replace(self, steps=min(self.steps, SETTLING))
        settled = fine.ascend(found.rows[best], moving, inverse_hessians=known)
        evaluations = found.evaluations + len(likely) + settled.evaluations
        return settled._replace(evaluations=evaluations)

    def ascend(
        self,
        rows: Array,
        moving: Mask,
        beat: float = -math.inf,
        inverse_hessians: Array | None = None,
    ) -> Ascent:
        """Ascend to local maxima in the coordinates that move, with the others held fixed.

        A start that will not rise above the height to `beat` stops early.
        """
        known: Any = {
            "beat": beat,
            "steps": self.steps,
            "least": self.least,
            "rivals": self.least is not None,
            "halving": self.halving,
        }
        if is_constrained(self.box):
            return self.box.feasible.ascend(self.function, rows, moving, self.scale, **known)
        lower, upper = np.array(self.box.lower), np.array(self.box.upper)
        if not moving.all():
            lower, upper = np.where(moving, lower, rows), np.where(moving, upper, rows)
        known["inverse_hessian"] = inverse_hessians
        return projected_bfgs(self.function, rows, lower, upper, self.scale, **known)

    def settle(self, rows: Array) -> Array:
        """Return the rows on their grids, with all constraints met."""
        if is_constrained(self.box):
            return self.box.feasible.settle(rows)
        return self.box.nearest(rows) if any(self.box.discrete) else rows

    def round_ends(self, rows: Array) -> Array:
        """Return the ends of an ascent on their grids, the best end first.

        Only the best is worth a mixed-integer programme, which takes 10 ms. Others that need one
        are left out.
        """
        if is_constrained(self.box):
            return np.vstack([self.settle(rows[:1]), self.box.feasible.pull_inside(rows[1:])])
        return self.box.nearest(rows)

    def exchange_values(self, rows: Array, heights: Array) -> tuple[Array, Array, int]:
        """Change one separate value of the best row and ascend again, while that improves it."""
        evaluations = 0
        moving = ~np.array(self.box.discrete)
        for _ in range(EXCHANGES):
            best = int(heights.argmax())
            tried = self.box.neighbours(rows[best])
            if not len(tried):
                break
            if len(tried) > TRIED:
                evaluations += len(tried)
                at_once = evaluate_values(self.function, self.values, tried)
                tried = tried[np.argsort(-at_once, kind="stable")[:TRIED]]
            tried, found, more, _ = self.ascend(tried, moving, float(heights[best]))
            evaluations += more
            if not found.max(initial=-np.inf) > heights[best]:
                break
            rows[best], heights[best] = tried[found.argmax()], found.max()
        return rows, heights, evaluations


def is_constrained(box: Box | MixedBox) -> TypeGuard[MixedBox]:
    """Tell whether a box has constraints."""
    return isinstance(box, MixedBox) and box.constrained
