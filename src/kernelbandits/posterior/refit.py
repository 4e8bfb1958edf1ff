"""The posterior refitted at every reward: its ridge may move, and old rewards may fade."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import gram
from kernelbandits.posterior.base import EPS, Posterior
from kernelbandits.posterior.columns import Columns
from kernelbandits.posterior.sufficient import Factorisation, lower_root
from kernelbandits.posterior.trusted import CHECKED_POINTS

LEAST_WEIGHT = 1e-12
"""An arm of less weight is forgotten."""


class RefitPosterior(Posterior):
    """Fitted afresh at every reward from real weights c and weighted sums s of the arms played, O(n u^2 + u^3):

    mean(x) = k(x, .) (K + ridge C^-1)^-1 (s / c),    log_det = log det(I + C^1/2 K C^1/2 / ridge).

    A reward y of arm i first fades what was known: c <- eta c, s <- eta s; then c_i += 1, s_i += y. With forgetting
    eta = 1 the weights are the counts. No n x n matrix is held.
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
        gram(self.kernel, self.points[:CHECKED_POINTS])
        self.variance = self.kernel.diagonal(self.points)
        checks.needs(
            bool(np.isfinite(self.variance).all()),
            str(self.kernel),
            "finite k(x, x)",
            self.variance,
        )
        return self.variance.copy()

    @property
    def support(self) -> Indices:
        """The arms that still weigh, in the order of their first play."""
        return self.columns.arms[self.weights[self.columns.arms] > 0]

    @property
    def audit_interval(self) -> int:
        return 1

    def update(self, arm: int, reward: float) -> None:
        """Fade, add the reward, fit."""
        self.record(arm, reward)
        self.fit()

    def record(self, arm: int, reward: float) -> None:
        """Fade and add the reward, for a fit to come: it depends on weights and sums alone."""
        reward = self._check_reward(arm, reward)
        self.columns.add(int(arm))
        self.tally.add(arm, reward)
        if self.forgetting < 1:
            self._fade()
        self.weights[arm] += 1
        self.sums[arm] += reward

    def fit(self) -> None:
        """Fit what was recorded."""
        self.refit(self.ridge)
        self._report_conditioning()

    def refit(self, ridge: float) -> None:
        """The same rewards at this ridge."""
        self.ridge = checks.positive("a posterior", "ridge", ridge)
        support = self.support
        if len(support):
            exact = self._factorisation(support)
            self.mean, self.variance = self._mean_and_variance(exact)
            self.log_det = exact.log_det

    def log_det_of(self, weights: Array, ridge: float) -> float:
        """log det(I + W^1/2 K W^1/2 / ridge) of the same arms for other weights or another ridge."""
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
        """k of the arms that weigh, among themselves and with all arms."""
        weighs = self.weights[self.columns.arms] > 0
        if weighs.all():
            return self.columns.matrix, self.columns.cross
        return self.columns.matrix[np.ix_(weighs, weighs)], self.columns.cross[weighs]

    def _factorisation(self, played: Indices) -> Factorisation:
        return Factorisation.of(
            self._parts()[0], self.weights[played], self.sums[played], self.ridge
        )

    def _mean_and_variance(self, exact: Factorisation) -> tuple[Array, Array]:
        """Mean and variance of all arms."""
        cross = self._parts()[1].T
        explained = exact.explained_root(cross)
        return exact.mean(cross), self.prior - np.einsum("ij,ij->j", explained, explained)

    def _reconcile(self, exact: Factorisation, played: Indices) -> bool:
        mean, variance = self._mean_and_variance(exact)
        near = np.abs(self.variance - variance) <= 1e3 * EPS * self._largest
        repaired = not near.all() or self._mean_differs(mean, self._tolerance(variance))
        self.mean, self.variance = mean, variance
        return bool(repaired)
