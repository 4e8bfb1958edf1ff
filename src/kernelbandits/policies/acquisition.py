"""Acquisitions: a score of posterior mean and sd, whose maximiser is played.

On arms an acquisition scores vectors of means and standard deviations. On a box it is a function of
the point, whose gradient follows by the chain rule. A new acquisition is a class with `score` and,
to be played on boxes, `derivatives`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from kernelbandits.checks import Array
from kernelbandits.domains.bfgs import PATIENT, STEPS, USUAL, Halving
from kernelbandits.kernels import Kernel
from kernelbandits.posterior import SearchForm, StackedPosteriors, members_of

LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
ROOT_HALF_PI = math.sqrt(math.pi / 2)
FAR, HIGH = 700.0, 30.0
"""Farther below the best than this many standard deviations, a series is more exact; farther above
it, the improvement is certain."""
LEAST_SD = 1e-100
"""A standard deviation below it counts as none."""
LARGEST_GAP = 1e150
ROUNDING = 1e-12
"""The error of a difference of variances, as a share of the prior variance."""
KEY_DIGITS = 9
"""To how many digits after the decimal point coordinates of one point agree."""
AGREEING = 200
"""With so many points measured, the members of a mixture have about the same maxima."""
NO_CHANCE = -1e300
"""Stands for the logarithm of 0: a point that certainly improves nothing is played last."""


class Surface(Protocol):
    """A function of the rows that kernels see, with its gradient: what is maximised on a box."""

    def values(self, rows: Array) -> Array: ...
    def slopes(self, rows: Array) -> tuple[Array, Array]: ...


class Acquisition:
    """A score of posterior mean and sd; the arm or point with the greatest score is played.

    >>> import numpy as np
    >>> class TwoSigma(Acquisition):
    ...     def score(self, mean, sd):
    ...         return mean + 2 * sd
    >>> TwoSigma().score(np.array([0.5, 0.0]), np.array([0.1, 1.0]))
    array([0.7, 2. ])
    """

    search_steps: ClassVar[int] = STEPS
    """The most steps of an ascent in the search for the greatest score on a box."""

    def score(self, mean: Array, sd: Array) -> Array:
        """The score at points with these means and standard deviations."""
        raise NotImplementedError

    def derivatives(self, mean: Array, sd: Array) -> tuple[Array, Array, Array]:
        """The score, and its derivatives by mean and by sd."""
        raise NotImplementedError(f"{type(self).__name__} needs derivatives to be played on a box")

    def surface(self, posterior: Any) -> Surface:
        """The score as a function of the point."""
        return ScoreSurface(posterior, self)

    def worth(self, scores: Array, mean: Array, costs: Array) -> Array:
        """What arms with these scores are worth for their costs."""
        return per_cost(scores, mean, costs)

    def note(self, scores: Array, arm: int) -> dict[str, float]:
        """What the note of a choice says of the score."""
        return {"index": float(scores[arm])}

    @property
    def round_note(self) -> dict[str, float]:
        """What the note of a choice says of the round, whatever the point."""
        return {}


@dataclass(frozen=True, slots=True)
class UpperConfidence(Acquisition):
    """mean + weight * width * sd, the index of Generic-GP and most of its rivals."""

    weight: float
    """w_t as drawn from the exploration law."""
    width: float
    """a_t + sqrt(b_t + c_t L), the confidence width of the round."""

    def score(self, mean: Array, sd: Array) -> Array:
        return mean + (self.weight * self.width) * sd

    def derivatives(self, mean: Array, sd: Array) -> tuple[Array, Array, Array]:
        # A search asks this again and again, and `np.full_like` takes as long as the rest.
        reach, ones = self.weight * self.width, np.ones(mean.shape)
        return mean + reach * sd, ones, reach * ones

    def surface(self, posterior: Any) -> Surface:
        # Without the sd a search takes a tenth of the time.
        if self.weight * self.width == 0:
            return posterior_mean(posterior)
        return ScoreSurface(posterior, self)

    def note(self, scores: Array, arm: int) -> dict[str, float]:
        return {"weight": self.weight, "width": self.width}

    @property
    def round_note(self) -> dict[str, float]:
        return {"weight": self.weight, "width": self.width}


@dataclass(frozen=True)
class StandardDeviation(Acquisition):
    """sd: play where least is known."""

    def score(self, mean: Array, sd: Array) -> Array:
        return sd

    def derivatives(self, mean: Array, sd: Array) -> tuple[Array, Array, Array]:
        return sd, np.zeros_like(mean), np.ones_like(sd)


@dataclass(frozen=True)
class LogExpectedImprovement(Acquisition):
    r"""ln E[max(f - best, 0)] = ln sd + ln h(z), z = (mean - best) / sd, h(z) = phi(z) + z Phi(z).

    The logarithm has the maximiser of the expected improvement, and gradients that do not vanish
    where the improvement is too small for a float (Ament et al., 2023).
    """

    best: float | Array
    """What is to be improved on, in the units of the posterior; an array for several posteriors."""

    def score(self, mean: Array, sd: Array) -> Array:
        z, spread = standard_gaps(mean, sd, self.best)
        uncertain = np.log(spread) + log_improvement(z)
        if (sd > LEAST_SD).all():
            return uncertain
        gain = np.maximum(mean - self.best, 0.0)
        certain = np.where(gain > 0, np.log(np.where(gain > 0, gain, 1.0)), NO_CHANCE)
        return np.where(sd > LEAST_SD, uncertain, certain)

    def derivatives(self, mean: Array, sd: Array) -> tuple[Array, Array, Array]:
        z, spread = standard_gaps(mean, sd, self.best)
        log_h, by_mean, by_sd = improvement_slopes(z)
        by_mean /= spread
        by_sd /= spread
        certain = sd <= LEAST_SD
        if not certain.any():
            return np.log(spread) + log_h, by_mean, by_sd
        by_mean[certain] = by_sd[certain] = 0.0
        return self.score(mean, sd), by_mean, by_sd


@dataclass(frozen=True)
class LogProbabilityOfImprovement(Acquisition):
    r"""ln P(f > best) = ln Phi(z), z = (mean - best) / sd."""

    best: float
    """What is to be improved on, in the units of the posterior."""

    def score(self, mean: Array, sd: Array) -> Array:
        z, _ = standard_gaps(mean, sd, self.best)
        certain = np.where(mean > self.best, 0.0, NO_CHANCE)
        return np.where(sd > LEAST_SD, log_ndtr(z), certain)

    def derivatives(self, mean: Array, sd: Array) -> tuple[Array, Array, Array]:
        z, spread = standard_gaps(mean, sd, self.best)
        # phi(z) / Phi(z), the derivative of ln Phi.
        # It is about |z| far below, where both logarithms are too large to subtract.
        far = z < -FAR
        near = np.where(far, 0.0, z)
        ratio = np.exp(-0.5 * near**2 - LOG_ROOT_TWO_PI - log_ndtr(near))
        ratio = np.where(far, -z, ratio)
        ratio[sd <= LEAST_SD] = 0.0
        return self.score(mean, sd), ratio / spread, -ratio * z / spread


class MemberAcquisition(Acquisition):
    """A score that is averaged over the members of a mixture, each with its own mean and sd."""

    def score_members(self, means: Array, sds: Array) -> Array:
        """The score of points from the means and standard deviations of each member, in rows."""
        raise NotImplementedError

    def member_derivatives(self, means: Array, sds: Array) -> tuple[Array, Array, Array]:
        """The score of points, and its derivatives by the mean and by the sd of each member."""
        raise NotImplementedError

    def of_member(self, member: int) -> MemberAcquisition:
        """The score by one member alone."""
        raise NotImplementedError

    def surface(self, posterior: Any) -> Surface:
        return MemberSurface(members_of(posterior), self)


@dataclass(frozen=True)
class MemberImprovement(MemberAcquisition):
    """ln of the average over the members i of a mixture of E_i[max(f - best_i, 0)].

    The improvement is averaged, not the estimates: a point that one member finds promising and the
    others do not is worth a measurement, which the mean of all members does not show.
    """

    bests: tuple[float, ...]
    """What is to be improved on, by each member, in the units of the posterior."""
    repeats: Mapping[bytes, float] = field(default_factory=dict)
    """The scores of points that were measured before, by `row_keys`: what another measurement is
    expected to add."""
    over_value: bool = False
    """Whether the improvement is that over f at the best point and not over its estimate."""

    def surface(self, posterior: Any) -> Surface:
        surface = super().surface(posterior)
        if self.over_value:
            surface = DifferenceSurface(members_of(posterior), self)
        return ScoredRows(surface, self.repeats) if self.repeats else surface

    def score_members(self, means: Array, sds: Array) -> Array:
        best = np.array(self.bests)[:, None]
        return logmeanexp(LogExpectedImprovement(best).score(means, sds))

    def member_derivatives(self, means: Array, sds: Array) -> tuple[Array, Array, Array]:
        best = np.array(self.bests)[:, None]
        logs, by_mean, by_sd = LogExpectedImprovement(best).derivatives(means, sds)
        total = logmeanexp(logs)
        weights = np.exp(logs - total) / len(logs)
        return total, weights * by_mean, weights * by_sd

    def of_member(self, member: int) -> MemberImprovement:
        return MemberImprovement((self.bests[member],), over_value=self.over_value)


@dataclass(frozen=True)
class MemberLookahead(MemberAcquisition):
    """The average over the members of mean + horizon * gain: play now, and learn for later.

    gain = s h(-|mean - best| / s),   s = sd^2 / sqrt(sd^2 + noise),   h(z) = phi(z) + z Phi(z)

    is what one reward at x is expected to add to the highest estimate (`knowledge_gain`). Each of
    the rounds that follow can earn it. This is the online knowledge gradient of Ryzhov, Powell and
    Frazier (2012), of each point alone.
    """

    # The score has a ridge where the estimate of a member is its highest one. An ascent does not
    # end there by itself, and hardly rises after so many steps.
    search_steps = 15

    bests: tuple[float, ...]
    """The highest estimate so far, of each member, in the units of the posterior."""
    noises: tuple[float, ...]
    """The noise variance of each member."""
    horizon: float
    """For how many rounds the gain counts."""

    def score_members(self, means: Array, sds: Array) -> Array:
        best, noise = self._bests_and_noises()
        gain, _, _ = knowledge_gain(np.abs(means - best), reward_step(sds**2, noise))
        return np.asarray((means + self.horizon * gain).mean(0))

    def member_derivatives(self, means: Array, sds: Array) -> tuple[Array, Array, Array]:
        """The derivatives of the gain are `knowledge_gain`'s, times those of |gap| and of s."""
        best, noise = self._bests_and_noises()
        variances = sds**2
        step = reward_step(variances, noise)
        gain, by_gap, by_step = knowledge_gain(np.abs(means - best), step)
        by_mean = 1 + self.horizon * by_gap * np.sign(means - best)
        # s = v / sqrt(v + noise) with v = sd^2, so ds/dsd = sd (v + 2 noise) / (v + noise)^1.5.
        total = np.maximum(variances + noise, LEAST_SD)
        by_sd = self.horizon * by_step * sds * (variances + 2 * noise) / (total * np.sqrt(total))
        value = (means + self.horizon * gain).mean(0)
        return value, by_mean / len(means), by_sd / len(means)

    def _bests_and_noises(self) -> tuple[Array, Array]:
        """The highest estimate and the noise variance of each member, in columns."""
        return np.array(self.bests)[:, None], np.array(self.noises)[:, None]

    def of_member(self, member: int) -> MemberLookahead:
        return replace(self, bests=(self.bests[member],), noises=(self.noises[member],))

    @property
    def round_note(self) -> dict[str, float]:
        return {"horizon": self.horizon}


