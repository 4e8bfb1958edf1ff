"""The default of this package for the goal "earn", nothing else given."""

from __future__ import annotations

from typing import Any

import numpy as np

import kernelbandits as kb
from benchmarks.pools import PoolInstance
from kernelbandits.study.candidates import read_candidates


class Default:
    def __init__(self, instance: PoolInstance) -> None:
        self.instance = instance
        self.policy = kb.Auto(domain_of(instance), goal="earn")
        self.choice: Any = None

    def ask(self, t: int) -> Any:
        self.choice = self.policy.ask(t, self.instance.streams)
        return self.choice.arm if self.instance.finite else self.choice.x

    def tell(self, move: Any, reward: float) -> None:
        self.policy.tell(self.choice, reward)

    def recommend(self) -> Any:
        named = self.policy.recommend()
        named = getattr(named, "arm" if self.instance.finite else "x", named)
        return int(named) if self.instance.finite else np.asarray(named)


def domain_of(instance: PoolInstance) -> Any:
    """The coordinates that a study gives the rows of a table."""
    if instance.table is None:
        return instance.domain
    frame = instance.table.frame
    candidates = read_candidates(frame, columns=list(frame.columns))
    return kb.Arms(candidates.points, blocks=candidates.blocks)


def make(instance: PoolInstance) -> Default:
    return Default(instance)
