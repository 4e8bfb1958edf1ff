"""Who is ahead, and how surely: paired differences over seeds, ranks with intervals, one number over all problems.

The t intervals and the paired tests are those of the claims; a rank interval holds the places that Holm's procedure
over all pairs of a problem leaves open. Over all problems regret counts as a share of what arms drawn uniformly lose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.experiment import Cell, Results
from kernelbandits.experiment.summary import half_width
from kernelbandits.problems import Instance, MovingInstance
from kernelbandits.report.claims import Comparison, Difference, holm_levels, paired
from kernelbandits.streams import Streams

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("regret", "simple")
"""Cumulative and simple regret."""
ROUNDING = 1e-9
"""Regrets closer than this share of the largest are the same regret."""
RESAMPLES, RESAMPLING_SEED = 2000, 20170117
SHIFT = 1e-3
"""Added to a share before its logarithm is taken, so that a regret of zero stays finite."""

Samples = Mapping[str, Array]
"""policy -> its value on each seed"""


class Estimate(NamedTuple):
    """A number and its 95 % interval, infinite where one seed cannot give it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Standing:
    """A policy on one problem."""

    policy: str
    rank: float
    """Its place by the mean; equal means share the middle of their places."""
    first: int
    """The best place it may hold: 1 + the number of policies surely below it."""
    last: int
    """The worst: n - the number of policies surely above it."""
    mean: Estimate
    behind: Estimate
    """The paired difference to the least mean."""


@dataclass(frozen=True)
class Overall:
    """A policy over all problems."""

    policy: str
    rank: Estimate
    """The mean of its ranks."""
    share: Estimate
    """The geometric mean of its regret as a share of what arms drawn uniformly lose."""


@dataclass(frozen=True)
class Ranking:
    """By kind of curve, "regret" and "simple": the standings of each problem, best first, and those over all."""

    standings: Mapping[str, Mapping[str, tuple[Standing, ...]]]
    overall: Mapping[str, tuple[Overall, ...]]

    @property
    def best(self) -> tuple[str, ...]:
        """The policies by their cumulative regret over all problems."""
        return tuple(row.policy for row in self.overall["regret"])


def ranking_of(results: Results) -> Ranking:
    cells = {cell.problem.name: cell for cell in results.cells}
    lost = {name: uniform_losses(cell) for name, cell in cells.items()}
    samples = {kind: endings_of(results, kind) for kind in KINDS}
    return Ranking(
        {
            kind: {name: standings(mine) for name, mine in by.items()}
            for kind, by in samples.items()
        },
        {
            kind: overall(by, {name: loss[kind] for name, loss in lost.items()})
            for kind, by in samples.items()
        },
    )


def endings_of(results: Results, kind: str) -> dict[str, dict[str, Array]]:
    """problem -> policy -> the curve's last value on each seed"""
    return {
        p.name: {label: getattr(results[p.name, label], kind)[:, -1] for label in results.labels}
        for p in results.problems
    }


def uniform_losses(cell: Cell) -> dict[str, Array]:
    """What arms drawn uniformly lose in expectation on each seed: in all rounds, and in the last one."""
    instances = [cell.problem.instance(Streams(seed)) for seed in cell.seeds]
    gaps = np.array([mean_gaps(instance, cell.horizon) for instance in instances])
    return {"regret": gaps.sum(1), "simple": gaps[:, -1]}


def mean_gaps(instance: Instance, horizon: int) -> Array:
    """max f_t - mean f_t over the arms, for t = 1..T."""
    if isinstance(instance, MovingInstance):
        return np.array([f.max() - f.mean() for f in instance.rounds(horizon)])
    return np.full(horizon, instance.gaps.mean())


def standings(samples: Samples) -> tuple[Standing, ...]:
    """The policies of one problem, the least mean first."""
    ranks = dict(
        zip(
            samples,
            mid_ranks(np.array([values.mean() for values in samples.values()])),
            strict=True,
        )
    )
    best = min(ranks, key=lambda label: ranks[label])
    sure = [d for d in differences(samples) if d.low > 0 or d.high < 0]
    below = [(d.comparison.first, d.comparison.second)[:: 1 if d.high < 0 else -1] for d in sure]
    found = [
        Standing(
            label,
            float(ranks[label]),
            1 + sum(worse == label for _, worse in below),
            len(samples) - sum(better == label for better, _ in below),
            t_estimate(values),
            t_estimate(values - samples[best]),
        )
        for label, values in samples.items()
    ]
    return tuple(sorted(found, key=lambda row: row.rank))


def t_estimate(values: Array) -> Estimate:
    mean, half = float(values.mean()), float(half_width(values))
    return Estimate(mean, mean - half, mean + half)


