"""A Cholesky factor with two updates of O(m^2): a new row, and a smaller diagonal entry."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dtrtrs

from kernelbandits.checks import Array

FIRST = 16
"""Rows held from the start."""


class GrowingFactor:
    """The lower triangular L with A = L L', in a buffer that grows by a quarter when it is full.

    >>> import numpy as np
    >>> factor = GrowingFactor()
    >>> factor.append(np.empty(0), 2.0)
    >>> factor.append(np.array([1.0]), 3.0)
    >>> factor.lower @ factor.lower.T
    array([[ 4.,  2.],
           [ 2., 10.]])
    """

    def __init__(self, lower: Array | None = None) -> None:
        self.size = 0 if lower is None else len(lower)
        self._buffer: Array = np.zeros((max(FIRST, self.size),) * 2, order="F")
        if lower is not None:
            self._buffer[: self.size, : self.size] = lower

    @property
    def lower(self) -> Array:
        """L, a view that can be written to."""
        return self._buffer[: self.size, : self.size]

    def copy(self) -> GrowingFactor:
        return GrowingFactor(self.lower)

    def solve(self, right: Array, transposed: bool = False) -> Array:
        """Return L^-1 right, or L'^-1 right."""
        if not self.size:
            return np.zeros_like(right)
        solution: Array = dtrtrs(
            self._buffer[:, : self.size], right, lower=1, trans=int(transposed)
        )[0]
        return solution

    def multiply(self, right: Array, transposed: bool = False, overwrite: bool = False) -> Array:
        """Return L right, or L' right; `right` is stored by columns, and may be overwritten.

        It takes half of the operations of a product with a full matrix, and reads half of it.
        """
        product: Array = dtrmm(
            1.0,
            self._buffer[:, : self.size],
            right,
            lower=1,
            trans_a=int(transposed),
            overwrite_b=int(overwrite),
        )
        return product

    def append(self, row: Array, pivot: float) -> None:
        """Add (row', pivot) as the last row of L."""
        m = self.size
        if m == len(self._buffer):
            size = m + max(FIRST, m // 4)
            larger = np.zeros((size, size), order="F")
            larger[:m, :m] = self._buffer
            self._buffer = larger
        self._buffer[m, :m], self._buffer[m, m] = row, pivot
        self.size = m + 1

    def lower_diagonal(self, column: Array) -> None:
        """Replace L by the factor of A - (L p) (L p)', for a vector p with |p| < 1.

        It is L C with C C' = I - p p'. With t_j = 1 - sum_{i < j} p_i^2,

            C_jj = sqrt(t_{j+1} / t_j),   C_ij = -p_i p_j / sqrt(t_j t_{j+1})  below,

        so column j of L C is L_j C_jj - (sum_{i > j} L_i p_i) p_j / sqrt(t_j t_{j+1}). The sums
        over i > j are cumulative, so the whole update is a few operations on arrays.
        """
        lower, p = self.lower, column
        left = 1 - np.concatenate([[0.0], np.cumsum(p * p)])
        below = np.cumsum((lower * p)[:, :0:-1], axis=1)[:, ::-1]
        lower *= np.sqrt(left[1:] / left[:-1])
        lower[:, :-1] -= below * (p / np.sqrt(left[1:] * left[:-1]))[:-1]

    def raise_pivots(self, least: Array) -> None:
        """Raise every diagonal entry of L to at least `least`; what it lacks is rounding."""
        pivots = self.lower.diagonal()
        np.fill_diagonal(self.lower, np.maximum(pivots, least))
