"""What the bound says of exploration laws against what they do: the same problems, seeds, noise and ties for all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.experiment.cells import Contender
from kernelbandits.experiment.runner import Results, Watcher, run_experiment
from kernelbandits.experiment.summary import half_width
from kernelbandits.experiment.workers import Mapper
from kernelbandits.kernels import RBF
from kernelbandits.problems import Problem
from kernelbandits.theory.designer import RatedLaw

SAME = 1e-7
"""Values closer than this share of the largest have the same rank."""


CLEAR = 0.5
"""A correlation of ranks that counts as a tendency."""


class Interval(NamedTuple):
    """A mean over the seeds and its 95 % t interval, infinite for one seed."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class PlayedLaw:
    """A law on one problem: what the bound expected of it, and what it did."""

    rated: RatedLaw
    regret: Interval
    """The cumulative regret after all rounds."""
    behind: Interval
    """Its regret less that of the first law, seed by seed."""
    rank_by_factor: float
    rank_by_regret: float


@dataclass(frozen=True)
class Comparison:
    """All laws on one problem."""

    problem: str
    title: str
    laws: tuple[PlayedLaw, ...]
    correlation: float
    """Of the ranks by factor and by mean regret (Spearman): 1 where the bound orders the laws rightly."""
    by_seed: Interval
    """The same for the regrets of single seeds, its interval cut to [-1, 1]."""
    with_mean_abs: float
    """The correlation of the ranks by E|w| and by mean regret: above 0 those who explored less lost less."""

    @property
    def sentence(self) -> str:
        """Whether the bound orders the laws as they do."""
        first, best = min(self.laws, key=by_factor), min(self.laws, key=by_regret)
        ranks = f"rank correlation with regret: factor {self.correlation:+.2f}, E|w| {self.with_mean_abs:+.2f}"
        bound = f"Least factor: {first.rated.name}, {first.rank_by_regret:g} of {len(self.laws)} by regret."
        found = f"Least regret: {best.rated.name}, {best.rank_by_factor:g} by factor."
        return f"{self.title}: over {len(self.laws)} laws the bound {self.tendency} ({ranks}). {bound} {found}"

    @property
    def tendency(self) -> str:
        """A few laws show no more than a tendency."""
        clear = abs(self.correlation) >= CLEAR
        return (
            f"tends to {'agree' if self.correlation > 0 else 'disagree'}"
            if clear
            else "says little"
        )


def by_factor(law: PlayedLaw) -> float:
    return law.rank_by_factor


def by_regret(law: PlayedLaw) -> float:
    return law.rank_by_regret


def compare(
    laws: Iterable[RatedLaw],
    problems: Iterable[str | Problem] | str | Problem,
    *,
    kernel: Any = RBF(0.2),  # noqa: B008
    horizon: int = 1000,
    seeds: int | Iterable[int] = 25,
    delta: float = 0.5,
    engine: str = "auto",
    mapper: Mapper = map,
    folder: Path | str | None = None,
    watch: Watcher | None = None,
    **settings: Any,
) -> tuple[Comparison, ...]:
    """Generic-GP with each law on each problem; the first law is the one the others are compared with.

    `settings` are noise_scale, norm_bound, ridge and ties. The paper plays with delta = 1/2; the repaired bound is
    proved for 1 / (2 D T).
    """
    rated = tuple(laws)
    for law in rated:
        checks.needs(isinstance(law, RatedLaw), "compare", "rated laws (theory.designer.rate)", law)
    checks.needs(len(rated) >= 2, "compare", "at least two laws", len(rated))
    results = run_experiment(
        problems,
        [
            Contender(law.name, "generic-gp", {"exploration": law.law, "delta": delta})
            for law in rated
        ],
        kernel=kernel,
        horizon=horizon,
        seeds=seeds,
        engine=engine,
        mapper=mapper,
        folder=folder,
        watch=watch,
        **settings,
    )
    return tuple(compared(results, problem, rated) for problem in results.problems)


def compared(results: Results, problem: Problem, laws: Sequence[RatedLaw]) -> Comparison:
    """Regrets into ranks, differences and one correlation."""
    regrets = np.array([results[problem.name, law.name].regret[:, -1] for law in laws])
    factors, explored = (
        ranks(np.array(row))
        for row in zip(*((law.factor, law.mean_abs) for law in laws), strict=True)
    )
    placed = ranks(regrets.mean(1))
    seeds = np.array([correlation(factors, ranks(column)) for column in regrets.T])
    rows = zip(laws, regrets, factors, placed, strict=True)
    played = tuple(
        PlayedLaw(law, interval(mine), interval(mine - regrets[0]), float(bound), float(place))
        for law, mine, bound, place in rows
    )
    agreement = correlation(factors, placed), cut(interval(seeds)), correlation(explored, placed)
    return Comparison(problem.name, problem.title, played, *agreement)


def interval(samples: Array) -> Interval:
    mean, half = float(samples.mean()), float(half_width(samples))
    return Interval(mean, mean - half, mean + half)


def cut(found: Interval) -> Interval:
    """The part in [-1, 1], where correlations are."""
    return Interval(found.mean, max(found.low, -1.0), min(found.high, 1.0))


def ranks(values: Array) -> Array:
    """1 + the number of smaller ones + half the number of equal others."""
    same = SAME * float(np.abs(values).max())
    gaps = values[:, None] - values
    return np.asarray(
        (gaps > same).sum(1) + ((np.abs(gaps) <= same).sum(1) + 1) / 2, dtype=np.float64
    )


def correlation(first: Array, second: Array) -> float:
    """Pearson's of two rankings; zero where one of them tells nothing apart."""
    a, b = first - first.mean(), second - second.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size else 0.0
