"""Regret bounds: as the paper prints them, and with its proof repaired (docs/errata.md).

All need |f| <= D and R-sub-Gaussian noise; none says more than that no gap exceeds 2 D sup sqrt(k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.theory.constants import Constants, constants
from kernelbandits.theory.information import InformationGain


@dataclass(frozen=True)
class RegretBound:
    """Upper bounds of the expected regret after T rounds, and what they rest on."""

    printed: float
    """2 (C2 + 2 C3) g(2) sqrt(T gamma) + 2 g(2 T D^2) sqrt(T gamma) + 1, as printed for ridge 1: its proof has a gap."""
    repaired: float
    """(1 + C2 + C3) g(1/delta) sqrt(4 T gamma) + 2 D T delta, for a rule that plays with that delta."""
    tight: float
    """The same with C3' = E max (w - E w)^+ / C1 for C3, and M / ln(1 + M), M = sup k / ridge, for the factor 2 of 4."""
    trivial: float
    """2 D T: no gap exceeds 2 D."""
    delta: float
    """The confidence with which the policy must play for the repaired bound to be proved."""
    constants: Constants
    information_gain: float

    @property
    def value(self) -> float:
        """The least that is proved."""
        return min(self.tight, self.repaired, self.trivial)

    @property
    def vacuous(self) -> bool:
        """Whether the theory says no more than 2 D T."""
        return self.value >= self.trivial


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
    owner = "regret_bound"
    given = information_gain.upper if isinstance(information_gain, InformationGain) else information_gain
    gain = checks.nonnegative(owner, "information_gain", given)
    noise, norm = checks.scale(owner, "noise_scale", noise_scale), checks.positive(owner, "norm_bound", norm_bound)
    share, top = checks.positive(owner, "ridge", ridge), checks.positive(owner, "largest", largest)
    found = exploration if isinstance(exploration, Constants) else constants(exploration, horizon)
    rounds = checks.whole(owner, "horizon", horizon)
    trivial = 2 * norm * math.sqrt(top) * rounds
    chance = min(1.0, 1 / trivial) if delta is None else checks.chance(owner, "delta", delta)
    checks.needs(chance > 0, owner, "delta > 0", chance)

    def width(inverse: float) -> float:
        """D + (R / sqrt(ridge)) sqrt(2 gamma + 2 ln(inverse)^+)"""
        return norm + noise / math.sqrt(share) * math.sqrt(2 * gain + 2 * max(0.0, math.log(inverse)))

    reach, ratio = math.sqrt(rounds * gain * share), top / share
    potential = max(2.0, ratio / math.log1p(ratio))
    printed = 2 * ((found.c2 + 2 * found.c3) * width(2) + width(2 * rounds * norm**2)) * reach + 1
    repaired = (1 + found.c2 + found.c3) * width(1 / chance) * math.sqrt(2 * potential) * reach + trivial * chance
    sharp = math.sqrt(2 * ratio / math.log1p(ratio)) * reach
    tight = (1 + found.c2 + found.c3_tight) * width(1 / chance) * sharp + trivial * chance
    return RegretBound(printed, repaired, tight, trivial, chance, found, gain)
