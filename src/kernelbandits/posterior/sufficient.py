"""Sufficient statistics: counts and sums of rewards, and the posterior that follows from them.

The posterior depends on the rewards only through the count and the sum of each arm. The state of a
posterior is updated reward by reward and gathers rounding; these statistics do not, so audits
rebuild the state from them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from kernelbandits import checks
from kernelbandits.checks import Array, Indices

LARGEST_COUNT = 2**53
"""Up to this size every whole number is a floating-point number."""


class Tally:
    """The number of plays of each arm and the sum of its rewards.

    Sums are compensated (Neumaier): beside each sum the digits lost so far are kept. A plain sum of
    a million rewards can lose six digits, and audits take these sums for exact.

    >>> from kernelbandits.posterior import Tally
    >>> tally = Tally(2)
    >>> for reward in (1e16, 1.0, -1e16):
    ...     count = tally.add(0, reward)
    >>> count, tally.sums.tolist()
    (3, [1.0, 0.0])
    """

    def __init__(self, n: int) -> None:
        self.counts = np.zeros(n, dtype=np.int64)
        self.events = 0
        self.most: float = 0
        self.largest = 0.0
        self._sums = [0.0] * n
        self._lost = [0.0] * n
        self._last: tuple[int, int, float, float, float, float, float] | None = None
        """What the last `add` began from: events, the arm with its count, sum and lost digits, the
        largest reward and the largest count."""

    @classmethod
    def of(cls, counts: Any, sums: Any, events: int | None = None) -> Tally:
        """Return a tally with given counts and sums.

        With the number of `events`, counts are weights: rewards of different precision count as
        more or less than one.
        """
        tally = cls(len(counts))
        if events is not None:
            tally.counts = np.zeros(len(counts))  # type: ignore[assignment]
        tally.counts[:] = counts
        tally.take_back(np.asarray(sums, dtype=np.float64), np.zeros(len(counts)))
        tally.largest = float(
            np.abs(np.asarray(sums) / np.where(tally.counts > 0, tally.counts, 1)).max(initial=0.0)
        )
        if events is not None:
            tally.events, tally.most = events, float(tally.counts.max(initial=0.0))
        return tally

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy the lists and arrays, which hold numbers only; much faster than the default."""
        other = copy.copy(self)
        held = {
            name: part.copy()
            for name, part in vars(self).items()
            if isinstance(part, (list, np.ndarray))
        }
        vars(other).update(held)
        return other

    def add(self, arm: int, reward: float) -> int:
        """Add one reward of an arm and return the arm's count."""
        before, number = self._sums[arm], self.counts.item(arm)
        self._last = self.events, arm, number, before, self._lost[arm], self.largest, self.most
        after = self._sums[arm] = before + reward
        # The smaller of the two numbers is the one whose digits were lost. The compiled loop has
        # the same lines in the same order (`compiled.add_reward`).
        self._lost[arm] += (
            (before - after) + reward if abs(before) >= abs(reward) else (reward - after) + before
        )
        self.events += 1
        self.largest = max(self.largest, abs(reward))
        count: int = number + 1
        self.counts[arm] = count
        self.most = max(self.most, count)
        return count

    def take_back_last(self, events: int) -> None:
        """Forget a reward that was added, or half added, when there were so many events."""
        if self._last is not None and self._last[0] == events:
            self.events, arm, number, total, lost, self.largest, self.most = self._last
            self.counts[arm], self._sums[arm], self._lost[arm] = number, total, lost

    def grow(self) -> None:
        """Add an arm without plays."""
        self.counts = np.append(self.counts, 0)
        self._sums.append(0.0)
        self._lost.append(0.0)

    def shrink(self, n: int) -> None:
        """Keep the first n arms; the others were added, or half added, and have no plays."""
        self.counts, self._last = self.counts[:n], None
        del self._sums[n:], self._lost[n:]

    def lend(self) -> tuple[Array, Array]:
        """Return sums and lost digits as arrays, for a compiled loop."""
        return np.array(self._sums), np.array(self._lost)

    def take_back(self, sums: Array, lost: Array) -> None:
        """Take sums and lost digits over from a compiled loop; it has changed `counts` in place."""
        self._sums, self._lost = sums.tolist(), lost.tolist()
        self.events, self.most = int(self.counts.sum()), int(self.counts.max(initial=0))

    def lend_arms(self, arms: Iterable[int]) -> tuple[Array, Array]:
        """Return sums and lost digits of some arms as arrays, for a compiled loop."""
        chosen = list(arms)
        sums, lost = ([held[arm] for arm in chosen] for held in (self._sums, self._lost))
        return np.array(sums, dtype=np.float64), np.array(lost, dtype=np.float64)

    def take_back_arms(self, arms: Indices, counts: Indices, sums: Array, lost: Array) -> None:
        """Take counts, sums and lost digits of some arms over from a compiled loop."""
        self.events += int((counts - self.counts[arms]).sum())
        self.counts[arms] = counts
        self.most = max(self.most, int(counts.max(initial=0)))
        rows = zip(arms.tolist(), sums.tolist(), lost.tolist(), strict=True)
        for arm, total, digits in rows:
            self._sums[arm], self._lost[arm] = total, digits

    @property
    def sums(self) -> Array:
        """The sum of the rewards of each arm."""
        return np.array(self._sums) + self._lost

    @property
    def played_arms(self) -> Indices:
        """The arms played at least once, in increasing order."""
        return self.counts.nonzero()[0]


