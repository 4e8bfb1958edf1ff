"""The posterior over a pool too large for an n x n covariance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtrs

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import gram
from kernelbandits.posterior.base import EPS, Posterior
from kernelbandits.posterior.sufficient import Factorisation, lower_root
from kernelbandits.posterior.trusted import CHECKED_POINTS
from kernelbandits.runtime import single_threaded

MOST_KEPT = 1 << 20
"""Numbers of prior columns that are kept."""


class PriorColumns:
    """k(., arm), kept for as long as the kernel stays while they take little room; copies of a posterior share them."""

    def __init__(self, kernel: Any, points: Array) -> None:
        self._kernel, self._points = kernel, points
        self._kept: dict[int, Array] = {}

    def __deepcopy__(self, memo: Any) -> PriorColumns:
        return self

    def of(self, arm: int) -> Array:
        if arm in self._kept:
            return self._kept[arm]
        column: Array = self._kernel(self._points[arm][None], self._points)[0]
        if (len(self._kept) + 1) * len(self._points) <= MOST_KEPT:
            self._kept[arm] = column
        return column


class PoolPosterior(Posterior):
    """A pool too large for an n x n covariance: O(n m) a reward, m the number of distinct arms played.

    cov(x, z) = k(x, z) - V(x)' S V(z). The rows of V = L^-1 k(played, .), L L' = K + ridge I, are added one for each
    new arm; a reward adds q q' / e to the m x m matrix S, where cov(., arm) = V' q. Unlike the n x n form this one
    drifts (the variances are a sum of their own), so every audit starts it afresh from the truth.
    """

    is_plain = True

    def _prior(self) -> Array:
        gram(self.kernel, self.points[:CHECKED_POINTS])
        self.variance = self.kernel.diagonal(self.points)
        checks.needs(
            bool(np.isfinite(self.variance).all()),
            str(self.kernel),
            "finite k(x, x)",
            self.variance,
        )
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
        """V' q, with q = (row of L) - S V(arm)."""
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
        """All at once: with Q the columns q of the arms, C = Q' V their cov(arm, .) and F F' = I + C(., arms) / ridge,

        S += Q (F F')^-1 Q' / ridge,   log_det += ln det(F F').

        Where rounding leaves no such numbers, one by one, with audits.
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
        """The next rows of V: F^-1 (k(arms, .) - V(arms)' V), with F F' = ridge I + that at the arms themselves."""
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
        """V and S from the truth: S = L' (K + ridge N^-1)^-1 L."""
        matrix = cross[played]
        self._factor = lower_root(matrix + self.ridge * np.eye(len(played)), least=self.ridge)
        self._rows = solve_triangular(self._factor, cross.T, lower=True)
        half = solve_triangular(exact.factor, exact.root[:, None] * self._factor, lower=True)
        self._core = np.asarray(half.T @ half / self.ridge)
        self._slot = {int(arm): row for row, arm in enumerate(played)}
