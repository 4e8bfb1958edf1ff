"""A policy that fits its own scales: what it learns, and in which units."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration import Calibration, Prior, Refits, Rewards, Standard, calibrate
from kernelbandits.checks import Array, NumericsWarning
from kernelbandits.domains import Arms, Category, Contextual
from kernelbandits.kernels import RBF, Kernel, Matern
from kernelbandits.policies.base import Choice, checked_pairs
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.posterior import PointPosterior, PoolPosterior
from kernelbandits.threads import single_threaded
from kernelbandits.widths import Width

EVALUATIONS = 60
"""Of the likelihood in one fit, at the most."""
LARGEST_COORDINATE = 1e100
"""Of an arm or a context: beyond it distances in lengthscales are no numbers."""


class Calibrated(IndexPolicy):
    """An index policy whose kernel, noise and units are fitted to the rewards, by `tell` only.

    `rewards` and `failed` are all it has learnt, in their own units; `calibration` and `posterior` follow from them.
    """

    posterior: Any
    rewards: Rewards
    failed: list[Any]
    """The places of choices that gave no reward."""
    calibration: Calibration
    prior: Prior
    shared: bool
    nu: float
    refits: Refits
    _heard: tuple[list[int], float] = ([], 0.0)
    """Which failures the posterior has learnt, by their number, and as which reward."""

    def _width(self) -> Width:
        """The width that belongs to the fit."""
        raise NotImplementedError

    @single_threaded
    def learn_all(self, pairs: Sequence[tuple[Choice, float]]) -> None:
        """Learn many rewards: the state is that of telling them one after the other, bit by bit.

        A fit starts the posterior anew from all rewards so far, so only the rewards after the last fit are learnt one
        by one. With failures among the choices, which may be learnt again at any reward, all of them are.
        """
        if self.failed:
            super().learn_all(pairs)
            return
        waiting: list[tuple[Any, float]] = []
        room = self._room()
        try:
            for choice, reward in checked_pairs(pairs):
                waiting.append((self._told(choice), checks.reward(reward)))
                if len(waiting) >= room or self._is_beyond(waiting[-1][1]):
                    self._learn_fitted(waiting)
                    room = self._room()
        finally:
            self._learn_each(waiting)

    @property
    def next_fit(self) -> float:
        """After how many rewards the scales are fitted again."""
        return self.refits.after(self.rewards.events)

    def _room(self) -> float:
        """The number of rewards up to that of the next fit."""
        return self.next_fit - self.rewards.events

    def _learn_fitted(self, waiting: list[tuple[Any, float]]) -> None:
        """All that waits, the last of it with a fit."""
        *earlier, (arm, reward) = waiting
        waiting.clear()
        self._count(earlier)
        self._learn(arm, reward, {})

    def _learn_each(self, waiting: list[tuple[Any, float]]) -> None:
        """All that waits, one by one in the units of the last fit; what stops that starts the posterior anew."""
        self._count(waiting)
        try:
            for arm, reward in waiting:
                self.posterior.update(arm, self.units.standardise(reward))
        except BaseException:
            self._relearn()
            raise

    def _count(self, rewards: Sequence[tuple[Any, float]]) -> None:
        if not self.finite:
            for row, reward in rewards:
                self.rewards.add(row, reward)
            return
        slots: dict[int, int] = {}
        for arm, reward in rewards:
            if arm not in slots:
                slots[arm] = self.rewards.slot(self.domain.points[arm])
            self.rewards.count(slots[arm], reward)

    def _place_of(self, choice: Choice) -> Any:
        """An arm's number, whose point is that of the choice, or the row of a point, no number of it beyond reason."""
        place = super()._place_of(choice)
        return self._same_point(choice, place) if self.finite else checked_size(place)

    def _same_point(self, choice: Choice, arm: int) -> int:
        """The arm, if the choice has its point or none."""
        same = (
            choice.x is None
            or choice.arm is None
            or equal_points(choice.x, self.domain.points[arm])
        )
        if not same:
            checks.needs(same, "tell", f"the point of arm {choice.arm} with its number", choice.x)
        return arm

    @single_threaded
    def _learn(self, arm: Any, reward: float, note: Mapping[str, float]) -> None:
        """A reward counts at once, or is refused and changes nothing."""
        before = self.rewards.add(self.domain.points[arm] if self.finite else arm, reward)
        state = {"calibration": self.calibration, "posterior": self.posterior, "width": self.width}
        state |= {"settings": dict(self.settings), "_heard": self._heard}
        try:
            self._follow(arm, reward)
        except BaseException:
            self.rewards.restore(before)
            vars(self).update(state)
            self._relearn()
            raise

    def _follow(self, arm: Any, reward: float) -> None:
        """Fit again when that is due or the reward is beyond all scales, relearn when failures count otherwise."""
        if self.refits.due(self.rewards.events) or self._is_beyond(reward):
            self._refit()
        elif self.failed and self._hearing() != self._heard:
            self._relearn()
        else:
            self.posterior.update(arm, self.units.standardise(reward))

    def _is_beyond(self, reward: float) -> bool:
        """Whether the units of the last fit are too small for a reward."""
        return bool(abs(self.units.standardise(reward)) > checks.LARGEST_REWARD)

    @single_threaded
    def fail(self, choice: Choice) -> None:
        """The choice gave no reward. It is no observation, and nothing is fitted to it.

        Where failures outnumber rewards, each one beyond them counts as the least mean reward so far; elsewhere they
        were bad luck and count as nothing. Where is the arm; off the arms it is all within 0.15 fitted lengthscales
        of the point, which gets a third chance: they must outnumber the rewards by more than two.
        """
        checks.needs(isinstance(choice, Choice), "fail", "a kb.Choice", choice)
        self.failed.append(self._place_of(choice))
        if self.rewards.events and self._hearing() != self._heard:
            self._hear()
        self.width = self._width()

    def _hear(self) -> None:
        """Learn the newest failure, which alone may be new: it changes nothing of those before it."""
        self._heard = self._hearing()
        self.posterior.update(self.failed[-1], self._heard[1])

    def _hearing(self) -> tuple[list[int], float]:
        """Which failures are to be learnt, and as which reward."""
        numbers = self._counted_failures() if self.rewards.events else []
        return numbers, self._worst() if numbers else 0.0

    def _counted_failures(self) -> list[int]:
        """The numbers of the failures beyond the rewards of their place."""
        if not self.failed:
            return []
        if self.finite:
            return self.rewards.unmatched([self.domain.points[arm] for arm in self.failed])
        return self.rewards.unmatched_near(self.failed, np.array(self.posterior.kernel.lengthscale))

    @property
    def units(self) -> Standard:
        """From the rewards' own units to those of the posterior."""
        return self.calibration.signal_standard

    def _refit(self) -> None:
        """The most probable scales given all rewards; a failed fit keeps the last good ones and is reported."""
        last, origin = self.calibration, self.rewards.origin
        data = (self._scaled_points(), self.rewards.counts, self.rewards.sums, self.rewards.squares)
        start = last.shifted(-origin) if last.fitted else None
        fit = calibrate(
            *data,
            prior=self.prior,
            shared=self.shared,
            nu=self.nu,
            start=start,
            evaluations=EVALUATIONS,
        )
        self.calibration = fit.shifted(origin)
        if last.ok and not self.calibration.ok:
            warnings.warn(f"Auto: {self.calibration.message}", NumericsWarning, stacklevel=4)
        self._relearn(self._kernel())
        self.width = self._width()
        self._state()

    def _state(self) -> None:
        """What is played, in words."""
        told = {
            "width": self.width.rule,
            "ridge": self.posterior.ridge,
            "calibration": self.calibration.sentence(),
        }
        self.settings |= told

    def _relearn(self, kernel: Kernel | None = None) -> None:
        """A posterior with a kernel newly fitted, or that of the last fit, and all rewards in its units."""
        self.posterior = self._learnt(kernel or self.posterior.kernel)
        self._heard = self._hearing()
        for number in self._heard[0]:
            self.posterior.update(self.failed[number], self._heard[1])

    def observed(self) -> Any:
        """The posterior of the rewards alone, no failure counted as one."""
        return self._learnt(self.posterior.kernel) if self._heard[0] else self.posterior

    def _learnt(self, kernel: Kernel) -> Any:
        posterior = unlearnt(kernel, self.domain, self.calibration.signal_ridge)
        if self.rewards.events:
            posterior.learn(*self._told_at())
        return posterior

    def _told_at(self) -> tuple[Array, ...]:
        """Count and sum of the rewards of each arm, or of each point played, with the points."""
        rows, counts, sums = self.rewards.points, self.rewards.counts, self._signal_sums()
        if not self.finite:
            return rows, counts, sums
        arm_at, every = self._arm_at(), np.zeros((2, len(self.domain)))
        every[:, [arm_at[row.tobytes()] for row in rows]] = counts, sums
        return every[0], every[1]

    def _arm_at(self) -> dict[bytes, int]:
        """The first arm at each point."""
        points = self.domain.points + 0.0
        return {points[arm].tobytes(): arm for arm in reversed(range(len(points)))}

    def _signal_sums(self) -> Array:
        """sum_i (y - centre) / spread at each point."""
        counts, units = self.rewards.counts, self.units
        return np.asarray(
            (self.rewards.sums + counts * (self.rewards.origin - units.centre)) / units.spread
        )

    def _worst(self) -> float:
        """The least mean reward of a point, in signal units."""
        return float((self._signal_sums() / self.rewards.counts).min())

    def _kernel(self) -> Kernel:
        """The fitted kernel, its lengths in the units of the domain."""
        lengths = tuple((np.array(self.calibration.lengthscales) * self._spans()).tolist())
        return RBF(lengths) if math.isinf(self.nu) else Matern(lengths, self.nu)

    def _scaled_points(self) -> Array:
        """The points with rewards, seen from the first of them, in sides of the domain."""
        rows = self.rewards.points
        return np.asarray((rows - rows[0]) / self._spans())

    def _spans(self) -> Array:
        """The sides of the domain, which calibration takes for 1; of a context and of changing arms as far as seen."""
        inner = self.domain.domain if isinstance(self.domain, Contextual) else self.domain
        known = np.empty(0) if checks.is_whole(inner) else sides(inner)
        seen = (
            np.ptp(self.rewards.points[:, len(known) :], axis=0)
            if self.rewards.events
            else np.ones(0)
        )
        unseen = np.ones(self.domain.dimension - len(known) - len(seen))
        spans = np.concatenate([known, seen, unseen])
        return np.where(spans > 0, spans, 1.0)


