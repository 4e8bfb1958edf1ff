"""Upper bounds of the maximum information gain from traces and ranks, in any dimension.

They need neither a design nor a grid. A kernel is a sum of blocks k_b of rank r_b with
k_b(x, x) <= s_b. We have det(I + sum_b A_b) <= prod_b det(I + A_b), and a matrix of rank r and
trace t has det(I + A) <= (1 + t / r)^r. So for T points

    gamma_T <= max sum_b (r_b / 2) ln(1 + t_b / (r_b ridge))
    over t_b <= T s_b,  sum_b t_b <= T sup k,  r_b <= T.

    any kernel    one block of rank T:  (T / 2) ln(1 + sup k / ridge)
    linear        one block of rank d
    polynomial    C(p, q) c^(p - q) (x . z)^q,  of rank C(d + q - 1, q)
    RBF           exp(-(|x|^2 + |z|^2) / 2) (x . z)^q / q!,  of rank C(d + q - 1, q) (Taylor)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import NamedTuple

import numpy as np
from scipy.special import binom, gammaln, pdtrc

from kernelbandits.checks import Array
from kernelbandits.domains import Arms, Box
from kernelbandits.kernels import (
    RBF,
    Kernel,
    Linear,
    Normalised,
    Polynomial,
    Product,
    Scaled,
    Stationary,
    Sum,
)

LONGEST_SERIES = 1e4
"""Beyond this many squared lengthscales the Taylor series has too many terms to be useful."""
ROUNDING = 1 + 1e-10
"""More than the rounding error of a sum of logarithms, so that the bound stays an upper bound."""

Domain = Arms | Box


class Block(NamedTuple):
    """A part of a kernel: its rank, and the largest value of k(x, x) on the domain."""

    rank: float
    share: float


def bound_by_traces(blocks: Sequence[Block], largest: float, rounds: float, ridge: float) -> float:
    """max sum_b (r_b / 2) ln(1 + t_b / (r_b ridge)).

    At the maximum t_b / r_b = min(level, T s_b / r_b), with one level for all blocks, so that the
    total is T sup k ("water filling").
    """
    ranks = np.minimum([block.rank for block in blocks], rounds)
    most = rounds * np.array([block.share for block in blocks])
    level = filling_level(ranks, most, rounds * largest)
    return ROUNDING * float((ranks * np.log1p(np.minimum(level, most / ranks) / ridge)).sum()) / 2


def cap_name(kernel: Kernel) -> str:
    """The name of the bound in a certificate."""
    if isinstance(kernel, Linear):
        return "(d/2) ln(1 + T max|x|^2/(d ridge))"
    return (
        "Taylor series of the kernel"
        if isinstance(kernel, RBF)
        else "ranks and traces of the parts of the kernel"
    )


def filling_level(ranks: Array, most: Array, total: float) -> float:
    """The smallest level with sum_b min(r_b level, most_b) >= total, by bisection."""
    low, high = 0.0, float((most / ranks).max())
    for _ in range(200):
        middle = (low + high) / 2
        enough = np.minimum(ranks * middle, most).sum() >= total
        low, high = (low, middle) if enough else (middle, high)
    return high


def largest_norm(domain: Domain) -> float:
    """max |x|^2"""
    if isinstance(domain, Box):
        return math.fsum(
            max(low * low, high * high)
            for low, high in zip(domain.lower, domain.upper, strict=True)
        )
    return float(np.einsum("ij,ij->i", domain.points, domain.points).max())


def largest_radius(domain: Domain, lengthscale: float | tuple[float, ...]) -> float:
    """max |(x - c) / l|^2 from the centre of the domain."""
    if isinstance(domain, Box):
        half = (np.array(domain.upper) - np.array(domain.lower)) / 2 / np.array(lengthscale)
        return float((half**2).sum())
    rows = domain.points / np.array(lengthscale)
    rows = rows - (rows.min(0) + rows.max(0)) / 2
    return float(np.einsum("ij,ij->i", rows, rows).max())


def symmetric_rank(d: int, degrees: Array) -> Array:
    """C(d + q - 1, q), the number of monomials of degree q."""
    return np.asarray(binom(d + degrees - 1, degrees), dtype=np.float64)


@singledispatch
def largest_value(kernel: Kernel, domain: Domain) -> float:
    """An upper bound of sup k(x, x) over the domain; infinite on a box where none is known."""
    return math.inf if isinstance(domain, Box) else float(kernel.diagonal(domain.points).max())


def smallest_value(kernel: Kernel, domain: Domain) -> float:
    """A lower bound of inf k(x, x) over the domain; 0 on a box where none is known."""
    if isinstance(domain, Box):
        if isinstance(kernel, Scaled):
            return kernel.factor * smallest_value(kernel.kernel, domain)
        return 1.0 if isinstance(kernel, (Stationary, Normalised)) else 0.0
    return float(kernel.diagonal(domain.points).min())


@largest_value.register(Stationary)
@largest_value.register(Normalised)
def largest_one(kernel: Stationary | Normalised, domain: Domain) -> float:
    return 1.0


@largest_value.register
def largest_linear(kernel: Linear, domain: Domain) -> float:
    return largest_norm(domain)


@largest_value.register
def largest_polynomial(kernel: Polynomial, domain: Domain) -> float:
    with np.errstate(over="ignore"):
        return float(np.float64(largest_norm(domain) + kernel.offset) ** kernel.degree)


@largest_value.register
def largest_scaled(kernel: Scaled, domain: Domain) -> float:
    return kernel.factor * largest_value(kernel.kernel, domain)


@largest_value.register
def largest_sum(kernel: Sum, domain: Domain) -> float:
    return largest_value(kernel.left, domain) + largest_value(kernel.right, domain)


@largest_value.register
def largest_product(kernel: Product, domain: Domain) -> float:
    return largest_value(kernel.left, domain) * largest_value(kernel.right, domain)


@singledispatch
def kernel_blocks(kernel: Kernel, domain: Domain) -> list[Block]:
    """Parts whose sum is the kernel, each with its rank and its largest value."""
    return [Block(math.inf, largest_value(kernel, domain))]


@kernel_blocks.register
def blocks_of_linear(kernel: Linear, domain: Domain) -> list[Block]:
    return [Block(domain.dimension, largest_norm(domain))]


@kernel_blocks.register
def blocks_of_polynomial(kernel: Polynomial, domain: Domain) -> list[Block]:
    """C(p, q) c^(p - q) |x|^2q"""
    p, square = kernel.degree, largest_norm(domain)
    shares = [math.comb(p, q) * kernel.offset ** (p - q) * square**q for q in range(p + 1)]
    ranks = symmetric_rank(domain.dimension, np.arange(p + 1.0))
    return [Block(float(rank), share) for rank, share in zip(ranks, shares, strict=True)]


@kernel_blocks.register
def blocks_of_rbf(kernel: RBF, domain: Domain) -> list[Block]:
    """Degree q has the value exp(-s) s^q / q! with s = |x / l|^2, largest at s = q or at the edge.

    The degrees beyond the last one form one block.
    """
    edge = largest_radius(domain, kernel.lengthscale)
    if not 0 < edge <= LONGEST_SERIES:
        return [Block(math.inf, 1.0)]
    last = math.ceil(edge + 12 * math.sqrt(edge) + 60)
    q = np.arange(1.0, last + 1)
    at = np.minimum(edge, q)
    shares = np.exp(q * np.log(at) - at - gammaln(q + 1))
    series = zip(symmetric_rank(domain.dimension, q), shares, strict=True)
    beyond = Block(math.inf, float(pdtrc(last, edge)))
    return [Block(1.0, 1.0), *(Block(float(rank), float(share)) for rank, share in series), beyond]


@kernel_blocks.register
def blocks_of_scaled(kernel: Scaled, domain: Domain) -> list[Block]:
    return [
        Block(rank, kernel.factor * share) for rank, share in kernel_blocks(kernel.kernel, domain)
    ]


@kernel_blocks.register
def blocks_of_sum(kernel: Sum, domain: Domain) -> list[Block]:
    return [*kernel_blocks(kernel.left, domain), *kernel_blocks(kernel.right, domain)]
