"""Uniform random moves: what no knowledge reaches."""

from __future__ import annotations

from typing import Any

from benchmarks.opponents.history import History
from benchmarks.pools import PoolInstance

MOVES = 1000


class Uniform:
    def __init__(self, instance: PoolInstance) -> None:
        self.moves = instance.random_moves(MOVES)
        self.history = History(instance)

    def ask(self, t: int) -> Any:
        return self.moves[t - 1]

    def tell(self, move: Any, reward: float) -> None:
        self.history.add(move, reward)

    def recommend(self) -> Any:
        return self.history.best_mean()


def make(instance: PoolInstance) -> Uniform:
    return Uniform(instance)
