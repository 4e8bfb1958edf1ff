"""The estimate after t rewards: mean, sd and log-determinant over a finite set of arms.

    mean(x) = k_t(x)' (K_t + ridge I)^-1 y
    cov(x, z) = k(x, z) - k_t(x)' (K_t + ridge I)^-1 k_t(z),    sd(x)^2 = cov(x, x)
    log_det = log det(I + K_t / ridge)

Rewards are never centred. The working state moves by rank-one updates; counts and reward sums are the truth,
and a refactorisation from them audits the state at fixed event numbers.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.linalg.blas import daxpy, dger, dscal

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, NumericsWarning
from kernelbandits.domains import Arms
from kernelbandits.kernels import Kernel, as_kernel, gram

State = tuple[Array, Array, Indices, Array, Array, Array, Array]
"""mean, covariance, counts, reward sums, their lost digits, ceilings of the variances, (log_det, largest reward)"""

EPS = float(np.finfo(float).eps)
ROUNDING = 1 + 1e-6
"""No exact variance exceeds min(k(x, x), ridge / n); one beyond it by this factor calls for an audit."""
LARGEST_COVARIANCE = 2000
"""Up to this many arms the n x n covariance is held; beyond, only the columns of the arms played."""

PROVED = 200
"""On a pool, a kernel proves itself on its first so many points."""


class Tally:
    """The truth: how often each arm was played, and the compensated (Neumaier) sum of its rewards."""

    def __init__(self, n: int) -> None:
        self.counts = np.zeros(n, dtype=np.int64)
        self.events = 0
        self.largest = 0.0
        self._sums = [0.0] * n
        self._lost = [0.0] * n

    def add(self, arm: int, reward: float) -> int:
        """Record one reward; the arm's count."""
        before = self._sums[arm]
        after = self._sums[arm] = before + reward
        self._lost[arm] += (before - after) + reward if abs(before) >= abs(reward) else (reward - after) + before
        self.events += 1
        self.largest = max(self.largest, abs(reward))
        self.counts[arm] += 1
        return int(self.counts[arm])

    def lend(self) -> tuple[Array, Array]:
        return np.array(self._sums), np.array(self._lost)

    def take_back(self, sums: Array, lost: Array) -> None:
        self._sums, self._lost, self.events = sums.tolist(), lost.tolist(), int(self.counts.sum())

    @property
    def sums(self) -> Array:
        return np.array(self._sums) + self._lost

    @property
    def played(self) -> Indices:
        """The arms played at least once, in order."""
        return self.counts.nonzero()[0]


def lower_root(matrix: Array, least: float) -> Array:
    """The Cholesky factor; where rounding of a near-singular K has left none, that of eigenvalues raised to the least."""
    try:
        return cholesky(matrix, lower=True)
    except LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        upper: Array = np.linalg.qr((vectors * np.sqrt(np.maximum(values, least))).T)[1]
        return (upper * np.sign(upper.diagonal())[:, None]).T


@dataclass(frozen=True)
class Factorisation:
    """B = I + N^1/2 K N^1/2 / ridge over the distinct arms played, N their counts: the posterior from the truth alone."""

    root: Array
    """N^1/2"""
    factor: Array
    """Lower Cholesky factor of B."""
    coefficients: Array
    """(K + ridge N^-1)^-1 (mean reward of each arm)"""
    ridge: float

    @classmethod
    def of(cls, matrix: Array, counts: Indices, sums: Array, ridge: float) -> Factorisation:
        root = np.sqrt(counts)
        factor = lower_root(np.eye(len(root)) + root[:, None] * matrix * root / ridge, least=1.0)
        return cls(root, factor, root * cho_solve((factor, True), sums / root) / ridge, ridge)

    def mean(self, cross: Array) -> Array:
        """k(x, played) (K + ridge N^-1)^-1 ybar, for cross = k(x, played)."""
        return cross @ self.coefficients

    def explained(self, cross: Array) -> Array:
        """V with prior covariance - V' V = posterior covariance."""
        return solve_triangular(self.factor, (cross * self.root).T, lower=True) / math.sqrt(self.ridge)

    def played_variance(self) -> Array:
        """(ridge / n_i) (1 - [B^-1]_ii), exact where k - V' V would cancel."""
        inverse = cho_solve((self.factor, True), np.eye(len(self.root)))
        return self.ridge / self.root**2 * (1 - inverse.diagonal())

    @property
    def log_det(self) -> float:
        return float(2 * np.log(self.factor.diagonal()).sum())


