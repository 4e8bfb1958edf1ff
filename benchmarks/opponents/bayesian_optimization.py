"""bayesian-optimization: its own loop on boxes, its model and acquisition function on pools.

Its default model assumes rewards without noise, and its regret is then twice as large here. So
white noise is added to the kernel by its `set_gp_params`, which helped it more than any alpha
(1e-6, 1e-3, 1e-2 on six pools, four seeds).
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np
from bayes_opt import BayesianOptimization
from bayes_opt.acquisition import AcquisitionFunction, UpperConfidenceBound
from sklearn.gaussian_process.kernels import Matern, WhiteKernel

from benchmarks.pools import Array, PoolInstance

FIRST = 5
"""The init_points of its `maximize`."""


class Suggested:
    def __init__(self, instance: PoolInstance) -> None:
        self.instance = instance
        self.names = [f"x{column}" for column in range(instance.domain.dimension)]
        bounds = dict(zip(self.names, zip(*instance.sides, strict=True), strict=True))
        self.package = BayesianOptimization(
            None, bounds, random_state=instance.seed, verbose=0, allow_duplicate_points=True
        )
        self.package.set_gp_params(kernel=Matern(nu=2.5) + WhiteKernel())
        self.first = instance.random_moves(FIRST)

    def ask(self, t: int) -> Any:
        if t <= FIRST:
            return (
                self.first[t - 1]
                if self.instance.finite
                else self.point(self.package.random_sample()[0])
            )
        if self.instance.finite:
            return self.best_arm(self.package.acquisition_function)
        return self.point(self.package.suggest())

    def tell(self, move: Any, reward: float) -> None:
        row = self.instance.domain.points[move] if self.instance.finite else move
        with redirect_stdout(io.StringIO()):
            self.package.register(dict(zip(self.names, row, strict=True)), reward)

    def recommend(self) -> Any:
        """The greatest mean: its UCB with kappa = 0."""
        mean = UpperConfidenceBound(kappa=0.0)
        if self.instance.finite:
            return self.best_arm(mean)
        state = np.random.RandomState(self.instance.seed)
        return mean.suggest(self.package._gp, self.package.space, random_state=state)

    def best_arm(self, acquisition: AcquisitionFunction) -> int:
        """Its `suggest` with all candidates in the place of random points and searches."""
        acquisition._fit_gp(self.package._gp, self.package.space)
        return int(acquisition._get_acq(self.package._gp)(self.instance.domain.points).argmin())

    def point(self, suggestion: dict[str, Any]) -> Array:
        return np.array([suggestion[name] for name in self.names], dtype=float)


def make(instance: PoolInstance) -> Suggested:
    return Suggested(instance)
