"""The average of several posteriors that differ in their kernels and ridges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import StackedKernels
from kernelbandits.posterior.points import PointPosterior

FEWEST_STACKED = 100
"""With fewer points the kernels are not stacked: nothing would be saved."""


class MixturePosterior:
    """The mixture of M posteriors of the same rewards, each with weight 1/M:

    mean = average of mean_i,   variance = average of (variance_i + mean_i^2) - mean^2.

    With few rewards many lengthscales explain them about equally well. A mixture over several of
    them is uncertain where they disagree; a single fit is not. Mean and variance are exact; the law
    of f at a point is a mixture of M normal laws, not a normal one.

    `members` are posteriors of one form, all over arms or all over points.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> members = [kb.posterior.PoolPosterior(kb.RBF(l), arms, ridge=0.1) for l in (0.2, 0.8)]
    >>> mixture = kb.posterior.MixturePosterior(members)
    >>> mixture.update(1, 2.0)
    >>> mixture.mean.round(3), mixture.sd.round(3)
    (array([0.788, 1.818, 0.788]), array([1.092, 0.302, 1.092]))
    """

    lends = False
    is_plain = False
    complete = True

    def __init__(self, members: Sequence[Any]) -> None:
        checks.needs(len(members) > 0, "MixturePosterior", "at least one posterior", members)
        self.members = tuple(members)
        self._moments: tuple[Array, Array] | None = None

    # ------------------------------------------------------------------ estimates

    @property
    def mean(self) -> Array:
        """The posterior mean of each arm."""
        return self._arm_moments()[0]

    @property
    def variance(self) -> Array:
        """The posterior variance of each arm."""
        return self._arm_moments()[1]

    @property
    def sd(self) -> Array:
        """The posterior standard deviation of each arm."""
        return np.sqrt(self.variance)

    @property
    def means(self) -> Array:
        """(M, n): the posterior mean of each arm under each member."""
        return np.array([member.mean for member in self.members])

    @property
    def variances(self) -> Array:
        """(M, n): the posterior variance of each arm under each member."""
        return np.array([member.variance for member in self.members])

    def _arm_moments(self) -> tuple[Array, Array]:
        if self._moments is None:
            self._moments = mix_moments(self.means, np.sqrt(np.maximum(self.variances, 0.0)))
        return self._moments

    def at(self, points: Any) -> tuple[Array, Array]:
        """Return mean and sd at any points."""
        means, sds = (np.array(part) for part in zip(*self.members_at(points), strict=True))
        mean, variance = mix_moments(means, sds)
        return mean, np.sqrt(variance)

    @property
    def predictors(self) -> tuple[Any, ...]:
        """The members, as far as predictions at any points need them."""
        return self.members

    def members_at(self, points: Any) -> list[tuple[Array, Array]]:
        """Return mean and sd of each member at any points."""
        return [member.at(points) for member in self.predictors]

    def gradients(self, points: Any) -> tuple[Array, Array, Array, Array]:
        """Return mean, sd and their gradients at any points.

        sd sd' = average of (sd_i sd_i' + mean_i mean_i') - mean mean'.
        """
        parts = [member.gradients(points) for member in self.members]
        means, sds, mean_slopes, sd_slopes = (np.array(part) for part in zip(*parts, strict=True))
        mean, variance = mix_moments(means, sds)
        slope, sd = mean_slopes.mean(0), np.sqrt(variance)
        squares = (sds[..., None] * sd_slopes + means[..., None] * mean_slopes).mean(0)
        rise = squares - mean[:, None] * slope
        divided = np.divide(rise, sd[:, None], out=np.zeros_like(rise), where=sd[:, None] > 0)
        return mean, sd, slope, divided

    def covariance(self, points: Any) -> Array:
        """Return the covariance of f at any points: average of members, and that of their means."""
        means = np.array([mean for mean, _ in self.members_at(points)])
        away = means - means.mean(0)
        within = np.mean([member.covariance(points) for member in self.predictors], axis=0)
        covariance: Array = within + away.T @ away / len(means)
        return covariance

    # ------------------------------------------------------------------ learning

    def update(self, place: Any, reward: float) -> None:
        """Condition every member on one reward."""
        self._moments = None
        for member in self.members:
            member.update(place, reward)

    def learn(self, *totals: Any) -> None:
        """Replace everything learnt, as the same method of a member does."""
        self._moments = None
        matrices = self._stack_matrices(*totals)
        for member, known in zip(self.members, matrices, strict=True):
            member.learn(*totals, **known)

    def _stack_matrices(self, points: Any, *_: Any) -> list[dict[str, Any]]:
        """Return the kernel matrix of each member at some points, where that saves time.

        Kernels of one form share the distances of the points, which take most of the time.
        """
        stacked = None
        if all(isinstance(member, PointPosterior) for member in self.members):
            stacked = StackedKernels.of([member.kernel for member in self.members])
        if stacked is None or stacked.nuggets.any() or len(points) < FEWEST_STACKED:
            return [{} for _ in self.members]
        rows = checks.points("learn", points)
        return [{"matrix": matrix} for matrix in stacked(rows, rows)]

    def with_pending(self, places: Any) -> MixturePosterior:
        """Return a copy with the variances as if these places had been played already.

        Each member is told its own mean there, so its mean stays and its variance falls.
        """
        return MixturePosterior([member.with_pending(places) for member in self.members])

    def add_pending(self, places: Any) -> None:
        """Lower the variances of every member itself as if these places had been played."""
        self._moments = None
        for member in self.members:
            member.add_pending(places)

    def audit(self) -> bool:
        """Audit every member; return whether any had been damaged."""
        self._moments = None
        damaged = [member.audit() for member in self.members]
        return any(damaged)

    # ------------------------------------------------------------------ what the members share

    @property
    def kernel(self) -> Any:
        """The kernel of the first member."""
        return self.members[0].kernel

    @property
    def ridge(self) -> float:
        """The ridge of the first member."""
        return float(self.members[0].ridge)

    @property
    def log_det(self) -> float:
        """The average over the members."""
        return float(np.mean([member.log_det for member in self.members]))

    @property
    def points(self) -> Array:
        """All arms; of a posterior at any points, the points played."""
        points: Array = self.members[0].points
        return points

    @property
    def prior(self) -> Array:
        """k(x, x) of the first member."""
        prior: Array = self.members[0].prior
        return prior

    @property
    def counts(self) -> Indices:
        """How often each arm or point was played."""
        counts: Indices = self.members[0].counts
        return counts

    @property
    def support(self) -> Indices:
        """The arms whose rewards the estimate rests on."""
        support: Indices = self.members[0].support
        return support

    @property
    def tally(self) -> Any:
        """Counts and sums of the rewards."""
        return self.members[0].tally

    @property
    def events(self) -> int:
        """The number of rewards."""
        return int(self.members[0].events)

    @property
    def health(self) -> Any:
        """The accuracy of the member with the worst conditioning."""
        return max((member.health for member in self.members), key=lambda one: one.conditioning)

    @property
    def conditioning(self) -> float:
        """The largest relative error to expect of a variance of a member."""
        return float(max(member.conditioning for member in self.members))


def mix_moments(means: Array, sds: Array) -> tuple[Array, Array]:
    """Return mean and variance of a mixture, from those of its members in rows."""
    mean: Array = means.mean(0)
    # Deviations from the mean are squared, not the means themselves: no digits cancel.
    variance: Array = (sds**2 + (means - mean) ** 2).mean(0)
    return mean, variance


def members_of(posterior: Any) -> tuple[Any, ...]:
    """Return the members of a mixture; any other posterior is the only member of its own."""
    return getattr(posterior, "members", (posterior,))


def predictors_of(posterior: Any) -> tuple[Any, ...]:
    """Return the predictors of a mixture (`MixturePosterior.predictors`), or the posterior."""
    return getattr(posterior, "predictors", (posterior,))


def member_means(posterior: Any) -> Array:
    """Return the posterior mean of each arm under each member, (M, n)."""
    return np.asarray(posterior.means if hasattr(posterior, "means") else posterior.mean[None])


def member_variances(posterior: Any) -> Array:
    """Return the posterior variance of each arm under each member, (M, n)."""
    return np.asarray(
        posterior.variances if hasattr(posterior, "variances") else posterior.variance[None]
    )
