"""A few arms of a pool on which a run goes on while no other arm can be chosen."""

from __future__ import annotations

import copy

import numpy as np
from scipy.linalg import solve_triangular

from kernelbandits.checks import Array, Indices
from kernelbandits.posterior.rows import PriorRows, RowPosterior, blocks
from kernelbandits.posterior.sufficient import Tally, lower_root

SHARE, LEAST_LIST = 16, 256
"""A list has one of this many arms of the pool, and at least so many arms."""
NEVER = 1 << 62
PLACES = np.array([0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1, 1.01, 1.03, 1.1, 1.3, 2])
"""Where the greatest mean + theta sd outside the list is known, in units of the usual theta."""

Bounds = tuple[Array, Array, Array, Indices, Array]
"""Values of theta and the greatest mean + theta sd there; mean, count and reward sum of each arm
with a row when the list was made."""
NO_BOUNDS: Bounds = (
    np.empty(0),
    np.empty(0),
    np.empty(0),
    np.empty(0, dtype=np.int64),
    np.empty(0),
)
"""For a loop over a whole pool."""


class ShortList:
    """The arms of a pool with the greatest index or mean, as a pool of their own.

    Variances only fall, and the mean of any arm x moves by at most D sd(x) while the run goes on
    (`compiled.bound_change`). So mean + (theta + D) sd, with mean and sd of the time when the list
    was made, bounds the index mean + theta sd of every arm outside.

    `absorb` brings the whole pool up to date: the rewards since then count as one pseudo-reward for
    each distinct arm played, with their average and with the ridge divided by their number.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> arms = kb.Arms(np.linspace(0, 1, 2000)[:, None])
    >>> pool = kb.posterior.RowPosterior([kb.RBF(0.1)], arms, [0.1])
    >>> pool.update(1000, 1.0)
    >>> short = kb.posterior.ShortList(pool, theta=0.0)
    >>> len(short.arms), bool(1000 in short.arms)
    (128, True)
    """

    def __init__(self, pool: RowPosterior, theta: float) -> None:
        self.pool = pool
        self.arms = choose_arms(pool, theta)
        self.played = list(pool._slot)
        """The arms of the rows."""
        self.part = restrict(pool, self.arms)
        """The posterior of the arms of the list."""
        self._events = pool.events
        out = np.ones(len(pool.mean), dtype=bool)
        out[self.arms] = False
        mean, sd = pool.mean[out], np.sqrt(np.maximum(pool.variance[out], 0.0))
        self._places = PLACES * max(theta, 1e-9)
        self._values = np.full(len(PLACES), -np.inf)
        for some in blocks(len(mean), 4):
            for i, place in enumerate(self._places.tolist()):
                bound = float((mean[some] + place * sd[some]).max())
                self._values[i] = max(self._values[i], bound)

    def bounds(self, places: Indices) -> Bounds:
        """Return what bounds the arms outside, for the compiled loop.

        `places` are those of the arms with a row, as numbers of the list.
        """
        arms, tally = self.arms[places], self.pool.tally
        sums, lost = tally.lend_arms(arms.tolist())
        return self._places, self._values, self.pool.mean[arms], tally.counts[arms], sums + lost

    @property
    def rounds(self) -> int:
        """How many rewards were learnt since the list was made."""
        return self.part.events - self._events

    def reserve_row(self) -> None:
        """Make room for one more row of the whole pool.

        If there is no memory for it, that is said before anything is learnt; `absorb` needs no
        further memory then.
        """
        self.pool._grow(self.part.distinct + 1)

    def absorb(self) -> None:
        """Bring the whole pool up to date."""
        pool, part = self.pool, self.part
        if not self.rounds:
            return
        arms, old = self.arms[list(part._slot)], len(self.played)
        m = len(arms)
        mean_part, rise = self._pseudo_rewards(arms)
        pool._grow(m)
        for slot in range(old, m):
            pool._rows[0, slot] = pool._prior_rows.of(int(arms[slot]))[0]
        pool._factor[:, :m, :m] = part._factor[:, :m, :m]
        pool._core[:, :m, :m] = part._core[:, :m, :m]
        factor = part._factor[0]
        weights = np.vstack([rise, mean_part])
        for some in blocks(len(pool.mean), m):
            rows = pool._rows[0, :m, some]
            if m > old:
                fresh = rows[old:] - factor[old:m, :old] @ rows[:old]
                rows[old:] = solve_triangular(factor[old:m, old:m], fresh, lower=True)
            both = weights @ rows
            pool.variance[some] -= np.square(both[:-1]).sum(0)
            pool.mean[some] += both[-1]
        pool.mean[self.arms], pool.variance[self.arms] = part.mean, part.variance
        pool._rows[0, old:m, self.arms] = part._rows[0, old:m].T
        self._hand_over(arms)

    def _pseudo_rewards(self, arms: Indices) -> tuple[Array, Array]:
        """Return b and H: mean(x) += b' V(x), variance(x) -= |H V(x)|^2 outside the list.

        With Q the columns q = (row of L) - S_0 V(arm) of the arms played since the list was made,
        C = Q' V(arms) their covariance then, N their new plays and F F' = C + ridge N^-1:
        H = F^-1 Q' and b = Q (F F')^-1 (average reward - mean then).
        """
        pool, part, m, old = self.pool, self.part, len(arms), len(self.played)
        local = np.array(list(part._slot))
        _, _, means_then, counts_then, sums_then = self.bounds(local)
        plays = part.counts[local] - counts_then
        since = np.flatnonzero(plays)
        gained = (np.sum(part.tally.lend_arms(local.tolist()), axis=0) - sums_then)[since]
        projection = part._rows[0, :m, local[since]].T
        coordinates = part._factor[0, since, :m].copy()
        coordinates[:, :old] -= projection[:old].T @ pool._core[0, :old, :old]
        noise = pool.ridge / plays[since]
        matrix = coordinates @ projection
        factor = lower_root((matrix + matrix.T) / 2 + np.diag(noise), least=float(noise.min()))
        both = np.column_stack([coordinates, gained / plays[since] - means_then[since]])
        solved = solve_triangular(factor, both, lower=True)
        rise = solved[:, :-1]
        return solved[:, -1] @ rise, rise

    def _hand_over(self, arms: Indices) -> None:
        """Give the pool the counts, sums and all else that belongs to the arms played."""
        pool, part = self.pool, self.part
        local = list(part._slot)
        pool._slot = {int(arm): slot for slot, arm in enumerate(arms)}
        pool.tally.take_back_arms(arms, part.counts[local], *part.tally.lend_arms(local))
        pool.tally.largest, pool.log_dets = part.tally.largest, part.log_dets
        pool._clamps, pool._last, pool._exact = part._clamps, None, None
        pool._ceilings[:, arms] = part._ceilings[:, local]


