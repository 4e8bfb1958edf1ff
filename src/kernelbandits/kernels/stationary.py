"""Kernels of the distance between two points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels.base import Kernel

MATERN_SMOOTHNESS = (0.5, 1.5, 2.5)
FARTHEST = 800.0
"""exp(-800) is zero in double precision: distances beyond make no difference."""


class Stationary(Kernel):
    """A kernel of the scaled distance r = |(x - z) / l|, with k(x, x) = 1."""

    lengthscale: float | tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "lengthscale", checks.lengthscales(type(self).__name__, self.lengthscale)
        )

    def __call__(self, x: Array, z: Array) -> Array:
        return self.profile(squared_distance(type(self).__name__, x, z, self.lengthscale))

    def diagonal(self, x: Array) -> Array:
        return np.ones(len(x))

    def gradient(self, x: Array, z: Array) -> Array:
        """2 k'(r^2) (x - z) / l^2, k' the slope in r^2; zero where the slope has vanished."""
        scale = scales(type(self).__name__, x, z, self.lengthscale)[:, None, None]
        with np.errstate(over="ignore", invalid="ignore"):
            apart = (columns(x)[:, :, None] - columns(z)[:, None, :]) / scale
            slope = 2 * self.slope(np.square(apart).sum(0))
            gradient = np.where(slope != 0, apart * slope, 0.0) / scale
        return np.moveaxis(gradient, 0, -1)

    def diagonal_gradient(self, x: Array) -> Array:
        return np.zeros(x.shape)

    def profile(self, squares: Array) -> Array:
        """k as a function of r^2."""
        raise NotImplementedError

    def slope(self, squares: Array) -> Array:
        """d k / d r^2, zero where there is none."""
        raise NotImplementedError


def scales(owner: str, x: Array, z: Array, lengthscale: float | tuple[float, ...]) -> Array:
    """The length of each dimension."""
    lengths = np.broadcast_to(
        np.asarray(lengthscale), (np.size(lengthscale) if np.ndim(lengthscale) else x.shape[1],)
    )
    if not len(lengths) == x.shape[1] == z.shape[1]:
        raise ValueError(
            f"{owner} needs points of {len(lengths)} dimensions, got {x.shape[1]} and {z.shape[1]}"
        )
    return lengths


def columns(x: Array) -> Array:
    """One row for each coordinate, side by side in memory."""
    return np.ascontiguousarray(x.T)


def squared_distance(
    owner: str, x: Array, z: Array, lengthscale: float | tuple[float, ...]
) -> Array:
    """r^2 = sum_j ((x_j - z_j) / l_j)^2, added up a dimension at a time so that only (n, m) numbers are held."""
    squares, apart = np.zeros((len(x), len(z))), np.empty((len(x), len(z)))
    with np.errstate(over="ignore"):
        for length, left, right in zip(
            scales(owner, x, z, lengthscale), columns(x), columns(z), strict=True
        ):
            np.subtract(left[:, None], right, out=apart)
            np.divide(apart, length, out=apart)
            squares += np.multiply(apart, apart, out=apart)
    return squares


@dataclass(frozen=True)
class RBF(Stationary):
    r"""Squared-exponential kernel, k(x, z) = exp(-r^2 / 2), r = |(x - z) / l|."""

    lengthscale: float | tuple[float, ...] = 1.0
    """The length l over which rewards stay alike; one number, or one for each dimension."""

    def profile(self, squares: Array) -> Array:
        return np.exp(-0.5 * squares)

    def slope(self, squares: Array) -> Array:
        return -0.5 * np.exp(-0.5 * squares)


@dataclass(frozen=True)
class Matern(Stationary):
    r"""Matern kernel of smoothness nu = 1/2, 3/2 or 5/2, with s = sqrt(2 nu) r:

    k = exp(-s), (1 + s) exp(-s), (1 + s + s^2 / 3) exp(-s).
    """

    lengthscale: float | tuple[float, ...] = 1.0
    nu: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.needs(self.nu in MATERN_SMOOTHNESS, "Matern", f"nu in {MATERN_SMOOTHNESS}", self.nu)

    def profile(self, squares: Array) -> Array:
        s = self._distance(squares)
        return self._polynomial(s) * np.exp(-s)

    def _polynomial(self, s: Array) -> Array:
        if self.nu == 0.5:
            return np.ones_like(s)
        return 1 + s if self.nu == 1.5 else 1 + s + s * (s / 3)

    def slope(self, squares: Array) -> Array:
        """-exp(-s) / (2 s), -(3/2) exp(-s), -(5/6) (1 + s) exp(-s); zero stands for the peak of nu = 1/2 at s = 0."""
        s = self._distance(squares)
        if self.nu == 0.5:
            return -np.divide(np.exp(-s), 2 * s, out=np.zeros_like(s), where=s > 0)
        return -1.5 * np.exp(-s) if self.nu == 1.5 else -5 / 6 * (1 + s) * np.exp(-s)

    def _distance(self, squares: Array) -> Array:
        """s, or 800 where it is more."""
        with np.errstate(over="ignore"):
            return np.minimum(np.sqrt(2 * self.nu * squares), FARTHEST)


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    r"""Rational quadratic kernel, k(x, z) = (1 + r^2 / (2 alpha))^-alpha: a scale mixture of RBF kernels."""

    lengthscale: float | tuple[float, ...] = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("RationalQuadratic", "alpha", self.alpha)

    def profile(self, squares: Array) -> Array:
        with np.errstate(over="ignore"):
            return (1 + squares / (2 * self.alpha)) ** -self.alpha

    def slope(self, squares: Array) -> Array:
        with np.errstate(over="ignore"):
            return -0.5 * (1 + squares / (2 * self.alpha)) ** -(self.alpha + 1)
