"""Optuna on boxes. Its samplers propose values of parameters one by one or points of a product of
ranges; they cannot be restricted to the rows of a table, and the number of a row as a category
would hide the columns from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.opponents import optuna_samplers
from benchmarks.pools import Array, PoolInstance


class Studied:
    def __init__(self, instance: PoolInstance, sampler: str) -> None:
        self.study = optuna_samplers.make(instance, sampler)

    def ask(self, t: int, pending: Sequence[Any]) -> Array:
        return self.study.ask(t)

    def tell(self, move: Any, result: float) -> None:
        self.study.tell(move, result)

    def recommend(self) -> Array:
        return self.study.recommend()


def make(instance: PoolInstance, sampler: str) -> Studied:
    return Studied(instance, sampler)
