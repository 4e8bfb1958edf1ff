"""A random function from the posterior, as a formula that can be evaluated anywhere on a box.

A draw from the prior is a sum of random waves; the kernel then conditions it on the rewards (Wilson
et al., 2020).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincinv, ndtr

from kernelbandits.checks import Array
from kernelbandits.kernels import Matern, RationalQuadratic, Stationary
from kernelbandits.policies.acquisition import Expansion
from kernelbandits.policies.spectral import Factor, Term
from kernelbandits.posterior import Factorisation


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
        """g and its gradient."""
        angles = rows @ self.frequencies.T
        cos, sin = np.cos(angles), np.sin(angles)
        gradients = (cos * self.sines - sin * self.cosines) @ self.frequencies
        return cos @ self.cosines + sin @ self.sines, gradients


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
        """f and its gradient."""
        prior, prior_slope = self.prior.slopes(rows)
        data, data_slope = self.data.slopes(rows)
        return self.scale * prior + data, self.scale * prior_slope + data_slope


def count_normals(terms: Sequence[Term], features: int) -> int:
    """How many normal numbers the waves take.

    Each frequency takes one for its size and one for each coordinate, factor by factor, and two for
    its weights.
    """
    return features * sum(
        2 + sum(1 + len(factor.columns) for factor in term.factors) for term in terms
    )


def draw_waves(terms: Sequence[Term], dimension: int, features: int, normals: Array) -> Waves:
    """Draw m frequencies for each term, and their weights.

    The frequencies of a product of kernels are the sums of the frequencies of its factors.
    """
    supply = iter(normals[: count_normals(terms, features)].reshape(-1, features))
    frequencies, weights = [], []
    for term in terms:
        frequencies.append(
            sum(draw_frequencies(factor, dimension, supply) for factor in term.factors)
        )
        weights.append(np.sqrt(term.variance / features) * np.array([next(supply), next(supply)]))
    cosines, sines = np.concatenate(weights, axis=1)
    return Waves(np.concatenate(frequencies), cosines, sines)


def draw_frequencies(factor: Factor, dimension: int, supply: Iterator[Array]) -> Array:
    """w = size * z / lengthscale in the factor's coordinates, 0 in all others."""
    size = spectral_size(factor.kernel, next(supply))
    drawn = np.zeros((len(size), dimension))
    for column, length in zip(factor.columns, factor.lengths, strict=True):
        drawn[:, column] += size * next(supply) / length
    return drawn


def spectral_size(kernel: Stationary, normal: Array) -> Array:
    """The factor that turns normal frequencies into those of the kernel, from one more normal.

    With tau ~ Gamma(shape s, mean 1) the factor is

    - RBF: 1;
    - Matern: tau^(-1/2), s = nu (frequencies are multivariate t with 2 nu degrees of freedom);
    - rational quadratic: tau^(1/2), s = alpha.
    """
    if isinstance(kernel, Matern):
        return np.asarray(gamma_mean_one(kernel.nu, normal) ** -0.5)
    if isinstance(kernel, RationalQuadratic):
        return np.asarray(gamma_mean_one(kernel.alpha, normal) ** 0.5)
    return np.ones(len(normal))


def gamma_mean_one(shape: float, normal: Array) -> Array:
    """The quantile of Gamma(shape) / shape at the level at which the normal number stands."""
    return np.asarray(gammaincinv(shape, ndtr(normal)) / shape)


def condition_path(posterior: Any, prior: Waves, scale: float, noise: Array) -> Path:
    """Condition a draw from the prior on the rewards, with standard normals for their noise."""
    points, counts = posterior.points, posterior.counts
    deviation = prior.values(points) + noise[: len(points)] * np.sqrt(posterior.ridge / counts)
    coefficients = solve_sums(posterior, posterior.sums - counts * scale * deviation)
    return Path(prior, scale, Expansion(posterior.kernel, points, coefficients))


def solve_sums(posterior: Any, sums: Array) -> Array:
    """(K + ridge N^-1)^-1 (sums / N), over the points played."""
    if not len(sums):
        return sums
    gram = posterior.kernel(posterior.points, posterior.points)
    return Factorisation.of(gram, posterior.counts, sums, posterior.ridge).coefficients
