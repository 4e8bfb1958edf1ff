"""Optuna: a study's ask and tell with one of its samplers, on boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

from benchmarks.pools import Array, PoolInstance

optuna.logging.set_verbosity(optuna.logging.WARNING)


class Studied:
    def __init__(self, instance: PoolInstance, sampler: str) -> None:
        made = getattr(optuna.samplers, sampler)(seed=instance.seed)
        self.study = optuna.create_study(direction="maximize", sampler=made)
        sides = enumerate(zip(*instance.sides, strict=True))
        self.space = {
            f"x{column}": FloatDistribution(float(low), float(high))
            for column, (low, high) in sides
        }
        self.trial: Any = None

    def ask(self, t: int) -> Array:
        self.trial = self.study.ask(self.space)
        return self.point(self.trial.params)

    def tell(self, move: Any, reward: float) -> None:
        """A reward of the move that was asked for, or of any other."""
        if self.trial is None:
            values = dict(zip(self.space, map(float, move), strict=True))
            self.study.add_trial(
                create_trial(params=values, distributions=self.space, value=reward)
            )
        else:
            self.study.tell(self.trial, reward)
            self.trial = None

    def recommend(self) -> Array:
        """The best reward seen: it has no model to be asked."""
        return self.point(self.study.best_params)

    def point(self, values: dict[str, float]) -> Array:
        return np.array([values[name] for name in self.space])


def make(instance: PoolInstance, sampler: str) -> Studied:
    return Studied(instance, sampler)