def reward_step(variance: Array, noise: float | Array) -> Array:
    """v / sqrt(v + noise): the sd of what one reward changes in an estimate of variance v."""
    return np.asarray(variance / np.sqrt(np.maximum(variance + noise, LEAST_SD)))


def knowledge_gain(gap: Array, step: Array) -> tuple[Array, Array, Array]:
    """step h(-gap / step), h(z) = phi(z) + z Phi(z): what one reward is expected to add.

    The estimate is a gap >= 0 away from the highest of the others, and the reward moves it by a
    normal amount of sd `step`. So it may become the highest, or no longer be it. Returned are the
    gain, its derivative -Phi(z) by the gap and its derivative phi(z) by the step. Their error is
    that of rounding, relative to the step: the gain is added to an estimate.
    """
    certain = step <= LEAST_SD
    z = np.where(certain, -FAR, np.maximum(-gap / np.where(certain, 1.0, step), -FAR))
    above, density = ndtr(z), np.exp(-0.5 * z**2 - LOG_ROOT_TWO_PI)
    return np.maximum(step * density - gap * above, 0.0), -above, density


class MemberSurface:
    """A `MemberAcquisition` as a function of the point, with its gradient."""

    quick = True
    """The average is one over few members: the last digits of its maximum say nothing."""

    def __init__(self, members: Sequence[Any], acquisition: MemberAcquisition) -> None:
        self.members = members
        self.acquisition = acquisition
        self.stacked = StackedPosteriors.of(members)

    @property
    def sketch(self) -> MemberSurface | None:
        """The score by the most central member, where the members are nearly the same.

        With many rewards they are, and one of them shows where the maxima are at a fraction of the
        time.
        """
        if self.stacked is None or len(self.members) == 1 or len(self.stacked.points) < AGREEING:
            return None
        central = self.stacked.central_member
        return type(self)([self.members[central]], self.acquisition.of_member(central))

    def values(self, rows: Array) -> Array:
        return self.acquisition.score_members(*self.moments(rows))

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """The score and its gradient, by the chain rule over the members."""
        means, sds, mean_slopes, sd_slopes = self.gradients(rows)
        value, by_mean, by_sd = self.acquisition.member_derivatives(means, sds)
        slopes = np.einsum("in,inj->nj", by_mean, mean_slopes)
        slopes += np.einsum("in,inj->nj", by_sd, sd_slopes)
        return value, slopes

    def moments(self, rows: Array) -> tuple[Array, Array]:
        """Mean and sd of each member, (M, n) arrays."""
        if self.stacked is not None:
            return self.stacked.at(rows)
        means, sds = zip(*(member.at(rows) for member in self.members), strict=True)
        return np.array(means), np.array(sds)

    def gradients(self, rows: Array) -> tuple[Array, ...]:
        """Mean, sd and their gradients of each member, (M, n) and (M, n, d) arrays."""
        if self.stacked is not None:
            return self.stacked.gradients(rows)
        each = [member.gradients(rows) for member in self.members]
        return tuple(np.array(part) for part in zip(*each, strict=True))


