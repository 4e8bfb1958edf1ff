"""Does the calculator compute what it says? Gains by trying all, bounds by their formulas, at a ridge that is not 1."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from kernelbandits.exploration import Gaussian
from kernelbandits.judges import oracle
from kernelbandits.judges.finding import Effort, Finding, identity, verdict
from kernelbandits.kernels import RBF, Linear
from kernelbandits.streams import Streams
from kernelbandits.theory import Constants, constants, information_gain, regret_bound

NAME = "calculator"
ARMS, ROUNDS, RIDGE = 6, 4, 0.6
NOISE_SCALE, NORM_BOUND, LARGEST, HORIZON, GAIN = 0.7, 1.3, 1.7, 500, 9.0
"""None of them 1, where a forgotten factor would not show."""
C2, C3, C3_TIGHT = 3.2414, 25.4, 19.1
"""Any numbers: a bound is a formula of its constants."""


def calculator(effort: Effort) -> Iterator[Finding]:
    yield tried_all(effort)
    yield orthonormal()
    yield from bounds()
    yield two_normals()


def tried_all(effort: Effort) -> Finding:
    """gamma_4 of six arms by trying every multiset of four."""
    points = Streams(effort.seed).generator(10).random((ARMS, 2))
    gram = oracle.rbf(0.5)(points, points)
    plays = combinations_with_replacement(range(ARMS), ROUNDS)
    exact = max(oracle.log_det(gram, list(play), RIDGE) for play in plays) / 2
    found = information_gain(RBF(0.5), points, ROUNDS, RIDGE)
    inside = 0.95 * exact <= found.lower <= exact + 1e-9 <= found.upper + 2e-9 <= 1.15 * exact
    return Finding(
        NAME,
        f"lower <= gamma_{ROUNDS} <= upper, {ARMS} arms, ridge {RIDGE:g}, all multisets tried",
        f"{exact:.6f}, enclosed within 5 and 15 %",
        f"{found.lower:.6f} to {found.upper:.6f}",
        verdict(inside),
        detail="greedy choice and the relaxation to real-valued repeats lose that much at the most for so few rounds",
    )


def orthonormal() -> Finding:
    """gamma_T = (d / 2) ln(1 + T / (d ridge)) on d orthonormal arms, T a multiple of d: the relaxation is exact."""
    exact = 3 / 2 * math.log1p(30 / (3 * RIDGE))
    found = information_gain(Linear(), np.eye(3), 30, RIDGE)
    off = [
        abs(found.lower - exact) / exact,
        max(0.0, exact - found.upper),
        (found.upper - exact) / exact - 2e-3,
    ]
    statement = "gamma_30 of three orthonormal arms is (3/2) ln(1 + 10/ridge)"
    return identity(
        NAME, statement, off, 1e-9, "rounding below; above the duality gap, 0.2 % of it"
    )


def bounds() -> Iterator[Finding]:
    """The bounds as their formulas write them; see `regret_bound`."""
    given = Constants(0.16, C2, C3, C3_TIGHT, HORIZON)
    found = regret_bound(
        given,
        HORIZON,
        GAIN,
        noise_scale=NOISE_SCALE,
        norm_bound=NORM_BOUND,
        ridge=RIDGE,
        largest=LARGEST,
    )
    trivial = 2 * NORM_BOUND * math.sqrt(LARGEST) * HORIZON
    reach, ratio = math.sqrt(HORIZON * GAIN * RIDGE), LARGEST / RIDGE
    factor = ratio / math.log1p(ratio)
    rights = {
        "trivial": trivial,
        "printed": 2 * ((C2 + 2 * C3) * width(2) + width(2 * HORIZON * NORM_BOUND**2)) * reach + 1,
        "repaired": (1 + C2 + C3) * width(trivial) * math.sqrt(2 * max(2.0, factor)) * reach + 1,
        "tight": (1 + C2 + C3_TIGHT) * width(trivial) * math.sqrt(2 * factor) * reach + 1,
    }
    for name, right in rights.items():
        off = abs(getattr(found, name) / right - 1)
        yield identity(
            NAME,
            f"the bound `{name}` by its formula, ridge {RIDGE:g}, sup k {LARGEST:g}",
            off,
            1e-12,
        )


def width(inverse: float) -> float:
    """D + (R / sqrt(ridge)) sqrt(2 gamma + 2 ln(inverse))"""
    return NORM_BOUND + NOISE_SCALE / math.sqrt(RIDGE) * math.sqrt(2 * GAIN + 2 * math.log(inverse))


def two_normals() -> Finding:
    """E max(|w_1|, |w_2|) = 2 / sqrt(pi) for two standard normals, and E|w| = sqrt(2 / pi)."""
    found, optimism = constants(Gaussian(), 2), math.erfc(1 / math.sqrt(2)) / 2
    c2 = 2 / math.sqrt(math.pi)
    off = [
        abs(found.c1 - optimism),
        abs(found.c2 - c2),
        abs(found.c3 - (c2 + math.sqrt(2 / math.pi)) / optimism),
    ]
    return identity(
        NAME,
        "C1, C2, C3 of N(0, 1) over two rounds: P(Z > 1), 2/sqrt(pi), ...",
        off,
        1e-9,
        "rounding",
    )
