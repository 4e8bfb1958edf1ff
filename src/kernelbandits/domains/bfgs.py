"""Projected BFGS: quasi-Newton ascent in a box, from many starts at once.

One start after the other with SciPy's L-BFGS-B takes eight times as long: a policy asks this in
every round, and most of the time goes into calls of the function, which serves all starts at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array

Function = Callable[[Array], tuple[Array, Array]]
"""Rows (n, d) -> values (n,) and gradients (n, d)."""
Mask = npt.NDArray[np.bool_]

STEPS = 100
"""The most steps of any start."""
RISE = 1e-4
"""The share of the rise predicted by the slope that a step must bring (Armijo's condition)."""
FIRST, LONGEST = 0.3, 2.0
"""The length of the first step and of the longest step, in scales."""
SHORTEST = 1e-9
"""A start stops when the share of its step falls below this."""
PRECISION = 1e-12
"""A start stops when its predicted rise is below this, relative to how much the starts differ."""
# Only the best end point is wanted. Starts that are still low after a few steps seldom win, so the
# lower half of them is dropped every third step, until few are left.
ROUND, FEW = 3, 5
"""Every `ROUND` steps the lower half of the active starts stops, unless only `FEW` are left."""
HOPE = 20.0
"""A start stops below a height to beat if this many times its predicted rise does not reach it. On
a quadratic the rise that is left is half of the predicted one."""


class Limits(Protocol):
    """Where the starts may move: one row of limits for each start."""

    def __getitem__(self, kept: Any) -> Self:
        """Return the limits of some starts."""
        ...

    def directions(self, rows: Array, slopes: Array, inverse_hessian: Array) -> Array:
        """Return the directions H g, without what the limits do not allow."""
        ...

    def shorten(self, rows: Array, direction: Array) -> Array:
        """Return the directions, cut so that a whole step stays within the limits."""
        ...

    def move(self, rows: Array, step: Array) -> Array:
        """Return the rows moved by a step, within the limits."""
        ...


@dataclass(frozen=True)
class BoxLimits:
    """Bounds of every coordinate, one row for each start; equal bounds hold a coordinate fixed."""

    lower: Array
    upper: Array

    def __getitem__(self, kept: Any) -> BoxLimits:
        return BoxLimits(self.lower[kept], self.upper[kept])

    def directions(self, rows: Array, slopes: Array, inverse_hessian: Array) -> Array:
        """Return H g without the coordinates held by a bound."""
        low, high = rows <= self.lower, rows >= self.upper
        free = ~((low & (slopes <= 0)) | (high & (slopes >= 0)))
        # The held coordinates are left out before and after the product: H mixes coordinates, and a
        # step that pushes against a bound would promise a rise that clipping takes away.
        gradient = np.where(free, slopes, 0.0)
        image = np.matmul(inverse_hessian, gradient[:, :, None])[:, :, 0]
        return np.where(free, image, 0.0)

    def shorten(self, rows: Array, direction: Array) -> Array:
        return direction

    def move(self, rows: Array, step: Array) -> Array:
        moved: Array = np.clip(rows + step, self.lower, self.upper)
        return moved


@dataclass
class ActiveStarts:
    """The starts that still move, one row each."""

    numbers: npt.NDArray[np.intp]
    """Which of the given starts they are."""
    rows: Array
    values: Array
    slopes: Array
    inverse_hessian: Array
    """(n, d, d): the BFGS estimate of minus the inverse Hessian."""
    share: Array
    """The share of the full step that is tried next."""
    limits: Limits

    def keep(self, kept: Mask) -> None:
        """Drop all other starts."""
        if not kept.all():
            for field in fields(self):
                setattr(self, field.name, getattr(self, field.name)[kept])


class Ascent(NamedTuple):
    """Where the starts of an ascent ended."""

    rows: Array
    values: Array
    evaluations: int
    """The number of rows evaluated."""
    inverse_hessians: Array | None = None
    """(n, d, d): the last BFGS estimates of minus the inverse Hessian, if they are in the
    coordinates of the rows."""


def projected_bfgs(
    function: Function, rows: Array, lower: Array, upper: Array, scale: Array, **known: Any
) -> Ascent:
    """Move each start up to a local maximum between its bounds (`ascend`).

    `lower` and `upper` are one row for all starts or one for each.
    """
    limits = BoxLimits(np.broadcast_to(lower, rows.shape), np.broadcast_to(upper, rows.shape))
    return ascend(function, rows, limits, scale, **known)


def ascend(
    function: Function,
    rows: Array,
    limits: Limits,
    scale: Array,
    metric: Array | None = None,
    *,
    inverse_hessian: Array | None = None,
    least: float | None = None,
    beat: float = -math.inf,
    rivals: bool = False,
    steps: int = STEPS,
) -> Ascent:
    """Move each start up to a local maximum within its limits.

    x <- x + a H g over what the limits leave free, where g is the gradient, H the BFGS estimate of
    minus the inverse Hessian, one for each start, and a <= 1 is such that the step brings a share
    RISE of the predicted rise. All active starts are evaluated in one call.

    Parameters
    ----------
    function
        Rows -> values and gradients.
    rows
        The starts.
    limits
        Where they may move.
    scale
        For each coordinate, the distance over which the function changes.
    metric
        (n, d, d), the shape of the first H of each start; diag(scale^2) by default.
    inverse_hessian
        The first H of all starts, if it is known: one for all, or one for each.
    least
        A start stops when its predicted rise g' H g is below this; by default when it is
        rounding.
    beat
        A height that is known already: a start that will not rise above it stops.
    rivals
        Whether a start that will not rise above the highest of the others stops too.
    steps
        The most steps of any start.

    """
    values, slopes = evaluate(function, rows)
    ends, heights, evaluations = rows.copy(), values.copy(), len(rows)
    active = start_all(ends, heights, slopes, limits, scale, metric)
    shapes = np.zeros((*rows.shape, rows.shape[1]))
    if inverse_hessian is not None:
        shapes[:] = inverse_hessian
        active.inverse_hessian = shapes[active.numbers]
    if least is None:
        least = PRECISION * value_range(active.values)
    for step in range(1, steps + 1):
        direction = ascent_directions(active, scale)
        predicted = (active.slopes * direction).sum(1)
        going = (predicted > least) & (active.share > SHORTEST)
        if step % ROUND == 0:
            going &= upper_half(active.values)
        if step > ROUND or inverse_hessian is not None:
            # H has learnt the curvature, and the predicted rise can be relied on.
            highest = max(beat, float(heights.max())) if rivals else beat
            going &= active.values + HOPE * predicted > highest
        active.keep(going)
        if not len(active.numbers):
            break
        trial = active.limits.move(active.rows, active.share[:, None] * direction[going])
        advance(active, trial, *evaluate(function, trial), scale)
        ends[active.numbers] = active.rows
        heights[active.numbers] = active.values
        shapes[active.numbers] = active.inverse_hessian
        evaluations += len(trial)
    return Ascent(ends, heights, evaluations, shapes)


def evaluate(function: Function, rows: Array) -> tuple[Array, Array]:
    """Return values and gradients, checked.

    A value that is not a number becomes -infinity, and a gradient that is not finite becomes zero:
    such a point is never the best, and no step starts from it.
    """
    with np.errstate(all="ignore"):
        output: Any = function(rows.copy())
    needed = f"{len(rows)} values and {len(rows)} gradients of {rows.shape[1]} coordinates"
    checks.needs(isinstance(output, (tuple, list)) and len(output) == 2, "maximise", needed, output)
    values, slopes = (as_numbers(needed, part) for part in output)
    shapes = values.shape, slopes.shape
    if shapes != ((len(rows),), rows.shape):
        raise ValueError(f"maximise needs {needed}, got shapes {shapes}")
    values = np.where(np.isnan(values), -np.inf, values)
    finite = np.isfinite(values) & np.isfinite(slopes).all(1)
    return values, np.where(finite[:, None], slopes, 0.0)


def as_numbers(needed: str, output: Any) -> Array:
    """Return what a function returned as an array of real numbers."""
    try:
        given = np.asarray(output)
    except ValueError:
        given = np.empty(0, dtype=object)
    checks.needs(given.dtype.kind in "fiub", "maximise", needed, output)
    return given.astype(np.float64)


def start_all(
    rows: Array,
    values: Array,
    slopes: Array,
    limits: Limits,
    scale: Array,
    metric: Array | None,
) -> ActiveStarts:
    """Return all starts with a finite value.

    H begins as c M with the metric M, and c such that the first step is FIRST scales long: by
    default M = diag(scale^2).
    """
    numbers = np.isfinite(values).nonzero()[0]
    if metric is None:
        first = np.diag(scale**2)
        length = np.sqrt(((slopes[numbers] * scale) ** 2).sum(1))
    else:
        first = metric[numbers]
        images = np.matmul(first, slopes[numbers][:, :, None])[:, :, 0]
        length = np.sqrt(np.maximum((images * slopes[numbers]).sum(1), 0.0))
    factor = FIRST / np.where(length > 0, length, 1.0)
    return ActiveStarts(
        numbers=numbers,
        rows=rows[numbers],
        values=values[numbers],
        slopes=slopes[numbers],
        inverse_hessian=factor[:, None, None] * first,
        share=np.ones(len(numbers)),
        limits=limits[numbers],
    )


def value_range(values: Array) -> float:
    """Return how much finite values differ, or a millionth of their size if that is more."""
    known = values[np.isfinite(values)]
    return max(float(np.ptp(known)), 1e-6 * float(np.abs(known).max())) if len(known) else 0.0


def upper_half(values: Array) -> Mask:
    """Tell which values are at least the median; all of them if they are few."""
    half: Mask = (
        values >= np.median(values) if len(values) > FEW else np.ones(len(values), dtype=bool)
    )
    return half


def ascent_directions(active: ActiveStarts, scale: Array) -> Array:
    """Return what the limits leave of H g, at most LONGEST scales long."""
    direction = active.limits.directions(active.rows, active.slopes, active.inverse_hessian)
    length = np.abs(direction / scale).max(1, initial=LONGEST)
    return active.limits.shorten(active.rows, direction * (LONGEST / length)[:, None])


def advance(active: ActiveStarts, trial: Array, values: Array, slopes: Array, scale: Array) -> None:
    """Move the starts that rose enough and update their H; shorten the step of the others.

    The shorter step is where the parabola through both values and the first slope has its maximum,
    but at least a tenth and at most half of the last one.
    """
    moved, rise = trial - active.rows, values - active.values
    predicted = (active.slopes * moved).sum(1)
    rose = (rise >= RISE * predicted) & (predicted > 0)
    gap = predicted - rise
    top = predicted / np.where(rose | (gap <= 0), 1.0, 2 * gap)
    active.share = np.where(rose, 1.0, active.share * np.clip(top, 0.1, 0.5))
    slope_change = np.where(moved != 0, active.slopes - slopes, 0.0)
    updated = update_inverse_hessian(active.inverse_hessian, moved, slope_change, scale)
    active.inverse_hessian = np.where(rose[:, None, None], updated, active.inverse_hessian)
    active.rows = np.where(rose[:, None], trial, active.rows)
    active.slopes = np.where(rose[:, None], slopes, active.slopes)
    active.values = np.where(rose, values, active.values)


def update_inverse_hessian(
    inverse_hessian: Array, moved: Array, slope_change: Array, scale: Array
) -> Array:
    """H <- (I - r s y') H (I - r y s') + r s s', r = 1 / s'y, s the step, y the fall of the slope.

    BFGS keeps H positive definite only if s'y > 0. Where the function is not concave along the step
    it is not, and H <- 4 H instead: the maximum is farther away than H says.
    """
    product = (moved * slope_change).sum(1)
    image = np.matmul(inverse_hessian, slope_change[:, :, None])[:, :, 0]
    concave = product > 1e-10 * np.sqrt(
        ((moved / scale) ** 2).sum(1) * ((slope_change * scale) ** 2).sum(1)
    )
    ratio = 1 / np.where(concave, product, 1.0)
    weight = ratio * (1 + ratio * (slope_change * image).sum(1)) / 2
    half = moved[:, :, None] * (ratio[:, None] * image - weight[:, None] * moved)[:, None, :]
    updated = inverse_hessian - half - half.transpose(0, 2, 1)
    return np.where(concave[:, None, None], updated, 4 * inverse_hessian)
