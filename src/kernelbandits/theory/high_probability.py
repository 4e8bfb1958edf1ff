"""Regret bounds that hold with probability 1 - delta, for laws that may depend on the history.

Let B = 2 D sqrt(sup k), M = sup k / ridge, h_t = c + w_t^+ + (w_t - E w_t)^+ / P(w_t >= b), and let
f lie in its band (probability 1 - delta/2). Given the past a round loses on average at most
width E[h_t sd(x_t)]. By Cauchy-Schwarz the sum of these numbers, A, satisfies

    A <= width sqrt(sum_t E h_t^2) sqrt(sum_t E[sd(x_t)^2 | past]),

and two inequalities for martingales remain, each at delta/4:

    sum_t E[sd(x_t)^2 | past] / ridge
           <= min_s (s 2 gamma M / ln(1 + M) + M ln(4/delta)) / (1 - e^-s),
    regret <= A + B sqrt(T ln(4/delta) / 2)                          (Azuma)
    regret <= min_s (e^s - 1)/s A + B ln(4/delta) / s                (Freedman)

Only second moments of the weights are used, so that normal weights need no truncation. If every
weight is known beforehand, as for UCB, nothing is left to chance but the band.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelbandits.theory.as_played import Price, band_width, missing_weights, prices
from kernelbandits.theory.law_moments import LawMoments
from kernelbandits.theory.setting import TheorySetting

SLOPES = np.geomspace(1e-9, 20.0, 400)
"""The values of s among which the smallest bound is searched."""
FEW_SLOPES = np.geomspace(1e-3, 4.0, 15)
"""The values of s, and Azuma's inequality, that share delta/4 if the laws are known only later."""


