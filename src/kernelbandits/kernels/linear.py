"""Kernels of the inner product of two points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels.base import Kernel


def inner_products(owner: str, x: Array, z: Array) -> Array:
    """Return the (n, m) array of x_i . z_j."""
    if x.shape[1] != z.shape[1]:
        raise ValueError(
            f"{owner} needs points of {x.shape[1]} dimensions, got {x.shape[1]} and {z.shape[1]}"
        )
    return x @ z.T


def squared_norms(x: Array) -> Array:
    """Return the array of x_i . x_i."""
    norms: Array = np.einsum("ij,ij->i", x, x)
    return norms


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel, k(x, z) = x . z: rewards are a linear function of the point.

    The theory assumes k(x, x) <= 1, so scale the points into the unit ball.

    >>> import numpy as np
    >>> from kernelbandits import Linear
    >>> Linear()(np.array([[0.6, 0.8]]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([[0.6, 0.8]])
    """

    def __call__(self, x: Array, z: Array) -> Array:
        return inner_products("Linear", x, z)

    def diagonal(self, x: Array) -> Array:
        return squared_norms(x)

    def gradient(self, x: Array, z: Array) -> Array:
        """d k / d x_i = z_j"""
        return np.ones_like(inner_products("Linear", x, z))[..., None] * z

    def diagonal_gradient(self, x: Array) -> Array:
        return 2 * x


@dataclass(frozen=True)
class Polynomial(Kernel):
    """The polynomial kernel, k(x, z) = (x . z + offset)^degree.

    Its functions are the polynomials of up to this degree. `Normalised(Polynomial(2))` has
    k(x, x) = 1.

    >>> import numpy as np
    >>> from kernelbandits.kernels import Polynomial
    >>> Polynomial(2)(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]))
    array([[16.]])
    """

    degree: int = 2
    """The highest degree of the polynomials."""
    offset: float = 1.0
    """With offset 0 only products of exactly `degree` coordinates remain."""

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
        """Return k as a function of x . z."""
        # A large power may overflow to infinity. `gram` then names the two points, which helps
        # more than a warning of numpy.
        with np.errstate(over="ignore"):
            values: Array = (products + self.offset) ** self.degree
            return values

    def slope(self, products: Array) -> Array:
        """Return d k / d (x . z)."""
        with np.errstate(over="ignore"):
            values: Array = self.degree * (products + self.offset) ** (self.degree - 1)
            return values
