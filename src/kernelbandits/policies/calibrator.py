"""The calibrator of `Auto`: it fits kernel, noise and units to the rewards."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration import Calibration, Prior, Refits, Rewards, Standard, calibrate
from kernelbandits.calibration.rewards import RewardsBefore
from kernelbandits.checks import Array, NumericsWarning
from kernelbandits.domains import Arms, Category, Contextual
from kernelbandits.kernels import RBF, Kernel, Matern
from kernelbandits.posterior import PointPosterior, PoolPosterior

EVALUATIONS = 60
"""The likelihood is evaluated at most this often in one fit."""
LARGEST_COORDINATE = 1e100
"""Of an arm or a context: beyond it distances in lengthscales overflow."""

Reward = tuple[Any, float]
"""The place of a reward, an arm's number or a row, and the reward."""


class FailurePenalties(NamedTuple):
    """Which failures the posterior takes for rewards, and for which one."""

    numbers: list[int]
    """The places of the failures in the list of all failures."""
    value: float
    """The reward that each of them counts as, in signal units."""


NO_PENALTIES = FailurePenalties([], 0.0)


class CalibratorState(NamedTuple):
    """What a calibrator was before a reward came."""

    rewards: RewardsBefore
    calibration: Calibration
    posterior: Any
    penalties: FailurePenalties


