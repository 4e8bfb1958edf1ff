"""Randomness as a table: equal arguments, equal numbers; nothing is drawn from anywhere else.

A number belongs to a seed, a purpose and a round, so results depend neither on the order of the calls nor
on the number of workers, and all policies of one seed meet the same noise, weights and ties.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array

PURPOSES = ("problem", "noise", "weight", "tie", "sample")
COLUMN = {purpose: column for column, purpose in enumerate(PURPOSES)}
LEAST_UNIFORM = 2.0**-54
"""The middle of the cell [0, 2^-53) for which a uniform of exactly 0 stands: no quantile of it is infinite."""
BLOCK = 1024
NORMALS = 1 << 17
"""How many normals one block holds at the most (beyond one round)."""


class Randomness(Protocol):
    """What `ask` draws from: `Streams`, or a generator dressed as one."""

    def uniform(self, purpose: str, t: int) -> float: ...
    def normal(self, purpose: str, t: int, n: int) -> Array: ...


@dataclass(frozen=True)
class Streams:
    """Uniforms and normals indexed by (purpose, round), drawn in blocks by Philox from one seed.

    A block of rounds comes from SeedSequence(seed, spawn_key=(purpose, block)); the last block of each
    column is kept, so a look-up in order costs a fraction of a microsecond.
    """

    seed: int
    _uniforms: dict[str, tuple[int, list[float]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _normals: dict[tuple[str, int], tuple[int, Array]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        checks.whole("Streams", "seed", self.seed, least=0)

    def generator(self, *key: int) -> np.random.Generator:
        return np.random.Generator(
            np.random.Philox(np.random.SeedSequence(self.seed, spawn_key=key))
        )

    def uniform(self, purpose: str, t: int) -> float:
        """One number in [0, 1)."""
        if type(t) is not int:
            t = checks.whole("Streams", "t", t, least=0)
        block, row = divmod(t, BLOCK)
        kept = self._uniforms.get(purpose)
        if kept is None or kept[0] != block:
            kept = self._uniforms[purpose] = block, self._uniform_block(purpose, block).tolist()
        return kept[1][row]

    def normal(self, purpose: str, t: int, n: int) -> Array:
        """n standard normals."""
        if type(t) is not int or type(n) is not int or n < 1:
            t, n = checks.whole("Streams", "t", t, least=0), checks.whole("Streams", "n", n)
        block, row = divmod(t, rows_of(n))
        kept = self._normals.get((purpose, n))
        if kept is None or kept[0] != block:
            kept = self._normals[purpose, n] = block, self._normal_block(purpose, block, n)
        normals: Array = kept[1][row]
        return normals

    def uniforms(self, purpose: str, horizon: int) -> Array:
        """The uniforms of rounds 1..horizon at once."""
        blocks = [self._uniform_block(purpose, block) for block in range(horizon // BLOCK + 1)]
        return np.concatenate(blocks)[1 : horizon + 1]

    def normals(self, purpose: str, first: int, last: int, n: int) -> Array:
        """The normals of rounds first..last at once, a row each."""
        rows = rows_of(n)
        begin = first // rows
        blocks = [self._normal_block(purpose, block, n) for block in range(begin, last // rows + 1)]
        return np.concatenate(blocks)[first - begin * rows : last + 1 - begin * rows]

    def _uniform_block(self, purpose: str, block: int) -> Array:
        return self.generator(column_of(purpose), block).random(BLOCK)

    def _normal_block(self, purpose: str, block: int, n: int) -> Array:
        drawn = self.generator(column_of(purpose), block, n).standard_normal((rows_of(n), n))
        drawn.flags.writeable = False
        return drawn


def column_of(purpose: str) -> int:
    return COLUMN[checks.one_of("Streams", "purpose", purpose, PURPOSES)]


def rows_of(n: int) -> int:
    """Rounds in one block of n normals a round."""
    return max(1, min(BLOCK, NORMALS // n))


@dataclass(frozen=True)
class Drawn:
    """A numpy Generator as `Randomness`: each request draws afresh, in the order weight, tie, sample."""

    rng: np.random.Generator

    def uniform(self, purpose: str, t: int) -> float:
        return self.rng.random()

    def normal(self, purpose: str, t: int, n: int) -> Array:
        return self.rng.standard_normal(n)


def as_randomness(rng: Any) -> Randomness:
    if isinstance(rng, Streams):
        return rng
    if isinstance(rng, np.random.Generator):
        return Drawn(rng)
    if isinstance(rng, Drawn):
        return rng
    raise ValueError(f"ask needs a kb.Streams or a numpy Generator, got {rng!r}")
