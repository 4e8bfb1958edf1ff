"""What `python -m benchmarks regret` is played on.

The real tables where they are found, pools of 500 candidates and boxes, rewards scaled to [0, 1].
On `DEVELOPMENT` the default was chosen; on `HELD_OUT` nothing was chosen.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import qmc

import kernelbandits as kb
from benchmarks.search import functions, tables
from benchmarks.search.tables import PEROVSKITE, Table
from kernelbandits.catalogue.problems import named_function
from kernelbandits.problems.functions import TestFunction

Array = np.ndarray[Any, np.dtype[np.float64]]

NOISE = 0.05
CANDIDATES = 500
FUNCTIONS = ("holder-table", "cross-in-tray", "ackley4", "hartmann6", "branin", "levy4")
BOX = "-box"
TABLES = tuple(name for name in tables.DEVELOPMENT if name != PEROVSKITE)
"""The other real tables on which the default was chosen."""
DEVELOPMENT = (PEROVSKITE, *FUNCTIONS, *(name + BOX for name in FUNCTIONS), *TABLES)
HELD_OUT = (*tables.HELD_OUT, *functions.HELD_OUT)
"""Tables, and pools of candidates of functions, on which nothing was chosen."""
POOLS = (*HELD_OUT, *DEVELOPMENT)
SAMPLE = 2**16
"""Sobol points whose least reward is the 0 of a box."""
DRAWN_POINTS = 78
"""The column of the streams from which the candidates of a held-out function come."""
RANDOM_MOVES = 77
"""The column of the streams from which random moves come; no purpose of the package has it."""


@dataclass(frozen=True, eq=False)
class PoolInstance:
    """One pool in one seed. A move is the number of an arm, or a point of the box in its own
    units."""

    domain: kb.Arms | kb.Box
    value: Callable[[Any], float]
    """f of a move."""
    optimum: float
    streams: kb.Streams
    noise: float = NOISE
    """The standard deviation of one reward. Nobody is told it."""
    table: Table | None = None
    """The describing columns in their own units, for packages that read them."""

    @property
    def finite(self) -> bool:
        return isinstance(self.domain, kb.Arms)

    @property
    def seed(self) -> int:
        """What packages with a seed of their own get."""
        return self.streams.seed

    def reward(self, move: Any, t: int) -> float:
        """f(move) + noise z_t: z_t belongs to the pool, the seed and the round, whoever plays."""
        return self.value(move) + self.noise * float(self.streams.normal("noise", t, 1)[0])

    def regret(self, move: Any) -> float:
        return self.optimum - self.value(move)

    def random_moves(self, count: int) -> list[Any]:
        """The same even draws for everyone who asks.

        The whole play of one, the first points of others.
        """
        generator = self.streams.generator(RANDOM_MOVES)
        if isinstance(self.domain, kb.Arms):
            return [int(arm) for arm in generator.integers(len(self.domain), size=count)]
        return list(self.natural(generator.random((count, self.domain.dimension))))

    def different_arms(self, count: int) -> list[int]:
        """Random arms without replacement, the same for everyone who asks."""
        assert isinstance(self.domain, kb.Arms)
        order = self.streams.generator(RANDOM_MOVES).permutation(len(self.domain))
        return [int(arm) for arm in order[:count]]

    def natural(self, unit: Array) -> Array:
        """From the unit cube into the box."""
        low, high = self.sides
        inside: Array = np.clip(low + (high - low) * unit, low, high)
        return inside

    @property
    def sides(self) -> tuple[Array, Array]:
        """The lower and the upper corner of the box, or of the unit cube that holds the
        candidates."""
        if isinstance(self.domain, kb.Arms):
            return np.zeros(self.domain.dimension), np.ones(self.domain.dimension)
        return np.array(self.domain.lower), np.array(self.domain.upper)


def build_instance(pool: str, seed: int) -> PoolInstance:
    streams = kb.Streams(zlib.crc32(f"{pool} {seed}".encode()))
    if pool.endswith(BOX):
        return box_instance(pool.removesuffix(BOX), streams)
    if pool in functions.HELD_OUT:
        return sample_instance(functions.FUNCTIONS[pool], streams)
    if pool in (*TABLES, *tables.HELD_OUT):
        return table_instance(tables.load_table(pool), streams)
    return arms_instance(pool, streams)


def arms_instance(name: str, streams: kb.Streams) -> PoolInstance:
    """Measured films or 500 even draws from the unit cube.

    Features and rewards scaled to [0, 1] over them.
    """
    problem = kb.problem(name) if name == PEROVSKITE else kb.problem(name, candidates=CANDIDATES)
    instance = problem.instance(streams)
    points = instance.domain.points
    if name == PEROVSKITE:
        points = (points - points.min(0)) / np.ptp(points, axis=0)
    values = (instance.values - instance.values.min()) / np.ptp(instance.values)
    return PoolInstance(kb.Arms(points), lambda arm: float(values[arm]), 1.0, streams)


def sample_instance(function: TestFunction, streams: kb.Streams) -> PoolInstance:
    """500 even draws from the box of a function, features and rewards scaled to [0, 1]."""
    points = streams.generator(DRAWN_POINTS).random((CANDIDATES, function.dimension))
    values = -function(function.natural(points))
    values = (values - values.min()) / np.ptp(values)
    return PoolInstance(kb.Arms(points), lambda arm: float(values[arm]), 1.0, streams)


def box_instance(name: str, streams: kb.Streams) -> PoolInstance:
    function = named_function(name)
    assert function is not None
    return function_instance(function, streams)


def function_instance(
    function: TestFunction, streams: kb.Streams, noise: float = NOISE
) -> PoolInstance:
    """r(x) = (worst - f(x)) / (worst - min f).

    1 at the known minimum of f, 0 at the worst of the Sobol sample.
    """
    worst = worst_of(function)
    spread = worst - function.minimum

    def value(x: Array) -> float:
        return float((worst - function(np.atleast_2d(x))[0]) / spread)

    return PoolInstance(kb.Box(function.lower, function.upper), value, 1.0, streams, noise)


def table_instance(table: Table, streams: kb.Streams, noise: float = NOISE) -> PoolInstance:
    """The rows of a real table; packages without categories of their own get one-hot columns."""

    def value(arm: int) -> float:
        return float(table.values[arm])

    return PoolInstance(kb.Arms(table.points), value, 1.0, streams, noise, table)


def worst(name: str) -> float:
    function = named_function(name)
    assert function is not None
    return worst_of(function)


@cache
def worst_of(function: TestFunction) -> float:
    """The greatest f among the first 2^16 points of the plain Sobol sequence."""
    points = qmc.Sobol(function.dimension, scramble=False).random(SAMPLE)
    return float(function(function.natural(points)).max())
