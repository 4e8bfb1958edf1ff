"""Regret bounds: as the paper prints them, and with its proof repaired (docs/errata.md).

All need |f| <= D and R-sub-Gaussian noise. With g(x) = width sd(x), M = sup k / ridge and any gamma >= gamma_T,

    sum_t sd(x_t)^2 <= ridge M / ln(1 + M) L_T,   L_T = log det(I + K / ridge) <= 2 gamma,
    width(c) = D + (R / sqrt(ridge)) sqrt(2 gamma + 2 c),   c = ln(1 / delta),

so sum_t g(x_t) <= width(c) sqrt(2 M / ln(1 + M)) sqrt(T gamma ridge). A number beyond 1.8e308 is given as inf.
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
"""What tables and plots call the bounds."""

LONGEST = 10**12


@dataclass(frozen=True)
class RegretBound:
    """Upper bounds of the expected regret after T rounds, and what they rest on."""

    labels: ClassVar[Mapping[str, str]] = LABELS

    printed: float
    """2 (C2 + 2 C3) g(2) sqrt(T gamma) + 2 g(2 T D^2) sqrt(T gamma) + 1, g(a) = D + R sqrt(2 gamma + 2 (ln a)^+).

    Printed for ridge 1 and for a rule that plays with delta = 1/2; its proof has a gap. At another ridge g is the width
    there, and T gamma is multiplied by the ridge.
    """
    repaired: float
    """(1 + C2 + C3) g(1/delta) sqrt(4 T gamma) + 2 D T delta, for a rule that plays with that delta."""
    tight: float
    """The same with C3' = E max (w - E w)^+ / C1 for C3, and 2 M / ln(1 + M), M = sup k / ridge, for 4."""
    trivial: float
    """2 D sqrt(sup k) T: no gap exceeds 2 D sqrt(sup k)."""
    delta: float
    """The confidence with which the policy must play for the repaired bound to be proved."""
    constants: Constants
    information_gain: float
    largest: float = 1.0
    """sup k(x, x)"""

    @property
    def value(self) -> float:
        """The least that is proved, if gamma_T is at most the information gain."""
        return min(self.tight, self.repaired, self.trivial)

    @property
    def vacuous(self) -> bool:
        """Whether the theory says no more than 2 D T."""
        return self.value >= self.trivial

    @property
    def sentence(self) -> str:
        """What is proved, and that it is nothing where it is nothing."""
        rounds, limit = (
            self.constants.horizon,
            f"the trivial {self.trivial_name} = {self.trivial:.4g}",
        )
        if self.vacuous:
            least = f"the repaired bound, {self.repaired:.4g} (tightened {self.tight:.4g}),"
            return f"Vacuous at T = {rounds}: {least} says no more than {limit}{self.caveat}."
        least = f"at most {self.value:.4g}, {100 * self.value / self.trivial:.3g} % of {limit}"
        played = f"If gamma_T <= {self.information_gain:.4g} and the policy plays with delta = {self.delta:.3g}"
        return f"{played}, the expected regret after T = {rounds} rounds is {least}{self.caveat}."

    @property
    def trivial_name(self) -> str:
        return "2 D T" if self.largest == 1 else "2 D T sqrt(sup k)"

    @property
    def caveat(self) -> str:
        """What is to be said of the constants: where they are not exact, or bounded as a theorem falsely does."""
        error, method = self.constants.error, self.constants.method
        how = "are simulated, with a standard error of" if method == "simulated" else "are known to"
        doubt = f"; C2 and C3 are {method}" if "false" in method else ""
        return doubt + (f"; C2 and C3 {how} {error:.2g}" if error else "")


@dataclass(frozen=True)
class Setting:
    """T, gamma, R, D, ridge, sup k and delta, checked, and the terms that all bounds are made of."""

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
        """ln(1 / delta), added up in logarithms, which neither overflow nor fall below 0."""
        if self.given_delta is not None:
            return -math.log(self.given_delta)
        return max(
            0.0, math.log(2 * self.horizon) + math.log(self.norm_bound) + math.log(self.largest) / 2
        )

    @property
    def leftover(self) -> float:
        """2 D sqrt(sup k) T delta, which is min(1, 2 D sqrt(sup k) T) unless delta is given: it grows with D and T."""
        return (
            min(1.0, self.trivial) if self.given_delta is None else self.trivial * self.given_delta
        )

    def width(self, logarithm: float) -> float:
        """D + (R / sqrt(ridge)) sqrt(2 gamma + 2 c)"""
        spread = times(
            self.noise_scale / math.sqrt(self.ridge), math.sqrt(2 * self.gain + 2 * logarithm)
        )
        return self.norm_bound + spread

    @property
    def reach(self) -> float:
        """sqrt(T gamma ridge)"""
        return times(math.sqrt(self.horizon), math.sqrt(self.gain), math.sqrt(self.ridge))

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
    """Theorem 1 for a law, a schedule or its `Constants`; gamma_T an upper bound of the information gain at this ridge.

    `largest` is sup k(x, x); delta is min(1, 1 / (2 D T)) unless given.
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
    """gamma_T, of these T and ridge."""
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
    """The constants of these T rounds."""
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
    widths = times(found.c2 + 2 * found.c3, setting.width(math.log(2))) + setting.width(inside)
    return times(2 * widths, setting.reach) + 1


def repaired_bound(found: Constants, setting: Setting) -> float:
    """(1 + C2 + C3) g(1/delta) sqrt(2 max(2, M / ln(1 + M))) sqrt(T gamma ridge) + 2 D T delta"""
    factor = math.sqrt(2 * max(2.0, setting.potential))
    return (
        times(1 + found.c2 + found.c3, setting.width(setting.log_inverse), factor, setting.reach)
        + setting.leftover
    )


def tight_bound(found: Constants, setting: Setting) -> float:
    """(1 + C2 + C3') g(1/delta) sqrt(2 M / ln(1 + M)) sqrt(T gamma ridge) + 2 D T delta"""
    factor, width = math.sqrt(2 * setting.potential), setting.width(setting.log_inverse)
    return times(1 + found.c2 + found.c3_tight, width, factor, setting.reach) + setting.leftover


def potential_factor(ratio: float) -> float:
    """M / ln(1 + M), 1 at M = 0: sum_t sd(x_t)^2 / ridge is at most so many log-determinants, where k / ridge <= M."""
    return ratio / math.log1p(ratio) if 0 < ratio < math.inf else max(1.0, ratio)


def times(*factors: float) -> float:
    """The product, 0 where a factor is 0 even beside an infinite one."""
    return 0.0 if 0 in factors else math.prod(factors)


def first_useful(bound_at: Callable[[int], RegretBound], limit: int = LONGEST) -> int | None:
    """A T at which the bound says more than 2 D T and not one round before; None if none is found up to the limit.

    Found by doubling and bisection: the least such T where bound / (2 D T) falls with T, as for one law in all rounds;
    of a schedule an earlier stretch between two powers of two may be missed.
    """
    checks.needs(callable(bound_at), "first_useful", "a function T -> RegretBound", bound_at)
    last = checks.whole("first_useful", "limit", limit)
    low, high = 0, 1
    while says_nothing(bound_at, high):
        if high >= last:
            return None
        low, high = high, min(2 * high, last)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if says_nothing(bound_at, middle) else (low, middle)
    return high


def says_nothing(bound_at: Callable[[int], Any], horizon: int) -> bool:
    """Whether the bound at this T is vacuous."""
    bound = bound_at(horizon)
    checks.needs(hasattr(bound, "vacuous"), "first_useful", "a function T -> RegretBound", bound)
    return bool(bound.vacuous)
