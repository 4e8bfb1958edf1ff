"""The posterior in the span of a few arms, for more arms than an exact one can hold."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dpstrf, dtrtri, dtrtrs

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import squared_norms
from kernelbandits.posterior.base import EPS, Posterior, prior_variance
from kernelbandits.posterior.sufficient import Tally, check_totals, lower_root
from kernelbandits.streams import Streams

REBUILD = 1000
"""The state is computed again from counts and sums after this many rewards at the latest."""


class SketchedPosterior(Posterior):
    """The posterior with f replaced by its projection on the span of a dictionary of arms.

    With z(x) the coordinates of the projection of k(x, .) on that span, |z(x)|^2 <= k(x, x), and
    A = sum z z' + ridge I over the rewards,

        mean(x) = z' A^-1 sum y z,   cov(x, x') = k(x, x') - z'z' + ridge z' A^-1 z',

    log_det = log det(A / ridge). What the projection leaves out of all rewards is the `residual`
    sum (k(x_s, x_s) - |z(x_s)|^2). It is zero, and the posterior exact, if all arms played belong
    to the dictionary. A reward costs O(n m) for n arms and m in the dictionary, a new dictionary
    O(n m^2).

    The dictionary is drawn again (`draw_dictionary`) where 1 + sum sd^2 / ridge over the rewards
    since the last time exceeds `growth`: arm i belongs to it with probability
    min(1, budget count_i sd_i^2 / ridge).

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> points = np.linspace(0, 1, 50)[:, None]
    >>> sketch = kb.posterior.SketchedPosterior(kb.RBF(0.3), points, ridge=0.1)
    >>> exact = kb.posterior.ArmPosterior(kb.RBF(0.3), points, ridge=0.1)
    >>> for arm in range(0, 50, 3):
    ...     sketch.update(arm, float(points[arm, 0]))
    ...     exact.update(arm, float(points[arm, 0]))
    >>> bool(abs(sketch.mean - exact.mean).max() < 0.02), len(sketch.dictionary) <= 17
    (True, True)
    """

    def __init__(
        self,
        kernel: Any,
        points: Any,
        ridge: float = 1.0,
        budget: float = 10.0,
        growth: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.budget = checks.positive("a sketch", "budget", budget)
        self.growth = checks.number("a sketch", "growth", growth)
        checks.needs(self.growth >= 1, "a sketch", "growth >= 1", growth)
        self.seed = checks.whole("a sketch", "seed", seed, least=0)
        super().__init__(kernel, points, ridge)
        self.dictionary: Indices = np.empty(0, dtype=np.int64)
        """The arms in whose span the estimate lies."""
        self._project(self._embed(self.dictionary, np.empty((0, len(self.mean)))))

    _gathered: float
    """sum sd^2 / ridge over the rewards since the dictionary was drawn."""
    residual: float
    """sum (k(x_s, x_s) - |z(x_s)|^2) over all rewards."""

    def _prior(self) -> Array:
        self.variance = prior_variance(self.kernel, self.points)
        return self.variance.copy()

    @property
    def audit_interval(self) -> int:
        return REBUILD

    # ------------------------------------------------------------------ learning

    def update(self, arm: int, reward: float) -> None:
        """Learn a reward, and draw a new dictionary if it is due.

        All calls of the kernel come before anything changes, so a kernel that fails leaves the
        posterior as it was.
        """
        self._learn(arm, reward, resample=True)

    def _learn(self, arm: int, reward: float, resample: bool) -> None:
        reward = self._check_reward(arm, reward)
        variance = max(float(self.variance[arm]), 0.0)
        gathered = self._gathered + variance / self.ridge
        # Of what is held here, only the tally is changed in place.
        before, events = dict(vars(self)), self.tally.events
        try:
            if resample and (1 + gathered > self.growth or not len(self.dictionary)):
                self._relearn(arm, reward)
            else:
                self.tally.add(arm, reward)
                self._gathered = gathered
                self._condition(arm, reward)
        except BaseException:
            vars(self).update(before)
            self.tally.take_back_last(events)
            raise
        if self._fit_is_due():
            self.audit()
        self._report_conditioning()

    def _fit_is_due(self) -> bool:
        """Whether the state has followed so many rewards that it is computed again."""
        return self.tally.events - self._audited_at >= self.audit_interval

    def _relearn(self, arm: int, reward: float) -> None:
        """Learn a reward with a new dictionary."""
        tally = copy.deepcopy(self.tally)
        tally.add(arm, reward)
        dictionary = self.draw_dictionary(tally, arm)
        if np.array_equal(dictionary, self.dictionary) and not self._fit_is_due():
            # The span stays the same, so the reward is one rank-one update.
            self.tally, self._gathered = tally, 0.0
            self._condition(arm, reward)
            return
        rows = self._rows_of(dictionary)
        self.tally, self.dictionary = tally, dictionary
        self._project(self._embed(dictionary, rows))
        self._fit()

    def _add_pending(self, arms: list[int]) -> None:
        """Lower the variances in the span of the present dictionary."""
        for arm in arms:
            self._learn(arm, float(self.mean[arm]), resample=False)

    def draw_dictionary(self, tally: Tally, arm: int) -> Indices:
        """Draw a dictionary by the variances after one more reward of an arm.

        The random numbers belong to the number of rewards and to `seed`: `update` is given none.
        """
        played = tally.played_arms
        _, _, column, evidence = self._direction_of(arm)
        left = np.maximum(self.variance[played] - column[played] ** 2 / evidence, 0.0)
        shares = self.budget * tally.counts[played] * left / self.ridge
        draws = Streams(self.seed).generator(tally.events).random(len(played))
        chosen: Indices = played[draws < shares]
        # An empty dictionary would forget all rewards.
        return chosen if len(chosen) else np.array([arm])

    def _direction_of(self, arm: int) -> tuple[Array, Array, Array, float]:
        """w = S'z, S w, cov(arm, .) in the span of the dictionary, and its variance + ridge."""
        white = self._rows[:, arm] @ self._root
        direction = self._root @ white
        return white, direction, direction @ self._rows, float(white @ white) + self.ridge

    def _rows_of(self, dictionary: Indices) -> Array:
        """k(x, .) of the arms of a dictionary; those of the present one are known.

        The arms of a dictionary are in increasing order.
        """
        rows = np.empty((len(dictionary), len(self.mean)))
        fresh = np.ones(len(dictionary), dtype=bool)
        if len(self.dictionary):
            places = np.minimum(
                np.searchsorted(self.dictionary, dictionary), len(self.dictionary) - 1
            )
            fresh = self.dictionary[places] != dictionary
            rows[~fresh] = self._prior_rows[places[~fresh]]
        if fresh.any():
            rows[fresh] = self.kernel(self.points[dictionary[fresh]], self.points)
        return rows

    def _embed(self, dictionary: Indices, rows: Array) -> Array:
        """z(x) of all arms, in columns: L^-1 k(pivots, x) with L L' the kernel of the pivots.

        A pivoted Cholesky factor keeps the arms of the dictionary that are independent up to
        rounding; the others add nothing to the span.
        """
        self._prior_rows = rows
        if not len(dictionary):
            self._factor, self._pivots = np.empty((0, 0)), dictionary
            return np.empty((0, len(self.mean)))
        matrix = rows[:, dictionary]
        tolerance = 10 * len(matrix) * EPS * float(matrix.diagonal().max())
        factor, pivots, rank, _ = dpstrf(matrix, lower=1, tol=tolerance)
        order = pivots[:rank] - 1
        self._factor, self._pivots = np.tril(factor[:rank, :rank]), dictionary[order]
        return np.asarray(dtrtrs(self._factor, rows[order], lower=1)[0])

    def _project(self, embedded: Array) -> None:
        """Take over the coordinates of all arms, before any reward."""
        self._rows = embedded
        self._missing = np.maximum(self.prior - squared_norms(embedded.T), 0.0)
        """k(x, x) - |z(x)|^2 of every arm."""
        self._root: Array = np.eye(len(embedded), order="F")
        """S with S S' = ridge A^-1."""
        self._gathered = 0.0
        self.residual = 0.0

    def _fit(self) -> None:
        """Mean, variance and log-determinant from counts and sums."""
        played = self.tally.played_arms
        z, counts = self._rows[:, played], self.tally.counts[played]
        precision = np.eye(len(z)) + (z * counts) @ z.T / self.ridge
        factor = lower_root(precision, least=1.0)
        root = dtrtri(factor, lower=1)[0].T if len(z) else factor
        self._root = np.asfortranarray(root)
        scores = root.T @ (z @ self.tally.sums[played]) / self.ridge
        white = root.T @ self._rows
        self.mean = scores @ white
        self.variance = self._missing + np.einsum("ij,ij->j", white, white)
        self.log_det = 2 * float(np.log(factor.diagonal()).sum())
        self.residual = float(counts @ self._missing[played])
        self._audited_at = self.tally.events

    def _condition(self, arm: int, reward: float) -> None:
        """One reward in the span of the dictionary, by Potter's form, as in `LinearPosterior`."""
        white, direction, column, evidence = self._direction_of(arm)
        self.mean = self.mean + column * ((reward - float(self.mean[arm])) / evidence)
        self.variance = self.variance - column**2 / evidence
        self.log_det += math.log(evidence / self.ridge)
        self.residual += float(self._missing[arm])
        # Before the first reward the dictionary is empty, and BLAS refuses empty arrays.
        if not len(white):
            return
        step = 1 / (evidence + math.sqrt(self.ridge * evidence))
        self._root = dger(-step, direction, white, a=self._root)

    def learn(self, counts: Any, sums: Any, events: int | None = None) -> None:
        """Replace everything learnt; the dictionary is that of all arms played."""
        weights = events is not None
        totals = check_totals(counts, sums, len(self.points), least=0, weights=weights)
        tally = Tally.of(*totals, events)
        rows = self._rows_of(tally.played_arms)
        self.tally, self.dictionary = tally, tally.played_arms
        self._project(self._embed(self.dictionary, rows))
        self._fit()
        self._report_conditioning()

    def audit(self) -> bool:
        """Compute the state again from counts and sums."""
        self._audits += 1
        self._fit()
        return False

    # ------------------------------------------------------------------ answers

    def at(self, points: Any) -> tuple[Array, Array]:
        """Return mean and sd at any points."""
        where = self._check_points(points)
        z = self._coordinates(where)
        white = self._root.T @ z
        played = self.tally.played_arms
        scores = self._root.T @ (self._rows[:, played] @ self.tally.sums[played]) / self.ridge
        left = self.kernel.diagonal(where) - squared_norms(z.T)
        variance = np.maximum(left, 0.0) + squared_norms(white.T)
        return np.asarray(scores @ white), np.sqrt(variance)

    def covariance(self, points: Any) -> Array:
        """Return the covariance of f at any points."""
        where = self._check_points(points)
        z = self._coordinates(where)
        white = self._root.T @ z
        return np.asarray(self.kernel(where, where) - z.T @ z + white.T @ white)

    def _coordinates(self, where: Array) -> Array:
        """z(x) at any points, in columns."""
        if not len(self._pivots):
            return np.empty((0, len(where)))
        cross = self.kernel(self.points[self._pivots], where)
        return np.asarray(solve_triangular(self._factor, cross, lower=True))
