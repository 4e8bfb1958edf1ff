"""Uniform random moves: what no knowledge reaches."""

from __future__ import annotations

from typing import Any

from benchmarks.opponents.history import History
from benchmarks.pools import Stage

MOVES = 1000


class Uniform:
    def __init__(self, stage: Stage) -> None:
        self.moves = stage.random_moves(MOVES)
        self.history = History(stage)

    def ask(self, t: int) -> Any:
        return self.moves[t - 1]

    def tell(self, move: Any, reward: float) -> None:
        self.history.add(move, reward)

    def recommend(self) -> Any:
        return self.history.best_mean()


def make(stage: Stage) -> Uniform:
    return Uniform(stage)
