"""The target's own units, and those in which a policy sees it: z = sign (y - centre) / spread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.checks import LARGEST_REWARD

FIRST = 5
"""Results by which centre and spread are set where they were not given."""
UNSCALED = (0.0, 1.0)
"""Centre and spread while there are no results, and none were given."""
LEAST_SPREAD = 1e-100
LEAST_REWARD = 1e-150
"""Squares of smaller numbers are not exact: they count as 0."""
ROUNDING = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Scale:
    """z = sign (y - centre) / spread"""

    centre: float = 0.0
    spread: float = 1.0
    sign: float = 1.0
    limits: tuple[float, float] = (-math.inf, math.inf)
    """No true value of the target is beyond them."""

    def inward(self, y: float) -> float:
        """Return what a policy learns of a result, within the sizes that it can compute with."""
        z = self.sign * ((y - self.centre) / self.spread)
        if abs(z) < LEAST_REWARD:
            return 0.0
        return min(max(z, -LARGEST_REWARD), LARGEST_REWARD)

    def inward_sem(self, sem: float) -> float:
        """Return the standard error of a result in the policy's units."""
        return min(max(sem / self.spread, LEAST_REWARD), LARGEST_REWARD)

    def outward(self, z: Any) -> Any:
        """Return a number of the policy in the target's units."""
        return self.centre + self.sign * self.spread * z

    def estimate(self, z: Any) -> Any:
        """Return an estimate in the target's units; one beyond a limit is the limit.

        >>> float(Scale(centre=90.0, spread=10.0, limits=(0.0, 100.0)).estimate(2.0))
        100.0
        """
        y, (least, most) = self.outward(z), self.limits
        if least == -math.inf and most == math.inf:
            return y
        return np.clip(y, least, most)[()]

    def length(self, z: Any) -> Any:
        """Return a difference or sd in the target's units."""
        return self.spread * z

    def gain(self, z: Any) -> Any:
        """Return an improvement or a loss in the target's units, which the limits bound.

        >>> float(Scale(spread=80.0, limits=(0.0, 100.0)).gain(1.5))
        100.0
        """
        return np.minimum(self.length(z), self.limits[1] - self.limits[0])[()]


def first_results(values: Iterable[float]) -> list[float]:
    """Return the results that set centre and spread: the first five, or more until two differ."""
    first: list[float] = []
    differ = False
    for value in values:
        first.append(value)
        differ = differ or not are_equal((first[0], value))
        if differ and len(first) >= FIRST:
            break
    return first


def are_equal(values: Sequence[float]) -> bool:
    """Tell whether no value differs from the first by more than rounding: the spread is unknown."""
    origin = values[0]
    return all(
        abs(value - origin) <= max(ROUNDING * max(abs(value), abs(origin)), LEAST_SPREAD)
        for value in values
    )


def fit_scale(first: Sequence[float]) -> tuple[float, float]:
    """Return the centre and spread of the first results: mean and standard deviation.

    If all of them are equal, their spread is unknown: their size is used, or 1 if they are zero.
    """
    if not first:
        return UNSCALED
    # Divided first, and the deviations relative to the largest, so that sums and squares of values
    # up to the largest allowed do not overflow.
    centre = math.fsum(value / len(first) for value in first)
    if are_equal(first):
        return centre, max(abs(centre), LEAST_SPREAD) if centre else 1.0
    away = [value - centre for value in first]
    largest = max(map(abs, away))
    return centre, largest * math.sqrt(math.fsum((one / largest) ** 2 for one in away) / len(away))
