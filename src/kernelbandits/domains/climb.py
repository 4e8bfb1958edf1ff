"""Projected quasi-Newton ascent from many starts at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array

Function = Callable[[Array], tuple[Array, Array]]
"""Rows (n, d) -> values (n,) and gradients (n, d)."""
Mask = npt.NDArray[np.bool_]

STEPS = 100
RISE = 1e-4
"""The share of the rise promised by the slope that a step must bring (Armijo)."""
FIRST, LONGEST = 0.3, 2.0
"""The length of the first step and of the longest, in scales."""
SHORTEST = 1e-9
"""The share of a step below which a start gives up."""
PRECISION = 1e-12
"""Promised rises below this, relative to how much the starts differ, are not climbed for."""
ROUND, FEW = 3, 5
"""After so many steps the lower half of those that climb stop, unless they are few."""


@dataclass
class Front:
    """The starts that still climb: number, place, value, gradient, inverse curvature, share of a step, bounds."""

    who: npt.NDArray[np.intp]
    rows: Array
    values: Array
    slopes: Array
    curvature: Array
    share: Array
    lower: Array
    upper: Array

    def only(self, kept: Mask) -> None:
        """The others stop here."""
        if not kept.all():
            for field in fields(self):
                setattr(self, field.name, getattr(self, field.name)[kept])


def climb(
    function: Function, rows: Array, lower: Array, upper: Array, scale: Array
) -> tuple[Array, Array, int]:
    """Each start moved up to a local maximum between its bounds: rows, values, and the number of rows evaluated.

    x <- clip(x + a H g) over the coordinates not held by a bound, a <= 1 such that a share RISE of the promised rise
    comes, H the BFGS estimate of the inverse curvature, one for each start. All that still climb are evaluated at once.
    """
    values, slopes = evaluated(function, rows)
    ends, heights, evaluations = rows.copy(), values.copy(), len(rows)
    front = start(ends, heights, slopes, lower, upper, scale)
    least = PRECISION * size_of(front.values)
    for step in range(1, STEPS + 1):
        direction = directions(front, scale)
        promised = (front.slopes * direction).sum(1)
        going = (promised > least) & (front.share > SHORTEST)
        if step % ROUND == 0:
            going &= upper_half(front.values)
        front.only(going)
        if not len(front.who):
            break
        trial = np.clip(
            front.rows + front.share[:, None] * direction[going], front.lower, front.upper
        )
        advance(front, trial, *evaluated(function, trial), scale)
        ends[front.who], heights[front.who] = front.rows, front.values
        evaluations += len(trial)
    return ends, heights, evaluations


def evaluated(function: Function, rows: Array) -> tuple[Array, Array]:
    """Values and gradients; a value that is no number counts as -infinity, a slope that is not finite as none."""
    with np.errstate(all="ignore"):
        told: Any = function(rows.copy())
    needed = f"{len(rows)} values and {len(rows)} gradients of {rows.shape[1]} coordinates"
    checks.needs(isinstance(told, (tuple, list)) and len(told) == 2, "maximise", needed, told)
    values, slopes = (numbers(needed, part) for part in told)
    shapes = values.shape, slopes.shape
    if shapes != ((len(rows),), rows.shape):
        raise ValueError(f"maximise needs {needed}, got shapes {shapes}")
    values = np.where(np.isnan(values), -np.inf, values)
    known = np.isfinite(values) & np.isfinite(slopes).all(1)
    return values, np.where(known[:, None], slopes, 0.0)


def numbers(needed: str, told: Any) -> Array:
    """What a function told, as an array of real numbers."""
    try:
        given = np.asarray(told)
    except ValueError:
        given = np.empty(0, dtype=object)
    checks.needs(given.dtype.kind in "fiub", "maximise", needed, told)
    return given.astype(np.float64)


def start(
    rows: Array, values: Array, slopes: Array, lower: Array, upper: Array, scale: Array
) -> Front:
    """All starts with a finite value; H = c diag(scale^2), such that the first step is FIRST scales long."""
    who = np.isfinite(values).nonzero()[0]
    length = np.sqrt(((slopes[who] * scale) ** 2).sum(1))
    factor = FIRST / np.where(length > 0, length, 1.0)
    bounds = (np.broadcast_to(bound, rows.shape)[who] for bound in (lower, upper))
    curvature = factor[:, None, None] * np.diag(scale**2)
    return Front(who, rows[who], values[who], slopes[who], curvature, np.ones(len(who)), *bounds)


def size_of(values: Array) -> float:
    """How much values differ, or a millionth of their size if that is more."""
    return max(float(np.ptp(values)), 1e-6 * float(np.abs(values).max())) if len(values) else 0.0


def upper_half(values: Array) -> Mask:
    half: Mask = (
        values >= np.median(values) if len(values) > FEW else np.ones(len(values), dtype=bool)
    )
    return half


def directions(front: Front, scale: Array) -> Array:
    """H g, the coordinates held by a bound left out on both sides, at most LONGEST scales long."""
    low, high = front.rows <= front.lower, front.rows >= front.upper
    free = ~((low & (front.slopes <= 0)) | (high & (front.slopes >= 0)))
    image = np.matmul(front.curvature, np.where(free, front.slopes, 0.0)[:, :, None])[:, :, 0]
    direction = np.where(free, image, 0.0)
    length = np.abs(direction / scale).max(1, initial=LONGEST)
    shortened: Array = direction * (LONGEST / length)[:, None]
    return shortened


def advance(front: Front, trial: Array, values: Array, slopes: Array, scale: Array) -> None:
    """Starts that rose enough move and learn the curvature; the others try less, as a parabola says."""
    moved, rise = trial - front.rows, values - front.values
    promised = (front.slopes * moved).sum(1)
    rose = (rise >= RISE * promised) & (promised > 0)
    gap = promised - rise
    top = promised / np.where(rose | (gap <= 0), 1.0, 2 * gap)
    front.share = np.where(rose, 1.0, front.share * np.clip(top, 0.1, 0.5))
    bent = np.where(moved != 0, front.slopes - slopes, 0.0)
    curvature = learnt(front.curvature, moved, bent, scale)
    front.curvature = np.where(rose[:, None, None], curvature, front.curvature)
    front.rows, front.slopes = np.where(rose[:, None], [trial, slopes], [front.rows, front.slopes])
    front.values = np.where(rose, values, front.values)


def learnt(curvature: Array, moved: Array, bent: Array, scale: Array) -> Array:
    """BFGS: H <- (I - r s y') H (I - r y s') + r s s', r = 1 / s'y; where the function is not concave, H <- 4 H."""
    product, image = (moved * bent).sum(1), np.matmul(curvature, bent[:, :, None])[:, :, 0]
    concave = product > 1e-10 * np.sqrt(
        ((moved / scale) ** 2).sum(1) * ((bent * scale) ** 2).sum(1)
    )
    ratio = 1 / np.where(concave, product, 1.0)
    weight = ratio * (1 + ratio * (bent * image).sum(1)) / 2
    half = moved[:, :, None] * (ratio[:, None] * image - weight[:, None] * moved)[:, None, :]
    return np.where(
        concave[:, None, None], curvature - half - half.transpose(0, 2, 1), 4 * curvature
    )
