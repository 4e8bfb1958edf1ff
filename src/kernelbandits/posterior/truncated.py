"""The posterior in the span of a few arms, with very large contributions to it left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import squared_norms
from kernelbandits.posterior.base import EPS
from kernelbandits.posterior.sketched import SketchedPosterior
from kernelbandits.posterior.sufficient import Tally
from kernelbandits.streams import Streams


class TruncatedPosterior(SketchedPosterior):
    """A posterior for heavy tails: what one reward adds to one coordinate is cut to zero if large.

    In the span of a dictionary of m arms let z(x) = K_D^-1/2 k(D, x), A = sum z z' + ridge I and
    u(x) = A^-1/2 z(x). With the level b of the number of rewards t and of m, coordinate i of the
    estimate is

        r_i = sum over the rewards of u_i y where |u_i y| <= b,   mean(x) = u(x)' r,

    and sd and log_det are those of `SketchedPosterior`. Without a level it is that posterior.
    With each reward the dictionary is drawn again: an arm that was played belongs to it with
    probability min(1, budget sd^2 / ridge). A reward costs O(n m^2 + m^3 + t m).

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> points = np.linspace(0, 1, 5)[:, None]
    >>> posterior = kb.posterior.TruncatedPosterior(
    ...     kb.RBF(0.3), points, level=lambda t, m: 2.0, budget=1e9
    ... )
    >>> for reward in (1.0, 100.0):
    ...     posterior.update(2, reward)
    >>> round(float(posterior.mean[2]), 3)
    0.333
    """

    complete = False

    def __init__(
        self,
        kernel: Any,
        points: Any,
        ridge: float = 1.0,
        *,
        level: Callable[[int, int], float],
        budget: float = 10.0,
        seed: int = 0,
    ) -> None:
        self.level = level
        """(number of rewards, size of the dictionary) -> b."""
        self._plays: list[int] = []
        self._values: list[float] = []
        self._scores: Array = np.empty(0)
        super().__init__(kernel, points, ridge, budget=budget, seed=seed)

    @property
    def rewards(self) -> tuple[Indices, Array]:
        """The arms played and their rewards, in their order."""
        return np.array(self._plays, dtype=np.int64), np.array(self._values)

    def _learn(self, arm: int, reward: float, resample: bool) -> None:
        value = checks.number("update", "reward", self._check_reward(arm, reward))
        # What evaluates the kernel comes first: if that fails, the reward has changed nothing.
        dictionary = self.draw_dictionary(self.tally, arm) if resample else self.dictionary
        same = np.array_equal(dictionary, self.dictionary)
        rows = self._prior_rows if same else self._rows_of(dictionary)
        self.tally.add(arm, value)
        self._plays.append(int(arm))
        self._values.append(value)
        if not same:
            self.dictionary = dictionary
            self._project(self._embed(dictionary, rows))
        self._fit()
        self._report_conditioning()

    def draw_dictionary(self, tally: Tally, arm: int) -> Indices:
        """Draw a dictionary of the arms played, the new one among them, by their variances now."""
        played = np.union1d(tally.played_arms, [arm])
        shares = self.budget * np.maximum(self.variance[played], 0.0) / self.ridge
        draws = Streams(self.seed).generator(tally.events + 1).random(len(played))
        chosen: Indices = played[draws < shares]
        return chosen

    def _embed(self, dictionary: Indices, rows: Array) -> Array:
        """z(x) = K_D^-1/2 k(D, x) of all arms, in columns.

        The truncation depends on the coordinates, so the root is the symmetric one.
        """
        self._prior_rows, self._pivots = rows, dictionary
        values, vectors = np.linalg.eigh(rows[:, dictionary])
        least = 10 * len(values) * EPS * values.max(initial=0.0)
        roots = np.where(values > least, 1 / np.sqrt(np.maximum(values, least or 1.0)), 0.0)
        self._inverse_root: Array = (vectors * roots) @ vectors.T
        embedded: Array = self._inverse_root @ rows
        return embedded

    def _fit(self) -> None:
        played = self.tally.played_arms
        z, counts = self._rows[:, played], self.tally.counts[played]
        values, vectors = np.linalg.eigh((z * counts) @ z.T + self.ridge * np.eye(len(z)))
        values = np.maximum(values, self.ridge)
        self._root = (vectors * np.sqrt(self.ridge / values)) @ vectors.T
        white = self._root @ self._rows
        self._scores = self._truncate(white / np.sqrt(self.ridge))
        self.mean = self._scores @ white / np.sqrt(self.ridge)
        self.variance = self._missing + np.einsum("ij,ij->j", white, white)
        self.log_det = float(np.log(values / self.ridge).sum())
        self.residual = float(counts @ self._missing[played])
        self._audited_at = self.tally.events

    def _truncate(self, directions: Array) -> Array:
        """Return r_i, the sum of u_i y over the rewards where |u_i y| <= b."""
        plays, rewards = self.rewards
        parts = directions[:, plays] * rewards
        level = self.level(len(plays), len(directions))
        return np.asarray(np.where(np.abs(parts) <= level, parts, 0.0).sum(1))

    def learn(self, counts: Any, sums: Any, events: int | None = None) -> None:
        """Refuse counts and sums: the rewards are needed one by one."""
        raise NotImplementedError("a truncated posterior needs its rewards one by one")

    def at(self, points: Any) -> tuple[Array, Array]:
        """Return mean and sd at any points."""
        where = self._check_points(points)
        z = self._coordinates(where)
        white = self._root @ z
        left = self.kernel.diagonal(where) - squared_norms(z.T)
        variance = np.maximum(left, 0.0) + squared_norms(white.T)
        return np.asarray(self._scores @ white / np.sqrt(self.ridge)), np.sqrt(variance)

    def _coordinates(self, where: Array) -> Array:
        """z(x) at any points, in columns."""
        if not len(self._pivots):
            return np.empty((0, len(where)))
        return np.asarray(self._inverse_root @ self.kernel(self.points[self._pivots], where))