def choose_arms(pool: RowPosterior, theta: float) -> Indices:
    """Return the arms played, and those with the greatest mean + theta sd or mean, in order."""
    n = len(pool.mean)
    half = max(LEAST_LIST, n // SHARE) // 2
    index = pool.mean + theta * pool.sd
    best = [np.argpartition(scores, n - half)[n - half :] for scores in (index, pool.mean)]
    return np.unique(np.concatenate([*best, np.array(list(pool._slot), dtype=np.int64)]))


def restrict(pool: RowPosterior, arms: Indices) -> RowPosterior:
    """Return the posterior of some arms of a pool, all arms played among them."""
    part, m = copy.copy(pool), len(pool._slot)
    part.points, part.priors = pool.points[arms], pool.priors[:, arms]
    part.means, part.variances = pool.means[:, arms], pool.variances[:, arms]
    part.log_dets = pool.log_dets.copy()
    part._rows = np.take(pool._rows[:, :m], arms, axis=2)
    part._factor = pool._factor[:, :m, :m].copy()
    part._core, part._last, part._exact = pool._core[:, :m, :m].copy(), None, None
    local = np.searchsorted(arms, list(pool._slot)).tolist()
    part._slot = dict(zip(local, range(m), strict=True))
    part._ceilings = pool._ceilings[:, arms]
    part._prior_rows = PriorRows(pool.stack, part.points)
    # The whole pool is audited, not a part of it.
    part._patience = NEVER
    part.tally = Tally(len(arms))
    played = list(pool._slot)
    part.tally.take_back_arms(
        np.array(local, dtype=np.int64), pool.counts[played], *pool.tally.lend_arms(played)
    )
    part.tally.events, part.tally.largest = pool.events, pool.tally.largest
    part.tally.most = pool.tally.most
    return part
