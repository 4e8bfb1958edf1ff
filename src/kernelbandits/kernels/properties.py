"""What a kernel says of itself: how it is asked (`Extent`), and the forms of its answers.

`Kernel` has a method for each answer, whose default means "unknown".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kernelbandits.checks import Array

FRACTIONS = 512
"""The bend is evaluated at this many points of a cell; between them it is bounded."""
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Extent:
    """The bounded set of points that a kernel is asked about: some points, or a whole box.

    >>> import numpy as np
    >>> from kernelbandits.kernels import Extent
    >>> box = Extent(np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
    >>> some = Extent.of_points(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> box.largest_norm, some.largest_norm
    (5.0, 1.0)
    """

    lower: Array
    """The smallest value of each coordinate."""
    upper: Array
    """The largest value of each coordinate."""
    points: Array | None = None
    """All points of the set; None for the whole box from `lower` to `upper`."""

    @classmethod
    def of_points(cls, points: Array) -> Extent:
        """Return the extent of the rows of an (n, d) array."""
        return cls(points.min(0), points.max(0), points)

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return len(self.lower)

    @cached_property
    def largest_norm(self) -> float:
        """max |x|^2"""
        if self.points is not None:
            return float(np.einsum("ij,ij->i", self.points, self.points).max())
        with np.errstate(over="ignore"):
            return math.fsum(np.maximum(self.lower**2, self.upper**2))

    @cached_property
    def smallest_norm(self) -> float:
        """min |x|^2"""
        if self.points is not None:
            return float(np.einsum("ij,ij->i", self.points, self.points).min())
        return math.fsum(np.clip(0.0, self.lower, self.upper) ** 2)

    def largest_radius(self, lengths: Array) -> float:
        """Return max |(x - c) / l|^2 from the centre c of the set."""
        if self.points is None:
            return float((((self.upper - self.lower) / 2 / lengths) ** 2).sum())
        rows = self.points / lengths
        rows = rows - (rows.min(0) + rows.max(0)) / 2
        return float(np.einsum("ij,ij->i", rows, rows).max())

    def select(self, columns: Sequence[int]) -> Extent:
        """Return the extent of some of the coordinates."""
        chosen = list(columns)
        points = None if self.points is None else self.points[:, chosen]
        return Extent(self.lower[chosen], self.upper[chosen], points)


class Block(NamedTuple):
    """A part of a kernel: its rank, and the largest value of its k(x, x) on an extent.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> box = kb.kernels.Extent(np.zeros(2), np.ones(2))
    >>> kb.Linear().rank_blocks(box)
    [Block(rank=2, share=2.0)]
    """

    rank: float
    """Infinite where it is unknown."""
    share: float
    """max k(x, x)"""


class CellChange(NamedTuple):
    """How much the feature phi of a kernel changes along a cell of width a in one dimension.

    k(x, z) = phi(x) . phi(z).

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> box = kb.kernels.Extent(np.zeros(1), np.ones(1))
    >>> coarse, fine = (kb.RBF(0.2).cell_change(box, 0, width) for width in (0.02, 0.01))
    >>> round(coarse.step, 3), round(fine.step, 3)
    (0.1, 0.05)
    """

    step: float
    """sup |phi(x + t a) - phi(x)|, t <= 1"""
    bend: float
    """sup |phi(x + t a) - (1 - t) phi(x) - t phi(x + a)|, t <= 1"""


def cell_fractions() -> Array:
    """Return the t in [0, 1] at which `change_along_line` takes the values k(t a)."""
    return np.linspace(0, 1, FRACTIONS + 1)


def change_along_line(values: Array, farthest: float, nearest: float) -> CellChange:
    """Return the change along a cell of a kernel of the difference x - z, with k(x, x) = 1.

    |.|^2 = 1 + (1 - t)^2 + t^2 + 2 t (1 - t) k(a) - 2 (1 - t) k(t a) - 2 t k((1 - t) a).

    It is evaluated at the t of `cell_fractions`, where k(t a) is `values`, and the change between
    two of them is added. `farthest` is the smallest value of k in a cell, `nearest` the smallest
    value within half of the distance between two of the t.
    """
    t = cell_fractions()
    ends = 1 + (1 - t) ** 2 + t**2 + 2 * t * (1 - t) * values[-1]
    squares = ends - 2 * (1 - t) * values - 2 * t * values[::-1]
    whole, part = feature_distance(farthest), feature_distance(nearest)
    bend = math.sqrt(max(float(squares.max()), 0.0) + 16 * EPS)
    return CellChange(whole, bend + part + whole / FRACTIONS / 2)


def feature_distance(value: float) -> float:
    """|phi(x) - phi(z)| = sqrt(2 - 2 k)"""
    return math.sqrt(2 - 2 * value + 4 * EPS)


@dataclass(frozen=True, order=True)
class Eigendecay:
    """How fast the eigenvalues of a kernel fall: O(s^-exponent log^power(1/s)) of them exceed s.

    The domain is bounded. A slower decay is greater. The rates are those of Vakili, Khezeli and
    Picheny (2021).

    >>> from kernelbandits.kernels import Eigendecay
    >>> Eigendecay.polynomial(nu=2.5, dimension=2).smoothness(dimension=2)
    2.5
    """

    exponent: Fraction
    """0 for a decay that is faster than every power."""
    power: Fraction = Fraction(0)
    """That of the logarithm."""

    @classmethod
    def finite_rank(cls) -> Eigendecay:
        """Return the decay of finitely many eigenvalues above 0."""
        return cls(Fraction(0))

    @classmethod
    def exponential(cls, dimension: int) -> Eigendecay:
        """Return the decay of analytic kernels: the m-th eigenvalue is below exp(-c m^(1/d))."""
        return cls(Fraction(0), Fraction(dimension))

    @classmethod
    def polynomial(cls, nu: float, dimension: int) -> Eigendecay:
        """Return the decay of smoothness nu: the m-th eigenvalue is below c m^-(2 nu + d)/d."""
        return cls(dimension / (2 * Fraction(nu) + dimension))

    def smoothness(self, dimension: int) -> float:
        """Return nu of a polynomial decay, infinite where the decay is faster than every power."""
        return float((dimension / self.exponent - dimension) / 2) if self.exponent else math.inf

    def times(self, other: Eigendecay) -> Eigendecay:
        """Return the decay of a product of two kernels.

        It is that of the rougher factor; a smooth factor beside it multiplies the number of
        eigenvalues by its own.
        """
        smooth, rough = sorted((self, other))
        if smooth.exponent == 0 < rough.exponent:
            return Eigendecay(rough.exponent, rough.power + smooth.power)
        return rough
