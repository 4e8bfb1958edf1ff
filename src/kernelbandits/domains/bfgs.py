"""Projected BFGS: quasi-Newton ascent in a box, from many starts at once.

One start after the other with SciPy's L-BFGS-B takes eight times as long: a policy asks this in
every round, and most of the time goes into calls of the function, which serves all starts at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
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
HOPE = 20.0
"""A start stops below a height to beat if this many times its predicted rise does not reach it. On
a quadratic the rise that is left is half of the predicted one."""


class Halving(NamedTuple):
    """When the lower half of the active starts stops.

    Only the best end point is wanted, and starts that are still low after some steps seldom win.
    """

    first: int
    """The first step before which it stops."""
    every: int
    """After so many more steps it stops again."""
    few: int
    """So many starts go on to the end."""

    def is_due(self, step: int) -> bool:
        return step >= self.first and (step - self.first) % self.every == 0


USUAL, PATIENT = Halving(3, 3, 5), Halving(8, 2, 2)
"""Where a call takes hardly longer for 60 rows than for few, it is worth that all starts take more
steps: fewer good starts are dropped, and few starts at the end take few calls."""


class StepLimits(Protocol):
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
    """Bounds of every coordinate; equal bounds hold a coordinate fixed."""

    lower: Array
    """One row for each start, or one number for each coordinate where all starts have the same."""
    upper: Array

    def __getitem__(self, kept: Any) -> BoxLimits:
        return self if self.lower.ndim == 1 else BoxLimits(self.lower[kept], self.upper[kept])

    def directions(self, rows: Array, slopes: Array, inverse_hessian: Array) -> Array:
        """Return H g without the coordinates held by a bound."""
        held, high = rows <= self.lower, rows >= self.upper
        held &= slopes <= 0
        high &= slopes >= 0
        held |= high
        # The held coordinates are left out before and after the product: H mixes coordinates, and a
        # step that pushes against a bound would promise a rise that clipping takes away.
        gradient = np.where(held, 0.0, slopes)
        image = np.matmul(inverse_hessian, gradient[:, :, None])[:, :, 0]
        return np.where(held, 0.0, image)

    def shorten(self, rows: Array, direction: Array) -> Array:
        return direction

    def move(self, rows: Array, step: Array) -> Array:
        moved: Array = (rows + step).clip(self.lower, self.upper)
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
    limits: StepLimits

    def keep(self, kept: Mask) -> None:
        """Drop all other starts."""
        left = kept.nonzero()[0]
        self.numbers, self.share = self.numbers[left], self.share[left]
        self.rows, self.values, self.slopes = self.rows[left], self.values[left], self.slopes[left]
        self.inverse_hessian, self.limits = self.inverse_hessian[left], self.limits[left]


class Ascent(NamedTuple):
    """Where the starts of an ascent ended."""

    rows: Array
    values: Array
    evaluations: int
    """The number of rows evaluated."""
    inverse_hessians: Array | None = None
    """(n, d, d): the last BFGS estimates of minus the inverse Hessian, if they are in the
    coordinates of the rows."""

    def write(self, active: ActiveStarts) -> None:
        """Write where the active starts are."""
        self.rows[active.numbers] = active.rows
        self.values[active.numbers] = active.values
        if self.inverse_hessians is not None:
            self.inverse_hessians[active.numbers] = active.inverse_hessian


def projected_bfgs(
    function: Function, rows: Array, lower: Array, upper: Array, scale: Array, **known: Any
) -> Ascent:
    """Move each start up to a local maximum between its bounds (`ascend`).

    `lower` and `upper` are one row for all starts or one for each.
    """
    if lower.ndim > 1 or upper.ndim > 1:
        lower, upper = np.broadcast_to(lower, rows.shape), np.broadcast_to(upper, rows.shape)
    return ascend(function, rows, BoxLimits(lower, upper), scale, **known)


def ascend(
    function: Function,
    rows: Array,
    limits: StepLimits,
    scale: Array,
    metric: Array | None = None,
    *,
    inverse_hessian: Array | None = None,
    least: float | None = None,
    beat: float = -math.inf,
    rivals: bool = False,
    steps: int = STEPS,
    halving: Halving = USUAL,
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
    halving
        When the lower half of the starts stops.

    """
    values, slopes = evaluate(function, rows)
    shapes = np.zeros((*rows.shape, rows.shape[1]))
    ends = Ascent(rows.copy(), values.copy(), len(rows), shapes)
    active = start_all(rows, values, slopes, limits, scale, metric)
    if inverse_hessian is not None:
        shapes[:] = inverse_hessian
        active.inverse_hessian = shapes[active.numbers]
    if least is None:
        least = PRECISION * value_range(active.values)
    evaluations = len(rows)
    for step in range(1, steps + 1):
        direction = ascent_directions(active, scale)
        predicted = np.add.reduce(active.slopes * direction, 1)
        going = (predicted > least) & (active.share > SHORTEST)
        if halving.is_due(step) and len(going) > halving.few:
            going &= active.values >= median(active.values)
        if step > halving.first or inverse_hessian is not None:
            # H has learnt the curvature, and the predicted rise can be relied on.
            highest = beat
            if rivals and len(going):
                highest = max(beat, float(ends.values.max()), float(active.values.max()))
            going &= active.values + HOPE * predicted > highest
        if not going.all():
            if step > 1:
                ends.write(active)
            active.keep(going)
            direction = direction[going]
        if not len(active.numbers):
            break
        trial = active.limits.move(active.rows, active.share[:, None] * direction)
        advance(active, trial, *evaluate(function, trial), scale)
        evaluations += len(trial)
    if evaluations > len(rows):
        ends.write(active)
    return ends._replace(evaluations=evaluations)


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
    if np.isfinite(values).all() and np.isfinite(slopes).all():
        return values, slopes
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
    limits: StepLimits,
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


