"""The largest f(x) over all functions with bounded residuals and bounded norm.

The two constraints are a ball of residuals and a ball of norms. By duality the maximum is a minimum
over one number a, the ratio of the two multipliers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.posterior import Posterior, Spectrum

GRID = np.geomspace(1e-10, 1e12, 48)
"""The values of a that are tried first, in units of the largest eigenvalue.

Smaller values are dominated by rounding, and for larger ones the bound is its limit D sqrt(k(x,
x)).
"""
STEPS = 3
"""Cubic steps after the grid. After three the error is about 1e-9 of D; each further step divides
it by about a hundred."""
FIRST = 16
"""`upper_near_maximum` refines this many arms first, then four times as many in each pass."""


def noise_radius(log_det: float, noise_scale: float, delta: float) -> float:
    """Return S, whose square is the noise's part of the squared residual radius.

    S = R sqrt(L + 2 ln(1/delta))
    """
    return noise_scale * math.sqrt(log_det + 2 * math.log(1 / delta))


def power_of_two(size: float) -> float:
    """Return the largest 2^k <= size, or 1 if size is 0. Division by it is exact."""
    return math.ldexp(1.0, math.frexp(size)[1] - 1) if size else 1.0


@dataclass(frozen=True)
class Dual:
    """f(x) <= h_a(x) = mean_a(x) + sqrt(slack_a variance_a(x)) for every a > 0.

    The best a gives equality. Here slack_a = D^2 + (S^2 + ridge q_ridge - a q_a) / a, with S from
    `noise_radius` and q_a = y' (K + a I)^-1 y.

    In the eigenbasis let w = 1 / (values + a). Then ridge q_ridge - a q_a = (ridge - a) sum_j g_j
    w_j with g_j = z_j^2 values_j / (values_j + ridge); the scatter of repeated rewards cancels. h
    is the partial minimum of a convex dual in two multipliers, so it is quasi-convex in their ratio
    a: a minimum between a decreasing and an increasing part is the global one.
    """

    spectrum: Spectrum
    prior: Array
    ridge: float
    noise_radius: float
    norm_bound: float
    unit: float = 1.0
    """The unit of rewards, noise and norm here, chosen so that their squares do not overflow."""

    @classmethod
    def of(
        cls, spectrum: Spectrum, posterior: Posterior, noise_radius: float, norm_bound: float
    ) -> Dual:
        unit = power_of_two(max(posterior.tally.largest, noise_radius, norm_bound))
        scaled, ridge = spectrum.scale_rewards(1 / unit), posterior.ridge
        return cls(scaled, posterior.prior, ridge, noise_radius / unit, norm_bound / unit, unit)

    def negate(self) -> Dual:
        """Return the same problem for -f: minus its upper bound is the lower bound of f."""
        return replace(self, spectrum=self.spectrum.scale_rewards(-1.0))

    def against(self, arms: Indices, shares: Array, prior: Array) -> Dual:
        """Return the problem for f(x) - sum_i p_i f(x_i) instead of f(x).

        prior = |k(., x) - sum_i p_i k(., x_i)|^2
        """
        return replace(self, spectrum=self.spectrum.against(arms, shares, prior), prior=prior)

    def band(self) -> tuple[Array, Array]:
        """Return the smallest and the largest f(x) over both balls, on all arms."""
        return -self.negate().upper(), self.upper()

    @cached_property
    def empty(self) -> bool:
        """Whether no function is in both balls: the slack is negative for some a."""
        a, fit = self._ridges, self._fits[0]
        size = self.norm_bound**2 + self.noise_radius**2 / a + (1 + self.ridge / a) * fit
        return bool((self._slack(a, fit) < -1e-9 * size).any())

    def upper(self) -> Array:
        """Return the least upper bound, min over a of h_a, on all arms."""
        return self.unit * self._refine(np.arange(len(self.prior)))

    def upper_near_maximum(self) -> Array:
        """Return `upper` on every arm that may have the largest value; elsewhere a coarser bound.

        The coarser bounds are below the largest value, so the maximiser is the same.
        """
        index, batch, best = self._coarse.copy(), FIRST, -math.inf
        rivals = np.argsort(-index, kind="stable")
        while len(rivals):
            chosen, rest = rivals[:batch], rivals[batch:]
            index[chosen] = self._refine(chosen)
            best = max(best, float(index[chosen].max()))
            rivals, batch = rest[index[rest] >= best - 1e-9 * max(1.0, abs(best))], 4 * batch
        return self.unit * index

    @cached_property
    def _ridges(self) -> Array:
        return np.asarray(GRID * (self.spectrum.values.max(initial=0.0) + self.ridge))

    @cached_property
    def _fit(self) -> Array:
        """g_j"""
        values = self.spectrum.values
        return self.spectrum.targets**2 * (values / (values + self.ridge))

    @cached_property
    def _grid(self) -> tuple[Array, Array]:
        """(ridges, u): w and w^2 on the grid"""
        weights = self._weights(self._ridges)
        return weights, weights**2

    @cached_property
    def _fits(self) -> tuple[Array, Array]:
        """sum g w and sum g w^2 on the grid"""
        return self._grid[0] @ self._fit, self._grid[1] @ self._fit

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """(2, n, u): b z and s, the factors of w, and b z and b^2, the factors of w^2"""
        loadings, product = self.spectrum.loadings, self.spectrum.loadings * self.spectrum.targets
        return np.array([product, self.spectrum.shares]), np.array([product, loadings**2])

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """(ridges, arms): h and its slope on the grid."""
        pairs = zip(self._grid, self._moments, strict=True)
        first, second = (np.matmul(w, moments.transpose(0, 2, 1)) for w, moments in pairs)
        fits = self._fits[0][:, None], self._fits[1][:, None]
        return self._bound(self._ridges[:, None], self.spectrum.residue, first, second, fits)

    @cached_property
    def _coarse(self) -> Array:
        """The smallest h on the grid, or its limit D sqrt(k(x, x)) for large a."""
        limit = self.norm_bound * np.sqrt(self.prior)
        least: Array = self._table[0].min(0)
        return np.minimum(least, limit)

    def _at(self, a: Array, arms: Indices) -> tuple[Array, Array]:
        """Return h and its slope in ln a, with one value of a for each of these arms."""
        weights = self._weights(a)
        pairs = zip((weights, weights**2), self._moments, strict=True)
        (first, fit), (second, turn) = (
            (np.einsum("ij,kij->ki", w, moments[:, arms]), w @ self._fit) for w, moments in pairs
        )
        return self._bound(a, self.spectrum.residue[arms], first, second, (fit, turn))

    def _weights(self, a: Array) -> Array:
        return np.asarray(1 / (self.spectrum.values + a[:, None]))

    def _slack(self, a: Array, fit: Array) -> Array:
        """Return slack_a, by sums in the eigenbasis.

        D^2 + S^2 / a + (ridge / a - 1) sum g w
        """
        return self.norm_bound**2 + self.noise_radius**2 / a + (self.ridge / a - 1) * fit

    def _bound(
        self, a: Array, residue: Array, first: Array, second: Array, fits: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Return h_a and dh / d ln a, from the sums with w and with w^2.

        h_a = mean + sqrt(slack variance)
        """
        variance, slack = residue + a * first[1], np.maximum(self._slack(a, fits[0]), 0.0)
        root = np.sqrt(slack * variance)
        turn = -(self.noise_radius**2 + self.ridge * fits[0]) / a - (self.ridge - a) * fits[1]
        rise = turn * variance + slack * (a * second[1])
        slope = np.divide(rise, 2 * root, out=np.zeros_like(root), where=root > 0) - a * second[0]
        return first[0] + root, slope

    def _refine(self, arms: Indices) -> Array:
        """Return the smallest h on these arms.

        Cubic steps search between the two grid values of a where the slope changes its sign.
        """
        best = self._coarse[arms]
        inside, ends = self._brackets(arms)
        inner, columns = arms[inside], np.arange(int(inside.sum()))
        for _ in range(STEPS if len(inner) else 0):
            middle = cubic_minimum(ends)
            value, slope = self._at(np.exp(middle), inner)
            best[inside] = np.minimum(best[inside], value)
            ends[(slope > 0).astype(int), columns] = np.stack((middle, value, slope), axis=1)
        return best

    def _brackets(self, arms: Indices) -> tuple[Array, Array]:
        """Tell which arms have their minimum inside the grid, and return the interval around it.

        The interval is given by its two ends, (2, arms, 3): ln a, h and slope.
        """
        bounds, slopes = self._table[0][:, arms], self._table[1][:, arms]
        columns, least = np.arange(len(arms)), bounds.argmin(0)
        low = np.clip(least - (slopes[least, columns] > 0), 0, len(GRID) - 2)
        rows = np.stack((low, low + 1))
        inside = (slopes[low, columns] < 0) & (slopes[low + 1, columns] > 0)
        ends = np.stack(
            (np.log(self._ridges)[rows], bounds[rows, columns], slopes[rows, columns]), axis=2
        )
        return inside, ends[:, inside]


def cubic_minimum(ends: Array) -> Array:
    """Return the minimiser of the cubic with two given values and slopes.

    The slopes have opposite signs, so the minimiser lies between the two points.
    """
    (x0, f0, s0), (x1, f1, s1) = ends[0].T, ends[1].T
    d = s0 + s1 - 3 * (f0 - f1) / (x0 - x1)
    e = np.sqrt(d * d - s0 * s1)
    least: Array = x1 - (x1 - x0) * (s1 + e - d) / (s1 - s0 + 2 * e)
    return least
