"""E max_s Z_s of independent nonnegative variables, some of them alike: exactly for discrete ones, else by quadrature.

E max_s Z_s = int_0^inf (1 - prod_s P(Z_s <= u)) du = int_0^inf -expm1(sum_j n_j log1p(-P(Z_j > u))) du
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.integrate import quad

from kernelbandits.checks import Array

NEGLIGIBLE = 1e-17
"""A chance, counted over all rounds, that no digit of the maximum can see."""


@dataclass(frozen=True)
class Part:
    """One variable Z >= 0 and how many independent ones are like it."""

    count: int
    tail: Callable[[float], float]
    """P(Z > u)"""
    breaks: tuple[float, ...]
    """Where the tail jumps or bends."""
    chances: tuple[float, ...] | None = None
    """P(Z = v) for each of the breaks, where Z takes no other values."""


def expected_maximum(parts: Sequence[Part]) -> float:
    """E max over all variables."""
    if all(part.chances is not None for part in parts):
        return discrete_maximum(parts)
    return quadrature_maximum(parts)


def discrete_maximum(parts: Sequence[Part]) -> float:
    """sum_j (v_(j) - v_(j-1)) (1 - prod_s P(Z_s < v_(j))), over all values in order.

    Going down from the largest value, each value adds its chance to the tail of its own variable; the logarithm of the
    product is a running sum of n [log1p(-tail after) - log1p(-tail before)].
    """
    values, before, after, counts = (np.concatenate(rows) for rows in zip(*map(steps_down, parts), strict=True))
    order = np.argsort(-values, kind="stable")
    with np.errstate(divide="ignore", invalid="ignore"):
        change = counts * (np.log1p(-np.minimum(after, 1.0)) - np.log1p(-before))
    product = np.exp(np.cumsum(change[order]))
    return float(np.sum((values[order] - np.append(values[order][1:], 0.0)) * (1 - np.nan_to_num(product))))


def steps_down(part: Part) -> tuple[Array, Array, Array, Array]:
    """Each value of a discrete Z from the largest down, with P(Z > v), P(Z >= v) and the count."""
    assert part.chances is not None
    order = np.argsort(part.breaks)[::-1]
    values, chances = np.array(part.breaks)[order], np.array(part.chances)[order]
    values, chances = values[chances > 0], chances[chances > 0]
    reached = np.cumsum(chances)
    reached[-1:] = 1.0
    return values, np.append(0.0, reached[:-1]), reached, np.full(len(values), float(part.count))


def quadrature_maximum(parts: Sequence[Part]) -> float:
    """The integral, split where a tail jumps and where the maximum is likely."""

    def exceeds(u: float) -> float:
        tails = [(part.count, part.tail(u)) for part in parts]
        if any(tail >= 1 for _, tail in tails):
            return 1.0
        return -math.expm1(math.fsum(n * math.log1p(-tail) for n, tail in tails))

    end = beyond(lambda u: sum(part.count * part.tail(u) for part in parts), NEGLIGIBLE)
    middle = beyond(lambda u: sum(part.count * part.tail(u) for part in parts), 0.5)
    jumps = {u for part in parts for u in part.breaks if 0 < u < end}
    edges = sorted({0.0, end, *jumps, *(middle * share for share in (0.5, 0.8, 1.0, 1.2, 1.5) if middle * share < end)})
    return math.fsum(quad(exceeds, a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0] for a, b in pairwise(edges))


def beyond(tail: Callable[[float], float], level: float) -> float:
    """A point beyond which a falling tail is at most the level, to a part in a thousand."""
    high = 1.0
    while tail(high) > level:
        high *= 2
    low = 0.0
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > level else (low, middle)
    return high