def median(values: Array) -> float:
    """Return the median of some numbers; `np.median` takes ten times as long for few of them."""
    ordered, half = np.sort(values), len(values) // 2
    return float(ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def ascent_directions(active: ActiveStarts, scale: Array) -> Array:
    """Return what the limits leave of H g, at most LONGEST scales long."""
    direction = active.limits.directions(active.rows, active.slopes, active.inverse_hessian)
    length = np.maximum.reduce(np.abs(direction / scale), 1, initial=LONGEST)
    return active.limits.shorten(active.rows, direction * (LONGEST / length)[:, None])


def advance(active: ActiveStarts, trial: Array, values: Array, slopes: Array, scale: Array) -> None:
    """Move the starts that rose enough and update their H; shorten the step of the others.

    The shorter step is where the parabola through both values and the first slope has its maximum,
    but at least a tenth and at most half of the last one.
    """
    moved, rise = trial - active.rows, values - active.values
    predicted = np.add.reduce(active.slopes * moved, 1)
    rose = (rise >= RISE * predicted) & (predicted > 0)
    slope_change = np.where(moved != 0, active.slopes - slopes, 0.0)
    updated = update_inverse_hessian(active.inverse_hessian, moved, slope_change, scale)
    if rose.all():
        active.share = np.ones(len(rose))
        active.rows, active.values, active.slopes = trial, values, slopes
        active.inverse_hessian = updated
        return
    gap = predicted - rise
    top = predicted / np.where(rose | (gap <= 0), 1.0, 2 * gap)
    active.share = np.where(rose, 1.0, active.share * top.clip(0.1, 0.5))
    active.inverse_hessian = np.where(rose[:, None, None], updated, active.inverse_hessian)
    active.rows = np.where(rose[:, None], trial, active.rows)
    active.slopes = np.where(rose[:, None], slopes, active.slopes)
    active.values = np.where(rose, values, active.values)


def update_inverse_hessian(
    inverse_hessian: Array, moved: Array, slope_change: Array, scale: Array
) -> Array:
    """Update H by BFGS, with s the step, y the fall of the slope and r = 1 / s'y.

    H <- (I - r s y') H (I - r y s') + r s s'

    BFGS keeps H positive definite only if s'y > 0. Where the function is not concave along the step
    it is not, and H <- 4 H instead: the maximum is farther away than H says.
    """
    total = np.add.reduce
    product = total(moved * slope_change, 1)
    image = np.matmul(inverse_hessian, slope_change[:, :, None])[:, :, 0]
    concave = product > 1e-10 * np.sqrt(
        total(np.square(moved / scale), 1) * total(np.square(slope_change * scale), 1)
    )
    ratio = 1 / np.where(concave, product, 1.0)
    weight = ratio * (1 + ratio * total(slope_change * image, 1)) / 2
    half = moved[:, :, None] * (ratio[:, None] * image - weight[:, None] * moved)[:, None, :]
    updated: Array = inverse_hessian - half
    updated -= half.transpose(0, 2, 1)
    if concave.all():
        return updated
    return np.where(concave[:, None, None], updated, 4 * inverse_hessian)
