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
"""The state for a compiled loop: mean, covariance, counts, reward sums, their lost digits, ceilings
of the variances, and (log_det, largest reward, clamps)."""
MOST_KEPT = 200
"""Up to this many arms the prior covariance is kept for the audits, 320 KB."""


class ArmPosterior(Posterior):
    """The posterior over n arms with its n x n covariance; a reward costs O(n^2) in every round.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> posterior = kb.posterior.ArmPosterior(kb.RBF(0.3), np.array([[0.0], [1.0]]), ridge=0.01)
    >>> posterior.update(0, 0.7)
    >>> posterior.mean.round(3), posterior.counts
    (array([0.693, 0.003]), array([1, 0]))
    """

    loop_form: str | None = "covariance"
    holds_covariance = True
    is_plain = rebuilds = has_bands = True

    def _prior(self) -> Array:
        matrix = gram(self.kernel, self.points)
        self._kept_gram = matrix if len(matrix) <= MOST_KEPT else None
        """k of all pairs of arms, which audits need; None if it is large."""
        # Column order, because dger updates such a matrix in place and copies any other.
        self.cov: Array = np.array(matrix, order="F")
        self.variance = self._diagonal()
        return self.variance.copy()

    def _diagonal(self) -> Array:
        """Return a view of the diagonal of the covariance, so that the variances follow it."""
        return self.cov.ravel(order="K")[:: len(self.cov) + 1]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out `variance`, a view into the covariance; a copy needs a view into its own."""
        return {name: value for name, value in vars(self).items() if name != "variance"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.variance = self._diagonal()

    def arm_covariance(self, arms: Indices, others: Indices) -> Array:
        return self.cov[np.ix_(arms, others)]

    def history_covariance(self) -> Array:
        return np.asarray(self.cov[:, self.support] @ self.counts[self.support])

    def _column(self, arm: int) -> Array:
        return self.cov[:, arm].copy()

    def _downdate(self, arm: int, scaled: Array, evidence: float) -> None:
        dger(-1.0, scaled, scaled, a=self.cov, overwrite_a=1)

    @property
    def audit_interval(self) -> int:
        return max(1000, 20 * len(self.mean))

    def _fixed_parts(self) -> tuple[Any, ...]:
        return (*super()._fixed_parts(), self._kept_gram)

    def _gram(self) -> Array:
        """Return k of all pairs of arms."""
        kept = self._kept_gram
        return self.kernel(self.points, self.points) if kept is None else kept

    def _factorisation(self, played: Indices) -> Factorisation:
        if self._kept_gram is None:
            return super()._factorisation(played)
        matrix = self._kept_gram[np.ix_(played, played)]
        return Factorisation.of(matrix, self.counts[played], self.tally.sums[played], self.ridge)

    def _reconcile(self, exact: Factorisation, played: Indices) -> bool:
        prior = self._gram()
        cross = prior[:, played]
        explained = exact.explained_root(cross)
        mean = exact.mean(cross)
        cov = np.asfortranarray(prior - explained.T @ explained)
        cov[played, played] = exact.played_variance(self.prior[played], cov[played, played])
        variance = np.maximum(cov.diagonal(), 0.0)
        tolerance = self._tolerance(variance)
        sd = np.sqrt(np.maximum(variance, EPS * variance.max()))
        same = bool((np.abs(self.cov - cov) <= tolerance * np.outer(sd, sd)).all())
        # A state that agrees is kept as it is, so that an audit of a sound state changes nothing.
        if same and not self._mean_differs(mean, tolerance):
            return False
        self.mean[:], self.cov = mean, cov
        self.variance = self._diagonal()
        return True

    def lend(self) -> State:
        """Return the state as C-ordered arrays for a compiled loop.

        Mean, covariance and counts are changed in place; `take_back` takes the rest.
        """
        sums, lost = self.tally.lend()
        totals = np.array([self.log_det, self.tally.largest, self._clamps])
        return self.mean, self.cov.T, self.counts, sums, lost, np.array(self._ceiling), totals

    def take_back(self, state: State, suspicious: bool) -> None:
        """Take the state back from a compiled loop, and audit it if that is due."""
        self.log_det, self.tally.largest, clamps = state[6].tolist()
        self._clamps = int(clamps)
        self._ceiling = state[5].tolist()
        self.tally.take_back(state[3], state[4])
        self.audit_if_due(suspicious)

    def root(self) -> Array:
        """Return S with K = S S', for draws from the prior.

        Eigenvalues are used because a nearly singular K has no Cholesky factor. Those of rounding
        size are set to zero.
        """
        values, vectors = np.linalg.eigh(gram(self.kernel, self.points))
        kept = np.where(values > len(values) * EPS * values[-1], values, 0.0)
        root: Array = vectors * np.sqrt(kept)
        return root

    def deviation(self, g: Array, e: Array) -> Array:
        """Return a draw of f - mean, g - cov ((n / ridge) g + sqrt(n / ridge) e): Matheron's rule.

        g is a draw from the prior (g = S z) and e is standard normal; the result has the covariance
        cov. So a draw costs O(n^2), and no factor of cov is needed, which changes in every round.
        """
        precision = self.counts / self.ridge
        return g - self.cov @ (precision * g + np.sqrt(precision) * e)
