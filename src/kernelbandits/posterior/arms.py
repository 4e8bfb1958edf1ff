"""The posterior over n arms with its n x n covariance."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.blas import dger

from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import gram
from kernelbandits.posterior.base import EPS, Posterior
from kernelbandits.posterior.sufficient import Factorisation

State = tuple[Array, Array, Indices, Array, Array, Array, Array]
"""mean, covariance, counts, reward sums, their lost digits, variance ceilings, (log_det, largest reward, clamps)"""


class ArmPosterior(Posterior):
    """n arms, an n-vector and an n x n covariance; one reward costs O(n^2) whatever t."""

    lends = True
    is_plain = True

    def _prior(self) -> Array:
        self.cov: Array = np.asfortranarray(gram(self.kernel, self.points))
        self.variance = self._diagonal()
        return self.variance.copy()

    def _diagonal(self) -> Array:
        return self.cov.ravel(order="K")[:: len(self.cov) + 1]

    def __getstate__(self) -> dict[str, Any]:
        """The variances look into the covariance; a copy looks into its own."""
        return {name: value for name, value in vars(self).items() if name != "variance"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.variance = self._diagonal()

    def _column(self, arm: int) -> Array:
        return self.cov[:, arm].copy()

    def _downdate(self, arm: int, scaled: Array, evidence: float) -> None:
        dger(-1.0, scaled, scaled, a=self.cov, overwrite_a=1)

    @property
    def audit_interval(self) -> int:
        return max(1000, 20 * len(self.mean))

    def _reconcile(self, exact: Factorisation, played: Indices) -> bool:
        prior = self.kernel(self.points, self.points)
        explained = exact.explained_root(prior[:, played])
        mean, cov = exact.mean(prior[:, played]), np.asfortranarray(prior - explained.T @ explained)
        cov[played, played] = exact.played_variance(self.prior[played], cov[played, played])
        variance = np.maximum(cov.diagonal(), 0.0)
        tolerance, sd = (
            self._tolerance(variance),
            np.sqrt(np.maximum(variance, EPS * variance.max())),
        )
        same = bool((np.abs(self.cov - cov) <= tolerance * np.outer(sd, sd)).all())
        if same and not self._mean_differs(mean, tolerance):
            return False
        self.mean[:], self.cov = mean, cov
        self.variance = self._diagonal()
        return True

    def lend(self) -> State:
        """The state as C-ordered arrays for a compiled loop; mean, covariance and counts are worked on in place."""
        sums, lost = self.tally.lend()
        totals = np.array([self.log_det, self.tally.largest, self._clamps])
        return self.mean, self.cov.T, self.counts, sums, lost, np.array(self._ceiling), totals

    def take_back(self, state: State, suspicious: bool) -> None:
        """The state after a compiled loop; an audit if it is due."""
        self.log_det, self.tally.largest, clamps = state[6].tolist()
        self._clamps = int(clamps)
        self._ceiling = state[5].tolist()
        self.tally.take_back(state[3], state[4])
        self.audit_if_due(suspicious)

    def root(self) -> Array:
        """S with K = S S', by eigenvalues so that a near-singular K has one; those of rounding size are zero."""
        values, vectors = np.linalg.eigh(gram(self.kernel, self.points))
        kept = np.where(values > len(values) * EPS * values[-1], values, 0.0)
        root: Array = vectors * np.sqrt(kept)
        return root

    def deviation(self, g: Array, e: Array) -> Array:
        """A draw of f - mean from the posterior by Matheron's rule: g - cov ((n / ridge) g + sqrt(n / ridge) e).

        g is a draw from the prior (g = S z), e standard normal; the covariance of the result is exactly cov.
        """
        precision = self.counts / self.ridge
        return g - self.cov @ (precision * g + np.sqrt(precision) * e)
