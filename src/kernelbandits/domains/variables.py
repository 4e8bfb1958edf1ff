"""The variables of a mixed box, and their coordinates in a row.

A real or a whole number is its own coordinate. An ordered value has its position 0, 1, 2, ... An
unordered category has one coordinate for each value, 1/sqrt(2) at the value taken and 0 elsewhere,
so that any two different values are at distance 1.
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
"""The coordinate of the value that a category takes."""
LARGEST_INTEGER = 2**53
"""Up to this size every whole number is a floating-point number."""
WIDE = 16
"""An integer with more values is not tried at every value, but at this many evenly spread ones."""


class Variable:
    """One variable of a mixed box. A subclass says which values it takes, and encodes them."""

    discrete: ClassVar[bool] = True
    """Whether it takes separate values only."""

    @property
    def lower(self) -> tuple[float, ...]:
        """The smallest value of each of its coordinates."""
        raise NotImplementedError

    @property
    def upper(self) -> tuple[float, ...]:
        """The largest value of each of its coordinates."""
        raise NotImplementedError

    @property
    def levels(self) -> float:
        """The number of values it can take."""
        raise NotImplementedError

    @property
    def requirement(self) -> str:
        """The values it can take, in words, for error messages."""
        raise NotImplementedError

    def holds(self, value: Any) -> bool:
        """Tell whether it can take this value."""
        raise NotImplementedError

    def encode(self, value: Any) -> tuple[float, ...]:
        """Return the coordinates of a value."""
        raise NotImplementedError

    def decode(self, coordinates: Array) -> Any:
        """Return the value of coordinates."""
        raise NotImplementedError

    def nearest(self, columns: Array) -> Array:
        """Return the coordinates of the value nearest to each row."""
        return np.clip(np.rint(columns), self.lower, self.upper)

    def from_unit(self, unit: Array) -> Array:
        """Return the coordinates for numbers u in [0, 1]: those of value number floor(levels u)."""
        raise NotImplementedError

    def all_coordinates(self) -> Array:
        """Return the coordinates of every value."""
        return self.from_unit((np.arange(self.levels) + 0.5) / self.levels)

    def neighbours(self, coordinates: Array) -> Array:
        """Return the coordinates that a search tries instead of these: those of every value."""
        return self.all_coordinates()


@dataclass(frozen=True)
class Real(Variable):
    """A real number between low and high, both included.

    >>> from kernelbandits import Real
    >>> heat = Real(20, 90)
    >>> heat.holds(35.5), heat.holds(100)
    (True, False)
    """

    low: float
    """The smallest value."""
    high: float
    """The largest value."""
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
    def requirement(self) -> str:
        return f"a number in [{self.low}, {self.high}]"

    def holds(self, value: Any) -> bool:
        return checks.is_number(value) and bool(self.low <= value <= self.high)

    def encode(self, value: Any) -> tuple[float, ...]:
        return (float(value),)

    def decode(self, coordinates: Array) -> float:
        return float(coordinates[0])

    def nearest(self, columns: Array) -> Array:
        return np.clip(columns, self.low, self.high)

    def from_unit(self, unit: Array) -> Array:
        """low (1 - u) + high u"""
        placed: Array = np.clip(self.low * (1 - unit) + self.high * unit, self.low, self.high)[
            :, None
        ]
        return placed


@dataclass(frozen=True)
class Integer(Variable):
    """A whole number between low and high, both included.

    >>> from kernelbandits import Integer
    >>> stirs = Integer(1, 5)
    >>> stirs.holds(3), stirs.holds(3.5), stirs.levels
    (True, False, 5)
    """

    low: int
    """The smallest value."""
    high: int
    """The largest value."""

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
    def requirement(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def holds(self, value: Any) -> bool:
        return is_integer(value) and bool(self.low <= value <= self.high)

    def encode(self, value: Any) -> tuple[float, ...]:
        return (float(value),)

    def decode(self, coordinates: Array) -> int:
        return int(coordinates[0])

    def from_unit(self, unit: Array) -> Array:
        placed: Array = np.clip(self.low + np.floor(unit * self.levels), self.low, self.high)[
            :, None
        ]
        return placed

    def neighbours(self, coordinates: Array) -> Array:
        """Return every value if they are few; otherwise a selection of values.

        The selection is the values 1, 2, 4, ... away, some evenly spread ones and the bounds: a
        search reaches every value in a few exchanges, without trying them all.
        """
        if self.levels <= WIDE:
            return self.all_coordinates()
        steps = 2.0 ** np.arange(math.ceil(math.log2(self.levels)))
        spread = self.from_unit((np.arange(WIDE) + 0.5) / WIDE)[:, 0]
        tried = np.concatenate(
            [coordinates - steps, coordinates + steps, spread, self.lower, self.upper]
        )
        return np.unique(tried[(tried >= self.low) & (tried <= self.high)])[:, None]


@dataclass(frozen=True)
class EnumeratedVariable(Variable):
    """A variable that takes one of the values in a list."""

    values: tuple[Any, ...]
    """At least two different values: text, finite numbers or truth values."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", check_values(type(self).__name__, self.values))

    @property
    def levels(self) -> float:
        return len(self.values)

    @property
    def requirement(self) -> str:
        return f"one of {self.values}"

    def holds(self, value: Any) -> bool:
        return self.position(value) >= 0

    def position(self, value: Any) -> int:
        """Return the position of a value in the list, or -1 if it is not there."""
        plain = as_plain(value)
        return next(
            (place for place, known in enumerate(self.values) if is_same_value(known, plain)), -1
        )

    def positions(self, unit: Array) -> Indices:
        """Return the position floor(levels u) for each number u in [0, 1]."""
        return np.minimum(unit * self.levels, self.levels - 1).astype(np.int64)