class Calibrator:
    """Kernel, noise and units fitted to rewards, and the posterior of the rewards under the fit.

    `rewards` and `failed` are all that it has learnt, in the rewards' own units; `calibration` and
    `posterior` follow from them. Inside, rewards are in signal units, (y - centre) / spread, where
    f has k(x, x) = 1.

    The scales are fitted at geometrically spaced numbers of rewards (`refits`), and at once when a
    reward is too large for the units of the last fit. Any other reward is one update of the
    posterior.
    """

    posterior: Any
    calibration: Calibration

    def __init__(
        self, domain: Any, *, prior: Prior, shared: bool, nu: float, refits: Refits
    ) -> None:
        self.domain = domain
        self.finite = isinstance(domain, Arms)
        self.prior = prior
        self.shared = shared
        self.nu = nu
        self.refits = refits
        self.rewards = Rewards()
        self.failed: list[Any] = []
        """The places of choices that gave no reward."""
        self.penalties = NO_PENALTIES
        self.calibration = prior_calibration(prior, domain.dimension, shared, nu)
        self.posterior = self._build_posterior(self._fitted_kernel())

    @property
    def units(self) -> Standard:
        """From the rewards' own units to those of the posterior."""
        return self.calibration.signal_standard

    @property
    def next_fit(self) -> float:
        """After how many rewards the scales are fitted again."""
        return self.refits.next_after(self.rewards.events)

    # ------------------------------------------------------------------ rewards

    def count_reward(self, place: Any, reward: float) -> CalibratorState:
        """Add one reward to the data, and return the state before it, which `restore` takes.

        The posterior does not know the reward yet (`learn_counted`).
        """
        before = self.rewards.add(self._point(place), reward)
        return CalibratorState(before, self.calibration, self.posterior, self.penalties)

    def learn_counted(self, place: Any, reward: float) -> bool:
        """Learn the reward counted last; return whether the scales were fitted again."""
        if self.refits.is_due(self.rewards.events) or self.exceeds_units(reward):
            self.refit()
            return True
        if self.failed and self._count_penalties() != self.penalties:
            self.relearn()
        else:
            self.posterior.update(place, self.units.standardise(reward))
        return False

    def restore(self, state: CalibratorState) -> None:
        """Undo the last reward, to the last digit."""
        self.rewards.restore(state.rewards)
        self.calibration, self.penalties = state.calibration, state.penalties
        self.posterior = state.posterior
        # An update changes the posterior in place, so it is built again from the rewards.
        self.relearn()

    def count_rewards(self, rewards: Sequence[Reward]) -> None:
        """Count rewards without learning them: the fit that follows learns all at once."""
        if not self.finite:
            for row, reward in rewards:
                self.rewards.add(row, reward)
            return
        slots: dict[int, int] = {}
        for arm, reward in rewards:
            if arm not in slots:
                slots[arm] = self.rewards.slot_of(self.domain.points[arm])
            self.rewards.count(slots[arm], reward)

    def update_posterior(self, rewards: Sequence[Reward]) -> None:
        """Learn counted rewards one by one in the units of the last fit."""
        try:
            for place, reward in rewards:
                self.posterior.update(place, self.units.standardise(reward))
        except BaseException:
            self.relearn()
            raise

    def exceeds_units(self, reward: float) -> bool:
        """Whether the units of the last fit are too small for a reward."""
        return bool(abs(self.units.standardise(reward)) > checks.LARGEST_REWARD)

    # ------------------------------------------------------------------ failures

    def fail(self, place: Any) -> None:
        """Count a failure; where failures outnumber rewards it counts as the least mean reward."""
        self.failed.append(place)
        penalties = self._count_penalties() if self.rewards.events else self.penalties
        if penalties != self.penalties:
            # A failure does not change which earlier ones count, so one update is enough.
            self.penalties = penalties
            self.posterior.update(place, penalties.value)

    def _count_penalties(self) -> FailurePenalties:
        """Which failures are learnt, and as which reward."""
        if not self.rewards.events or not self.failed:
            return NO_PENALTIES
        if self.finite:
            numbers = self.rewards.unmatched_rows([self.domain.points[arm] for arm in self.failed])
        else:
            lengths = np.array(self.posterior.kernel.lengthscale)
            numbers = self.rewards.unmatched_rows_near(self.failed, lengths)
        if not numbers:
            return NO_PENALTIES
        return FailurePenalties(numbers, float((self._signal_sums() / self.rewards.counts).min()))

    def observed_posterior(self) -> Any:
        """The posterior of the rewards alone, no failure counted as one."""
        if self.penalties.numbers:
            return self._build_posterior(self.posterior.kernel)
        return self.posterior

    # ------------------------------------------------------------------ fitting

    def refit(self) -> None:
        """Fit the most probable scales; a failed fit keeps the last good ones and is reported."""
        last, origin = self.calibration, self.rewards.origin
        fit = calibrate(
            self.scaled_points(),
            self.rewards.counts,
            self.rewards.sums,
            self.rewards.squares,
            prior=self.prior,
            shared=self.shared,
            nu=self.nu,
            start=last.shift_rewards(-origin) if last.is_fitted else None,
            evaluations=EVALUATIONS,
        )
        self.calibration = fit.shift_rewards(origin)
        if last.ok and not self.calibration.ok:
            warnings.warn(f"Auto: {self.calibration.message}", NumericsWarning, stacklevel=5)
        self.relearn(self._fitted_kernel())

    def relearn(self, kernel: Kernel | None = None) -> None:
        """Build the posterior again from all rewards, under a new kernel or the last one."""
        self.posterior = self._build_posterior(kernel or self.posterior.kernel)
        self.penalties = self._count_penalties()
        for number in self.penalties.numbers:
            self.posterior.update(self.failed[number], self.penalties.value)

    def _build_posterior(self, kernel: Kernel) -> Any:
        posterior = empty_posterior(kernel, self.domain, self.calibration.signal_ridge)
        if self.rewards.events:
            posterior.learn(*self._totals())
        return posterior

    def _totals(self) -> tuple[Array, ...]:
        """Count and sum of the rewards of each arm, or of each point played, with the points."""
        rows, counts, sums = self.rewards.points, self.rewards.counts, self._signal_sums()
        if not self.finite:
            return rows, counts, sums
        every = np.zeros((2, len(self.domain)))
        every[:, self._arms_of(rows)] = counts, sums
        return every[0], every[1]

    def arm_counts(self) -> Array:
        """How many rewards each arm has; of arms at one point the first has them all."""
        counts = np.zeros(len(self.domain))
        if self.rewards.events:
            counts[self._arms_of(self.rewards.points)] = self.rewards.counts
        return counts

    def _arms_of(self, rows: Array) -> list[int]:
        """The first arm at each of some points."""
        return [self._arm_at[row.tobytes()] for row in rows]

    @cached_property
    def _arm_at(self) -> dict[bytes, int]:
        """Point -> the first arm there."""
        # Adding 0.0 turns -0.0 into 0.0, which is the same point with other bytes.
        points = self.domain.points + 0.0
        return {points[arm].tobytes(): arm for arm in reversed(range(len(points)))}

    def _signal_sums(self) -> Array:
        """sum_i (y - centre) / spread at each point."""
        counts, units = self.rewards.counts, self.units
        sums = self.rewards.sums + counts * (self.rewards.origin - units.centre)
        return np.asarray(sums / units.spread)

    def norm_bound(self, safety: float) -> float:
        """D in signal units; before any reward the safety factor times the prior sd of f."""
        if not self.rewards.events:
            return safety
        counts = self.rewards.counts
        sums = self.rewards.sums + counts * self.rewards.origin
        return self.calibration.norm_bound(self.scaled_points(), counts, sums, safety)

    def _fitted_kernel(self) -> Kernel:
        """The fitted kernel, its lengths in the units of the domain."""
        lengths = tuple((np.array(self.calibration.lengthscales) * self.sides()).tolist())
        return RBF(lengths) if math.isinf(self.nu) else Matern(lengths, self.nu)

    def scaled_points(self) -> Array:
        """The points with rewards, relative to the first of them, in sides of the domain."""
        rows = self.rewards.points
        return np.asarray((rows - rows[0]) / self.sides())

    def sides(self) -> Array:
        """The sides of the domain, which calibration takes for 1.

        Of a context and of arms that come with the round, they are the range seen so far.
        """
        inner = self.domain.domain if isinstance(self.domain, Contextual) else self.domain
        known = np.empty(0) if checks.is_whole(inner) else domain_sides(inner)
        seen = np.ones(0)
        if self.rewards.events:
            seen = np.ptp(self.rewards.points[:, len(known) :], axis=0)
        unseen = np.ones(self.domain.dimension - len(known) - len(seen))
        sides = np.concatenate([known, seen, unseen])
        return np.where(sides > 0, sides, 1.0)

    def _point(self, place: Any) -> Array:
        """The point of an arm's number, or the row itself."""
        point: Array = self.domain.points[place] if self.finite else place
        return point


