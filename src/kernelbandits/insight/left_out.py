"""Leave-one-out prediction: every measured point, predicted from all the others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit, gammaln, ndtri

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.formatting import HALF_INTERVAL
from kernelbandits.insight.model import FittedModel, fitted_model
from kernelbandits.policies import Policy
from kernelbandits.posterior import Factorisation
from kernelbandits.posterior.members import mix_moments
from kernelbandits.runtime import single_threaded

FEWEST_POINTS = 5
"""With fewer distinct points, predictions from the others say nothing of a model."""
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
USEFUL = 0.3
"""The share of the variance of held-out results from which predictions are called useful."""
TEMPER = 0.1
"""What the log odds for the model count. The scales were fitted to the results that are left out,
and on tables with permuted values, where no model predicts, the log odds still spread with a
standard deviation of 5. Chosen on 21 tables, each left out in turn (docs/decisions/0029)."""
UPPER_SHARE = 4
"""The upper tail of the results is their best fourth."""


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
    >>> left_out = kb.insight.leave_one_out(auto)
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
    def predicts(self) -> bool:
        """Whether the model explains a useful share of the variance of results it did not see."""
        return self.skill >= USEFUL

    @property
    def log_odds(self) -> float:
        """ln of the density of the results under the model, over that of rows drawn from a hat:

        sum_i ln N(y_i; predicted_i, sd_i^2) - ln t(y_i; the other results),

        where each result is predicted from all others. From a hat it is one more draw from the
        normal law of the others, whose mean and standard deviation are estimated from them: a law
        of Student with m - 2 degrees of freedom.
        """
        m = len(self)
        away = self.measured - self.mean_of_others
        # The others spread about their mean by what is left without the point.
        rest = ((self.measured - self.measured.mean()) ** 2).sum() - away**2 * (m - 1) / m
        freedom = m - 2
        least = (8 * np.finfo(float).eps * float(np.abs(self.measured).max())) ** 2
        scale = np.sqrt(np.maximum(rest / freedom, max(least, 1e-300)) * m / (m - 1))
        by_model = -0.5 * self.residuals**2 - np.log(self.sd) - 0.5 * math.log(2 * math.pi)
        from_hat = -0.5 * (freedom + 1) * np.log1p((away / scale) ** 2 / freedom) - np.log(scale)
        constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2)
        constant -= 0.5 * math.log(freedom * math.pi)
        return float((by_model - from_hat - constant).sum())

    @property
    def trust(self) -> float:
        """The probability that the model predicts, and the rows are not as drawn from a hat:

        1 / (1 + exp(-0.1 log_odds))
        """
        return float(expit(TEMPER * self.log_odds))

    @property
    def upper_spread(self) -> float:
        """By how much the best fourth of the results is better than the next one, on average.

        If the upper tail is exponential, it is its scale: from any threshold in the tail on, a
        result is better than it by so much on average.
        """
        best_first = np.sort(self.measured)[::-1]
        number = max(2, len(self) // UPPER_SHARE)
        return float(best_first[:number].mean() - best_first[number])

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


class LeftOut(NamedTuple):
    """A point and the prediction of its mean reward from other points."""

    place: int
    """The position of the point in the observations of the model."""
    predicted: float
    sd: float


def leave_one_out(policy: Policy) -> LeaveOneOut | None:
    """Predict the mean reward of each point from the rewards at all other points.

    Predictions are in the units of the rewards. Fitted hyperparameters stay those of the last fit
    to all rewards. None with fewer than five distinct points, and for a rule without a
    `fitted_model`.

    The posterior of many arms, updated reward by reward, says it without a factorisation. Where
    that loses digits, and on a box, the model is factorised (`predict_left_out`).

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> arms = kb.Arms(np.linspace(0, 1, 8)[:, None])
    >>> policy = kb.policies.Greedy(arms, kb.RBF(0.3), ridge=0.01)
    >>> for arm in range(8):
    ...     policy.tell(policy.choice(arm), float(np.sin(6 * arm / 7)) + (arm == 3))
    >>> left_out = kb.insight.leave_one_out(policy)
    >>> int(abs(left_out.measured - left_out.predicted).argmax())
    3
    """
    model = fitted_model(policy)
    if model is None or len(model.observations) < FEWEST_POINTS:
        return None
    posterior, observed, quick = policy.posterior, model.observations, None
    if np.array_equal(posterior.ridges, model.hyperparameters.ridges):
        quick = posterior.leave_out_each(observed.points, observed.counts)
    return predict_left_out(model) if quick is None else mix_predictions(model, *quick)


@single_threaded
def predict_left_out(model: FittedModel) -> LeaveOneOut | None:
    """Predict the mean reward of each point from all others, averaged over the members.

    With C = K + ridge N^-1 the covariance of the mean rewards z under a member,

        predicted_i = z_i - [C^-1 z]_i / [C^-1]_ii,   variance_i = 1 / [C^-1]_ii,

    which is what the posterior of all other rewards says of a new mean of n_i rewards at point i
    (Rasmussen and Williams 2006, section 5.4.2). Several members are mixed with equal weights.

    The hyperparameters stay those of the last fit, in which the reward left out took part. So the
    predictions are a little too good where there are few rewards.

    Returns None with fewer than five points.
    """
    observed, members = model.observations, model.hyperparameters
    if len(observed) < FEWEST_POINTS:
        return None
    matrices = members.stack(observed.points, observed.points)
    parts = [
        leave_out_each(matrix, ridge, observed.counts, observed.standardised)
        for matrix, ridge in zip(matrices, members.ridges, strict=True)
    ]
    predictions, variances = (np.array(part) for part in zip(*parts, strict=True))
    return mix_predictions(model, predictions, variances)


def find_outliers(model: FittedModel) -> list[LeftOut]:
    """Find rewards that are far from what all others predict, the farthest first.

    A reward far out spoils the predictions of its neighbours as well. So the farthest one is set
    aside before the next is looked for, until none is far out, or a quarter is set aside.
    """
    outliers: list[LeftOut] = []
    kept = np.arange(len(model.observations))
    while 4 * len(outliers) < len(model.observations):
        rest = replace(model, observations=model.observations.select(kept))
        left_out = predict_left_out(rest)
        if left_out is None or not len(left_out.outliers):
            break
        place = int(left_out.outliers[0])
        prediction = float(left_out.predicted[place]), float(left_out.sd[place])
        outliers.append(LeftOut(int(kept[place]), *prediction))
        kept = np.delete(kept, place)
    return outliers


def mix_predictions(model: FittedModel, predictions: Array, variances: Array) -> LeaveOneOut:
    """Average what the members predict, (members, points) arrays, with equal weights."""
    observed, units = model.observations, model.units
    predicted, variance = mix_moments(predictions, np.sqrt(variances))
    sd = np.sqrt(variance)
    reach = HALF_INTERVAL * sd
    ends = units.original(predicted - reach), units.original(predicted + reach)
    return LeaveOneOut(
        points=observed.points,
        counts=np.maximum(np.rint(observed.counts), 1).astype(np.int64),
        measured=np.asarray(observed.means, dtype=np.float64),
        predicted=np.asarray(units.original(predicted)),
        sd=np.asarray(units.original_sd(predicted, sd)),
        ends=None if units.is_linear else ends,
        model_residuals=None if units.is_linear else (observed.standardised - predicted) / sd,
    )


def leave_out_each(matrix: Array, ridge: float, counts: Array, z: Array) -> tuple[Array, Array]:
    """Return prediction and variance of each z_i from the others, with matrix = K and a ridge."""
    exact = Factorisation.of(matrix, counts, counts * z, ridge)
    # C^-1 = N^1/2 B^-1 N^1/2 / ridge, with the factor of B, whose eigenvalues are at least 1.
    inverse_root = solve_triangular(exact.factor, np.diag(exact.root), lower=True)
    precision = np.einsum("ij,ij->j", inverse_root, inverse_root) / ridge
    return z - exact.coefficients / precision, 1 / precision
