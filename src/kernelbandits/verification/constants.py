"""The numbers in the regret bounds: the constants of a law, the information gain, the bounds.

What `kernelbandits.theory` computes is compared with the definition, where that can be evaluated by
other means: all outcomes of a few rounds, all designs of a few arms, or a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from kernelbandits.exploration import Certainty, Decay, Gaussian
from kernelbandits.kernels import RBF, Linear
from kernelbandits.streams import Streams
from kernelbandits.theory import Constants, constants, information_gain, regret_bound
from kernelbandits.verification.laws import LAWS, WeightLaw
from kernelbandits.verification.statements import CheckedStatement, Effort, compare_numbers

FEW_ROUNDS = 4
FIRST, LEAST = 0.8, 0.1
"""First and smallest probability of exploring, of the schedules Decay and Certainty."""
ARMS, RIDGE = 6, 0.6
NOISE_SCALE, NORM_BOUND, LARGEST_VARIANCE, HORIZON, GAIN = 0.7, 1.3, 1.7, 500, 9.0
# None of these numbers is 1: with 1, a factor that was forgotten would not show.
C2, C3, C3_TIGHT = 3.2414, 25.4, 19.1
# Any numbers will do here, because a bound is a formula of its constants.


def check_constants(effort: Effort) -> Iterator[CheckedStatement]:
    for title, (law, definition) in LAWS.items():
        if definition.discrete:
            yield check_all_outcomes(title, law, definition)
    yield check_decay()
    yield check_certainty()
    yield check_two_normals()
    yield check_gain_by_enumeration(effort)
    yield check_gain_of_orthonormal_arms()
    yield from check_bound_formulas()


def check_all_outcomes(title: str, law: Any, definition: WeightLaw) -> CheckedStatement:
    """Check the constants of a law against the averages over all outcomes of a few rounds.

    C2 = E max|w|,  C3 = E max|w| / C1 + E|w| / C1,  C3' = E max (w - E w)^+ / C1
    """
    values, masses = [m for _, m, _ in definition.parts], [p for p, _, _ in definition.parts]
    outcomes = np.array([*product(values, repeat=FEW_ROUNDS)])
    probabilities = np.array([math.prod(one) for one in product(masses, repeat=FEW_ROUNDS)])
    c1, c2 = definition.optimism, float(probabilities @ np.abs(outcomes).max(1))
    excess = float(probabilities @ np.maximum(outcomes - definition.mean, 0).max(1))
    return compare_constants(
        f"C1, C2, C3 and C3' of the law {title} over {FEW_ROUNDS} rounds "
        "are the averages over all outcomes",
        (c1, c2, (c2 + definition.mean_abs) / c1, excess / c1),
        constants(law, FEW_ROUNDS),
    )


def check_decay() -> CheckedStatement:
    """Check the constants of Ber(p_t) with p_1 >= p_2 >= ... against their closed form.

    C3 = 1 + sum_t prod_{s > t} (1 - p_s)

    The reason: the last round with w_t = 1 has the largest 1 / C1_t.
    """
    chances = [max(LEAST, FIRST / math.sqrt(t)) for t in range(1, 101)]
    never_later = [math.prod(1 - p for p in chances[t:]) for t in range(1, 101)]
    excess = sum((1 - p) * never for p, never in zip(chances, never_later, strict=True))
    c2 = 1 - math.prod(1 - p for p in chances)
    return compare_constants(
        "C1, C2, C3 and C3' of Ber(max(0.1, 0.8/sqrt(t))) over 100 rounds have their closed form",
        (LEAST, c2, 1 + sum(never_later), excess),
        constants(Decay(FIRST, 0.5, LEAST), 100),
    )


def check_certainty() -> CheckedStatement:
    """Check the constants of the worst history: p_t = first for C2, p_t = least for C3 and C3'."""
    ever = 1 - (1 - LEAST) ** 30
    return compare_constants(
        "C1, C2, C3 and C3' of Certainty(0.8, 0.1) over 30 rounds have their closed form",
        (LEAST, 1 - (1 - FIRST) ** 30, 1 + ever / LEAST, (1 / LEAST - 1) * ever),
        constants(Certainty(FIRST, LEAST), 30),
    )


def compare_constants(
    statement: str, right: tuple[float, ...], found: Constants
) -> CheckedStatement:
    computed = found.c1, found.c2, found.c3, found.c3_tight
    return compare_numbers(statement, np.abs(np.array(computed) - right), 1e-10, "rounding")


