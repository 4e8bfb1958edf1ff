"""The default of this package for the goal "find": what a study plays when nothing is given."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

import kernelbandits as kb
from benchmarks.opponents.default import domain_of
from benchmarks.pools import PoolInstance

HAS_GOAL = "goal" in inspect.signature(kb.Auto).parameters
"""Without the goal, repeats are forbidden from here."""


class Default:
    def __init__(self, instance: PoolInstance) -> None:
        self.instance = instance
        self.policy = kb.Auto(domain_of(instance), **({"goal": "find"} if HAS_GOAL else {}))
        self.choices: dict[Any, kb.Choice] = {}
        self.measured: set[int] = set()

    def ask(self, t: int, pending: Sequence[Any]) -> Any:
        waiting = [self.choices[key_of(move)] for move in pending]
        allowed = None if HAS_GOAL or not self.instance.finite else self.unmeasured(pending)
        choice = self.policy.ask(t, self.instance.streams, pending=waiting, arms=allowed)
        move = choice.arm if self.instance.finite else choice.x
        self.choices[key_of(move)] = choice
        return move

    def tell(self, move: Any, result: float) -> None:
        self.policy.tell(self.choices.get(key_of(move)) or self.choice_of(move), result)
        if self.instance.finite:
            self.measured.add(move)

    def choice_of(self, move: Any) -> kb.Choice:
        """For results of places that it was not asked for."""
        return self.policy.choice(move) if self.instance.finite else kb.Choice(x=move)

    def recommend(self) -> Any:
        best = self.policy.recommend()
        return int(best) if self.instance.finite else np.asarray(best)

    def unmeasured(self, pending: Sequence[int]) -> list[int]:
        taken = self.measured.union(pending)
        rest = [arm for arm in range(len(self.instance.domain)) if arm not in taken]
        return rest or list(range(len(self.instance.domain)))


def key_of(move: Any) -> Any:
    return tuple(np.ravel(move).tolist())


def make(instance: PoolInstance) -> Default:
    return Default(instance)
