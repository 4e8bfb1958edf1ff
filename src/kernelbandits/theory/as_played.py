"""Regret bounds for the rule as it is played, at any delta: the paper's own is 1/2.

The played width is wider than its delta suggests. By Flynn & Reeb (2024), with probability 1 - d,
for all rounds at once,

    |f - mean| <= band_d sd,   band_d = sqrt((R^2 / ridge) (2 ln(1/d) + L) + D^2),

and the played width (R / sqrt(ridge)) s + D, s^2 = 2 ln(1/delta) + L, is at least band_d as soon as

    d >= delta exp(-(D sqrt(ridge) / R) s).

So it is a width of this much smaller level, its *effective level*, which falls as L grows. If that
is not small enough, three prices are weighed against each other: a larger d; the first n rounds,
which lose at most 2 D each, and after which L >= ln(1 + n inf k / ridge); and a threshold b > 1,
for a weight w >= b makes the played bonus as wide as a band that is b times wider. docs/theory
has the proof.

The same formula covers an error of the model, restarts and late results, by the three last fields
of `TheorySetting`, and orthonormal arms, where a fourth price may be paid in place of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.theory.law_moments import LawMoments
from kernelbandits.theory.setting import TheorySetting, multiply

PRICED_ROUNDS = 40
"""How many numbers n of first rounds are tried."""
LEVELS = np.arange(-10.0, 13.0)
"""Powers of sqrt(10), by which d is tried around 1 / (2 D T)."""


@dataclass(frozen=True)
class PlayedBound:
    """Upper bounds of the expected regret of a rule that plays with a given delta.

    `regret_bound` returns it for the form "as_played".

    >>> import kernelbandits as kb
    >>> told = {"noise_scale": 0.1, "norm_bound": 1.0}
    >>> bound = kb.theory.regret_bound(kb.Bernoulli(0.5), 10_000, 20.0, form="as_played", **told)
    >>> round(bound.value), bound.trivial, bound.vacuous
    (2534, 20000.0, False)
    >>> bound.conditions.split(",")[0]
    'the played width contains the band of level d = 0.000158'
    """

    as_played: float
    """2 D n + (band + (C2 + C3' C1 / P(w >= b)) width) sqrt(2 T gamma M / ln(1 + M)) + 2 D T d, at
    ridge 1; band and width at L = 2 gamma."""
    mean_square: float
    """The same, with the root of the mean of E(c + w^+ + (w - E w)^+ / P(w >= b))^2 in the place of
    c + C2 + C3' C1 / P(w >= b), c = band / width."""
    trivial: float
    """2 D sqrt(sup k) T, and 2 eps T more for a model with an error of eps"""
    delta: float
    """The delta with which the policy plays."""
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
    premises: str = ""
    """What is assumed besides: of the arms, of the model, of restarts, of late results."""

    @property
    def value(self) -> float:
        """The smallest proved bound, if gamma_T is at most the information gain."""
        return min(self.as_played, self.mean_square, self.trivial)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is no smaller than the trivial 2 D T."""
        return self.value >= self.trivial

    @property
    def sentence(self) -> str:
        """What is proved, in words, and why."""
        least = min(self.as_played, self.mean_square)
        if math.isinf(least):
            return f"No bound is proved at T = {self.horizon}: {missing_weights(self.threshold)}."
        if self.vacuous:
            return (
                f"Vacuous at T = {self.horizon}: the bound as played with delta = {self.delta:.3g},"
                f" {least:.4g}, says no more than the trivial {self.trivial:.4g}."
            )
        return (
            f"If gamma_T <= {self.information_gain:.4g}{self.premises} and the policy plays with "
            f"delta = {self.delta:.3g}, the expected regret after T = {self.horizon} rounds is at "
            f"most {least:.4g}, {100 * least / self.trivial:.3g} % of the trivial "
            f"{self.trivial:.4g}: {self.conditions}."
        )


def missing_weights(threshold: float) -> str:
    """Say why a law has no finite bound: no weight is as large as b, or E w^2 is infinite."""
    if threshold <= 1:
        return "E w^2 of the exploration law is infinite, or a number exceeds 1.8e308"
    return (
        f"the played width is too narrow without weights w >= {threshold:.4g}, which some round "
        f"never draws, or E w^2 is infinite; play with a smaller delta"
    )


def effective_level(
    log_det: Any,
    *,
    noise_scale: float,
    norm_bound: float,
    ridge: float = 1.0,
    delta: float = 0.5,
) -> Any:
    """Return the level at which the played width is a confidence width, from the realised L.

    It is delta exp(-(D sqrt(ridge) / R) sqrt(2 ln(1/delta) + L)), which falls from round to round.
    If it is d in some round, then in this round and all later ones |f - mean| <= width sd, up to
    an event of probability d in total.

    Parameters
    ----------
    log_det
        L = log det(I + K / ridge) of what was played, `policy.posterior.log_det`, or an array.
    noise_scale, norm_bound, ridge, delta
        R, D and the other settings as the policy was given them.

    Examples
    --------
    >>> from kernelbandits.theory import effective_level
    >>> round(effective_level(0.0, noise_scale=1, norm_bound=1), 4)  # before the first round
    0.154
    >>> round(effective_level(8.0, noise_scale=1, norm_bound=1), 4)
    0.0234
    """
    owner = "effective_level"
    noise = checks.scale(owner, "noise_scale", noise_scale)
    norm = checks.positive(owner, "norm_bound", checks.scale(owner, "norm_bound", norm_bound))
    share = noise / math.sqrt(checks.positive(owner, "ridge", ridge))
    chance = checks.inside(owner, "delta", delta)
    logs = np.asarray(log_det, dtype=float)
    checks.needs(bool((logs >= 0).all()), owner, "log_det >= 0", log_det)
    radius = np.sqrt(-2 * math.log(chance) + logs)
    found = chance * np.exp(-norm * radius / share) if share else np.zeros_like(radius)
    return found if found.ndim else float(found)


@dataclass(frozen=True)
class Price:
    """One choice of n, d and b, and what it costs apart from the bonuses."""

    first_rounds: float
    log_inverse: float
    """ln(1/d); infinite for d = 0."""
    threshold: float
    missed: float = 0.0
    """The expected number of rounds that are lost because the best arm is underrated."""

    @property
    def level(self) -> float:
        return math.exp(-self.log_inverse)

    def cost(self, setting: TheorySetting) -> float:
        """Return what the first n rounds, a failure of the band and the error cost at most.

        2 D sqrt(sup k) (n blocks + T d + missed) + 2 eps T
        """
        rounds = setting.blocks * self.first_rounds + setting.horizon * self.level + self.missed
        return setting.largest_gap * rounds + 2 * setting.error * setting.horizon


def played_bound(
    moments: LawMoments,
    setting: TheorySetting,
    smallest: float = 0.0,
    *,
    orthonormal: bool = False,
    premises: str = "",
) -> PlayedBound:
    """Return the smallest bounds over all prices; the fields describe that of the smaller one."""
    tried = list(prices(setting, smallest))
    if orthonormal:
        tried += [replace(price, threshold=1.0, missed=missed_rounds(setting)) for price in tried]
    by_maximum = cheapest(setting, tried, moments.expected_maximum)
    by_square = cheapest(setting, tried, lambda c, b: math.sqrt(moments.mean_square(c, b)))
    price = min(by_maximum, by_square, key=lambda found: found[0])[1]
    return PlayedBound(
        by_maximum[0],
        by_square[0],
        setting.trivial,
        setting.delta,
        price.level,
        int(price.first_rounds),
        price.threshold,
        setting.horizon,
        setting.gain,
        describe(price, setting, smallest),
        premises,
    )


def missed_rounds(setting: TheorySetting) -> float:
    """Return an upper bound of the expected number of rounds in which a worse arm is played while
    f(x*) > mean(x*) + width sd(x*), on orthonormal arms.

    sum_{N < T} delta / sqrt(1 + N M) <= delta (1 + 2 (sqrt(1 + (T - 1) M) - 1) / M),
    M = k(x, x) / ridge
    """
    ratio, last = setting.largest / setting.ridge, setting.horizon - 1
    # The last term without the difference of two numbers that may be nearly equal.
    return setting.delta * (1 + 2 * last / (1 + math.sqrt(1 + last * ratio)))


Factor = Callable[[float, float], float]
"""(c, b) -> how many widths a round loses at most."""


def cheapest(setting: TheorySetting, tried: Iterable[Price], factor: Factor) -> tuple[float, Price]:
    """Return the smallest bound that a price gives, and the price."""
    best: tuple[float, Price] | None = None
    for price in tried:
        cost = price.cost(setting)
        if best is not None and cost >= best[0]:
            continue
        total = cost + bonuses(setting, price, factor)
        if best is None or total < best[0]:
            best = total, price
    assert best is not None, "at least one price is tried"
    return best


def bonuses(setting: TheorySetting, price: Price, factor: Factor) -> float:
    """Return the part of the bound that the bonuses of all rounds contribute.

    factor(c, b) width sqrt(2 T ridge gamma M / ln(1 + M)),  c = band / width
    """
    width = setting.width(setting.log_inverse)
    share = band_share(setting, price)
    return multiply(
        factor(share, price.threshold), width, math.sqrt(2 * setting.potential), setting.reach
    )


def band_share(setting: TheorySetting, price: Price) -> float:
    """Return c = band / width at L = 2 gamma, both widened by the error of the model."""
    band = band_width(setting, price.log_inverse, 2 * setting.gain) + setting.widening
    return band / setting.width(setting.log_inverse)


def prices(setting: TheorySetting, smallest: float, levels: Array | None = None) -> Iterator[Price]:
    """Yield the choices of n and d that are tried, each with the least b that it allows.

    `levels` has the values of ln(1/d), by default a grid around ln(2 D T), and the effective level.
    """
    usual = math.log(max(setting.trivial, 1.0)) + LEVELS * math.log(10) / 2
    for rounds in map(float, first_rounds(setting.learnt_rounds, smallest)):
        # The rule knows L only without the results that are pending.
        least = max(0.0, math.log1p(rounds * smallest / setting.ridge) - setting.pending)
        own = own_log_inverse(setting, least)
        tried = [own, *usual] if levels is None else levels
        for log_inverse in map(float, tried):
            if log_inverse > 0:
                yield Price(rounds, log_inverse, threshold(setting, log_inverse, least, own))


def first_rounds(horizon: int, smallest: float) -> Array:
    """Return the numbers n to try: 0 and, where L is certain to grow, numbers up to T."""
    if smallest <= 0:
        return np.zeros(1)
    grid = np.unique(np.floor(np.geomspace(1.0, float(horizon), PRICED_ROUNDS)))
    return np.concatenate([[0.0], grid[grid < horizon]])


def own_log_inverse(setting: TheorySetting, log_det: float) -> float:
    """Return ln(1/d) of the effective level at this L."""
    radius = math.sqrt(2 * setting.log_inverse + log_det)
    return setting.log_inverse + (
        setting.norm_bound * radius / setting.spread if setting.spread else math.inf
    )


def threshold(setting: TheorySetting, log_inverse: float, log_det: float, own: float) -> float:
    """Return the least b >= 1 with band_d <= b width for all larger L.

    Where band_d >= width, the ratio of the two falls as L grows.
    """
    if log_inverse <= own:
        return 1.0
    width = setting.norm_bound + setting.spread * math.sqrt(2 * setting.log_inverse + log_det)
    return max(1.0, band_width(setting, log_inverse, log_det) / width)


def band_width(setting: TheorySetting, log_inverse: float, log_det: float) -> float:
    """Return the width of the band of level d at this L.

    sqrt((R^2 / ridge) (2 ln(1/d) + L) + D^2)
    """
    radius = math.sqrt(2 * log_inverse + log_det)
    return math.hypot(setting.norm_bound, multiply(setting.spread, radius))


def describe(price: Price, setting: TheorySetting, smallest: float) -> str:
    """Say which condition makes the price valid, with its numbers."""
    level = f"d = {price.level:.3g}"
    if price.missed:
        return (
            f"of the rounds in which f(x*) exceeds mean + width sd, at most {price.missed:.4g} "
            f"play a worse arm in expectation, and f leaves the band of level {level} otherwise"
        )
    if price.threshold > 1:
        reason = (
            f"a weight w >= {price.threshold:.4g} makes the played bonus as wide as the band of "
            f"level {level}"
        )
    else:
        reason = (
            f"the played width contains the band of level {level}, since (R/sqrt(ridge)) "
            f"ln(delta/d) <= D sqrt(2 ln(1/delta) + L)"
        )
    if not price.first_rounds:
        return f"{reason} from the first round on"
    rounds = "round" if price.first_rounds == 1 else f"{price.first_rounds:.0f} rounds"
    return (
        f"{reason} after the first {rounds}, where L >= ln(1 + n inf k/ridge), inf k = {smallest:g}"
    )
