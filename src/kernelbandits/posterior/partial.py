"""The posterior over a pool, kept up to date for some of its arms only."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.posterior.arms import ArmPosterior
from kernelbandits.posterior.base import Posterior
from kernelbandits.posterior.rows import RowPosterior

SMALL = 200
"""Up to this many arms the covariance of those kept is held."""


class PartialPosterior:
    """The posterior over n arms, of which a rule looks at a few.

    A rule that has dropped most arms needs mean and sd of the others only. A reward then costs as
    much as on a pool of these arms. An arm outside that is played is added, and the posterior of
    the arms kept is computed again from counts and sums. Mean and sd of other arms are computed
    when they are asked for.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> points = np.linspace(0, 1, 1000)[:, None]
    >>> posterior = kb.posterior.PartialPosterior(kb.RBF(0.2), points, ridge=0.1, arms=[3, 500])
    >>> posterior.update(3, 1.0)
    >>> posterior.estimates([3, 500])[0].round(3), len(posterior.mean)
    (array([0.909, 0.041]), 1000)
    """

    is_plain = True
    complete = True

    def __init__(self, kernel: Any, points: Array, ridge: float, arms: Any) -> None:
        self.kernel, self.points, self.ridge = kernel, points, ridge
        self.counts: Indices = np.zeros(len(points), dtype=np.int64)
        """How often each arm was played."""
        self.arms: Indices = np.unique(np.asarray(arms, dtype=np.int64))
        """The arms that are kept up to date."""
        self._made: Posterior | None = None

    @property
    def _inner(self) -> Posterior:
        """The posterior of the arms kept, made when it is first needed."""
        if self._made is None:
            self._made = self._make(self.arms)
        return self._made

    def _make(self, arms: Indices) -> Posterior:
        form: type[Posterior] = ArmPosterior if len(arms) <= SMALL else RowPosterior
        return form(self.kernel, self.points[arms], self.ridge)

    def keep(self, arm: int) -> None:
        """Keep an arm from now on, with what was learnt so far.

        The kernel is evaluated here. If it fails, nothing has changed.
        """
        known = self._inner
        if arm in self.arms:
            return
        arms = np.union1d(self.arms, [arm])
        wider, sums = self._make(arms), np.zeros(len(self.points))
        if self.events:
            sums[self.arms] = known.tally.sums
            wider.learn(self.counts[arms], sums[arms])
        self.arms, self._made = arms, wider

    @property
    def events(self) -> int:
        """The number of rewards."""
        return int(self.counts.sum())

    def update(self, arm: int, reward: float) -> None:
        """Condition on one reward."""
        self.keep(arm)
        self._inner.update(int(np.searchsorted(self.arms, arm)), reward)
        self.counts[arm] += 1

    def estimates(self, arms: Any) -> tuple[Array, Array]:
        """Return mean and sd of some arms."""
        wanted = np.asarray(arms, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.arms, wanted), len(self.arms) - 1)
        mean, sd = self._inner.mean[places], self._inner.sd[places]
        missing = self.arms[places] != wanted
        if missing.any():
            mean[missing], sd[missing] = self._inner.at(self.points[wanted[missing]])
        return mean, sd

    @property
    def mean(self) -> Array:
        """The mean of every arm."""
        return self._inner.at(self.points)[0]

    @property
    def sd(self) -> Array:
        """The standard deviation of every arm."""
        return self._inner.at(self.points)[1]
