"""The posterior of a function that drifts, with a Markov prior over the rounds, by Kalman steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.posterior.arms import ArmPosterior
from kernelbandits.posterior.base import EPS, ROUNDING
from kernelbandits.posterior.sufficient import Tally

BLOCK = 100
"""How many points `at` predicts in one replay."""

History = list[tuple[int, float]]


class OrderedTally(Tally):
    """Counts and sums, and every reward in its order: with drift the order matters."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.history: History = []

    def add(self, arm: int, reward: float) -> int:
        self.history.append((arm, reward))
        return super().add(arm, reward)

    def take_back_last(self, events: int) -> None:
        super().take_back_last(events)
        del self.history[events:]


class DriftingPosterior(ArmPosterior):
    """The posterior if f_{t+1} = sqrt(1 - rate) f_t + sqrt(rate) g_{t+1}, with g iid GP(0, k).

    mean and cov are those of the next round. A reward is a rank-one update, followed by the step to
    the next round,

        mean <- sqrt(1 - rate) mean,   cov <- (1 - rate) cov + rate K.

    This is the posterior under the prior k(x, z) (1 - rate)^(|s - t| / 2) of Bogunovic et al.
    (2016), and log_det is log det(I + Ktilde / ridge) of that prior. Counts are those of all
    rounds. At rate 0 nothing drifts, and the posterior is that of `ArmPosterior`.

    >>> import kernelbandits as kb
    >>> points = [[0.0], [1.0]]
    >>> posterior = kb.posterior.DriftingPosterior(kb.RBF(0.2), points, ridge=0.01, rate=0.19)
    >>> posterior.update(0, 1.0)
    >>> posterior.mean.round(3)
    array([0.891, 0.   ])
    >>> posterior.update(1, 0.0)
    >>> posterior.mean.round(3), posterior.sd.round(3)
    (array([0.802, 0.   ]), array([0.592, 0.445]))
    """

    loop_form = None
    is_plain = rebuilds = False
    tally: OrderedTally

    def __init__(
        self,
        kernel: Any,
        points: Any,
        ridge: float = 1.0,
        rate: float = 0.01,
        *,
        audited: bool = True,
    ) -> None:
        self._audited = audited
        self.rate = checks.chance("a drifting posterior", "rate", rate)
        super().__init__(kernel, points, ridge)
        self.tally = OrderedTally(len(self.mean))
        self._renewed: Array = self.rate * self.cov

    @property
    def has_bands(self) -> bool:  # type: ignore[override]
        """Whether nothing drifts: then it is an `ArmPosterior`."""
        return self.rate == 0

    def _downdate(self, arm: int, scaled: Array, evidence: float) -> None:
        super()._downdate(arm, scaled, evidence)
        if self.rate > 0:
            # With drift the variance rises again, so plays put no ceiling on it.
            self._ceiling[arm] = ROUNDING * float(self.prior[arm])
            self._drift()

    def _drift(self) -> None:
        """Step to the next round."""
        self.mean *= math.sqrt(1 - self.rate)
        self.cov *= 1 - self.rate
        self.cov += self._renewed

    @property
    def audit_interval(self) -> int:
        """The number of rewards between two audits, doubled by every audit.

        An audit replays all rewards. If it waits for as many rewards as the last one replayed, all
        audits together cost about twice the last.
        """
        usual = super().audit_interval
        return usual if self.rate == 0 else max(usual, self._audited_at)

    @property
    def conditioning(self) -> float:
        """The relative error to expect of a variance.

        No variance falls below rate * k(x, x), however often the arm is played.
        """
        usual = super().conditioning
        return usual if self.rate == 0 else min(usual, EPS / self.rate)

    @property
    def _source(self) -> str:  # type: ignore[override]
        return "by replay" if self.rate > 0 else super()._source

    def _restore_state(self) -> bool:
        """Compare the state with a replay of all rewards; return whether it was replaced."""
        if self.rate == 0:
            return super()._restore_state()
        exact = self._replay(self.points, self.tally.history)
        if self._agrees(exact):
            return False
        self.mean[:], self.cov, self.log_det = exact.mean, exact.cov, exact.log_det
        self.variance = self._diagonal()
        return True

    def at(self, points: Any) -> tuple[Array, Array]:
        """Return mean and sd at any points in the next round.

        All rewards are replayed on these points together with the arms played.
        """
        if self.rate == 0:
            return super().at(points)
        where = self._check_points(points)
        parts = [
            self._predict_at(block) for block in np.split(where, range(BLOCK, len(where), BLOCK))
        ]
        return np.concatenate([mean for mean, _ in parts]), np.concatenate([sd for _, sd in parts])

    def audit_if_due(self, suspicious: bool) -> None:
        # A replay is what an audit compares with. It is not audited itself and gives no warnings.
        if self._audited:
            super().audit_if_due(suspicious)

    def _report_conditioning(self) -> None:
        if self._audited:
            super()._report_conditioning()

    def deviation(self, g: Array, e: Array) -> Array:
        """Refuse a draw by Matheron's rule: with drift, counts do not determine the posterior."""
        checks.needs(self.rate == 0, "a draw from counts", "rate 0", self.rate)
        return super().deviation(g, e)

    def _predict_at(self, where: Array) -> tuple[Array, Array]:
        """Return mean and sd at some points by a replay."""
        played = self.tally.played_arms
        row = {int(arm): number for number, arm in enumerate(played)}
        history = [(row[arm], reward) for arm, reward in self.tally.history]
        exact = self._replay(np.vstack([self.points[played], where]), history)
        return exact.mean[len(played) :], exact.sd[len(played) :]

    def _replay(self, points: Array, history: History) -> DriftingPosterior:
        """Return a posterior on other points after the same rewards."""
        replay = DriftingPosterior(self.kernel, points, self.ridge, self.rate, audited=False)
        for arm, reward in history:
            replay.update(arm, reward)
        return replay

    def _agrees(self, exact: DriftingPosterior) -> bool:
        """Tell whether the state equals that of a replay, up to rounding."""
        tolerance = self._tolerance(np.maximum(exact.variance, 0.0))
        same = bool((np.abs(self.cov - exact.cov) <= tolerance * self._largest).all())
        gained = abs(self.log_det - exact.log_det) <= tolerance * max(1.0, exact.log_det)
        return same and gained and not self._mean_differs(exact.mean, tolerance)
