"""The posterior at every ridge at once, by the eigenvalues of the arms played."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.posterior.base import EPS
from kernelbandits.posterior.columns import Columns


@dataclass(frozen=True)
class Spectrum:
    """N^1/2 K N^1/2 = U diag(values) U' over the arms played, N their counts. At ridge a, with w = 1 / (values + a),

    mean(x) = sum_j b_j(x) z_j w_j,   variance(x) = r(x) + a sum_j s_j(x) w_j,
    b(x) = U' N^1/2 k(played, x),   z = U' N^1/2 (mean reward of each arm),   s_j = b_j^2 / values_j.

    r = k(x, x) - sum_j s_j is what the arms played say nothing about; so written, no small variance is a difference.
    Eigenvalues of rounding size are zero, and so are their loadings.
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
    def of(cls, columns: Columns, counts: Indices, sums: Array, prior: Array) -> Spectrum:
        root = np.sqrt(counts[columns.arms])
        values, vectors = np.linalg.eigh(root[:, None] * columns.matrix * root)
        kept = values > len(values) * EPS * values.max(initial=0.0)
        values, loadings = values * kept, (columns.cross.T @ (root[:, None] * vectors)) * kept
        shares = loadings**2 / np.where(kept, values, 1.0)
        residue = np.maximum(prior - shares.sum(1), 0.0)
        return cls(values, loadings, (sums[columns.arms] / root) @ vectors, shares, residue)

    def scaled(self, factor: float) -> Spectrum:
        """The same arms with all rewards multiplied."""
        return replace(self, targets=factor * self.targets)
