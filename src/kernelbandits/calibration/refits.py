"""When to refit: at geometrically spaced numbers of rewards, so that all refits cost a few times the last."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelbandits import checks


@dataclass(frozen=True)
class Refits:
    """A refit is due after n = ceil(first growth^k) rewards, k = 0, 1, 2, ...: 2, 3, 4, 5, 7, 8, 10, 12, 15, 19, ..."""

    growth: float = 1.25
    first: int = 2

    def __post_init__(self) -> None:
        grows = checks.is_number(self.growth) and self.growth >= 1.001
        checks.needs(grows, "Refits", "growth >= 1.001", self.growth)
        checks.whole("Refits", "first", self.first)

    def due(self, events: int) -> bool:
        """Whether this number of rewards is ceil(first growth^k) for some k."""
        n = checks.whole("due", "events", events, least=0)
        if n < self.first:
            return False
        steps = math.log(n / self.first) / math.log(self.growth)
        k = math.floor(steps)
        about = (near for near in range(max(0, k - 1), k + 2) if (near - steps) * math.log(self.growth) <= 1)
        return n in {math.ceil(self.first * self.growth**near) for near in about}