@dataclass(frozen=True)
class HighProbabilityBound:
    """With probability at least 1 - delta the regret after T rounds is at most `value`.

    `regret_bound` returns it for the form "high_probability".

    >>> import kernelbandits as kb
    >>> told = {"noise_scale": 0.1, "norm_bound": 1.0, "delta": 0.05}
    >>> form = "high_probability"
    >>> bound = kb.theory.regret_bound(kb.Bernoulli(0.5), 100_000, 20.0, form=form, **told)
    >>> round(bound.azuma), round(bound.freedman), bound.delta
    (10444, 9920, 0.05)
    """

    azuma: float
    """The bound by the inequality of Azuma and Hoeffding."""
    freedman: float
    """The bound by the exponential inequality of Freedman, which uses that losses are >= 0."""
    mean: float
    """A: the bound of the sum of the expected losses, each given its past."""
    trivial: float
    """2 D sqrt(sup k) T"""
    delta: float
    """The probability with which the bound may fail."""
    played_delta: float
    """The delta with which the policy plays."""
    first_rounds: int
    """n: the rounds that are counted at 2 D each."""
    threshold: float
    """b: the weight from which on a round counts as optimistic."""
    horizon: int
    """T, the number of rounds."""
    information_gain: float
    """The bound of gamma_T that was used."""

    @property
    def value(self) -> float:
        """The smallest of the bounds."""
        return min(self.azuma, self.freedman, self.trivial)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is no smaller than the trivial 2 D T."""
        return self.value >= self.trivial

    @property
    def sentence(self) -> str:
        """What is proved, in words."""
        least = min(self.azuma, self.freedman)
        if math.isinf(least):
            return f"No bound is proved at T = {self.horizon}: {missing_weights(self.threshold)}."
        if self.vacuous:
            return (
                f"Vacuous at T = {self.horizon}: the bound {least:.4g} says no more than the "
                f"trivial {self.trivial:.4g}."
            )
        return (
            f"If gamma_T <= {self.information_gain:.4g} and the policy plays with delta = "
            f"{self.played_delta:.3g}, with probability at least {1 - self.delta:.6g} the regret "
            f"after T = {self.horizon} rounds is at most {least:.4g}, "
            f"{100 * least / self.trivial:.3g} % of the trivial {self.trivial:.4g}."
        )


def high_probability_bound(
    moments: LawMoments, setting: TheorySetting, failure: float, smallest: float = 0.0
) -> HighProbabilityBound:
    """Return the smallest bound over the numbers n of first rounds, which count 2 D each.

    If the laws are known beforehand, so is the best n. Otherwise n is chosen after the rounds, and
    the deviation of the regret must be that of all rounds, which is one event for every n.
    """
    certain = moments.is_certain and not moments.realised
    band = -math.log(failure if certain else failure / 2)
    rest = math.log(4 / failure)
    levels = np.array([band])

    def bounds_at(price: Price) -> tuple[float, float, float]:
        first = setting.trivial / setting.horizon * price.first_rounds
        losses = mean_losses(moments, setting, price, 0.0 if certain else rest)
        if certain:
            return first + losses, first + losses, first + losses
        if moments.realised:
            return *add_deviations(first + losses, setting, rest, realised=True), first + losses
        azuma, freedman = add_deviations(losses, setting, rest, realised=False)
        return first + azuma, first + freedman, first + losses

    found = [(bounds_at(price), price) for price in prices(setting, smallest, levels)]
    (azuma, freedman, mean), price = min(found, key=lambda pair: min(pair[0][:2]))
    return HighProbabilityBound(
        azuma,
        freedman,
        mean,
        setting.trivial,
        failure,
        setting.delta,
        int(price.first_rounds),
        price.threshold,
        setting.horizon,
        setting.gain,
    )


def mean_losses(
    moments: LawMoments, setting: TheorySetting, price: Price, logarithm: float
) -> float:
    """Bound A, the sum of the losses expected given the past, by Cauchy-Schwarz.

    width sqrt(sum E h^2) sqrt(sum E[sd^2 | past])

    `logarithm` is 0 if every arm is certain.
    """
    width = setting.width(setting.log_inverse)
    share = band_width(setting, price.log_inverse, 2 * setting.gain) / width
    square = moments.mean_square(share, price.threshold)
    played = 2 * setting.gain * setting.potential
    most = setting.largest / setting.ridge
    known = expected_sum(played, most, logarithm) if logarithm else played
    known = min(known, most * setting.horizon)
    factors = (square, setting.horizon, known, setting.ridge)
    return 0.0 if 0 in factors else width * math.prod(map(math.sqrt, factors))


def expected_sum(total: float, most: float, logarithm: float) -> float:
    """Return an upper bound of sum E[Y_t | past], Y_t in [0, m], if sum Y_t <= total.

    min_s (s total + m logarithm) / (1 - e^-s)

    It may fail with probability exp(-logarithm).
    """
    return smallest_over_slopes(lambda s: (s * total + most * logarithm) / -np.expm1(-s))


def realised_sum(mean: float, most: float, logarithm: float) -> float:
    """Return an upper bound of sum Y_t, Y_t in [0, m], if sum E[Y_t | past] <= mean.

    min_s (e^s - 1)/s mean + m logarithm / s

    It may fail with probability exp(-logarithm).
    """
    return smallest_over_slopes(lambda s: np.expm1(s) / s * mean + most * logarithm / s)


def smallest_over_slopes(bound: Callable[[np.ndarray], np.ndarray]) -> float:
    return float(np.min(bound(SLOPES)))


def add_deviations(
    mean: float, setting: TheorySetting, logarithm: float, realised: bool
) -> tuple[float, float]:
    """Return the mean plus how far the regret may exceed it: by Azuma, and by Freedman.

    If the mean is known only after the rounds, s may not depend on it. A few values of s and
    Azuma's inequality then share the probability.
    """
    most = setting.trivial / setting.horizon
    if realised:
        logarithm += math.log(len(FEW_SLOPES) + 1)
    azuma = mean + most * math.sqrt(setting.horizon * logarithm / 2)
    if not realised:
        return azuma, realised_sum(mean, most, logarithm)
    slopes = FEW_SLOPES
    return azuma, float(np.min(np.expm1(slopes) / slopes * mean + most * logarithm / slopes))
