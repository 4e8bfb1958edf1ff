"""The target's own units, and those in which a policy sees it: z = sign (y - centre) / spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.checks import LARGEST_REWARD

FIRST = 5
"""Results by which centre and spread are set where they were not given."""
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

    def inward(self, y: float) -> float:
        """What a policy learns of a result: no farther out than it can bear, and no nearer to 0."""
        z = self.sign * ((y - self.centre) / self.spread)
        if abs(z) < LEAST_REWARD:
            return 0.0
        return min(max(z, -LARGEST_REWARD), LARGEST_REWARD)

    def outward(self, z: Any) -> Any:
        """An estimate in the target's units."""
        return self.centre + self.sign * self.spread * z

    def length(self, z: Any) -> Any:
        """A difference or sd in the target's units."""
        return self.spread * z


def fit_scale(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of the first five results, or of as many as there are.

    If all results are equal, their spread is unknown: their size is used, or 1 if they are zero.
    """
    first = values[:FIRST]
    if not first:
        return 0.0, 1.0
    # Divided first, and the deviations relative to the largest, so that sums and squares of values
    # up to the largest allowed do not overflow.
    centre = math.fsum(value / len(first) for value in first)
    away = [value - centre for value in first]
    largest = max(map(abs, away))
    if largest <= max(ROUNDING * max(map(abs, first)), LEAST_SPREAD):
        return centre, max(abs(centre), LEAST_SPREAD) if centre else 1.0
    return centre, largest * math.sqrt(math.fsum((one / largest) ** 2 for one in away) / len(away))
