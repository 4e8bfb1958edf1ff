"""Regret bounds: as the paper prints them, and with its proof repaired (docs/errata.md).

All bounds need |f| <= D and R-sub-Gaussian noise. With g(x) = width sd(x), M = sup k / ridge and
any gamma >= gamma_T,

    sum_t sd(x_t)^2 <= ridge M / ln(1 + M) L_T,   L_T = log det(I + K / ridge) <= 2 gamma,
    width(c) = D + (R / sqrt(ridge)) sqrt(2 gamma + 2 c),   c = ln(1 / delta),

so sum_t g(x_t) <= width(c) sqrt(2 M / ln(1 + M)) sqrt(T gamma ridge). A number beyond 1.8e308 is
given as inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from kernelbandits import checks
from kernelbandits.theory.information import InformationGain
from kernelbandits.theory.law_constants import Constants, constants

LABELS: Mapping[str, str] = MappingProxyType(
    {
        "printed": "as printed; see errata E1-E3",
        "repaired": "repaired (E1)",
        "tight": "repaired and tightened (E1)",
        "trivial": "trivial, 2 D T",
    }
)
"""The names of the bounds in tables and plots."""

LONGEST = 10**12
"""The largest horizon that `first_useful` tries."""


@dataclass(frozen=True)
class RegretBound:
    """Upper bounds of the expected regret after T rounds, and what they were computed from."""

    labels: ClassVar[Mapping[str, str]] = LABELS

    printed: float
    """2 (C2 + 2 C3) g(2) sqrt(T gamma) + 2 g(2 T D^2) sqrt(T gamma) + 1,
    g(a) = D + R sqrt(2 gamma + 2 (ln a)^+).

    The paper prints it for ridge 1 and for a rule that plays with delta = 1/2; its proof has a gap.
    At another ridge g is the width there, and T gamma is multiplied by the ridge.
    """
    repaired: float
    """(1 + C2 + C3) g(1/delta) sqrt(4 T gamma) + 2 D T delta, if the rule plays with this delta."""
    tight: float
    """The same with C3' = E max (w - E w)^+ / C1 in place of C3, and 2 M / ln(1 + M) in place of 4.

    M = sup k / ridge.
    """
    trivial: float
    """2 D sqrt(sup k) T: no gap exceeds 2 D sqrt(sup k)."""
    delta: float
    """The delta with which the policy must play for the repaired bound to be proved."""
    constants: Constants
    information_gain: float
    largest: float = 1.0
    """sup k(x, x)"""

    @property
    def value(self) -> float:
        """The smallest proved bound, if gamma_T is at most the information gain."""
        return min(self.tight, self.repaired, self.trivial)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is no smaller than the trivial 2 D T."""
        return self.value >= self.trivial

    @property
    def sentence(self) -> str:
        """What is proved, in words; where the bound is vacuous, the sentence says so."""
        rounds = self.constants.horizon
        limit = f"the trivial {self.trivial_name} = {self.trivial:.4g}"
        if self.vacuous:
            least = f"the repaired bound, {self.repaired:.4g} (tightened {self.tight:.4g}),"
            return f"Vacuous at T = {rounds}: {least} says no more than {limit}{self.caveat}."
        least = f"at most {self.value:.4g}, {100 * self.value / self.trivial:.3g} % of {limit}"
        premise = (
            f"If gamma_T <= {self.information_gain:.4g} "
            f"and the policy plays with delta = {self.delta:.3g}"
        )
        return f"{premise}, the expected regret after T = {rounds} rounds is {least}{self.caveat}."

    @property
    def trivial_name(self) -> str:
        return "2 D T" if self.largest == 1 else "2 D T sqrt(sup k)"

    @property
    def caveat(self) -> str:
        """What a reader must know of the constants: that they are not exact, or falsely bounded."""
        error, method = self.constants.error, self.constants.method
        how = "are simulated, with a standard error of" if method == "simulated" else "are known to"
        doubt = f"; C2 and C3 are {method}" if "false" in method else ""
        return doubt + (f"; C2 and C3 {how} {error:.2g}" if error else "")


