"""Leave-one-out prediction: every measured point, predicted from all the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtri

from kernelbandits import checks
from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import Kernel, StackedKernels
from kernelbandits.posterior import Factorisation
from kernelbandits.posterior.mixture import mix_moments
from kernelbandits.runtime import single_threaded

FEWEST_POINTS = 5
"""With fewer distinct points, predictions from the others say nothing of a model."""
HALF_INTERVAL = 1.959963984540054
"""Half of the 95 % interval of a normal law, in standard deviations."""
FALSE_ALARM = 0.05
"""The probability that all results of a correct model are called far out by mistake, ..."""
FAR_OUT = 3.5
"""A result this many standard deviations from its prediction, in its own units, ..."""
FAR_FROM_TYPICAL = 6.0
"""... or outside its 95 % interval by this many times the typical residual, ..."""
LEAST_FAR = 2.5
"""... is far out if it is this many standard deviations away in the units of the model too. A slip
of the decimal point is fitted like all results: it widens the intervals, and a power transformation
draws it in. Of 112 studies of 14 real tables with 15 or 30 results, these rules named a result
in 6, and found 101 slips upwards and 44 slips downwards by a factor of ten; of 25 studies of
lognormal functions they named a result in one. The rules in the results' own units alone named one
in 14 and in 5, and found 112 and 58 slips."""
NORMAL_MEDIAN = 1.4826
"""The sd of a normal law, in medians of its size."""


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """What a model predicts of each measured point from the results at all other points.

    Position i of all arrays belongs to the i-th distinct point. A point that was measured several
    times is left out with all its results, and its mean result is predicted.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> points = np.linspace(0, 1, 12)[:, None]
    >>> auto = kb.Auto(points)
    >>> for arm, x in enumerate(points[:, 0]):
    ...     auto.tell(auto.choice(arm), np.sin(6 * x))
    >>> left_out = auto.leave_one_out()
    >>> left_out.skill > 0.9, len(left_out.outliers)
    (True, 0)
    """

    points: Array
    """(m, d): the distinct points measured."""
    counts: Indices
    """How many results each point has."""
    measured: Array
    """The mean result of each point."""
    predicted: Array
    """The mean result of each point as predicted from all other points."""
    sd: Array
    """The standard deviation of the prediction error: the uncertainty of f at the point, and the
    noise of the mean of as many results as the point has."""
    ends: tuple[Array, Array] | None = None
    """The ends of the 95 % intervals where results are transformed by a power, and the intervals
    therefore wider on one side; None for predicted -+ 1.96 sd."""
    model_residuals: Array | None = None
    """The residuals where results are transformed, after the transformation; None for
    `residuals`."""

    def __post_init__(self) -> None:
        lengths = {len(part) for part in (self.points, self.counts, self.measured)}
        same = lengths == {len(self.predicted)} == {len(self.sd)}
        checks.needs(same, "LeaveOneOut", "one number for each point", sorted(lengths))
        checks.needs(len(self.sd) > 1, "LeaveOneOut", "at least 2 points", len(self.sd))
        positive = bool((self.sd > 0).all())
        checks.needs(positive, "LeaveOneOut", "sd > 0", float(self.sd.min()))

    def __len__(self) -> int:
        return len(self.measured)

    @property
    def mean_of_others(self) -> Array:
        """For each point the mean of all other points: the prediction without any model."""
        m = len(self)
        away = self.measured - self.measured.mean()
        # The others deviate from the mean of all by minus the point's share.
        return np.asarray(self.measured.mean() - away / (m - 1))

    @property
    def skill(self) -> float:
        """1 - sum (measured - predicted)^2 / sum (measured - mean of the others)^2.

        1 for perfect predictions; 0 or less if the model predicts no better than the mean of the
        other results does. Not a number if all results are equal: there is nothing to predict.
        """
        away = self.measured - self.mean_of_others
        largest = float(np.abs(away).max())
        rounding = 8 * np.finfo(float).eps * float(np.abs(self.measured).max())
        if largest <= rounding:
            return math.nan
        # Divided by the largest first, so that no square overflows or vanishes.
        errors = (self.measured - self.predicted) / largest
        return float(1 - (errors @ errors) / ((away / largest) @ (away / largest)))

    @property
    def residuals(self) -> Array:
        """(measured - predicted) / sd; standard normal if the model is right."""
        return np.asarray((self.measured - self.predicted) / self.sd)

    @property
    def interval(self) -> tuple[Array, Array]:
        """The ends of the 95 % interval of each prediction."""
        if self.ends is not None:
            return self.ends
        reach = HALF_INTERVAL * self.sd
        return self.predicted - reach, self.predicted + reach

    @property
    def coverage(self) -> float:
        """The share of results within the 95 % interval of their prediction."""
        low, high = self.interval
        return float(((low <= self.measured) & (self.measured <= high)).mean())

    @property
    def outliers(self) -> Indices:
        """The positions of results far from their prediction, the farthest first.

        The more results there are, the farther the farthest one is by chance. So the limit rises
        with their number: a correct model names a result in about one of twenty studies.
        """
        size = np.abs(self.residuals)
        typical = NORMAL_MEDIAN * float(np.median(size))
        apparent = (size > FAR_OUT) | (size > max(HALF_INTERVAL, FAR_FROM_TYPICAL * typical))
        inner = size if self.model_residuals is None else np.abs(self.model_residuals)
        limit = -float(ndtri(FALSE_ALARM / (2 * len(self))))
        # The mean of several results is drawn away by a slip in one of them less than one result.
        plain = self.model_residuals is None
        least = np.where(plain | (self.counts > 1), HALF_INTERVAL, LEAST_FAR)
        far = (inner > limit) | (apparent & (inner > least))
        order = np.argsort(-inner, kind="stable")
        return order[far[order]]


@single_threaded
def predict_left_out(
    members: Sequence[Any],
    points: Array,
    counts: Array,
    means: Array,
    standardised: Array,
    units: Standard,
) -> LeaveOneOut | None:
    """Predict the mean result of each point from all others, averaged over the members.

    With C = K + ridge N^-1 the covariance of the mean results z under a member,

        predicted_i = z_i - [C^-1 z]_i / [C^-1]_ii,   variance_i = 1 / [C^-1]_ii,

    which is what the posterior of all other results says of a new mean of n_i results at point i
    (Rasmussen and Williams 2006, section 5.4.2). Several members are mixed with equal weights.

    The hyperparameters stay those of the last fit, in which the result left out took part. So the
    predictions are a little too good where there are few results.

    Parameters
    ----------
    members
        Posteriors with a `kernel` and a `ridge`, in standardised units.
    points, counts, means
        Distinct points, the number of their results and their mean results.
    standardised
        The mean results in the units of the members.
    units
        From the units of the results to those of the members.

    Returns None with fewer than five points.
    """
    if len(points) < FEWEST_POINTS:
        return None
    matrices = prior_covariances([one.kernel for one in members], points)
    parts = [
        leave_out_each(matrix, one.ridge, counts, standardised)
        for matrix, one in zip(matrices, members, strict=True)
    ]
    predictions, variances = (np.array(part) for part in zip(*parts, strict=True))
    predicted, variance = mix_moments(predictions, np.sqrt(variances))
    reach = HALF_INTERVAL * np.sqrt(variance)
    ends = units.original(predicted - reach), units.original(predicted + reach)
    return LeaveOneOut(
        points=points,
        counts=np.maximum(np.rint(counts), 1).astype(np.int64),
        measured=np.asarray(means, dtype=np.float64),
        predicted=np.asarray(units.original(predicted)),
        sd=np.asarray(units.original_sd(predicted, np.sqrt(variance))),
        ends=None if units.is_linear else ends,
        model_residuals=None if units.is_linear else (standardised - predicted) / np.sqrt(variance),
    )


def prior_covariances(kernels: Sequence[Kernel], points: Array) -> Array:
    """Return K of each kernel at distinct points; kernels of one form share the distances."""
    stacked = StackedKernels.of(kernels)
    if stacked is None:
        return np.array([kernel(points, points) for kernel in kernels])
    found = stacked(points, points)
    diagonal = np.arange(len(points))
    found[:, diagonal, diagonal] += stacked.nuggets[:, None]
    return found


def leave_out_each(matrix: Array, ridge: float, counts: Array, z: Array) -> tuple[Array, Array]:
    """Return prediction and variance of each z_i from the others, with matrix = K and a ridge."""
    exact = Factorisation.of(matrix, counts, counts * z, ridge)
    # C^-1 = N^1/2 B^-1 N^1/2 / ridge, with the factor of B, whose eigenvalues are at least 1.
    inverse_root = solve_triangular(exact.factor, np.diag(exact.root), lower=True)
    precision = np.einsum("ij,ij->j", inverse_root, inverse_root) / ridge
    return z - exact.coefficients / precision, 1 / precision


def merge_equal_points(points: Array, counts: Array, sums: Array) -> tuple[Array, Array, Array]:
    """Return distinct points in their order, their counts and their mean results.

    Two arms may be at one point. Left out alone, either would be predicted by the other.
    """
    slots: dict[bytes, int] = {}
    # Adding 0.0 turns -0.0 into 0.0, which is the same point with other bytes.
    owner = np.array([slots.setdefault(row.tobytes(), len(slots)) for row in points + 0.0])
    first = np.array([int(np.flatnonzero(owner == slot)[0]) for slot in range(len(slots))])
    number, total = np.zeros(len(slots)), np.zeros(len(slots))
    np.add.at(number, owner, counts)
    np.add.at(total, owner, sums)
    return points[first], number, total / number
