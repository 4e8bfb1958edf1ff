"""Kernels of the inner product of two points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels.base import Kernel


def inner_products(owner: str, x: Array, z: Array) -> Array:
    """x_i . z_j."""
    if x.shape[1] != z.shape[1]:
        raise ValueError(
            f"{owner} needs points of {x.shape[1]} dimensions, got {x.shape[1]} and {z.shape[1]}"
        )
    return x @ z.T


def squared_norms(x: Array) -> Array:
    """x_i . x_i"""
    norms: Array = np.einsum("ij,ij->i", x, x)
    return norms


@dataclass(frozen=True)
class Linear(Kernel):
    r"""Linear kernel, k(x, z) = x . z; the theory's k(x, x) <= 1 needs points in the unit ball."""

    def __call__(self, x: Array, z: Array) -> Array:
        return inner_products("Linear", x, z)

    def diagonal(self, x: Array) -> Array:
        return squared_norms(x)

    def gradient(self, x: Array, z: Array) -> Array:
        """z_j"""
        return np.ones_like(inner_products("Linear", x, z))[..., None] * z

    def diagonal_gradient(self, x: Array) -> Array:
        return 2 * x


@dataclass(frozen=True)
class Polynomial(Kernel):
    r"""Polynomial kernel, k(x, z) = (x . z + offset)^degree."""

    degree: int = 2
    offset: float = 1.0

    def __post_init__(self) -> None:
        checks.whole("Polynomial", "degree", self.degree)
        checks.nonnegative("Polynomial", "offset", self.offset)

    def __call__(self, x: Array, z: Array) -> Array:
        return self.profile(inner_products("Polynomial", x, z))

    def diagonal(self, x: Array) -> Array:
        return self.profile(squared_norms(x))

    def gradient(self, x: Array, z: Array) -> Array:
        """degree (x . z + offset)^(degree - 1) z"""
        return self.slope(inner_products("Polynomial", x, z))[..., None] * z

    def diagonal_gradient(self, x: Array) -> Array:
        return self.slope(squared_norms(x))[:, None] * (2 * x)

    def profile(self, products: Array) -> Array:
        """k as a function of x . z."""
        with np.errstate(over="ignore"):
            values: Array = (products + self.offset) ** self.degree
            return values

    def slope(self, products: Array) -> Array:
        """d k / d (x . z)"""
        with np.errstate(over="ignore"):
            values: Array = self.degree * (products + self.offset) ** (self.degree - 1)
            return values