def differences(samples: Samples) -> list[Difference]:
    """Every pair of policies, with the paired t interval at its level of Holm's procedure."""
    exact = dict(zip(samples, settled(np.array(list(samples.values()))), strict=True))
    pairs = [Comparison("", first, second, "lower") for first, second in combinations(samples, 2)]
    tests = [paired(pair, (exact[pair.first], exact[pair.second], 0.0)) for pair in pairs]
    levels = holm_levels([test.p_value() for test in tests])
    return [test.difference(level) for test, level in zip(tests, levels, strict=True)]


def settled(values: Array) -> Array:
    """To nine digits of the largest: what only rounding tells apart is equal."""
    grid = ROUNDING * float(np.abs(values).max()) or 1.0
    return np.round(values / grid) * grid


def mid_ranks(means: Array) -> Array:
    """1 + the number of smaller ones + half the number of equal others, along the last axis."""
    exact = settled(means)
    mine, others = exact[..., :, None], exact[..., None, :]
    return (others < mine).sum(-1) + ((others == mine).sum(-1) + 1) / 2  # type: ignore[no-any-return]


def overall(samples: Mapping[str, Samples], lost: Mapping[str, Array]) -> tuple[Overall, ...]:
    """The policies over all problems, the least share first; intervals by resampling the seeds, all policies alike."""
    policies = list(next(iter(samples.values())))
    weights = seed_weights(len(next(iter(lost.values()))))
    means = [weights @ np.array([mine[label] for label in policies]).T for mine in samples.values()]
    shares = [
        share_of(mean, weights @ lost[name]) for name, mean in zip(samples, means, strict=True)
    ]
    ranks = np.mean([mid_ranks(mean) for mean in means], axis=0)
    found = zip(policies, ranks.T, geometric_mean(shares).T, strict=True)
    many = weights.shape[1] > 1
    rows = [
        Overall(label, resampled(rank, many), resampled(share, many))
        for label, rank, share in found
    ]
    return tuple(sorted(rows, key=lambda row: row.share.value))


def seed_weights(n: int) -> Array:
    """Rows of weights on n seeds: 1/n on each, and then those of the bootstrap, the same whatever is ranked."""
    drawn = np.random.default_rng(RESAMPLING_SEED).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    return np.vstack([np.ones(n), drawn]) / n


def share_of(means: Array, lost: Array) -> Array:
    """regret / what uniform draws lose; zero where nothing can be lost."""
    return np.divide(means, lost[:, None], out=np.zeros_like(means), where=lost[:, None] > 0)


def geometric_mean(shares: Sequence[Array]) -> Array:
    """exp(mean log(share + shift)) - shift over the problems."""
    return np.exp(np.mean([np.log(share + SHIFT) for share in shares], axis=0)) - SHIFT  # type: ignore[no-any-return]


def resampled(values: Array, many: bool) -> Estimate:
    """The first value and the middle 95 % of the resampled others, which need more than one seed."""
    low, high = np.quantile(values[1:], (0.025, 0.975)) if many else (-math.inf, math.inf)
    return Estimate(float(values[0]), float(low), float(high))


def ranking_frame(ranking: Ranking) -> pd.DataFrame:
    """ranking.csv: a row for each problem and policy, by cumulative regret."""
    import pandas as pd

    simple = {
        (name, row.policy): row
        for name, rows in ranking.standings["simple"].items()
        for row in rows
    }
    return pd.DataFrame(
        {"problem": name, "policy": row.policy}
        | standing_columns("regret", row)
        | standing_columns("simple_regret", simple[name, row.policy])
        for name, rows in ranking.standings["regret"].items()
        for row in rows
    )


def standing_columns(name: str, row: Standing) -> dict[str, str | float]:
    ranks = {"rank": row.rank, "rank_first": row.first, "rank_last": row.last}
    estimates = columns(f"{name}_mean", name, row.mean) | columns(
        f"{name}_behind", f"{name}_behind", row.behind
    )
    return {f"{name}_{key}": value for key, value in ranks.items()} | estimates


def overall_frame(ranking: Ranking) -> pd.DataFrame:
    """ranking-overall.csv: a row for each policy, by its share of cumulative regret."""
    import pandas as pd

    simple = {row.policy: row for row in ranking.overall["simple"]}
    return pd.DataFrame(
        {"policy": row.policy}
        | overall_columns("regret", row)
        | overall_columns("simple_regret", simple[row.policy])
        for row in ranking.overall["regret"]
    )


def overall_columns(name: str, row: Overall) -> dict[str, str | float]:
    rank, share = f"{name}_mean_rank", f"{name}_share"
    return columns(rank, rank, row.rank) | columns(share, share, row.share)


def columns(value: str, ends: str, estimate: Estimate) -> dict[str, str | float]:
    return {value: estimate.value, f"{ends}_low": estimate.low, f"{ends}_high": estimate.high}
