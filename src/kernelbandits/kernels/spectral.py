"""A kernel as a sum of products of kernels of x - z, whose frequencies can be drawn.

k(x, z) = sum_i variance_i prod_j k_ij(x - z),   k_ij(x - z) = E cos(w . (x - z)).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaincinv, ndtr

from kernelbandits.checks import Array

if TYPE_CHECKING:
    from kernelbandits.kernels.base import Kernel


@dataclass(frozen=True)
class Factor:
    """A kernel of some coordinates, with `frequencies`.

    >>> import kernelbandits as kb
    >>> (term,) = (kb.RBF(0.5) * kb.kernels.On(kb.RBF(0.2), (1,))).spectral_terms((0, 1))
    >>> [factor.columns for factor in term.factors]
    [(0, 1), (1,)]
    """

    kernel: Kernel
    """It depends on x - z only, and k(x, x) = 1."""
    columns: tuple[int, ...]
    """The coordinates that it sees."""

    @property
    def count_normals(self) -> int:
        """The number of standard normals that a frequency is made of."""
        return 1 + len(self.columns)

    def frequencies(self, normals: Array) -> Array:
        """Return frequencies, one row for each coordinate, from rows of standard normals."""
        drawn = self.kernel.frequencies(normals)
        assert drawn is not None
        return drawn


@dataclass(frozen=True)
class Term:
    """variance * the product of its factors, each of which is 1 at distance 0.

    >>> import kernelbandits as kb
    >>> terms = (2.0 * kb.RBF(0.5) + kb.Matern(0.2)).spectral_terms((0,))
    >>> [(term.variance, len(term.factors)) for term in terms]
    [(2.0, 1), (1.0, 1)]
    """

    variance: float
    factors: tuple[Factor, ...]

    def times(self, other: Term) -> Term:
        """Return the product of two terms."""
        return Term(self.variance * other.variance, self.factors + other.factors)


def scale_terms(terms: Iterable[Term], factor: float) -> tuple[Term, ...]:
    """Return the terms, each multiplied by the factor."""
    return tuple(replace(term, variance=factor * term.variance) for term in terms)


def gamma_mean_one(shape: float, normal: Array) -> Array:
    """Return the quantile of Gamma(shape) / shape at the level at which the normal number stands.

    It mixes normal frequencies into those of Matern and rational quadratic kernels.
    """
    return np.asarray(gammaincinv(shape, ndtr(normal)) / shape)
