"""A kernel of functions that repeat themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import ive, ndtr

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels.base import Kernel
from kernelbandits.kernels.properties import (
    FRACTIONS,
    CellChange,
    Eigendecay,
    Extent,
    cell_fractions,
    change_along_line,
)
from kernelbandits.kernels.stationary import columns, divide_lengths, scales

SHORTEST_TABLE = 1e-3
"""Below this lengthscale harmonics are so many that their numbers are normal but for rounding."""


@dataclass(frozen=True)
class Periodic(Kernel):
    """The periodic kernel, k(x, z) = exp(-2 sum_j sin^2(pi (x_j - z_j) / p_j) / l_j^2).

    Its functions repeat themselves after each period p: hours of a day, angles, phases. Give the
    period in the units of the points. The lengthscale l says how alike rewards are within a period,
    whatever its units: at half a period in one coordinate, k = exp(-2 / l^2).

    >>> import numpy as np
    >>> from kernelbandits.kernels import Periodic
    >>> hours = np.array([[0.0], [6.0], [12.0], [24.0]])
    >>> Periodic(lengthscale=1.0, period=24.0)(hours[:1], hours).round(3)
    array([[1.   , 0.368, 0.135, 1.   ]])
    """

    spelling: ClassVar[str] = "periodic"

    lengthscale: float | tuple[float, ...] = 1.0
    """How alike rewards are within a period; one number, or one for each dimension."""
    period: float | tuple[float, ...] = 1.0
    """The distance p after which functions repeat; one number, or one for each dimension."""

    def __post_init__(self) -> None:
        lengths = checks.lengthscales("Periodic", self.lengthscale)
        periods = checks.lengthscales("Periodic", self.period, "period")
        sizes = {len(each) for each in (lengths, periods) if isinstance(each, tuple)}
        needed = "as many lengthscales as periods, or one of either"
        checks.needs(len(sizes) <= 1, "Periodic", needed, (lengths, periods))
        object.__setattr__(self, "lengthscale", lengths)
        object.__setattr__(self, "period", periods)

    def __call__(self, x: Array, z: Array) -> Array:
        lengths = scales("Periodic", x, z, self.lengthscale)
        periods = scales("Periodic", x, z, self.period)
        squares = np.zeros((len(x), len(z)))
        with np.errstate(over="ignore"):
            for length, period, left, right in zip(
                lengths, periods, columns(x), columns(z), strict=True
            ):
                squares += (np.sin(np.pi * (left[:, None] - right) / period) / length) ** 2
        return np.exp(-2 * squares)

    def diagonal(self, x: Array) -> Array:
        return np.ones(len(x))

    def gradient(self, x: Array, z: Array) -> Array:
        """-k (2 pi / (p l^2)) sin(2 pi (x - z) / p); zero where k is zero."""
        return self.value_and_gradient(x, z)[1]

    def value_and_gradient(self, x: Array, z: Array) -> tuple[Array, Array]:
        lengths = scales("Periodic", x, z, self.lengthscale)
        periods = scales("Periodic", x, z, self.period)
        value = self(x, z)
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = np.sin(2 * np.pi * (x[:, None] - z) / periods) / lengths / lengths
            gradient = -2 * np.pi / periods * slopes * value[..., None]
        return value, np.where(value[..., None] != 0, gradient, 0.0)

    def diagonal_gradient(self, x: Array) -> Array:
        return np.zeros(x.shape)

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        return 1.0, 1.0

    def cell_change(self, extent: Extent, coordinate: int, width: float) -> CellChange:
        length, period = self._scales(extent.dimension)[:, coordinate]

        def along(distance: Array) -> Array:
            """k of two points that differ in this coordinate; it falls up to half a period."""
            with np.errstate(over="ignore"):
                return np.asarray(np.exp(-2 * (np.sin(np.pi * distance / period) / length) ** 2))

        values = along(width * cell_fractions())
        farthest, nearest = along(np.minimum([width, width / FRACTIONS / 2], period / 2))
        return change_along_line(values, float(farthest), float(nearest))

    def eigendecay(self, dimension: int) -> Eigendecay:
        """Return an exponential decay: I_n(1 / l^2) falls faster than every exp(-c n)."""
        return Eigendecay.exponential(dimension)

    def frequencies(self, normals: Array) -> Array:
        """w = 2 pi n / p, where the harmonic n has the probability exp(-1 / l^2) I_|n|(1 / l^2).

        They are the Fourier coefficients of exp(-2 sin^2(pi h / p) / l^2), in each coordinate.
        """
        lengths, periods = self._scales(len(normals) - 1)
        numbers = [draw_harmonics(*pair) for pair in zip(lengths, normals[1:], strict=True)]
        return np.asarray(2 * np.pi * np.array(numbers) / periods[:, None])

    def lengthscales(self, dimension: int) -> Array:
        """Return p l / (2 pi), and p / (2 pi) if l > 1: a period has a hill and a valley."""
        lengths, periods = self._scales(dimension)
        return np.asarray(periods * np.minimum(lengths, 1.0) / (2 * np.pi))

    def shrink(self, factor: float) -> Kernel:
        """Return the kernel with a shorter lengthscale, of the same period."""
        return replace(self, lengthscale=divide_lengths(self.lengthscale, factor))

    def _scales(self, dimension: int) -> Array:
        """Return lengthscale and period of each dimension, a (2, d) array."""
        return np.array(
            [np.broadcast_to(each, (dimension,)) for each in (self.lengthscale, self.period)]
        )


def draw_harmonics(length: float, normals: Array) -> Array:
    """Return whole numbers n with the probabilities exp(-1 / l^2) I_|n|(1 / l^2).

    Each is the quantile at the level at which the normal number stands. The variance is 1 / l^2.
    """
    if length < SHORTEST_TABLE:
        return np.rint(normals / length)
    most = math.ceil(20 + 12 / length)
    numbers = np.arange(-most, most + 1)
    levels = np.cumsum(ive(np.abs(numbers), 1 / length**2))
    return numbers[np.minimum(np.searchsorted(levels, ndtr(normals)), 2 * most)].astype(np.float64)
