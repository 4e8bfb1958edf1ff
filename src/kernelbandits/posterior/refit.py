"""The posterior fitted again at every reward: the ridge may change, and old rewards may fade."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.posterior.base import EPS, Posterior, prior_variance
from kernelbandits.posterior.columns import Columns
from kernelbandits.posterior.sufficient import Factorisation, lower_root

LEAST_WEIGHT = 1e-12
"""An arm with a smaller weight is forgotten."""


class RefitPosterior(Posterior):
    """The posterior from real weights c and weighted sums s, fitted again at every reward.

    mean(x) = k(x, .) (K + ridge C^-1)^-1 (s / c),    log_det = log det(I + C^1/2 K C^1/2 / ridge).

    A reward y of arm i and weight v first fades what was known, c <- eta c and s <- eta s; then
    c_i += v and s_i += v y. With forgetting eta = 1 and v = 1 the weights are the counts. A fit
    costs O(n u^2 + u^3) for u arms played. There is no rank-one update: a changed ridge or faded
    weights change everything.

    >>> import kernelbandits as kb
    >>> points = [[0.0], [1.0]]
    >>> posterior = kb.posterior.RefitPosterior(kb.RBF(0.2), points, ridge=0.1, forgetting=0.5)
    >>> for arm in (0, 1, 1):
    ...     posterior.update(arm, 1.0)
    >>> posterior.weights, posterior.mean.round(3)
    (array([0.25, 1.5 ]), array([0.714, 0.938]))
    """

    def __init__(
        self, kernel: Any, points: Any, ridge: float = 1.0, forgetting: float = 1.0
    ) -> None:
        inside = checks.is_number(forgetting) and 0 < forgetting <= 1
        checks.needs(inside, "a posterior", "forgetting in (0, 1]", forgetting)
        super().__init__(kernel, points, ridge)
        self.forgetting = float(forgetting)
        self.columns = Columns(self.kernel, self.points)
        self.weights = np.zeros(len(self.mean))
        self.sums = np.zeros(len(self.mean))

    def _prior(self) -> Array:
        self.variance = prior_variance(self.kernel, self.points)
        return self.variance.copy()

    @property
    def support(self) -> Indices:
        """The arms of positive weight, in the order of their first play."""
        return self.columns.arms[self.weights[self.columns.arms] > 0]

    @property
    def audit_interval(self) -> int:
        return 1

    def update(self, arm: int, reward: float) -> None:
        """Fade old rewards, add this one and fit."""
        self.record(arm, reward)
        self.fit()

    def record(self, arm: int, reward: float, weight: float = 1.0) -> None:
        """Fade old rewards and add this one, without a fit; many rewards then need one fit.

        Its weight is ridge / (the variance of its noise).
        """
        reward = self._check_reward(arm, reward)
        self.columns.add(int(arm))
        self.tally.add(arm, reward)
        if self.forgetting < 1:
            self._fade()
        self.weights[arm] += weight
        self.sums[arm] += weight * reward

    def fit(self) -> None:
        """Fit to all rewards recorded."""
        self.refit(self.ridge)
        self._report_conditioning()

    def refit(self, ridge: float) -> None:
        """Fit the same rewards with this ridge."""
        self.ridge = checks.positive("a posterior", "ridge", ridge)
        support = self.support
        if len(support):
            exact = self._factorisation(support)
            self.mean, self.variance = self._mean_and_variance(exact)
            self.log_det = exact.log_det

    def log_det_of(self, weights: Array, ridge: float) -> float:
        """Return log det(I + W^1/2 K W^1/2 / ridge) for other weights or another ridge."""
        matrix, _ = self._parts()
        root = np.sqrt(weights[self.support])
        factor = lower_root(np.eye(len(root)) + root[:, None] * matrix * root / ridge, least=1.0)
        return float(2 * np.log(factor.diagonal()).sum())

    def _fade(self) -> None:
        self.weights *= self.forgetting
        self.sums *= self.forgetting
        forgotten = self.weights < LEAST_WEIGHT
        self.weights[forgotten] = self.sums[forgotten] = 0.0

    def _parts(self) -> tuple[Array, Array]:
        """Return k of the arms of positive weight, among themselves and with all arms."""
        weighs = self.weights[self.columns.arms] > 0
        if weighs.all():
            return self.columns.matrix, self.columns.cross
        return self.columns.matrix[np.ix_(weighs, weighs)], self.columns.cross[weighs]

    def _factorisation(self, played: Indices) -> Factorisation:
        return Factorisation.of(
            self._parts()[0], self.weights[played], self.sums[played], self.ridge
        )

    def _mean_and_variance(self, exact: Factorisation) -> tuple[Array, Array]:
        """Return mean and variance of all arms."""
        cross = self._parts()[1].T
        explained = exact.explained_root(cross)
        return exact.mean(cross), self.prior - np.einsum("ij,ij->j", explained, explained)

    def _reconcile(self, exact: Factorisation, played: Indices) -> bool:
        mean, variance = self._mean_and_variance(exact)
        near = np.abs(self.variance - variance) <= 1e3 * EPS * self._largest
        repaired = not near.all() or self._mean_differs(mean, self._tolerance(variance))
        self.mean, self.variance = mean, variance
        return bool(repaired)
