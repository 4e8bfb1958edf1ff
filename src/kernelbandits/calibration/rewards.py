"""The rewards so far, collected by distinct point, some of them with standard errors."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.standard import Standard
from kernelbandits.censored import SIGNS
from kernelbandits.checks import Array, Indices

LEAST_VARIANCE = 1e-200
"""The least variance of a reward with a standard error: its inverse does not overflow."""


class Measurement(float):
    """A reward with its standard error, in the units of the rewards.

    It is a float, so every policy takes it. `Auto`, VA-GP-UCB, VA-MVR and VA-PE give it the noise
    variance sem^2: a precise result counts more, an uncertain one less. Other policies are rules
    for noise of one size, and take it for a plain reward.

    >>> from kernelbandits.calibration import Measurement
    >>> reward = Measurement(0.83, sem=0.02)
    >>> reward, reward.sem
    (0.83, 0.02)
    >>> Measurement(0.83, sem=0)
    Traceback (most recent call last):
    ...
    ValueError: a measurement needs sem > 0, got 0
    """

    sem: float

    def __new__(cls, value: Any, sem: Any) -> Measurement:
        made = super().__new__(cls, float(checks.reward(value)))
        made.sem = checks.positive("a measurement", "sem", sem)
        return made

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self), self.sem


class Rewards:
    """Counts, sums and sums of squares of the rewards at each distinct point.

    Sums and squares are those of differences from the first reward, the `origin`. If rewards are
    large compared with their spread, their squares keep no digits of the spread.

    >>> import numpy as np
    >>> from kernelbandits.calibration import Rewards
    >>> rewards = Rewards()
    >>> for x, value in [(0.0, 5.0), (1.0, 7.0), (1.0, 8.0)]:
    ...     slot = rewards.add(np.array([x]), value)
    >>> rewards.counts, rewards.sums, rewards.origin
    (array([1., 2.]), array([0., 5.]), 5.0)
    """

    def __init__(self) -> None:
        self.events = 0
        self.origin = 0.0
        self._rows: list[Array] = []
        self._points: Array | None = None
        """The rows as one array, if it was asked for since the last new point."""
        self._slot: dict[bytes, int] = {}
        self._counts: list[int] = []
        self._sums: list[float] = []
        self._squares: list[float] = []
        self._slots: list[int] = []
        self._differences: list[float] = []
        self._errors: list[float] = []
        """The standard error of each reward; nan where it has none."""
        self.has_errors = False
        """Whether any reward has a standard error."""
        self._limited: dict[int, str] = {}
        """The number of each reward that is a limit, and its side."""

    def __len__(self) -> int:
        return len(self._rows)

    def __deepcopy__(self, memo: dict[int, Any]) -> Rewards:
        # The lists hold numbers and points that never change; the default is slow.
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (list, dict)):
                setattr(other, name, value.copy())
        return other

    def add(
        self, row: Array, value: float, sem: float | None = None, side: str | None = None
    ) -> int:
        """Add one reward at a point, and return the position of the point."""
        slot = self.slot_of(row)
        self.count(slot, value, sem, side)
        return slot

    def slot_of(self, row: Array) -> int:
        """Return the position of a point; a new point is added."""
        slot = self._slot.setdefault((row + 0.0).tobytes(), len(self._rows))
        if slot == len(self._rows):
            self._add_point(row)
        return slot

    def count(
        self, slot: int, value: float, sem: float | None = None, side: str | None = None
    ) -> None:
        """Add one reward at the point in this position; with a side, it is beyond the value."""
        if not self.events:
            self.origin = value
        if side is not None:
            self._limited[self.events] = side
        difference = value - self.origin
        self.has_errors = self.has_errors or sem is not None
        self._errors.append(math.nan if sem is None else sem)
        self._counts[slot] += 1
        self._sums[slot] += difference
        self._squares[slot] += difference**2
        self._slots.append(slot)
        self._differences.append(difference)
        self.events += 1

    @property
    def has_limits(self) -> bool:
        """Whether of any reward only a limit is known."""
        return bool(self._limited)

    @property
    def is_weighted(self) -> bool:
        """Whether rewards count differently: some have standard errors, or are limits."""
        return self.has_errors or self.has_limits

    @property
    def limits(self) -> tuple[Indices, Array, Array]:
        """The point, the side (-1 below, 1 above) and the number of each reward that is a limit."""
        numbers = [*self._limited]
        slots = np.array(self._slots, dtype=np.int64)[numbers]
        sides = np.array([SIGNS[side] for side in self._limited.values()])
        return slots, sides, self.origin + np.array(self._differences)[numbers]

    def with_measurements(self, values: Array, errors: Array) -> Rewards:
        """Return these rewards with a value and a standard error in place of each limit."""
        other = Rewards()
        found = dict(zip(self._limited, zip(values, errors, strict=True), strict=True))
        for row in self._rows:
            other.slot_of(row)
        for number, slot in enumerate(self._slots):
            value, error = self.origin + self._differences[number], self._errors[number]
            sem = None if math.isnan(error) else error
            value, sem = found.get(number, (value, sem))
            other.count(slot, float(value), sem)
        return other

    def known_precisions(self, units: Standard, ridge: float, least: float) -> tuple[Array, Array]:
        """Return counts and sums, in other units, of the rewards that are no limits.

        Points of which only limits are known have none.
        """
        # What weighs nothing says nothing: a limit is a measurement of a huge standard error.
        slots, _, limits = self.limits
        counts, sums = self.weighted_totals(units, ridge, least)
        standardised = np.asarray(units.standardise(limits))
        np.subtract.at(counts, slots, 1.0)
        np.subtract.at(sums, slots, standardised)
        alone = self.counts == np.bincount(slots, minlength=len(self))
        return np.where(alone, 0.0, counts), np.where(alone, 0.0, sums)

    def count_at(self, row: Array) -> int:
        """Return the number of rewards at a point."""
        slot = self._slot.get((row + 0.0).tobytes())
        return 0 if slot is None else self._counts[slot]

    def count_in(self, slot: int) -> int:
        """Return the number of rewards at the point in this position."""
        return self._counts[slot]

    def values_in(self, slot: int) -> list[float]:
        """Return the rewards at the point in this position, in order."""
        if self._counts[slot] == 1:
            return [self.origin + self._sums[slot]]
        pairs = zip(self._slots, self._differences, strict=True)
        return [self.origin + difference for place, difference in pairs if place == slot]

    def mean_before(self, slot: int, value: float) -> float:
        """Return the mean of the rewards in a position without the last one, which is given."""
        rest = self._sums[slot] - (value - self.origin)
        return self.origin + rest / (self._counts[slot] - 1)

    def _add_point(self, row: Array) -> None:
        """Add a point without rewards."""
        self._points = None
        self._rows.append(row + 0.0)
        self._counts.append(0)
        self._sums.append(0.0)
        self._squares.append(0.0)

    @property
    def points(self) -> Array:
        """(m, d): the distinct points, in the order of their first reward; not to be changed."""
        if self._points is None:
            self._points = np.array(self._rows)
            self._points.setflags(write=False)
        return self._points

    @property
    def counts(self) -> Array:
        """The number of rewards at each point."""
        return np.array(self._counts, dtype=np.float64)

    @property
    def sums(self) -> Array:
        """Sums of the differences from the origin."""
        return np.array(self._sums)

    @property
    def squares(self) -> Array:
        """Sums of the squared differences from the origin."""
        return np.array(self._squares)

    def precisions(self, transform: Callable[[Array], Array], least: float) -> Precisions:
        """Return what the transformed differences from the origin say of each point.

        A standard error is transformed with its value: half the distance between the transformed
        ends of value +- error. No variance is less than `least`.
        """
        differences, errors = np.array(self._differences), np.array(self._errors)
        slots = np.array(self._slots, dtype=np.intp)
        plain = np.isnan(errors)
        values, width = transform(differences), np.where(plain, 0.0, errors)
        variances = ((transform(differences + width) - transform(differences - width)) / 2) ** 2
        weights = np.where(plain, 0.0, 1 / np.maximum(variances, least))
        found = np.zeros((4, len(self)))
        for total, parts in zip(
            found, (plain, plain * values, weights, weights * values), strict=True
        ):
            np.add.at(total, slots, parts)
        return Precisions(*found)

    def sums_in(self, units: Standard) -> Array:
        """Return the sum of the rewards at each point in other units."""
        if not units.is_linear:
            return self.transformed_totals(units.shift(-self.origin).standardise)[0]
        return np.asarray((self.sums + self.counts * (self.origin - units.centre)) / units.spread)

    def weighted_totals(self, units: Standard, ridge: float, least: float) -> tuple[Array, Array]:
        """Return counts and sums, in other units, of as many plain rewards as say the same.

        No variance is less than `least`.
        """
        standard = units.shift(-self.origin)
        known = self.precisions(standard.standardise, max(least, LEAST_VARIANCE))
        return known.totals(ridge)

    def transformed_totals(self, transform: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Return sums and sums of squares of transformed differences from the origin."""
        values, slots = transform(np.array(self._differences)), np.array(self._slots, dtype=np.intp)
        sums, squares = np.zeros((2, len(self)))
        np.add.at(sums, slots, values)
        np.add.at(squares, slots, values**2)
        return sums, squares


class Precisions(NamedTuple):
    """The rewards at each point, those with a standard error apart from the plain ones."""

    counts: Array
    """How many plain rewards each point has."""
    sums: Array
    """The sums of their values."""
    precisions: Array
    """sum of 1 / s^2 over the rewards with standard error s."""
    weighted: Array
    """sum of value / s^2 over them."""

    def totals(self, ridge: float) -> tuple[Array, Array]:
        """Return counts and sums of as many plain rewards, of variance ridge, as say the same.

        A reward of variance s^2 says as much as ridge / s^2 plain ones.
        """
        return self.counts + ridge * self.precisions, self.sums + ridge * self.weighted
