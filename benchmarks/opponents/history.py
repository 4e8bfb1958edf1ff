"""What was played and what came, for packages that keep no record of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.pools import Array, PoolInstance


class History:
    """The rows played, in the unit cube, and their rewards."""

    def __init__(self, instance: PoolInstance) -> None:
        self.instance = instance
        self.moves: list[Any] = []
        self.rewards: list[float] = []

    def __len__(self) -> int:
        return len(self.moves)

    def add(self, move: Any, reward: float) -> None:
        self.moves.append(move)
        self.rewards.append(reward)

    @property
    def rows(self) -> Array:
        if self.instance.finite:
            return np.asarray(self.instance.domain.points[self.moves])
        low, high = self.instance.sides
        return np.asarray((np.array(self.moves) - low) / (high - low))

    def best_mean(self) -> Any:
        """The move of the greatest mean reward, the first on ties."""
        sums: dict[Any, list[float]] = {}
        for move, reward in zip(self.moves, self.rewards, strict=True):
            sums.setdefault(move if self.instance.finite else tuple(move), []).append(reward)
        best = max(sums, key=lambda move: sum(sums[move]) / len(sums[move]))
        return best if self.instance.finite else np.array(best)
