"""What the finished games say.

Means, paired ratios with bootstrap intervals, seconds. Arithmetic only.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import kernelbandits as kb
from benchmarks.pools import Array
from benchmarks.regret_rows import ROUNDS, Played

DRAWS = 2000
LEVEL = 0.95
BOOTSTRAP_SEED = 5
Games = Mapping[str, Mapping[str, Mapping[int, Played]]]
"""contestant -> pool -> seed -> what was played."""


@dataclass(frozen=True)
class Ratio:
    """A quotient of mean regrets and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Pair:
    """Ours against one rival on the pools and seeds that both have played."""

    rival: str
    seeds: Mapping[str, int]
    """How many seeds of each pool both have."""
    ours: float
    """Geometric mean over the pools of the mean regrets."""
    theirs: float
    ratio: Ratio
    """ours / theirs: 0.8 is a regret 20 % lower."""
    by_pool: Mapping[str, Ratio]

    @property
    def worst(self) -> tuple[str, Ratio]:
        """The pool on which ours does worst against this rival."""
        return max(self.by_pool.items(), key=lambda item: item[1].value)


def games_of(rows: Iterable[Played], rounds: int = ROUNDS) -> Games:
    """Those of one length; a later row of the same game takes the place of an earlier one."""
    games: dict[str, dict[str, dict[int, Played]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if row.rounds == rounds:
            games[row.contestant][row.pool][row.seed] = row
    return games


def pair(games: Games, ours: str, rival: str) -> Pair | None:
    """None where they have no game in common."""
    regrets = {pool: common(games, ours, rival, pool) for pool in games[ours]}
    regrets = {pool: both for pool, both in regrets.items() if both.shape[1]}
    if not regrets:
        return None
    drawn = {
        pool: resample_means(both, number) for number, (pool, both) in enumerate(regrets.items())
    }
    means = np.log([both.mean(1) for both in regrets.values()]).mean(0)
    overall = np.exp(np.mean([np.log(one) for one in drawn.values()], axis=0))
    by_pool = {pool: ratio_of(both, drawn[pool]) for pool, both in regrets.items()}
    value = math.exp(means[0] - means[1])
    seeds = {pool: both.shape[1] for pool, both in regrets.items()}
    ours_mean, theirs_mean = np.exp(means)
    return Pair(
        rival,
        seeds,
        float(ours_mean),
        float(theirs_mean),
        Ratio(value, *interval(overall)),
        by_pool,
    )


def common(games: Games, ours: str, rival: str, pool: str) -> Array:
    """Regrets in the last round, ours above theirs, a column for each seed that both have."""
    mine, other = games[ours].get(pool, {}), games[rival].get(pool, {})
    seeds = sorted(set(mine) & set(other))
    return np.array([[game[seed].regret[-1] for seed in seeds] for game in (mine, other)])


def resample_means(both: Array, number: int) -> Array:
    """Quotients of means over seeds drawn with replacement, the two regrets of a seed together."""
    generator = kb.Streams(BOOTSTRAP_SEED).generator(number)
    picks = generator.integers(both.shape[1], size=(DRAWS, both.shape[1]))
    ours, theirs = both[:, picks].mean(2)
    quotients: Array = ours / theirs
    return quotients


def ratio_of(both: Array, drawn: Array) -> Ratio:
    ours, theirs = both.mean(1)
    return Ratio(float(ours / theirs), *interval(drawn))


def interval(drawn: Array) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def mean_and_error(numbers: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error; no error is known of one number."""
    array = np.array(numbers)
    error = array.std(ddof=1) / math.sqrt(len(array)) if len(array) > 1 else math.nan
    return float(array.mean()), float(error)


def geometric_mean(numbers: Sequence[float]) -> float:
    return float(np.exp(np.log(numbers).mean()))
