"""What a regret bound is told: T, gamma, R, D, ridge, sup k, delta; the terms that bounds share.

Three numbers describe what else may differ: an error of the model, restarts, and results that come
late. docs/theory has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelbandits import checks
from kernelbandits.theory.information import InformationGain


@dataclass(frozen=True)
class TheorySetting:
    """T, gamma, R, D, ridge, sup k and delta, checked; and the terms that all bounds share."""

    horizon: int
    gain: float
    noise_scale: float
    norm_bound: float
    ridge: float
    largest: float
    given_delta: float | None
    error: float = 0.0
    """eps: by how much f may differ from a function of norm D, in all rounds of a block."""
    block: int | None = None
    """N: the rule begins anew after so many rounds; None where it never does."""
    pending: float = 0.0
    """The most that results which are not yet known add to log det(I + K / ridge)."""

    def __post_init__(self) -> None:
        owner = "regret_bound"
        checks.scale(owner, "error", self.error)
        checks.nonnegative(owner, "pending", self.pending)
        # Its exponential must be a number.
        checks.needs(self.pending <= 1000, owner, "pending <= 1000", self.pending)
        if self.block is not None:
            rounds = checks.whole(owner, "block", self.block)
            checks.needs(rounds <= self.horizon, owner, f"block <= T = {self.horizon}", rounds)
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
    def largest_gap(self) -> float:
        """2 D sqrt(sup k): no two values of a function of norm D differ by more."""
        return 2 * self.norm_bound * math.sqrt(self.largest)

    @property
    def trivial(self) -> float:
        """2 D sqrt(sup k) T, and 2 eps T more where f may differ from a function of norm D."""
        return self.largest_gap * self.horizon + 2 * self.error * self.horizon

    @property
    def learnt_rounds(self) -> int:
        """The rounds after which the rule begins anew: N, or T."""
        return self.horizon if self.block is None else self.block

    @property
    def blocks(self) -> int:
        """How often the rule begins: T / N, rounded up."""
        return -(-self.horizon // self.learnt_rounds)

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

    @property
    def spread(self) -> float:
        """R / sqrt(ridge)"""
        return self.noise_scale / math.sqrt(self.ridge)

    def width(self, logarithm: float) -> float:
        """Return the width at L = 2 gamma, with c = `logarithm` = ln(1/delta).

        D + (R / sqrt(ridge)) sqrt(2 gamma + 2 c) + eps sqrt((N - 1) / ridge)
        """
        noise = multiply(self.spread, math.sqrt(2 * self.gain + 2 * logarithm))
        return self.norm_bound + noise + self.widening

    @property
    def widening(self) -> float:
        """eps sqrt((N - 1) / ridge): what errors of eps in the rewards of a block do to the mean,
        in multiples of sd."""
        return multiply(self.error, math.sqrt((self.learnt_rounds - 1) / self.ridge))

    @property
    def reach(self) -> float:
        """exp(pending / 2) sqrt(T blocks gamma ridge)"""
        roots = (self.horizon, self.blocks, self.gain, self.ridge)
        return multiply(math.exp(self.pending / 2), *map(math.sqrt, roots))

    @property
    def potential(self) -> float:
        """M / ln(1 + M)"""
        return potential_factor(self.largest / self.ridge)


def gain_at(information_gain: float | InformationGain, horizon: int, ridge: float) -> float:
    """Return gamma_T; refuse an information gain that was computed for another T or ridge."""
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


def potential_factor(ratio: float) -> float:
    """Return M / ln(1 + M), and 1 at M = 0.

    If k(x, x) / ridge <= M, then sum_t sd(x_t)^2 / ridge <= M / ln(1 + M) log det(I + K / ridge).
    """
    return ratio / math.log1p(ratio) if 0 < ratio < math.inf else max(1.0, ratio)


def multiply(*factors: float) -> float:
    """Return the product; 0 if a factor is 0, even if another one is infinite."""
    return 0.0 if 0 in factors else math.prod(factors)
