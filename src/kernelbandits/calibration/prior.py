"""What is believed of the scales before any reward: independent log-normal laws, wider lengths in more dimensions."""

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


@dataclass(frozen=True)
class Prior:
    r"""Independent laws, for points of the unit cube [0, 1]^d and standardised rewards:

    ln l_j ~ N(length + growth ln(d) / 2, length_sd^2),
    ln signal_variance ~ N(signal, signal_sd^2),  ln noise_variance ~ N(noise, noise_sd^2),  mean ~ N(0, 1).

    With growth 1 the typical length exp(length) sqrt(d) grows as the distance of two points of the cube does, so that
    a function is believed equally smooth whatever the dimension: 0.17 in one, 0.25 in two, 0.3 in three, 0.55 in ten
    dimensions. With growth 0 it stays.
    """

    length: float = -1.75
    growth: float = 1.0
    length_sd: float = 1.0
    signal: float = 0.0
    signal_sd: float = 1.5
    noise: float = -3.0
    noise_sd: float = 1.0

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
        """The means of (ln l_1, ..., ln l_lengths, ln signal, ln noise): the mode in logarithms."""
        length = self.length + self.growth * math.log(dimension) / 2
        return np.array([*[length] * lengths, self.signal, self.noise])

    def sds(self, lengths: int) -> Array:
        return np.array([*[self.length_sd] * lengths, self.signal_sd, self.noise_sd])

    def reach(self, lengths: int) -> Array:
        """How far from the mode the search may go, in standard deviations of the prior."""
        return np.minimum(REACH, SPAN / self.sds(lengths))
