"""The prior of the scales: independent log-normal laws, with longer lengths in more dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array

REACH = 5.0
"""The search stays within this many standard deviations of the prior's mode, ..."""
SPAN = 15.0
"""... and within this distance of it in logarithms."""
LEAST_NOISE = 2 * math.log(1e-4)
"""The log noise variance reaches down to a noise of 1e-4 of the spread, whatever the prior."""
LARGEST_LOG = 20.0
"""Scales beyond e^20 or below e^-20 are certainly a mistake."""


@dataclass(frozen=True)
class Prior:
    """Independent laws of the scales, for points of the unit cube [0, 1]^d, standardised rewards.

    ln l_b ~ N(length + growth ln(B) / 2, length_sd^2),   mean ~ N(0, 1),
    ln signal ~ N(signal, signal_sd^2),   and likewise additive, nugget and noise, all variances.

    f is the sum of a constant, a function of all B columns together (variance `signal`), one
    function of each column alone (`additive`, together), and a deviation of each point of its own
    (`nugget`), which measuring again repeats and noise does not. Without `additive` or `nugget`
    (None) the model does not have that part.

    With growth 1 the typical length exp(length) sqrt(B) grows as the distance between two points of
    the cube does, so functions are expected to be equally smooth in all dimensions.

    >>> from kernelbandits.calibration import Prior
    >>> import numpy as np
    >>> prior = Prior(length=-1.0, additive=None, nugget=None)
    >>> np.exp(prior.mode(columns=2, lengths=1)).round(2)
    array([0.52, 0.7 , 0.02])
    """

    # The values were chosen by the predictive density of unmeasured rows and by games on real
    # tables (docs/decisions/0012). Both are flat about them.
    length: float = -1.0
    """Mean of the log lengthscale in one dimension."""
    growth: float = 1.0
    """How the lengthscale grows with the number B of columns: as B^(growth / 2)."""
    length_sd: float = 0.8
    """Standard deviation of the log lengthscale."""
    signal: float = -0.35
    """Mean of the log variance of the function of all columns together."""
    signal_sd: float = 1.5
    """Standard deviation of the log signal variance."""
    additive: float | None = -0.7
    """Mean of the log variance of the sum of the functions of one column each, or None."""
    additive_sd: float = 1.5
    """Standard deviation of the log additive variance."""
    nugget: float | None = -3.0
    """Mean of the log variance of the deviations of single points, or None."""
    nugget_sd: float = 1.5
    """Standard deviation of the log nugget variance."""
    noise: float = -4.0
    """Mean of the log noise variance."""
    noise_sd: float = 1.5
    """Standard deviation of the log noise variance."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("additive", "nugget") and value is None:
                continue
            if field.name.endswith("_sd"):
                checks.positive("Prior", field.name, value)
            else:
                known = checks.is_number(value) and abs(value) <= LARGEST_LOG
                checks.needs(
                    known, "Prior", f"{field.name} in [-{LARGEST_LOG:g}, {LARGEST_LOG:g}]", value
                )

    @cached_property
    def variances(self) -> tuple[str, ...]:
        """The variances of the model, in the order of the parameters after the lengthscales."""
        parts = ("signal", "additive", "nugget", "noise")
        return tuple(part for part in parts if getattr(self, part) is not None)

    def mode(self, columns: int, lengths: int) -> Array:
        """Return the means of the parameters: the log lengthscales, then the log variances."""
        length = self.length + self.growth * math.log(columns) / 2
        return np.array([*[length] * lengths, *(getattr(self, part) for part in self.variances)])

    def sds(self, lengths: int) -> Array:
        """Return the standard deviations of the same."""
        sds = (getattr(self, f"{part}_sd") for part in self.variances)
        return np.array([*[self.length_sd] * lengths, *sds])

    def reach(self, lengths: int) -> tuple[Array, Array]:
        """Return how far below and above the mode a search may go, in prior standard deviations."""
        above = np.minimum(REACH, SPAN / self.sds(lengths))
        below = above.copy()
        below[-1] = max(below[-1], (self.noise - LEAST_NOISE) / self.noise_sd)
        return below, above