def equal_points(x: Any, point: Array) -> bool:
    """Whether all numbers are equal; the same bytes are."""
    if (
        type(x) is np.ndarray
        and x.dtype == point.dtype
        and x.shape == point.shape
        and x.tobytes() == point.tobytes()
    ):
        return True
    return np.array_equal(x, point)


def checked_size(*places: Any) -> Any:
    """The first of some rows, all of numbers of which distances can be taken."""
    largest = max(
        (float(np.abs(place).max(initial=0.0)) for place in places if place is not None),
        default=0.0,
    )
    checks.needs(
        largest <= LARGEST_COORDINATE,
        "Auto",
        f"coordinates of size at most {LARGEST_COORDINATE:g}",
        largest,
    )
    return places[0]


def unlearnt(kernel: Any, domain: Any, ridge: float) -> Any:
    """The posterior that is cheap to start anew: by the arms played on arms, by the points played elsewhere."""
    inner = domain.domain if isinstance(domain, Contextual) else domain
    if isinstance(inner, Arms):
        checked_size(inner.points)
    return (PoolPosterior if isinstance(domain, Arms) else PointPosterior)(kernel, domain, ridge)


def unfitted(prior: Prior, dimension: int, shared: bool, nu: float) -> Calibration:
    """What is believed before the first reward: a fit to one reward is none."""
    fit = calibrate(np.zeros((1, dimension)), [1], [0.0], [0.0], prior=prior, shared=shared, nu=nu)
    return replace(fit, rewards=0, points=0, message="no rewards yet")


def sides(domain: Any) -> Array:
    """The extent of a domain in each coordinate; two values of an unordered category are half a side apart."""
    if isinstance(domain, Arms):
        return np.asarray(np.ptp(domain.points, axis=0))
    extent: Array = np.subtract(domain.upper, domain.lower)
    for variable, place in getattr(domain, "blocks", ()):
        if isinstance(variable, Category):
            extent[place] = 2.0
    return extent
