"""The posterior over a pool that is too large for an n x n covariance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtrs

from kernelbandits.checks import Array, Indices
from kernelbandits.posterior.base import EPS, Posterior, prior_variance
from kernelbandits.posterior.sufficient import Factorisation, lower_root
from kernelbandits.runtime import single_threaded

MOST_KEPT = 1 << 20
"""The most numbers kept in prior columns: 8 MB."""


class PriorColumns:
    """The columns k(., arm), computed once and kept while they take little memory.

    They depend on the kernel only, so copies of a posterior share them.
    """

    def __init__(self, kernel: Any, points: Array) -> None:
        self._kernel, self._points = kernel, points
        self._kept: dict[int, Array] = {}

    def __deepcopy__(self, memo: Any) -> PriorColumns:
        return self

    def of(self, arm: int) -> Array:
        """Return k(., arm)."""
        if arm in self._kept:
            return self._kept[arm]
        column: Array = self._kernel(self._points[arm][None], self._points)[0]
        if (len(self._kept) + 1) * len(self._points) <= MOST_KEPT:
            self._kept[arm] = column
        return column


class PoolPosterior(Posterior):
    """The posterior over a large pool: a reward costs O(n m), m the number of distinct arms played.

    cov(x, z) = k(x, z) - V(x)' S V(z), with the rows of V = L^-1 k(played, .) and
    L L' = K + ridge I. A new arm adds a row to V. A reward adds q q' / e to the m x m matrix S,
    where cov(., arm) = V' q.

    The simpler form that keeps the posterior covariance columns of the arms played amplifies
    rounding: 1e-7 after 800 rewards at 50 arms, where this one stays at 1e-13. The variances are a
    sum of their own and do drift apart from S, so every audit replaces the state.
    """

    is_plain = True

    def _prior(self) -> Array:
        self.variance = prior_variance(self.kernel, self.points)
        self._rows: Array = np.empty((0, len(self.points)))
        self._factor: Array = np.empty((0, 0))
        self._core: Array = np.empty((0, 0))
        self._slot: dict[int, int] = {}
        self._prior_columns = PriorColumns(self.kernel, self.points)
        return self.variance.copy()

    @property
    def audit_interval(self) -> int:
        return max(1000, 20 * len(self._slot))

    def _column(self, arm: int) -> Array:
        """Return V' q, with q = (row of L) - S V(arm)."""
        if arm not in self._slot:
            self._append([arm])
        m = len(self._slot)
        self._coordinates = (
            self._factor[self._slot[arm], :m] - self._core[:m, :m] @ self._rows[:m, arm]
        )
        return self._coordinates @ self._rows[:m]

    def _downdate(self, arm: int, scaled: Array, evidence: float) -> None:
        m = len(self._slot)
        square = np.dot(self._coordinates[:, None], self._coordinates[None])
        square /= evidence
        self._core[:m, :m] += square
        self.variance -= scaled**2

    @single_threaded
    def _add_pending(self, arms: list[int]) -> None:
        """Add all pending arms in one step.

        With Q the columns q of the arms, C = Q' V their cov(arm, .) and
        F F' = I + C(., arms) / ridge,

        S += Q (F F')^-1 Q' / ridge,   log_det += ln det(F F').

        If rounding leaves no finite numbers or a negative variance, the arms are added one by one,
        with audits.
        """
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
        variance = self.variance - ((half @ rows) ** 2).sum(0)
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
        residual = (
            np.array([self._prior_columns.of(arm) for arm in arms]) - projection @ self._rows[:m]
        )
        block = lower_root(residual[:, arms] + self.ridge * np.eye(len(arms)), least=self.ridge)
        self._rows[m:end] = dtrtrs(block, residual, lower=1)[0]
        self._factor[m:end, :m], self._factor[m:end, m:end] = projection, block
        self._slot |= zip(arms, range(m, end), strict=True)

    def _grow(self, needed: int) -> None:
        """Make the buffers large enough, at least doubling them."""
        held = len(self._rows)
        if needed <= held:
            return
        size = max(needed, 16, 2 * held)
        rows, (factor, core) = np.empty((size, len(self.points))), np.zeros((2, size, size))
        rows[:held], factor[:held, :held], core[:held, :held] = self._rows, self._factor, self._core
        self._rows, self._factor, self._core = rows, factor, core

    def _reconcile(self, exact: Factorisation, played: Indices) -> bool:
        cross = self.kernel(self.points, self.points[played])
        mean, variance = exact.mean(cross), self.prior - (exact.explained_root(cross) ** 2).sum(0)
        variance[played] = exact.played_variance(self.prior[played], variance[played])
        tolerance = self._tolerance(variance)
        size = np.maximum(variance, EPS * variance.max())
        same = bool((np.abs(self.variance - variance) <= tolerance * size).all())
        repaired = not same or self._mean_differs(mean, tolerance)
        self.mean[:], self.variance = mean, variance
        self._rebuild(exact, played, cross)
        return repaired

    def _rebuild(self, exact: Factorisation, played: Indices, cross: Array) -> None:
        """Compute V and S from counts and sums: S = L' (K + ridge N^-1)^-1 L."""
        matrix = cross[played]
        self._factor = lower_root(matrix + self.ridge * np.eye(len(played)), least=self.ridge)
        self._rows = solve_triangular(self._factor, cross.T, lower=True)
        half = solve_triangular(exact.factor, exact.root[:, None] * self._factor, lower=True)
        self._core = np.asarray(half.T @ half / self.ridge)
        self._slot = {int(arm): row for row, arm in enumerate(played)}
