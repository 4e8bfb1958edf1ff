"""Stationary kernels: functions of the distance between two points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import binom, gammaln, pdtrc

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels.base import Kernel
from kernelbandits.kernels.properties import (
    FRACTIONS,
    Block,
    CellChange,
    Eigendecay,
    Extent,
    cell_fractions,
    change_along_line,
)
from kernelbandits.kernels.spectral import gamma_mean_one

MATERN_SMOOTHNESS = (0.5, 1.5, 2.5)
FARTHEST = 800.0
"""Distances are cut off here. exp(-800) is zero in double precision, so no value changes, and an
infinite distance does not become infinity times zero."""
NUMBERS_AT_ONCE = 1 << 14
"""Values are computed for so many pairs at a time, 128 KB. New arrays of more are new memory of the
system each time, which takes three times as long as the computation."""
WIDEST_CELL = 1e100
"""Cells beyond this many lengthscales are cut: k is 0 there, and their squares would overflow."""
LONGEST_SERIES = 1e4
"""Beyond this many squared lengthscales the Taylor series of RBF has too many terms to be useful.
"""


class Stationary(Kernel):
    """A kernel of the scaled distance r = |(x - z) / l|, which falls with r, and k(x, x) = 1.

    A subclass gives `profile`, k as a function of r^2, and `slope`, its derivative. Functions of
    r^2 need no square root where the formula has none.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> class Cauchy(kb.kernels.Stationary):
    ...     lengthscale = 0.5
    ...
    ...     def profile(self, squares):
    ...         return 1 / (1 + squares)
    >>> Cauchy()(np.array([[0.0]]), np.array([[0.0], [0.5], [1.5]]))
    array([[1. , 0.5, 0.1]])
    """

    lengthscale: float | tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "lengthscale", checks.lengthscales(type(self).__name__, self.lengthscale)
        )

    def __call__(self, x: Array, z: Array) -> Array:
        owner, size = type(self).__name__, max(1, NUMBERS_AT_ONCE // max(1, len(z)))
        if len(x) <= size:
            return self.profile(squared_distance(owner, x, z, self.lengthscale))
        values = np.empty((len(x), len(z)))
        for start in range(0, len(x), size):
            some = slice(start, start + size)
            squares = squared_distance(owner, x[some], z, self.lengthscale)
            values[some] = self.profile(squares)
        return values

    def diagonal(self, x: Array) -> Array:
        return np.ones(len(x))

    def gradient(self, x: Array, z: Array) -> Array:
        """2 k'(r^2) (x - z) / l^2, with k' the slope in r^2; zero where the slope is zero."""
        return self.value_and_gradient(x, z)[1]

    def value_and_gradient(self, x: Array, z: Array) -> tuple[Array, Array]:
        scale = scales(type(self).__name__, x, z, self.lengthscale)[:, None, None]
        with np.errstate(over="ignore", invalid="ignore"):
            apart = columns(x)[:, :, None] - columns(z)[:, None, :]
            apart /= scale
            squares = np.square(apart).sum(0)
            slope = 2 * self.slope(squares)
            apart *= slope
            gradient = np.where(slope != 0, apart, 0.0)
            gradient /= scale
            value = self.profile(squares)
        return value, np.moveaxis(gradient, 0, -1)

    def diagonal_gradient(self, x: Array) -> Array:
        return np.zeros(x.shape)

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        return 1.0, 1.0

    def cell_change(self, extent: Extent, coordinate: int, width: float) -> CellChange:
        cell = min(width / float(self.lengthscales(extent.dimension)[coordinate]), WIDEST_CELL)
        values = self.profile((cell_fractions() * cell) ** 2)
        nearest = self.profile(np.array((cell / FRACTIONS / 2) ** 2))
        return change_along_line(values, float(values[-1]), float(nearest))

    def lengthscales(self, dimension: int) -> Array:
        return np.broadcast_to(np.asarray(self.lengthscale, dtype=np.float64), (dimension,))

    def shrink(self, factor: float) -> Kernel:
        shorter = divide_lengths(self.lengthscale, factor)
        return replace(self, lengthscale=shorter)  # type: ignore[type-var]

    def profile(self, squares: Array) -> Array:
        """Return k as a function of r^2."""
        raise NotImplementedError

    def slope(self, squares: Array) -> Array:
        """Return d k / d r^2, and zero where there is no derivative."""
        raise NotImplementedError


def scales(owner: str, x: Array, z: Array, lengthscale: float | tuple[float, ...]) -> Array:
    """Return the lengthscale of each dimension."""
    lengths = np.broadcast_to(
        np.asarray(lengthscale), (np.size(lengthscale) if np.ndim(lengthscale) else x.shape[1],)
    )
    if not len(lengths) == x.shape[1] == z.shape[1]:
        raise ValueError(
            f"{owner} needs points of {len(lengths)} dimensions, got {x.shape[1]} and {z.shape[1]}"
        )
    return lengths


def divide_lengths(lengths: float | tuple[float, ...], factor: float) -> float | tuple[float, ...]:
    """Return the lengths divided by the factor."""
    if isinstance(lengths, tuple):
        return tuple(length / factor for length in lengths)
    return lengths / factor


def columns(x: Array) -> Array:
    """Return one row for each coordinate, contiguous in memory."""
    return np.ascontiguousarray(x.T)


def squared_distance(
    owner: str, x: Array, z: Array, lengthscale: float | tuple[float, ...]
) -> Array:
    """Return r^2 = sum_j ((x_j - z_j) / l_j)^2 as an (n, m) array.

    The differences are squared, not expanded into |x|^2 - 2 x.z + |z|^2, which would lose all
    digits of small distances. Dimensions are added one at a time, so memory stays at (n, m).

    >>> import numpy as np
    >>> from kernelbandits.kernels import squared_distance
    >>> x, z = np.array([[0.0, 0.0]]), np.array([[0.5, 2.0], [1.0, 0.0]])
    >>> squared_distance("my kernel", x, z, lengthscale=(0.5, 2.0))
    array([[2., 4.]])
    """
    squares, apart = np.empty((len(x), len(z))), np.empty((len(x), len(z)))
    lengths = scales(owner, x, z, lengthscale).tolist()
    with np.errstate(over="ignore"):
        rows = zip(lengths, columns(x), columns(z), strict=True)
        for number, (length, left, right) in enumerate(rows):
            part = apart if number else squares
            np.subtract(left[:, None], right, out=part)
            np.divide(part, length, out=part)
            np.multiply(part, part, out=part)
            if number:
                squares += part
    return squares


@dataclass(frozen=True)
class RBF(Stationary):
    """The squared-exponential kernel, k(x, z) = exp(-r^2 / 2) with r = |(x - z) / l|.

    Its functions are infinitely smooth. The lengthscale l is the distance over which rewards stay
    alike. Give it in the units of the points: one number, or one for each dimension.

    >>> import numpy as np
    >>> from kernelbandits import RBF
    >>> RBF(0.5)(np.array([[0.0]]), np.array([[0.0], [0.5], [2.0]])).round(4)
    array([[1.000e+00, 6.065e-01, 3.000e-04]])
    >>> RBF((0.2, 5.0))
    RBF(lengthscale=(0.2, 5.0))
    >>> RBF(-1)
    Traceback (most recent call last):
    ...
    ValueError: RBF needs lengthscale > 0, got -1
    """

    spelling: ClassVar[str] = "rbf"
    rank_argument: ClassVar[str] = "Taylor series of the kernel"

    lengthscale: float | tuple[float, ...] = 1.0
    """The length l over which rewards stay alike; one number, or one for each dimension."""

    def profile(self, squares: Array) -> Array:
        return np.exp(-0.5 * squares)

    def slope(self, squares: Array) -> Array:
        return -0.5 * np.exp(-0.5 * squares)

    def eigendecay(self, dimension: int) -> Eigendecay:
        return Eigendecay.exponential(dimension)

    def frequencies(self, normals: Array) -> Array:
        """w = z / l"""
        return normals[1:] / self.lengthscales(len(normals) - 1)[:, None]

    def rank_blocks(self, extent: Extent) -> list[Block]:
        """exp(-(|x|^2 + |z|^2) / 2) (x . z)^q / q!,  of rank C(d + q - 1, q) (Taylor).

        Degree q has the value exp(-s) s^q / q! with s = |x / l|^2, largest at s = q or at the edge.
        The degrees beyond the last one form one block.
        """
        edge = extent.largest_radius(np.asarray(self.lengthscale))
        if not 0 < edge <= LONGEST_SERIES:
            return [Block(math.inf, 1.0)]
        last = math.ceil(edge + 12 * math.sqrt(edge) + 60)
        q = np.arange(1.0, last + 1)
        at = np.minimum(edge, q)
        shares = np.exp(q * np.log(at) - at - gammaln(q + 1)).tolist()
        ranks = binom(extent.dimension + q - 1, q).tolist()
        series = [Block(rank, share) for rank, share in zip(ranks, shares, strict=True)]
        return [Block(1.0, 1.0), *series, Block(math.inf, float(pdtrc(last, edge)))]


@dataclass(frozen=True)
class Matern(Stationary):
    """The Matern kernel of smoothness nu = 1/2, 3/2 or 5/2. With s = sqrt(2 nu) |(x - z) / l|,

    k = exp(-s),   (1 + s) exp(-s),   (1 + s + s^2 / 3) exp(-s).

    A larger nu means smoother functions: continuous for 1/2, once differentiable for 3/2, twice for
    5/2.

    >>> import numpy as np
    >>> from kernelbandits import Matern
    >>> x, z = np.array([[0.0]]), np.array([[0.3]])
    >>> [round(float(Matern(0.3, nu)(x, z)[0, 0]), 3) for nu in (0.5, 1.5, 2.5)]
    [0.368, 0.483, 0.524]
    """

    spelling: ClassVar[str] = "matern"

    lengthscale: float | tuple[float, ...] = 1.0
    """The length l over which rewards stay alike; one number, or one for each dimension."""
    nu: float = 2.5
    """The smoothness: 0.5, 1.5 or 2.5."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.needs(self.nu in MATERN_SMOOTHNESS, "Matern", f"nu in {MATERN_SMOOTHNESS}", self.nu)

    def profile(self, squares: Array) -> Array:
        # In place: each new array of some thousand numbers costs as much as what is computed in it.
        s = self._distance(squares)
        values = self._polynomial(s)
        values *= np.exp(np.negative(s, out=s), out=s)
        return values

    def _polynomial(self, s: Array) -> Array:
        if self.nu == 0.5:
            return np.ones_like(s)
        values = 1 + s
        if self.nu == 2.5:
            third = s / 3
            third *= s
            values += third
        return values

    def slope(self, squares: Array) -> Array:
        """-exp(-s) / (2 s),  -(3/2) exp(-s)  or  -(5/6) (1 + s) exp(-s).

        The kernel of nu = 1/2 has a peak at s = 0 and no derivative there; zero is returned.
        """
        s = self._distance(squares)
        if self.nu == 0.5:
            return -np.divide(np.exp(-s), 2 * s, out=np.zeros_like(s), where=s > 0)
        return -1.5 * np.exp(-s) if self.nu == 1.5 else -5 / 6 * (1 + s) * np.exp(-s)

    def eigendecay(self, dimension: int) -> Eigendecay:
        return Eigendecay.polynomial(self.nu, dimension)

    def frequencies(self, normals: Array) -> Array:
        """w = tau^(-1/2) z / l, tau ~ Gamma(nu) / nu: multivariate t, 2 nu degrees of freedom."""
        size = gamma_mean_one(self.nu, normals[0]) ** -0.5
        return size * normals[1:] / self.lengthscales(len(normals) - 1)[:, None]

    def _distance(self, squares: Array) -> Array:
        """Return s = sqrt(2 nu) r, at most 800."""
        with np.errstate(over="ignore"):
            s = np.asarray(2 * self.nu * squares)
            return np.minimum(np.sqrt(s, out=s), FARTHEST, out=s)


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """The rational quadratic kernel, k(x, z) = (1 + r^2 / (2 alpha))^-alpha.

    It is a mixture of RBF kernels of many lengthscales; as alpha grows it tends to the RBF kernel.

    >>> import numpy as np
    >>> from kernelbandits.kernels import RationalQuadratic
    >>> RationalQuadratic(1.0, alpha=1.0)(np.array([[0.0]]), np.array([[1.0], [3.0]])).round(3)
    array([[0.667, 0.182]])
    """

    spelling: ClassVar[str] = "rational-quadratic"

    lengthscale: float | tuple[float, ...] = 1.0
    """The length l over which rewards stay alike; one number, or one for each dimension."""
    alpha: float = 1.0
    """How slowly the correlation falls at long distances; smaller is slower."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("RationalQuadratic", "alpha", self.alpha)

    def profile(self, squares: Array) -> Array:
        with np.errstate(over="ignore"):
            return (1 + squares / (2 * self.alpha)) ** -self.alpha

    def slope(self, squares: Array) -> Array:
        with np.errstate(over="ignore"):
            return -0.5 * (1 + squares / (2 * self.alpha)) ** -(self.alpha + 1)

    def eigendecay(self, dimension: int) -> Eigendecay:
        return Eigendecay.exponential(dimension)

    def frequencies(self, normals: Array) -> Array:
        """w = tau^(1/2) z / l, tau ~ Gamma(alpha) / alpha."""
        size = gamma_mean_one(self.alpha, normals[0]) ** 0.5
        return size * normals[1:] / self.lengthscales(len(normals) - 1)[:, None]
