"""The posterior over a pool of arms: M >= 1 members, and a row for each distinct arm played."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import daxpy, dscal

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import Arms
from kernelbandits.kernels import (
    KernelStack,
    PoolRows,
)
from kernelbandits.posterior.base import EPS, ROUNDING, Posterior, prior_variance
from kernelbandits.posterior.members import MemberPosterior, mix_moments, read_members
from kernelbandits.posterior.sufficient import Factorisation, Tally, check_totals, lower_roots
from kernelbandits.runtime import require_memory, single_threaded

MOST_KEPT = 1 << 22
"""The most numbers of prior rows that are kept: 32 MB."""
BLOCK_NUMBERS = 1 << 18
"""About how many numbers of a matrix are computed at a time, so that temporary arrays stay small:
2 MB."""
MOST_COLUMNS = 8
"""Points of up to so many coordinates are stored by columns too: as many numbers as eight rows."""
ARRAYS = 24
"""Numbers held for each arm besides its column of the rows: mean, variance, index, temporaries."""
CHUNK_NUMBERS = 1 << 22
"""The rows grow by at most so many numbers at a time, 32 MB, and at least by one row."""
SPARE = 16
"""A copy has room for the rows of so many further arms."""
LARGEST_LEFT_OUT_ERROR = 1e-6
"""Predictions of results left out have at most this relative error, or are not given."""

PoolState = tuple[Array, Array, Array, Array, Array, Indices, Indices, Array, Array, Array, Array]
"""The state for a compiled loop: mean, variance, rows, factor and core, then the arm of each row,
its count, reward sum, lost digits and ceiling of the variance, and (log_det, largest reward,
clamps, least variance allowed, least variance)."""
NO_ARM = -1, np.empty(0)
"""For a loop that begins with no first play."""


def blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices of about BLOCK_NUMBERS numbers that cover n rows of this width."""
    size = max(256, BLOCK_NUMBERS // max(1, width))
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


class PriorRows:
    """k_i(arm, .) of the arms played, of every member i; kept while they take little memory.

    They depend on the kernels only, so copies of a posterior share them. A row is always computed
    alone: computed with others, its last digits could be different, and the posterior would depend
    on who asked for it before.
    """

    def __init__(self, stack: KernelStack, points: Array) -> None:
        self.stack, self.points = stack, points
        self._kept: dict[int, Array] = {}

    def __deepcopy__(self, memo: Any) -> PriorRows:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"stack": self.stack, "points": self.points, "_kept": {}}

    def of(self, arm: int) -> Array:
        """Return k_i(arm, .), an (M, n) array that must not be changed."""
        row = self._kept.get(arm)
        if row is None:
            row = self._compute(arm)
            most = max(1, MOST_KEPT // row.size)
            while len(self._kept) >= most:
                del self._kept[next(iter(self._kept))]
            self._kept[arm] = row
        return row

    def diagonal(self) -> Array:
        """Return k_i(x, x) of all arms, an (M, n) array."""
        if self.stack.stacked is None:
            return np.array([prior_variance(kernel, self.points) for kernel in self.stack.kernels])
        return np.tile(self.stack.stacked.variances[:, None], len(self.points))

    def _compute(self, arm: int) -> Array:
        rows = np.empty((self.stack.size, 1, len(self.points)))
        self.write(np.array([arm]), rows)
        return rows[:, 0]

    @cached_property
    def _columns(self) -> Array:
        """The points, by columns if these are few.

        A kernel works on one coordinate of all points after the other. To gather them from the rows
        of a million points takes a quarter of its time.
        """
        few = self.points.shape[1] <= MOST_COLUMNS
        return np.asfortranarray(self.points) if few else self.points

    @cached_property
    def _pool(self) -> PoolRows:
        assert self.stack.stacked is not None
        return PoolRows(self.stack.stacked, self.points)

    def write(self, arms: Indices, out: Array) -> None:
        """Write k_i(arm, .) of some arms to an (M, arms, n) array."""
        if self.stack.stacked is None:
            for kernel, rows in zip(self.stack.kernels, out, strict=True):
                for some in blocks(rows.shape[1], max(16, len(arms))):
                    rows[:, some] = kernel(self.points[arms], self._columns[some])
            return
        self._pool.of(arms, out)
        if self.stack.stacked.nuggets.any():
            for row, arm in enumerate(arms.tolist()):
                same = (self._columns == self.points[arm]).all(1)
                out[:, row, same] += self.stack.stacked.nuggets[:, None]


class RowPosterior(MemberPosterior, Posterior):  # type: ignore[override]
    """The mixture of M >= 1 posteriors over a pool, each with weight 1 / M:

    mean = average of mean_i,   variance = average of (variance_i + mean_i^2) - mean^2.

    The members differ in their kernels and ridges. With few rewards many lengthscales explain them
    about equally well. A mixture over several of them is uncertain where they disagree; a single
    fit is not. Mean and variance are exact; the law of f at an arm is a mixture of M normal laws.
    M = 1 is the ordinary case.

    A reward costs O(M n m), m the number of distinct arms played. Member i has

        cov(x, z) = k(x, z) - V(x)' S V(z),

    with a row of V = L^-1 k(played, .) for each distinct arm played. L is any triangular factor: a
    new arm adds a row to it, and a factorisation from counts and sums replaces it. A reward adds
    q q' / e to the m x m matrix S, where cov(., arm) = V' q. It takes one pass over the rows, also
    for a new arm, and none if the arm before was the same: its column is then the last one times
    ridge / (variance + ridge).

    The simpler form that keeps the posterior covariance columns of the arms played amplifies
    rounding: 1e-7 after 800 rewards at 50 arms, where this one stays at 1e-13. The variances are a
    sum of their own and do drift apart from S, so every audit replaces the state.

    Parameters
    ----------
    kernel
        A kernel, or a callable k(x, z); or a list or a `KernelStack` of them, one for each member.
    points
        The arms, as `Arms` or an (n, d) array.
    ridge
        lambda of the paper: the variance of the noise, in the units of the kernel; or a list.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> posterior = kb.posterior.RowPosterior([kb.RBF(0.2), kb.RBF(0.8)], arms, [0.1, 0.1])
    >>> posterior.update(1, 2.0)
    >>> posterior.mean.round(3), posterior.sd.round(3)
    (array([0.788, 1.818, 0.788]), array([1.092, 0.302, 1.092]))
    >>> posterior.means.round(3)
    array([[0.08 , 1.818, 0.08 ],
           [1.496, 1.818, 1.496]])
    """

    is_plain = rebuilds = True

    def __init__(self, kernel: Any, points: Any, ridge: Any = 1.0) -> None:
        self.stack, self.ridges = read_members(kernel, ridge)
        self._ridges: list[float] = self.ridges.tolist()
        self.points = (
            points.points if isinstance(points, Arms) else checks.points("a posterior", points)
        )
        self._prior_rows = PriorRows(self.stack, self.points)
        self.priors = self._prior_rows.diagonal()
        """(M, n): k(x, x) under each member."""
        self._begin()

    def _begin(self) -> None:
        """Take the state of a posterior that has learnt nothing."""
        members, n = self.priors.shape
        self.tally = Tally(n)
        self.means, self.variances = np.zeros((members, n)), self.priors.copy()
        self.log_dets = np.zeros(members)
        self._rows: Array = np.empty((members, 0, n))
        self._factor: Array = np.empty((members, 0, 0))
        self._core: Array = np.empty((members, 0, 0))
        self._slot: dict[int, int] = {}
        self._last: tuple[int, Array, Array] | None = None
        """The arm of the last reward, cov(., arm) after it, and its coordinates q."""
        self._weights: tuple[Array, Array] | None = None
        """Counts and sums of the arms under each member, if rewards differ in precision."""
        self._moments: tuple[Array, Array] | None = None
        self._exact: tuple[Indices, list[Factorisation]] | None = None
        self._ceilings: Array = ROUNDING * self.priors
        """(M, n): no exact variance is larger."""
        self._audits = self._repairs = self._clamps = self._audited_at = self._patience = 0
        # Rounding leaves variances a little below zero; anything beyond this is damage.
        self._least_variance = -1e-9 * self._largest
        self._warned = False
        self._report_conditioning()

    means: Array = np.empty((0, 0))
    """(M, n): the posterior mean of each arm under each member."""
    variances: Array = np.empty((0, 0))
    """(M, n): the posterior variance of each arm under each member; rounding may leave it slightly
    below zero."""
    log_dets: Array
    """log det(I + K_t / ridge) under each member."""

    # ------------------------------------------------------------------ the mixture

    @property
    def prior(self) -> Array:  # type: ignore[override]
        """k(x, x) under the first member."""
        prior: Array = self.priors[0]
        return prior

    @property
    def loop_form(self) -> str | None:  # type: ignore[override]
        """What a compiled loop works on: the rows of a single member."""
        return "rows" if len(self.ridges) == 1 else None

    @property
    def has_bands(self) -> bool:  # type: ignore[override]
        """Whether it has a single member."""
        return len(self.ridges) == 1

    @property
    def mean(self) -> Array:  # type: ignore[override]
        """The posterior mean of each arm."""
        return self.means[0] if len(self.means) == 1 else self._mixture[0]

    @property
    def variance(self) -> Array:  # type: ignore[override]
        """The posterior variance of each arm."""
        return self.variances[0] if len(self.variances) == 1 else self._mixture[1]

    @property
    def log_det(self) -> float:  # type: ignore[override]
        """log det(I + K_t / ridge), the average over the members."""
        return self.log_dets.item(0) if len(self.log_dets) == 1 else float(self.log_dets.mean())

    @property
    def _mixture(self) -> tuple[Array, Array]:
        if self._moments is None:
            self._moments = mix_moments(self.means, np.sqrt(np.maximum(self.variances, 0.0)))
        return self._moments

    @cached_property
    def _largest(self) -> float:  # type: ignore[override]
        """The largest prior variance."""
        return float(self.priors.max())

    @cached_property
    def _largest_ratio(self) -> float:
        """k(x, x) / ridge of the member that has relatively the least noise."""
        return float((self.priors.max(1) / self.ridges).max())

    @property
    def distinct(self) -> int:
        """The number of distinct arms played."""
        return len(self._slot)

    # ------------------------------------------------------------------ learning

    def update(self, arm: int, reward: float) -> None:
        """Condition every member on one reward. With c = cov[:, arm] and e = c[arm] + ridge,

        mean += c (reward - mean[arm]) / e,   variance -= c^2 / e,   log_det += ln(e / ridge).

        If the variance of the arm is not positive, nothing is left to learn and c is taken as zero.
        """
        value = self._check_reward(arm, reward)
        column, events = self._find_column(arm), self.tally.events
        try:
            count = self.tally.add(arm, value)
            suspicious = self._condition(arm, [value] * len(self.ridges), *column)
        except BaseException:
            self._take_back(events)
            raise
        for i, ridge in enumerate(self._ridges):
            self._ceilings[i, arm] = min(self._ceilings.item(i, arm), ROUNDING * ridge / count)
        self.audit_if_due(suspicious)

    def _condition(
        self, arm: int, rewards: list[float], columns: Array, coordinates: Array
    ) -> bool:
        """Learn a reward of each member at an arm; return whether a variance is impossible.

        The column and its coordinates (`_find_column`) are changed.
        """
        # Comparisons are negated so that NaN is suspicious too.
        least = self.variances.item(int(self.variances.argmin()))
        suspicious = not least >= self._least_variance
        m = self.distinct
        # Member by member, in plain numbers: arrays of few members would take longer.
        for i, ridge in enumerate(self._ridges):
            column, q, mean = columns[i], coordinates[i], self.means[i]
            variance = column.item(arm)
            suspicious = suspicious or not 0.0 <= variance <= self._ceilings.item(i, arm)
            if not variance > 0:
                self._clamps += variance < 0
                variance = 0.0
                column.fill(0.0)
                q.fill(0.0)
            evidence = variance + ridge
            # BLAS works in place: numpy would make a temporary array at every reward.
            daxpy(column, mean, a=(rewards[i] - mean.item(arm)) / evidence)
            daxpy(column * column, self.variances[i], a=-1.0 / evidence)
            core = self._core[i, :m, :m]
            core += np.multiply.outer(q, q / evidence)
            self.log_dets[i] += math.log1p(variance / ridge)
            # c - c c[arm] / e = c ridge / e.
            dscal(ridge / evidence, column)
            q *= ridge / evidence
        self._last, self._moments, self._exact = (arm, columns, coordinates), None, None
        self._add_to_weights(arm, rewards)
        return suspicious

    def _add_to_weights(self, arm: int, rewards: Sequence[float]) -> None:
        """Count a reward of each member at an arm as one, if rewards differ in precision."""
        if self._weights is not None:
            # Copies share these arrays, so they are replaced and not changed.
            counts, sums = (part.copy() for part in self._weights)
            counts[:, arm] += 1
            sums[:, arm] += rewards
            self._weights = counts, sums

    def _find_column(self, arm: int) -> tuple[Array, Array]:
        """Return cov(., arm) = V' q, and q = (row of L) - S V(arm); both may be changed."""
        if arm not in self._slot:
            return self._add_arm(arm)
        if self._last is not None and self._last[0] == arm:
            return self._last[1:]
        m, slot = self.distinct, self._slot[arm]
        coordinates, columns = self._factor[:, slot, :m].copy(), np.empty(self.means.shape)
        for i in range(len(columns)):
            rows, q = self._rows[i, :m], coordinates[i]
            q -= self._core[i, :m, :m] @ rows[:, arm]
            np.dot(q, rows, out=columns[i])
        return columns, coordinates

    def _add_arm(self, arm: int) -> tuple[Array, Array]:
        """Add the row of a new arm to V, and return cov(., arm) and q.

        With p = V(arm) the row is (k(., arm) - V' p) / l, l^2 = ridge + k(arm, arm) - p' p, and the
        covariance is k(., arm) - V' S p.
        """
        m, priors = self.distinct, self._prior_rows.of(arm)
        self._grow(m + 1)
        columns, coordinates = np.empty(priors.shape), np.empty((len(priors), m + 1))
        for i, ridge in enumerate(self._ridges):
            prior, column, q = priors[i], columns[i], coordinates[i]
            rows, row = self._rows[i, :m], self._rows[i, m]
            projection = rows[:, arm].copy()
            explained = self._core[i, :m, :m] @ projection
            for some in blocks(len(prior), 128):
                # The second product finds the rows in the cache.
                part = rows[:, some]
                np.subtract(prior[some], projection @ part, out=row[some])
                np.subtract(prior[some], explained @ part, out=column[some])
            pivot = math.sqrt(ridge + max(row.item(arm), 0.0))
            row /= pivot
            self._factor[i, m, :m], self._factor[i, m, m] = projection, pivot
            np.subtract(projection, explained, out=q[:m])
            q[m] = pivot
        self._slot[arm] = m
        return columns, coordinates

    @single_threaded
    def _add_pending(self, arms: list[int]) -> None:
        """Lower the variances for all pending arms in one step; each is told its own mean.

        With Q the columns q of the arms, C = Q' V their cov(arm, .) and
        F F' = I + C(., arms) / ridge,

        S += Q (F F')^-1 Q' / ridge,   log_det += ln det(F F').

        If rounding leaves no finite numbers or a negative variance, the arms are added one by one.
        """
        if len(arms) == 1:
            self._imagine(arms[0])
            return
        self._last = self._moments = self._exact = None
        fresh = [arm for arm in dict.fromkeys(arms) if arm not in self._slot]
        if fresh:
            self._append(fresh)
        m, slots = self.distinct, [self._slot[arm] for arm in arms]
        rows, ridges = self._rows[:, :m], self.ridges[:, None, None]
        played = rows[:, :, arms]
        coordinates = self._factor[:, slots, :m] - played.swapaxes(1, 2) @ self._core[:, :m, :m]
        evidence = np.eye(len(arms)) + coordinates @ played / ridges
        sound = bool(np.isfinite(evidence).all())
        if sound:
            factors = lower_roots(evidence, [1.0] * len(evidence))
            half = np.linalg.solve(factors, coordinates) / np.sqrt(ridges)
            variances = self.variances.copy()
            for some in blocks(variances.shape[1], len(arms)):
                variances[:, some] -= np.square(half @ rows[:, :, some]).sum(1)
            sound = bool(variances.min() >= self._least_variance)
        if not sound:
            for arm in arms:
                self._imagine(arm)
            return
        self.variances = variances
        self._core[:, :m, :m] += half.swapaxes(1, 2) @ half
        pivots = np.diagonal(factors, axis1=1, axis2=2)
        self.log_dets = self.log_dets + 2 * np.log(pivots).sum(1)
        for arm in arms:
            self._add_to_weights(arm, self.means[:, arm].tolist())
            self.tally.add(arm, float(self.mean[arm]))

    def _imagine(self, arm: int) -> None:
        """Let each member learn its own mean at an arm."""
        self._condition(arm, self.means[:, arm].tolist(), *self._find_column(arm))
        self.tally.add(arm, float(self.mean[arm]))

    def _append(self, arms: list[int]) -> None:
        """Add the rows F^-1 R to V, R = k(arms, .) - V(arms)' V, F F' = ridge I + R(., arms)."""
        m, end = self.distinct, self.distinct + len(arms)
        self._grow(end)
        projection = self._rows[:, :m, arms].swapaxes(1, 2)
        residual = self._rows[:, m:end]
        for row, arm in enumerate(arms):
            residual[:, row] = self._prior_rows.of(arm)
        for some in blocks(len(self.points), end):
            residual[:, :, some] -= projection @ self._rows[:, :m, some]
        ridges = self.ridges[:, None, None]
        factors = lower_roots(
            residual[:, :, arms] + ridges * np.eye(len(arms)), self.ridges.tolist()
        )
        for some in blocks(len(self.points), end):
            residual[:, :, some] = np.linalg.solve(factors, residual[:, :, some])
        self._factor[:, m:end, :m], self._factor[:, m:end, m:end] = projection, factors
        self._slot |= zip(arms, range(m, end), strict=True)

    def _grow(self, needed: int) -> None:
        """Make the buffers large enough for this many rows.

        `resize` asks the system for a larger block of memory; on Linux that moves pages and copies
        nothing, so that the memory of a single member is never taken twice.
        """
        members, held, n = self._rows.shape
        if needed <= held:
            return
        room = max(1, CHUNK_NUMBERS // (members * n))
        size = max(needed, min(max(16, 2 * held), held + room))
        if members * (size - held) * n >= CHUNK_NUMBERS // 2:
            needed_bytes = 8 * members * ((size - held) * n + 4 * size**2)
            advice = "fewer arms or rounds need less"
            require_memory(f"a pool with the rows of {size} of {n} arms", needed_bytes, advice)
        if members == 1 and self._rows.flags.owndata:
            self._rows.resize((1, size, n), refcheck=False)
        else:
            # The system gives memory for zeros when they are first written to.
            rows = np.zeros((members, size, n))
            rows[:, :held] = self._rows
            self._rows = rows
        kept = min(held, self._factor.shape[1])
        factor, core = np.zeros((2, members, size, size))
        factor[:, :kept, :kept] = self._factor[:, :kept, :kept]
        core[:, :kept, :kept] = self._core[:, :kept, :kept]
        self._factor, self._core = factor, core

    def learn(self, counts: Any, sums: Any, events: int | None = None) -> None:
        """Replace everything learnt by these counts and sums of rewards, one of each for an arm.

        With the number of `events`, counts are weights: a reward of variance v counts as ridge / v
        and its value as much in the sum. They may be (M, n) arrays, with a row for each member.
        """
        if events is None or np.ndim(counts) == 1:
            super().learn(counts, sums, events)
            return
        pairs = zip(counts, sums, strict=True)
        totals = [check_totals(*one, len(self.points), least=0, weights=True) for one in pairs]
        checks.needs(
            len(totals) == len(self.ridges), "learn", "totals for each member", len(totals)
        )
        weights, sums = zip(*totals, strict=True)
        self._weights = np.array(weights), np.array(sums)
        self._learn_tally(Tally.of(*totals[0], events))

    def _learn_tally(self, tally: Tally) -> None:
        self.tally = tally
        played = self.support
        counts = self._member_totals(played)[0]
        self._ceilings = ROUNDING * self.priors
        with np.errstate(divide="ignore"):
            most = ROUNDING * self.ridges[:, None] / counts
        self._ceilings[:, played] = np.minimum(self._ceilings[:, played], most)
        self._audited_at = self.tally.events
        self._replace_state(played)
        self._report_conditioning()

    def rebuild(self, tally: Tally) -> None:
        """Replace everything learnt by a tally, whatever was learnt: nothing of it is kept.

        The state is then the same as that of any other posterior with this tally, to the last bit.
        """
        self._patience, self._weights = 0, None
        self._learn_tally(tally)

    def _member_totals(self, arms: Indices) -> tuple[Array, Array]:
        """Return counts and sums of some arms under each member, (M, arms) arrays."""
        if self._weights is not None:
            counts, sums = self._weights
            return counts[:, arms], sums[:, arms]
        shape = len(self.ridges), len(arms)
        counts, sums = self.counts[arms].astype(float), self.tally.sums[arms]
        return np.broadcast_to(counts, shape), np.broadcast_to(sums, shape)

    def _restore_state(self) -> bool:
        played = self.support
        means, variances, log_dets = self.means, self.variances, self.log_dets
        self._replace_state(played)
        tolerance = self._member_tolerances()
        size = np.maximum(self.variances, EPS * self.variances.max(1, keepdims=True))
        same = (
            (np.abs(variances - self.variances) <= tolerance * size).all()
            and (np.abs(means - self.means) <= tolerance * self._largest_reward).all()
            and np.isfinite(log_dets).all()
        )
        return not same

    def _member_tolerances(self) -> Array:
        """Return 1e3 eps k_max / var_min of each member, a column; rounding is no larger."""
        least = np.where(self.priors > 0, self.variances, np.inf).min(1, keepdims=True)
        largest = self.priors.max(1, keepdims=True)
        return np.asarray(1e3 * EPS * largest / np.maximum(least, EPS * largest))

    def _replace_state(self, played: Indices) -> None:
        """Compute all from counts and sums, with A = K + ridge N^-1 = L L', N the counts:

        V = L^-1 k(played, .),   S = I,   mean = V' L^-1 ybar,   variance = k(x, x) - sum of V^2.
        """
        m = len(played)
        self._last = self._moments = None
        self._slot = {int(arm): row for row, arm in enumerate(played)}
        self._grow(m)
        rows = self._rows[:, :m]
        self._prior_rows.write(played, rows)
        self._exact = played, self._factorise(rows[:, :, played], played)
        self.means, self.variances = np.empty(self.means.shape), self.priors.copy()
        self.log_dets = np.array([one.log_det for one in self._exact[1]])
        for i, one in enumerate(self._exact[1]):
            for some in blocks(rows.shape[2], m):
                prior = rows[i, :, some]
                self.means[i, some] = one.coefficients @ prior
                explained = one.explained_root(prior.T)
                self.variances[i, some] -= np.einsum("mn,mn->n", explained, explained)
                prior[:] = explained
            left = self.variances[i, played]
            self.variances[i, played] = one.played_variance(self.priors[i, played], left)
            self._factor[i, :m, :m] = one.factor * (math.sqrt(one.ridge) / one.root)[:, None]
            self._core[i, :m, :m] = np.eye(m)

    def _factorise(self, matrices: Array, played: Indices) -> list[Factorisation]:
        """Return the posterior of each member from K of the arms played, counts and sums."""
        counts, sums = self._member_totals(played)
        parts = zip(matrices, counts, sums, self.ridges.tolist(), strict=True)
        return [Factorisation.of(*part) for part in parts]

    # ------------------------------------------------------------------ answers

    def _exact_members(self) -> tuple[Indices, list[Factorisation]]:
        """Return the arms played, and the posterior of each member from counts and sums."""
        if self._exact is None:
            played = self.support
            points = self.points[played]
            matrices = self.stack(points, points)
            self._exact = played, self._factorise(matrices, played)
        return self._exact

    def members_at(self, points: Any) -> tuple[Array, Array]:
        """Return mean and sd of each member at any points, (M, n) arrays, from counts and sums."""
        where = self._check_points(points)
        priors = self.stack.diagonal(where)
        if not self.events:
            return np.zeros(priors.shape), np.sqrt(priors)
        played, exact = self._exact_members()
        crosses = self.stack(where, self.points[played])
        means = np.array([one.mean(cross) for one, cross in zip(exact, crosses, strict=True)])
        roots = (one.explained_root(cross) for one, cross in zip(exact, crosses, strict=True))
        explained = np.array([np.einsum("mn,mn->n", root, root) for root in roots])
        return means, np.sqrt(np.maximum(priors - explained, 0.0))

    def member_covariances(self, points: Any) -> Array:
        """Return the covariance of f at any points under each member, an (M, n, n) array."""
        where = self._check_points(points)
        covariances = self.stack(where, where)
        if self.events:
            played, exact = self._exact_members()
            crosses = self.stack(where, self.points[played])
            for one, cross, covariance in zip(exact, crosses, covariances, strict=True):
                root = one.explained_root(cross)
                covariance -= root.T @ root
        return covariances

    def leave_out_each(self, points: Array, counts: Array) -> tuple[Array, Array] | None:
        """Predict the mean reward of each point from the other points; None if inaccurate.

        With v the posterior variance of a point, z its mean reward and d = ridge / count,

            prediction = z - (z - mean) / (1 - v / d),   variance = d / (1 - v / d)

        under each member, (M, points) arrays. They need no factorisation, but 1 - v / d loses
        digits where there is little noise. There is no answer if rewards differ in precision, or
        if several arms at a point were played.
        """
        played = self.support
        # Adding 0.0 turns -0.0 into 0.0, which is the same point with other bytes.
        rows = zip(self.points[played] + 0.0, played.tolist(), strict=True)
        arm_at = {row.tobytes(): arm for row, arm in rows}
        arms = [arm_at.get(row.tobytes(), -1) for row in points + 0.0]
        if self._weights is not None or sorted(arms) != played.tolist():
            return None
        if not np.array_equal(self.counts[arms], counts):
            return None
        noise = self.ridges[:, None] / counts
        if self.conditioning * self._largest_ratio * counts.max() > LARGEST_LEFT_OUT_ERROR:
            return None
        left = 1 - self.variances[:, arms] / noise
        results = self.tally.sums[arms] / counts
        return results - (results - self.means[:, arms]) / left, noise / left

    def deviation(self, g: Array, e: Array) -> Array:
        """Return a draw of f - mean of a single member, by Matheron's rule:

        g - V' S L^-1 (g(played) + sqrt(ridge / n) e).

        g is a draw from the prior over all arms, and e has a standard normal number for each
        distinct arm played, in the order of the rows.
        """
        m, arms = self.distinct, list(self._slot)
        if not m:
            return g.copy()
        values = g[arms] + np.sqrt(self.ridge / self.counts[arms]) * e
        white = solve_triangular(self._factor[0, :m, :m], values, lower=True)
        weights = self._core[0, :m, :m] @ white
        drawn = np.empty(len(g))
        for some in blocks(len(g), 32):
            np.subtract(g[some], weights @ self._rows[0, :m, some], out=drawn[some])
        return drawn

    # ------------------------------------------------------------------ memory and compiled loops

    @property
    def audit_interval(self) -> int:
        return max(1000, 20 * self.distinct)

    def memory(self, distinct: int) -> int:
        """Return how many bytes are needed after so many distinct arms were played.

        There are a row for each of them, two matrices with a temporary of each, and some arrays
        with one number for each arm.
        """
        each = len(self.points) * (distinct + ARRAYS) + 4 * distinct**2
        return 8 * len(self.ridges) * each

    def has_members(self, stack: KernelStack, ridges: Sequence[float], arms: Arms) -> bool:
        """Return whether these are the kernels, the ridges and the arms of its members."""
        same = self.points is arms.points and self.ridges.tolist() == list(ridges)
        return same and self.stack.equals(stack)

    def without_rewards(self) -> RowPosterior:
        """Return a posterior of the same members and arms before the first reward.

        It shares the prior rows, which take longer to compute than all else of a new one.
        """
        other = copy.copy(self)
        other._begin()
        return other

    def _copy(self) -> RowPosterior:
        """Return a copy that shares what never changes, with room for some more rows."""
        other, m = copy.copy(self), self.distinct
        other.tally = copy.deepcopy(self.tally)
        # What is kept of the last reward is changed in place by the next one.
        other._last = None
        other._slot, other._ceilings = dict(self._slot), self._ceilings.copy()
        for name in ("means", "variances", "log_dets"):
            setattr(other, name, getattr(self, name).copy())
        # With room for the rows of pending arms: to make it later would copy all rows again.
        members, size = len(self.ridges), m + SPARE
        other._rows = np.empty((members, size, len(self.points)))
        other._factor, other._core = np.zeros((2, members, size, size))
        other._rows[:, :m] = self._rows[:, :m]
        other._factor[:, :m, :m] = self._factor[:, :m, :m]
        other._core[:, :m, :m] = self._core[:, :m, :m]
        return other

    def lend(self) -> LentPool:
        """Return the state of the only member for a compiled loop; `take_back` takes it back."""
        self._last = self._exact = None
        return LentPool(self)

    def take_back(self, lent: LentPool, suspicious: bool) -> None:
        """Take the state back from a compiled loop, and audit it if that is due."""
        *_, arms, counts, sums, lost, ceilings, totals = lent.arrays
        self.log_dets[0], self.tally.largest, clamps = totals[:3].tolist()
        self._clamps = int(clamps)
        self.tally.take_back_arms(arms, counts, sums, lost)
        self._ceilings[0, arms] = ceilings
        self.audit_if_due(suspicious)


class LentPool:
    """The state of a pool while a compiled loop works on it.

    Mean, variance, rows, factor and core are those of the pool. Of the arms that have a row, it
    holds numbers of its own until they are taken back, with room for further arms, so that a first
    play need not go through the lists of the posterior.

    >>> import kernelbandits as kb
    >>> pool = kb.posterior.RowPosterior([kb.RBF(0.5)], kb.Arms([[0.0], [0.5], [1.0]]), [0.1])
    >>> pool.update(2, 0.7)
    >>> lent = pool.lend()
    >>> lent.arms
    array([2])
    >>> pool.take_back(lent, suspicious=False)
    """

    def __init__(self, pool: RowPosterior) -> None:
        self._pool = pool
        arms = np.array(list(pool._slot), dtype=np.int64)
        self._whole = np.stack([arms, pool.counts[arms]])
        self._real = np.stack([*pool.tally.lend_arms(pool._slot), pool._ceilings[0, arms]])
        self._totals = np.array(
            [pool.log_det, pool.tally.largest, pool._clamps, pool._least_variance, np.nan]
        )

    @property
    def arms(self) -> Indices:
        """The arms that have a row."""
        return self._whole[0, : self._pool.distinct]

    @property
    def arrays(self) -> PoolState:
        """What the loop works on."""
        pool, m = self._pool, self._pool.distinct
        whole, real = self._whole[:, :m], self._real[:, :m]
        return (
            *(pool.means[0], pool.variances[0], pool._rows[0], pool._factor[0], pool._core[0]),
            *(whole[0], whole[1], real[0], real[1], real[2], self._totals),
        )

    def add_arm(self, arm: int) -> tuple[int, Array]:
        """Make room for the row of a new arm, which the loop computes as it plays the arm first.

        Return the arm and k(., arm).
        """
        pool, m = self._pool, self._pool.distinct
        prior = pool._prior_rows.of(arm)[0]
        pool._grow(m + 1)
        if m == self._whole.shape[1]:
            more = ((0, 0), (0, max(16, m)))
            self._whole, self._real = np.pad(self._whole, more), np.pad(self._real, more)
        self._whole[:, m] = arm, 0
        self._real[:, m] = 0.0, 0.0, pool._ceilings[0, arm]
        pool._slot[arm] = m
        return arm, prior
