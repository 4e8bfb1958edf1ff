"""When to fit again: at geometrically spaced numbers of rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelbandits import checks

MANY = 2**53
"""Whole numbers below this are floating-point numbers, and need no further check."""


@dataclass(frozen=True)
class Refits:
    """Fit again after n = ceil(first * growth^k) rewards, k = 0, 1, 2, ...

    A fit costs O(m^3). With geometrically spaced fits, all of them together cost a few times the
    last one, and the suggestions differ little from those of a fit after every reward.

    >>> from kernelbandits.calibration import Refits
    >>> [n for n in range(20) if Refits(growth=1.25, first=2).is_due(n)]
    [2, 3, 4, 5, 7, 8, 10, 12, 15, 19]
    """

    growth: float = 1.25
    """The ratio of the numbers of rewards at two successive fits."""
    first: int = 2
    """The number of rewards at the first fit."""

    def __post_init__(self) -> None:
        grows = checks.is_number(self.growth) and self.growth >= 1.001
        checks.needs(grows, "Refits", "growth >= 1.001", self.growth)
        checks.whole("Refits", "first", self.first)

    def is_due(self, events: int) -> bool:
        """Tell whether a fit is due after this number of rewards."""
        n = (
            events
            if type(events) is int and 0 <= events < MANY
            else checks.whole("is_due", "events", events, least=0)
        )
        return n >= self.first and self.next_after(n - 1) == n

    def next_after(self, events: int) -> float:
        """Return the number of rewards at the next fit."""
        steps = math.log(max(1.0, events / self.first)) / math.log(self.growth)
        k = max(0, math.floor(steps) - 1)
        while (n := self._number(k)) <= events:
            k += 1
        return n

    def _number(self, k: int) -> float:
        """Return ceil(first growth^k), infinite if it overflows."""
        try:
            return math.ceil(self.first * self.growth**k)
        except OverflowError:
            return math.inf
