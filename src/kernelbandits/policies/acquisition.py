"""Acquisitions: a score of posterior means and sds, whose maximiser is played.

On arms an acquisition scores the means and standard deviations of all members of the posterior. On
a box it is a function of the point (`Surface`), whose gradient follows by the chain rule. A new
acquisition is a `MixtureAcquisition` with `score_mixture` and, to be played on boxes,
`mixture_derivatives`; one that tells the members apart is an `Acquisition` with `score` and
`derivatives`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array, Indices
from kernelbandits.domains.bfgs import STEPS
from kernelbandits.posterior import SearchForm
from kernelbandits.posterior.members import mix_moments

LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
ROOT_HALF_PI = math.sqrt(math.pi / 2)
FAR, HIGH = 700.0, 30.0
"""Farther below the best than this many standard deviations, a series is more exact; farther above
it, the improvement is certain."""
LEAST_SD = 1e-100
"""A standard deviation below it counts as none."""
LARGEST_GAP = 1e150
FARTHEST = 1e4
"""Farther than so many standard deviations from a limit, nothing changes."""
TINIEST = 1e-300
KEY_DIGITS = 9
"""To how many digits after the decimal point coordinates of one point agree."""
AGREEING = 200
"""With so many points measured, the members of a mixture have about the same maxima."""
NO_CHANCE = -1e300
"""Stands for the logarithm of 0: a point that certainly improves nothing is played last."""
LAST = 2 * NO_CHANCE
"""The score of what is played after such points."""


class Searchable(Protocol):
    """A function of the rows that kernels see, with its gradient: what is maximised on a box."""

    def values(self, rows: Array) -> Array: ...
    def slopes(self, rows: Array) -> tuple[Array, Array]: ...


class Acquisition:
    """A score by the members of a posterior; the arm or point with the greatest one is played.

    Means and standard deviations are (M, n) arrays, a row for each of the M members. Most
    posteriors have one member, and most scores need mean and sd of the mixture alone
    (`MixtureAcquisition`).

    >>> import numpy as np
    >>> from kernelbandits.policies import Acquisition
    >>> class Cautious(Acquisition):
    ...     def score(self, means, sds):
    ...         return (means - sds).min(0)
    >>> Cautious().score(np.array([[0.5, 0.0], [0.2, 0.1]]), np.array([[0.1, 1.0], [0.1, 0.3]]))
    array([ 0.1, -1. ])
    """

    from_best: bool = False
    """Whether the sd is that of what a reward changes in mean(x) - mean(x*), x* the point played of
    the best estimate."""
    among: Indices | None = None
    """The positions of the points played among which x* is; None for all."""
    search_steps: ClassVar[int] = STEPS
    """The most steps of an ascent in the search for the greatest score on a box."""

    @property
    def uses_sd(self) -> bool:
        """Whether the score depends on the sd; without it a search takes a tenth of the time."""
        return True

    def score(self, means: Array, sds: Array) -> Array:
        """Return the score (n,) at points with these means and standard deviations, (M, n)."""
        raise NotImplementedError

    def derivatives(self, means: Array, sds: Array) -> tuple[Array, Array, Array]:
        """Return the score (n,), and its derivatives by each mean and by each sd, (M, n)."""
        raise NotImplementedError(f"{type(self).__name__} needs derivatives to be played on a box")

    def of_member(self, member: int) -> Acquisition:
        """Return the score by one member alone."""
        return self

    def worth(self, scores: Array, mean: Array, costs: Array) -> Array:
        """Return what arms with these scores are worth for their costs."""
        return per_cost(scores, mean, costs)

    def note(self, score: float, mean: float, units: Standard) -> dict[str, float]:
        """Return what the note of a choice says of its score, in the units of the rewards.

        Score and mean are those of the choice, in the units of the posterior.
        """
        return {"index": float(units.original(score))}


class MixtureAcquisition(Acquisition):
    """A score of posterior mean and sd: those of the mixture, where there are several members.

    >>> import numpy as np
    >>> from kernelbandits.policies import MixtureAcquisition
    >>> class TwoSigma(MixtureAcquisition):
    ...     def score_mixture(self, mean, sd):
    ...         return mean + 2 * sd
    >>> TwoSigma().score_mixture(np.array([0.5, 0.0]), np.array([0.1, 1.0]))
    array([0.7, 2. ])
    """

    def score_mixture(self, mean: Array, sd: Array) -> Array:
        """Return the score at points with these means and standard deviations, (n,) arrays."""
        raise NotImplementedError

    def mixture_derivatives(self, mean: Array, sd: Array) -> tuple[Array, Array, Array]:
        """Return the score, and its derivatives by mean and by sd, (n,) arrays."""
        name = type(self).__name__
        raise NotImplementedError(f"{name} needs mixture_derivatives to be played on a box")

    def score(self, means: Array, sds: Array) -> Array:
        if len(means) == 1:
            return self.score_mixture(means[0], sds[0])
        mean, variance = mix_moments(means, sds)
        return self.score_mixture(mean, np.sqrt(variance))

    def derivatives(self, means: Array, sds: Array) -> tuple[Array, Array, Array]:
        """Return the derivatives by the chain rule.

        The variance of a mixture is the average of (sd_i^2 + mean_i^2) - mean^2.
        """
        if len(means) == 1:
            value, by_mean, by_sd = self.mixture_derivatives(means[0], sds[0])
            return value, by_mean[None], by_sd[None]
        mean, variance = mix_moments(means, sds)
        sd = np.sqrt(variance)
        value, by_mean, by_sd = self.mixture_derivatives(mean, sd)
        share = np.divide(by_sd, sd, out=np.zeros(sd.shape), where=sd > 0) / len(means)
        return value, by_mean / len(means) + share * (means - mean), share * sds


@dataclass(frozen=True)
class PosteriorMean(MixtureAcquisition):
    """The estimate itself."""

    uses_sd = False

    def score_mixture(self, mean: Array, sd: Array) -> Array:
        return mean

    def mixture_derivatives(self, mean: Array, sd: Array) -> tuple[Array, Array, Array]:
        return mean, np.ones(mean.shape), np.zeros(mean.shape)


@dataclass(frozen=True, slots=True)
class UpperConfidence(MixtureAcquisition):
    """Score by the index of Generic-GP and most of its rivals.

    mean + weight * width * sd

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> ucb = kb.policies.UpperConfidence(weight=1.0, width=2.0)
    >>> ucb.score_mixture(np.array([0.5, 0.2]), np.array([0.1, 0.3]))
    array([0.7, 0.8])
    >>> kb.policies.UpperConfidence(weight=0.0, width=2.0).uses_sd
    False
    """

    weight: float
    """w_t as drawn from the exploration law."""
    width: float
    """a_t + sqrt(b_t + c_t L), the confidence width of the round."""

    @property
    def uses_sd(self) -> bool:
        return self.weight * self.width != 0

    def score_mixture(self, mean: Array, sd: Array) -> Array:
        return mean + (self.weight * self.width) * sd

    def mixture_derivatives(self, mean: Array, sd: Array) -> tuple[Array, Array, Array]:
        # A search asks this again and again, and `np.full_like` takes as long as the rest.
        reach, ones = self.weight * self.width, np.ones(mean.shape)
        return mean + reach * sd, ones, reach * ones

    def note(self, score: float, mean: float, units: Standard) -> dict[str, float]:
        index = float(units.original(score))
        return {"index": index, "weight": self.weight, "width": self.width}


@dataclass(frozen=True)
class MemberConfidence(Acquisition):
    """mean_i + width * sd_i, the upper confidence bound of one member of the posterior."""

    member: int
    """Which member."""
    width: float

    def score(self, means: Array, sds: Array) -> Array:
        bounds: Array = means[self.member] + self.width * sds[self.member]
        return bounds

    def derivatives(self, means: Array, sds: Array) -> tuple[Array, Array, Array]:
        by_mean, by_sd = np.zeros_like(means), np.zeros_like(sds)
        by_mean[self.member], by_sd[self.member] = 1.0, self.width
        return self.score(means, sds), by_mean, by_sd

    def of_member(self, member: int) -> MemberConfidence:
        return replace(self, member=0)

    def note(self, score: float, mean: float, units: Standard) -> dict[str, float]:
        return {"index": float(units.original(score)), "width": self.width}


@dataclass(frozen=True)
class StandardDeviation(MixtureAcquisition):
    """sd: play where least is known."""

    def score_mixture(self, mean: Array, sd: Array) -> Array:
        return sd

    def mixture_derivatives(self, mean: Array, sd: Array) -> tuple[Array, Array, Array]:
        return sd, np.zeros_like(mean), np.ones_like(sd)


@dataclass(frozen=True)
class LogExpectedImprovement(Acquisition):
    r"""ln of the average over the members i of E_i[max(f - best_i, 0)] = sd_i h(z_i),

    z = (mean - best) / sd,   h(z) = phi(z) + z Phi(z).

    With `from_best` the sd is that of what one reward changes, and it is the improvement of the
    estimate. The improvement is averaged, not the estimates: a point that one member finds
    promising and the others do not is worth a measurement, which the mean of all members does not
    show. The logarithm has the maximiser of the expected improvement, and gradients that do not
    vanish where the improvement is too small for a float (Ament et al., 2023).
    """

    best: Any
    """What is to be improved on, in the units of the posterior: a number for each member, (M,)."""
    from_best: bool = False
    among: Indices | None = None
    highest: float | None = None
    """The highest estimate of the mixture, over which a note states the improvement."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "best", np.atleast_1d(np.asarray(self.best, dtype=np.float64)))

    def score(self, means: Array, sds: Array) -> Array:
        return log_mean_exp(log_expected_improvement(means, sds, self.best[:, None]))

    def derivatives(self, means: Array, sds: Array) -> tuple[Array, Array, Array]:
        best = self.best[:, None]
        z, spread = standard_gaps(means, sds, best)
        log_h, by_mean, by_sd = improvement_slopes(z)
        by_mean /= spread
        by_sd /= spread
        certain = sds <= LEAST_SD
        logs = np.log(spread) + log_h
        if certain.any():
            by_mean[certain] = by_sd[certain] = 0.0
            logs = log_expected_improvement(means, sds, best)
        total = log_mean_exp(logs)
        weights = np.exp(logs - total) / len(logs)
        return total, weights * by_mean, weights * by_sd

    def of_member(self, member: int) -> LogExpectedImprovement:
        return replace(self, best=self.best[[member]])

    def worth(self, scores: Array, mean: Array, costs: Array) -> Array:
        """Return ln of the expected improvement for its cost; the cheapest arm costs 1."""
        return per_log_cost(scores, costs)

    def note(self, score: float, mean: float, units: Standard) -> dict[str, float]:
        highest = float(self.best.mean()) if self.highest is None else self.highest
        return {"improvement": convert_gain(math.exp(score), highest, units)}