@dataclass(frozen=True)
class Ordered(EnumeratedVariable):
    """One of several values that have an order, such as ("low", "medium", "high").

    Neighbouring values are at distance 1, so a kernel sees them as more alike than distant ones.

    >>> from kernelbandits import Ordered
    >>> Ordered(("low", "medium", "high")).encode("high")
    (2.0,)
    """

    @property
    def lower(self) -> tuple[float, ...]:
        return (0.0,)

    @property
    def upper(self) -> tuple[float, ...]:
        return (float(len(self.values) - 1),)

    def encode(self, value: Any) -> tuple[float, ...]:
        return (float(self.position(value)),)

    def decode(self, coordinates: Array) -> Any:
        return self.values[int(coordinates[0])]

    def from_unit(self, unit: Array) -> Array:
        return self.positions(unit)[:, None].astype(np.float64)


@dataclass(frozen=True)
class Category(EnumeratedVariable):
    """One of several values without an order, such as ("acid", "base") or (True, False).

    Any two values are at distance 1.

    >>> from kernelbandits import Category
    >>> solvent = Category(("water", "ethanol", "acetone"))
    >>> [round(number, 3) for number in solvent.encode("ethanol")]
    [0.0, 0.707, 0.0]
    """

    @property
    def lower(self) -> tuple[float, ...]:
        return (0.0,) * len(self.values)

    @property
    def upper(self) -> tuple[float, ...]:
        return (APART,) * len(self.values)

    def encode(self, value: Any) -> tuple[float, ...]:
        place = self.position(value)
        return tuple(APART if other == place else 0.0 for other in range(len(self.values)))

    def decode(self, coordinates: Array) -> Any:
        return self.values[int(coordinates.argmax())]

    def nearest(self, columns: Array) -> Array:
        return self.one_hot(columns.argmax(1))

    def from_unit(self, unit: Array) -> Array:
        return self.one_hot(self.positions(unit))

    def one_hot(self, numbers: Indices) -> Array:
        """Return the coordinates of the values at these positions."""
        rows: Array = APART * np.eye(len(self.values))[numbers]
        return rows


def check_values(owner: str, values: Any) -> tuple[Any, ...]:
    """Return the values as a tuple: at least two, all different, of admissible types."""
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
    """Return a scalar of numpy as a value of Python."""
    return value.item() if isinstance(value, np.generic) else value


def is_same_value(known: Any, value: Any) -> bool:
    """Tell whether two values are equal, and both are truth values or neither is.

    In Python True == 1, but True is not one of the values (0, 1).
    """
    alike = isinstance(value, (str, bool, int, float)) and isinstance(known, bool) == isinstance(
        value, bool
    )
    return alike and bool(known == value)


def is_integer(value: Any) -> bool:
    """Tell whether a value is a whole number; 3.0 is one."""
    return checks.is_number(value) and float(value).is_integer()
