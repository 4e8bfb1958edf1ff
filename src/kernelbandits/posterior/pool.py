"""The posterior over a pool: a row for each distinct arm played instead of an n x n covariance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtrs

from kernelbandits.checks import Array, Indices
from kernelbandits.posterior.base import EPS, Posterior, prior_variance
from kernelbandits.posterior.sufficient import Factorisation, lower_root
from kernelbandits.runtime import require_memory, single_threaded

MOST_KEPT = 1 << 20
"""The most numbers kept in prior columns: 8 MB."""
BLOCK_NUMBERS = 1 << 18
"""About how many numbers of a matrix are computed at a time, so that temporary arrays stay small:
2 MB."""
MOST_COLUMNS = 8
"""Points of up to so many coordinates are stored by columns too: as many numbers as eight rows."""
ARRAYS = 24
"""Numbers held for each arm besides its column of the rows: mean, variance, index, temporaries."""
CHUNK_NUMBERS = 1 << 22
"""The rows grow by at most so many numbers at a time, 32 MB, and at least by one row."""

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


class PriorColumns:
    """The columns k(., arm), computed once and kept while they take little memory.

    They depend on the kernel only, so copies of a posterior share them.
    """

    def __init__(self, kernel: Any, points: Array) -> None:
        self._kernel = kernel
        # A kernel works on one coordinate of all points after the other. To gather them from the
        # rows of a million points takes a quarter of its time, so they are stored by columns.
        few = points.shape[1] <= MOST_COLUMNS
        self._points = np.asfortranarray(points) if few else points
        self._kept: dict[int, Array] = {}

    def __deepcopy__(self, memo: Any) -> PriorColumns:
        return self

    def of(self, arm: int) -> Array:
        """Return k(., arm)."""
        if arm in self._kept:
            return self._kept[arm]
        column, point = np.empty(len(self._points)), self._points[arm][None]
        for some in blocks(len(self._points), 16):
            column[some] = self._kernel(point, self._points[some])[0]
        if (len(self._kept) + 1) * len(self._points) <= MOST_KEPT:
            self._kept[arm] = column
        return column


class PoolPosterior(Posterior):
    """The posterior over a pool: a reward costs O(n m), m the number of distinct arms played.

    cov(x, z) = k(x, z) - V(x)' S V(z), with the rows of V = L^-1 k(played, .) and
    L L' = K + ridge I. A new arm adds a row to V. A reward adds q q' / e to the m x m matrix S,
    where cov(., arm) = V' q.

    A reward takes one pass over the rows, also for a new arm, and none if the arm before was the
    same: its column is then the last one times ridge / (variance + ridge).

    The simpler form that keeps the posterior covariance columns of the arms played amplifies
    rounding: 1e-7 after 800 rewards at 50 arms, where this one stays at 1e-13. The variances are a
    sum of their own and do drift apart from S, so every audit replaces the state.
    """

    is_plain = True
    lends = True

    def _prior(self) -> Array:
        self.variance = prior_variance(self.kernel, self.points)
        self._rows: Array = np.empty((0, len(self.points)))
        self._factor: Array = np.empty((0, 0))
        self._core: Array = np.empty((0, 0))
        self._slot: dict[int, int] = {}
        self._prior_columns = PriorColumns(self.kernel, self.points)
        self._last: tuple[int, Array, Array] | None = None
        """The arm of the last reward, cov(., arm) after it, and its coordinates q."""
        return self.variance.copy()

    @property
    def audit_interval(self) -> int:
        return max(1000, 20 * len(self._slot))

    def _column(self, arm: int) -> Array:
        """Return cov(., arm) = V' q, with q = (row of L) - S V(arm)."""
        if arm not in self._slot:
            return self._add_arm(arm)
        if self._last is not None and self._last[0] == arm:
            _, column, self._coordinates = self._last
            return column
        m = len(self._slot)
        self._coordinates = (
            self._factor[self._slot[arm], :m] - self._core[:m, :m] @ self._rows[:m, arm]
        )
        return self._coordinates @ self._rows[:m]

    def _add_arm(self, arm: int) -> Array:
        """Add the row of a new arm to V, and return cov(., arm): two combinations of the rows.

        With p = V(arm) the row is (k(., arm) - V' p) / l, l^2 = ridge + k(arm, arm) - p' p, and the
        covariance is k(., arm) - V' S p.
        """
        m, prior = len(self._slot), self._prior_columns.of(arm)
        self._grow(m + 1)
        projection = self._rows[:m, arm].copy()
        explained = self._core[:m, :m] @ projection
        row, column = self._rows[m], np.empty(len(prior))
        for some in blocks(len(prior), 128):
            # The second product finds the rows in the cache.
            rows = self._rows[:m, some]
            np.subtract(prior[some], projection @ rows, out=row[some])
            np.subtract(prior[some], explained @ rows, out=column[some])
        pivot = math.sqrt(self.ridge + max(float(row[arm]), 0.0))
        row /= pivot
        self._factor[m, :m], self._factor[m, m] = projection, pivot
        self._coordinates = np.append(projection - explained, pivot)
        self._slot[arm] = m
        return column

    def _downdate(self, arm: int, scaled: Array, evidence: float) -> None:
        self._last = None
        if not scaled[arm] > 0:
            return
        m = len(self._slot)
        square = np.dot(self._coordinates[:, None], self._coordinates[None])
        square /= evidence
        self._core[:m, :m] += square
        self.variance -= scaled**2
        # c - c c[arm] / e = c ridge / e, and c = scaled sqrt(e).
        left = self.ridge / evidence
        scaled *= left * math.sqrt(evidence)
        self._last = arm, scaled, self._coordinates * left

    @single_threaded
    def _add_pending(self, arms: list[int]) -> None:
        """Add all pending arms in one step.

        With Q the columns q of the arms, C = Q' V their cov(arm, .) and
        F F' = I + C(., arms) / ridge,

        S += Q (F F')^-1 Q' / ridge,   log_det += ln det(F F').

        If rounding leaves no finite numbers or a negative variance, the arms are added one by one,
        with audits.
        """
        self._last = None
        fresh = [arm for arm in dict.fromkeys(arms) if arm not in self._slot]
        if fresh:
            self._append(fresh)
        m, slots = len(self._slot), [self._slot[arm] for arm in arms]
        rows, played = self._rows[:m], self._rows[:m, arms]
        coordinates = self._factor[slots, :m] - played.T @ self._core[:m, :m]
        evidence = np.eye(len(arms)) + coordinates @ played / self.ridge
        if not np.isfinite(evidence).all():
            super()._add_pending(arms)
            return
        factor = lower_root(evidence, least=1.0)
        half = dtrtrs(factor, coordinates, lower=1)[0] / math.sqrt(self.ridge)
        variance = self.variance.copy()
        for some in blocks(len(variance), len(arms)):
            variance[some] -= ((half @ rows[:, some]) ** 2).sum(0)
        if not variance.min() >= self._least_variance:
            super()._add_pending(arms)
            return
        self.variance = variance
        self._core[:m, :m] += half.T @ half
        self.log_det += 2 * float(np.log(factor.diagonal()).sum())
        for arm in arms:
            self.tally.add(arm, float(self.mean[arm]))

    def _append(self, arms: list[int]) -> None:
        """Add the rows F^-1 R to V, R = k(arms, .) - V(arms)' V, F F' = ridge I + R(., arms)."""
        m, end = len(self._slot), len(self._slot) + len(arms)
        self._grow(end)
        projection = self._rows[:m, arms].T
        residual = self._rows[m:end]
        for row, arm in enumerate(arms):
            residual[row] = self._prior_columns.of(arm)
        for some in blocks(len(self.points), end):
            residual[:, some] -= projection @ self._rows[:m, some]
        block = lower_root(residual[:, arms] + self.ridge * np.eye(len(arms)), least=self.ridge)
        for some in blocks(len(self.points), end):
            residual[:, some] = dtrtrs(block, residual[:, some], lower=1)[0]
        self._factor[m:end, :m], self._factor[m:end, m:end] = projection, block
        self._slot |= zip(arms, range(m, end), strict=True)

    def _grow(self, needed: int) -> None:
        """Make the buffers large enough for this many rows.

        `resize` asks the system for a larger block of memory; on Linux that moves pages and copies
        nothing, so that the memory is never taken twice.
        """
        held, n = self._rows.shape
        if needed <= held:
            return
        size = max(needed, min(max(16, 2 * held), held + max(1, CHUNK_NUMBERS // n)))
        if (size - held) * n >= CHUNK_NUMBERS // 2:
            needed_bytes = 8 * ((size - held) * n + 4 * size**2)
            advice = "fewer arms or rounds need less"
            require_memory(f"a pool with the rows of {size} of {n} arms", needed_bytes, advice)
        if not self._rows.flags.owndata:
            self._rows = self._rows.copy()
        self._rows.resize((size, n), refcheck=False)
        kept = min(held, len(self._factor))
        factor, core = np.zeros((2, size, size))
        factor[:kept, :kept], core[:kept, :kept] = (
            self._factor[:kept, :kept],
            self._core[:kept, :kept],
        )
        self._factor, self._core = factor, core

    def _reconcile(self, exact: Factorisation, played: Indices) -> bool:
        """Compute everything again, some arms at a time, and compare; the new state is kept."""
        self._start_again(exact, played)
        m, known = len(played), self.points[played]
        mean, variance = np.empty(len(self.points)), self.prior.copy()
        for some in blocks(len(mean), m):
            cross = self.kernel(self.points[some], known)
            mean[some] = exact.mean(cross)
            variance[some] -= (exact.explained_root(cross) ** 2).sum(0)
            self._rows[:m, some] = solve_triangular(self._factor[:m, :m], cross.T, lower=True)
        variance[played] = exact.played_variance(self.prior[played], variance[played])
        tolerance = self._tolerance(variance)
        size = np.maximum(variance, EPS * variance.max())
        same = bool((np.abs(self.variance - variance) <= tolerance * size).all())
        repaired = not same or self._mean_differs(mean, tolerance)
        self.mean[:], self.variance = mean, variance
        return repaired

    def _start_again(self, exact: Factorisation, played: Indices) -> None:
        """Compute L and S from counts and sums: S = L' (K + ridge N^-1)^-1 L; the rows follow."""
        m, known = len(played), self.points[played]
        self._last = None
        self._grow(m)
        factor = lower_root(self.kernel(known, known) + self.ridge * np.eye(m), least=self.ridge)
        half = solve_triangular(exact.factor, exact.root[:, None] * factor, lower=True)
        self._factor[:], self._core[:] = 0.0, 0.0
        self._factor[:m, :m] = factor
        self._core[:m, :m] = half.T @ half / self.ridge
        self._slot = {int(arm): row for row, arm in enumerate(played)}

    def memory(self, distinct: int) -> int:
        """Return how many bytes are needed after so many distinct arms were played.

        There are a row for each of them, two matrices with a temporary of each, and some arrays
        with one number for each arm.
        """
        return 8 * (len(self.points) * (distinct + ARRAYS) + 4 * distinct**2)

    @property
    def distinct(self) -> int:
        """The number of distinct arms played."""
        return len(self._slot)

    def deviation(self, g: Array, e: Array) -> Array:
        """Return a draw of f - mean, g - V' S L^-1 (g(played) + sqrt(ridge / n) e).

        This is Matheron's rule.

        g is a draw from the prior over all arms, and e has a standard normal number for each
        distinct arm played, in the order of the rows.
        """
        m, arms = len(self._slot), list(self._slot)
        if not m:
            return g.copy()
        values = g[arms] + np.sqrt(self.ridge / self.counts[arms]) * e
        white = solve_triangular(self._factor[:m, :m], values, lower=True)
        weights = self._core[:m, :m] @ white
        drawn = np.empty(len(g))
        for some in blocks(len(g), 32):
            np.subtract(g[some], weights @ self._rows[:m, some], out=drawn[some])
        return drawn

    def lend(self) -> LentPool:
        """Return the state for a compiled loop; `take_back` takes it back."""
        self._last = None
        return LentPool(self)

    def take_back(self, lent: LentPool, suspicious: bool) -> None:
        """Take the state back from a compiled loop, and audit it if that is due."""
        *_, arms, counts, sums, lost, ceilings, totals = lent.arrays
        self.log_det, self.tally.largest, clamps = totals[:3].tolist()
        self._clamps = int(clamps)
        self.tally.take_back_arms(arms, counts, sums, lost)
        for arm, ceiling in zip(self._slot, ceilings.tolist(), strict=True):
            self._ceiling[arm] = ceiling
        self.audit_if_due(suspicious)


class LentPool:
    """The state of a pool while a compiled loop works on it.

    Mean, variance, rows, factor and core are those of the pool. Of the arms that have a row, it
    holds numbers of its own until they are taken back, with room for further arms, so that a first
    play need not go through the lists of the posterior.
    """

    def __init__(self, pool: PoolPosterior) -> None:
        self._pool = pool
        arms = np.array(list(pool._slot), dtype=np.int64)
        self._whole = np.stack([arms, pool.counts[arms]])
        ceilings = [pool._ceiling[arm] for arm in pool._slot]
        self._real = np.stack([*pool.tally.lend_arms(pool._slot), np.array(ceilings, dtype=float)])
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
            *(pool.mean, pool.variance, pool._rows, pool._factor, pool._core),
            *(whole[0], whole[1], real[0], real[1], real[2], self._totals),
        )

    def add_arm(self, arm: int) -> tuple[int, Array]:
        """Make room for the row of a new arm, which the loop computes as it plays the arm first.

        Return the arm and k(., arm).
        """
        pool, m = self._pool, self._pool.distinct
        prior = pool._prior_columns.of(arm)
        pool._grow(m + 1)
        if m == self._whole.shape[1]:
            more = ((0, 0), (0, max(16, m)))
            self._whole, self._real = np.pad(self._whole, more), np.pad(self._real, more)
        self._whole[:, m] = arm, 0
        self._real[:, m] = 0.0, 0.0, pool._ceiling[arm]
        pool._slot[arm] = m
        return arm, prior
