"""The marginal likelihood of rewards, and its gradient in the logarithms of the scales.

The kernels of `kernels.stationary` are written here again as functions of r^2 with their slope:
value and slope share an exponential, and only the pairs i > j are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from kernelbandits.calibration.standard import EPS, Summary
from kernelbandits.checks import Array, Indices

Profile = Callable[[Array], tuple[Array, Array]]
"""r^2 -> k and -2 dk/d(r^2)."""


def rbf(squares: Array) -> tuple[Array, Array]:
    """k = exp(-r^2 / 2) and -2 dk/d(r^2) = k."""
    k = np.exp(-0.5 * squares)
    return k, k


def matern32(squares: Array) -> tuple[Array, Array]:
    """With a = sqrt(3) r: k = (1 + a) exp(-a) and -2 dk/d(r^2) = 3 exp(-a)."""
    a = np.sqrt(3.0 * squares)
    decay = np.exp(-a)
    return (1.0 + a) * decay, 3.0 * decay


def matern52(squares: Array) -> tuple[Array, Array]:
    """With a = sqrt(5) r: k = (1 + a + a^2/3) exp(-a), -2 dk/d(r^2) = (5/3) (1 + a) exp(-a)."""
    fives = 5.0 * squares
    a = np.sqrt(fives)
    decay = np.exp(-a)
    slope = (1.0 + a) * decay
    return slope + fives / 3.0 * decay, 5.0 / 3.0 * slope


PROFILES: dict[float, Profile] = {1.5: matern32, 2.5: matern52, math.inf: rbf}
"""The kernel of each smoothness."""


@dataclass(frozen=True)
class Scales:
    """The scales that belong to the parameters (ln l_1, ..., ln l_d, ln signal, ln noise)."""

    weights: Array
    """1 / l_j^2"""
    signal: float
    noise: float

    @classmethod
    def of(cls, parameters: Array) -> Scales:
        return cls(
            np.exp(-2.0 * parameters[:-2]), math.exp(parameters[-2]), math.exp(parameters[-1])
        )


@dataclass(frozen=True)
class CovarianceFactor:
    """The covariance C = L L' of the mean rewards, and alpha = C^-1 zbar."""

    lower: Array
    alpha: Array

    @property
    def log_det(self) -> float:
        return float(2.0 * np.log(self.lower.diagonal()).sum())

    @property
    def mean(self) -> float:
        """E[mu | rewards] = 1' alpha, because mu ~ N(0, 1) has covariance 1 with every reward."""
        return float(self.alpha.sum())

    def inverse(self) -> Array:
        """Return the lower triangle of C^-1."""
        return dpotri(self.lower, lower=1)[0]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Evidence:
    """ln p(z | l, signal, noise) of N standardised rewards at m points, as the sum of

    -1/2 (zbar' C^-1 zbar + ln det C + m ln 2 pi),    C = signal K(l) + 1 1' + noise diag(1 / n_i),
    -1/2 (S / noise + (N - m) ln(2 pi noise) + sum_i ln n_i),   S the scatter within the points.

    The constant mean mu ~ N(0, 1) is integrated out. The sum is the Gaussian density of all N
    rewards: nothing is lost by using the means of the points, the matrix is m x m and not N x N,
    and repeated measurements determine the noise directly.
    """

    means: Array
    """zbar, the mean standardised reward of each point."""
    shares: Array
    """1 / n_i"""
    scatter: float
    """S, the squared deviations of the rewards from the mean of their own point."""
    repeats: int
    """N - m"""
    constant: float
    """What does not depend on the parameters."""
    squares: Array
    """(x_ij - x_kj)^2: a row for each lengthscale, a column for each pair of points i > k."""
    pairs: tuple[Indices, Indices]
    profile: Profile

    @classmethod
    def of(cls, points: Array, summary: Summary, shared: bool, nu: float) -> Evidence:
        rows, columns = np.tril_indices(len(points), -1)
        squares = (points.T[:, rows] - points.T[:, columns]) ** 2
        standard = summary.standard
        return cls(
            means=standard.standardise(summary.means),
            shares=1.0 / summary.counts,
            scatter=summary.scatter / standard.spread / standard.spread,
            repeats=summary.rewards - len(points),
            constant=0.5
            * (summary.rewards * math.log(2 * math.pi) + float(np.log(summary.counts).sum())),
            squares=squares.sum(0, keepdims=True) if shared else squares,
            pairs=(rows, columns),
            profile=PROFILES[nu],
        )

    def value(self, parameters: Array) -> float:
        """Return ln p; minus infinity if C has no Cholesky factor."""
        factor = self.factor(parameters)
        return -math.inf if factor is None else self.value_of(factor, parameters)

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return ln p and its gradient; minus infinity and zeros if C has no Cholesky factor."""
        scales = Scales.of(parameters)
        k, slope = self.profile(scales.weights @ self.squares)
        factor = self._factor(k, scales)
        if factor is None:
            return -math.inf, np.zeros_like(parameters)
        return self.value_of(factor, parameters), self._gradient(factor, scales, k, slope)

    def factor(self, parameters: Array) -> CovarianceFactor | None:
        """Factorise C at these parameters."""
        scales = Scales.of(parameters)
        return self._factor(self.profile(scales.weights @ self.squares)[0], scales)

    def value_of(self, factor: CovarianceFactor, parameters: Array) -> float:
        """Return ln p, given the factor of C."""
        log_noise = float(parameters[-1])
        between = float(self.means @ factor.alpha) + factor.log_det
        within = self.scatter * math.exp(-log_noise) + self.repeats * log_noise
        return -0.5 * (between + within) - self.constant

    def _gradient(self, factor: CovarianceFactor, scales: Scales, k: Array, slope: Array) -> Array:
        """-1/2 tr(W dC/dp) with W = C^-1 - alpha alpha', and for the noise what the scatter adds.

        dC/d ln l_j = signal slope (x_ij - x_kj)^2 / l_j^2,  dC/d ln signal = signal K,
        dC/d ln noise = noise / n_i.
        """
        alpha, inverse = factor.alpha, factor.inverse()
        rows, columns = self.pairs
        off = inverse.ravel("K")[rows + columns * len(alpha)] - alpha[rows] * alpha[columns]
        diagonal = inverse.diagonal() - alpha * alpha
        lengths = -scales.signal * scales.weights * (self.squares @ (off * slope))
        signal = -scales.signal * (off @ k + 0.5 * diagonal.sum())
        noise = 0.5 * (
            self.scatter / scales.noise - self.repeats - scales.noise * (diagonal @ self.shares)
        )
        return np.array([*lengths, signal, noise])

    def _factor(self, k: Array, scales: Scales) -> CovarianceFactor | None:
        """Return the Cholesky factor, or None if there is none.

        If the first attempt fails, the diagonal is raised by 8 eps m max C, the size of rounding.
        """
        diagonal = scales.signal + 1.0 + scales.noise * self.shares
        for jitter in (0.0, 8 * EPS * len(diagonal) * float(diagonal.max())):
            matrix = self._lower_triangle(scales.signal * k + 1.0, diagonal + jitter)
            lower, failed = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
            if not failed:
                return CovarianceFactor(lower, dpotrs(lower, self.means, lower=1)[0])
        return None

    def _lower_triangle(self, off: Array, diagonal: Array) -> Array:
        """Return a symmetric matrix stored by columns; LAPACK does not read its upper triangle."""
        m = len(diagonal)
        flat = np.empty(m * m)
        flat[self.pairs[0] + self.pairs[1] * m] = off
        flat[:: m + 1] = diagonal
        return flat.reshape((m, m), order="F")