class DifferenceSurface(MemberSurface):
    """The score by the sd of f(x) - f(x*), with x* the point played of the best estimate.

    var(f(x) - f(x*)) = v(x) + v(x*) - 2 c(x, x*),   c(x, x*) = (ridge / n*) k(x)' A^-1 e*,

    of each member, with n* the number of rewards at x* and e* its unit vector. It is 0 at x* and
    small close to it, where v(x) alone is not: a point next to the best one is no better, however
    uncertain the value of both is.
    """

    def __init__(self, members: Sequence[Any], acquisition: MemberAcquisition) -> None:
        super().__init__(members, acquisition)
        slots = [int(member.played_means.argmax()) for member in members]
        pairs = list(zip(members, slots, strict=True))
        self.bests = np.array([[member.played_means.max()] for member in members])
        """The estimates at x*, a column."""
        variances = [member.at(member.points[[slot]])[1] ** 2 for member, slot in pairs]
        self.best_variances = np.array(variances)
        """v(x*), a column."""
        self.covariances = [covariance_with_played(member, slot) for member, slot in pairs]
        self.rounding = ROUNDING * np.array([[member.prior.max()] for member in members])
        """A variance of the difference below it is what the subtraction leaves of rounding."""

    def moments(self, rows: Array) -> tuple[Array, Array]:
        means, sds = super().moments(rows)
        shared = np.array([covariance.values(rows) for covariance in self.covariances])
        return self._of_difference(means, sds, shared)

    def gradients(self, rows: Array) -> tuple[Array, ...]:
        """The gradient of the sd s of the difference is (sd dsd - dc) / s."""
        means, sds, mean_slopes, sd_slopes = super().gradients(rows)
        each = [covariance.slopes(rows) for covariance in self.covariances]
        shared, shared_slopes = (np.array(part) for part in zip(*each, strict=True))
        means, spread = self._of_difference(means, sds, shared)
        inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        slopes = (sds[..., None] * sd_slopes - shared_slopes) * inverse[..., None]
        return means, spread, mean_slopes, slopes

    def _of_difference(self, means: Array, sds: Array, shared: Array) -> tuple[Array, Array]:
        """The means, and the sd of the difference; where that is 0 there is nothing to gain."""
        variances = sds**2 + self.best_variances - 2 * shared
        known = variances > self.rounding
        spread = np.sqrt(np.where(known, variances, 0.0))
        return np.where(known, means, self.bests), spread


