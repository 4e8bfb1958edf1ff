"""The laws of the rounds 1..T, each distinct law with the number of its rounds.

Discrete laws stand in tables, the others one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.exploration import Bernoulli, Law
from kernelbandits.exploration.tails import least_trusted_tail
from kernelbandits.theory.maxima import ContinuousLaw, Rows


@dataclass(frozen=True)
class LawTable:
    """Discrete laws with the same number of values, a row each; a value of 0 may be left out."""

    values: Array
    chances: Array
    counts: Array
    """How many rounds have the law of each row."""

    @cached_property
    def optimism(self) -> Array:
        """C1 = P(w >= 1)"""
        return np.minimum(self._mean((self.values >= 1).astype(float)), 1.0)

    @property
    def mean_abs(self) -> Array:
        return self._mean(abs(self.values))

    @property
    def expectation(self) -> Array:
        return self._mean(self.values)

    def _mean(self, numbers: Array) -> Array:
        return np.asarray(np.einsum("ij,ij->i", self.chances, numbers))

    def absolute(self, scale: Array) -> Rows:
        """Return the variables scale |w|."""
        return scale[:, None] * abs(self.values), self.chances, self.counts

    def excess(self, scale: Array) -> Rows:
        """Return the variables scale (w - E w)^+."""
        return scale[:, None] * (self.values - self.expectation[:, None]), self.chances, self.counts


@dataclass(frozen=True)
class Single:
    """A law that is not discrete, and the number of rounds that have it."""

    law: Law
    count: int

    @cached_property
    def optimism(self) -> Array:
        return np.array([self.law.optimism])

    @cached_property
    def mean_abs(self) -> Array:
        return np.array([self.law.mean_abs])

    @cached_property
    def least_tail(self) -> float:
        return least_trusted_tail(self.law.tail)

    def absolute(self, scale: Array) -> ContinuousLaw:
        """Return the variable scale |w|."""
        factor = float(scale[0])
        atoms = tuple(factor * abs(value) for value in self.law.atoms)
        return ContinuousLaw(
            float(self.count), lambda u: self.law.tail_abs(u / factor), atoms, self.least_tail
        )

    def excess(self, scale: Array) -> ContinuousLaw:
        """Return the variable scale (w - E w)^+."""
        factor, middle = float(scale[0]), self.law.expectation
        atoms = tuple(factor * (value - middle) for value in self.law.atoms)
        return ContinuousLaw(
            float(self.count), lambda u: self.law.tail(middle + u / factor), atoms, self.least_tail
        )


Laws = list[LawTable | Single]


def tabulate_laws(counts: Mapping[Law, int]) -> Laws:
    """Put the laws whose values can be listed into tables."""
    coins = [(law.p, count) for law, count in counts.items() if isinstance(law, Bernoulli)]
    rows: dict[int, list[tuple[Any, Any, int]]] = defaultdict(list)
    found: Laws = [bernoulli_table(*np.array(coins, dtype=float).T)] if coins else []
    for law, count in () if len(coins) == len(counts) else counts.items():
        masses = law.masses
        if masses is None:
            found.append(Single(law, count))
        elif not isinstance(law, Bernoulli):
            rows[len(masses[0])].append((*masses, count))
    columns = (zip(*group, strict=True) for group in rows.values())
    return [
        *found,
        *(LawTable(*(np.array(column, dtype=float) for column in table)) for table in columns),
    ]


def bernoulli_table(p: Array, counts: Array | float = 1.0) -> LawTable:
    """Return Ber(p_1), Ber(p_2), ... as a table.

    The value w = 0 is left out, because it changes neither a maximum nor a mean.
    """
    return LawTable(np.broadcast_to(1.0, (len(p), 1)), p[:, None], np.broadcast_to(counts, p.shape))
