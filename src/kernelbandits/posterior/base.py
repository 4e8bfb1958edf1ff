"""What the two finite posteriors share: one update, one audit."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg.blas import daxpy, dscal

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, NumericsWarning
from kernelbandits.domains import Arms
from kernelbandits.kernels import Kernel, as_kernel
from kernelbandits.posterior.sufficient import Factorisation, Tally, check_totals

EPS = float(np.finfo(float).eps)
ROUNDING = 1 + 1e-6
"""No exact variance exceeds min(k(x, x), ridge / n); one beyond it by this factor calls for an audit."""


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
        self.points: Array = (
            points.points if isinstance(points, Arms) else checks.points("a posterior", points)
        )
        self.ridge = checks.positive("a posterior", "ridge", ridge)
        n = len(self.points)
        self.prior: Array = self._prior()
        self.mean = np.zeros(n)
        self.log_det = 0.0
        self.tally = Tally(n)
        self._largest = float(self.prior.max())
        self._ceiling: list[float] = (ROUNDING * self.prior).tolist()
        self._audits = self._repairs = self._clamps = 0
        self._audited_at = self._patience = 0
        self._least_variance = -1e-9 * self._largest
        self._warned = False
        self._report_conditioning()

    variance: Array
    """cov(x, x) as computed; rounding may leave it a hair below zero."""
    lends = False
    """Whether a compiled loop can work on its state (`lend`, `take_back`)."""
    is_plain = False
    """Whether the rewards count alike, so that counts and sums of the arms determine it."""
    complete = True
    """Whether it has learnt every reward as it came; a rule that forgets or truncates some says that it has not."""

    @property
    def sd(self) -> Array:
        return np.sqrt(np.maximum(self.variance, 0.0))

    @property
    def counts(self) -> Indices:
        return self.tally.counts

    @property
    def events(self) -> int:
        return self.tally.events

    @property
    def support(self) -> Indices:
        """The arms whose rewards the estimate rests on."""
        return self.tally.played_arms

    def update(self, arm: int, reward: float) -> None:
        """Condition on one reward: with c = cov[:, arm] and e = c[arm] + ridge,

        mean += c (reward - mean[arm]) / e,   cov -= c c' / e,   log_det += ln(e / ridge).

        A variance that is not positive leaves nothing to learn: c is taken as zero.
        """
        reward = self._check_reward(arm, reward)
        column = self._column(arm)
        variance = float(column[arm])
        least = self.variance[self.variance.argmin()]
        suspicious = not 0.0 <= variance <= self._ceiling[arm] or not least >= self._least_variance
        if not variance > 0:
            self._clamps += variance < 0
            variance, column = 0.0, np.zeros_like(column)
        evidence = variance + self.ridge
        daxpy(column, self.mean, a=(reward - float(self.mean[arm])) / evidence)
        self.log_det += math.log1p(variance / self.ridge)
        count = self.tally.add(arm, reward)
        self._ceiling[arm] = min(self._ceiling[arm], ROUNDING * self.ridge / count)
        dscal(1.0 / math.sqrt(evidence), column)
        self._downdate(arm, column, evidence)
        self.audit_if_due(suspicious)

    def with_pending(self, arms: Sequence[int]) -> Self:
        """The same estimate, with the variances as if these arms had been played: each is check_totals its own mean."""
        for arm in arms:
            self._check_reward(arm, 0.0)
        other = self._copy()
        if len(arms):
            other._add_pending([int(arm) for arm in arms])
        return other

    def _add_pending(self, arms: list[int]) -> None:
        for arm in arms:
            self.update(arm, float(self.mean[arm]))

    def _copy(self) -> Self:
        """Another in the same state, which shares what never changes; lists and dictionaries hold numbers only."""
        parts: dict[int, Any] = {id(part): part for part in (self.kernel, self.points, self.prior)}
        parts |= {
            id(part): part.copy() for part in vars(self).values() if isinstance(part, (list, dict))
        }
        return copy.deepcopy(self, parts)

    def learn(self, counts: Any, sums: Any) -> None:
        """Everything at once, in place of what was learnt: how often each arm was played and the sum of its rewards."""
        self.tally = Tally.of(*check_totals(counts, sums, len(self.points), least=0))
        played = self.support
        self._ceiling = (
            ROUNDING * np.minimum(self.prior, self.ridge / np.maximum(self.counts, 1e-300))
        ).tolist()
        self._audited_at = self.tally.events
        exact = self._factorisation(played)
        self.log_det = self._log_det(exact, played)
        self._reconcile(exact, played)
        self._report_conditioning()

    def _check_reward(self, arm: int, reward: float) -> float:
        """The reward as a number, of an arm that exists."""
        value = checks.reward(reward)
        if type(arm) is not int or not 0 <= arm < len(self.mean):
            known = checks.is_whole(arm) and 0 <= arm < len(self.mean)
            checks.needs(known, "update", f"an arm below {len(self.mean)}", arm)
        return value

    def audit_if_due(self, suspicious: bool) -> None:
        """An audit at the fixed event numbers, and at once after an impossible variance.

        Suspicion that an audit did not confirm is rounding: it is heard again only after a tenth of the interval.
        """
        self._report_conditioning()
        since = self.tally.events - self._audited_at
        if since >= self.audit_interval:
            self.audit()
        elif suspicious and since >= self._patience:
            self._patience = 0 if self.audit() else self.audit_interval // 10

    @property
    def next_audit(self) -> int:
        """The number of rewards after which the next audit is due."""
        return self._audited_at + self.audit_interval

    def at(self, points: Any) -> tuple[Array, Array]:
        """Mean and sd at any points, by conditioning on the truth."""
        where = self._check_points(points)
        played = self.support
        prior = self.kernel.diagonal(where)
        if not len(played):
            return np.zeros(len(where)), np.sqrt(prior)
        cross = self.kernel(where, self.points[played])
        exact = self._factorisation(played)
        variance = prior - (exact.explained_root(cross) ** 2).sum(0)
        return exact.mean(cross), np.sqrt(np.maximum(variance, 0.0))

    def covariance(self, points: Any) -> Array:
        """cov(x, z) of f at any points, by conditioning on the truth."""
        where, played = self._check_points(points), self.support
        prior = self.kernel(where, where)
        if not len(played):
            return prior
        explained = self._factorisation(played).explained_root(
            self.kernel(where, self.points[played])
        )
        return prior - explained.T @ explained

    def _check_points(self, points: Any) -> Array:
        where, d = checks.points("at", points), self.points.shape[1]
        checks.needs(where.shape[1] == d, "at", f"points of {d} dimensions", where.shape[1])
        return where

    def audit(self) -> bool:
        """Compare the state with a refactorisation from the counts and replace it beyond rounding: was it replaced?"""
        self._audits += 1
        self._audited_at = self.tally.events
        played = self.support
        if not len(played):
            return False
        exact = self._factorisation(played)
        damaged = not math.isfinite(self.log_det)
        self.log_det = self._log_det(exact, played)
        repaired = self._reconcile(exact, played) or damaged
        if repaired:
            self._repairs += 1
            warnings.warn(
                f"posterior repaired from counts after {self.events} rewards",
                NumericsWarning,
                stacklevel=3,
            )
        return repaired

    def _log_det(self, exact: Factorisation, played: Indices) -> float:
        """From the counts."""
        return exact.log_det

    @property
    def health(self) -> Health:
        return Health(self._audits, self._repairs, self._clamps, self.conditioning)

    @property
    def conditioning(self) -> float:
        return EPS * self._largest * max(1, self.tally.most) / self.ridge

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
        return 1e3 * EPS * self._largest / max(float(least), EPS * self._largest)

    def _mean_differs(self, mean: Array, tolerance: float) -> bool:
        """Rounding of the mean is proportional to the largest reward, which averages may hide."""
        return not bool((np.abs(self.mean - mean) <= tolerance * self.tally.largest).all())

    def _report_conditioning(self) -> None:
        if not self._warned and self.conditioning > 1e-6:
            self._warned = True
            text = f"posterior variances are good to {self.conditioning:.0e} only: ridge {self.ridge:g} is small"
            warnings.warn(text, NumericsWarning, stacklevel=4)
