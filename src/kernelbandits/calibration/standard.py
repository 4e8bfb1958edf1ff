"""The summary of rewards at distinct points, and the transformation that standardises them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.power import invert_power, transform_power
from kernelbandits.checks import Array, unchecked

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Standard:
    """Standardisation of rewards, z = (y - centre) / spread.

    With a shape other than 1 a power transformation follows, z = (w(u) - middle) / stretch with
    u = (y - centre) / spread (`transform_power`), so that skewed rewards become more nearly normal.
    It is increasing, so the order of rewards stays, and `original` undoes it.

    >>> from kernelbandits.calibration import Standard
    >>> standard = Standard(centre=10.0, spread=2.0)
    >>> standard.standardise(13.0), standard.original(1.5)
    (1.5, 13.0)
    >>> skewed = Standard(centre=10.0, spread=2.0, shape=0.5)
    >>> round(float(skewed.original(skewed.standardise(13.0))), 9)
    13.0
    """

    centre: float = 0.0
    """Subtracted from rewards."""
    spread: float = 1.0
    """The unit of standardised rewards."""
    shape: float = 1.0
    """The exponent of the power transformation; 1 for none."""
    middle: float = 0.0
    """Subtracted from transformed rewards."""
    stretch: float = 1.0
    """The unit of transformed rewards."""

    def __post_init__(self) -> None:
        checks.number("Standard", "centre", self.centre)
        checks.positive("Standard", "spread", self.spread)
        known = checks.is_number(self.shape) and 0 <= self.shape <= 2
        checks.needs(known, "Standard", "a shape in [0, 2]", self.shape)
        checks.number("Standard", "middle", self.middle)
        checks.positive("Standard", "stretch", self.stretch)

    @property
    def is_linear(self) -> bool:
        """Whether there is no power transformation."""
        return self.shape == 1.0

    @classmethod
    def of(cls, counts: Any, sums: Any, squares: Any) -> Standard:
        """Return mean and standard deviation of the mean rewards of the points.

        Each point counts once, however often it was played. Otherwise a best arm that is played
        again and again would be taken for the middle, and its noise for the spread. With one point
        the spread is that of its rewards; if all rewards are equal it is 1.
        """
        return Summary.of("Standard", counts, sums, squares).standard

    def standardise(self, y: Any) -> Any:
        """Return z of rewards y."""
        u = (y - self.centre) / self.spread
        if self.is_linear:
            return u
        return (transform_power(u, self.shape) - self.middle) / self.stretch

    def original(self, z: Any) -> Any:
        """Return the rewards y that have these z."""
        if self.is_linear:
            return self.centre + self.spread * z
        u = invert_power(self.middle + self.stretch * np.asarray(z, dtype=np.float64), self.shape)
        return self.centre + self.spread * u

    def original_sd(self, z: Any, sd: Any) -> Any:
        """Return a standard deviation about z in the units of the rewards.

        It is half the distance between the rewards that belong to z - sd and z + sd.
        """
        if self.is_linear:
            return self.spread * sd
        return (self.original(z + sd) - self.original(z - sd)) / 2

    def shift(self, by: float) -> Standard:
        """Return the standardisation of rewards that are all larger by this number."""
        return replace(self, centre=self.centre + by)

    def then(self, after: Standard) -> Standard:
        """Return this standardisation followed by one without a power.

        >>> from kernelbandits.calibration import Standard
        >>> Standard(10.0, 2.0).then(Standard(1.0, 0.5))
        Standard(centre=12.0, spread=1.0, shape=1.0, middle=0.0, stretch=1.0)
        """
        if self.is_linear:
            centre, spread = self.centre + self.spread * after.centre, self.spread * after.spread
            return unchecked(Standard, {"centre": centre, "spread": spread})
        middle = self.middle + self.stretch * after.centre
        transformed = {"middle": middle, "stretch": self.stretch * after.spread}
        return unchecked(Standard, vars(self) | transformed)


@dataclass(frozen=True)
class Summary:
    """What the likelihood needs to know of the rewards at m distinct points."""

    counts: Array
    """The number of rewards of each point."""
    means: Array
    """The mean reward of each point."""
    scatter: float
    """sum_i (q_i - s_i^2 / n_i), the squared deviations of rewards from the mean of their point."""
    variances: Array | None = None
    """The variance of the mean reward where it is known, 0 where the fitted noise counts."""

    @classmethod
    def of(
        cls, owner: str, counts: Any, sums: Any, squares: Any, variances: Array | None = None
    ) -> Summary:
        """Summarise counts, sums and sums of squares, one of each for a point."""
        n = check_counts(owner, counts)
        s, q = (
            check_vector(owner, name, values, len(n))
            for name, values in (("sums", sums), ("squares", squares))
        )
        return cls(n, s / n, float(scatters(owner, n, s, q).sum()), variances)

    @property
    def rewards(self) -> int:
        """The number of rewards."""
        return int(self.counts.sum())

    @cached_property
    def centre(self) -> float:
        """The mean of the means; divided before it is summed, so that it cannot overflow."""
        return float((self.means / len(self.means)).sum())

    @cached_property
    def deviation(self) -> float:
        """sqrt(sum_i (ybar_i - centre)^2 / m); if all means are equal, the sd of the rewards.

        Deviations are divided by the largest before they are squared, so that no square overflows.
        """
        away = self.means - self.centre
        largest = float(np.abs(away).max())
        if largest <= self._rounding:
            return math.sqrt(self.scatter / self.rewards)
        return largest * math.sqrt(float(((away / largest) ** 2).mean()))

    @property
    def _rounding(self) -> float:
        return max(8 * EPS * float(np.abs(self.means).max()), TINY)

    @property
    def constant(self) -> bool:
        """Whether the rewards differ by no more than rounding."""
        return self.deviation <= self._rounding

    @cached_property
    def standard(self) -> Standard:
        spread = 1.0 if self.constant else self.deviation
        return unchecked(Standard, {"centre": self.centre, "spread": spread})


def scatters(owner: str, n: Array, s: Array, q: Array) -> Array:
    """Return q_i - s_i^2 / n_i, and zero if that is no more than the rounding of q_i.

    A scatter made of rounding would claim that the noise is known, and tiny.
    """
    with np.errstate(over="ignore", under="ignore"):
        squared = s * (s / n)
        short = squared - q > 1e-6 * q + n * TINY
    if short.any():
        i = int(short.argmax())
        raise ValueError(
            f"{owner} needs squares >= sums^2 / counts, got {q[i]} < {squared[i]} at point {i}"
        )
    return np.where((n > 1) & (q - squared > 4 * EPS * n * q), q - squared, 0.0)


def check_counts(owner: str, values: Any) -> Array:
    """Return the counts as an array of whole numbers >= 1."""
    counts = check_vector(owner, "counts", values, None)
    bad = counts[(counts < 1) | (counts != np.floor(counts))]
    checks.needs(len(bad) == 0, owner, "whole counts >= 1", bad[0] if len(bad) else None)
    return counts


def check_vector(owner: str, name: str, values: Any, length: int | None) -> Array:
    """Return a vector of finite numbers, one for each point."""
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "iuf" or np.ma.is_masked(values):
            raise TypeError
    except (TypeError, ValueError):
        raise ValueError(f"{owner} needs {name} as a vector of numbers, got {values!r}") from None
    right = given.ndim == 1 and len(given) > 0 and length in (None, len(given))
    checks.needs(right, owner, f"{name} of shape ({length or 'm'},)", given.shape)
    bad = given[~np.isfinite(given)]
    checks.needs(len(bad) == 0, owner, f"finite {name}", float(bad[0]) if len(bad) else None)
    return given.astype(np.float64)
