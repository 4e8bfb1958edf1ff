"""Regret bounds: as the paper prints them, and with its proof repaired (docs/errata.md).

All need k(x, x) <= 1, |f| <= D, R-sub-Gaussian noise and the paper's ridge 1; none can say more than 2 D T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.theory.constants import Constants, constants


@dataclass(frozen=True)
class RegretBound:
    """An upper bound of the expected regret after T rounds, and what it rests on."""

    printed: float
    """2 (C2 + 2 C3) g(2) sqrt(T gamma) + 2 g(2 T D^2) sqrt(T gamma) + 1, as printed: its proof has a gap."""
    repaired: float
    """(1 + C2 + C3) g(1/delta) sqrt(4 T gamma) + 2 D T delta, delta = min(1, 1 / (2 D T)), for a rule with that delta."""
    tight: float
    """The same with C3' = E max (w - E w)^+ / C1 for C3."""
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
    exploration: Any, horizon: int, information_gain: float, *, noise_scale: float, norm_bound: float
) -> RegretBound:
    """The bounds of Theorem 1 for a law or schedule, gamma_T an upper bound of the information gain."""
    owner = "regret_bound"
    gain = checks.nonnegative(owner, "information_gain", information_gain)
    noise, norm = checks.scale(owner, "noise_scale", noise_scale), checks.positive(owner, "norm_bound", norm_bound)
    found = constants(exploration, horizon)
    delta = min(1.0, 1 / (2 * norm * horizon))
    reach = math.sqrt(4 * horizon * gain)

    def width(chance: float) -> float:
        """sqrt(2 R^2 gamma + 2 R^2 ln(chance)^+) + D"""
        return noise * math.sqrt(2 * gain + 2 * max(0.0, math.log(chance))) + norm

    printed = (found.c2 + 2 * found.c3) * width(2) * reach + width(2 * horizon * norm**2) * reach + 1
    left = 2 * norm * horizon * delta
    repaired = (1 + found.c2 + found.c3) * width(1 / delta) * reach + left
    tight = (1 + found.c2 + found.c3_tight) * width(1 / delta) * reach + left
    return RegretBound(printed, repaired, tight, 2 * norm * horizon, delta, found, gain)
