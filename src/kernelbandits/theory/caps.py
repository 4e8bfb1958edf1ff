"""Upper bounds of the maximum information gain from traces and ranks, in any dimension.

They need neither a design nor a grid. A kernel is a sum of blocks k_b of rank r_b with
k_b(x, x) <= s_b (`Kernel.rank_blocks`). We have det(I + sum_b A_b) <= prod_b det(I + A_b), and a
matrix of rank r and trace t has det(I + A) <= (1 + t / r)^r. So for T points

    gamma_T <= max sum_b (r_b / 2) ln(1 + t_b / (r_b ridge))
    over t_b <= T s_b,  sum_b t_b <= T sup k,  r_b <= T.

Any kernel has one block of rank T: (T / 2) ln(1 + sup k / ridge).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains import Arms, Box
from kernelbandits.kernels import Block, Extent, Kernel

ROUNDING = 1 + 1e-10
"""More than the rounding error of a sum of logarithms, so that the bound stays an upper bound."""

MOST_ORTHONORMAL = 2000
"""Up to this many arms it is tried whether they are orthonormal."""

Domain = Arms | Box


def extent_of(domain: Domain) -> Extent:
    """Return what a kernel is told of a domain when it is asked what holds everywhere on it."""
    if isinstance(domain, Box):
        return Extent(np.array(domain.lower), np.array(domain.upper))
    return Extent.of_points(domain.points)


def largest_value(kernel: Kernel, domain: Domain) -> float:
    """Return an upper bound of sup k(x, x) over the domain; infinite where none is known."""
    return kernel.diagonal_range(extent_of(domain))[1]


def smallest_value(kernel: Kernel, domain: Domain) -> float:
    """Return a lower bound of inf k(x, x) over the domain; 0 where none is known."""
    return kernel.diagonal_range(extent_of(domain))[0]


def is_orthonormal(kernel: Kernel, domain: Domain) -> bool:
    """Tell whether k(x, x) is the same on all arms, and k(x, x') = 0 for any two.

    Rewards of one arm then say nothing of another one. On more than 2000 arms the answer is no.
    """
    if isinstance(domain, Box) or len(domain) > MOST_ORTHONORMAL:
        return False
    matrix = np.asarray(kernel(domain.points, domain.points))
    return bool((matrix == matrix[0, 0] * np.eye(len(matrix))).all())


def bound_by_traces(blocks: Sequence[Block], largest: float, rounds: float, ridge: float) -> float:
    """Return max sum_b (r_b / 2) ln(1 + t_b / (r_b ridge)).

    At the maximum t_b / r_b = min(level, T s_b / r_b), with one level for all blocks, so that the
    total is T sup k ("water filling").
    """
    ranks = np.minimum([block.rank for block in blocks], rounds)
    most = rounds * np.array([block.share for block in blocks])
    level = filling_level(ranks, most, rounds * largest)
    return ROUNDING * float((ranks * np.log1p(np.minimum(level, most / ranks) / ridge)).sum()) / 2


def filling_level(ranks: Array, most: Array, total: float) -> float:
    """Return the smallest level with sum_b min(r_b level, most_b) >= total, by bisection."""
    low, high = 0.0, float((most / ranks).max())
    for _ in range(200):
        middle = (low + high) / 2
        enough = np.minimum(ranks * middle, most).sum() >= total
        low, high = (low, middle) if enough else (middle, high)
    return high
