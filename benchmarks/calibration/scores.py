"""What the judged studies say together: coverage, reliability, losses. Arithmetic only.

Studies of one table are alike, so a 95 % interval of coverage or of a loss is a bootstrap interval
over tables: the tables are drawn with replacement, each with all its studies. Looks of one campaign
are alike, so the error of a probability is that of the mean over campaigns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import kernelbandits as kb
from benchmarks.calibration.play import EQUAL
from benchmarks.calibration.rows import (
    TOLERANCES,
    IntervalQuality,
    JudgedStudy,
    Look,
    Statements,
)
from benchmarks.regret_pairs import BOOTSTRAP_SEED, DRAWS, LEVEL, interval

BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
"""The limits of the bins of stated probabilities."""
SLACK = 0.1
"""A probability may be off by so much, or by two standard errors if they are larger."""
FEWEST_CAMPAIGNS = 30
"""Bins with looks from fewer campaigns are not judged."""
LOSS_BINS = (0.0, 0.01, 0.03, 0.1, math.inf)
"""The limits of the bins of stated losses, as shares of the range."""

Measure = Callable[[Statements], float]
Stated = tuple[str, float, float]
"""A table or a campaign, a stated number, and what came true: 1 or 0, or a loss."""


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % interval."""

    value: float
    low: float
    high: float
    clusters: int
    """How many tables or campaigns there are."""
    studies: int

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


def select(studies: Iterable[JudgedStudy], noise: float | None, design: str) -> list[JudgedStudy]:
    """The studies under one noise, or under all (None)."""
    return [
        one for one in studies if one.design == design and (noise is None or one.noise == noise)
    ]


def statements_by_table(
    studies: Iterable[JudgedStudy], results: int | None = None
) -> dict[str, list[Statements]]:
    """The statements after so many results, or after any number (None), by table."""
    found: dict[str, list[Statements]] = defaultdict(list)
    for study in studies:
        for one in study.statements:
            if results is None or one.results == results:
                found[study.table].append(one)
    return dict(found)


def bootstrap_mean(by_table: Mapping[str, Sequence[float]]) -> Estimate:
    """Return the mean of all numbers, and an interval that respects that tables differ."""
    totals = np.array([math.fsum(numbers) for numbers in by_table.values()])
    counts = np.array([len(numbers) for numbers in by_table.values()])
    generator = kb.Streams(BOOTSTRAP_SEED).generator(0)
    picks = generator.integers(len(totals), size=(DRAWS, len(totals)))
    drawn = totals[picks].sum(1) / counts[picks].sum(1)
    value = float(totals.sum() / counts.sum())
    return Estimate(value, *interval(drawn), len(totals), int(counts.sum()))


def bootstrap_share(by_table: Mapping[str, Sequence[float]]) -> Estimate:
    """Return the share of ones among ones and zeros.

    If all are equal, so are all bootstrap draws. The interval is then the exact binomial one, with
    a table as one trial.
    """
    found = bootstrap_mean(by_table)
    reach = ((1 - LEVEL) / 2) ** (1 / found.clusters)
    if found.value in (0.0, 1.0):
        low, high = (reach, 1.0) if found.value else (0.0, 1 - reach)
        return Estimate(found.value, low, high, found.clusters, found.studies)
    return found


def cluster_share(by_campaign: Mapping[str, Sequence[float]]) -> Estimate:
    """Return the share of ones, with twice its standard error clustered by campaign.

    The share is a ratio of two sums over campaigns, sum_c S_c / sum_c n_c, so its squared error is
    sum_c (S_c - share n_c)^2 / (sum_c n_c)^2, times C / (C - 1).
    """
    totals = np.array([math.fsum(numbers) for numbers in by_campaign.values()])
    counts = np.array([len(numbers) for numbers in by_campaign.values()])
    share, campaigns = float(totals.sum() / counts.sum()), len(counts)
    away = totals - share * counts
    if campaigns == 1:
        return Estimate(share, 0.0, 1.0, 1, int(counts.sum()))
    error = math.sqrt(campaigns / (campaigns - 1) * float(away @ away)) / float(counts.sum())
    low, high = max(share - 2 * error, 0.0), min(share + 2 * error, 1.0)
    return Estimate(share, low, high, campaigns, int(counts.sum()))


