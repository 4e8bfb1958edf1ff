"""Kernels of the parts that a fitted model is the sum of: one column at a time, a level, a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, unchecked
from kernelbandits.kernels.base import Kernel
from kernelbandits.kernels.properties import Block, CellChange, Eigendecay, Extent
from kernelbandits.kernels.spectral import Term, scale_terms
from kernelbandits.kernels.stationary import Matern, columns, scales

FEW = 8
"""With fewer points on a side, looking for equal ones takes longer than it saves."""


@dataclass(frozen=True)
class AdditiveMatern(Kernel):
    """The mean of Matern kernels of one block of coordinates each, with k(x, x) = 1:

    k(x, z) = (1 / B) sum_b M(r_b),   r_b^2 = sum_{j in block b} ((x_j - z_j) / l_j)^2.

    Its functions are sums of functions of one block each: what is learnt of one column holds for
    all values of the others, so few measurements say much. A block is a column of a table: one
    coordinate for a number, several for a category.

    >>> import numpy as np
    >>> from kernelbandits.kernels import AdditiveMatern
    >>> kernel = AdditiveMatern((0.5, 0.5))
    >>> kernel(np.array([[0.0, 0.0]]), np.array([[0.0, 5.0]])).round(3)
    array([[0.5]])
    """

    lengthscale: tuple[float, ...]
    """The lengthscale of each coordinate."""
    blocks: tuple[tuple[int, ...], ...] = ()
    """The coordinates of each block; by default every coordinate is a block."""
    nu: float = 2.5
    """The smoothness: 0.5, 1.5 or 2.5."""

    def __post_init__(self) -> None:
        lengths = checks.lengthscales("AdditiveMatern", self.lengthscale)
        listed = isinstance(lengths, tuple)
        checks.needs(listed, "AdditiveMatern", "one lengthscale for each coordinate", lengths)
        object.__setattr__(self, "lengthscale", lengths)
        every = tuple(range(len(self.lengthscale)))
        blocks = tuple(tuple(block) for block in self.blocks) or tuple((j,) for j in every)
        covered = tuple(sorted(j for block in blocks for j in block)) == every
        needed = f"blocks that contain each of {len(every)} coordinates once"
        checks.needs(covered, "AdditiveMatern", needed, blocks)
        object.__setattr__(self, "blocks", blocks)

    def __call__(self, x: Array, z: Array) -> Array:
        scales("AdditiveMatern", x, z, self.lengthscale)
        total = np.zeros((len(x), len(z)))
        for block, part in self.parts:
            chosen = list(block)
            total += evaluate_on_levels(part, x[:, chosen], z[:, chosen])
        return total / len(self.blocks)

    @cached_property
    def parts(self) -> list[tuple[tuple[int, ...], Matern]]:
        """Each block with its kernel."""
        of_blocks = [tuple([self.lengthscale[j] for j in block]) for block in self.blocks]
        return [
            (block, unchecked(Matern, {"lengthscale": lengths, "nu": self.nu}))
            for block, lengths in zip(self.blocks, of_blocks, strict=True)
        ]

    def diagonal(self, x: Array) -> Array:
        return np.ones(len(x))

    def gradient(self, x: Array, z: Array) -> Array:
        """Column j has the derivative of its own block, divided by the number of blocks."""
        slopes = np.empty((len(x), len(z), x.shape[1]))
        for block, part in self.parts:
            chosen = list(block)
            slopes[:, :, chosen] = part.gradient(x[:, chosen], z[:, chosen])
        return slopes / len(self.blocks)

    def diagonal_gradient(self, x: Array) -> Array:
        return np.zeros(x.shape)

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        return 1.0, 1.0

    def spectral_terms(self, columns: Iterable[int]) -> tuple[Term, ...]:
        where = tuple(columns)
        terms = [
            term
            for block, part in self.parts
            for term in part.spectral_terms([where[j] for j in block])
        ]
        return scale_terms(terms, 1 / len(self.blocks))


def evaluate_on_levels(kernel: Kernel, x: Array, z: Array) -> Array:
    """Return k(x, z), computed once for each pair of different points.

    A column of a table often has few different values: 45 values in 1000 rows and 100 measured ones
    make 2000 pairs in place of 100 000. The numbers are the same to the last digit.
    """
    if min(len(x), len(z)) < FEW:
        return kernel(x, z)
    left, row = distinct_points(x)
    right, column = distinct_points(z)
    if 2 * len(left) * len(right) > len(x) * len(z):
        return kernel(x, z)
    return np.asarray(kernel(left, right)[row][:, column])


def distinct_points(x: Array) -> tuple[Array, Indices]:
    """Return the different points, and the number of the point of each row."""
    if x.shape[1] > 1:
        levels, place = np.unique(x, axis=0, return_inverse=True)
        return levels, place.reshape(-1)
    levels, place = np.unique(x[:, 0], return_inverse=True)
    return levels[:, None], place


class PiecewiseConstant(Kernel):
    """A kernel with k(x, x) = 1 that has the same value on both sides of almost every point."""

    def diagonal(self, x: Array) -> Array:
        return np.ones(len(x))

    def gradient(self, x: Array, z: Array) -> Array:
        """Zero: a jump has no derivative, and a search never meets it exactly."""
        return np.zeros((len(x), len(z), x.shape[1]))

    def diagonal_gradient(self, x: Array) -> Array:
        return np.zeros(x.shape)

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        return 1.0, 1.0


@dataclass(frozen=True)
class Constant(PiecewiseConstant):
    """k(x, z) = 1: the functions are constants. Added to a kernel, it is an unknown mean.

    >>> import numpy as np
    >>> from kernelbandits.kernels import Constant
    >>> Constant()(np.zeros((1, 2)), np.ones((2, 2)))
    array([[1., 1.]])
    """

    def __call__(self, x: Array, z: Array) -> Array:
        return np.ones((len(x), len(z)))

    def rank_blocks(self, extent: Extent) -> list[Block]:
        return [Block(1.0, 1.0)]

    def cell_change(self, extent: Extent, coordinate: int, width: float) -> CellChange:
        return CellChange(0.0, 0.0)

    def eigendecay(self, dimension: int) -> Eigendecay:
        return Eigendecay.finite_rank()

    def spectral_terms(self, columns: Iterable[int]) -> tuple[Term, ...]:
        return (Term(1.0, ()),)


@dataclass(frozen=True)
class SamePoint(PiecewiseConstant):
    """k(x, z) = 1 if x = z, else 0: every point has a deviation of its own.

    Added to a smooth kernel it is a *nugget*: what a candidate has that its neighbours do not. It
    differs from noise, since measuring a point again gives the same deviation.

    >>> import numpy as np
    >>> from kernelbandits.kernels import SamePoint
    >>> SamePoint()(np.array([[0.0]]), np.array([[0.0], [1e-9]]))
    array([[1., 0.]])
    """

    def __call__(self, x: Array, z: Array) -> Array:
        same = np.ones((len(x), len(z)), dtype=np.bool_)
        for left, right in zip(columns(x), columns(z), strict=True):
            same &= left[:, None] == right
        return same.astype(np.float64)