@dataclass(frozen=True)
class LogProbabilityOfImprovement(MixtureAcquisition):
    r"""ln P(f > best) = ln Phi(z), z = (mean - best) / sd."""

    best: float
    """What is to be improved on, in the units of the posterior."""

    def score_mixture(self, mean: Array, sd: Array) -> Array:
        z, _ = standard_gaps(mean, sd, self.best)
        certain = np.where(mean > self.best, 0.0, NO_CHANCE)
        return np.where(sd > LEAST_SD, log_ndtr(z), certain)

    def mixture_derivatives(self, mean: Array, sd: Array) -> tuple[Array, Array, Array]:
        z, spread = standard_gaps(mean, sd, self.best)
        # phi(z) / Phi(z), the derivative of ln Phi.
        # It is about |z| far below, where both logarithms are too large to subtract.
        far = z < -FAR
        near = np.where(far, 0.0, z)
        ratio = np.exp(-0.5 * near**2 - LOG_ROOT_TWO_PI - log_ndtr(near))
        ratio = np.where(far, -z, ratio)
        ratio[sd <= LEAST_SD] = 0.0
        return self.score_mixture(mean, sd), ratio / spread, -ratio * z / spread


@dataclass(frozen=True)
class LogProbabilityInside(Acquisition):
    r"""ln of the average over the members of P(low <= f <= high) = Phi(b) - Phi(a),

    a = (low - mean) / sd,   b = (high - mean) / sd.

    >>> import math
    >>> import numpy as np
    >>> from kernelbandits.policies.acquisition import LogProbabilityInside
    >>> mean, sd = np.array([[0.0, 0.0]]), np.array([[1.0, 2.0]])
    >>> np.exp(LogProbabilityInside(-math.inf, 1.0).score(mean, sd)).round(4)
    array([0.8413, 0.6915])
    """

    low: float
    """In the units of the posterior, as `high`; minus infinity for none."""
    high: float
    noise: float = 0.0
    """The variance of what is added to f before it is compared with the limits."""
    shares: Array | None = None
    """What each member counts for, in all 1; None for the same."""

    def score(self, means: Array, sds: Array) -> Array:
        return log_mean_exp(self._evaluate(means, sds)[0] + self._log_weights)

    def of_member(self, member: int) -> LogProbabilityInside:
        return replace(self, shares=None)

    @property
    def _log_weights(self) -> Array | float:
        """ln of what each member counts for, beside the average member."""
        if self.shares is None:
            return 0.0
        return np.asarray(np.log(self.shares * len(self.shares))[:, None])

    def derivatives(self, means: Array, sds: Array) -> tuple[Array, Array, Array]:
        logs, below, above, spread = self._evaluate(means, sds)
        weighted = logs + self._log_weights
        total = log_mean_exp(weighted)
        weights = np.exp(weighted - total) / len(logs) / spread
        # phi / (Phi(b) - Phi(a)) at both ends, 0 at an end that is none.
        at_low, at_high = (
            np.exp(-0.5 * end**2 - LOG_ROOT_TWO_PI - logs) * (np.abs(end) < FARTHEST)
            for end in (below, above)
        )
        return (
            total,
            weights * (at_low - at_high),
            weights * (below * at_low - above * at_high) * self._slope(sds, spread),
        )

    def _slope(self, sds: Array, spread: Array) -> Array | float:
        """Return the derivative of the spread by the sd."""
        return 1.0 if self.noise == 0 else sds / spread

    def _evaluate(self, means: Array, sds: Array) -> tuple[Array, Array, Array, Array]:
        """Return the logarithms of each member, a, b and the sd.

        An sd of 0 counts as a tiny one.
        """
        total = sds if self.noise == 0 else np.sqrt(sds**2 + self.noise)
        spread = np.maximum(total, LEAST_SD)
        with np.errstate(over="ignore"):
            below = np.clip((self.low - means) / spread, -FARTHEST, FARTHEST)
            above = np.clip((self.high - means) / spread, -FARTHEST, FARTHEST)
        # Above the mean Phi rounds to 1: both ends are reflected to where it keeps its digits.
        upper = below + above > 0
        first, last = np.where(upper, -above, below), np.where(upper, -below, above)
        most = log_ndtr(last)
        gap = np.maximum(most - log_ndtr(first), TINIEST)
        return most + np.log(-np.expm1(-gap)), below, above, spread