@dataclass(frozen=True)
class Setting:
    """T, gamma, R, D, ridge, sup k and delta, checked; and the terms that all bounds share."""

    horizon: int
    gain: float
    noise_scale: float
    norm_bound: float
    ridge: float
    largest: float
    given_delta: float | None

    def __post_init__(self) -> None:
        owner = "regret_bound"
        checks.nonnegative(owner, "information_gain", self.gain)
        checks.scale(owner, "noise_scale", self.noise_scale)
        checks.positive(owner, "norm_bound", checks.scale(owner, "norm_bound", self.norm_bound))
        checks.positive(owner, "ridge", self.ridge)
        checks.positive(owner, "largest", self.largest)
        if self.given_delta is not None:
            checks.needs(
                checks.chance(owner, "delta", self.given_delta) > 0,
                owner,
                "delta > 0",
                self.given_delta,
            )

    @property
    def trivial(self) -> float:
        """2 D sqrt(sup k) T."""
        return 2 * self.norm_bound * math.sqrt(self.largest) * self.horizon

    @property
    def delta(self) -> float:
        """As given, else min(1, 1 / (2 D sqrt(sup k) T))."""
        if self.given_delta is not None:
            return float(self.given_delta)
        return 1 / self.trivial if self.trivial > 1 else 1.0

    @property
    def log_inverse(self) -> float:
        """ln(1 / delta), never below 0."""
        if self.given_delta is not None:
            return -math.log(self.given_delta)
        # The sum of logarithms, because the product 2 D sqrt(sup k) T may overflow.
        logarithm = (
            math.log(2 * self.horizon) + math.log(self.norm_bound) + math.log(self.largest) / 2
        )
        return max(0.0, logarithm)

    @property
    def leftover(self) -> float:
        """2 D sqrt(sup k) T delta, the regret in the event that the confidence band fails."""
        if self.given_delta is None:
            return min(1.0, self.trivial)
        return self.trivial * self.given_delta

    def width(self, logarithm: float) -> float:
        """D + (R / sqrt(ridge)) sqrt(2 gamma + 2 c)"""
        spread = multiply(
            self.noise_scale / math.sqrt(self.ridge), math.sqrt(2 * self.gain + 2 * logarithm)
        )
        return self.norm_bound + spread

    @property
    def reach(self) -> float:
        """sqrt(T gamma ridge)"""
        return multiply(math.sqrt(self.horizon), math.sqrt(self.gain), math.sqrt(self.ridge))

    @property
    def potential(self) -> float:
        """M / ln(1 + M)"""
        return potential_factor(self.largest / self.ridge)


def regret_bound(
    exploration: Any,
    horizon: int,
    information_gain: float | InformationGain,
    *,
    noise_scale: float,
    norm_bound: float,
    ridge: float = 1.0,
    largest: float = 1.0,
    delta: float | None = None,
) -> RegretBound:
    """Return the bounds of Theorem 1 for the expected regret of a Generic-GP policy.

    Parameters
    ----------
    exploration
        An exploration law, a schedule t -> law, or its `Constants`.
    horizon
        Number of rounds T.
    information_gain
        An upper bound of gamma_T at this ridge: a number, or the result of `information_gain`.
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: the RKHS norm of f is at most D.
    largest
        sup k(x, x), 1 for the usual kernels.
    delta
        The delta with which the policy plays. By default min(1, 1 / (2 D T)), for which the
        repaired bound is smallest up to logarithms.

    Examples
    --------
    >>> from kernelbandits import PointMass
    >>> bound = regret_bound(PointMass(1), 10_000, 20.0, noise_scale=0.1, norm_bound=1)
    >>> round(bound.repaired), round(bound.tight), bound.vacuous
    (6346, 2695, False)
    """
    rounds = checks.whole("regret_bound", "horizon", horizon)
    gain = gain_at(information_gain, rounds, ridge)
    setting = Setting(rounds, gain, noise_scale, norm_bound, ridge, largest, delta)
    found = constants_at(exploration, rounds)
    bounds = (
        printed_bound(found, setting),
        repaired_bound(found, setting),
        tight_bound(found, setting),
    )
    return RegretBound(*bounds, setting.trivial, setting.delta, found, gain, largest)


