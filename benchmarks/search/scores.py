"""What the finished searches say: scores, paired ratios, comparisons with random rows. Arithmetic
only.

    search score = mean over tables of the mean over seeds of the mean over t of simple regret

with t = 10, 20, 30, 40. Two contestants are compared on the tables and seeds that both have.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, ttest_1samp

import kernelbandits as kb
from benchmarks.regret_pairs import BOOTSTRAP_SEED, DRAWS, Ratio, interval
from benchmarks.search.contestants import RANDOM
from benchmarks.search.rows import Searched
from benchmarks.search.tables import Array
from benchmarks.search.tasks import MARKS, SCORED

MEASURED, RECOMMENDED = "measured", "recommended"
FLOOR = 1e-4
"""Regret on a box below this share of the range counts as this."""
UPPER = 0.9
"""The level of the upper limits of ratios."""
FAMILY_LEVEL = 0.05
"""The level of Holm's procedure over the tables of a group."""

Searches = Mapping[str, Mapping[str, Mapping[int, Searched]]]
"""contestant -> task -> seed -> what was found."""


def select(
    rows: Iterable[Searched], names: Sequence[str], noise: float, batch: int = 1
) -> Searches:
    """The searches on some tables or boxes under one noise."""
    found: dict[str, dict[str, dict[int, Searched]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if row.task in names and row.noise == noise and row.batch == batch:
            found[row.contestant][row.task][row.seed] = row
    return found


def has_rivals_of_random(searches: Searches) -> bool:
    """Whether anybody but random rows has played: random alone is compared with nobody."""
    return any(name != RANDOM for name in searches)


def regret_of(row: Searched, kind: str, mark: int | None = None) -> float:
    """Return it averaged over the scored marks, or at one mark by its place."""
    values: tuple[float, ...] = getattr(row, kind)
    if mark is not None:
        return values[mark]
    return sum(values[MARKS.index(scored)] for scored in SCORED) / len(SCORED)


@dataclass(frozen=True)
class Score:
    """A mean over tables, and its standard error from the spread over seeds."""

    value: float
    error: float
    """NaN where a table has one seed only."""
    tables: int
    seeds: tuple[int, int]
    """The least and the greatest number of seeds of a table."""


def score_of(searches: Searches, name: str, kind: str, mark: int | None = None) -> Score | None:
    """None where it has not played."""
    tables = [
        np.array([regret_of(row, kind, mark) for row in seeds.values()])
        for seeds in searches.get(name, {}).values()
    ]
    if not tables:
        return None
    variances = [table.var(ddof=1) / len(table) if len(table) > 1 else math.nan for table in tables]
    counts = [len(table) for table in tables]
    return Score(
        float(np.mean([table.mean() for table in tables])),
        math.sqrt(sum(variances)) / len(tables),
        len(tables),
        (min(counts), max(counts)),
    )


def pair_up(
    searches: Searches, ours: str, rival: str, kind: str, mark: int | None = None
) -> dict[str, Array]:
    """For each table that both have the regrets, ours above theirs, a column for each seed."""
    paired = {}
    for task, mine in searches.get(ours, {}).items():
        other = searches.get(rival, {}).get(task, {})
        seeds = sorted(set(mine) & set(other))
        if seeds:
            paired[task] = np.array(
                [[regret_of(rows[seed], kind, mark) for seed in seeds] for rows in (mine, other)]
            )
    return paired


@dataclass(frozen=True)
class Comparison:
    """Ours against a rival on the tables and seeds that both have."""

    rival: str
    ours: float
    theirs: float
    ratio: Ratio
    """Of the search scores; below 1 ours finds more."""
    upper: float
    """The upper 90 % limit of the ratio with errors over seeds, on these tables. NaN where a table
    has one seed."""
    seed_error: float
    """The standard error of the ratio over seeds, on these tables."""
    table_error: float
    """The standard error of the ratio over tables and seeds."""
    games: int
    """The games of each that are compared."""
    last: float
    """Our regret minus theirs at the last mark."""
    last_error: float
    tables: int
    seeds: tuple[int, int]


def compare(searches: Searches, ours: str, rival: str, kind: str) -> Comparison | None:
    """None where they have no search in common."""
    paired = pair_up(searches, ours, rival, kind)
    if not paired:
        return None
    means = np.array([both.mean(1) for both in paired.values()]).mean(0)
    both_scores = list(paired.values())
    drawn = resample_ratios(both_scores)
    fixed = resample_ratios(both_scores, other_tables=False)
    at_end = [both[0] - both[1] for both in pair_up(searches, ours, rival, kind, -1).values()]
    errors = [gap.var(ddof=1) / len(gap) if len(gap) > 1 else math.nan for gap in at_end]
    counts = [both.shape[1] for both in both_scores]
    # The seeds of a table with one seed have no spread, which is not to be taken for no error.
    spread = min(counts) > 1
    return Comparison(
        rival,
        float(means[0]),
        float(means[1]),
        Ratio(quotient(means[0], means[1]), *interval(drawn)),
        float(np.quantile(fixed, UPPER)) if spread else math.nan,
        half_width(fixed) if spread else math.nan,
        half_width(drawn) if len(paired) > 1 else math.nan,
        sum(counts),
        float(np.mean([gap.mean() for gap in at_end])),
        math.sqrt(sum(errors)) / len(at_end),
        len(paired),
        (min(counts), max(counts)),
    )


def quotient(a: float, b: float) -> float:
    return float(a / b) if b > 0 else (1.0 if a == 0 else math.inf)


def half_width(drawn: Array) -> float:
    """Return half the width of the central 68 %, the standard error of a normal quantity.

    The standard deviation of ratios hardly exists where some denominators are nearly 0.
    """
    low, high = np.quantile(drawn, norm.cdf([-1, 1]))
    return float(high - low) / 2


def resample_ratios(paired: Sequence[Array], other_tables: bool = True) -> Array:
    """Return bootstrap draws of the ratio of both scores."""
    drawn = resample_means(paired, other_tables)
    ratios: Array = drawn[:, 0] / np.maximum(drawn[:, 1], 1e-12)
    return ratios


def resample_means(paired: Sequence[Array], other_tables: bool = True) -> Array:
    """Return bootstrap draws of both scores: tables with replacement, then the seeds of each.

    The two regrets of a seed stay together. Without `other_tables` the tables are what they are.
    """
    generator = kb.Streams(BOOTSTRAP_SEED).generator(0)
    # The means of each table over resampled seeds come first; then tables are drawn among them.
    of_table = np.array(
        [
            both[:, generator.integers(both.shape[1], size=(DRAWS, both.shape[1]))].mean(2)
            for both in paired
        ]
    )
    if not other_tables:
        fixed: Array = of_table.mean(0).T
        return fixed
    picks = generator.integers(len(paired), size=(DRAWS, len(paired)))
    means: Array = of_table[picks, :, np.arange(DRAWS)[:, None]].mean(1)
    return means


def worse_than(searches: Searches, name: str, other: str, kind: str) -> list[str]:
    """Return the tables on which `name` finds significantly less than `other`."""
    adjusted = adjusted_p_values(searches, name, other, kind)
    return [task for task, p in adjusted.items() if p <= FAMILY_LEVEL]


def adjusted_p_values(searches: Searches, name: str, other: str, kind: str) -> dict[str, float]:
    """Test for each table whether `name` finds less than `other`.

    One-sided paired t tests of the mean regret over t, with Holm's correction over the tables: with
    p values in ascending order,

        adjusted p_(i) = max over j <= i of min(1, (m - j + 1) p_(j))
    """
    gaps = {task: both[0] - both[1] for task, both in pair_up(searches, name, other, kind).items()}
    # A test needs two seeds that differ.
    gaps = {task: gap for task, gap in gaps.items() if len(gap) > 1 and gap.std() > 0}
    p_values = [float(ttest_1samp(gap, 0, alternative="greater").pvalue) for gap in gaps.values()]
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(order), 0, -1)
    adjusted = np.maximum.accumulate(np.minimum(1, factors * np.array(p_values)[order]))
    by_place = dict(zip(order.tolist(), adjusted.tolist(), strict=True))
    return {task: by_place[place] for place, task in enumerate(gaps)}


def floored(row: Searched, kind: str) -> float:
    """The logarithm of the last regret on a box, floored."""
    return math.log(max(regret_of(row, kind, -1), FLOOR))


@dataclass(frozen=True)
class BoxScore:
    """Geometric means over seeds of the floored regret after the last evaluation."""

    by_function: Mapping[str, float]
    overall: float
    """Their geometric mean over functions."""
    factor: float
    """exp of the standard error of its logarithm."""
    seeds: tuple[int, int]


def box_score(searches: Searches, name: str, kind: str) -> BoxScore | None:
    logs = {
        task: np.array([floored(row, kind) for row in seeds.values()])
        for task, seeds in searches.get(name, {}).items()
    }
    if not logs:
        return None
    errors = [one.var(ddof=1) / len(one) if len(one) > 1 else math.nan for one in logs.values()]
    counts = [len(one) for one in logs.values()]
    return BoxScore(
        {task: math.exp(one.mean()) for task, one in logs.items()},
        math.exp(np.mean([one.mean() for one in logs.values()])),
        math.exp(math.sqrt(sum(errors)) / len(logs)),
        (min(counts), max(counts)),
    )


@dataclass(frozen=True)
class BoxComparison:
    """Ours against a rival on the boxes and seeds that both have; ratios of geometric means."""

    rival: str
    ratio: Ratio
    by_function: Mapping[str, float]
    seeds: tuple[int, int]


def compare_boxes(searches: Searches, ours: str, rival: str, kind: str) -> BoxComparison | None:
    gaps = {}
    for task, mine in searches.get(ours, {}).items():
        other = searches.get(rival, {}).get(task, {})
        seeds = sorted(set(mine) & set(other))
        if seeds:
            gaps[task] = np.array([floored(mine[s], kind) - floored(other[s], kind) for s in seeds])
    if not gaps:
        return None
    doubled = [np.array([gap, np.zeros_like(gap)]) for gap in gaps.values()]
    drawn = np.exp(resample_means(doubled)[:, 0])
    counts = [len(gap) for gap in gaps.values()]
    value = math.exp(np.mean([gap.mean() for gap in gaps.values()]))
    return BoxComparison(
        rival,
        Ratio(value, *interval(drawn)),
        {task: math.exp(gap.mean()) for task, gap in gaps.items()},
        (min(counts), max(counts)),
    )