@dataclass(frozen=True)
class LogWorthOfTrying(LogProbabilityInside):
    r"""ln P, and `steepness` times as steep where P is less than a least one:

    ln P + (steepness - 1) min(ln P - ln least, 0).

    It orders places for a measurement that may fail. Those where it is probable enough differ by
    its probability alone; the others come after them, the less probable the later.
    """

    least: float = 0.5
    """The probability from which on places differ by it alone."""
    steepness: float = 100.0

    def score(self, means: Array, sds: Array) -> Array:
        logs = super().score(means, sds)
        return np.asarray(logs + (self.steepness - 1) * np.minimum(logs - math.log(self.least), 0))

    def derivatives(self, means: Array, sds: Array) -> tuple[Array, Array, Array]:
        logs, by_mean, by_sd = super().derivatives(means, sds)
        below = logs - math.log(self.least)
        factor = np.where(below < 0, self.steepness, 1.0)
        worth = logs + (self.steepness - 1) * np.minimum(below, 0)
        return worth, factor * by_mean, factor * by_sd


@dataclass(frozen=True)
class Feasibility(Acquisition):
    """Nothing: the score of a round that asks only whether limits on outcomes are met.

    The logarithms of their probabilities are added to it.
    """

    uses_sd = False

    def score(self, means: Array, sds: Array) -> Array:
        return np.zeros(means.shape[1])

    def derivatives(self, means: Array, sds: Array) -> tuple[Array, Array, Array]:
        return np.zeros(means.shape[1]), np.zeros(means.shape), np.zeros(means.shape)

    def worth(self, scores: Array, mean: Array, costs: Array) -> Array:
        """Return ln of the probability for its cost; the cheapest arm costs 1."""
        return per_log_cost(scores, costs)

    def note(self, score: float, mean: float, units: Standard) -> dict[str, float]:
        return {}


