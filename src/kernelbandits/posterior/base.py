"""What all posteriors over a finite list of arms share: the update and the audit."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg.blas import daxpy, dscal

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, NumericsWarning
from kernelbandits.domains import Arms
from kernelbandits.kernels import CHECKED_POINTS, Kernel, KernelStack, as_kernel, gram, has_adapted
from kernelbandits.posterior.sufficient import Factorisation, Tally, check_totals

EPS = float(np.finfo(float).eps)
SMALLEST = float(np.finfo(float).tiny)
"""Smaller numbers have fewer digits, and rounding is no longer proportional to them."""
ZERO = np.zeros(())
"""As an array: numpy converts a Python number in every call, which every ask would pay for."""
ROUNDING = 1 + 1e-6
"""No exact variance exceeds min(k(x, x), ridge / n). One that exceeds it by more than this factor
is a sign of damage, and an audit follows at once."""
LARGEST_ERROR = 1e-6
"""A warning is given when the relative error to expect of a variance exceeds this."""


@dataclass(frozen=True)
class Health:
    """What the audits of a posterior found; see `posterior.health`.

    >>> import kernelbandits as kb
    >>> posterior = kb.posterior.ArmPosterior(kb.RBF(0.3), [[0.0], [1.0]], ridge=0.01)
    >>> for _ in range(100):
    ...     posterior.update(0, 0.7)
    >>> posterior.audit()
    False
    >>> health = posterior.health
    >>> health.audits, health.repairs, health.clamps
    (1, 0, 0)
    """

    audits: int
    """How often the state was compared with the counts and sums."""
    repairs: int
    """Audits that replaced the state because it differed by more than rounding."""
    clamps: int
    """Negative variances of the arm played, taken as zero."""
    conditioning: float
    """eps k_max n_max / ridge, the relative error to expect of a variance."""


def audit_state(posterior: Any) -> bool:
    """Compare the state of a posterior with its counts and sums (`Posterior.audit`)."""
    posterior._audits += 1
    posterior._audited_at = posterior.events
    if not posterior.events:
        return False
    repaired: bool = posterior._restore_state()
    if repaired:
        posterior._repairs += 1
        text = (
            "rounding errors had grown in the estimates, which were repaired "
            f"{posterior._source} after {posterior.events} rewards; from here on they are exact"
        )
        warnings.warn(text, NumericsWarning, stacklevel=4)
    return repaired


def report_conditioning(posterior: Any) -> None:
    """Warn once if variances of a posterior have lost more than ten of their sixteen digits."""
    if not posterior._warned and posterior.conditioning > LARGEST_ERROR:
        posterior._warned = True
        least = float(posterior.ridges.min())
        text = (
            f"standard deviations of estimates are good to {posterior.conditioning:.0e} only, "
            f"as the ridge {least:g} is small; a larger ridge or noise_scale makes them more exact"
        )
        warnings.warn(text, NumericsWarning, stacklevel=5)


def accept_conditioning(posterior: Any) -> Any:
    """Return a posterior that does not warn of a small ridge, because nobody can change it."""
    posterior._warned = True
    return posterior


class Posterior:
    """The posterior over a finite list of arms; subclasses differ in what they hold in memory.

    `mean`, `sd` and `log_det` are the estimate. `update(arm, reward)` adds a reward, `at(points)`
    predicts at any points, `with_pending(arms)` gives the variances while results are pending, and
    `health` says how accurate the numbers are.

    A subclass defines `_prior`, `_column` (cov[:, arm]), `_downdate` (the covariance after a
    reward), `_reconcile` (compare with the exact posterior and replace) and `audit_interval`.

    Parameters
    ----------
    kernel
        A kernel, or a callable k(x, z).
    points
        The arms, as `Arms` or an (n, d) array.
    ridge
        lambda of the paper: the variance of the noise, in the units of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> posterior = kb.posterior.ArmPosterior(kb.Linear(), np.eye(2), ridge=1.0)
    >>> posterior.update(0, 3.0)
    >>> posterior.mean, posterior.sd.round(3), round(posterior.log_det, 3)
    (array([1.5, 0. ]), array([0.707, 1.   ]), 0.693)
    """

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
        self._patience = 0
        # Rounding leaves variances a little below zero; anything beyond this is damage.
        self._least_variance = -1e-9 * self._largest
        self._report_conditioning()

    variance: Array
    """cov(x, x) as computed; rounding may leave it slightly below zero."""

    loop_form: str | None = None
    """What a compiled loop works on (`lend`, `take_back`): a "covariance", the "rows" of a pool, or
    None where there is no such loop. `experiment.engines` asks."""
    rebuilds = False
    """Whether `rebuild` gives its state from a tally. `Policy.tell_in_blocks` asks."""
    holds_covariance = False
    """Whether it holds the covariance of all arms. `GPTS` asks, which then draws at all jointly."""
    has_bands = False
    """Whether the confidence sets of `theory.bands` are proved for it."""
    is_plain = False
    """Whether all rewards count alike, so that counts and sums of the arms determine it."""
    complete = True
    """Whether it has learnt every reward unchanged; not if a rule forgets or truncates some."""

    _audits = _repairs = _clamps = _audited_at = 0
    _warned = False
    _source = "from counts"

    @property
    def sd(self) -> Array:
        """The posterior standard deviation of each arm."""
        return np.sqrt(np.maximum(self.variance, ZERO))

    @cached_property
    def stack(self) -> KernelStack:
        """The kernels of the members; most posteriors have one member."""
        return KernelStack([self.kernel])

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernel of each member."""
        return self.stack.kernels

    @property
    def ridges(self) -> Array:
        """The ridge of each member."""
        return np.array([self.ridge])

    @property
    def means(self) -> Array:
        """(M, n): the posterior mean of each arm under each member."""
        return self.mean[None]

    @property
    def variances(self) -> Array:
        """(M, n): the posterior variance of each arm under each member, as computed."""
        return self.variance[None]

    @property
    def counts(self) -> Indices:
        """How often each arm was played."""
        return self.tally.counts

    @property
    def events(self) -> int:
        """The number of rewards."""
        return self.tally.events

    @property
    def rests_on_totals(self) -> bool:
        """Whether counts and sums of distinct points determine it. `Policy.observations` asks."""
        return self.is_plain

    def memory(self, distinct: int) -> int:
        """Return how many bytes are needed after so many distinct arms; 0 if that does not matter.

        `experiment.engines` asks before a run.
        """
        return 0

    @property
    def support(self) -> Indices:
        """The arms whose rewards the estimate rests on."""
        return self.tally.played_arms

    def update(self, arm: int, reward: float) -> None:
        """Condition on one reward. With c = cov[:, arm] and e = c[arm] + ridge,

        mean += c (reward - mean[arm]) / e,   cov -= c c' / e,   log_det += ln(e / ridge).

        If the variance of the arm is not positive, nothing is left to learn and c is taken as zero.
        """
        reward = self._check_reward(arm, reward)
        column = self._column(arm)
        variance = float(column[arm])
        least = self.variance[self.variance.argmin()]
        # Comparisons are negated so that NaN is suspicious too.
        suspicious = not 0.0 <= variance <= self._ceiling[arm] or not least >= self._least_variance
        if not variance > 0:
            self._clamps += variance < 0
            variance, column = 0.0, np.zeros_like(column)
        evidence = variance + self.ridge
        events, ceiling = self.tally.events, self._ceiling[arm]
        try:
            count = self.tally.add(arm, reward)
            # BLAS works in place: numpy would make a temporary array at every reward.
            daxpy(column, self.mean, a=(reward - float(self.mean[arm])) / evidence)
            self.log_det += math.log1p(variance / self.ridge)
            self._ceiling[arm] = min(self._ceiling[arm], ROUNDING * self.ridge / count)
            dscal(1.0 / math.sqrt(evidence), column)
            self._downdate(arm, column, evidence)
        except BaseException:
            self._ceiling[arm] = ceiling
            self._take_back(events)
            raise
        self.audit_if_due(suspicious)

    def _take_back(self, events: int) -> None:
        """Forget a reward whose update was interrupted: there were so many before it."""
        self.tally.take_back_last(events)
        self._restore_state()

    def best_estimates(self) -> Array:
        """Return the highest mean of each member among the arms played, (M,); 0 before any.

        The rules of expected improvement ask.
        """
        if not self.events:
            return np.zeros(len(self.ridges))
        return np.asarray(self.means[:, self.support].max(1))

    def estimates(self, arms: Indices) -> tuple[Array, Array]:
        """Return mean and sd of some arms. The rules that eliminate arms ask."""
        return self.mean[arms], np.sqrt(np.maximum(self.variance[arms], 0.0))

    def keep(self, arm: int) -> None:
        """Do nothing: all arms are kept up to date (`PartialPosterior.keep`)."""

    def arm_covariance(self, arms: Indices, others: Indices) -> Array:
        """Return the covariances of arms with others, cov(x, z) = k(x, z) - V(x)' V(z).

        They are computed from counts and sums. `theory.bands` asks.
        """
        points, played, kernel = self.points, self.support, self.kernel
        prior = kernel(points[arms], points[others])
        if not len(played):
            return prior
        exact, where = self._factorisation(played), points[played]
        left = exact.explained_root(kernel(points[arms], where))
        right = exact.explained_root(kernel(points[others], where))
        return prior - left.T @ right

    def history_covariance(self) -> Array:
        """Return the covariance of f at each arm with the sum of f over all rounds.

        cov(f(x), sum_i n_i f(x_i)) = ridge k(x, played) (K + ridge N^-1)^-1 1

        This is ridge times the mean at x if every reward were 1, so no difference of large numbers
        is taken. `theory.bands` asks.
        """
        played = self.support
        if not len(played):
            return np.zeros(len(self.points))
        cross = self.kernel(self.points, self.points[played])
        weights = self._factorisation(played).solve(np.ones(len(played)))
        return np.asarray(self.ridge * (cross @ weights))

    def with_pending(self, arms: Sequence[int]) -> Self:
        """Return a copy with the variances as if these arms had been played already.

        Each pending arm is told its own posterior mean, which leaves the means as they are and
        lowers the variances exactly as the real rewards will (GP-BUCB).
        """
        for arm in arms:
            self._check_reward(arm, 0.0)
        other = self._copy()
        if len(arms):
            other._add_pending([int(arm) for arm in arms])
        return other

    def add_pending(self, arms: Sequence[int]) -> None:
        """Lower the variances of this posterior itself as if these arms had been played."""
        self._add_pending([int(arm) for arm in arms])

    def _add_pending(self, arms: list[int]) -> None:
        for arm in arms:
            self.update(arm, float(self.mean[arm]))

    def _copy(self) -> Self:
        """Return a copy that shares what never changes."""
        # deepcopy takes what is in its memo as copied already. Lists and dictionaries hold numbers
        # only, so a shallow copy of them is enough.
        parts: dict[int, Any] = {id(part): part for part in self._fixed_parts()}
        parts |= {
            id(part): part.copy() for part in vars(self).values() if isinstance(part, (list, dict))
        }
        return copy.deepcopy(self, parts)

    def _fixed_parts(self) -> tuple[Any, ...]:
        """Return what never changes."""
        return self.kernel, self.points, self.prior

    def learn(self, counts: Any, sums: Any, events: int | None = None) -> None:
        """Replace everything learnt by these counts and sums of rewards, one of each for an arm.

        With the number of `events`, counts are weights: a reward of variance v counts as ridge / v
        and its value as much in the sum.
        """
        weights = events is not None
        totals = check_totals(counts, sums, len(self.points), least=0, weights=weights)
        self._learn_tally(Tally.of(*totals, events))

    def rebuild(self, tally: Tally) -> None:
        """Replace everything learnt by a tally, whatever was learnt: nothing of it is kept.

        The state is then the same as that of any other posterior with this tally, to the last bit.
        """
        # An audit keeps a state that agrees. No state agrees with this one.
        self.mean.fill(np.nan)
        self._patience = 0
        self._learn_tally(tally)

    def _learn_tally(self, tally: Tally) -> None:
        self.tally = tally
        played = self.support
        ceiling = self.prior.copy()
        ceiling[played] = np.minimum(ceiling[played], self.ridge / self.counts[played])
        self._ceiling = (ROUNDING * ceiling).tolist()
        self._audited_at = self.tally.events
        exact = self._factorisation(played)
        self.log_det = self._log_det(exact, played)
        self._reconcile(exact, played)
        self._report_conditioning()

    def _check_reward(self, arm: int, reward: float) -> float:
        """Return the reward as a number; an error if the arm does not exist."""
        value = checks.reward(reward)
        if type(arm) is not int or not 0 <= arm < len(self.mean):
            known = checks.is_whole(arm) and 0 <= arm < len(self.mean)
            checks.needs(known, "update", f"an arm below {len(self.mean)}", arm)
        return value

    def audit_if_due(self, suspicious: bool) -> None:
        """Audit at fixed numbers of rewards, and at once after an impossible variance.

        The numbers are fixed, and do not depend on the clock or on who looks, so that both engines
        audit after the same reward and stay equal bit by bit. If an audit finds that a suspicious
        variance was rounding, the next suspicion is ignored for a tenth of the interval; otherwise
        an ill-conditioned posterior would be audited at every reward.
        """
        self._report_conditioning()
        since = self.tally.events - self._audited_at
        if since >= self.audit_interval:
            self.audit()
        elif suspicious and since >= self._patience:
            self._patience = 0 if self.audit() else self.audit_interval // 10

    @property
    def next_audit(self) -> int:
        """The number of rewards after which the next audit is due; a compiled loop stops there."""
        return self._audited_at + self.audit_interval

    def at(self, points: Any) -> tuple[Array, Array]:
        """Return mean and sd at any points, computed from counts and sums."""
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
        """Return the covariance of f at any points, computed from counts and sums."""
        where, played = self._check_points(points), self.support
        prior = self.kernel(where, where)
        if not len(played):
            return prior
        explained = self._factorisation(played).explained_root(
            self.kernel(where, self.points[played])
        )
        return prior - explained.T @ explained

    def members_at(self, points: Any) -> tuple[Array, Array]:
        """Return mean and sd of each member at any points, (M, n) arrays."""
        mean, sd = self.at(points)
        return mean[None], sd[None]

    def member_covariances(self, points: Any) -> Array:
        """Return the covariance of f at any points under each member, an (M, n, n) array."""
        return self.covariance(points)[None]

    def leave_out_each(self, points: Array, counts: Array) -> tuple[Array, Array] | None:
        """Predict the mean reward of each point from the other points, (M, points) arrays.

        `points` and `counts` are those of all rewards. None where that takes a factorisation, and
        where the posterior rests on other rewards than these.
        """
        return None

    def _check_points(self, points: Any) -> Array:
        """Return the points as an array of the right dimension."""
        where, d = checks.points("at", points), self.points.shape[1]
        checks.needs(where.shape[1] == d, "at", f"points of {d} dimensions", where.shape[1])
        return where

    def audit(self) -> bool:
        """Compare the state with the posterior computed from counts and sums.

        A state that differs by more than rounding is replaced, with a warning. Return whether it
        was.
        """
        return audit_state(self)

    def _restore_state(self) -> bool:
        """Compute the state from counts and sums; return whether it was damaged."""
        played = self.support
        exact = self._factorisation(played)
        damaged = not math.isfinite(self.log_det)
        self.log_det = self._log_det(exact, played)
        return self._reconcile(exact, played) or damaged

    def _log_det(self, exact: Factorisation, played: Indices) -> float:
        """Return log_det from counts and sums."""
        return exact.log_det

    @property
    def health(self) -> Health:
        """How accurate the numbers are, and what the audits found."""
        return Health(self._audits, self._repairs, self._clamps, self.conditioning)

    @property
    def conditioning(self) -> float:
        """eps k_max n_max / ridge, the relative error to expect of a variance."""
        return EPS * self._largest * max(1, self.tally.most) / self.ridge

    @property
    def audit_interval(self) -> int:
        """The number of rewards between two audits."""
        raise NotImplementedError

    def _prior(self) -> Array:
        """Set up the state before any reward, and return k(x, x)."""
        raise NotImplementedError

    def _column(self, arm: int) -> Array:
        """Return a copy of cov[:, arm]."""
        raise NotImplementedError

    def _downdate(self, arm: int, scaled: Array, evidence: float) -> None:
        """Subtract scaled scaled' from the covariance; scaled = c / sqrt(e) and evidence = e."""
        raise NotImplementedError

    def _reconcile(self, exact: Factorisation, played: Indices) -> bool:
        """Replace the state by the exact one if it differs; return whether it did."""
        raise NotImplementedError

    def _factorisation(self, played: Indices) -> Factorisation:
        """Return the posterior from counts and sums of the arms played."""
        matrix = self.kernel(self.points[played], self.points[played])
        return Factorisation.of(matrix, self.counts[played], self.tally.sums[played], self.ridge)

    def _tolerance(self, variance: Array) -> float:
        """Return 1e3 eps k_max / var_min; a larger relative difference is not rounding."""
        least = variance[self.prior > 0].min(initial=np.inf)
        return 1e3 * EPS * self._largest / max(float(least), EPS * self._largest)

    def _mean_differs(self, mean: Array, tolerance: float) -> bool:
        """Tell whether the mean differs by more than rounding.

        Rounding of the mean is proportional to the largest reward, which averages may hide.
        """
        return not bool((np.abs(self.mean - mean) <= tolerance * self._largest_reward).all())

    @property
    def _largest_reward(self) -> float:
        """Return the size of the largest reward, or the smallest number with all its digits."""
        return max(self.tally.largest, SMALLEST)

    def _report_conditioning(self) -> None:
        report_conditioning(self)


def prior_variance(kernel: Kernel, points: Array) -> Array:
    """Return k(x, x) of all points, after a check of the kernel on the first of them.

    The package's own kernels need no check of their values, only of the number of dimensions.
    """
    gram(kernel, points[: CHECKED_POINTS if has_adapted(kernel) else 2])
    variance = kernel.diagonal(points)
    finite = bool(np.isfinite(variance).all())
    checks.needs(finite, str(kernel), "finite k(x, x)", variance)
    return variance
