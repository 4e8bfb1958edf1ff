"""The regret bound of an upper-confidence rule: it depends only on the width of its band."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelbandits import checks
from kernelbandits.theory.information import InformationGain
from kernelbandits.theory.setting import gain_at, potential_factor


@dataclass(frozen=True)
class UCBBound:
    """An upper bound of the expected regret after T rounds of the rule mean + width sd.

    `ucb_bound` returns it.

    >>> import kernelbandits as kb
    >>> bound = kb.theory.ucb_bound(2.0, 100, 20.0, norm_bound=1.0, delta=0.001)
    >>> round(bound.regret), bound.trivial, bound.value, bound.vacuous
    (304, 200.0, 200.0, True)
    """

    regret: float
    """2 width sqrt(2 T ridge gamma M / ln(1 + M)) + 2 D T delta, M = sup k / ridge"""
    trivial: float
    """2 D T sqrt(sup k): the largest regret that is possible at all."""
    delta: float
    """The probability with which f may leave the band."""
    width: float
    """The largest width in the rounds 1..T."""
    information_gain: float
    """The bound of gamma_T that was used."""

    @property
    def value(self) -> float:
        """The smaller of both bounds."""
        return min(self.regret, self.trivial)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is no smaller than the trivial 2 D T."""
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
    """Return an upper bound of the expected regret of a UCB rule, with M = sup k / ridge.

    R(T) <= 2 width sqrt(2 T ridge gamma_T M / ln(1 + M)) + 2 D T delta

    The bound holds for a rule that plays the maximiser of mean + width_t sd, if with probability
    1 - delta |f - mean| <= width_t sd on all arms in all rounds at once. A round then loses at most
    2 width_t sd(x_t), and sum sd(x_t)^2 <= ridge M / ln(1 + M) L_T with L_T <= 2 gamma_T.

    Parameters
    ----------
    width
        The largest width in the rounds 1..T, at L = 2 gamma_T.
    horizon
        Number of rounds T.
    information_gain
        An upper bound of gamma_T at this ridge: a number, or the result of `information_gain`.
    norm_bound
        D: the RKHS norm of f is at most D.
    largest
        sup k(x, x).

    Examples
    --------
    >>> from kernelbandits.theory import ucb_bound
    >>> bound = ucb_bound(2.0, 10_000, 20.0, norm_bound=1, delta=0.001)
    >>> round(bound.value), bound.vacuous
    (3059, False)
    """
    owner = "ucb_bound"
    rounds = checks.whole(owner, "horizon", horizon)
    size = checks.nonnegative(owner, "width", width)
    norm = checks.positive(owner, "norm_bound", norm_bound)
    chance = checks.inside(owner, "delta", delta)
    share = checks.positive(owner, "ridge", ridge)
    top = checks.positive(owner, "largest", largest)
    gain = gain_at(information_gain, rounds, share)
    trivial = 2 * norm * math.sqrt(top) * rounds
    # A product of roots, because the product under one root may overflow.
    reach = (
        math.sqrt(2 * rounds)
        * math.sqrt(share)
        * math.sqrt(gain)
        * math.sqrt(potential_factor(top / share))
    )
    return UCBBound(2 * size * reach + trivial * chance, trivial, chance, size, gain)