@dataclass(frozen=True)
class Lookahead(Acquisition):
    """The average over the members of mean + horizon * gain: play now, and learn for later.

    gain = s h(-|mean - best| / s),   s = sd^2 / sqrt(sd^2 + noise),   h(z) = phi(z) + z Phi(z)

    is what one reward at x is expected to add to the highest estimate (`knowledge_gain`). Each of
    the rounds that follow can earn it. This is the online knowledge gradient of Ryzhov, Powell and
    Frazier (2012), of each point alone.
    """

    # The score has a ridge where the estimate of a member is its highest one. An ascent does not
    # end there by itself, and hardly rises after so many steps.
    search_steps: ClassVar[int] = 15

    best: Array
    """The highest estimate so far, of each member, in the units of the posterior: (M,)."""
    noise: Array
    """The noise variance of each member: (M,)."""
    horizon: float
    """For how many rounds the gain counts."""
    highest: float
    """The highest estimate of the mixture, over which a note states the gain."""

    def score(self, means: Array, sds: Array) -> Array:
        gap, step = np.abs(means - self.best[:, None]), reward_step(sds**2, self.noise[:, None])
        return np.asarray((means + self.horizon * knowledge_gain(gap, step)[0]).mean(0))

    def derivatives(self, means: Array, sds: Array) -> tuple[Array, Array, Array]:
        """Return the derivatives: those of `knowledge_gain`, times those of |gap| and of s."""
        best, noise, variances = self.best[:, None], self.noise[:, None], sds**2
        step = reward_step(variances, noise)
        gain, by_gap, by_step = knowledge_gain(np.abs(means - best), step)
        by_mean = 1 + self.horizon * by_gap * np.sign(means - best)
        by_sd = self.horizon * by_step * reward_step_slope(sds, noise)
        value = (means + self.horizon * gain).mean(0)
        return value, by_mean / len(means), by_sd / len(means)

    def of_member(self, member: int) -> Lookahead:
        return replace(self, best=self.best[[member]], noise=self.noise[[member]])

    def note(self, score: float, mean: float, units: Standard) -> dict[str, float]:
        """Return the gain, which counts for nothing where no round follows."""
        gain = (score - mean) / self.horizon if self.horizon > 0 else 0.0
        return {"gain": convert_gain(gain, self.highest, units), "horizon": self.horizon}


