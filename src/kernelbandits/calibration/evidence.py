"""The marginal likelihood of rewards, and its gradient in the logarithms of the scales.

Kernels are computed with their slopes (`kernels.profiles`), and only for the pairs i > j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from kernelbandits.calibration.standard import EPS, Summary
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels.profiles import Profile, matern32, matern52, rbf

Blocks = tuple[tuple[int, ...], ...]
"""The coordinates of each block: one for a number, several for a category."""
NONE = np.empty((0, 0))

PROFILES: dict[float, Profile] = {1.5: matern32, 2.5: matern52, math.inf: rbf}
"""The kernel of each smoothness."""


@dataclass(frozen=True)
class Scales:
    """The scales that belong to a vector of parameters.

    The parameters are (ln l_1, ..., ln l_L, ln signal, ln additive, ln nugget, ln noise), without
    those of the parts that a model does not have; a missing part has variance 0.
    """

    weights: Array
    """1 / l_b^2"""
    signal: float
    additive: float
    nugget: float
    noise: float

    @classmethod
    def of(cls, parameters: Array, lengths: int, has_additive: bool, has_nugget: bool) -> Scales:
        variances = iter(np.exp(parameters[lengths:]).tolist())
        return cls(
            np.exp(-2.0 * parameters[:lengths]),
            next(variances),
            next(variances) if has_additive else 0.0,
            next(variances) if has_nugget else 0.0,
            next(variances),
        )


@dataclass(frozen=True)
class Correlations:
    """The kernels of all pairs of points i > k at given lengthscales."""

    scaled: Array
    """r_b^2, a row for each block."""
    k: Array
    slope: Array
    """-2 dk/d(r^2)"""
    block_k: Array = field(default_factory=lambda: NONE)
    """The kernel of each block alone; empty where the model has no additive part."""
    block_slopes: Array = field(default_factory=lambda: NONE)


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

    def of_rewards(self, means: Array) -> CovarianceFactor:
        """Return the same covariance with other mean rewards."""
        return CovarianceFactor(self.lower, dpotrs(self.lower, means, lower=1)[0])

    def inverse(self) -> Array:
        """Return the lower triangle of C^-1."""
        return dpotri(self.lower, lower=1)[0]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Evidence:
    """ln p(z | scales) of N standardised rewards at m points, as the sum of

    -1/2 (zbar' C^-1 zbar + ln det C + m ln 2 pi),
        C = signal K(l) + additive A(l) + 1 1' + nugget I + noise diag(1 / n_i),
    -1/2 (S / noise + (N - m) ln(2 pi noise) + sum_i ln n_i),   S the scatter within the points.

    K is the Matern or RBF kernel of all coordinates, A the mean of such kernels of one block of
    coordinates each. The constant mean mu ~ N(0, 1) is integrated out. The sum is the Gaussian
    density of all N rewards: nothing is lost by using the means of the points, the matrix is m x m
    and not N x N, and repeated measurements determine the noise directly. Without them, nugget and
    noise cannot be told apart, and the prior decides.
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
    """|x_i - x_k|^2 in the coordinates of a block: a row for each block, a column for each pair of
    points i > k."""
    pairs: tuple[Indices, Indices]
    profile: Profile
    shared: bool
    """Whether all blocks share one lengthscale."""
    has_additive: bool
    has_nugget: bool

    @classmethod
    def of(
        cls,
        points: Array,
        summary: Summary,
        shared: bool,
        nu: float,
        blocks: Blocks | None = None,
        has_additive: bool = False,
        has_nugget: bool = False,
    ) -> Evidence:
        rows, columns = np.tril_indices(len(points), -1)
        apart = (points.T[:, rows] - points.T[:, columns]) ** 2
        if blocks is None:
            squares = apart
        else:
            squares = np.array([apart[list(block)].sum(0) for block in blocks])
        means, scatter = standardise_summary(summary)
        return cls(
            means=means,
            shares=1.0 / summary.counts,
            scatter=scatter,
            repeats=summary.rewards - len(points),
            constant=0.5
            * (summary.rewards * math.log(2 * math.pi) + float(np.log(summary.counts).sum())),
            squares=squares,
            pairs=(rows, columns),
            profile=PROFILES[nu],
            shared=shared,
            has_additive=has_additive,
            has_nugget=has_nugget,
        )

    def of_rewards(self, summary: Summary) -> Evidence:
        """Return the same with other rewards, as many at each point as before."""
        means, scatter = standardise_summary(summary)
        return replace(self, means=means, scatter=scatter)

    @property
    def lengths(self) -> int:
        """The number of lengthscales."""
        return 1 if self.shared else len(self.squares)

    def scales(self, parameters: Array) -> Scales:
        """The scales that belong to these parameters."""
        return Scales.of(parameters, self.lengths, self.has_additive, self.has_nugget)

    def value(self, parameters: Array) -> float:
        """Return ln p; minus infinity if C has no Cholesky factor."""
        factor = self.factor(parameters)
        return -math.inf if factor is None else self.value_of(factor, parameters)

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return ln p and its gradient; minus infinity and zeros if C has no Cholesky factor."""
        scales = self.scales(parameters)
        correlations = self._correlations(scales)
        factor = self._factor(correlations, scales)
        if factor is None:
            return -math.inf, np.zeros_like(parameters)
        return self.value_of(factor, parameters), self._gradient(factor, scales, correlations)

    def factor(self, parameters: Array) -> CovarianceFactor | None:
        """Factorise C at these parameters."""
        scales = self.scales(parameters)
        return self._factor(self._correlations(scales), scales)

    def value_of(self, factor: CovarianceFactor, parameters: Array) -> float:
        """Return ln p, given the factor of C."""
        log_noise = float(parameters[-1])
        between = float(self.means @ factor.alpha) + factor.log_det
        within = self.scatter * math.exp(-log_noise) + self.repeats * log_noise
        return -0.5 * (between + within) - self.constant

    def _correlations(self, scales: Scales) -> Correlations:
        """The kernels of all pairs of points, with their slopes."""
        scaled = scales.weights[:, None] * self.squares
        k, slope = self.profile(scaled.sum(0))
        if not self.has_additive:
            return Correlations(scaled, k, slope)
        return Correlations(scaled, k, slope, *self.profile(scaled))

    def _gradient(self, factor: CovarianceFactor, scales: Scales, at: Correlations) -> Array:
        """-1/2 tr(W dC/dp) with W = C^-1 - alpha alpha', and for the noise what the scatter adds.

        With r_b^2 = (x_ib - x_kb)^2 / l_b^2 and B blocks,

        dC/d ln l_b = (signal slope(r) + additive slope(r_b) / B) r_b^2,
        dC/d ln signal = signal K,   dC/d ln additive = additive A,
        dC/d ln nugget = nugget I,   dC/d ln noise = noise / n_i.
        """
        alpha, inverse = factor.alpha, factor.inverse()
        rows, columns = self.pairs
        off = inverse.ravel("K")[rows + columns * len(alpha)] - alpha[rows] * alpha[columns]
        diagonal = inverse.diagonal() - alpha * alpha
        trace = float(diagonal.sum())
        lengths = -scales.signal * (at.scaled @ (off * at.slope))
        gradient = [-scales.signal * (off @ at.k + 0.5 * trace)]
        if self.has_additive:
            share = scales.additive / len(self.squares)
            lengths -= share * ((at.scaled * at.block_slopes) @ off)
            gradient.append(-share * float(at.block_k.sum(0) @ off) - 0.5 * scales.additive * trace)
        if self.has_nugget:
            gradient.append(-0.5 * scales.nugget * trace)
        gradient.append(
            0.5
            * (self.scatter / scales.noise - self.repeats - scales.noise * (diagonal @ self.shares))
        )
        return np.array([*([lengths.sum()] if self.shared else lengths), *gradient])

    def _factor(self, at: Correlations, scales: Scales) -> CovarianceFactor | None:
        """Return the Cholesky factor, or None if there is none.

        If the first attempt fails, the diagonal is raised by 8 eps m max C, the size of rounding.
        """
        variance = scales.signal + scales.additive + scales.nugget
        diagonal = variance + 1.0 + scales.noise * self.shares
        off = scales.signal * at.k + 1.0
        if self.has_additive:
            off += scales.additive * at.block_k.mean(0)
        for jitter in (0.0, 8 * EPS * len(diagonal) * float(diagonal.max())):
            matrix = self._lower_triangle(off, diagonal + jitter)
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


def standardise_summary(summary: Summary) -> tuple[Array, float]:
    """Return the standardised mean rewards, and their scatter within the points."""
    standard = summary.standard
    scatter = summary.scatter / standard.spread / standard.spread
    return standard.standardise(summary.means), scatter
