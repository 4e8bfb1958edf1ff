"""The prior of the scales: independent log-normal laws, with longer lengths in more dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array

REACH = 5.0
"""The search stays within this many standard deviations of the prior's mode, ..."""
SPAN = 15.0
"""... and within this distance of it in logarithms."""
LARGEST_LOG = 20.0
"""Scales beyond e^20 or below e^-20 are certainly a mistake."""


@dataclass(frozen=True)
class Prior:
    """Independent laws of the scales, for points of the unit cube [0, 1]^d, standardised rewards.

    ln l_j ~ N(length + growth ln(d) / 2, length_sd^2),   mean ~ N(0, 1),
    ln signal_variance ~ N(signal, signal_sd^2),   ln noise_variance ~ N(noise, noise_sd^2).

    With growth 1 the typical length exp(length) sqrt(d) grows as the distance between two points of
    the cube does, so functions are expected to be equally smooth in all dimensions: 0.17 in one,
    0.25 in two, 0.3 in three, 0.55 in ten dimensions. This makes little difference up to 6
    dimensions and saves a third to a half of the regret on linear functions in 10 and 20
    (docs/decisions/0006). With growth 0 the length is the same in all dimensions.

    >>> from kernelbandits.calibration import Prior
    >>> import numpy as np
    >>> np.exp(Prior().mode(dimension=2, lengths=1)).round(2)
    array([0.25, 1.  , 0.05])
    """

    length: float = -1.75
    """Mean of the log lengthscale in one dimension."""
    growth: float = 1.0
    """How the lengthscale grows with the dimension d: as d^(growth / 2)."""
    length_sd: float = 1.0
    """Standard deviation of the log lengthscale."""
    signal: float = 0.0
    """Mean of the log signal variance."""
    signal_sd: float = 1.5
    """Standard deviation of the log signal variance."""
    noise: float = -3.0
    """Mean of the log noise variance."""
    noise_sd: float = 1.0
    """Standard deviation of the log noise variance."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_sd"):
                checks.positive("Prior", field.name, value)
            else:
                known = checks.is_number(value) and abs(value) <= LARGEST_LOG
                checks.needs(
                    known, "Prior", f"{field.name} in [-{LARGEST_LOG:g}, {LARGEST_LOG:g}]", value
                )

    def mode(self, dimension: int, lengths: int) -> Array:
        """Return the means of (ln l_1, ..., ln l_lengths, ln signal, ln noise)."""
        length = self.length + self.growth * math.log(dimension) / 2
        return np.array([*[length] * lengths, self.signal, self.noise])

    def sds(self, lengths: int) -> Array:
        """Return the standard deviations of the same."""
        return np.array([*[self.length_sd] * lengths, self.signal_sd, self.noise_sd])

    def reach(self, lengths: int) -> Array:
        """Return how far from the mode a search may go, in standard deviations of the prior."""
        return np.minimum(REACH, SPAN / self.sds(lengths))