@dataclass(frozen=True)
class Health:
    """What the audits found."""

    audits: int
    repairs: int
    """Audits that replaced the state because it differed from the truth."""
    clamps: int
    """Negative variances of the arm played, taken as zero."""
    conditioning: float
    """eps k_max n_max / ridge, the relative error to expect of a variance."""


class Posterior:
    """What the two finite posteriors share: one update, one audit."""

    def __init__(self, kernel: Any, points: Any, ridge: float = 1.0) -> None:
        self.kernel: Kernel = as_kernel(kernel)
        self.points: Array = points.points if isinstance(points, Arms) else checks.points("a posterior", points)
        self.ridge = checks.positive("a posterior", "ridge", ridge)
        n = len(self.points)
        self.prior: Array = self._prior()
        self.mean = np.zeros(n)
        self.log_det = 0.0
        self.tally = Tally(n)
        self._ceiling: list[float] = (ROUNDING * self.prior).tolist()
        self._audits = self._repairs = self._clamps = 0
        self._audited_at = 0
        self._warned = False

    variance: Array
    """cov(x, x) as computed; rounding may leave it a hair below zero."""

    @property
    def sd(self) -> Array:
        return np.sqrt(np.maximum(self.variance, 0.0))

    @property
    def counts(self) -> Indices:
        return self.tally.counts

    @property
    def events(self) -> int:
        return self.tally.events

    def update(self, arm: int, reward: float) -> None:
        """Condition on one reward: with c = cov[:, arm] and e = c[arm] + ridge,

        mean += c (reward - mean[arm]) / e,   cov -= c c' / e,   log_det += ln(e / ridge).
        """
        column = self._column(arm)
        raw = float(column[arm])
        suspicious = not 0.0 <= raw <= self._ceiling[arm]
        variance = max(raw, 0.0)
        self._clamps += raw < 0
        evidence = variance + self.ridge
        daxpy(column, self.mean, a=(reward - float(self.mean[arm])) / evidence)
        self.log_det += math.log1p(variance / self.ridge)
        count = self.tally.add(arm, reward)
        self._ceiling[arm] = min(self._ceiling[arm], ROUNDING * self.ridge / count)
        dscal(1.0 / math.sqrt(evidence), column)
        self._downdate(arm, column, evidence)
        self.audit_if_due(suspicious)

    def audit_if_due(self, suspicious: bool) -> None:
        """An audit at the fixed event numbers, and at once (but not in every round) after an impossible variance."""
        since = self.tally.events - self._audited_at
        if since >= self.audit_interval or (suspicious and since >= self.audit_interval // 10):
            self.audit()

    @property
    def next_audit(self) -> int:
        """The number of rewards after which the next audit is due."""
        return self._audited_at + self.audit_interval

    def at(self, points: Any) -> tuple[Array, Array]:
        """Mean and sd at any points, by conditioning on the truth."""
        where = checks.points("at", points)
        d = self.points.shape[1]
        checks.needs(where.shape[1] == d, "at", f"points of {d} dimensions", where.shape[1])
        played = self.tally.played
        prior = self.kernel.diagonal(where)
        if not len(played):
            return np.zeros(len(where)), np.sqrt(prior)
        cross = self.kernel(where, self.points[played])
        exact = self._factorisation(played)
        variance = prior - (exact.explained(cross) ** 2).sum(0)
        return exact.mean(cross), np.sqrt(np.maximum(variance, 0.0))

    def audit(self) -> bool:
        """Compare the state with a refactorisation from the counts; replace it beyond rounding. True if it was replaced."""
        self._audits += 1
        self._audited_at = self.tally.events
        played = self.tally.played
        if not len(played):
            return False
        exact = self._factorisation(played)
        self.log_det = exact.log_det
        repaired = self._reconcile(exact, played)
        if repaired:
            self._repairs += 1
            warnings.warn(f"posterior repaired from counts after {self.events} rewards", NumericsWarning, stacklevel=3)
        self._report_conditioning()
        return repaired

    @property
    def health(self) -> Health:
        return Health(self._audits, self._repairs, self._clamps, self.conditioning)

    @property
    def conditioning(self) -> float:
        return EPS * float(self.prior.max()) * max(1, int(self.counts.max())) / self.ridge

    @property
    def audit_interval(self) -> int:
        raise NotImplementedError

    def _prior(self) -> Array:
        raise NotImplementedError

    def _column(self, arm: int) -> Array:
        raise NotImplementedError

    def _downdate(self, arm: int, scaled: Array, evidence: float) -> None:
        raise NotImplementedError

    def _reconcile(self, exact: Factorisation, played: Indices) -> bool:
        raise NotImplementedError

    def _factorisation(self, played: Indices) -> Factorisation:
        matrix = self.kernel(self.points[played], self.points[played])
        return Factorisation.of(matrix, self.counts[played], self.tally.sums[played], self.ridge)

    def _tolerance(self, variance: Array) -> float:
        """1e3 eps k_max / var_min: a difference beyond it is not rounding."""
        least = variance[self.prior > 0].min(initial=np.inf)
        return 1e3 * EPS * float(self.prior.max()) / max(float(least), EPS * float(self.prior.max()))

    def _mean_differs(self, mean: Array, tolerance: float) -> bool:
        """Rounding of the mean is proportional to the largest reward, which averages may hide."""
        return not bool((np.abs(self.mean - mean) <= tolerance * self.tally.largest).all())

    def _report_conditioning(self) -> None:
        if self.conditioning > 1e-6 and not self._warned:
            self._warned = True
            text = f"posterior variances are good to {self.conditioning:.0e} only: ridge {self.ridge:g} is small"
            warnings.warn(text, NumericsWarning, stacklevel=4)


class ArmPosterior(Posterior):
    """n arms, an n-vector and an n x n covariance; one reward costs O(n^2) whatever t."""

    def _prior(self) -> Array:
        self.cov: Array = np.asfortranarray(gram(self.kernel, self.points))
        self.variance = self._diagonal()
        return self.variance.copy()

    def _diagonal(self) -> Array:
        return self.cov.ravel(order="K")[:: len(self.cov) + 1]

    def _column(self, arm: int) -> Array:
        return self.cov[:, arm].copy()

    def _downdate(self, arm: int, scaled: Array, evidence: float) -> None:
        dger(-1.0, scaled, scaled, a=self.cov, overwrite_a=1)

    @property
    def audit_interval(self) -> int:
        return max(1000, 20 * len(self.mean))

    def _reconcile(self, exact: Factorisation, played: Indices) -> bool:
        prior = self.kernel(self.points, self.points)
        explained = exact.explained(prior[:, played])
        mean, cov = exact.mean(prior[:, played]), np.asfortranarray(prior - explained.T @ explained)
        cov[played, played] = exact.played_variance()
        variance = np.maximum(cov.diagonal(), 0.0)
        tolerance, sd = self._tolerance(variance), np.sqrt(np.maximum(variance, EPS * variance.max()))
        same = bool((np.abs(self.cov - cov) <= tolerance * np.outer(sd, sd)).all())
        if same and not self._mean_differs(mean, tolerance):
            return False
        self.mean[:], self.cov = mean, cov
        self.variance = self._diagonal()
        return True

    def lend(self) -> State:
        """The state as C-ordered arrays for a compiled loop, which works on the mean, covariance and counts in place."""
        sums, lost = self.tally.lend()
        totals = np.array([self.log_det, self.tally.largest])
        return self.mean, self.cov.T, self.counts, sums, lost, np.array(self._ceiling), totals

    def take_back(self, state: State, suspicious: bool) -> None:
        """The state after a compiled loop; an audit if it is due."""
        self.log_det, self.tally.largest = state[6].tolist()
        self._ceiling = state[5].tolist()
        self.tally.take_back(state[3], state[4])
        self.audit_if_due(suspicious)

    def root(self) -> Array:
        """S with K = S S', by eigenvalues so that a near-singular K has one."""
        values, vectors = np.linalg.eigh(gram(self.kernel, self.points))
        return vectors * np.sqrt(np.maximum(values, 0.0))

    def deviation(self, g: Array, e: Array) -> Array:
        """A draw of f - mean from the posterior by Matheron's rule: g - cov ((n / ridge) g + sqrt(n / ridge) e).

        g is a draw from the prior (g = S z), e standard normal; the covariance of the result is exactly cov.
        """
        precision = self.counts / self.ridge
        return g - self.cov @ (precision * g + np.sqrt(precision) * e)


class PoolPosterior(Posterior):
    """A pool too large for an n x n covariance: O(n m) a reward, m the number of distinct arms played.

    cov(x, z) = k(x, z) - V(x)' S V(z). The rows of V = L^-1 k(played, .), L L' = K + ridge I, are added one for each
    new arm; a reward adds q q' / e to the m x m matrix S, where cov(., arm) = V' q. Unlike the n x n form this one
    drifts (the variances are a sum of their own), so every audit starts it afresh from the truth.
    """

    def _prior(self) -> Array:
        gram(self.kernel, self.points[:PROVED])
        self.variance = self.kernel.diagonal(self.points)
        checks.needs(bool(np.isfinite(self.variance).all()), str(self.kernel), "finite k(x, x)", self.variance)
        self._rows = np.empty((0, len(self.points)))
        self._factor, self._core = np.empty((0, 0)), np.empty((0, 0))
        self._slot: dict[int, int] = {}
        return self.variance.copy()

    @property
    def audit_interval(self) -> int:
        return max(1000, 20 * len(self._slot))

    def _column(self, arm: int) -> Array:
        """V' q, with q = (row of L) - S V(arm)."""
        if arm not in self._slot:
            self._append(arm)
        m = len(self._slot)
        self._coordinates = self._factor[self._slot[arm], :m] - self._core[:m, :m] @ self._rows[:m, arm]
        return self._coordinates @ self._rows[:m]

    def _downdate(self, arm: int, scaled: Array, evidence: float) -> None:
        m = len(self._slot)
        self._core[:m, :m] += np.outer(self._coordinates, self._coordinates) / evidence
        self.variance -= scaled**2

    def _append(self, arm: int) -> None:
        """The next row of V: (k(., arm) - V' V(arm)) / l, l^2 = k(arm, arm) + ridge - |V(arm)|^2."""
        m = len(self._slot)
        self._grow(m + 1)
        prior = self.kernel(self.points[arm][None], self.points)[0]
        projection = self._rows[:m, arm].copy()
        residual = prior - projection @ self._rows[:m]
        pivot = math.sqrt(max(float(residual[arm]), 0.0) + self.ridge)
        self._rows[m] = residual / pivot
        self._factor[m, :m], self._factor[m, m] = projection, pivot
        self._slot[arm] = m

    def _grow(self, needed: int) -> None:
        held = len(self._rows)
        if needed <= held:
            return
        extra = max(16, held)
        self._rows = np.concatenate([self._rows, np.empty((extra, len(self.points)))])
        self._factor = np.pad(self._factor, (0, extra))
        self._core = np.pad(self._core, (0, extra))

    def _reconcile(self, exact: Factorisation, played: Indices) -> bool:
        cross = self.kernel(self.points, self.points[played])
        mean, variance = exact.mean(cross), self.prior - (exact.explained(cross) ** 2).sum(0)
        variance[played] = exact.played_variance()
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
        self._core = half.T @ half / self.ridge
        self._slot = {int(arm): row for row, arm in enumerate(played)}


def posterior_on(kernel: Any, arms: Arms, ridge: float) -> Posterior:
    """The posterior whose memory fits: n x n up to 2000 arms, columns of the arms played beyond."""
    form = ArmPosterior if len(arms) <= LARGEST_COVARIANCE else PoolPosterior
    return form(kernel, arms, ridge)
