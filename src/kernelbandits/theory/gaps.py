"""A regret bound that grows like a power of ln T, for laws with finitely many values.

Given the past, the arm of a round is a function of its weight. If every value of the weight has
probability q or more, and every worse arm loses at least Delta, then a round loses on average
nothing, or q Delta and more. In the second case

    E[r | past] <= E[r | past]^2 / (q Delta) <= width^2 E[h^2 | past] E[sd(x)^2 | past] / (q Delta)

by step 4 and Cauchy-Schwarz, and the sum of sd(x_t)^2 is at most 2 ridge gamma M / ln(1 + M) in
every run. No root of T appears. docs/theory has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelbandits import checks
from kernelbandits.theory.as_played import (
    Price,
    band_share,
    describe,
    missing_weights,
    prices,
)
from kernelbandits.theory.law_moments import LawMoments
from kernelbandits.theory.setting import TheorySetting, multiply


@dataclass(frozen=True)
class GapBound:
    """An upper bound of the expected regret that uses the smallest gap between best and next.

    `regret_bound` returns it for the form "gap".

    >>> import kernelbandits as kb
    >>> told = {"noise_scale": 0.05, "norm_bound": 1.0, "gap": 0.5}
    >>> bound = kb.theory.regret_bound(kb.Bernoulli(0.5), 10**7, 20.0, form="gap", **told)
    >>> round(bound.by_gap), bound.least_chance, bound.vacuous
    (1744, 0.5, False)
    """

    by_gap: float
    """2 D n + 2 ridge (M / ln(1 + M)) width^2 gamma max_t (E h_t^2 / q_t) / Delta + 2 D T d"""
    trivial: float
    """2 D sqrt(sup k) T"""
    delta: float
    """The delta with which the policy plays."""
    gap: float
    """Delta: every arm that is not the best loses at least this much."""
    least_chance: float
    """q: the smallest probability of a value of the weight."""
    level: float
    """d: f leaves the band with at most this probability."""
    first_rounds: int
    """n: the rounds that are counted at 2 D each."""
    threshold: float
    """b: the weight from which on a round counts as optimistic."""
    horizon: int
    """T, the number of rounds."""
    information_gain: float
    """The bound of gamma_T that was used."""
    conditions: str
    """What makes the played width valid at this level."""

    @property
    def value(self) -> float:
        """The smallest proved bound, if gamma_T is at most the information gain."""
        return min(self.by_gap, self.trivial)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is no smaller than the trivial 2 D T."""
        return self.value >= self.trivial

    @property
    def sentence(self) -> str:
        """What is proved, in words, and why."""
        if math.isinf(self.by_gap):
            return f"No bound is proved at T = {self.horizon}: {missing_weights(self.threshold)}."
        if self.vacuous:
            return (
                f"Vacuous at T = {self.horizon}: the bound by the gap, {self.by_gap:.4g}, says no "
                f"more than the trivial {self.trivial:.4g}."
            )
        return (
            f"If gamma_T <= {self.information_gain:.4g}, every other arm is worse than the best by "
            f"{self.gap:.4g} or more, ties are broken in a fixed order and the policy plays with "
            f"delta = {self.delta:.3g}, the expected regret after T = {self.horizon} rounds is at "
            f"most {self.by_gap:.4g}, {100 * self.by_gap / self.trivial:.3g} % of the trivial "
            f"{self.trivial:.4g}: {self.conditions}."
        )


def gap_bound(moments: LawMoments, setting: TheorySetting, smallest: float, gap: float) -> GapBound:
    """Return the smallest bound over all prices of `as_played`."""
    chance = moments.least_chance
    checks.needs(
        chance > 0,
        "regret_bound",
        "a law with finitely many values, each of a probability that is bounded from below, with "
        'form "gap" (a round then loses nothing on average, or at least as much as stated)',
        moments.laws[0] if moments.laws else None,
    )
    best = min(
        ((gap_total(moments, setting, price, gap), price) for price in prices(setting, smallest)),
        key=lambda found: found[0],
    )
    total, price = best
    return GapBound(
        total,
        setting.trivial,
        setting.delta,
        gap,
        chance,
        price.level,
        int(price.first_rounds),
        price.threshold,
        setting.horizon,
        setting.gain,
        describe(price, setting, smallest),
    )


def gap_total(moments: LawMoments, setting: TheorySetting, price: Price, gap: float) -> float:
    """Return the bound at one price.

    2 ridge (M / ln(1 + M)) width^2 gamma max_t (E h_t^2 / q_t) / Delta, and the cost of the price
    """
    width = setting.width(setting.log_inverse)
    square = moments.largest_square(band_share(setting, price), price.threshold)
    played = multiply(2, setting.potential, setting.ridge, setting.gain)
    return price.cost(setting) + multiply(square, width, width, played) / gap
