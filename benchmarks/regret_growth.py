"""How the regret of long games grows: the slope of ln regret in ln T, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

import kernelbandits as kb
from benchmarks.pools import Array
from benchmarks.regret_pairs import BOOTSTRAP_SEED, DRAWS, interval
from benchmarks.regret_rows import LONG, MARKS, ROUNDS, Played

HORIZONS = (ROUNDS, 300, LONG)
"""The rounds after which the regret of a long game is shown."""
PlayedPools = Mapping[str, Mapping[int, Played]]
"""pool -> seed -> what one contestant played."""
STRETCH = math.log(HORIZONS[2] / HORIZONS[1])
"""The difference in ln T over which the slope is taken: early rounds would flatter it."""


@dataclass(frozen=True)
class Growth:
    """The slope of ln regret in ln T, the mean over some problems, and its 95 % interval."""

    exponent: float
    low: float
    high: float
    seeds: Mapping[str, int]
    """How many seeds of each problem were played."""


def regrets_at(rows: Mapping[int, Played]) -> Array:
    """Return the regrets of a problem after each of the three horizons, a column for each seed."""
    places = [MARKS.index(rounds) for rounds in HORIZONS]
    return np.array([[rows[seed].regret[place] for seed in sorted(rows)] for place in places])


def growth_of(played: PlayedPools) -> Growth:
    """Return the mean over the problems of their slopes.

    The slope of a problem is that of its mean regret. Seeds are drawn again problem by problem.
    """
    slopes, drawn = [], []
    for number, rows in enumerate(played.values()):
        late = regrets_at(rows)[1:]
        generator = kb.Streams(BOOTSTRAP_SEED).generator(number)
        picks = generator.integers(late.shape[1], size=(DRAWS, late.shape[1]))
        slopes.append(slope_of(late.mean(1)))
        drawn.append(slope_of(late[:, picks].mean(2)))
    seeds = {pool: len(rows) for pool, rows in played.items()}
    return Growth(float(np.mean(slopes)), *interval(np.mean(drawn, axis=0)), seeds)


def slope_of(late: Array) -> Array:
    """Return the slope of ln regret in ln T, from the mean regrets at the two later horizons."""
    slope: Array = np.log(late[1] / late[0]) / STRETCH
    return slope
