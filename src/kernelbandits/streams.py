"""Randomness as a table: a number is determined by a seed, a purpose and a round.

Equal arguments give equal numbers, and nothing is drawn from anywhere else. So results depend
neither on the order of the calls nor on the number of workers, and all policies with one seed see
the same noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array

# The position of a purpose is part of the key of its numbers: append new purposes at the end, and
# never reorder them, or every stored result changes.
PURPOSES = ("problem", "noise", "weight", "tie", "sample")
COLUMN = {purpose: column for column, purpose in enumerate(PURPOSES)}
LEAST_UNIFORM = 2.0**-54
"""Used in place of a uniform of exactly 0, so that no quantile is infinite.

A uniform is a multiple of 2^-53; a 0 stands for the cell [0, 2^-53), and this is its middle.
"""
# Making a numpy generator costs 11 to 17 microseconds, as much as a whole round with 50 arms.
# So numbers are drawn for a block of rounds at a time. The size is part of the key: keep it.
BLOCK = 1024
"""Rounds in one block of uniforms."""
NORMALS = 1 << 17
"""The most normals in one block, unless one round needs more."""


class Randomness(Protocol):
    """What `ask` draws from: `Streams`, or a numpy generator wrapped by `as_randomness`.

    >>> import numpy as np
    >>> from kernelbandits.streams import Randomness
    >>> class Halves:
    ...     def uniform(self, purpose, t):
    ...         return 0.5
    ...
    ...     def normal(self, purpose, t, n):
    ...         return np.zeros(n)
    >>> source: Randomness = Halves()
    >>> source.uniform("tie", 1), source.normal("sample", 1, 2)
    (0.5, array([0., 0.]))
    """

    def uniform(self, purpose: str, t: int) -> float: ...
    def normal(self, purpose: str, t: int, n: int) -> Array: ...


@dataclass(frozen=True)
class Streams:
    """A table of random numbers, indexed by purpose and round.

    Give it to `policy.ask(t, streams)`. The purposes are "problem", "noise", "weight", "tie" and
    "sample". Two tables with the same seed are equal, and looking a number up changes nothing.

    A block of rounds comes from SeedSequence(seed, spawn_key=(purpose, block)) by Philox. The last
    block of each purpose is kept, so looking numbers up in order costs a fraction of a microsecond.

    >>> from kernelbandits import Streams
    >>> streams = Streams(seed=1)
    >>> streams.uniform("noise", 7) == Streams(1).uniform("noise", 7)
    True
    >>> streams.uniform("noise", 7) == streams.uniform("tie", 7)
    False
    >>> streams.normal("sample", 1, 3).shape
    (3,)
    """

    seed: int
    """A whole number >= 0."""
    _uniforms: dict[str, tuple[int, list[float]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _normals: dict[tuple[str, int], tuple[int, Array]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        checks.whole("Streams", "seed", self.seed, least=0)

    def generator(self, *key: int) -> np.random.Generator:
        """Return a new numpy generator that is determined by the seed and the key."""
        return np.random.Generator(
            np.random.Philox(np.random.SeedSequence(self.seed, spawn_key=key))
        )

    def uniform(self, purpose: str, t: int) -> float:
        """Return one number in [0, 1)."""
        # Looked up in every round: a plain int, the usual case, is checked by its type alone.
        if type(t) is not int:
            t = checks.whole("Streams", "t", t, least=0)
        block, row = divmod(t, BLOCK)
        kept = self._uniforms.get(purpose)
        if kept is None or kept[0] != block:
            kept = self._uniforms[purpose] = block, self._uniform_block(purpose, block).tolist()
        return kept[1][row]

    def normal(self, purpose: str, t: int, n: int) -> Array:
        """Return n standard normal numbers as a read-only array."""
        if type(t) is not int or type(n) is not int or n < 1:
            t, n = checks.whole("Streams", "t", t, least=0), checks.whole("Streams", "n", n)
        block, row = divmod(t, rows_of(n))
        kept = self._normals.get((purpose, n))
        if kept is None or kept[0] != block:
            kept = self._normals[purpose, n] = block, self._normal_block(purpose, block, n)
        normals: Array = kept[1][row]
        return normals

    def uniforms(self, purpose: str, horizon: int, first: int = 1) -> Array:
        """Return the uniforms of rounds first..horizon as an array."""
        begin = first // BLOCK
        numbers = range(begin, max(horizon // BLOCK, begin) + 1)
        blocks = [self._uniform_block(purpose, block) for block in numbers]
        return np.concatenate(blocks)[first - begin * BLOCK : horizon + 1 - begin * BLOCK]

    def normals(self, purpose: str, first: int, last: int, n: int) -> Array:
        """Return the normals of rounds first..last, one row of n numbers for each round."""
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
    """Return the number of a purpose, checked.

    >>> from kernelbandits.streams import column_of
    >>> column_of("problem"), column_of("sample")
    (0, 4)
    """
    return COLUMN[checks.one_of("Streams", "purpose", purpose, PURPOSES)]


def rows_of(n: int) -> int:
    """Return the number of rounds in one block, if each round has n normals.

    >>> from kernelbandits.streams import rows_of
    >>> rows_of(1), rows_of(1000), rows_of(10**6)
    (1024, 131, 1)
    """
    return max(1, min(BLOCK, NORMALS // n))


@dataclass(frozen=True)
class GeneratorRandomness:
    """A numpy Generator as `Randomness`: purpose and round are ignored, every call draws anew.

    Policies draw in the order weight, tie, sample.

    >>> import numpy as np
    >>> from kernelbandits.streams import GeneratorRandomness
    >>> randomness = GeneratorRandomness(np.random.default_rng(0))
    >>> randomness.uniform("tie", 1) == randomness.uniform("tie", 1)
    False
    """

    rng: np.random.Generator
    """It is changed by every draw."""

    def uniform(self, purpose: str, t: int) -> float:
        return self.rng.random()

    def normal(self, purpose: str, t: int, n: int) -> Array:
        return self.rng.standard_normal(n)


@dataclass(frozen=True)
class ShiftedRounds:
    """Random numbers for a policy that counts its rounds from a later round of the game on.

    >>> from kernelbandits.streams import ShiftedRounds, Streams
    >>> later = ShiftedRounds(Streams(0), by=100)
    >>> later.uniform("tie", 1) == Streams(0).uniform("tie", 101)
    True
    """

    randomness: Randomness
    """The random numbers of the game."""
    by: int
    """How many rounds were played before the first round of the policy."""

    def uniform(self, purpose: str, t: int) -> float:
        """Return the uniform number of its round t."""
        return self.randomness.uniform(purpose, t + self.by)

    def normal(self, purpose: str, t: int, n: int) -> Array:
        """Return the n standard normal numbers of its round t."""
        return self.randomness.normal(purpose, t + self.by, n)


def as_randomness(rng: Any) -> Randomness:
    """Return `Streams` unchanged, and wrap a numpy Generator.

    >>> import numpy as np
    >>> from kernelbandits.streams import Streams, as_randomness
    >>> as_randomness(Streams(0)) == Streams(0)
    True
    >>> type(as_randomness(np.random.default_rng(0))).__name__
    'GeneratorRandomness'
    """
    if isinstance(rng, (Streams, ShiftedRounds)):
        return rng
    if isinstance(rng, np.random.Generator):
        return GeneratorRandomness(rng)
    if isinstance(rng, GeneratorRandomness):
        return rng
    hint = f"; try kb.Streams({rng})" if checks.is_whole(rng) else ""
    raise ValueError(f"ask needs a kb.Streams or a numpy Generator, got {rng!r}{hint}")