def convert_gain(gain: float, best: float, units: Standard) -> float:
    """Return what is gained over the best estimate, in the units of the rewards."""
    return float(units.original(best + gain) - units.original(best))


def log_expected_improvement(mean: Array, sd: Array, best: float | Array) -> Array:
    """Return ln E[max(f - best, 0)] of normal laws; `NO_CHANCE` stands for the logarithm of 0."""
    z, spread = standard_gaps(mean, sd, best)
    uncertain = np.log(spread) + log_improvement(z)
    if (sd > LEAST_SD).all():
        return uncertain
    gain = np.maximum(mean - best, 0.0)
    certain = np.where(gain > 0, np.log(np.where(gain > 0, gain, 1.0)), NO_CHANCE)
    return np.where(sd > LEAST_SD, uncertain, certain)


def reward_step(variance: Array, noise: float | Array) -> Array:
    """Return the sd of what one reward changes in an estimate of variance v.

    It is v / sqrt(v + noise).
    """
    return np.asarray(variance / np.sqrt(np.maximum(variance + noise, LEAST_SD)))


def reward_step_slope(sd: Array, noise: float | Array) -> Array:
    """Return the derivative of `reward_step` by the sd, sd (v + 2 noise) / (v + noise)^1.5."""
    variance = sd**2
    total = np.maximum(variance + noise, LEAST_SD)
    return np.asarray(sd * (variance + 2 * noise) / (total * np.sqrt(total)))


def knowledge_gain(gap: Array, step: Array) -> tuple[Array, Array, Array]:
    """Return what one reward is expected to add, step h(-gap / step), h(z) = phi(z) + z Phi(z).

    The estimate is a gap >= 0 away from the highest of the others, and the reward moves it by a
    normal amount of sd `step`. So it may become the highest, or no longer be it. Returned are the
    gain, its derivative -Phi(z) by the gap and its derivative phi(z) by the step. Their error is
    that of rounding, relative to the step: the gain is added to an estimate.
    """
    certain = step <= LEAST_SD
    z = np.where(certain, -FAR, np.maximum(-gap / np.where(certain, 1.0, step), -FAR))
    above, density = ndtr(z), np.exp(-0.5 * z**2 - LOG_ROOT_TWO_PI)
    return np.maximum(step * density - gap * above, 0.0), -above, density


