"""The shape of the power transformation that makes skewed rewards fit the model best."""

from __future__ import annotations

import math
from collections.abc import Callable

from kernelbandits.calibration.power import log_slope, transform_power
from kernelbandits.checks import Array

SHAPES = (1.0, 0.75, 1.25, 0.5, 1.5, 0.25, 1.75, 0.0, 2.0)
"""The shapes that are compared, the mildest first: of equally probable ones it is taken."""
SHAPE_SD = 0.5
"""Standard deviation of the prior of the shape, a normal law about 1."""
FEWEST_POINTS = 6
"""With fewer distinct points rewards are not transformed: they hardly show a skew."""

Totals = tuple[Array, Array, Array]
"""Counts, sums and sums of squares of rewards, one of each for a point."""


def most_probable_shape(means: Array, evidence_of: Callable[[Array], float]) -> float:
    """Return the shape s of the greatest posterior density, at given scales of the model:

    ln p(z(s)) + sum over points of ln dz/du - ((s - 1) / sd)^2 / 2.

    The middle term makes densities of differently transformed rewards comparable: without it the
    shape that squeezes rewards most would win.

    Each point counts once, however often it was played. The shape says how rewards differ from
    point to point; repeats say how noisy they are. A transformation changes the noise of a point
    by its slope there, and the scales given have the noise of no transformation. So if repeats
    counted, a best arm that is played a hundred times would decide for no transformation, however
    skewed the rewards are.

    Parameters
    ----------
    means
        The mean reward u of each point, standardised and not transformed; not all are equal.
    evidence_of
        ln p of one transformed reward at each point, under the scales of the linear fit
        (`ScaleFit.evidence_under`).
    """

    def log_density(shape: float) -> float:
        transformed = transform_power(means, shape)
        slopes = log_slope(means, shape) - math.log(transformed.std())
        prior = -0.5 * ((shape - 1) / SHAPE_SD) ** 2
        return evidence_of(transformed) + float(slopes.sum()) + prior

    return max(SHAPES, key=log_density)
