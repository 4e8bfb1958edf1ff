"""A random function from the posterior, on a box as a formula, on a large pool as a column.

A draw from the prior is a sum of random waves; the kernel then conditions it on the rewards (Wilson
et al., 2020).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.kernels import Factor, Kernel, Term
from kernelbandits.posterior import Factorisation
from kernelbandits.streams import Randomness, Streams

DRAWN_NUMBERS = 1 << 27
"""The draws over a pool that are made together have at most so many numbers: 1 GB."""
MOST_DRAWS = 256
ARM_BLOCK = 1024
"""The waves of so many arms are computed at a time, so that they stay in the cache."""


@dataclass(frozen=True)
class Waves:
    """g(x) = sum_j a_j cos(w_j . x) + b_j sin(w_j . x): a draw from the prior.

    The frequencies w_j come from the spectral density of the kernel, a_j, b_j ~ N(0, variance / m).
    With the frequencies drawn afresh cov(g(x), g(z)) = k(x, z) exactly. For fixed frequencies,
    where g is Gaussian, that holds in the limit of many of them.
    """

    frequencies: Array
    """(m, d): w_j"""
    cosines: Array
    sines: Array

    def values(self, rows: Array) -> Array:
        angles = rows @ self.frequencies.T
        return np.cos(angles) @ self.cosines + np.sin(angles) @ self.sines

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """Return g and its gradient."""
        angles = rows @ self.frequencies.T
        cos, sin = np.cos(angles), np.sin(angles)
        gradients = (cos * self.sines - sin * self.cosines) @ self.frequencies
        return cos @ self.cosines + sin @ self.sines, gradients


@dataclass(frozen=True)
class Expansion:
    """k(x)' c over some points: what data add to a draw from the prior."""

    kernel: Kernel
    points: Array
    coefficients: Array
    """c"""

    def values(self, rows: Array) -> Array:
        if not len(self.points):
            return np.zeros(len(rows))
        return self.kernel(rows, self.points) @ self.coefficients

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """Return k(x)' c and its gradient."""
        if not len(self.points):
            return np.zeros(len(rows)), np.zeros(rows.shape)
        gradients = self.kernel.gradient(rows, self.points)
        return self.values(rows), np.einsum("nmd,m->nd", gradients, self.coefficients)


@dataclass(frozen=True)
class Path:
    """f(x) = mean(x) + v [g(x) - k(x)' (K + ridge N^-1)^-1 (g(X) + e)] = v g(x) + k(x)' c.

    With e_i ~ N(0, ridge / n_i) this is Matheron's rule: a draw whose mean is the posterior mean
    and whose covariance is v^2 times the posterior covariance.
    """

    prior: Waves
    """g"""
    scale: float
    """v"""
    data: Expansion
    """k(x)' c"""

    def values(self, rows: Array) -> Array:
        return self.scale * self.prior.values(rows) + self.data.values(rows)

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """Return f and its gradient."""
        prior, prior_slope = self.prior.slopes(rows)
        data, data_slope = self.data.slopes(rows)
        return self.scale * prior + data, self.scale * prior_slope + data_slope


def count_normals(terms: Sequence[Term], features: int) -> int:
    """Return how many normal numbers the waves take.

    Each frequency takes one for its size and one for each coordinate, factor by factor, and two for
    its weights.
    """
    return features * sum(
        2 + sum(factor.count_normals for factor in term.factors) for term in terms
    )


def draw_waves(terms: Sequence[Term], dimension: int, features: int, normals: Array) -> Waves:
    """Draw m frequencies for each term, and their weights.

    The frequencies of a product of kernels are the sums of the frequencies of its factors.
    """
    supply = iter(normals[: count_normals(terms, features)].reshape(-1, features))
    frequencies, weights = [], []
    for term in terms:
        drawn = np.zeros((features, dimension))
        for factor in term.factors:
            add_frequencies(factor, supply, drawn)
        frequencies.append(drawn)
        weights.append(np.sqrt(term.variance / features) * np.array([next(supply), next(supply)]))
    cosines, sines = np.concatenate(weights, axis=1)
    return Waves(np.concatenate(frequencies), cosines, sines)


def add_frequencies(factor: Factor, supply: Iterator[Array], drawn: Array) -> None:
    """Add frequencies of a factor to those drawn so far, in the factor's coordinates."""
    normals = np.array([next(supply) for _ in range(factor.count_normals)])
    drawn[:, factor.columns] += factor.frequencies(normals).T