def row_keys(rows: Array) -> list[bytes]:
    """Return the same bytes for rows of the same point: 0.0 for -0.0, without the last digits."""
    return [row.tobytes() for row in np.round(rows, KEY_DIGITS) + 0.0]


def log_mean_exp(logs: Array) -> Array:
    """Return ln of the mean of exp(logs) over the rows, without overflow."""
    most = logs.max(0)
    return np.asarray(most + np.log(np.exp(logs - most).mean(0)))


PLAIN_SCORE = Acquisition()
"""A score that is noted as an index."""


@dataclass(frozen=True, eq=False)
class ArmScores(Acquisition):
    """A score for each arm, given as numbers.

    It is for rules whose index is no function of mean and sd.
    """

    scores: Array
    meaning: Acquisition = PLAIN_SCORE
    """The acquisition whose scores these are: it knows what they are worth, and what to note."""

    def score(self, means: Array, sds: Array) -> Array:
        return self.scores

    def worth(self, scores: Array, mean: Array, costs: Array) -> Array:
        return self.meaning.worth(scores, mean, costs)

    def note(self, score: float, mean: float, units: Standard) -> dict[str, float]:
        return self.meaning.note(score, mean, units)


def per_cost(scores: Array, mean: Array, costs: Array) -> Array:
    """Return (score - max mean) / cost where that is positive for some arm, else the score.

    It is what an arm may gain over the highest estimate, for its price; the cheapest arm costs 1.
    Under a weight >= 0 no index is below its mean, so the arm of the highest estimate has a
    numerator >= 0. If there is nothing to gain anywhere, and under a negative weight, the score
    alone decides. This is no paper's rule, and nothing is claimed of it.
    """
    gain = scores - mean.max()
    return gain * (costs.min() / costs) if gain.max() > 0 else scores


def per_log_cost(scores: Array, costs: Array) -> Array:
    """Return ln of a gain for its cost, where the score is its logarithm; the cheapest costs 1."""
    return np.asarray(scores - np.log(costs / costs.min()))


def standard_gaps(mean: Array, sd: Array, best: float | Array) -> tuple[Array, Array]:
    """Return z = (mean - best) / sd and the sd; where there is no sd both are placeholders."""
    spread = np.where(sd > LEAST_SD, sd, 1.0)
    # Beyond this size the square of z is no float.
    with np.errstate(over="ignore"):
        return np.clip((mean - best) / spread, -LARGEST_GAP, LARGEST_GAP), spread


def log_improvement(z: Array) -> Array:
    """Return ln h(z), h(z) = phi(z) + z Phi(z), to about ten digits for every z."""
    return improvement_slopes(z)[0]


def improvement_slopes(z: Array) -> tuple[Array, Array, Array]:
    r"""Return ln h(z), Phi(z) / h(z) and phi(z) / h(z), to about ten digits for every z.

    With the ratio q(z) = Phi(z) / phi(z) = sqrt(pi / 2) erfcx(-z / sqrt(2)) and h = phi (1 + z q),

        ln h = ln phi + ln(1 + z q),   Phi / h = q / (1 + z q),   phi / h = 1 / (1 + z q).

    Far below, z q rounds to -1, and 1 + z q = z^-2 (1 - 3 z^-2 + ...) takes its place. Far above, q
    is no float, and h = z.
    """
    z = np.asarray(z, dtype=np.float64)
    near = np.clip(z, -FAR, HIGH)
    ratio = ROOT_HALF_PI * erfcx(near * -math.sqrt(0.5))
    share = 1.0 + near * ratio
    log_h = np.log(share)
    log_h -= 0.5 * near**2 + LOG_ROOT_TWO_PI
    by_mean, by_sd = ratio / share, 1.0 / share
    low, high = z < -FAR, z > HIGH
    if low.any():
        far = z[low]
        share = (1 - 3 / far**2) / far**2
        log_h[low] = np.log1p(-3 / far**2) - 2 * np.log(-far) - 0.5 * far**2 - LOG_ROOT_TWO_PI
        by_mean[low], by_sd[low] = (1 - 1 / far**2) / -far / share, 1 / share
    if high.any():
        log_h[high], by_mean[high], by_sd[high] = np.log(z[high]), 1 / z[high], 0.0
    return log_h, by_mean, by_sd


