"""The confidence width of each rule: three numbers a round, width_t = a_t + sqrt(b_t + c_t L).

The width multiplies the posterior standard deviation. L = log det(I + K / ridge) of the rounds
before t. The papers multiply an operator norm that is sd / sqrt(ridge); here the factor
1 / sqrt(ridge) is part of the width.

Almost all rules of the literature have this form, so one class and one compiled loop play them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.theory.gains import Rounds, Term


@dataclass(frozen=True)
class Width:
    """width_t(L) = a_t + sqrt(b_t + c_t L).

    >>> from kernelbandits.widths import Width
    >>> width = Width("1 + sqrt(4 L)", lambda t: (1.0, 0.0, 4.0))
    >>> width(t=1, log_det=9.0)
    7.0
    """

    rule: str
    """The formula, as text."""
    terms: Callable[[Rounds], tuple[Rounds, Rounds, Rounds]]
    """t -> (a_t, b_t, c_t), for a round t or an array of rounds."""

    def __call__(self, t: int, log_det: float) -> float:
        """Return the width of round t."""
        a, b, c = self.terms(t)
        return float(a + math.sqrt(b + c * log_det))

    def table(self, horizon: int, first: int = 1) -> Array:
        """Return one row (a_t, b_t, c_t) for each of the rounds first..horizon."""
        rounds = np.arange(first, horizon + 1)
        table = np.empty((len(rounds), 3))
        table[:, 0], table[:, 1], table[:, 2] = self.terms(rounds)
        return table


# Terms that Auto plays by are classes and no inner functions, so that a policy can be pickled.
@dataclass(frozen=True)
class EqualTerms:
    """t -> (a, b, c), the same in every round."""

    values: tuple[float, float, float]

    def __call__(self, t: Rounds) -> tuple[Rounds, Rounds, Rounds]:
        return self.values


@dataclass(frozen=True)
class DecayingTerms:
    """t -> (first t^-power, 0, 0)."""

    first: float
    power: float

    def __call__(self, t: Rounds) -> tuple[Rounds, Rounds, Rounds]:
        return self.first * t**-self.power, 0.0, 0.0


def self_normalised(noise_scale: float, norm_bound: float, ridge: float, delta: float) -> Width:
    """Return the width of Whitehouse et al. (2023), Theorem 1.

    D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)

    With ridge 1 and delta 1/2 it is the bracket of g in eq. (g3) of the paper.
    """
    share = noise_scale**2 / ridge
    terms = (norm_bound, 2 * share * math.log(1 / delta), share)
    return Width("D + (R/sqrt(ridge)) sqrt(2 ln(1/delta) + L)", EqualTerms(terms))


def bogunovic_krause(
    noise_scale: float, norm_bound: float, ridge: float, delta: float, error: float
) -> Width:
    """Return the width of Bogunovic & Krause (2021), for f within `error` of a function of norm D.

    D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L) + error sqrt((t - 1) / ridge)
    """
    share = noise_scale**2 / ridge
    square = 2 * share * math.log(1 / delta)
    return Width(
        "D + (R/sqrt(ridge)) sqrt(2 ln(1/delta) + L) + error sqrt((t - 1)/ridge)",
        lambda t: (norm_bound + error * np.sqrt((t - 1) / ridge), square, share),
    )


def chowdhury_gopalan(
    noise_scale: float, norm_bound: float, delta: float, gain: Term, chance: int = 1
) -> Width:
    """Return the width of Chowdhury & Gopalan (2017).

    D + R sqrt(2 (gamma_{t-1} + 1 + ln(chance / delta)))

    beta_t of IGP-UCB has chance 1, and v_t of GP-TS has chance 2.
    """
    square = 2 * noise_scale**2
    paid = 1 + math.log(chance / delta)

    def terms(t: Rounds) -> tuple[Rounds, Rounds, Rounds]:
        fixed, share = gain(t - 1)
        return norm_bound, square * (fixed + paid), square * share

    return Width(f"D + R sqrt(2 (gamma_{{t-1}} + 1 + ln({chance}/delta)))", terms)


def srinivas_finite(arms: int, delta: float, beta_scale: float) -> Width:
    """Return the width of Srinivas et al. (2010), Theorem 1, for a finite set of arms.

    sqrt(beta_t),  beta_t = scale * 2 ln(|X| t^2 pi^2 / (6 delta))
    """
    constant = math.log(arms * math.pi**2 / (6 * delta))
    return Width(
        "sqrt(2 ln(|X| t^2 pi^2 / (6 delta)))",
        lambda t: (0.0, beta_scale * 2 * (constant + 2 * np.log(t)), 0.0),
    )


def srinivas_rkhs(norm_bound: float, delta: float, gain: Term, beta_scale: float) -> Width:
    """Return the width of Srinivas et al. (2010), Theorem 3, for a function of bounded norm.

    sqrt(beta_t),  beta_t = scale (2 D^2 + 300 gamma_t ln^3(t / delta))
    """

    def terms(t: Rounds) -> tuple[Rounds, Rounds, Rounds]:
        fixed, share = gain(t)
        cubed = 300 * np.log(t / delta) ** 3
        return 0.0, beta_scale * (2 * norm_bound**2 + cubed * fixed), beta_scale * cubed * share

    return Width("sqrt(2 D^2 + 300 gamma_t ln^3(t/delta))", terms)


def fixed_design(
    noise_scale: float, norm_bound: float, ridge: float, delta: float, claims: float
) -> Width:
    """Return the width for arms that were chosen without their rewards.

    D + (R / sqrt(ridge)) sqrt(2 ln(2 claims / delta))

    Each of `claims` two-sided statements |f - mean| <= width sd is wrong with probability at most
    delta / claims.
    """
    width = norm_bound + noise_scale / math.sqrt(ridge) * math.sqrt(
        2 * math.log(2 * claims / delta)
    )
    return Width(
        f"D + (R/sqrt(ridge)) sqrt(2 ln(2 m/delta)), m = {claims:.10g}",
        EqualTerms((width, 0.0, 0.0)),
    )


def kernel_ucb(eta: float, ridge: float) -> Width:
    """Return the width of Valko et al. (2013), whose norm of an arm is sd / sqrt(ridge).

    eta / sqrt(ridge)
    """
    width = eta / math.sqrt(ridge)
    return Width("eta/sqrt(ridge)", EqualTerms((width, 0.0, 0.0)))


def bogunovic_practical() -> Width:
    """Return the width of the experiments of Bogunovic et al. (2016); no theorem covers it.

    sqrt(0.8 ln(4 t))
    """
    return Width("sqrt(0.8 ln(4 t))", lambda t: (0.0, 0.8 * np.log(4 * t), 0.0))


def truncation_level(moment_bound: float, excess: float) -> Callable[[Rounds], Rounds]:
    """Return n -> b_n = v^(1 / (1 + a)) n^(1 / (2 (1 + a))), with b_0 = 0.

    The n-th reward is truncated to zero if it is larger than b_n.
    """
    order = 1 + excess
    return lambda n: moment_bound ** (1 / order) * n ** (0.5 / order)


def truncated_rewards(
    level: Callable[[Rounds], Rounds], norm_bound: float, delta: float, gain: Term
) -> Width:
    """Return the width of TGP-UCB: Chowdhury & Gopalan (2019), rewards truncated at the level b_t.

    D + 3 b_{t-1} sqrt(gamma_{t-1} + 1 + ln(1/delta))
    """
    paid = 1 + math.log(1 / delta)

    def terms(t: Rounds) -> tuple[Rounds, Rounds, Rounds]:
        fixed, share = gain(t - 1)
        square = 9 * level(t - 1) ** 2
        return norm_bound, square * (fixed + paid), square * share

    return Width("D + 3 b_{t-1} sqrt(gamma_{t-1} + 1 + ln(1/delta))", terms)


def mixture(noise_scale: float, norm_bound: float, ridge: float, delta: float) -> Width:
    """Return the closed form of Flynn & Reeb (2024).

    sqrt((R^2 / ridge) (2 ln(1/delta) + L) + D^2)

    Their constant c is R^2 / ridge.
    """
    share = noise_scale**2 / ridge
    terms = (0.0, 2 * share * math.log(1 / delta) + norm_bound**2, share)
    return Width("sqrt((R^2/ridge) (2 ln(1/delta) + L) + D^2)", EqualTerms(terms))


def unknown_variance(norm_bound: float, delta: float) -> Width:
    """Return the width of Durand et al. (2018) at ridge s^2 / D^2.

    D (1 + sqrt(2 ln(1/delta) + L))

    s is the upper bound on the noise scale, so s / sqrt(ridge) = D.
    """
    square = norm_bound**2
    terms = (norm_bound, 2 * square * math.log(1 / delta), square)
    return Width(
        f"D (1 + sqrt(2 ln(1/delta') + L_-)), delta' = {delta:g}, at ridge s_+^2/D^2, which moves",
        EqualTerms(terms),
    )


def polynomial_decay(first: float = 5.0, power: float = 1 / 3) -> Width:
    """Return a width that falls like a power of t: no confidence bound, but chosen by benchmark.

    first * t^-power

    docs/decisions/0006 has the comparison. A width that falls to zero has no guarantee of sublinear
    regret.
    """
    return Width(
        f"{first:g} t^-{power:.3g} (practical: nothing is claimed)",
        DecayingTerms(first, power),
    )


def constant(factor: float) -> Width:
    """Return the same number in every round; it is no confidence bound."""
    return Width(f"{factor:g} (practical: nothing is claimed)", EqualTerms((factor, 0.0, 0.0)))
