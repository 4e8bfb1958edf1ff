"""What one variable of a mixed box may be, and its coordinates in a row.

A real or a whole number is itself, an ordered value is its place 0, 1, 2, ..., and an unordered category has one
coordinate for each value, 1/sqrt(2) at the value taken and 0 elsewhere: two different values are at distance 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices

APART = 1 / math.sqrt(2)
"""The coordinate of the category taken."""
LARGEST_INTEGER = 2**53
"""Up to this size every whole number is a float."""
WIDE = 16
"""Of a whole number with more values, a spread of so many is tried at once, beside its neighbours."""


class Variable:
    """One variable of a mixed box."""

    discrete: ClassVar[bool] = True
    """Whether it takes separate values."""

    @property
    def lower(self) -> tuple[float, ...]:
        """Lower bounds of its coordinates."""
        raise NotImplementedError

    @property
    def upper(self) -> tuple[float, ...]:
        raise NotImplementedError

    @property
    def levels(self) -> float:
        """How many values it may take."""
        raise NotImplementedError

    @property
    def needed(self) -> str:
        """What it may be, in words."""
        raise NotImplementedError

    def holds(self, value: Any) -> bool:
        """Whether it may take this value."""
        raise NotImplementedError

    def encode(self, value: Any) -> tuple[float, ...]:
        """The coordinates of a value it may take."""
        raise NotImplementedError

    def decode(self, coordinates: Array) -> Any:
        """The value of admissible coordinates."""
        raise NotImplementedError

    def nearest(self, columns: Array) -> Array:
        """The admissible coordinates nearest to each row."""
        return np.clip(np.rint(columns), self.lower, self.upper)

    def place(self, unit: Array) -> Array:
        """The coordinates for numbers u in [0, 1]: of value number floor(levels u), from 0."""
        raise NotImplementedError

    def all(self) -> Array:
        """The coordinates of every value."""
        return self.place((np.arange(self.levels) + 0.5) / self.levels)

    def moves(self, coordinates: Array) -> Array:
        """Coordinates to try in place of these: every value."""
        return self.all()


@dataclass(frozen=True)
class Real(Variable):
    """A number low <= x <= high."""

    low: float
    high: float
    discrete: ClassVar[bool] = False

    def __post_init__(self) -> None:
        low, high = (checks.number("Real", name, getattr(self, name)) for name in ("low", "high"))
        checks.needs(low < high, "Real", "low < high", (self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def lower(self) -> tuple[float, ...]:
        return (self.low,)

    @property
    def upper(self) -> tuple[float, ...]:
        return (self.high,)

    @property
    def levels(self) -> float:
        return math.inf

    @property
    def needed(self) -> str:
        return f"a number in [{self.low}, {self.high}]"

    def holds(self, value: Any) -> bool:
        return checks.is_number(value) and bool(self.low <= value <= self.high)

    def encode(self, value: Any) -> tuple[float, ...]:
        return (float(value),)

    def decode(self, coordinates: Array) -> float:
        return float(coordinates[0])

    def nearest(self, columns: Array) -> Array:
        return np.clip(columns, self.low, self.high)

    def place(self, unit: Array) -> Array:
        """low (1 - u) + high u"""
        placed: Array = np.clip(self.low * (1 - unit) + self.high * unit, self.low, self.high)[
            :, None
        ]
        return placed


@dataclass(frozen=True)
class Integer(Variable):
    """A whole number low <= n <= high."""

    low: int
    high: int

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            whole = is_integer(value) and abs(value) <= LARGEST_INTEGER
            checks.needs(whole, "Integer", f"a whole number {name} of size at most 2^53", value)
            object.__setattr__(self, name, int(value))
        checks.needs(self.low < self.high, "Integer", "low < high", (self.low, self.high))

    @property
    def lower(self) -> tuple[float, ...]:
        return (float(self.low),)

    @property
    def upper(self) -> tuple[float, ...]:
        return (float(self.high),)

    @property
    def levels(self) -> float:
        return self.high - self.low + 1

    @property
    def needed(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def holds(self, value: Any) -> bool:
        return is_integer(value) and bool(self.low <= value <= self.high)

    def encode(self, value: Any) -> tuple[float, ...]:
        return (float(value),)

    def decode(self, coordinates: Array) -> int:
        return int(coordinates[0])

    def place(self, unit: Array) -> Array:
        placed: Array = np.clip(self.low + np.floor(unit * self.levels), self.low, self.high)[
            :, None
        ]
        return placed

    def moves(self, coordinates: Array) -> Array:
        """Every value; of many, those 1, 2, 4, ... away, an even spread, and the bounds."""
        if self.levels <= WIDE:
            return self.all()
        steps = 2.0 ** np.arange(math.ceil(math.log2(self.levels)))
        spread = self.place((np.arange(WIDE) + 0.5) / WIDE)[:, 0]
        tried = np.concatenate(
            [coordinates - steps, coordinates + steps, spread, self.lower, self.upper]
        )
        return np.unique(tried[(tried >= self.low) & (tried <= self.high)])[:, None]


@dataclass(frozen=True)
class Listed(Variable):
    """A variable that takes one of the values in a list."""

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", listed(type(self).__name__, self.values))

    @property
    def levels(self) -> float:
        return len(self.values)

    @property
    def needed(self) -> str:
        return f"one of {self.values}"

    def holds(self, value: Any) -> bool:
        return self.number_of(value) >= 0

    def number_of(self, value: Any) -> int:
        """The place of a value in the list, -1 if it is not there."""
        plain = as_plain(value)
        return next((place for place, known in enumerate(self.values) if same(known, plain)), -1)

    def numbers(self, unit: Array) -> Indices:
        return np.minimum(unit * self.levels, self.levels - 1).astype(np.int64)


@dataclass(frozen=True)
class Ordered(Listed):
    """One of several values in their order: ("low", "medium", "high")."""

    @property
    def lower(self) -> tuple[float, ...]:
        return (0.0,)

    @property
    def upper(self) -> tuple[float, ...]:
        return (float(len(self.values) - 1),)

    def encode(self, value: Any) -> tuple[float, ...]:
        return (float(self.number_of(value)),)

    def decode(self, coordinates: Array) -> Any:
        return self.values[int(coordinates[0])]

    def place(self, unit: Array) -> Array:
        return self.numbers(unit)[:, None].astype(np.float64)


@dataclass(frozen=True)
class Category(Listed):
    """One of several values in no order: ("acid", "base"), or (True, False)."""

    @property
    def lower(self) -> tuple[float, ...]:
        return (0.0,) * len(self.values)

    @property
    def upper(self) -> tuple[float, ...]:
        return (APART,) * len(self.values)

    def encode(self, value: Any) -> tuple[float, ...]:
        place = self.number_of(value)
        return tuple(APART if other == place else 0.0 for other in range(len(self.values)))

    def decode(self, coordinates: Array) -> Any:
        return self.values[int(coordinates.argmax())]

    def nearest(self, columns: Array) -> Array:
        return self.taken(columns.argmax(1))

    def place(self, unit: Array) -> Array:
        return self.taken(self.numbers(unit))

    def taken(self, numbers: Indices) -> Array:
        """The coordinates of values by their numbers."""
        rows: Array = APART * np.eye(len(self.values))[numbers]
        return rows


def listed(owner: str, values: Any) -> tuple[Any, ...]:
    """At least two values, none twice: text, finite numbers or truth values."""
    ordered = isinstance(values, Iterable) and not isinstance(
        values, (str, bytes, set, frozenset, Mapping)
    )
    checks.needs(ordered, owner, "a sequence of values", values)
    items = tuple(as_plain(value) for value in values)
    for item in items:
        plain = isinstance(item, (str, bool)) or checks.is_number(item)
        checks.needs(plain, owner, "values that are text, finite numbers or truth values", item)
    checks.needs(len(items) >= 2, owner, "at least two values", items)
    checks.needs(len(set(items)) == len(items), owner, "values that are all different", items)
    return items


def as_plain(value: Any) -> Any:
    """A NumPy scalar as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def same(known: Any, value: Any) -> bool:
    """Equal, and of one kind: text, number or truth value."""
    alike = isinstance(value, (str, bool, int, float)) and isinstance(known, bool) == isinstance(
        value, bool
    )
    return alike and bool(known == value)


def is_integer(value: Any) -> bool:
    """A whole number, as a float perhaps."""
    return checks.is_number(value) and float(value).is_integer()