def check_coordinates(*places: Any) -> Any:
    """Check that the numbers of some rows are small enough for distances; return the first row."""
    given = [place for place in places if place is not None]
    largest = max((float(np.abs(place).max(initial=0.0)) for place in given), default=0.0)
    needed = f"coordinates of size at most {LARGEST_COORDINATE:g}"
    checks.needs(largest <= LARGEST_COORDINATE, "Auto", needed, largest)
    return places[0]


def empty_posterior(kernel: Any, domain: Any, ridge: float) -> Any:
    """The posterior that is cheap to build again: by the arms played, or by the points played."""
    inner = domain.domain if isinstance(domain, Contextual) else domain
    if isinstance(inner, Arms):
        check_coordinates(inner.points)
    form = PoolPosterior if isinstance(domain, Arms) else PointPosterior
    return form(kernel, domain, ridge)


def prior_calibration(prior: Prior, dimension: int, shared: bool, nu: float) -> Calibration:
    """What is assumed before the first reward: the mode of the prior."""
    fit = calibrate(np.zeros((1, dimension)), [1], [0.0], [0.0], prior=prior, shared=shared, nu=nu)
    return replace(fit, rewards=0, points=0, message="no rewards yet")


def domain_sides(domain: Any) -> Array:
    """The extent of a domain in each coordinate.

    Two values of an unordered category are half a side apart.
    """
    if isinstance(domain, Arms):
        return np.asarray(np.ptp(domain.points, axis=0))
    extent: Array = np.subtract(domain.upper, domain.lower)
    for variable, columns in getattr(domain, "blocks", ()):
        if isinstance(variable, Category):
            extent[columns] = 2.0
    return extent