# Intervals


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of some rows hold the true value; means over tables."""

    coverage_95: Estimate
    least: tuple[str, float]
    """The table with the least coverage, and its coverage."""
    greatest: tuple[str, float]
    coverage_50: Estimate
    above: float
    """The share of values above the 95 % interval."""
    error: float
    """The median over tables of the root mean square of (f - estimate) / sd."""
    log_density: Estimate


def table_means(studies: Iterable[JudgedStudy], results: int, measure: Measure) -> dict[str, float]:
    """The mean of a number over the seeds of each table."""
    return {
        table: float(np.mean([measure(one) for one in stated]))
        for table, stated in statements_by_table(studies, results).items()
    }


def summarise_coverage(
    studies: Sequence[JudgedStudy], results: int, rows: Callable[[Statements], IntervalQuality]
) -> Coverage | None:
    """Every table counts the same, whatever its number of rows; None without studies."""

    def mean_of(name: str) -> dict[str, float]:
        return table_means(studies, results, lambda one: getattr(rows(one), name))

    covered = mean_of("coverage_95")
    if not covered:
        return None
    return Coverage(
        equal_weights(covered),
        min(covered.items(), key=lambda item: item[1]),
        max(covered.items(), key=lambda item: item[1]),
        equal_weights(mean_of("coverage_50")),
        equal_weights(mean_of("above")).value,
        float(np.median([*mean_of("error").values()])),
        equal_weights(mean_of("log_density")),
    )


def equal_weights(means: Mapping[str, float]) -> Estimate:
    """The mean over tables."""
    return bootstrap_mean({table: [mean] for table, mean in means.items()})


# Probabilities


def state_best(look: Look) -> tuple[float, bool]:
    return look.best, look.loss <= EQUAL


def state_within(place: int) -> Callable[[Look], tuple[float, bool]]:
    return lambda look: (look.within[place], look.loss <= TOLERANCES[place] + EQUAL)


PROBABILITIES: Mapping[str, Callable[[Look], tuple[float, bool]]] = {
    "the recommended row is the best": state_best,
    **{
        f"the recommended row loses at most {tolerance:g}": state_within(place)
        for place, tolerance in enumerate(TOLERANCES)
    },
}
"""Statements with a probability, and whether they were right."""


def list_stated(
    studies: Iterable[JudgedStudy],
    state: Callable[[Look], tuple[float, bool]],
    results: int | None = None,
) -> list[Stated]:
    """What was stated after so many results, or after any number (None), by campaign."""
    return [
        (campaign_of(study), stated, float(is_so))
        for study in studies
        for look in study.looks
        if results is None or look.results == results
        for stated, is_so in [state(look)]
    ]


def campaign_of(study: JudgedStudy) -> str:
    return f"{study.table}, noise {study.noise:g}, seed {study.seed}"


def list_untested(studies: Iterable[JudgedStudy]) -> list[Stated]:
    """The stated probability that an unmeasured row of a higher estimate is better."""
    return [
        (campaign_of(study), one.untested[0], float(one.untested[1]))
        for study in studies
        for one in study.statements
        if one.untested is not None
    ]


@dataclass(frozen=True)
class Bin:
    """Statements whose stated number lies between two limits."""

    low: float
    high: float
    stated: float
    """The mean of the stated numbers."""
    true: Estimate
    """What came true on average."""

    slack: float = 0.0
    """By how much the two may differ, whatever the error is."""

    @property
    def agrees(self) -> bool:
        return self.true.holds(self.stated) or abs(self.stated - self.true.value) <= self.slack


def group(by: Iterable[Stated]) -> dict[str, list[float]]:
    """What came true, by table or campaign."""
    found: dict[str, list[float]] = defaultdict(list)
    for table, _, truth in by:
        found[table].append(truth)
    return dict(found)


def bin_stated(
    stated: Sequence[Stated],
    limits: Sequence[float],
    average: Callable[[Mapping[str, Sequence[float]]], Estimate],
    slack: float = 0.0,
) -> list[Bin]:
    """Compare stated with true numbers bin by bin; the last bin holds its upper limit too."""
    bins = []
    for low, high in pairwise(limits):
        is_last = high == limits[-1]
        inside = [one for one in stated if low <= one[1] < high or (is_last and one[1] == high)]
        if inside:
            mean = float(np.mean([one[1] for one in inside]))
            bins.append(Bin(low, high, mean, average(group(inside)), slack))
    return bins


def bin_probabilities(stated: Sequence[Stated]) -> list[Bin]:
    return bin_stated(stated, BINS, cluster_share, SLACK)


def pool_probabilities(stated: Sequence[Stated]) -> Bin | None:
    """All statements in one bin; None if there are none."""
    return next(iter(bin_stated(stated, (0.0, 1.0), cluster_share, SLACK)), None)


def brier_score(stated: Sequence[Stated]) -> float:
    """The mean of (probability - 1 or 0)^2: 0.25 for a coin that is always stated as 1/2."""
    return float(np.mean([(p - truth) ** 2 for _, p, truth in stated]))


# Losses


def list_losses(studies: Iterable[JudgedStudy], results: int | None = None) -> list[Stated]:
    return [
        (table, one.stated_loss, one.loss)
        for table, statements in statements_by_table(studies, results).items()
        for one in statements
        if one.stated_loss is not None
    ]


def bin_losses(stated: Sequence[Stated]) -> list[Bin]:
    return bin_stated(stated, LOSS_BINS, bootstrap_mean)


def pool_losses(stated: Sequence[Stated]) -> Bin | None:
    return next(iter(bin_stated(stated, (0.0, math.inf), bootstrap_mean)), None)


@dataclass(frozen=True)
class StopRule:
    """What happens to users who stop as soon as the study says that they may."""

    tolerance: float
    studies: int
    """How many studies there are, of which some say "yes" before the last look."""
    results: float
    """The mean number of results when they stop."""
    stated: float
    """The mean of the loss stated then."""
    loss: Estimate
    """The mean of the true loss."""
    within: Estimate
    """The share of true losses that are no greater than the tolerance."""


def follow_stop_rule(studies: Sequence[JudgedStudy], tolerance: float) -> StopRule | None:
    """Stop at the first look at which the study says yes; None if none does."""
    stops = [
        (study, first) for study in studies if (first := first_yes(study, tolerance)) is not None
    ]
    if not stops:
        return None
    losses = [(study.table, first.stated or 0.0, first.loss) for study, first in stops]
    kept = [
        (campaign_of(study), 1.0, float(first.loss <= tolerance + EQUAL)) for study, first in stops
    ]
    return StopRule(
        tolerance,
        len(studies),
        float(np.mean([first.results for _, first in stops])),
        float(np.mean([stated for _, stated, _ in losses])),
        bootstrap_mean(group(losses)),
        cluster_share(group(kept)),
    )


def first_yes(study: JudgedStudy, tolerance: float) -> Look | None:
    place = TOLERANCES.index(tolerance)
    return next((look for look in study.looks if look.yes[place]), None)


# Cautions


@dataclass(frozen=True)
class Cautions:
    """Whether answers say that the model is no better than the mean, and whether it is."""

    studies: int
    poor: int
    """Studies whose model is no better than the mean by leave-one-out."""
    said: int
    """Those of them in which every answer says so."""
    wrongly_said: int
    """Other studies in which an answer says so."""
    truly_poor: int
    """Studies whose model predicts unmeasured rows no better than the mean of the results."""
    truly_poor_said: int
    """Those of them in which every answer says so."""


def count_cautions(studies: Iterable[JudgedStudy], results: int) -> Cautions:
    every = [one for many in statements_by_table(studies, results).values() for one in many]
    poor = [is_poor(one) for one in every]
    return Cautions(
        len(every),
        sum(poor),
        sum(all(one.cautions) for one, is_so in zip(every, poor, strict=True) if is_so),
        sum(any(one.cautions) for one, is_so in zip(every, poor, strict=True) if not is_so),
        sum(one.skill <= 0 for one in every),
        sum(all(one.cautions) for one in every if one.skill <= 0),
    )


def is_poor(one: Statements) -> bool:
    return one.left_out_skill is not None and one.left_out_skill <= 0
