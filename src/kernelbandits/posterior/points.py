"""The posterior at any points, for domains without a list of arms."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtri

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, NumericsWarning
from kernelbandits.domains import Box, MixedBox
from kernelbandits.domains.box import check_sides
from kernelbandits.kernels import Kernel, as_kernel, gram, has_adapted, squared_norms
from kernelbandits.posterior.base import EPS, LARGEST_ERROR, Health, warn_of_conditioning
from kernelbandits.posterior.cholesky import GrowingFactor
from kernelbandits.posterior.sufficient import Factorisation, Tally, check_totals
from kernelbandits.posterior.trusted import CHECKED_POINTS

LEAST_PIVOT = 1e3 * EPS
"""The least square of a diagonal entry of L, as a share of k(x, x); less is rounding.

A pivot reaches it only if `conditioning` exceeds 1e-3, and a warning came long before. Without the
limit a pivot could become zero or imaginary there.
"""


class PointPosterior:
    """The posterior at any points, from the m distinct points played.

    With A = K + ridge N^-1, N the counts of the points and ybar their mean rewards,

        mean(x) = k(x)' A^-1 ybar,   sd(x)^2 = k(x, x) - k(x)' A^-1 k(x),
        log_det = log det(I + K_t / ridge) over all plays.

    Held is the factor of A = L L'. A new point adds a row to L. A point played again lowers one
    entry of A from ridge / n to ridge / (n + 1). Both cost O(m^2). Every audit computes the factor
    again from counts and sums.

    Parameters
    ----------
    kernel
        A kernel, or a callable k(x, z).
    domain
        A `Box` or `MixedBox`, a `Contextual` domain, or the number of coordinates.
    ridge
        lambda of the paper: the variance of the noise, in the units of the kernel.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> posterior = kb.posterior.PointPosterior(kb.RBF(0.5), kb.Box((0.0,), (1.0,)), ridge=0.1)
    >>> posterior.update([0.5], 2.0)
    >>> mean, sd = posterior.at([[0.0], [0.5]])
    >>> mean.round(3), sd.round(3)
    (array([1.103, 1.818]), array([0.816, 0.302]))
    """

    lends = False
    is_plain = False
    complete = True
    """It has learnt every reward unchanged."""

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
        self._inverse: GrowingFactor | None = None
        self._whole = 0
        self._audits = self._repairs = self._clamps = self._audited_at = 0
        self._warned = False
        self._report_conditioning()

    points: Array
    """(m, d): the distinct points played, in the order of their first play."""

    @property
    def counts(self) -> Indices:
        """How often each point was played."""
        return self.tally.counts

    @property
    def sums(self) -> Array:
        """The sum of the rewards at each point."""
        return self.tally.sums

    @property
    def events(self) -> int:
        """The number of rewards."""
        return self.tally.events

    @property
    def prior(self) -> Array:
        """k(x, x) at the points played; before the first one, at two corners of the domain."""
        return self._variances if len(self._variances) else self._usual

    @property
    def coefficients(self) -> Array:
        """A^-1 ybar, computed when first needed after a reward."""
        if self._coefficients is None:
            white = self._factor.solve(self.sums / self.counts)
            self._coefficients = self._factor.solve(white, transposed=True)
        return self._coefficients

    @property
    def lower_factor(self) -> Array:
        """L of A = K + ridge N^-1 = L L'."""
        return self._factor.lower

    @property
    def inverse_factor(self) -> GrowingFactor:
        """L^-1, kept from one call to the next. A new row (b', p) of L adds (-b' L^-1, 1) / p.

        It is inverted at the size that L had when it was last computed as a whole, and rows are
        added to that, so that its last digits do not depend on when it was needed before.
        """
        lower = self._factor.lower
        if self._inverse is None:
            whole = lower[: self._whole, : self._whole]
            self._inverse = GrowingFactor(dtrtri(whole, lower=1)[0] if len(whole) else None)
        inverse = self._inverse
        for m in range(inverse.size, len(lower)):
            row = lower[m, :m, None] / -lower[m, m]
            # The transposed product of a row vector: -b' L^-1 / p.
            image = inverse.multiply(row, transposed=True)[:, 0] if m else np.empty(0)
            inverse.append(image, 1 / float(lower[m, m]))
        return inverse

    @property
    def played_means(self) -> Array:
        """The posterior mean at the points played, ybar - ridge N^-1 A^-1 ybar."""
        means: Array = (self.sums - self.ridge * self.coefficients) / self.counts
        return means

    def update(self, point: Any, reward: float) -> None:
        """Condition on one reward at a point of the domain.

        log_det += ln(1 + variance / ridge), with the variance of the point before the reward.
        """
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

    def learn(
        self,
        points: Any,
        counts: Any,
        sums: Any,
        events: int | None = None,
        matrix: Array | None = None,
    ) -> None:
        """Replace everything learnt by distinct points with their counts and sums of rewards.

        With the number of `events`, counts are weights: a reward of variance v counts as ridge / v
        and its value as much in the sum. `matrix` are the kernels of all pairs of points, if they
        are known.
        """
        rows = self._check_points("learn", points)
        weights = events is not None
        number, total = check_totals(counts, sums, len(rows), least=1, weights=weights)
        slot = {row.tobytes(): place for place, row in enumerate(rows)}
        checks.needs(
            len(slot) == len(rows),
            "learn",
            "points that are all different",
            f"{len(rows) - len(slot)} twice",
        )
        matrix = self.kernel(rows, rows) if matrix is None else matrix
        variances = self.kernel.diagonal(rows)
        finite = bool(np.isfinite(matrix).all() and np.isfinite(variances).all())
        checks.needs(
            finite, str(self.kernel), "finite values", matrix[~np.isfinite(matrix)][:1].tolist()
        )
        exact = Factorisation.of(matrix, number, total, self.ridge)
        self.points, self._variances, self._slot = rows, variances, slot
        self.tally = Tally.of(number, total, events)
        self._audited_at = self.tally.events
        self._restart(exact)
        self._report_conditioning()

    def _restart(self, exact: Factorisation) -> None:
        """Set factor, coefficients and log_det from counts and sums."""
        self._factor = GrowingFactor(exact.factor * (math.sqrt(self.ridge) / exact.root)[:, None])
        self._factor.raise_pivots(self._least_pivots())
        self._inverse, self._whole = None, len(self.points)
        self._coefficients, self.log_det = exact.coefficients, exact.log_det

    def _append_point(self, row: Array) -> float:
        """Add a row to L and return the variance of the new point, k(x, x) - v'v.

        The row is v' = (L^-1 k(x))' with the pivot sqrt(variance + ridge).
        """
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
        """Lower A_ii after another play of a point, and return its variance before.

        A_ii falls by a = ridge / (n (n + 1)). p = sqrt(a) L^-1 e_i has |p|^2 = a [A^-1]_ii, at most
        1 / (n + 1) <= 1/2, so nothing cancels.
        """
        count = self.counts[slot].item()
        unit = np.zeros(len(self.points))
        unit[slot] = 1.0
        white = self._factor.solve(unit)
        share = self.ridge / count
        variance = self._played_variance(slot, white, share)
        # share |white|^2 = (ridge / n) [A^-1]_ii is at most 1; only rounding makes it larger.
        rounding = max(1.0, share * float(white @ white))
        self._factor.lower_diagonal(white * math.sqrt(share / (count + 1) / rounding))
        self._factor.raise_pivots(self._least_pivots())
        self._inverse, self._whole = None, len(self.points)
        return variance

    def _least_pivots(self) -> Array:
        """Return the least possible pivots, sqrt(ridge / (n + 1)), or the size of rounding.

        A is K plus ridge / n on the diagonal and K is positive semi-definite, so a smaller pivot is
        an error of rounding.
        """
        return np.sqrt(np.maximum(self.ridge / (self.counts + 1), LEAST_PIVOT * self._variances))

    def _played_variance(self, slot: int, white: Array, share: float) -> float:
        """Return the variance of a point played, s (1 - s [A^-1]_ii) with s = ridge / n.

        That form loses digits if the variance is near the prior variance. Then k - v'v is used,
        with v = L' e_i - s L^-1 e_i, which loses digits only if the variance is small.
        """
        direct = share * (1 - share * float(white @ white))
        prior = float(self._variances[slot])
        explained = self._factor.lower[slot] - share * white
        return self._clamp_variance(
            direct if direct < prior / 2 else prior - float(explained @ explained)
        )

    def _clamp_variance(self, variance: float) -> float:
        """Return zero for a variance that is negative by rounding, and any other unchanged.

        A function used as a kernel that gives a clearly negative variance is not positive
        semi-definite, which is an error.
        """
        sound = not (self._foreign and variance < -1e-6 * float(self.prior.max()))
        checks.needs(
            sound, str(self.kernel), "no negative eigenvalue", f"a variance of {variance:.3g}"
        )
        self._clamps += variance < 0
        return max(variance, 0.0)

    def at(self, points: Any) -> tuple[Array, Array]:
        """Return mean and sd at any points."""
        where = self._check_points("at", points)
        cross = self._cross(where)
        return cross @ self.coefficients, self._sd(where, self._factor.solve(cross.T))

    def covariance(self, points: Any) -> Array:
        """Return the covariance of f at any points, k(x, z) - k(x)' A^-1 k(z)."""
        where = self._check_points("covariance", points)
        explained = self._factor.solve(self._cross(where).T)
        return self.kernel(where, where) - explained.T @ explained

    def gradients(self, points: Any) -> tuple[Array, Array, Array, Array]:
        """Return mean, sd and their gradients at any points.

        The gradients are k'(x)' A^-1 ybar and (k'(x, x) / 2 - k'(x)' A^-1 k(x)) / sd, and 0 where
        sd = 0.
        """
        where = self._check_points("gradients", points)
        rises = self.kernel.diagonal_gradient(where) / 2
        if not len(self.points):
            sd = self._sd(where, np.empty((0, len(where))))
            return np.zeros(len(where)), sd, np.zeros_like(where), divide_by_sd(rises, sd)
        cross, gradient = self.kernel.value_and_gradient(where, self.points)
        explained = self._factor.solve(cross.T)
        sd, mean = self._sd(where, explained), cross @ self.coefficients
        weights = self._factor.solve(explained, transposed=True).T
        slopes = np.moveaxis(gradient, -1, 0)
        falls = np.einsum("kij,ij->ik", slopes, weights)
        return mean, sd, (slopes @ self.coefficients).T, divide_by_sd(rises - falls, sd)

    def _cross(self, where: Array) -> Array:
        """Return k(x, z) for the points z played."""
        return self.kernel(where, self.points) if len(self.points) else np.empty((len(where), 0))

    def _sd(self, where: Array, explained: Array) -> Array:
        """Return sqrt(k(x, x) - v'v), with v the columns of L^-1 k(x)."""
        variance = self.kernel.diagonal(where) - squared_norms(explained.T)
        return np.sqrt(np.maximum(variance, 0.0))

    def with_pending(self, points: Any) -> PointPosterior:
        """Return a copy with the variances as if these points had been played already.

        Each pending point is told its own posterior mean, which leaves the means as they are and
        lowers the variances exactly as the real rewards will (GP-BUCB).
        """
        other = self._copy()
        other.add_pending(points)
        return other

    def add_pending(self, points: Any) -> None:
        """Lower the variances of this posterior itself as if these points had been played."""
        if np.size(points):
            rows, means = self._check_points("with_pending", points), self.at(points)[0].tolist()
            for point, mean in zip(rows, means, strict=True):
                self.update(point, mean)

    def _copy(self) -> PointPosterior:
        other = copy.copy(self)
        other.tally = copy.deepcopy(self.tally)
        other._slot = dict(self._slot)
        other._factor = self._factor.copy()
        # Rows are added to it in place.
        other._inverse = None if self._inverse is None else self._inverse.copy()
        return other

    def _check_points(self, owner: str, points: Any) -> Array:
        """Return the points as an array of the right dimension, with -0.0 as 0.0.

        Points are found again by their bytes, and -0.0 has other bytes than 0.0.
        """
        where = checks.points(owner, points) + 0.0
        checks.needs(
            where.shape[1] == self.dimension,
            owner,
            f"points of {self.dimension} dimensions",
            where.shape[1],
        )
        return where

    def audit(self) -> bool:
        """Compute the factor again from counts and sums; return whether it had been damaged."""
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
        """Tell whether the factor or log_det differs by more than rounding.

        Rounding explains 1e4 eps max A for L L', and what the conditioning says for log_det.
        """
        lower, tolerance = self._factor.lower, 1e4 * EPS * float(matrix.max())
        same_factor = bool((np.abs(lower @ lower.T - matrix) <= tolerance).all())
        allowed = max(1e-6, 1e3 * self.conditioning) * max(1.0, log_det)
        return not (same_factor and abs(self.log_det - log_det) <= allowed)

    @property
    def audit_interval(self) -> int:
        """The number of rewards between two audits.

        Repeated points add rounding to the factor. After this many rewards, at O(m^2) each, an
        audit at O(m^3) is not the larger cost.
        """
        return max(100, 4 * len(self.points))

    @property
    def health(self) -> Health:
        """How accurate the numbers are, and what the audits found."""
        return Health(self._audits, self._repairs, self._clamps, self.conditioning)

    @property
    def conditioning(self) -> float:
        """eps k_max n_max / ridge, the relative error to expect of a variance."""
        return EPS * float(self.prior.max()) * max(1, self.tally.most) / self.ridge

    def _report_conditioning(self) -> None:
        """Warn once if variances have lost more than ten of their sixteen digits."""
        if not self._warned and self.conditioning > LARGEST_ERROR:
            self._warned = True
            warn_of_conditioning(self.conditioning, self.ridge)


def divide_by_sd(rises: Array, sd: Array) -> Array:
    """Return rises / sd, and 0 where sd = 0."""
    return np.divide(rises, sd[:, None], out=np.zeros_like(rises), where=sd[:, None] > 0)


def dimension_of(domain: Any) -> int:
    """Return the dimension of a domain, or the number given; a box must be one to search in."""
    box = getattr(domain, "domain", domain)
    if isinstance(box, (Box, MixedBox)):
        check_sides("a posterior", box)
    return checks.whole("a posterior", "dimension", getattr(domain, "dimension", domain))


def prior_on(kernel: Kernel, domain: Any, dimension: int) -> Array:
    """Return k(x, x) at two corners of the domain, for the conditioning before the first reward.

    A domain without corners is represented by a point of the unit sphere.
    """
    if has_adapted(kernel) and hasattr(domain, "cover"):
        gram(kernel, domain.cover(CHECKED_POINTS).points)
    sphere = np.full(dimension, dimension**-0.5)
    corners = np.array(
        [getattr(domain, "lower", sphere), getattr(domain, "upper", sphere)], dtype=np.float64
    )
    return gram(kernel, corners).diagonal().copy()
