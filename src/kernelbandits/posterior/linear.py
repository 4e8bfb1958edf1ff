"""The posterior of a linear function, held in d x d form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.blas import dger

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import CHECKED_POINTS, Linear, gram, squared_norms
from kernelbandits.posterior.base import EPS, Posterior
from kernelbandits.posterior.sufficient import Factorisation, lower_root


class LinearPosterior(Posterior):
    """The posterior of f(x) = x . theta, whatever kernel is given: O(n d + d^2) for a reward.

    cov(x, z) = x' P z with P = ridge Vbar^-1 and Vbar = ridge I + sum x x'. Held is a root S of
    P = S S'. A reward of x replaces it by S - (S w) w' / (e + sqrt(ridge e)), where w = S' x and
    e = w'w + ridge. In this form of Potter, P = S S' cannot become indefinite by rounding. The
    variances are a sum of their own, as in `RowPosterior`, so every audit replaces the state.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> posterior = kb.posterior.LinearPosterior(kb.Linear(), np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> posterior.update(1, 3.0)
    >>> posterior.theta
    array([1., 1.])
    """

    is_plain = has_bands = True

    def _prior(self) -> Array:
        gram(self.kernel, self.points[:CHECKED_POINTS])
        self.kernel = Linear()
        with np.errstate(over="ignore"):
            self.variance = squared_norms(self.points)
        checks.needs(
            bool(np.isfinite(self.variance).all()),
            "a linear posterior",
            "finite |x|^2",
            self.variance.max(),
        )
        self.root: Array = np.eye(self.points.shape[1], order="F")
        self._distinct = 0
        return self.variance.copy()

    root: Array
    """S, a (d, d) array with S S' = ridge Vbar^-1."""

    @property
    def theta(self) -> Array:
        """The estimate thetahat = Vbar^-1 sum y x, from counts and sums."""
        played = self.tally.played_arms
        moments = self.tally.sums[played] @ self.points[played]
        return np.asarray(cho_solve((self._precision_root(played), True), moments)) / self.ridge

    @property
    def audit_interval(self) -> int:
        return max(1000, 20 * self._distinct)

    def history_covariance(self) -> Array:
        played = self.support
        total = self.counts[played] @ self.points[played]
        return np.asarray(self.points @ (self.root @ (total @ self.root)))

    def _column(self, arm: int) -> Array:
        """Return X S w, with w = S' x."""
        self._white = self.points[arm] @ self.root
        self._direction = self.root @ self._white
        column: Array = self.points @ self._direction
        return column

    def _downdate(self, arm: int, scaled: Array, evidence: float) -> None:
        step = 1 / (evidence + math.sqrt(self.ridge * evidence))
        dger(-step, self._direction, self._white, a=self.root, overwrite_a=1)
        self.variance -= scaled * scaled
        self._distinct += int(self.counts[arm] == 1)

    def _precision_root(self, played: Indices) -> Array:
        """Return the lower triangular L with L L' = Vbar / ridge, from the counts."""
        x = self.points[played]
        return lower_root(
            np.eye(x.shape[1]) + (x.T * self.counts[played]) @ x / self.ridge, least=1.0
        )

    def at(self, points: Any) -> tuple[Array, Array]:
        """Return mean x . thetahat and sd |S' x| at any points, from counts and sums."""
        where = self._check_points(points)
        root = self._exact_root(self.tally.played_arms)
        return where @ self.theta, np.sqrt(squared_norms(where @ root))

    def _exact_root(self, played: Indices) -> Array:
        """Return S from the counts."""
        return np.asarray(
            solve_triangular(self._precision_root(played), np.eye(len(self.root)), lower=True).T
        )

    def _log_det(self, exact: Factorisation, played: Indices) -> float:
        """Return ln det(Vbar / ridge)."""
        return float(2 * np.log(self._precision_root(played).diagonal()).sum())

    def _reconcile(self, exact: Factorisation, played: Indices) -> bool:
        root = self._exact_root(played)
        mean, variance = self.points @ self.theta, squared_norms(self.points @ root)
        tolerance, size = self._tolerance(variance), np.maximum(variance, EPS * variance.max())
        same = bool(
            (np.abs(self.variance - variance) <= tolerance * size).all()
        ) and self._root_agrees(root, tolerance)
        repaired = not same or self._mean_differs(mean, tolerance)
        self.mean[:], self.variance, self.root = mean, variance, np.asfortranarray(root)
        return repaired

    def _root_agrees(self, root: Array, tolerance: float) -> bool:
        """Tell whether both roots have the same S S'; S itself is not unique."""
        cov = root @ root.T
        sd = np.sqrt(cov.diagonal())
        return bool((np.abs(self.root @ self.root.T - cov) <= tolerance * np.outer(sd, sd)).all())
