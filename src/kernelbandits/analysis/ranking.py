"""The order of the policies and how certain it is: ranks with intervals, by problem and overall.

Means have t intervals over the seeds. The rank interval of a policy contains the ranks that paired
t tests of all pairs of policies leave possible (Holm's procedure). Over all problems, regret is
measured as a share of what arms drawn uniformly lose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kernelbandits.analysis.claims import (
    Difference,
    PolicyComparison,
    pair_samples,
)
from kernelbandits.checks import Array
from kernelbandits.experiment import Cell, Results
from kernelbandits.experiment.significance import holm_levels
from kernelbandits.experiment.summary import IntervalEstimate, estimate_mean, estimate_regret
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


@dataclass(frozen=True)
class Standing:
    """A policy on one problem."""

    policy: str
    rank: float
    """Its rank by the mean; equal means share the middle of their ranks."""
    first: int
    """The best rank that is possible: 1 + the number of policies shown to be better."""
    last: int
    """The worst rank that is possible: n - the number of policies shown to be worse."""
    mean: IntervalEstimate
    behind: IntervalEstimate
    """The paired difference to the least mean."""


@dataclass(frozen=True)
class Overall:
    """A policy over all problems."""

    policy: str
    rank: IntervalEstimate
    """The mean of its ranks."""
    share: IntervalEstimate
    """The geometric mean of its regret as a share of what arms drawn uniformly lose."""


@dataclass(frozen=True)
class Ranking:
    """Kind of regret ("regret", "simple") -> standings on each problem and overall, best first.

    `ranking_of` returns it.

    >>> import kernelbandits as kb
    >>> from kernelbandits.analysis import ranking_of
    >>> settings = {"engine": "numpy", "noise_scale": 0.01, "horizon": 30, "seeds": 5}
    >>> ranking = ranking_of(kb.run_experiment("branin", ["random", "simple-ucb"], **settings))
    >>> ranking.best
    ('Simple-UCB', 'Uniform random')
    >>> [row.rank for row in ranking.standings["regret"]["branin"]]
    [1.0, 2.0]
    """

    standings: Mapping[str, Mapping[str, tuple[Standing, ...]]]
    """Kind of regret -> problem -> its policies, best first."""
    overall: Mapping[str, tuple[Overall, ...]]
    """Kind of regret -> the policies over all problems, best first."""

    @property
    def best(self) -> tuple[str, ...]:
        """The policies by their cumulative regret over all problems."""
        return tuple(row.policy for row in self.overall["regret"])


def ranking_of(results: Results) -> Ranking:
    """Rank the policies of an experiment, on each problem and over all of them.

    `ranking.standings["regret"][problem]` has the policies of one problem, best first, and
    `ranking.overall["regret"]` those over all problems; "simple" is for simple regret.

    >>> import kernelbandits as kb
    >>> from kernelbandits.analysis import ranking_of
    >>> settings = {"engine": "numpy", "noise_scale": 0.01, "horizon": 30, "seeds": 5}
    >>> results = kb.run_experiment("branin", ["random", "simple-ucb"], **settings)
    >>> best, other = ranking_of(results).standings["regret"]["branin"]
    >>> best.policy, best.mean.value < other.mean.value
    ('Simple-UCB', True)
    """
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
    """Return problem -> policy -> the curve's last value on each seed."""
    return {
        p.name: {label: getattr(results[p.name, label], kind)[:, -1] for label in results.labels}
        for p in results.problems
    }


def uniform_losses(cell: Cell) -> dict[str, Array]:
    """Return what uniform draws lose on each seed, expected: in all rounds, and in the last one."""
    instances = [cell.problem.instance(Streams(seed)) for seed in cell.seeds]
    gaps = np.array([instance.mean_losses(cell.horizon) for instance in instances])
    return {"regret": gaps.sum(1), "simple": gaps[:, -1]}