def condition_path(posterior: Any, prior: Waves, scale: float, noise: Array) -> Path:
    """Condition a draw from the prior on the rewards, with standard normals for their noise."""
    points, counts = posterior.points, posterior.counts
    deviation = prior.values(points) + noise[: len(points)] * np.sqrt(posterior.ridge / counts)
    coefficients = solve_sums(posterior, posterior.sums - counts * scale * deviation)
    return Path(prior, scale, Expansion(posterior.kernel, points, coefficients))


def solve_sums(posterior: Any, sums: Array) -> Array:
    """Return (K + ridge N^-1)^-1 (sums / N), over the points played."""
    if not len(sums):
        return sums
    gram = posterior.kernel(posterior.points, posterior.points)
    return Factorisation.of(gram, posterior.counts, sums, posterior.ridge).coefficients


class PoolDraws:
    """Draws g_t from the prior over a large pool, the same for the same round of the same streams.

    g_t(x) = sum_j a_j cos(w_j . x) + b_j sin(w_j . x), as `Waves`. Sines of a million arms take
    seconds. So the rounds of a block share their frequencies, and their draws are made together:
    the sines are computed once for all of them. The weights a_j, b_j are new in every round, and
    the next block has new frequencies. The last block is kept.
    """

    def __init__(self, terms: Sequence[Term], points: Array, features: int, horizon: int) -> None:
        self.terms, self.points, self.features = tuple(terms), points, features
        fitting = max(1, min(MOST_DRAWS, 2 * horizon, DRAWN_NUMBERS // len(points)))
        self.rounds = 1 << (fitting.bit_length() - 1)
        """The number of rounds in a block, a power of two."""
        self._kept: tuple[int, int, Array] | None = None

    def __deepcopy__(self, memo: Any) -> PoolDraws:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the draws that are kept; they can be made again."""
        return vars(self) | {"_kept": None}

    def draw(self, randomness: Randomness, t: int) -> Array:
        """Return g_t for all arms."""
        if not isinstance(randomness, Streams):
            single: Array = self._draw_rounds(randomness, 0, [t])[0]
            return single
        block, row = divmod(t, self.rounds)
        kept = self._kept
        if kept is None or kept[:2] != (randomness.seed, block):
            first = block * self.rounds
            drawn = self._draw_rounds(randomness, block, range(first, first + self.rounds))
            kept = self._kept = randomness.seed, block, drawn
        draw: Array = kept[2][row]
        return draw

    def _draw_rounds(self, randomness: Randomness, block: int, rounds: Sequence[int]) -> Array:
        """Return the draws of some rounds, one row for each."""
        # The number of normals is part of their key: it is 3 modulo 4 here, a multiple of 4 for
        # the weights, and 1 modulo 4 for the noise (`draw_noise`), so that no number is used twice.
        needed = count_normals(self.terms, self.features)
        normals = randomness.normal("sample", block, 4 * (needed // 4) + 3)
        dimension = self.points.shape[1]
        frequencies = draw_waves(self.terms, dimension, self.features, normals).frequencies
        sizes = np.sqrt([term.variance / self.features for term in self.terms])
        size = np.tile(np.repeat(sizes, self.features), 2)
        count = 4 * -(-len(size) // 4)
        weights = np.array(
            [size * randomness.normal("sample", t, count)[: len(size)] for t in rounds]
        )
        drawn, half = np.empty((len(rounds), len(self.points))), len(frequencies)
        waves = np.empty((ARM_BLOCK, 2 * half))
        for start in range(0, len(self.points), ARM_BLOCK):
            angles = self.points[start : start + ARM_BLOCK] @ frequencies.T
            here = waves[: len(angles)]
            np.cos(angles, out=here[:, :half])
            np.sin(angles, out=here[:, half:])
            drawn[:, start : start + ARM_BLOCK] = weights @ here.T
        return drawn


def draw_noise(randomness: Randomness, t: int, points: int) -> Array:
    """Return a standard normal number for each arm played of a pool, in round t."""
    return randomness.normal("sample", t, noise_numbers(points) + 1)[:points]


def noise_numbers(points: int) -> int:
    """Return how many normal numbers the noise at some points takes: a power of two, at least 64.

    The numbers of a round depend on how many are drawn, and Streams draw them in blocks. With a
    power of two the size of a block changes rarely.
    """
    return max(64, 1 << (points - 1).bit_length())