def check_totals(
    counts: Any, sums: Any, n: int, least: int, weights: bool = False
) -> tuple[Any, Array]:
    """Return counts and sums of rewards of n arms or points, checked.

    The sums may be no larger than rewards told one by one could make them. Counts that are weights
    may be any numbers: rewards of different precision count as more or less than one.
    """
    number, total = check_column("counts", counts, n), check_column("sums", sums, n)
    if weights:
        sound = bool(np.isfinite(number).all() and (number >= 0).all() and number.any())
        checks.needs(sound, "learn", "weights >= 0, one of them positive", counts)
        return number, total
    whole = bool(
        ((number >= least) & (number == np.rint(number)) & (number <= LARGEST_COUNT)).all()
    )
    checks.needs(whole, "learn", f"whole counts >= {least}", counts)
    checks.needs(bool(number.any()), "learn", "at least one reward", counts)
    sound = bool((np.abs(total) <= checks.LARGEST_REWARD * number).all())
    checks.needs(
        sound,
        "learn",
        f"finite sums of size at most {checks.LARGEST_REWARD:g} for each reward",
        sums,
    )
    return number.astype(np.int64), total


def check_column(name: str, values: Any, n: int) -> Array:
    """Return a flat array of n numbers."""
    try:
        given = np.asarray(values)
    except ValueError:
        given = np.empty(0, dtype=object)
    checks.needs(
        given.shape == (n,) and given.dtype.kind in "fiu",
        "learn",
        f"{n} {name}, all numbers",
        values,
    )
    return given.astype(np.float64)


def lower_root(matrix: Array, least: float) -> Array:
    """Return the lower Cholesky factor of a matrix whose eigenvalues are at least `least`.

    If K is nearly singular, rounding can leave a small or negative eigenvalue and no factor. The
    eigenvalues are then raised to `least`, which is what they are without rounding.
    """
    # LAPACK is called directly: the functions of scipy.linalg spend longer on checks than it needs
    # for 50 rows.
    if not np.isfinite(matrix).all():
        raise ValueError("a factorisation needs finite numbers, got infinite ones or NaN")
    if not matrix.size:
        return matrix.copy()
    factor, failed = dpotrf(matrix, lower=1, clean=1)
    if not failed:
        lower: Array = factor
        return lower
    values, vectors = np.linalg.eigh(matrix)
    upper: Array = np.linalg.qr((vectors * np.sqrt(np.maximum(values, least))).T)[1]
    return (upper * np.sign(upper.diagonal())[:, None]).T


def lower_roots(matrices: Array, least: Sequence[float]) -> Array:
    """Return the lower Cholesky factors of several matrices, as `lower_root` does of one."""
    try:
        return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)
    except np.linalg.LinAlgError:
        pairs = zip(matrices, least, strict=True)
        return np.array([lower_root(one, least=bound) for one, bound in pairs])


@dataclass(frozen=True)
class Factorisation:
    """The posterior from counts and sums, by B = I + N^1/2 K N^1/2 / ridge over the arms played.

    N are the counts. All eigenvalues of B are at least 1, however singular K and however large the
    counts, so its Cholesky factor is accurate where that of K + ridge N^-1 is not.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> points, kernel = np.array([[0.0], [1.0]]), kb.RBF(0.3)
    >>> counts, sums = np.array([2, 1]), np.array([1.0, 0.7])
    >>> fit = kb.posterior.Factorisation.of(kernel(points, points), counts, sums, ridge=0.1)
    >>> fit.mean(kernel(np.array([[0.0], [0.5]]), points)).round(3), round(fit.log_det, 3)
    (array([0.476, 0.276]), 5.442)
    """

    root: Array
    """N^1/2"""
    factor: Array
    """Lower Cholesky factor of B."""
    coefficients: Array
    """(K + ridge N^-1)^-1 (mean reward of each arm)"""
    ridge: float

    @classmethod
    def of(cls, matrix: Array, counts: Indices | Array, sums: Array, ridge: float) -> Factorisation:
        """Factorise, for matrix = K and the counts and sums of the arms played."""
        root = np.sqrt(counts)
        # In place: with many points, new arrays would take as long as the factor itself.
        whole = root[:, None] * matrix
        whole *= root
        whole /= ridge
        whole.flat[:: len(root) + 1] += 1.0
        factor = lower_root(whole, least=1.0)
        solved = dpotrs(factor, sums / root, lower=1)[0] if len(root) else root
        return cls(root, factor, root * solved / ridge, ridge)

    def mean(self, cross: Array) -> Array:
        """Return the mean k(x, played) (K + ridge N^-1)^-1 ybar, for cross = k(x, played)."""
        return cross @ self.coefficients

    def solve(self, values: Array) -> Array:
        """Return (K + ridge N^-1)^-1 v, for one number v for each arm played."""
        solved: Array = dpotrs(self.factor, self.root * values, lower=1)[0]
        return self.root * solved / self.ridge

    def explained_root(self, cross: Array) -> Array:
        """Return V with prior covariance - V' V = posterior covariance."""
        white = (cross * self.root).T
        explained: Array = dtrtrs(self.factor, white, lower=1)[0] if len(white) else white
        explained /= math.sqrt(self.ridge)
        return explained

    def played_variance(self, prior: Array, left: Array) -> Array:
        """Return the variances of the arms played, without cancellation.

        k - V' V, given as `left`, loses digits where little of the prior variance remains. There
        the equal expression (ridge / n_i) (1 - [B^-1]_ii) is used.
        """
        if not len(self.root):
            return left
        inverse = dpotrs(self.factor, np.eye(len(self.root)), lower=1)[0]
        direct = self.ridge / self.root**2 * (1 - inverse.diagonal())
        return np.where(direct < prior / 2, direct, left)

    @property
    def log_det(self) -> float:
        """log det(I + K_t / ridge) over all plays."""
        return float(2 * np.log(self.factor.diagonal()).sum())
