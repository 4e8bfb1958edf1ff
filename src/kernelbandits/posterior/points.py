"""The posterior on any points: a box has no list of arms."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, NumericsWarning
from kernelbandits.domains import Box, MixedBox
from kernelbandits.domains.box import check_sides
from kernelbandits.kernels import Kernel, as_kernel, gram, has_adapted, squared_norms
from kernelbandits.posterior.base import EPS, Health
from kernelbandits.posterior.cholesky import GrowingFactor
from kernelbandits.posterior.sufficient import Factorisation, Tally, check_totals
from kernelbandits.posterior.trusted import CHECKED_POINTS

LEAST_PIVOT = 1e3 * EPS
"""Of k(x, x): a square of L's diagonal below it is rounding. It takes a conditioning above 1e-3 to come there."""


class PointPosterior:
    """Mean and sd at any points, from the m distinct points played: with A = K + ridge N^-1, N their counts,

    mean(x) = k(x)' A^-1 ybar,   sd(x)^2 = k(x, x) - k(x)' A^-1 k(x),   log_det = log det(I + K / ridge) of all plays.

    Held is A = L L'. A new point adds a row to L; a point played again lowers one entry of A from ridge / n to
    ridge / (n + 1). Both are O(m^2), and the pivots stay at least ridge / n. Counts and sums are the truth, from which
    every audit starts the factor afresh.
    """

    lends = False
    is_plain = False
    complete = True
    """It has learnt every reward as it came."""

    def __init__(self, kernel: Any, domain: Any, ridge: float = 1.0) -> None:
        self.kernel: Kernel = as_kernel(kernel)
        self.dimension = dimension_of(domain)
        self.ridge = checks.positive("a posterior", "ridge", ridge)
        self.tally = Tally(0)
        self.log_det = 0.0
        self.points: Array = np.empty((0, self.dimension))
        self._usual = prior_on(self.kernel, domain, self.dimension)
        self._foreign = has_adapted(self.kernel)
        self._variances: Array = np.empty(0)
        self._slot: dict[bytes, int] = {}
        self._factor = GrowingFactor()
        self._coefficients: Array | None = None
        self._audits = self._repairs = self._clamps = self._audited_at = 0
        self._warned = False
        self._report_conditioning()

    points: Array
    """(m, d): the distinct points played, in the order of their first play"""

    @property
    def counts(self) -> Indices:
        return self.tally.counts

    @property
    def sums(self) -> Array:
        return self.tally.sums

    @property
    def events(self) -> int:
        return self.tally.events

    @property
    def prior(self) -> Array:
        """k(x, x) at the points played; before the first one, at two corners of the domain."""
        return self._variances if len(self._variances) else self._usual

    @property
    def coefficients(self) -> Array:
        """A^-1 ybar"""
        if self._coefficients is None:
            white = self._factor.solve(self.sums / self.counts)
            self._coefficients = self._factor.solve(white, transposed=True)
        return self._coefficients

    def update(self, point: Any, reward: float) -> None:
        """Condition on one reward: log_det += ln(1 + variance / ridge), variance that of the point before."""
        value = checks.reward(reward)
        row = self._check_points("update", [point])
        slot = self._slot.get(row.tobytes())
        variance = self._append_point(row) if slot is None else self._repeat_point(slot)
        self.tally.add(len(self.points) - 1 if slot is None else slot, value)
        self.log_det += math.log1p(variance / self.ridge)
        self._coefficients = None
        self._report_conditioning()
        if self.events - self._audited_at >= self.audit_interval or not math.isfinite(self.log_det):
            self.audit()

    def learn(self, points: Any, counts: Any, sums: Any) -> None:
        """Everything at once, in place of what was learnt: distinct points, how often played, sums of their rewards."""
        rows = self._check_points("learn", points)
        number, total = check_totals(counts, sums, len(rows), least=1)
        slot = {row.tobytes(): place for place, row in enumerate(rows)}
        checks.needs(
            len(slot) == len(rows),
            "learn",
            "points that are all different",
            f"{len(rows) - len(slot)} twice",
        )
        matrix, variances = self.kernel(rows, rows), self.kernel.diagonal(rows)
        finite = bool(np.isfinite(matrix).all() and np.isfinite(variances).all())
        checks.needs(
            finite, str(self.kernel), "finite values", matrix[~np.isfinite(matrix)][:1].tolist()
        )
        exact = Factorisation.of(matrix, number, total, self.ridge)
        self.points, self._variances, self._slot = rows, variances, slot
        self.tally, self._audited_at = Tally.of(number, total), int(number.sum())
        self._restart(exact)
        self._report_conditioning()

    def _restart(self, exact: Factorisation) -> None:
        """Factor, coefficients and log_det from the truth."""
        self._factor = GrowingFactor(exact.factor * (math.sqrt(self.ridge) / exact.root)[:, None])
        self._factor.raise_pivots(self._least_pivots())
        self._coefficients, self.log_det = exact.coefficients, exact.log_det

    def _append_point(self, row: Array) -> float:
        """A new row of L: v' = (L^-1 k(x))' and sqrt(variance + ridge), variance = k(x, x) - v'v."""
        cross, prior = self._cross(row)[0], float(self.kernel.diagonal(row)[0])
        finite = bool(np.isfinite(cross).all()) and math.isfinite(prior)
        checks.needs(finite, str(self.kernel), "finite values", row[0].tolist())
        explained = self._factor.solve(cross)
        variance = self._clamp_variance(prior - float(explained @ explained))
        self._factor.append(explained, math.sqrt(max(variance + self.ridge, LEAST_PIVOT * prior)))
        self._slot[row.tobytes()] = len(self.points)
        self.points = np.concatenate([self.points, row])
        self._variances = np.append(self._variances, prior)
        self.tally.grow()
        return variance

    def _repeat_point(self, slot: int) -> float:
        """A_ii falls by a = ridge / (n (n + 1)), and p = sqrt(a) L^-1 e_i has |p|^2 = a [A^-1]_ii <= 1 / (n + 1)."""
        count, unit = int(self.counts[slot]), np.zeros(len(self.points))
        unit[slot] = 1.0
        white, share = self._factor.solve(unit), self.ridge / count
        variance = self._played_variance(slot, white, share)
        rounding = max(1.0, share * float(white @ white))
        self._factor.lower_diagonal(white * math.sqrt(share / (count + 1) / rounding))
        self._factor.raise_pivots(self._least_pivots())
        return variance

    def _least_pivots(self) -> Array:
        """sqrt(ridge / (n + 1)): A exceeds a positive semi-definite matrix by ridge / n; and not below rounding."""
        return np.sqrt(np.maximum(self.ridge / (self.counts + 1), LEAST_PIVOT * self._variances))

    def _played_variance(self, slot: int, white: Array, share: float) -> float:
        """s (1 - s [A^-1]_ii) with s = ridge / n, or where that cancels k - v'v, v = L' e_i - s L^-1 e_i."""
        direct, prior = share * (1 - share * float(white @ white)), float(self._variances[slot])
        explained = self._factor.lower[slot] - share * white
        return self._clamp_variance(
            direct if direct < prior / 2 else prior - float(explained @ explained)
        )

    def _clamp_variance(self, variance: float) -> float:
        """Zero for a variance that rounding left below it; a kernel from outside may have no other."""
        sound = not (self._foreign and variance < -1e-6 * float(self.prior.max()))
        checks.needs(
            sound, str(self.kernel), "no negative eigenvalue", f"a variance of {variance:.3g}"
        )
        self._clamps += variance < 0
        return max(variance, 0.0)

    def at(self, points: Any) -> tuple[Array, Array]:
        """Mean and sd at any points."""
        where = self._check_points("at", points)
        cross = self._cross(where)
        return cross @ self.coefficients, self._sd(where, self._factor.solve(cross.T))

    def covariance(self, points: Any) -> Array:
        """cov(x, z) of f at any points: k(x, z) - k(x)' A^-1 k(z)."""
        where = self._check_points("covariance", points)
        explained = self._factor.solve(self._cross(where).T)
        return self.kernel(where, where) - explained.T @ explained

    def gradients(self, points: Any) -> tuple[Array, Array, Array, Array]:
        """Mean, sd and their gradients: k'(x)' A^-1 ybar and (k'(x, x) / 2 - k'(x)' A^-1 k(x)) / sd, 0 where sd = 0."""
        where = self._check_points("gradients", points)
        cross = self._cross(where)
        explained = self._factor.solve(cross.T)
        sd, mean = self._sd(where, explained), cross @ self.coefficients
        return mean, sd, *self._slopes(where, sd, self._factor.solve(explained, transposed=True).T)

    def _slopes(self, where: Array, sd: Array, weights: Array) -> tuple[Array, Array]:
        """Of mean and sd; `weights` are the rows k(x)' A^-1."""
        rises = self.kernel.diagonal_gradient(where) / 2
        if not len(self.points):
            return np.zeros_like(where), divide_by_sd(rises, sd)
        slopes = np.moveaxis(self.kernel.gradient(where, self.points), -1, 0)
        return (slopes @ self.coefficients).T, divide_by_sd(
            rises - np.einsum("kij,ij->ik", slopes, weights), sd
        )

    def _cross(self, where: Array) -> Array:
        """k(x, z) with the points played."""
        return self.kernel(where, self.points) if len(self.points) else np.empty((len(where), 0))

    def _sd(self, where: Array, explained: Array) -> Array:
        """sqrt(k(x, x) - v'v), v the columns of L^-1 k(x)."""
        variance = self.kernel.diagonal(where) - squared_norms(explained.T)
        return np.sqrt(np.maximum(variance, 0.0))

    def with_pending(self, points: Any) -> PointPosterior:
        """The same estimate, with the variances as if these points had been played: each is check_totals its own mean."""
        other = self._copy()
        if np.size(points):
            for point, mean in zip(
                self._check_points("with_pending", points), self.at(points)[0].tolist(), strict=True
            ):
                other.update(point, mean)
        return other

    def _copy(self) -> PointPosterior:
        other = copy.copy(self)
        other.tally, other._slot, other._factor = (
            copy.deepcopy(self.tally),
            dict(self._slot),
            self._factor.copy(),
        )
        return other

    def _check_points(self, owner: str, points: Any) -> Array:
        """Checked points, -0.0 as 0.0."""
        where = checks.points(owner, points) + 0.0
        checks.needs(
            where.shape[1] == self.dimension,
            owner,
            f"points of {self.dimension} dimensions",
            where.shape[1],
        )
        return where

    def audit(self) -> bool:
        """Start the factor afresh from the counts: had it differed from the truth beyond rounding?"""
        self._audits += 1
        self._audited_at = self.events
        if not len(self.points):
            return False
        matrix = self.kernel(self.points, self.points)
        exact = Factorisation.of(matrix, self.counts, self.sums, self.ridge)
        repaired = self._differs(matrix + np.diag(self.ridge / self.counts), exact.log_det)
        self._restart(exact)
        if repaired:
            self._repairs += 1
            warnings.warn(
                f"posterior repaired from counts after {self.events} rewards",
                NumericsWarning,
                stacklevel=3,
            )
        return repaired

    def _differs(self, matrix: Array, log_det: float) -> bool:
        """L L' from A by more than 1e4 eps max A, or log_det by more than the conditioning explains."""
        lower, tolerance = self._factor.lower, 1e4 * EPS * float(matrix.max())
        same = bool((np.abs(lower @ lower.T - matrix) <= tolerance).all())
        return not (
            same
            and abs(self.log_det - log_det)
            <= max(1e-6, 1e3 * self.conditioning) * max(1.0, log_det)
        )

    @property
    def audit_interval(self) -> int:
        """The factor gathers rounding as it follows repeats; so many rewards cost more than the audit does."""
        return max(100, 4 * len(self.points))

    @property
    def health(self) -> Health:
        return Health(self._audits, self._repairs, self._clamps, self.conditioning)

    @property
    def conditioning(self) -> float:
        return EPS * float(self.prior.max()) * max(1, self.tally.most) / self.ridge

    def _report_conditioning(self) -> None:
        if not self._warned and self.conditioning > 1e-6:
            self._warned = True
            text = f"posterior variances are good to {self.conditioning:.0e} only: ridge {self.ridge:g} is small"
            warnings.warn(text, NumericsWarning, stacklevel=4)


def divide_by_sd(rises: Array, sd: Array) -> Array:
    """rises / sd, and 0 where sd = 0."""
    return np.divide(rises, sd[:, None], out=np.zeros_like(rises), where=sd[:, None] > 0)


def dimension_of(domain: Any) -> int:
    """Of a domain, or a whole number as it is; a box is one that can be searched."""
    box = getattr(domain, "domain", domain)
    if isinstance(box, (Box, MixedBox)):
        check_sides("a posterior", box)
    return checks.whole("a posterior", "dimension", getattr(domain, "dimension", domain))


def prior_on(kernel: Kernel, domain: Any, dimension: int) -> Array:
    """k(x, x) at two corners of the domain, or at a point of the unit sphere where there is none; they are finite."""
    if has_adapted(kernel) and hasattr(domain, "cover"):
        gram(kernel, domain.cover(CHECKED_POINTS).points)
    sphere = np.full(dimension, dimension**-0.5)
    corners = np.array(
        [getattr(domain, "lower", sphere), getattr(domain, "upper", sphere)], dtype=np.float64
    )
    return gram(kernel, corners).diagonal().copy()