def check_two_normals() -> CheckedStatement:
    """Check the constants of two standard normals against their closed form.

    E max(|w_1|, |w_2|) = 2 / sqrt(pi),  E|w| = sqrt(2 / pi)
    """
    found = constants(Gaussian(), 2)
    c1, c2 = math.erfc(1 / math.sqrt(2)) / 2, 2 / math.sqrt(math.pi)
    c3 = (c2 + math.sqrt(2 / math.pi)) / c1
    return compare_numbers(
        "C1, C2 and C3 of N(0, 1) over two rounds are P(Z > 1), 2/sqrt(pi) and their closed form",
        [abs(found.c1 - c1), abs(found.c2 - c2), abs(found.c3 - c3)],
        1e-9,
        "rounding",
    )


def check_gain_by_enumeration(effort: Effort) -> CheckedStatement:
    """Check that gamma_4 of six arms is the largest value over all multisets of four arms."""
    points = Streams(effort.seed).generator(10).random((ARMS, 2))
    kernel = RBF(0.5)
    gram = kernel(points, points)
    designs = combinations_with_replacement(range(ARMS), FEW_ROUNDS)
    exact = max(log_det(gram[np.ix_(design, design)]) for design in designs) / 2
    found = information_gain(kernel, points, FEW_ROUNDS, RIDGE)
    enclosed = 0.95 * exact <= found.lower <= exact + 1e-9 <= found.upper + 2e-9 <= 1.15 * exact
    return CheckedStatement(
        f"The two bounds of the information gain enclose gamma_{FEW_ROUNDS} of {ARMS} arms, "
        f"found by trying all designs; ridge {RIDGE:g}",
        f"{exact:.6f}, enclosed within 5 % below and 15 % above",
        f"{found.lower:.6f} to {found.upper:.6f}",
        holds=enclosed,
        detail="for so few rounds the greedy choice and the relaxation to fractional counts "
        "lose at most that much",
    )


def log_det(gram: Any) -> float:
    """Return log det(I + K / ridge)."""
    return float(np.linalg.slogdet(np.eye(len(gram)) + gram / RIDGE)[1])


def check_gain_of_orthonormal_arms() -> CheckedStatement:
    """Check gamma_T on d orthonormal arms, T a multiple of d.

    gamma_T = (d / 2) ln(1 + T / (d ridge))
    """
    exact = 3 / 2 * math.log1p(30 / (3 * RIDGE))
    found = information_gain(Linear(), np.eye(3), 30, RIDGE)
    too_low = abs(found.lower - exact) / exact
    too_high = (found.upper - exact) / exact - 2e-3
    return compare_numbers(
        "gamma_30 of three orthonormal arms is (3/2) ln(1 + 10/ridge)",
        [too_low, max(0.0, exact - found.upper), too_high],
        1e-9,
        "lower bound: rounding; upper bound: a duality gap of 0.2 %",
    )


def check_bound_formulas() -> Iterator[CheckedStatement]:
    """Check the four bounds against the formulas of docs/theory."""
    found = regret_bound(
        Constants(0.16, C2, C3, C3_TIGHT, HORIZON),
        HORIZON,
        GAIN,
        noise_scale=NOISE_SCALE,
        norm_bound=NORM_BOUND,
        ridge=RIDGE,
        largest=LARGEST_VARIANCE,
    )
    trivial = 2 * NORM_BOUND * math.sqrt(LARGEST_VARIANCE) * HORIZON
    root, ratio = math.sqrt(HORIZON * GAIN * RIDGE), LARGEST_VARIANCE / RIDGE
    factor = ratio / math.log1p(ratio)
    formulas = {
        "trivial": trivial,
        "printed": 2 * ((C2 + 2 * C3) * width(2) + width(2 * HORIZON * NORM_BOUND**2)) * root + 1,
        "repaired": (1 + C2 + C3) * width(trivial) * math.sqrt(2 * max(2.0, factor)) * root + 1,
        "tight": (1 + C2 + C3_TIGHT) * width(trivial) * math.sqrt(2 * factor) * root + 1,
    }
    for name, formula in formulas.items():
        yield compare_numbers(
            f"The regret bound `{name}` is its formula; ridge {RIDGE:g}, "
            f"sup k(x, x) = {LARGEST_VARIANCE:g}",
            abs(getattr(found, name) / formula - 1),
            1e-12,
            "relative, rounding",
        )


def width(inverse: float) -> float:
    """Return the width at L = 2 gamma.

    D + (R / sqrt(ridge)) sqrt(2 gamma + 2 ln(inverse))
    """
    return NORM_BOUND + NOISE_SCALE / math.sqrt(RIDGE) * math.sqrt(2 * GAIN + 2 * math.log(inverse))
