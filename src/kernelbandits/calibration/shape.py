"""The shape of the power transformation that makes skewed rewards fit the model best."""

from __future__ import annotations

import math
from collections.abc import Callable

from kernelbandits.calibration.power import log_slope
from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array

SHAPES = (1.0, 0.75, 1.25, 0.5, 1.5, 0.25, 1.75, 0.0, 2.0)
"""The shapes that are compared, the mildest first: of equally probable ones it is taken."""
SHAPE_SD = 0.5
"""Standard deviation of the prior of the shape, a normal law about 1."""
FEWEST_POINTS = 6
"""With fewer distinct points rewards are not transformed: they hardly show a skew."""

Totals = tuple[Array, Array, Array]
"""Counts, sums and sums of squares of rewards, one of each for a point."""


def most_probable_shape(
    means: Array,
    totals_of: Callable[[float], Totals],
    evidence_of: Callable[[Array, Array], float],
) -> float:
    """Return the shape s of the greatest posterior density, at given scales of the model:

    ln p(z(s)) + sum over rewards of ln dz/du - ((s - 1) / sd)^2 / 2.

    The middle term, with the slopes at the mean of each point, makes densities of differently
    transformed rewards comparable: without it the shape that squeezes rewards most would win.

    Parameters
    ----------
    means
        The mean reward u of each point, standardised and not transformed.
    totals_of
        Counts, sums and squares of the rewards transformed with a shape.
    evidence_of
        ln p of transformed rewards, standardised, under the scales of the linear fit, from their
        sums and squares (`ScaleFit.evidence_under`).
    """

    def log_density(shape: float) -> float:
        counts, sums, squares = totals_of(shape)
        slopes = log_slope(means, shape) - math.log(Standard.of(counts, sums, squares).spread)
        prior = -0.5 * ((shape - 1) / SHAPE_SD) ** 2
        return evidence_of(sums, squares) + float(counts @ slopes) + prior

    return max(SHAPES, key=log_density)
