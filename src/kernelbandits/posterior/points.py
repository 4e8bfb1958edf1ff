"""The posterior at any points, for domains without a list of arms: M >= 1 members."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtri

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import Box, MixedBox
from kernelbandits.domains.box import check_sides
from kernelbandits.kernels import (
    CHECKED_POINTS,
    Kernel,
    gram,
    has_adapted,
    squared_norms,
)
from kernelbandits.posterior.base import EPS, Health, audit_state, report_conditioning
from kernelbandits.posterior.cholesky import GrowingFactor
from kernelbandits.posterior.members import MemberPosterior, read_members
from kernelbandits.posterior.sufficient import Factorisation, Tally, check_totals

LEAST_PIVOT = 1e3 * EPS
"""The least square of a diagonal entry of L, as a share of k(x, x); less is rounding.

A pivot reaches it only if `conditioning` exceeds 1e-3, and a warning came long before. Without the
limit a pivot could become zero or imaginary there.
"""


class PointMember:
    """One member of a posterior at points: a ridge, and the factor of A = K + ridge N^-1.

    N are the counts of the points played and ybar their mean rewards, both of the posterior. A new
    point adds a row to L, A = L L'. A point played again lowers one entry of A from ridge / n to
    ridge / (n + 1). Both cost O(m^2).
    """

    def __init__(self, ridge: float, usual: Array, foreign: Kernel | None) -> None:
        self.ridge = ridge
        self._usual = usual
        """k(x, x) at two corners of the domain."""
        self._foreign = foreign
        """The kernel, if it is a function of the user, of which nothing is known."""
        self._variances: Array = np.empty(0)
        self.clamps = 0
        self.log_det = 0.0
        self.factor = GrowingFactor()
        self._coefficients: Array | None = None
        self._inverse: GrowingFactor | None = None
        self._whole = 0

    def copy(self) -> PointMember:
        """Return a member that learns on its own."""
        other = copy.copy(self)
        other.factor = self.factor.copy()
        # Rows are added to it in place.
        other._inverse = None if self._inverse is None else self._inverse.copy()
        return other

    @property
    def prior(self) -> Array:
        """k(x, x) at the points played; before the first one, at two corners of the domain."""
        return self._variances if len(self._variances) else self._usual

    def solve_rewards(self, means: Array) -> Array:
        """Return A^-1 ybar, computed when first needed after a reward."""
        if self._coefficients is None:
            white = self.factor.solve(means)
            self._coefficients = self.factor.solve(white, transposed=True)
        return self._coefficients

    @property
    def inverse_factor(self) -> GrowingFactor:
        """L^-1, kept from one call to the next. A new row (b', p) of L adds (-b' L^-1, 1) / p.

        It is inverted at the size that L had when it was last computed as a whole, and rows are
        added to that, so that its last digits do not depend on when it was needed before.
        """
        lower = self.factor.lower
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

    def restart(self, exact: Factorisation, variances: Array) -> None:
        """Set factor, coefficients and log_det from counts and sums."""
        self._variances = variances
        scale = (math.sqrt(self.ridge) / exact.root)[:, None]
        self.factor = GrowingFactor(exact.factor * scale)
        self.factor.raise_pivots(self._least_pivots(exact.root**2))
        self._inverse, self._whole = None, len(variances)
        self._coefficients, self.log_det = exact.coefficients, exact.log_det

    def append_point(self, cross: Array, prior: float) -> None:
        """Learn that a new point was played, whose kernels are given.

        With the variance k(x, x) - v'v, v = L^-1 k(x), the new row of L is v' with the pivot
        sqrt(variance + ridge), and log_det rises by ln(1 + variance / ridge).
        """
        explained = self.factor.solve(cross)
        variance = self._clamp_variance(prior - float(explained @ explained))
        self.factor.append(explained, math.sqrt(max(variance + self.ridge, LEAST_PIVOT * prior)))
        self._variances = np.append(self._variances, prior)
        self._learn_variance(variance)

    def repeat_point(self, slot: int, counts: Array) -> None:
        """Learn that the point in a slot was played again; counts are those before.

        A_ii falls by a = ridge / (n (n + 1)). p = sqrt(a) L^-1 e_i has |p|^2 = a [A^-1]_ii, at most
        1 / (n + 1) <= 1/2, so nothing cancels.
        """
        count = float(counts[slot])
        unit = np.zeros(len(self._variances))
        unit[slot] = 1.0
        white = self.factor.solve(unit)
        share = self.ridge / count
        variance = self._played_variance(slot, white, share)
        # share |white|^2 = (ridge / n) [A^-1]_ii is at most 1; only rounding makes it larger.
        rounding = max(1.0, share * float(white @ white))
        self.factor.lower_diagonal(white * math.sqrt(share / (count + 1) / rounding))
        self.factor.raise_pivots(self._least_pivots(counts))
        self._inverse, self._whole = None, len(self._variances)
        self._learn_variance(variance)

    def _learn_variance(self, variance: float) -> None:
        """Count the information of a reward at a point that had this variance."""
        self.log_det += math.log1p(variance / self.ridge)
        self._coefficients = None

    def _least_pivots(self, counts: Array) -> Array:
        """Return the least possible pivots, sqrt(ridge / (n + 1)), or the size of rounding.

        A is K plus ridge / n on the diagonal and K is positive semi-definite, so a smaller pivot is
        an error of rounding.
        """
        return np.sqrt(np.maximum(self.ridge / (counts + 1), LEAST_PIVOT * self._variances))

    def _played_variance(self, slot: int, white: Array, share: float) -> float:
        """Return the variance of a point played, s (1 - s [A^-1]_ii) with s = ridge / n.

        That form loses digits if the variance is near the prior variance. Then k - v'v is used,
        with v = L' e_i - s L^-1 e_i, which loses digits only if the variance is small.
        """
        direct = share * (1 - share * float(white @ white))
        prior = float(self._variances[slot])
        explained = self.factor.lower[slot] - share * white
        return self._clamp_variance(
            direct if direct < prior / 2 else prior - float(explained @ explained)
        )

    def _clamp_variance(self, variance: float) -> float:
        """Return zero for a variance that is negative by rounding, and any other unchanged.

        A function used as a kernel that gives a clearly negative variance is not positive
        semi-definite, which is an error.
        """
        if self._foreign is not None and variance < -1e-6 * float(self.prior.max()):
            got = f"a variance of {variance:.3g}"
            raise ValueError(f"{self._foreign} needs no negative eigenvalue, got {got!r}")
        self.clamps += variance < 0
        return max(variance, 0.0)

    def differs(self, matrix: Array, log_det: float, conditioning: float) -> bool:
        """Return whether the factor or log_det differs by more than rounding from A = matrix.

        Rounding explains 1e4 eps max A for L L', and what the conditioning says for log_det.
        """
        lower, tolerance = self.factor.lower, 1e4 * EPS * float(matrix.max())
        same_factor = bool((np.abs(lower @ lower.T - matrix) <= tolerance).all())
        allowed = max(1e-6, 1e3 * conditioning) * max(1.0, log_det)
        return not (same_factor and abs(self.log_det - log_det) <= allowed)


class PointPosterior(MemberPosterior):
    """The mixture of M >= 1 posteriors at any points, from the m distinct points played.

    Under each member, with A = K + ridge N^-1, N the counts of the points and ybar their mean
    rewards,

        mean(x) = k(x)' A^-1 ybar,   sd(x)^2 = k(x, x) - k(x)' A^-1 k(x),
        log_det = log det(I + K_t / ridge) over all plays.

    The members have weight 1 / M (`RowPosterior` says why there are several). Held is the factor of
    A under each of them (`PointMember`). Every audit computes the factors again from counts and
    sums. A search evaluates it by `SearchForm`.

    Parameters
    ----------
    kernel
        A kernel, or a callable k(x, z); or a list or a `KernelStack` of them, one for each member.
    domain
        A `Box` or `MixedBox`, a `Contextual` domain, or the number of coordinates.
    ridge
        lambda of the paper: the variance of the noise, in the units of the kernel; or a list.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> posterior = kb.posterior.PointPosterior(kb.RBF(0.5), kb.Box((0.0,), (1.0,)), 0.1)
    >>> posterior.update([0.5], 2.0)
    >>> mean, sd = posterior.at([[0.0], [0.5]])
    >>> mean.round(3), sd.round(3)
    (array([1.103, 1.818]), array([0.816, 0.302]))
    """

    # What `Posterior` says of itself; it has no list of arms, and no compiled loop.
    loop_form = None
    rebuilds = holds_covariance = has_bands = is_plain = False
    complete = True
    """It has learnt every reward unchanged."""
    rests_on_totals = True
    _audits = _repairs = _audited_at = 0
    _warned = False
    _source = "from counts"

    def __init__(self, kernel: Any, domain: Any, ridge: Any = 1.0) -> None:
        self.stack, self.ridges = read_members(kernel, ridge)
        self.dimension = dimension_of(domain)
        self.tally = Tally(0)
        self.points: Array = np.empty((0, self.dimension))
        corners = corners_of(domain, self.dimension)
        if self.stack is kernel:
            foreign: Sequence[Kernel | None] = [None] * self.stack.size
        else:
            foreign = [check_kernel(one, domain, corners) for one in self.stack.kernels]
        parts = zip(self.ridges.tolist(), self.stack.diagonal(corners), foreign, strict=True)
        self.members = tuple(PointMember(*part) for part in parts)
        self._weights: tuple[Array, Array] | None = None
        """Counts and sums of the points under each member, if rewards differ in precision."""
        self._slot: dict[bytes, int] = {}
        self._report_conditioning()

    points: Array
    """(m, d): the distinct points played, in the order of their first play."""

    # ------------------------------------------------------------------ what was learnt

    @property
    def counts(self) -> Indices:
        """How often each point was played."""
        return self.tally.counts

    @property
    def events(self) -> int:
        """The number of rewards."""
        return self.tally.events

    @property
    def sums(self) -> Array:
        """The sum of the rewards at each point."""
        return self.tally.sums

    @property
    def prior(self) -> Array:
        """k(x, x) at the points played; before the first one, at two corners of the domain."""
        return self.members[0].prior

    @property
    def log_dets(self) -> Array:
        """log det(I + K_t / ridge) under each member."""
        return np.array([member.log_det for member in self.members])

    @property
    def log_det(self) -> float:
        """log det(I + K_t / ridge), the average over the members."""
        return float(self.log_dets.mean())

    def member_totals(self) -> tuple[Array, Array]:
        """Return counts and sums of the points played under each member, (M, m) arrays."""
        if self._weights is not None:
            return self._weights
        shape = len(self.members), len(self.points)
        return np.broadcast_to(self.counts, shape), np.broadcast_to(self.sums, shape)

    @property
    def coefficients(self) -> Array:
        """(M, m): A^-1 ybar of each member."""
        counts, sums = self.member_totals()
        pairs = zip(self.members, sums / counts, strict=True)
        return np.array([member.solve_rewards(means) for member, means in pairs])

    @property
    def played_means(self) -> Array:
        """(M, m): the posterior mean at the points played, ybar - ridge N^-1 A^-1 ybar."""
        counts, sums = self.member_totals()
        return np.asarray((sums - self.ridges[:, None] * self.coefficients) / counts)

    # ------------------------------------------------------------------ learning

    def update(self, point: Any, reward: float) -> None:
        """Condition every member on one reward at a point of the domain."""
        value, row = checks.reward(reward), self._check_points("update", [point])
        kernels = self._evaluate_new(row)
        events, points, weights = self.events, self.points, self._weights
        try:
            if weights is None:
                self.tally.add(self._learn_play(row, self.counts, kernels), value)
            else:
                self._learn_by_member(row, np.full(len(self.members), value), kernels)
        except BaseException:
            self._take_back(events, points, weights)
            raise
        self._report_conditioning()
        due = self.events - self._audited_at >= self.audit_interval
        if due or not math.isfinite(self.log_det):
            self.audit()

    def _take_back(self, events: int, points: Array, weights: tuple[Array, Array] | None) -> None:
        """Forget a reward whose update was interrupted: these were the state before it."""
        m = len(points)
        self.tally.take_back_last(events)
        self.tally.shrink(m)
        self.points, self._weights = points, weights
        self._slot = {key: slot for key, slot in self._slot.items() if slot < m}
        matrices = self.stack(points, points) if m else np.empty((len(self.members), 0, 0))
        self._restart(matrices, [member.prior[:m] for member in self.members])

    def _evaluate_new(self, row: Array) -> tuple[Array, Array] | None:
        """Return k(x, played) and k(x, x) of each member at a new point; None at one played.

        Every kernel is evaluated before anything changes: one of a user may fail.
        """
        if row.tobytes() in self._slot:
            return None
        priors = self.stack.diagonal(row)
        crosses = self.stack(row, self.points) if len(self.points) else priors[:, :, None][..., :0]
        self._check_finite(crosses, priors)
        return crosses[:, 0], priors

    def _learn_play(self, row: Array, counts: Any, kernels: tuple[Array, Array] | None) -> int:
        """Learn that a point was played, and return its slot; its reward is added after that.

        The kernels are those of `_evaluate_new`.
        """
        if kernels is None:
            slot = self._slot[row.tobytes()]
            own = np.broadcast_to(counts, (len(self.members), len(self.points)))
            for member, number in zip(self.members, own, strict=True):
                member.repeat_point(slot, number)
            return slot
        for member, cross, prior in zip(self.members, *kernels, strict=True):
            member.append_point(cross, prior.item())
        self._slot[row.tobytes()] = len(self.points)
        self.points = np.concatenate([self.points, row])
        self.tally.grow()
        return len(self.points) - 1

    def learn(self, points: Any, counts: Any, sums: Any, events: int | None = None) -> None:
        """Replace everything learnt by distinct points with their counts and sums of rewards.

        With the number of `events`, counts are weights: a reward of variance v counts as ridge / v
        and its value as much in the sum. They may be (M, m) arrays, with a row for each member.
        """
        rows = self._check_points("learn", points)
        weights = events is not None
        shared = not isinstance(counts, np.ndarray) or counts.ndim < 2
        given = [(counts, sums)] * len(self.members) if shared else zip(counts, sums, strict=True)
        totals = [check_totals(*one, len(rows), least=1, weights=weights) for one in given]
        slot = {row.tobytes(): place for place, row in enumerate(rows)}
        twice = f"{len(rows) - len(slot)} twice"
        checks.needs(len(slot) == len(rows), "learn", "points that are all different", twice)
        matrices = self.stack(rows, rows)
        variances = self.stack.diagonal(rows)
        self._check_finite(matrices, variances)
        self.points, self._slot = rows, slot
        self._weights = None
        if weights:
            number, total = (np.array(part) for part in zip(*totals, strict=True))
            self._weights = number, total
        self.tally = Tally.of(*totals[0], events)
        self._audited_at = self.tally.events
        self._restart(matrices, variances)
        self._report_conditioning()

    def _check_finite(self, matrices: Array, variances: Array) -> None:
        """Raise an error that names the first kernel with infinite values or NaN."""
        if np.isfinite(matrices).all() and np.isfinite(variances).all():
            return
        for kernel, *values in zip(self.kernels, matrices, variances, strict=True):
            bad = [value for part in values for value in part[~np.isfinite(part)].tolist()]
            if bad:
                raise ValueError(f"{kernel} needs finite values, got {bad[:1]}")

    def _restart(self, matrices: Array, variances: Sequence[Array] | Array) -> None:
        """Set all members from counts and sums; the matrices are K of the points played."""
        parts = zip(self.members, matrices, *self.member_totals(), variances, strict=True)
        for member, matrix, counts, sums, variance in parts:
            member.restart(Factorisation.of(matrix, counts, sums, member.ridge), variance)

    def with_pending(self, points: Any) -> PointPosterior:
        """Return a copy with the variances as if these points had been played already.

        Each member is told its own posterior mean there, which leaves the means as they are and
        lowers the variances exactly as the real rewards will (GP-BUCB).
        """
        other = copy.copy(self)
        other.tally, other._slot = copy.deepcopy(self.tally), dict(self._slot)
        other.members = tuple(member.copy() for member in self.members)
        other.add_pending(points)
        return other

    def add_pending(self, points: Any) -> None:
        """Lower the variances of this posterior itself as if these points had been played."""
        if not np.size(points):
            return
        rows = self._check_points("with_pending", points)
        means = self.members_at(rows)[0]
        for place, row in enumerate(rows):
            self._learn_by_member(row[None], means[:, place], self._evaluate_new(row[None]))

    def _learn_by_member(
        self, row: Array, rewards: Array, kernels: tuple[Array, Array] | None
    ) -> None:
        """Let each member learn a reward of its own at a row; it counts as one."""
        counts, sums = (part.astype(float) for part in self.member_totals())
        slot = self._learn_play(row, counts, kernels)
        if slot == counts.shape[1]:
            counts, sums = (np.pad(part, ((0, 0), (0, 1))) for part in (counts, sums))
        counts[:, slot] += 1
        sums[:, slot] += rewards
        self._weights = counts, sums
        self.tally.add(slot, float(rewards.mean()))

    def of_member(self, number: int) -> PointPosterior:
        """Return the posterior of one member alone; nothing may be told to it."""
        other, chosen = copy.copy(self), slice(number, number + 1)
        other.stack, other.members = self.stack.select(number), self.members[chosen]
        other.ridges = self.ridges[chosen]
        if self._weights is not None:
            counts, sums = self._weights
            other._weights = counts[chosen], sums[chosen]
        return other

    def audit(self) -> bool:
        """Compute the factors again from counts and sums; return whether one had been damaged."""
        return audit_state(self)

    def _restore_state(self) -> bool:
        """Compute the factors again from counts and sums; return whether one had been damaged."""
        matrices = self.stack(self.points, self.points)
        before = [(member.copy(), member.log_det) for member in self.members]
        self._restart(matrices, [member.prior for member in self.members])
        counts, _ = self.member_totals()
        return any(
            old.differs(matrix + np.diag(member.ridge / number), member.log_det, self.conditioning)
            for (old, _), member, matrix, number in zip(
                before, self.members, matrices, counts, strict=True
            )
        )

    @property
    def audit_interval(self) -> int:
        """The number of rewards between two audits.

        Repeated points add rounding to the factor. After this many rewards, at O(m^2) each, an
        audit at O(m^3) is not the larger cost.
        """
        return max(100, 4 * len(self.points))

    # ------------------------------------------------------------------ answers

    def members_at(self, points: Any) -> tuple[Array, Array]:
        """Return mean and sd of each member at any points, (M, n) arrays."""
        where = self._check_points("at", points)
        priors = self.stack.diagonal(where)
        if not len(self.points):
            return np.zeros(priors.shape), np.sqrt(priors)
        crosses = self.stack(where, self.points)
        means = (crosses @ self.coefficients[..., None])[..., 0]
        explained = [
            squared_norms(member.factor.solve(cross.T).T)
            for member, cross in zip(self.members, crosses, strict=True)
        ]
        return means, np.sqrt(np.maximum(priors - np.array(explained), 0.0))

    def best_estimates(self) -> Array:
        """Return the highest mean of each member among the points played, (M,); 0 before any.

        The rules of expected improvement ask.
        """
        return self.played_means.max(1) if self.events else np.zeros(len(self.members))

    def member_means(self, points: Any) -> Array:
        """Return the mean of each member at any points, an (M, n) array, without the sds."""
        crosses = self.stack(self._check_points("at", points), self.points)
        return np.asarray((crosses @ self.coefficients[..., None])[..., 0])

    def member_covariances(self, points: Any) -> Array:
        """Return the covariance of f at any points under each member, an (M, n, n) array.

        It is k(x, z) - k(x)' A^-1 k(z).
        """
        where = self._check_points("covariance", points)
        covariances = self.stack(where, where)
        if len(self.points):
            crosses = self.stack(where, self.points)
            for member, cross, covariance in zip(self.members, crosses, covariances, strict=True):
                explained = member.factor.solve(cross.T)
                covariance -= explained.T @ explained
        return covariances

    def covariance_weights(self, slots: Sequence[int]) -> Array:
        """Return u of each member with cov(x, z) = k(x)' u, z the point played in its slot: (M, m).

        The kernels of z are A e - (ridge / n) e, so the covariance is
        k(x)' e - k(x)' A^-1 (A e - (ridge / n) e) = (ridge / n) k(x)' A^-1 e.
        """
        found, (counts, _) = [], self.member_totals()
        for member, slot, number in zip(self.members, slots, counts, strict=True):
            unit = np.zeros((len(self.points), 1), order="F")
            unit[slot] = member.ridge / number[slot]
            root = member.inverse_factor
            found.append(root.multiply(root.multiply(unit), transposed=True)[:, 0])
        return np.array(found)

    @property
    def health(self) -> Health:
        """How accurate the numbers are, and what the audits found."""
        clamps = sum(member.clamps for member in self.members)
        return Health(self._audits, self._repairs, clamps, self.conditioning)

    def _report_conditioning(self) -> None:
        report_conditioning(self)

    def leave_out_each(self, points: Array, counts: Array) -> tuple[Array, Array] | None:
        """Return None: to leave out a point takes a factorisation (`Posterior.leave_out_each`)."""
        return None

    def memory(self, distinct: int) -> int:
        """Return 0: no run needs to ask (`Posterior.memory`)."""
        return 0

    @property
    def _largest_ratio(self) -> float:
        return max(float(member.prior.max()) / member.ridge for member in self.members)

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


def dimension_of(domain: Any) -> int:
    """Return the dimension of a domain, or the number given; a box must be one to search in."""
    box = getattr(domain, "domain", domain)
    if isinstance(box, (Box, MixedBox)):
        check_sides("a posterior", box)
    return checks.whole("a posterior", "dimension", getattr(domain, "dimension", domain))


def corners_of(domain: Any, dimension: int) -> Array:
    """Return two corners of the domain, for the conditioning before the first reward.

    A domain without corners is represented by a point of the unit sphere.
    """
    sphere = np.full(dimension, dimension**-0.5)
    corners = [getattr(domain, "lower", sphere), getattr(domain, "upper", sphere)]
    return np.array(corners, dtype=np.float64)


def check_kernel(kernel: Kernel, domain: Any, corners: Array) -> Kernel | None:
    """Check a kernel that a user gave; return it if it is a function, of which nothing is known."""
    foreign = kernel if has_adapted(kernel) else None
    if foreign is not None and hasattr(domain, "cover"):
        gram(kernel, domain.cover(CHECKED_POINTS).points)
    gram(kernel, corners)
    return foreign
