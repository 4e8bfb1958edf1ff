"""A kernel as a sum of products of stationary kernels.

In this form it has lengthscales, and frequencies from which a random function can be drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.kernels import (
    AdditiveMatern,
    Constant,
    Kernel,
    Normalised,
    On,
    Product,
    Scaled,
    Stationary,
    Sum,
)


@dataclass(frozen=True)
class Factor:
    """A stationary kernel of some coordinates."""

    kernel: Stationary
    columns: tuple[int, ...]

    @property
    def lengths(self) -> Array:
        """One lengthscale for each of its coordinates."""
        return np.broadcast_to(
            np.asarray(self.kernel.lengthscale, dtype=np.float64), (len(self.columns),)
        )


@dataclass(frozen=True)
class Term:
    """variance * the product of its factors, each of which is 1 at distance 0."""

    variance: float
    factors: tuple[Factor, ...]

    def times(self, other: Term) -> Term:
        return Term(self.variance * other.variance, self.factors + other.factors)


def terms_of(kernel: Kernel, columns: Iterable[int]) -> tuple[Term, ...]:
    """The terms whose sum is the kernel, on these coordinates.

    There are none where a part of the kernel is not stationary.
    """
    where = tuple(columns)
    if isinstance(kernel, Stationary):
        return (Term(1.0, (Factor(kernel, where),)),)
    if isinstance(kernel, AdditiveMatern):
        parts = kernel.parts()
        return tuple(
            Term(1 / len(parts), (Factor(part, tuple(where[j] for j in block)),))
            for block, part in parts
        )
    if isinstance(kernel, Constant):
        return (Term(1.0, ()),)
    if isinstance(kernel, On):
        return terms_of(kernel.kernel, [where[column] for column in kernel.columns])
    if isinstance(kernel, Scaled):
        return scale_terms(terms_of(kernel.kernel, where), kernel.factor)
    if isinstance(kernel, Normalised):
        inner = terms_of(kernel.kernel, where)
        return scale_terms(inner, 1 / sum(term.variance for term in inner)) if inner else ()
    if isinstance(kernel, (Sum, Product)):
        return combine_terms(kernel, terms_of(kernel.left, where), terms_of(kernel.right, where))
    return ()


def scale_terms(terms: Iterable[Term], factor: float) -> tuple[Term, ...]:
    return tuple(replace(term, variance=factor * term.variance) for term in terms)


def combine_terms(
    kernel: Sum | Product, left: tuple[Term, ...], right: tuple[Term, ...]
) -> tuple[Term, ...]:
    """Of a sum the terms of both, of a product each times each."""
    if isinstance(kernel, Product):
        return tuple(one.times(other) for one, other in product(left, right))
    return left + right if left and right else ()


def lengthscales_of(kernel: Kernel, dimension: int) -> Array | None:
    """The shortest lengthscale of each coordinate, infinite where the kernel does not depend on it.

    None for a kernel without lengthscales.
    """
    terms = terms_of(kernel, range(dimension))
    shortest = np.full(dimension, np.inf)
    for factor in (factor for term in terms for factor in term.factors):
        np.minimum.at(shortest, list(factor.columns), factor.lengths)
    return shortest if terms else None
