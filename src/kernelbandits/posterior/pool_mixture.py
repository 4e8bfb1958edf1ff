"""The average of several posteriors over the same arms, all of them updated together."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dtrtri

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, NumericsWarning
from kernelbandits.domains import Arms
from kernelbandits.kernels import Kernel, PoolRows, StackedKernels
from kernelbandits.posterior.base import (
    EPS,
    LARGEST_ERROR,
    ROUNDING,
    Health,
    warn_of_conditioning,
)
from kernelbandits.posterior.mixture import MixturePosterior, mix_moments
from kernelbandits.posterior.pool import PoolPosterior
from kernelbandits.posterior.sufficient import Tally, check_totals, lower_root, lower_roots

SPARE = 16
"""At least so many rows of arms measured again are added before they are merged."""
LARGE = 1 << 24
"""Rows of more numbers, 128 MB, are not copied."""
LARGEST_RECENT = 2**25
"""Bytes of prior covariances that are kept for pending arms."""
PATIENCE = 10
"""After a merge, so many rewards pass before an impossible variance leads to the next."""
SMALL = 2**18
"""The covariance of all arms is kept if it has at most so many numbers; of more arms, prior rows
are computed when they are needed."""
FOLDED = 64
"""With so few arms: how many rows are added before they are subtracted from the covariance, ..."""
LONGEST = 1024
"""... and after how many rewards that gathered rounding is computed again from counts and sums."""
LARGEST_LEFT_OUT_ERROR = 1e-6
"""Predictions of results left out have at most this relative error, or are not given."""


class RecentRows:
    """The prior covariances k_i(arm, .) of the last arms that were told or pending.

    Pending arms come again in every ask. The rows depend on the kernels only, so copies of a
    mixture share them, and they are not stored with it.
    """

    def __init__(self) -> None:
        self._kept: dict[int, Array] = {}

    def __deepcopy__(self, memo: Any) -> RecentRows:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"_kept": {}}

    def of(self, arms: Sequence[int], compute: Callable[[Any], Array]) -> Array:
        """Return the rows of some arms, (M, arms, n); `compute` gives those that are not kept."""
        missing = [arm for arm in dict.fromkeys(arms) if arm not in self._kept]
        if missing:
            self._kept |= zip(missing, compute(missing).swapaxes(0, 1), strict=True)
        rows = [self._kept[arm] for arm in arms]
        most = LARGEST_RECENT // rows[0].nbytes
        for arm in list(self._kept)[: max(0, len(self._kept) - most)]:
            del self._kept[arm]
        return np.stack(rows, axis=1)


class PoolMixture(MixturePosterior):
    """The mixture of M posteriors over n arms, with all their numbers in common arrays.

    Every member i has cov_i(x, z) = k_i(x, z) - V_i(x)' V_i(z). A reward of an arm, or several
    pending ones together, adds rows to V_i: with R = cov_i(arms, .) and F F' = R(., arms) + ridge I

        rows = F^-1 R,   mean += rows' F^-1 (rewards - mean(arms)),   variance -= sum of rows^2.

    That is one pass over V for all members, O(M n m). When arms measured again have added a
    quarter more rows than there are arms, V is computed again from counts and sums, with one row
    for each arm measured. With few arms k_i is replaced by cov_i after every 64 rewards, and V
    begins anew. `members` are the same posteriors as single ones, made when asked for.

    Parameters
    ----------
    kernels, ridges
        One of each for a member.
    arms
        The arms.
    places
        For each arm the number of its point; arms at the same point have the same number. By
        default all points are compared.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> kernels = [kb.RBF((length,)) for length in (0.2, 0.8)]
    >>> mixture = kb.posterior.PoolMixture(kernels, [0.1, 0.1], arms)
    >>> mixture.update(1, 2.0)
    >>> mixture.mean.round(3), mixture.sd.round(3)
    (array([0.788, 1.818, 0.788]), array([1.092, 0.302, 1.092]))
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        ridges: Sequence[float],
        arms: Arms,
        places: Indices | None = None,
    ) -> None:
        stacked = StackedKernels.of(kernels)
        checks.needs(stacked is not None, "PoolMixture", "kernels of one form", kernels)
        assert stacked is not None
        self.kernels, self._stacked = tuple(kernels), stacked
        self.ridges = np.array([checks.positive("a posterior", "ridge", one) for one in ridges])
        self.arms = arms
        self._prior_kernels = PoolRows(stacked, arms.points)
        if places is None:
            places = np.unique(arms.points, axis=0, return_inverse=True)[1].reshape(-1)
        self._places: Indices = places
        self._begin()

    def _begin(self) -> None:
        """Take the state of a mixture that has learnt nothing, with nothing to report yet."""
        self._recent = RecentRows()
        self._audits = self._repairs = self._clamps = 0
        self._warned = False
        self._start(Tally(len(self.arms)))
        self._report_conditioning()

    def has_members(self, kernels: Sequence[Kernel], ridges: Sequence[float], arms: Arms) -> bool:
        """Tell whether these are the kernels, the ridges and the arms of its members."""
        same = self.arms is arms and self.ridges.tolist() == list(ridges)
        return same and self.kernels == tuple(kernels)

    def without_rewards(self) -> PoolMixture:
        """Return a mixture of the same members before the first reward.

        It shares the prior covariances, which take longer to compute than all else of a new one.
        """
        other = copy.copy(self)
        other._begin()
        return other

    @staticmethod
    def can_stack(kernels: Sequence[Kernel]) -> bool:
        """Tell whether kernels have one form, so that their posteriors can be updated together."""
        return StackedKernels.of(kernels) is not None

    _rows: Array
    _size: int
    """V of all members, (M, rows, n), and how many of its rows are used."""
    _base: Array | None
    """cov_i of all pairs of arms, (M, n, n), from which the rows of V are subtracted; None where
    there are many arms, and k_i takes its place."""
    _members: tuple[PoolPosterior, ...] | None
    """The members, if they were asked for since the last reward."""

    # ------------------------------------------------------------------ estimates

    @property
    def means(self) -> Array:
        return self._means

    @property
    def variances(self) -> Array:
        return self._variances

    def _arm_moments(self) -> tuple[Array, Array]:
        if self._moments is None:
            self._moments = mix_moments(self.means, np.sqrt(np.maximum(self.variances, 0.0)))
        return self._moments

    @property
    def members(self) -> tuple[PoolPosterior, ...]:  # type: ignore[override]
        """The single posteriors, from counts and sums."""
        if self._members is None:
            self._members = self._single_posteriors(np.arange(len(self.arms)))
        return self._members

    @property
    def predictors(self) -> tuple[PoolPosterior, ...]:
        """The single posteriors over the arms played alone.

        They predict the same at any points, and have no state of a million other arms.
        """
        return self._single_posteriors(self.support if self.events else np.arange(1))

    def _single_posteriors(self, arms: Indices) -> tuple[PoolPosterior, ...]:
        """A posterior of each member over some arms, those played among them."""
        members = tuple(
            PoolPosterior(kernel, self.arms.points[arms], ridge)
            for kernel, ridge in zip(self.kernels, self.ridges.tolist(), strict=True)
        )
        if self.events:
            for member in members:
                member.learn(self.counts[arms], self.tally.sums[arms])
        return members

    # ------------------------------------------------------------------ learning

    def update(self, place: Any, reward: float) -> None:
        """Condition every member on one reward of an arm."""
        value, arm = checks.reward(reward), self._check_arm(place)
        suspicious = self._condition_arm(arm, value)
        self.tally.add(arm, value)
        self._report_conditioning()
        patient = self.events - self._merged_at < PATIENCE
        self._tidy_rows(suspicious and not patient)

    def _tidy_rows(self, suspicious: bool = False) -> None:
        """Keep V short: compute the state again, or subtract V from the covariance."""
        if self._base is None:
            due = self._size - self._distinct >= max(SPARE, self._distinct // 4)
        else:
            due = self.events - self._merged_at >= LONGEST
        if due or suspicious:
            self._merge()
        elif self._base is not None and self._size >= FOLDED:
            self._fold_rows()

    def _fold_rows(self) -> None:
        """Subtract V' V from the covariance of all arms, and begin V anew."""
        assert self._base is not None
        rows = self._rows[:, : self._size]
        # A new array: copies with pending arms share the old one.
        self._base = np.asarray(self._base - rows.transpose(0, 2, 1) @ rows)
        self._size = 0

    def learn(self, *totals: Any) -> None:
        """Replace everything learnt by counts and sums of rewards, one of each for an arm."""
        counts, sums = totals
        self._tally = Tally.of(*check_totals(counts, sums, len(self.arms), least=0))
        self._merge()
        self._report_conditioning()

    def with_pending(self, places: Any) -> PoolMixture:
        """Return a copy with the variances as if these arms had been played already.

        Each member is told its own mean there, so its mean stays and its variance falls.
        """
        arms = [self._check_arm(place) for place in places]
        other = copy.copy(self)
        other._moments = other._members = None
        other._tally, other.log_dets = copy.deepcopy(self.tally), self.log_dets.copy()
        other._means, other._variances = self.means.copy(), self.variances.copy()
        if self._rows.size > LARGE:
            # Rows never change once they are there, so a copy shares them and begins new ones.
            other._begin_rows(SPARE)
        else:
            # With room for the rows to come: to make it later would copy all rows again.
            used = self._size - self._held
            other._rows = np.empty((len(self.kernels), used + len(arms) + SPARE, len(self.arms)))
            other._rows[:, :used] = self._rows[:, :used]
        if arms:
            other._condition(arms, self.means[:, arms])
            for arm in arms:
                other.tally.add(arm, float(self.mean[arm]))
        return other

    def add_pending(self, places: Any) -> None:
        """Lower the variances of this mixture itself as if these arms had been played, in turn."""
        for arm in map(self._check_arm, places):
            self._condition_arm(arm, self.means[:, arm])
            self.tally.add(arm, float(self.mean[arm]))
            self._tidy_rows()

    def leave_out_each(self, arms: Sequence[int]) -> tuple[Array, Array] | None:
        """Predict the mean reward of each arm played from the other arms; None if inaccurate.

        With v the posterior variance of an arm, z its mean reward and d = ridge / count,

            prediction = z - (z - mean) / (1 - v / d),   variance = d / (1 - v / d)

        under each member, (M, arms) arrays. They need no factorisation, but 1 - v / d loses digits
        where there is little noise. `arms` are the arms played, in any order, each at a point of
        its own; there is no answer if others were played.
        """
        if sorted(arms) != self.support.tolist():
            return None
        counts = self.counts[arms]
        noise = self.ridges[:, None] / counts
        if self.conditioning * self._largest_ratio * counts.max() > LARGEST_LEFT_OUT_ERROR:
            return None
        left = 1 - self.variances[:, arms] / noise
        results = self.tally.sums[arms] / counts
        return results - (results - self.means[:, arms]) / left, noise / left

    def audit(self) -> bool:
        """Compute everything again from counts and sums; return whether it had been damaged."""
        self._audits += 1
        if not self.events:
            return False
        means, variances, log_dets = self.means, self.variances, self.log_dets
        self._merge()
        size = np.maximum(self.variances, EPS * self._stacked.variances[:, None])
        # A larger relative difference is not rounding.
        tolerance = 1e5 * EPS * (self._stacked.variances / size.min(1))[:, None]
        same = (
            (np.abs(variances - self.variances) <= tolerance * size).all()
            and (np.abs(means - self.means) <= tolerance * max(self.tally.largest, EPS)).all()
            and np.isfinite(log_dets).all()
        )
        if not same:
            self._repairs += 1
            text = f"posterior repaired from counts after {self.events} rewards"
            warnings.warn(text, NumericsWarning, stacklevel=3)
        return not same

    def _start(self, tally: Tally) -> None:
        """Set the state before the first reward."""
        self._tally = tally
        members, n = len(self.kernels), len(self.arms)
        self._means = np.zeros((members, n))
        self._variances = np.tile(self._stacked.variances[:, None], n)
        self.log_dets = np.zeros(members)
        self._older: tuple[Array, ...] = ()
        """Rows that are complete."""
        self._held = 0
        """The number of rows that are complete."""
        self._rows = np.zeros((members, SPARE, n))
        self._size = self._distinct = self._merged_at = 0
        self._base = self._prior_matrix
        self._moments = self._members = None

    def _condition(self, arms: list[int], rewards: Array) -> None:
        """Add the rows of some arms, told rewards of each member, an (M, arms) array."""
        if len(arms) == 1:
            self._condition_arm(arms[0], rewards[:, 0])
            return
        self._moments = self._members = None
        rows = self._residual_rows(arms)
        gaps = (rewards - self.means[:, arms])[:, :, None]
        evidence = rows[:, :, arms] + self.ridges[:, None, None] * np.eye(len(arms))
        factors = lower_roots(evidence, self.ridges.tolist())
        both = np.linalg.solve(factors, np.concatenate([rows, gaps], axis=2))
        rows, steps = both[:, :, :-1], both[:, :, -1:]
        self._means += (rows * steps).sum(1)
        self._variances -= np.square(rows).sum(1)
        pivots = np.diagonal(factors, axis1=1, axis2=2)
        self.log_dets += 2 * np.log(pivots / np.sqrt(self.ridges)[:, None]).sum(1)
        self._append_rows(rows)
        self._distinct += len({arm for arm in arms if not self.counts[arm]})

    def _condition_arm(self, arm: int, rewards: Array | float) -> bool:
        """Add the row of one arm, told a reward or one of each member; return if that is suspect.

        No exact variance is negative or exceeds min(k(x, x), ridge / count). If the variance of the
        arm is not positive, nothing is left to learn and the row is zero.
        """
        self._moments = self._members = None
        row = self._residual_row(arm)
        own, count = row[:, arm].copy(), self._tally.counts.item(arm)
        suspicious = not self._are_possible(own.tolist(), count)
        if suspicious:
            empty = ~(own > 0)
            self._clamps += int((own < 0).sum())
            row[empty] = 0.0
            own[empty] = 0.0
        factors = np.sqrt(own + self.ridges)
        row /= factors[:, None]
        steps = (rewards - self._means[:, arm]) / factors
        self._means += row * steps[:, None]
        self._variances -= row * row
        self.log_dets += 2 * np.log(factors / self._root_ridges)
        self._append_rows(row[:, None])
        self._distinct += not count
        return suspicious

    def _are_possible(self, variances: list[float], count: float) -> bool:
        """Whether an arm played so often can have these variances under the members.

        The few members are compared as plain numbers, which takes a tenth of the time of arrays.
        """
        for variance, (prior, ridge) in zip(variances, self._variance_limits, strict=True):
            ceiling = min(prior, ridge / count) if count else prior
            # NaN is not possible either.
            if not 0 <= variance <= ROUNDING * ceiling:
                return False
        return True

    @cached_property
    def _variance_limits(self) -> list[tuple[float, float]]:
        """Prior variance and ridge of each member."""
        return list(zip(self._stacked.variances.tolist(), self.ridges.tolist(), strict=True))

    def _residual_row(self, arm: int) -> Array:
        """cov_i(arm, .) of one arm, an (M, n) array of its own."""
        if self._base is None or self._older:
            return self._residual_rows([arm])[:, 0]
        row = self._base[:, arm].copy()
        used = self._rows[:, : self._size - self._held]
        row -= (used[:, :, arm].copy()[:, None] @ used)[:, 0]
        return row

    def _residual_rows(self, arms: list[int]) -> Array:
        """cov_i(arm, .) of some arms, an (M, arms, n) array."""
        if self._base is None:
            rows = self._recent.of(arms, self._prior_rows)
        else:
            rows = self._base.take(arms, axis=1)
        for used in (*self._older, self._rows[:, : self._size - self._held]):
            rows -= used[:, :, arms].transpose(0, 2, 1) @ used
        return rows

    def _append_rows(self, rows: Array) -> None:
        """Add rows to V; if it is full it grows by a quarter, without a copy where it is large."""
        start = self._size - self._held
        end = start + rows.shape[1]
        if end > self._rows.shape[1] and self._rows.size > LARGE:
            self._begin_rows(max(SPARE, rows.shape[1]))
            start, end = 0, rows.shape[1]
        elif end > self._rows.shape[1]:
            larger = np.zeros((len(rows), end + max(SPARE, end // 4), rows.shape[2]))
            larger[:, :start] = self._rows[:, :start]
            self._rows = larger
        self._rows[:, start:end] = rows
        self._size += rows.shape[1]

    def _begin_rows(self, room: int) -> None:
        """Take the rows so far as complete, and make room for others."""
        self._older = (*self._older, self._rows[:, : self._size - self._held])
        self._held = self._size
        # The system gives memory for zeros when they are first written to.
        self._rows = np.zeros((len(self.kernels), room, len(self.arms)))

    def _merge(self) -> None:
        """Compute the state from counts and sums, with one row of V for each arm played.

        With B = I + N^1/2 K N^1/2 / ridge = L L' over the arms played, N the counts,

            V = L^-1 N^1/2 k(played, .) / sqrt(ridge),
            mean = V' L^-1 N^-1/2 sums / sqrt(ridge),   variance = k(x, x) - sum of V^2.

        All eigenvalues of B are at least 1. Where little of the prior variance of an arm played is
        left, the equal expression (ridge / n) (1 - [B^-1]_ii) loses no digits.
        """
        self._start(self.tally)
        played = self.support
        m = len(played)
        self._size = self._distinct = m
        self._merged_at = self.events
        self._rows = np.zeros((len(self.kernels), m + max(SPARE, m // 4), len(self.arms)))
        self._prior_rows(played, out=self._rows[:, :m])
        root = np.sqrt(self.counts[played])
        totals = self.tally.sums[played] / root
        for i, ridge in enumerate(self.ridges.tolist()):
            rows = self._rows[i, :m]
            rows *= (root / math.sqrt(ridge))[:, None]
            matrix = rows[:, played] * (root / math.sqrt(ridge))
            matrix.flat[:: m + 1] += 1.0
            factor = np.asfortranarray(lower_root(matrix, least=1.0))
            # The transposed rows are stored by columns, so BLAS solves in place.
            dtrsm(1.0, factor, rows.T, side=1, lower=1, trans_a=1, overwrite_b=1)
            inverse = dtrtri(factor, lower=1)[0]
            self._means[i] = (inverse @ totals / math.sqrt(ridge)) @ rows
            self._variances[i] -= np.einsum("mn,mn->n", rows, rows)
            direct = ridge / root**2 * (1 - np.square(inverse).sum(0))
            left = self.variances[i, played]
            small = direct < self._stacked.variances[i] / 2
            self._variances[i, played] = np.where(small, direct, left)
            self.log_dets[i] = 2 * np.log(factor.diagonal()).sum()
        if self._base is not None:
            self._fold_rows()

    def _prior_rows(self, arms: Any, out: Array | None = None) -> Array:
        """Return k_i(arm, .) of some arms, an (M, arms, n) array."""
        if self._prior_matrix is not None:
            return self._prior_matrix.take(arms, axis=1, out=out)
        return self._compute_prior_rows(np.asarray(arms), out)

    @cached_property
    def _prior_matrix(self) -> Array | None:
        """k_i of all pairs of arms, (M, n, n); None where there are many.

        It is computed at once: rows computed one by one may differ in their last digits, and the
        state would depend on which arms were played first.
        """
        n = len(self.arms)
        small = len(self.kernels) * n * n <= SMALL
        return self._compute_prior_rows(np.arange(n), None) if small else None

    def _compute_prior_rows(self, arms: Indices, out: Array | None) -> Array:
        rows = self._prior_kernels.of(arms, out)
        if self._stacked.nuggets.any():
            for row, place in enumerate(self._places[arms]):
                same = np.flatnonzero(self._places == place)
                rows[:, row, same] += self._stacked.nuggets[:, None]
        return rows

    def _check_arm(self, arm: Any) -> int:
        # A plain int, the usual case, skips the slower check of its type.
        known = (type(arm) is int or checks.is_whole(arm)) and 0 <= arm < len(self._places)
        checks.needs(known, "update", f"an arm below {len(self.arms)}", arm)
        return int(arm)

    # ------------------------------------------------------------------ what the members share

    @property
    def kernel(self) -> Kernel:
        return self.kernels[0]

    @property
    def ridge(self) -> float:
        return float(self.ridges[0])

    @property
    def log_det(self) -> float:
        return float(self.log_dets.mean())

    @property
    def points(self) -> Array:
        return self.arms.points

    @cached_property
    def prior(self) -> Array:
        return np.full(len(self.arms), self._stacked.variances[0])

    @property
    def tally(self) -> Tally:
        return self._tally

    @property
    def counts(self) -> Indices:
        return self.tally.counts

    @property
    def support(self) -> Indices:
        return self.tally.played_arms

    @property
    def events(self) -> int:
        return self.tally.events

    @property
    def health(self) -> Health:
        """How accurate the numbers are, and what the audits found."""
        return Health(self._audits, self._repairs, self._clamps, self.conditioning)

    @property
    def conditioning(self) -> float:
        """eps k_max n_max / ridge of the worst member, the relative error of a variance."""
        return EPS * self._largest_ratio * max(1, self.tally.most)

    @cached_property
    def _root_ridges(self) -> Array:
        return np.asarray(np.sqrt(self.ridges))

    @cached_property
    def _largest_ratio(self) -> float:
        """k(x, x) / ridge of the member that has relatively the least noise."""
        return float((self._stacked.variances / self.ridges).max())

    def _report_conditioning(self) -> None:
        """Warn once if variances have lost more than ten of their sixteen digits."""
        if not self._warned and self.conditioning > LARGEST_ERROR:
            self._warned = True
            worst = int((self._stacked.variances / self.ridges).argmax())
            warn_of_conditioning(self.conditioning, float(self.ridges[worst]))
