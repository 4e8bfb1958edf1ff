"""scikit-learn: a Gaussian process fitted every round, and mean + 2 sd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.opponents.history import History
from benchmarks.pools import Array, PoolInstance
from kernelbandits.experiment.rivals import FittedProcess

FIRST, CANDIDATES, POLISHED = 5, 2000, 3
RANDOM_CANDIDATES = 78
"""The column of the streams they come from."""


class FittedUCB:
    def __init__(self, instance: PoolInstance) -> None:
        self.instance = instance
        self.history = History(instance)
        self.first = instance.random_moves(FIRST)
        self.generator = instance.streams.generator(RANDOM_CANDIDATES)
        self.process = FittedProcess(instance.seed)

    def ask(self, t: int) -> Any:
        if t <= FIRST:
            return self.first[t - 1]
        self.fit()
        return self.best_of(lambda rows: self.index(rows, 2.0))

    def tell(self, move: Any, reward: float) -> None:
        self.history.add(move, reward)

    def recommend(self) -> Any:
        self.fit()
        return self.best_of(lambda rows: self.index(rows, 0.0))

    def fit(self) -> None:
        self.process.fit(self.history.rows, self.history.rewards)

    def index(self, rows: Array, width: float) -> Array:
        return self.process.index(rows, width)

    def best_of(self, index: Callable[[Array], Array]) -> Any:
        if self.instance.finite:
            return int(index(self.instance.domain.points).argmax())
        rows = self.generator.random((CANDIDATES, self.instance.domain.dimension))
        return self.instance.natural(
            refine_points(index, rows[np.argsort(-index(rows))[:POLISHED]])
        )


def refine_points(index: Callable[[Array], Array], starts: Array) -> Array:
    """The best point of L-BFGS-B from each start, gradients by differences."""

    def loss(row: Array) -> float:
        return -float(index(row[None])[0])

    found = [
        minimize(loss, start, method="L-BFGS-B", bounds=[(0, 1)] * len(start)) for start in starts
    ]
    best: Array = min(found, key=lambda one: one.fun).x
    return best


def make(instance: PoolInstance) -> FittedUCB:
    return FittedUCB(instance)