def standings(samples: Samples) -> tuple[Standing, ...]:
    """Return the policies of one problem, the least mean first."""
    means = np.array([values.mean() for values in samples.values()])
    ranks = dict(zip(samples, mid_ranks(means), strict=True))
    best = min(ranks, key=lambda label: ranks[label])
    ordered = ordered_pairs(differences(samples))
    found = [
        Standing(
            label,
            float(ranks[label]),
            1 + sum(worse == label for _, worse in ordered),
            len(samples) - sum(better == label for better, _ in ordered),
            estimate_regret(values),
            estimate_mean(values - samples[best]),
        )
        for label, values in samples.items()
    ]
    return tuple(sorted(found, key=lambda row: row.rank))


def ordered_pairs(found: Sequence[Difference]) -> list[tuple[str, str]]:
    """Return (better, worse) of the pairs whose interval excludes zero."""
    better_first = [(d.comparison.first, d.comparison.second) for d in found if d.high < 0]
    worse_first = [(d.comparison.second, d.comparison.first) for d in found if d.low > 0]
    return better_first + worse_first


def differences(samples: Samples) -> list[Difference]:
    """Compare every pair of policies by a paired t interval at its level of Holm's procedure."""
    exact = dict(zip(samples, round_equal(np.array(list(samples.values()))), strict=True))
    pairs = [PolicyComparison("", a, b, "lower") for a, b in combinations(samples, 2)]
    tests = [pair_samples(pair, (exact[pair.first], exact[pair.second], 0.0)) for pair in pairs]
    levels = holm_levels([test.p_value() for test in tests])
    return [test.difference(level) for test, level in zip(tests, levels, strict=True)]


def round_equal(values: Array) -> Array:
    """Round to nine digits of the largest, so that values that differ by rounding are equal."""
    grid = ROUNDING * float(np.abs(values).max()) or 1.0
    return np.round(values / grid) * grid


def mid_ranks(means: Array) -> Array:
    """Rank along the last axis: 1 + the number of smaller ones + half that of equal others."""
    exact = round_equal(means)
    mine, others = exact[..., :, None], exact[..., None, :]
    smaller, equal = (others < mine).sum(-1), (others == mine).sum(-1)
    return np.asarray(smaller + (equal + 1) / 2, dtype=np.float64)


def overall(samples: Mapping[str, Samples], lost: Mapping[str, Array]) -> tuple[Overall, ...]:
    """Return the policies over all problems, the least share first.

    The intervals come from resampling the seeds, the same ones for all policies.
    """
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
        Overall(label, bootstrap_estimate(rank, many), bootstrap_estimate(share, many))
        for label, rank, share in found
    ]
    return tuple(sorted(rows, key=lambda row: row.share.value))


def seed_weights(n: int) -> Array:
    """Return rows of weights on n seeds: first 1/n on each, then those of bootstrap resamples.

    They depend on n only, so a policy has the same interval whoever else is compared.
    """
    drawn = np.random.default_rng(RESAMPLING_SEED).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    return np.vstack([np.ones(n), drawn]) / n


def share_of(means: Array, lost: Array) -> Array:
    """Return regret / what uniform draws lose; zero where nothing can be lost."""
    return np.divide(means, lost[:, None], out=np.zeros_like(means), where=lost[:, None] > 0)


def geometric_mean(shares: Sequence[Array]) -> Array:
    """Return the geometric mean over the problems, shifted so that zeros are allowed.

    exp(mean log(share + shift)) - shift
    """
    logs = np.mean([np.log(share + SHIFT) for share in shares], axis=0)
    return np.asarray(np.maximum(np.exp(logs) - SHIFT, 0.0), dtype=np.float64)


def bootstrap_estimate(values: Array, many: bool) -> IntervalEstimate:
    """Return the first value, and the middle 95 % of the resampled ones.

    The latter need several seeds.
    """
    low, high = np.quantile(values[1:], (0.025, 0.975)) if many else (0.0, math.inf)
    return IntervalEstimate(float(values[0]), float(low), float(high))


def ranking_frame(ranking: Ranking) -> pd.DataFrame:
    """Return ranking.csv: a row for each problem and policy, by cumulative regret."""
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
    """Return ranking-overall.csv: a row for each policy, by its share of cumulative regret."""
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


def columns(value: str, ends: str, estimate: IntervalEstimate) -> dict[str, str | float]:
    return {value: estimate.value, f"{ends}_low": estimate.low, f"{ends}_high": estimate.high}
