"""A policy that fits its own scales: what it learns, and in which units."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration import Calibration, Prior, Refits, Rewards, Standard, calibrate
from kernelbandits.checks import Array, NumericsWarning
from kernelbandits.domains import Arms, Category, Contextual
from kernelbandits.kernels import RBF, Kernel, Matern
from kernelbandits.policies.base import Choice
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

    def tell(self, choice: Choice, reward: float) -> None:
        """Learn the reward of a choice; a refused one changes nothing."""
        if self.finite and isinstance(choice, Choice):
            self._place_of(choice)
        super().tell(choice, reward)

    def _place_of(self, choice: Choice) -> Any:
        """An arm's number, whose point is that of the choice, or the row of a point, no number of it beyond reason."""
        place = super()._place_of(choice)
        if not self.finite:
            return checked_size(place)
        same = choice.x is None or choice.arm is None or np.array_equal(choice.x, self.domain.points[place])
        checks.needs(same, "tell", f"the point of arm {choice.arm} with its number", choice.x)
        return place

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
        scaled = self.units.standardise(reward)
        if self.refits.due(self.rewards.events) or abs(scaled) > checks.LARGEST_REWARD:
            self._refit()
        elif self.failed and self._hearing() != self._heard:
            self._relearn()
        else:
            self.posterior.update(arm, scaled)

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
        fit = calibrate(*data, prior=self.prior, shared=self.shared, nu=self.nu, start=start, evaluations=EVALUATIONS)
        self.calibration = fit.shifted(origin)
        if last.ok and not self.calibration.ok:
            warnings.warn(f"Auto: {self.calibration.message}", NumericsWarning, stacklevel=4)
        self._relearn(self._kernel())
        self.width = self._width()
        self._state()

    def _state(self) -> None:
        """What is played, in words."""
        told = {"width": self.width.rule, "ridge": self.posterior.ridge, "calibration": self.calibration.sentence()}
        self.settings |= told

    def _relearn(self, kernel: Kernel | None = None) -> None:
        """A posterior with a kernel newly fitted, or that of the last fit, and all rewards in its units."""
        self.posterior = unlearnt(kernel or self.posterior.kernel, self.domain, self.calibration.signal_ridge)
        if self.rewards.events:
            self._load(self.rewards.points, self.rewards.counts, self._signal_sums())
        self._heard = self._hearing()
        for number in self._heard[0]:
            self.posterior.update(self.failed[number], self._heard[1])

    def _load(self, rows: Array, counts: Array, sums: Array) -> None:
        if not self.finite:
            self.posterior.learn(rows, counts, sums)
            return
        arm_at = self._arm_at()
        arms = [arm_at[row.tobytes()] for row in rows]
        every, total = np.zeros((2, len(self.domain)))
        every[arms], total[arms] = counts, sums
        self.posterior.learn(every, total)

    def _arm_at(self) -> dict[bytes, int]:
        """The first arm at each point."""
        points = self.domain.points + 0.0
        return {points[arm].tobytes(): arm for arm in reversed(range(len(points)))}

    def _signal_sums(self) -> Array:
        """sum_i (y - centre) / spread at each point."""
        counts, units = self.rewards.counts, self.units
        sums: Array = (self.rewards.sums + counts * (self.rewards.origin - units.centre)) / units.spread
        return sums

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
        scaled: Array = (rows - rows[0]) / self._spans()
        return scaled

    def _spans(self) -> Array:
        """The sides of the domain, which calibration takes for 1; of a context and of changing arms as far as seen."""
        inner = self.domain.domain if isinstance(self.domain, Contextual) else self.domain
        known = np.empty(0) if checks.is_whole(inner) else sides(inner)
        seen = np.ptp(self.rewards.points[:, len(known) :], axis=0) if self.rewards.events else np.ones(0)
        unseen = np.ones(self.domain.dimension - len(known) - len(seen))
        spans = np.concatenate([known, seen, unseen])
        return np.where(spans > 0, spans, 1.0)


def checked_size(*places: Any) -> Any:
    """The first of some rows, all of numbers of which distances can be taken."""
    largest = max((float(np.abs(place).max(initial=0.0)) for place in places if place is not None), default=0.0)
    checks.needs(largest <= LARGEST_COORDINATE, "Auto", f"coordinates of size at most {LARGEST_COORDINATE:g}", largest)
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