@dataclass(frozen=True)
class ScoredRows:
    """A surface on which some rows have scores of their own."""

    surface: Surface
    scores: Mapping[bytes, float]
    """By `row_keys`."""

    def values(self, rows: Array) -> Array:
        return self._replace_known(rows, self.surface.values(rows))

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        values, slopes = self.surface.slopes(rows)
        return self._replace_known(rows, values), slopes

    def _replace_known(self, rows: Array, values: Array) -> Array:
        pairs = zip(row_keys(rows), values.tolist(), strict=True)
        return np.array([self.scores.get(key, value) for key, value in pairs])


def row_keys(rows: Array) -> list[bytes]:
    """The same bytes for rows of the same point: 0.0 for -0.0, without the last digits."""
    return [row.tobytes() for row in np.round(rows, KEY_DIGITS) + 0.0]


def logmeanexp(logs: Array) -> Array:
    """ln of the mean of exp(logs) over the rows, without overflow."""
    most = logs.max(0)
    return np.asarray(most + np.log(np.exp(logs - most).mean(0)))


@dataclass(frozen=True, eq=False)
class ArmScores(Acquisition):
    """A score for each arm, given as numbers.

    It is for rules whose index is no function of mean and sd.
    """

    scores: Array

    def score(self, mean: Array, sd: Array) -> Array:
        return self.scores


