"""Random rows without replacement, or random points; the best result is the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.opponents.history import History
from benchmarks.pools import PoolInstance
from benchmarks.search.tasks import BUDGET


class Uniform:
    def __init__(self, instance: PoolInstance) -> None:
        self.history = History(instance)
        self.moves = (
            instance.different_arms(BUDGET) if instance.finite else instance.random_moves(BUDGET)
        )

    def ask(self, t: int, pending: Sequence[Any]) -> Any:
        return self.moves[t - 1]

    def tell(self, move: Any, result: float) -> None:
        self.history.add(move, result)

    def recommend(self) -> Any:
        return self.history.best_mean()


def make(instance: PoolInstance) -> Uniform:
    return Uniform(instance)
