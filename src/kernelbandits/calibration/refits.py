"""When to refit: at geometrically spaced numbers of rewards, so that all refits cost a few times the last."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelbandits import checks

MANY = 2**53
"""A number of rewards below it need not be looked at twice."""


@dataclass(frozen=True)
class Refits:
    """A refit is due after n = ceil(first growth^k) rewards, k = 0, 1, 2, ...: 2, 3, 4, 5, 7, 8, 10, 12, 15, 19, ..."""

    growth: float = 1.25
    first: int = 2

    def __post_init__(self) -> None:
        grows = checks.is_number(self.growth) and self.growth >= 1.001
        checks.needs(grows, "Refits", "growth >= 1.001", self.growth)
        checks.whole("Refits", "first", self.first)

    def is_due(self, events: int) -> bool:
        """Whether this number of rewards is ceil(first growth^k) for some k."""
        n = (
            events
            if type(events) is int and 0 <= events < MANY
            else checks.whole("is_due", "events", events, least=0)
        )
        return n >= self.first and self.next_after(n - 1) == n

    def next_after(self, events: int) -> float:
        """The least ceil(first growth^k) beyond this number of rewards."""
        steps = math.log(max(1.0, events / self.first)) / math.log(self.growth)
        k = max(0, math.floor(steps) - 1)
        while (n := self._number(k)) <= events:
            k += 1
        return n

    def _number(self, k: int) -> float:
        """ceil(first growth^k); infinite where that is beyond all numbers of rewards."""
        try:
            return math.ceil(self.first * self.growth**k)
        except OverflowError:
            return math.inf
