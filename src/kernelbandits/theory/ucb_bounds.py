"""The regret bound of an upper-confidence rule whose band holds: no law, no constants, only its width."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelbandits import checks
from kernelbandits.theory.bounds import gain_at, potential_factor
from kernelbandits.theory.information import InformationGain


@dataclass(frozen=True)
class UCBBound:
    """An upper bound of the expected regret after T rounds of mean + width sd, and what it rests on."""

    regret: float
    """2 width sqrt(2 T ridge gamma M / ln(1 + M)) + 2 D T delta, M = sup k / ridge"""
    trivial: float
    """2 D T sqrt(sup k): no gap exceeds it in any round."""
    delta: float
    width: float
    """The greatest width of the rounds 1..T."""
    information_gain: float

    @property
    def value(self) -> float:
        """The least that is proved."""
        return min(self.regret, self.trivial)

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than 2 D T."""
        return self.value >= self.trivial


def ucb_bound(
    width: float,
    horizon: int,
    information_gain: float | InformationGain,
    *,
    norm_bound: float,
    ridge: float = 1.0,
    largest: float = 1.0,
    delta: float = 0.1,
) -> UCBBound:
    """For a rule with |f - mean| <= width_t sd on all arms in all rounds at once, with chance 1 - delta.

    Then a round loses at most 2 width_t sd(x_t), and sum sd(x_t)^2 <= ridge M / ln(1 + M) L_T with L_T <= 2 gamma_T:

        R(T) <= 2 width sqrt(2 T ridge gamma_T M / ln(1 + M)) + 2 D T delta,   M = sup k / ridge.

    `width` is the greatest of the rounds, at L = 2 gamma_T; gamma_T an upper bound at this ridge; `largest` is sup k.
    """
    owner = "ucb_bound"
    rounds, size = (
        checks.whole(owner, "horizon", horizon),
        checks.nonnegative(owner, "width", width),
    )
    norm, chance = (
        checks.positive(owner, "norm_bound", norm_bound),
        checks.inside(owner, "delta", delta),
    )
    share, top = checks.positive(owner, "ridge", ridge), checks.positive(owner, "largest", largest)
    gain, trivial = gain_at(information_gain, rounds, share), 2 * norm * math.sqrt(top) * rounds
    reach = (
        math.sqrt(2 * rounds)
        * math.sqrt(share)
        * math.sqrt(gain)
        * math.sqrt(potential_factor(top / share))
    )
    return UCBBound(2 * size * reach + trivial * chance, trivial, chance, size, gain)