def gain_at(information_gain: float | InformationGain, horizon: int, ridge: float) -> float:
    """gamma_T; refuses an information gain that was computed for another T or ridge."""
    if not isinstance(information_gain, InformationGain):
        return checks.nonnegative("regret_bound", "information_gain", information_gain)
    known = information_gain.horizon, information_gain.ridge
    checks.needs(
        known == (horizon, ridge),
        "regret_bound",
        f"a gain at T = {horizon} and ridge {ridge}",
        known,
    )
    return information_gain.upper


def constants_at(exploration: Any, horizon: int) -> Constants:
    """C1, C2, C3; refuses constants that were computed for another T."""
    if not isinstance(exploration, Constants):
        return constants(exploration, horizon)
    checks.needs(
        exploration.horizon == horizon,
        "regret_bound",
        f"constants at T = {horizon}",
        exploration.horizon,
    )
    numbers = exploration.c2, exploration.c3, exploration.c3_tight
    checks.needs(
        all(number >= 0 for number in numbers),
        "regret_bound",
        "constants C2, C3, C3' >= 0",
        numbers,
    )
    return exploration


def printed_bound(found: Constants, setting: Setting) -> float:
    """2 (C2 + 2 C3) g(2) sqrt(T gamma) + 2 g(2 T D^2) sqrt(T gamma) + 1"""
    inside = max(0.0, math.log(2 * setting.horizon) + 2 * math.log(setting.norm_bound))
    widths = multiply(found.c2 + 2 * found.c3, setting.width(math.log(2))) + setting.width(inside)
    return multiply(2 * widths, setting.reach) + 1


def repaired_bound(found: Constants, setting: Setting) -> float:
    """(1 + C2 + C3) g(1/delta) sqrt(2 max(2, M / ln(1 + M))) sqrt(T gamma ridge) + 2 D T delta"""
    factor = math.sqrt(2 * max(2.0, setting.potential))
    return (
        multiply(1 + found.c2 + found.c3, setting.width(setting.log_inverse), factor, setting.reach)
        + setting.leftover
    )


def tight_bound(found: Constants, setting: Setting) -> float:
    """(1 + C2 + C3') g(1/delta) sqrt(2 M / ln(1 + M)) sqrt(T gamma ridge) + 2 D T delta"""
    factor, width = math.sqrt(2 * setting.potential), setting.width(setting.log_inverse)
    return multiply(1 + found.c2 + found.c3_tight, width, factor, setting.reach) + setting.leftover


def potential_factor(ratio: float) -> float:
    """M / ln(1 + M), and 1 at M = 0.

    If k(x, x) / ridge <= M, then sum_t sd(x_t)^2 / ridge <= M / ln(1 + M) log det(I + K / ridge).
    """
    return ratio / math.log1p(ratio) if 0 < ratio < math.inf else max(1.0, ratio)


def multiply(*factors: float) -> float:
    """The product; 0 if a factor is 0, even if another one is infinite."""
    return 0.0 if 0 in factors else math.prod(factors)


def first_useful(bound_at: Callable[[int], RegretBound], limit: int = LONGEST) -> int | None:
    """Return a horizon T at which the bound is below 2 D T, and is not at T - 1.

    The search doubles T and then bisects. It finds the smallest such T if bound / (2 D T) decreases
    with T, as it does for one law in all rounds. For a schedule an earlier interval between two
    powers of two may be missed. The result is None if no T up to the limit is found.

    Examples
    --------
    >>> from kernelbandits import PointMass
    >>> from kernelbandits.theory import linear_gain
    >>> def bound_at(T):
    ...     return regret_bound(PointMass(1), T, linear_gain(3, T), noise_scale=1, norm_bound=1)
    >>> first_useful(bound_at)
    1197
    """
    checks.needs(callable(bound_at), "first_useful", "a function T -> RegretBound", bound_at)
    last = checks.whole("first_useful", "limit", limit)
    low, high = 0, 1
    while is_vacuous_at(bound_at, high):
        if high >= last:
            return None
        low, high = high, min(2 * high, last)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_vacuous_at(bound_at, middle) else (low, middle)
    return high


def is_vacuous_at(bound_at: Callable[[int], Any], horizon: int) -> bool:
    """Whether the bound at this T is vacuous."""
    bound = bound_at(horizon)
    checks.needs(hasattr(bound, "vacuous"), "first_useful", "a function T -> RegretBound", bound)
    return bool(bound.vacuous)