@dataclass(frozen=True, eq=False)
class ImprovementScores(ArmScores):
    """The logarithm of the expected improvement of each arm."""

    def worth(self, scores: Array, mean: Array, costs: Array) -> Array:
        """ln of the expected improvement for each unit of cost."""
        return scores - np.log(costs)

    def note(self, scores: Array, arm: int) -> dict[str, float]:
        return {"improvement": float(np.exp(scores[arm]))}


@dataclass(frozen=True, eq=False)
class LookaheadScores(ArmScores):
    """mean + horizon * gain of each arm."""

    gains: Array
    """What one more reward of each arm is expected to add to the highest estimate."""
    horizon: float

    def note(self, scores: Array, arm: int) -> dict[str, float]:
        """The gain counts for nothing, and is noted as 0, where no round follows."""
        gain = float(self.gains[arm]) if self.horizon > 0 else 0.0
        return {"gain": gain, "horizon": self.horizon}


def per_cost(scores: Array, mean: Array, costs: Array) -> Array:
    """(score - max mean) / cost where that is positive for some arm, else the score.

    It is what an arm may gain over the highest estimate, for its price; the cheapest arm costs 1.
    Under a weight >= 0 no index is below its mean, so the arm of the highest estimate has a
    numerator >= 0. If there is nothing to gain anywhere, and under a negative weight, the score
    alone decides. This is no paper's rule, and nothing is claimed of it.
    """
    gain = scores - mean.max()
    return gain * (costs.min() / costs) if gain.max() > 0 else scores


def standard_gaps(mean: Array, sd: Array, best: float | Array) -> tuple[Array, Array]:
    """z = (mean - best) / sd, and the sd; where there is no sd both are placeholders."""
    spread = np.where(sd > LEAST_SD, sd, 1.0)
    # Beyond this size the square of z is no float.
    with np.errstate(over="ignore"):
        return np.clip((mean - best) / spread, -LARGEST_GAP, LARGEST_GAP), spread


