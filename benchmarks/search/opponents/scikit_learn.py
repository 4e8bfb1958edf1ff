"""scikit-learn: a Gaussian process fitted every round, and expected improvement over the best
posterior mean at a measured row, among unmeasured rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.opponents import scikit_learn
from benchmarks.pools import PoolInstance
from kernelbandits.experiment.rivals import expected_improvement


class Improved:
    def __init__(self, instance: PoolInstance) -> None:
        self.instance = instance
        self.fitted = scikit_learn.make(instance)
        self.history = self.fitted.history
        self.first = instance.different_arms(scikit_learn.FIRST)

    def ask(self, t: int, pending: Sequence[Any]) -> int:
        if t <= len(self.first):
            return self.first[t - 1]
        self.fitted.fit()
        taken = {*self.history.moves, *pending}
        rows = [row for row in range(len(self.instance.domain)) if row not in taken]
        points = self.instance.domain.points[rows]
        mean = self.fitted.index(points, 0.0)
        sd = self.fitted.index(points, 1.0) - mean
        best = self.fitted.index(self.history.rows, 0.0).max()
        return rows[int(expected_improvement(mean, sd, best).argmax())]

    def tell(self, move: int, result: float) -> None:
        self.history.add(move, result)

    def recommend(self) -> Any:
        if self.instance.noise == 0:
            return self.history.best_mean()
        self.fitted.fit()
        return self.history.moves[int(self.fitted.index(self.history.rows, 0.0).argmax())]


def make(instance: PoolInstance) -> Improved:
    return Improved(instance)