class Surface:
    """An acquisition as a function of the point, with its gradient by the chain rule.

    With `exact` the posterior is evaluated without loss of digits, so that equal points have equal
    scores: that is for lists of arms. A search evaluates it by `SearchForm`.
    """

    def __init__(self, posterior: Any, acquisition: Acquisition, exact: bool = False) -> None:
        self.posterior, self.acquisition, self.exact = posterior, acquisition, exact
        self._form: SearchForm | None = None

    @property
    def form(self) -> SearchForm:
        """The posterior as a search evaluates it."""
        if self._form is None:
            acquisition = self.acquisition
            self._form = SearchForm(self.posterior, acquisition.from_best, acquisition.among)
        return self._form

    @property
    def sketch(self) -> Surface | None:
        """The score by the most central member, where the members are nearly the same.

        With many rewards they are, and one of them shows where the maxima are at a fraction of the
        time.
        """
        if len(self.posterior.kernels) == 1 or len(self.posterior.points) < AGREEING:
            return None
        central = self.form.central_member()
        if central is None:
            return None
        return Surface(self.posterior.of_member(central), self.acquisition.of_member(central))

    def values(self, rows: Array) -> Array:
        """Return the score at the rows."""
        if self.exact:
            moments = self.posterior.members_at(rows)
        else:
            moments = self.form.at(rows, self.acquisition.uses_sd)
        return self.acquisition.score(*moments)

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """Return the score and its gradient."""
        derivatives, uses_sd = self.acquisition.derivatives, self.acquisition.uses_sd
        values, slopes = self.form.slopes(rows, derivatives, uses_sd)
        return values, slopes


class SummedSurface:
    """The sum of surfaces of several posteriors, such as logarithms of a gain and of chances."""

    def __init__(self, parts: Sequence[Surface | SummedSurface]) -> None:
        self.parts = parts

    @property
    def sketch(self) -> SummedSurface | None:
        """The sum of the sketches, where every part has one."""
        sketches = [sketch for part in self.parts if (sketch := part.sketch) is not None]
        return SummedSurface(sketches) if len(sketches) == len(self.parts) else None

    def values(self, rows: Array) -> Array:
        """Return the sum at the rows."""
        return np.asarray(np.sum([part.values(rows) for part in self.parts], axis=0))

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """Return the sum and its gradient."""
        values, gradients = zip(*(part.slopes(rows) for part in self.parts), strict=True)
        return np.asarray(np.sum(values, axis=0)), np.asarray(np.sum(gradients, axis=0))


class WeighedSurface:
    """What is expected where a measurement may fail: floor + P (score - floor).

    A failure counts as the floor. P is given by a surface of its logarithm.
    """

    def __init__(self, part: Surface, chance: Surface, floor: float) -> None:
        self.part, self.chance, self.floor = part, chance, floor

    @property
    def sketch(self) -> WeighedSurface | None:
        """The same of the sketches, where both parts have one."""
        part, chance = self.part.sketch, self.chance.sketch
        if part is None or chance is None:
            return None
        return WeighedSurface(part, chance, self.floor)

    def values(self, rows: Array) -> Array:
        """Return what is expected at the rows."""
        return weigh_scores(self.part.values(rows), self.chance.values(rows), self.floor)

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """Return the same and its gradient."""
        (score, by_score), (log, by_log) = self.part.slopes(rows), self.chance.slopes(rows)
        chance = np.exp(log)[:, None]
        gradient = chance * (by_score + (score - self.floor)[:, None] * by_log)
        return weigh_scores(score, log, self.floor), gradient


def weigh_scores(scores: Array, logs: Array, floor: float) -> Array:
    """Return floor + P (score - floor), given ln P.

    >>> import numpy as np
    >>> weigh_scores(np.array([1.0, 3.0]), np.log([1.0, 0.5]), floor=-1.0).tolist()
    [1.0, 1.0]
    """
    return np.asarray(floor + np.exp(logs) * (scores - floor))


def posterior_mean(posterior: Any) -> Surface:
    """Return the estimate as a function of the point."""
    return Surface(posterior, PosteriorMean())
