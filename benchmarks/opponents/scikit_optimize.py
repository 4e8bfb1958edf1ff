"""scikit-optimize: its Optimizer with its defaults; on pools its samples are the candidates."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from skopt import Optimizer
from skopt.utils import expected_minimum

from benchmarks.pools import PoolInstance


class Asked:
    def __init__(self, instance: PoolInstance) -> None:
        self.instance = instance
        sides = [(float(low), float(high)) for low, high in zip(*instance.sides, strict=True)]
        self.package = Optimizer(sides, random_state=instance.seed)
        if instance.finite:
            self.package.acq_optimizer = "sampling"
            self.package.avoid_duplicates = False
            self.package.space.rvs = self.candidates

    def candidates(self, n_samples: int = 1, random_state: Any = None) -> list[list[float]]:
        """All of them where many are asked for, else an even draw."""
        points = self.instance.domain.points
        if n_samples == 1:
            points = points[check_random_state(random_state).randint(len(points), size=1)]
        return [list(row) for row in points]

    def ask(self, t: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            point = np.array(self.package.ask())
        return self.arm(point) if self.instance.finite else point

    def tell(self, move: Any, reward: float) -> None:
        row = self.instance.domain.points[move] if self.instance.finite else move
        self.package.tell([float(x) for x in row], -reward)

    def recommend(self) -> Any:
        if self.instance.finite:
            rows = self.package.space.transform(self.candidates(0))
            return int(self.package.models[-1].predict(rows).argmin())
        point, _ = expected_minimum(self.package.get_result(), random_state=self.instance.seed)
        return np.array(point)

    def arm(self, point: Any) -> int:
        """The candidate it means, told by its coordinates to rounding."""
        return int(((self.instance.domain.points - point) ** 2).sum(1).argmin())


def make(instance: PoolInstance) -> Asked:
    return Asked(instance)
