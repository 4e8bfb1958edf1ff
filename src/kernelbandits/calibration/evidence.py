"""The marginal likelihood of rewards, and its gradient in the logarithms of the scales.

Kernels are computed with their slopes (`kernels.profiles`), and only for the pairs i > j.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsymm, dsyr
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtrs

from kernelbandits.calibration.standard import EPS, Summary
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels.profiles import Profile, matern32, matern52, rbf

Blocks = tuple[tuple[int, ...], ...]
"""The coordinates of each block: one for a number, several for a category."""
CHUNK, LEAST_CHUNK = 8192, 256
"""How many kernels are computed at a time, and the fewest pairs of points."""

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


class PointPairs:
    """The squared distances of all pairs of m points, in the coordinates of each block.

    Pairs i > k are in the order in which LAPACK stores the lower triangle of a matrix, column by
    column. They depend on the points alone: all fits to rewards at these points share them, and the
    arrays that every evaluation of the likelihood writes to. A new array of this size would cost
    more than what is computed in it.

    Without any block the points are features: their inner products are the kernel, which has no
    lengthscale.
    """

    products: Array | None = None
    """Of features: their inner products, the kernel of each pair; None of coordinates."""
    diagonal: Array | float = 1.0
    """The kernel of each point with itself."""

    def __init__(self, points: Array, blocks: Blocks) -> None:
        self.size = len(points)
        self.places: Indices = np.flatnonzero(~np.tri(self.size, dtype=np.bool_))
        """Where the pairs are in the m x m matrix, as one long column."""
        columns, rows = np.divmod(self.places, self.size)
        self.squares: Array = np.zeros((len(blocks), len(rows)))
        """A row for each block, a column for each pair."""
        if not blocks:
            gram = points @ points.T
            self.products, self.diagonal = gram[rows, columns], gram.diagonal().copy()
        for of_block, block in zip(self.squares, blocks, strict=True):
            for coordinate in points.T[list(block)]:
                apart = coordinate[rows]
                apart -= coordinate[columns]
                of_block += np.square(apart, out=apart)
        self.covariances: Array = np.empty(len(rows))
        self.matrix: Array = np.empty((self.size, self.size), order="F")

    @cached_property
    def slopes(self) -> Array:
        """Derivatives of the covariance of each pair: by each log length, then two kernels."""
        return np.empty((len(self.squares) + 2, len(self.places)))

    def chunks(self) -> Iterator[slice]:
        """Return the pairs in pieces, of which all arrays stay in the cache of the processor."""
        width = max(LEAST_CHUNK, CHUNK // (len(self.squares) + 1))
        for first in range(0, len(self.places), width):
            yield slice(first, first + width)


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
        """Return the lower triangle of C^-1, in the place of L: the factor is used up."""
        return dpotri(self.lower, lower=1, overwrite_c=1)[0]  # type: ignore[no-any-return]


class EvidenceAt(NamedTuple):
    """The evidence of some parameters."""

    value: float
    """ln p(z | scales)"""
    mean: float
    """E[mu | rewards, scales]"""
    gradient: Array
    """The derivatives of ln p by the parameters; empty if they were not asked for."""


@dataclass(frozen=True)
class Evidence:
    """ln p(z | scales) of N standardised rewards at m points, as the sum of

    -1/2 (zbar' C^-1 zbar + ln det C + m ln 2 pi),
        C = signal K(l) + additive A(l) + 1 1' + nugget I + noise diag(1 / n_i),
    -1/2 (S / noise + (N - m) ln(2 pi noise) + sum_i ln n_i),   S the scatter within the points.

    K is the Matern or RBF kernel of all coordinates (of features their inner products), A the mean
    of such kernels of one block of coordinates each. The constant mean mu ~ N(0, 1) is integrated
    out. The sum is the Gaussian density of all N rewards: nothing is lost by using the means of the
    points, the matrix is m x m and not N x N, and repeated measurements determine the noise
    directly. Without them, nugget and noise cannot be told apart, and the prior decides.
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
    pairs: PointPairs
    profile: Profile
    shared: bool
    """Whether all blocks share one lengthscale."""
    has_additive: bool
    has_nugget: bool
    known: Array | None = None
    """Variances of mean rewards that are known, beside noise / n_i; None if there are none."""

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
        pairs: PointPairs | None = None,
    ) -> Evidence:
        """Return the evidence of a summary of rewards; `pairs` are those of points and blocks."""
        if pairs is None:
            every = tuple((j,) for j in range(points.shape[1]))
            pairs = PointPairs(points, every if blocks is None else blocks)
        means, scatter = standardise_summary(summary)
        shares, known = 1.0 / summary.counts, None
        if summary.variances is not None:
            shares = np.where(summary.variances > 0, 0.0, shares)
            known = summary.variances / summary.standard.spread**2
        return cls(
            means=means,
            shares=shares,
            scatter=scatter,
            repeats=summary.rewards - len(points),
            constant=0.5
            * (summary.rewards * math.log(2 * math.pi) + float(np.log(summary.counts).sum())),
            pairs=pairs,
            profile=PROFILES[nu],
            shared=shared,
            has_additive=has_additive,
            has_nugget=has_nugget,
            known=known,
        )

    def of_rewards(self, summary: Summary) -> Evidence:
        """Return the same with other rewards, as many at each point as before."""
        means, scatter = standardise_summary(summary)
        return replace(self, means=means, scatter=scatter)

    @property
    def lengths(self) -> int:
        """The number of lengthscales."""
        return 1 if self.shared else len(self.pairs.squares)

    def scales(self, parameters: Array) -> Scales:
        """Return the scales that belong to these parameters."""
        return Scales.of(parameters, self.lengths, self.has_additive, self.has_nugget)

    def value(self, parameters: Array) -> float:
        """Return ln p; minus infinity if C has no Cholesky factor."""
        return self.at(parameters, with_gradient=False).value

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return ln p and its gradient; minus infinity and zeros if C has no Cholesky factor."""
        found = self.at(parameters)
        return found.value, found.gradient

    def at(self, parameters: Array, with_gradient: bool = True) -> EvidenceAt:
        """Return ln p, the mean and, unless it is not needed, the gradient."""
        scales = self.scales(parameters)
        self._compute_pairs(scales, with_slopes=with_gradient)
        factor = self._factor(scales, temporary=True)
        if factor is None:
            return EvidenceAt(-math.inf, 0.0, np.zeros_like(parameters))
        value, mean = self.value_of(factor, parameters), factor.mean
        # The gradient uses the factor up.
        gradient = self._gradient(factor, scales) if with_gradient else np.empty(0)
        return EvidenceAt(value, mean, gradient)

    def factor(self, parameters: Array) -> CovarianceFactor | None:
        """Factorise C at these parameters."""
        scales = self.scales(parameters)
        self._compute_pairs(scales, with_slopes=False)
        return self._factor(scales, temporary=False)

    def value_of(self, factor: CovarianceFactor, parameters: Array) -> float:
        """Return ln p, given the factor of C."""
        log_noise = float(parameters[-1])
        between = float(self.means @ factor.alpha) + factor.log_det
        within = self.scatter * math.exp(-log_noise) + self.repeats * log_noise
        return -0.5 * (between + within) - self.constant

    def _compute_pairs(self, scales: Scales, with_slopes: bool) -> None:
        """Compute the covariance of every pair of points, and its derivatives by the parameters.

        With r_b^2 = |x_i - x_k|^2 / l_b^2 in the coordinates of block b and B blocks,

        C_ik = signal k(r) + additive sum_b k(r_b) / B + 1,   r^2 = sum_b r_b^2,
        dC_ik / d ln l_b = (signal s(r) + additive s(r_b) / B) r_b^2,   s = -2 dk/d(r^2).

        The rows of `pairs.slopes` are these derivatives, k(r), and sum_b k(r_b).
        """
        pairs, share = self.pairs, scales.additive / max(1, len(self.pairs.squares))
        weights = scales.weights[:, None]
        for chunk in pairs.chunks():
            scaled = weights * pairs.squares[:, chunk]
            k, slope = self.profile(scaled.sum(0))
            if pairs.products is not None:
                k = pairs.products[chunk]
            covariances = scales.signal * k
            covariances += 1.0
            by_length = scales.signal * slope
            if self.has_additive:
                block_k, block_slopes = self.profile(scaled)
                sums = block_k.sum(0)
                covariances += share * sums
                by_length = by_length + share * block_slopes
            pairs.covariances[chunk] = covariances
            if with_slopes:
                np.multiply(scaled, by_length, out=pairs.slopes[:-2, chunk])
                pairs.slopes[-2, chunk] = k
                pairs.slopes[-1, chunk] = sums if self.has_additive else 0.0

    def _gradient(self, factor: CovarianceFactor, scales: Scales) -> Array:
        """Return the gradient of the log evidence by the parameters p.

        It is -1/2 tr(W dC/dp) with W = C^-1 - alpha alpha', and for the noise what the scatter
        adds.

        For the lengths see `_compute_pairs`;

        dC/d ln signal = signal K,   dC/d ln additive = additive A,
        dC/d ln nugget = nugget I,   dC/d ln noise = noise / n_i.
        """
        weights = dsyr(-1.0, factor.alpha, a=factor.inverse(), lower=1, overwrite_a=1)
        diagonal = weights.diagonal()
        trace = float(diagonal.sum())
        # Every pair stands in the matrix twice, which cancels the factor 1/2.
        products = self.pairs.slopes @ weights.ravel("K")[self.pairs.places]
        lengths = -products[:-2]
        of_signal = float((self.pairs.diagonal * diagonal).sum())
        gradient = [-scales.signal * (products[-2] + 0.5 * of_signal)]
        if self.has_additive:
            share = scales.additive / len(lengths)
            gradient.append(-share * products[-1] - 0.5 * scales.additive * trace)
        if self.has_nugget:
            gradient.append(-0.5 * scales.nugget * trace)
        gradient.append(
            0.5
            * (self.scatter / scales.noise - self.repeats - scales.noise * (diagonal @ self.shares))
        )
        return np.array([*([lengths.sum()] if self.shared else lengths), *gradient])

    def information(self, parameters: Array, probes: Array) -> Array | None:
        """Return the expected information about the parameters, or None if C has no factor.

        F_ij = tr(C^-1 C_i C^-1 C_j) / 2, with C_i the derivative of C by parameter i; repeats add
        (N - m) / 2 to that of the noise. With C = L L' and k probes z, random signs, it is
        estimated by the mean of <L^-1 C_i L'^-1 z, L^-1 C_j L'^-1 z> / 2, which costs O(k m^2) for
        each parameter.
        """
        scales = self.scales(parameters)
        self._compute_pairs(scales, with_slopes=True)
        factor = self._factor(scales, temporary=False)
        if factor is None:
            return None
        solved = dtrtrs(factor.lower, probes, lower=1, trans=1)[0]
        slopes, share = self.pairs.slopes, scales.additive / max(1, len(self.pairs.squares))
        images = [self._multiply(row, 0.0, solved) for row in slopes[:-2]]
        if self.shared:
            images = [np.sum(images, axis=0)]
        variances = scales.signal * self.pairs.diagonal
        images.append(self._multiply(scales.signal * slopes[-2], variances, solved))
        if self.has_additive:
            images.append(self._multiply(share * slopes[-1], scales.additive, solved))
        if self.has_nugget:
            images.append(scales.nugget * solved)
        images.append((scales.noise * self.shares)[:, None] * solved)
        white = np.array([dtrtrs(factor.lower, image, lower=1)[0].ravel() for image in images])
        information: Array = white @ white.T / (2 * probes.shape[1])
        information[-1, -1] += 0.5 * self.repeats
        return information

    def _multiply(self, off: Array, diagonal: Array | float, right: Array) -> Array:
        """Return the product of the symmetric matrix with these entries and another matrix."""
        flat = self.pairs.matrix.ravel("K")
        flat[self.pairs.places] = off
        flat[:: self.pairs.size + 1] = diagonal
        product: Array = dsymm(1.0, self.pairs.matrix, right, lower=1)
        return product

    def _factor(self, scales: Scales, temporary: bool) -> CovarianceFactor | None:
        """Return the Cholesky factor of the covariances just computed, or None if there is none.

        A temporary one is overwritten by the next evaluation.

        If the first attempt fails, the diagonal is raised by 8 eps m max C, the size of rounding.
        """
        variance = scales.signal * self.pairs.diagonal + scales.additive + scales.nugget
        diagonal = variance + 1.0 + scales.noise * self.shares
        if self.known is not None:
            diagonal = diagonal + self.known
        for jitter in (0.0, 8 * EPS * len(diagonal) * float(diagonal.max())):
            # LAPACK does not read the upper triangle.
            flat = self.pairs.matrix.ravel("K")
            flat[self.pairs.places] = self.pairs.covariances
            flat[:: len(diagonal) + 1] = diagonal + jitter
            lower, failed = dpotrf(self.pairs.matrix, lower=1, clean=0, overwrite_a=int(temporary))
            if not failed:
                return CovarianceFactor(lower, dpotrs(lower, self.means, lower=1)[0])
        return None


def standardise_summary(summary: Summary) -> tuple[Array, float]:
    """Return the standardised mean rewards, and their scatter within the points."""
    standard = summary.standard
    scatter = summary.scatter / standard.spread / standard.spread
    return standard.standardise(summary.means), scatter
