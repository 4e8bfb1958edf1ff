"""The default of release 0.1 with repeats forbidden, as this version of the package computes it."""

from __future__ import annotations

from collections.abc import Sequence

import kernelbandits as kb
from benchmarks.opponents.default import domain_of
from benchmarks.pools import PoolInstance
from kernelbandits.study.rules import RULE_1


class FirstRelease:
    def __init__(self, instance: PoolInstance) -> None:
        self.instance = instance
        self.policy = kb.Auto(domain_of(instance), goal="earn", **RULE_1)
        self.free = dict.fromkeys(range(len(instance.domain)))

    def ask(self, t: int, pending: Sequence[int]) -> int:
        arms = [arm for arm in self.free if arm not in pending]
        return int(self.policy.ask(t, self.instance.streams, arms=arms).arm)

    def tell(self, move: int, result: float) -> None:
        self.policy.tell(self.policy.choice(move), result)
        self.free.pop(move, None)

    def recommend(self) -> int:
        return int(self.policy.recommend())


def make(instance: PoolInstance) -> FirstRelease:
    return FirstRelease(instance)
