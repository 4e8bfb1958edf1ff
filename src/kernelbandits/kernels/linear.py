"""Kernels of the inner product of two points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels.base import Kernel
from kernelbandits.kernels.properties import Block, CellChange, Eigendecay, Extent


def inner_products(owner: str, x: Array, z: Array) -> Array:
    """Return the (n, m) array of x_i . z_j.

    `owner` is whom an error names when the columns of the two differ in number.

    >>> import numpy as np
    >>> from kernelbandits.kernels import inner_products
    >>> inner_products("my kernel", np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[11.,  2.]])
    """
    if x.shape[1] != z.shape[1]:
        raise ValueError(
            f"{owner} needs points of {x.shape[1]} dimensions, got {x.shape[1]} and {z.shape[1]}"
        )
    return x @ z.T


def squared_norms(x: Array) -> Array:
    """Return the array of x_i . x_i.

    >>> import numpy as np
    >>> from kernelbandits.kernels import squared_norms
    >>> squared_norms(np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([25.,  1.])
    """
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

    spelling: ClassVar[str] = "linear"
    rank_argument: ClassVar[str] = "(d/2) ln(1 + T max|x|^2/(d ridge))"

    def __call__(self, x: Array, z: Array) -> Array:
        return inner_products("Linear", x, z)

    def diagonal(self, x: Array) -> Array:
        return squared_norms(x)

    def gradient(self, x: Array, z: Array) -> Array:
        """d k / d x_i = z_j"""
        return np.ones_like(inner_products("Linear", x, z))[..., None] * z

    def diagonal_gradient(self, x: Array) -> Array:
        return 2 * x

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        return extent.smallest_norm, extent.largest_norm

    def rank_blocks(self, extent: Extent) -> list[Block]:
        return [Block(extent.dimension, extent.largest_norm)]

    def cell_change(self, extent: Extent, coordinate: int, width: float) -> CellChange:
        return CellChange(width, 0.0)

    def eigendecay(self, dimension: int) -> Eigendecay:
        return Eigendecay.finite_rank()


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

    spelling: ClassVar[str] = "polynomial"

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

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        least, largest = self.profile(np.array([extent.smallest_norm, extent.largest_norm]))
        return float(least), float(largest)

    def rank_blocks(self, extent: Extent) -> list[Block]:
        """C(p, q) c^(p - q) (x . z)^q,  of rank C(d + q - 1, q)."""
        p, square = self.degree, extent.largest_norm
        return [
            Block(
                float(math.comb(extent.dimension + q - 1, q)),
                math.comb(p, q) * self.offset ** (p - q) * square**q,
            )
            for q in range(p + 1)
        ]

    def cell_change(self, extent: Extent, coordinate: int, width: float) -> CellChange:
        """|phi'| <= p |u|^(p - 1) and |phi''| <= p (p - 1) |u|^(p - 2).

        phi = u x ... x u is the p-th tensor power of u = (x, sqrt(c)).
        """
        p, size = self.degree, math.sqrt(extent.largest_norm + self.offset)
        step = p * size ** (p - 1) * width
        return CellChange(step, p * (p - 1) * size ** max(p - 2, 0) * width**2 / 8)

    def eigendecay(self, dimension: int) -> Eigendecay:
        return Eigendecay.finite_rank()

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
