"""The posterior for every ridge at once, from one eigendecomposition over the arms played."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.posterior.base import EPS, Posterior


@dataclass(frozen=True)
class Spectrum:
    """The eigenvalues of the kernel matrix of the arms played: the posterior at any ridge.

    N^1/2 K N^1/2 = U diag(values) U' over the arms played, N their counts.

    At ridge a, with w = 1 / (values + a),

        mean(x) = sum_j b_j(x) z_j w_j,   variance(x) = r(x) + a sum_j s_j(x) w_j,
        b(x) = U' N^1/2 k(played, x),   z = U' N^1/2 (mean reward of each arm),
        s_j = b_j^2 / values_j,   r(x) = k(x, x) - sum_j s_j.

    r is the part of the prior variance that the arms played say nothing about. Written like this, a
    small variance is a sum of positive numbers and not a difference. Eigenvalues of rounding size
    are set to zero, and so are their loadings.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> posterior = kb.posterior.ArmPosterior(kb.RBF(0.3), [[0.0], [0.5], [1.0]], ridge=0.1)
    >>> for arm, reward in [(0, 0.2), (2, 0.8), (2, 0.6)]:
    ...     posterior.update(arm, reward)
    >>> spectrum = kb.posterior.Spectrum.of_posterior(posterior)
    >>> mean = spectrum.loadings @ (spectrum.targets / (spectrum.values + 0.1))
    >>> mean.round(3), posterior.mean.round(3)
    (array([0.182, 0.211, 0.667]), array([0.182, 0.211, 0.667]))
    """

    values: Array
    loadings: Array
    """(n, u): b"""
    targets: Array
    """z"""
    shares: Array
    """(n, u): s"""
    residue: Array
    """r"""

    @classmethod
    def of(cls, posterior: Posterior, arms: Indices, cross: Array) -> Spectrum:
        """Decompose; `arms` are those played, in any order, and cross = k(arms, x) for all x."""
        root, sums = np.sqrt(posterior.counts[arms]), posterior.tally.sums[arms]
        values, vectors = np.linalg.eigh(root[:, None] * cross[:, arms] * root)
        kept = values > len(values) * EPS * values.max(initial=0.0)
        values, loadings = values * kept, (cross.T @ (root[:, None] * vectors)) * kept
        targets = (sums / root) @ vectors
        return cls(values, loadings, targets, *explained_shares(loadings, values, posterior.prior))

    @classmethod
    def of_posterior(cls, posterior: Posterior) -> Spectrum:
        """Return the spectrum of a posterior of any form."""
        points, played = posterior.points, posterior.tally.played_arms
        return cls.of(posterior, played, posterior.kernel(points[played], points))

    def against(self, arms: Indices, shares: Array, prior: Array) -> Spectrum:
        """Return the spectrum of f(x) - sum_i p_i f(x_i), of this prior variance.

        The shares p of the arms x_i add up to 1.
        """
        loadings = self.loadings - shares @ self.loadings[arms]
        shares, residue = explained_shares(loadings, self.values, prior)
        return replace(self, loadings=loadings, shares=shares, residue=residue)

    def scale_rewards(self, factor: float) -> Spectrum:
        """Return the spectrum for the same arms with all rewards multiplied."""
        return replace(self, targets=factor * self.targets)


def explained_shares(loadings: Array, values: Array, prior: Array) -> tuple[Array, Array]:
    """Return s = b^2 / values and r = prior - sum s."""
    shares = loadings**2 / np.where(values > 0, values, 1.0)
    return shares, np.maximum(prior - shares.sum(1), 0.0)