def log_improvement(z: Array) -> Array:
    """ln h(z), h(z) = phi(z) + z Phi(z), to about ten digits for every z."""
    return improvement_slopes(z)[0]


def improvement_slopes(z: Array) -> tuple[Array, Array, Array]:
    r"""ln h(z), Phi(z) / h(z) and phi(z) / h(z), to about ten digits for every z.

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


@dataclass(frozen=True)
class ScoreSurface:
    """An acquisition as a function of the point, with its gradient by the chain rule."""

    posterior: Any
    acquisition: Acquisition
    quick: bool = False
    halving: Halving = USUAL
    """How its search ends and drops starts (`domains.maximise`)."""

    def values(self, rows: Array) -> Array:
        return self.acquisition.score(*self.posterior.at(rows))

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """The score and its gradient."""
        mean, sd, mean_slope, sd_slope = self.posterior.gradients(rows)
        value, by_mean, by_sd = self.acquisition.derivatives(mean, sd)
        return value, by_mean[:, None] * mean_slope + by_sd[:, None] * sd_slope


@dataclass(frozen=True)
class SearchSurface:
    """An acquisition as a search evaluates it: the numbers of `ScoreSurface` up to rounding."""

    form: SearchForm
    acquisition: Acquisition
    quick: bool = True
    halving: Halving = PATIENT

    def values(self, rows: Array) -> Array:
        return self.acquisition.score(*self.form.at(rows))

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """The score and its gradient."""
        return self.form.slopes(rows, self.acquisition.derivatives)


def speed_up(surface: Surface) -> Surface:
    """The same surface in the form that a search evaluates fastest, if there is one.

    Starts are dropped later in either form: what is found does not depend on the kernel's form.
    """
    if not isinstance(surface, ScoreSurface):
        return surface
    form = SearchForm.of(surface.posterior)
    if form is None:
        return replace(surface, quick=True, halving=PATIENT)
    return SearchSurface(form, surface.acquisition)


@dataclass(frozen=True)
class Expansion:
    """k(x)' c over some points: an estimate, or what data add to a draw from the prior."""

    kernel: Kernel
    points: Array
    coefficients: Array
    """c"""

    def values(self, rows: Array) -> Array:
        if not len(self.points):
            return np.zeros(len(rows))
        return self.kernel(rows, self.points) @ self.coefficients

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """k(x)' c and its gradient."""
        if not len(self.points):
            return np.zeros(len(rows)), np.zeros(rows.shape)
        gradients = self.kernel.gradient(rows, self.points)
        return self.values(rows), np.einsum("nmd,m->nd", gradients, self.coefficients)


def covariance_with_played(posterior: Any, slot: int) -> Expansion:
    """The posterior covariance of any point with a point played.

    With A = K + ridge N^-1, the kernels of that point are A e - (ridge / n) e. So the covariance is
    k(x)' e - k(x)' A^-1 (A e - (ridge / n) e) = (ridge / n) k(x)' A^-1 e.
    """
    unit = np.zeros((len(posterior.points), 1), order="F")
    unit[slot] = posterior.ridge / posterior.counts[slot]
    root = posterior.inverse_factor
    solved = root.multiply(root.multiply(unit), transposed=True)[:, 0]
    return Expansion(posterior.kernel, posterior.points, solved)


@dataclass(frozen=True)
class MeanOfSurfaces:
    """The average of several surfaces: the estimate of a mixture."""

    surfaces: tuple[Surface, ...]

    def values(self, rows: Array) -> Array:
        return np.asarray(np.mean([surface.values(rows) for surface in self.surfaces], axis=0))

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        values, slopes = zip(*(surface.slopes(rows) for surface in self.surfaces), strict=True)
        return np.mean(values, axis=0), np.mean(slopes, axis=0)


def posterior_mean(posterior: Any) -> Surface:
    """The estimate as a function of the point, without its sd."""
    members = members_of(posterior)
    if len(members) > 1:
        return MeanOfSurfaces(tuple(posterior_mean(member) for member in members))
    return Expansion(posterior.kernel, posterior.points, posterior.coefficients)
