"""The variables of a mixed box, and their coordinates in a row.

A number is its own coordinate, or its logarithm if it is on a log scale. An ordered value has its
position 0, 1, 2, ... An unordered category has one coordinate for each value, 1/sqrt(2) at the
value taken and 0 elsewhere, so that any two different values are at distance 1. A variable with a
single value has no coordinate.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains.constraints import as_condition_text
from kernelbandits.domains.values import as_plain, check_values, is_integer, is_same_value
from kernelbandits.formatting import format_names

APART = 1 / math.sqrt(2)
"""The coordinate of the value that a category takes."""
LARGEST_INTEGER = 2**53
"""Up to this size every whole number is a floating-point number."""
WIDE = 16
"""A grid with more values is not tried at every value, but at this many evenly spread ones."""
ON_GRID = 1e-9
"""A number this close to a grid value, in steps, is that value."""
BEYOND = 0.1
"""By which share of its range a hand may miss the end of it."""
DIGITS = 12
"""Significant digits of a value on a log scale.

exp(ln(x)) is x up to some 14 digits. Rounded to 12 it is x again, if x has no more than 12.
"""
MOST_DIGITS = 6
"""A number with more significant digits is not written by hand."""
LARGEST_POWER = 22
"""Powers of ten up to this one are floating-point numbers."""


@dataclass(frozen=True, repr=False)
class Variable:
    """One variable of a mixed box. A subclass says which values it takes, and encodes them."""

    kind: ClassVar[str] = ""
    """How a file and the command line call it."""
    when: Any = field(default=None, kw_only=True)
    """When the variable is there at all: conditions on choices and whole numbers of the same space,
    as a text ("kernel == 'rbf'") or as a mapping ({"kernel": "rbf"}), kept as a text. None if it is
    always there."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", as_condition_text(type(self).__name__, self.when))

    def __getstate__(self) -> dict[str, Any]:
        # What is computed from the fields is computed again where it is read.
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def discrete(self) -> bool:
        """Whether it takes separate values only."""
        return True

    @property
    def wide(self) -> bool:
        """Whether it is a grid of so many numbers that a search moves on it as on real ones."""
        return False

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

    def canonical(self, value: Any) -> Any:
        """Return a value that it can take as it is stored: 3.0 as 3, 0.1 + 0.2 as 0.3."""
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

    def grid_values(self, size: int | None) -> list[Any]:
        """Return the values that a grid takes of it: `size` evenly spread ones, or all."""
        raise NotImplementedError

    def fix(self, value: Any) -> Variable:
        """Return a variable of the same kind that has only this value."""
        raise NotImplementedError

    def as_measured(self) -> Variable:
        """Return the variable with all values that a measurement may have had.

        A hand sets 36.3 where 36.5 was asked for, and 90.4 where 90 was, the end of the range.
        Whole numbers and choices are set exactly.
        """
        return self

    def as_learnt(self) -> Variable:
        """Return the variable with all values that a result may have, when its range changes."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the variable as a plain dictionary, which `variable_from_dict` reads."""
        described = {"type": self.kind, **self.describe_values()}
        return described if self.when is None else described | {"when": self.when}

    def describe_values(self) -> dict[str, Any]:
        """Return what `to_dict` says of its values."""
        raise NotImplementedError

    @property
    def neutral(self) -> Array:
        """The coordinates that stand for it where it is not there: those of its middle value."""
        row: Array = self.from_unit(np.array([0.5]))[0]
        return row


class Number(Variable):
    """A number between low and high: real or whole, on a log scale or not, on a grid or not."""

    low: float
    high: float
    log: bool
    step: float | None
    digits: int | None = None

    @property
    def single(self) -> bool:
        """Whether it has one value only."""
        return self.low == self.high

    @property
    def discrete(self) -> bool:
        return self.step is not None or self.digits is not None

    @property
    def wide(self) -> bool:
        return self.discrete and self.levels > WIDE

    @property
    def lower(self) -> tuple[float, ...]:
        return () if self.single else (self._ends[0],)

    @property
    def upper(self) -> tuple[float, ...]:
        return () if self.single else (self._ends[1],)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = self.to_coordinate(np.array([self.low, self.last]))
        return float(low), float(high)

    @cached_property
    def last(self) -> float:
        """The largest value that it takes: the last of its grid."""
        if not self.discrete or self.single:
            return self.high
        return float(self.grid_value(np.array([self.levels - 1]))[0])

    @cached_property
    def levels(self) -> float:
        if self.single:
            return 1
        if self.digits is not None:
            return int(self._digits_number(np.array([self.high])).item() - self._first_number) + 1
        if self.step is None:
            return math.inf
        return math.floor((self.high - self.low) / self.step + ON_GRID) + 1

    @cached_property
    def _decimal(self) -> tuple[int, int, int] | None:
        """Low and step as whole multiples of 10^-digits, and the digits; None if they are long."""
        digits = max(decimal_places(self.low), decimal_places(self.step or 1.0))
        low, step = (
            int(Decimal(repr(number)).scaleb(digits)) for number in (self.low, self.step or 1.0)
        )
        small = max(abs(low), abs(low + step * int(self.levels))) < LARGEST_INTEGER
        return (low, step, digits) if small and digits <= LARGEST_POWER else None

    def grid_value(self, numbers: Array) -> Array:
        """Return low + k step for numbers k, rounded as a person writes it: 0.3 for 3 times 0.1.

        A whole number divided by a power of ten is the floating-point number nearest to it. With
        digits it is the k-th number of so many digits, from low on.
        """
        if self.digits is not None:
            return self._digits_value(np.asarray(numbers) + self._first_number)
        if self._decimal is None:
            return np.asarray(self.low + numbers * (self.step or 1.0), dtype=np.float64)
        low, step, digits = self._decimal
        return np.asarray((low + np.asarray(numbers) * step) / 10.0**digits, dtype=np.float64)

    def grid_number(self, values: Array) -> Array:
        """Return the number k of the grid value nearest to each value."""
        if self.digits is not None:
            numbers = self._digits_number(values) - self._first_number
            return np.clip(numbers, 0, self.levels - 1)
        nearest: Array = np.clip(
            np.rint((values - self.low) / (self.step or 1.0)), 0, self.levels - 1
        )
        return nearest

    @cached_property
    def _first_number(self) -> float:
        """The position of low among all numbers of so many digits."""
        return float(self._digits_number(np.array([self.low])).item())

    def _digits_number(self, values: Array) -> Array:
        """Return the position of the number with so many digits that is nearest to each value.

        A power of ten has the positions 0, 1, ... of its decade: 1.0, 1.1, ... to 9.9.
        """
        assert self.digits is not None
        first = 10 ** (self.digits - 1)
        power = np.floor(np.log10(values))
        place = np.rint(values / 10.0**power * first) - first
        return np.asarray(9 * first * power + place, dtype=np.float64)

    def _digits_value(self, numbers: Array) -> Array:
        assert self.digits is not None
        first = 10 ** (self.digits - 1)
        power, place = np.divmod(numbers, 9 * first)
        shift = power - (self.digits - 1)
        # A whole number divided by a power of ten is the number as it is written.
        large, small = 10.0 ** np.maximum(shift, 0), 10.0 ** np.maximum(-shift, 0)
        return np.asarray((place + first) * large / small, dtype=np.float64)

    def to_coordinate(self, values: Array) -> Array:
        """Return the values, or their logarithms on a log scale."""
        return np.asarray(np.log(values) if self.log else values, dtype=np.float64)

    def from_coordinate(self, coordinates: Array) -> Array:
        """Return the values of coordinates, within low and high."""
        if not self.log:
            return coordinates
        with np.errstate(over="ignore"):
            return np.clip(np.exp(coordinates), self.low, self.high)

    @property
    def requirement(self) -> str:
        noun = "a whole number" if isinstance(self.low, int) else "a number"
        if self.single:
            return f"{noun} equal to {self.low}"
        where = f"from {self.low} to {self.high}" if noun != "a number" else ""
        where = where or f"in [{self.low}, {self.high}]"
        if self.digits is not None:
            return f"{noun} {where} of {self.digits} significant digits"
        plain = self.step is None or (noun != "a number" and self.step == 1)
        return f"{noun} {where}" + ("" if plain else f" in steps of {self.step:g}")

    def holds(self, value: Any) -> bool:
        if not checks.is_number(value):
            return False
        if self.single:
            return bool(value == self.low)
        within = bool(self.low <= value <= self.high)
        if self.digits is not None:
            return within and abs(self.canonical(value) - value) <= ON_GRID * value
        if self.step is None:
            return within
        number = (float(value) - self.low) / self.step
        near = abs(number - round(number)) <= ON_GRID * max(1.0, abs(number))
        return near and 0 <= round(number) < self.levels

    def encode(self, value: Any) -> tuple[float, ...]:
        if self.single:
            return ()
        number = float(self.canonical(value))
        return (math.log(number) if self.log else number,)

    def decode(self, coordinates: Array) -> Any:
        if self.single:
            return self.canonical(self.low)
        place, (low, high) = float(coordinates[0]), self._ends
        if place <= low:
            return self.canonical(self.low)
        if place >= high:
            return self.canonical(self.last)
        return self.canonical(math.exp(place) if self.log else place)

    def nearest(self, columns: Array) -> Array:
        if self.single:
            return columns
        if not self.discrete:
            return np.clip(columns, *self._ends)
        inside = self.from_coordinate(np.clip(columns, *self._ends))
        return self.to_coordinate(self.grid_value(self.grid_number(inside)))

    def from_unit(self, unit: Array) -> Array:
        """Return the coordinates for numbers u in [0, 1]: on a grid those of the value there.

        Without a grid they are, with logarithms of the ends on a log scale,

        low (1 - u) + high u
        """
        if self.single:
            return np.empty((len(unit), 0))
        low, high = self._ends
        if self.step is None:
            evenly = np.clip(low * (1 - unit) + high * unit, low, high)[:, None]
            return self.nearest(evenly) if self.discrete else evenly
        if not self.log:
            numbers = np.clip(np.floor(unit * self.levels), 0, self.levels - 1)
            return self.grid_value(numbers)[:, None]
        # Half a step is added at both ends, so that the first and the last value have their share.
        first = math.log(max(self.low - self.step / 2, self.low / 2))
        spread = np.exp(first * (1 - unit) + math.log(self.last + self.step / 2) * unit)
        return self.to_coordinate(self.grid_value(self.grid_number(spread)))[:, None]

    def all_coordinates(self) -> Array:
        if self.single:
            return np.empty((1, 0))
        return self.to_coordinate(self.grid_value(np.arange(self.levels)))[:, None]

    def neighbours(self, coordinates: Array) -> Array:
        """Return every value if they are few; otherwise a selection of values.

        The selection is the values 1, 2, 4, ... steps away, some evenly spread ones and the bounds:
        a search reaches every value in a few exchanges, without trying them all.
        """
        if self.single or self.levels <= WIDE:
            return self.all_coordinates()
        here = self.grid_number(self.from_coordinate(coordinates))
        steps = 2.0 ** np.arange(math.ceil(math.log2(self.levels)))
        spread = self.from_coordinate(self.from_unit((np.arange(WIDE) + 0.5) / WIDE)[:, 0])
        tried = np.concatenate(
            [here - steps, here + steps, self.grid_number(spread), [0, self.levels - 1]]
        )
        kept = np.unique(tried[(tried >= 0) & (tried < self.levels)])
        return self.to_coordinate(self.grid_value(kept))[:, None]

    def grid_values(self, size: int | None) -> list[Any]:
        if self.single or (self.discrete and (size is None or size >= self.levels)):
            numbers = np.arange(self.levels)
            return [self.canonical(value) for value in self.grid_value(numbers).tolist()]
        assert size is not None
        if size == 1:
            low, high = self._ends
            middle = self.from_coordinate(np.array([(low + high) / 2]))
            return [self.canonical(middle.item())]
        values = self.from_coordinate(np.linspace(*self._ends, size))
        values[0], values[-1] = self.low, self.last
        # Twelve digits: a tenth of the way from 0 to 3 is 0.3, not 0.30000000000000004.
        rounded = [round_digits(value) for value in values.tolist()]
        return list(dict.fromkeys(self.canonical(value) for value in rounded))

    def describe_values(self) -> dict[str, Any]:
        described: dict[str, Any] = {"low": self.low, "high": self.high}
        if self.log:
            described["log"] = True
        if self.step is not None and not (isinstance(self, Integer) and self.step == 1):
            described["step"] = self.step
        if self.digits is not None:
            described["digits"] = self.digits
        return described

    def fix(self, value: Any) -> Number:
        number = self.canonical(value)
        return type(self)(number, number, when=self.when)  # type: ignore[call-arg,misc]

    def canonical(self, value: Any) -> Any:
        number = float(value)
        if self.discrete and not self.single:
            number = float(self.grid_value(self.grid_number(np.array([number])))[0])
        elif self.log:
            number = min(max(round_digits(number), self.low), self.high)
        return number + 0.0

    def __repr__(self) -> str:
        shown = [f"low={self.low!r}", f"high={self.high!r}"]
        described = self.to_dict()
        names = ("log", "step", "digits", "when")
        shown += [f"{name}={described[name]!r}" for name in names if name in described]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class Real(Number):
    """A real number between low and high, both included.

    With `log=True` it is searched and modelled in logarithms: from 1e-5 to 1e-4 is as far as from
    0.01 to 0.1. With a `step` it takes the values low, low + step, ... up to high, and with
    `digits`, which needs a log scale, the numbers of so many significant digits.

    >>> from kernelbandits import Real
    >>> heat = Real(20, 90)
    >>> heat.holds(35.5), heat.holds(100)
    (True, False)
    >>> Real(0, 1, step=0.1).canonical(0.1 + 0.2)
    0.3
    >>> Real(1e-5, 0.1, log=True).grid_values(5)
    [1e-05, 0.0001, 0.001, 0.01, 0.1]
    >>> Real(1e-5, 0.1, log=True, digits=2).canonical(0.00123)
    0.0012

    A range that is there only with one value of a choice:

    >>> Real(1e-4, 1, log=True, when={"kernel": "rbf"}).when
    "kernel == 'rbf'"
    """

    low: float
    """The smallest value."""
    high: float
    """The largest value; equal to low if there is one value only."""
    log: bool = False
    """Whether it is on a log scale."""
    step: float | None = None
    """The distance of two values next to each other; None for any real number."""
    digits: int | None = None
    """On a log scale, how many significant digits its values have; None for any number of them."""
    kind: ClassVar[str] = "real"

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = (checks.number("Real", name, getattr(self, name)) for name in ("low", "high"))
        checks.needs(low <= high, "Real", "low <= high", (self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.step is not None:
            object.__setattr__(self, "step", checks.positive("Real", "step", self.step))
        check_scale_and_step(self)
        if self.digits is not None:
            check_digits(self)

    def as_learnt(self) -> Real:
        if self.single:
            return self
        low = sys.float_info.min if self.log else -sys.float_info.max
        return replace(self, low=low, high=sys.float_info.max, step=None, digits=None)

    def as_measured(self) -> Real:
        if self.single:
            return self
        beyond = BEYOND * (self.high - self.low)
        low = self.low * (1 - BEYOND) if self.log else self.low - beyond
        # What cannot be negative, such as a share, stays so.
        low = max(low, 0.0) if self.low >= 0 and not self.log else low
        return replace(self, low=low, high=self.high + beyond, step=None, digits=None)


@dataclass(frozen=True, repr=False)
class Integer(Number):
    """A whole number between low and high, both included.

    With `log=True` it is searched and modelled in logarithms, with a `step` it takes the values
    low, low + step, ... up to high.

    >>> from kernelbandits import Integer
    >>> stirs = Integer(1, 5)
    >>> stirs.holds(3), stirs.holds(3.5), stirs.levels
    (True, False, 5)
    >>> Integer(16, 128, step=16).grid_values(None)
    [16, 32, 48, 64, 80, 96, 112, 128]
    """

    low: int
    """The smallest value."""
    high: int
    """The largest value; equal to low if there is one value only."""
    log: bool = False
    """Whether it is on a log scale."""
    step: int = 1
    """The distance of two values next to each other."""
    kind: ClassVar[str] = "integer"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            value = getattr(self, name)
            whole = is_integer(value) and abs(value) <= LARGEST_INTEGER
            checks.needs(whole, "Integer", f"a whole number {name} of size at most 2^53", value)
            object.__setattr__(self, name, int(value))
        checks.needs(self.low <= self.high, "Integer", "low <= high", (self.low, self.high))
        whole = is_integer(self.step) and self.step >= 1
        checks.needs(whole, "Integer", "a whole number step >= 1", self.step)
        object.__setattr__(self, "step", int(self.step))
        if self.step > 1 or self.low < self.high:
            check_scale_and_step(self)

    def as_learnt(self) -> Integer:
        if self.single:
            return self
        low = 1 if self.log else -LARGEST_INTEGER // 4
        return replace(self, low=low, high=LARGEST_INTEGER // 4, step=1)

    def holds(self, value: Any) -> bool:
        return is_integer(value) and super().holds(value)

    def canonical(self, value: Any) -> int:
        number = int(value)
        if float(value) != number or self.step > 1:
            number = int(super().canonical(value))
        return number


@dataclass(frozen=True, repr=False)
class EnumeratedVariable(Variable):
    """A variable that takes one of the values in a list."""

    values: tuple[Any, ...]
    """Different values: text, finite numbers, truth values or None."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "values", check_values(type(self).__name__, self.values))

    @property
    def single(self) -> bool:
        """Whether it has one value only."""
        return len(self.values) == 1

    @property
    def levels(self) -> float:
        return len(self.values)

    @property
    def requirement(self) -> str:
        return f"one of {format_names(self.values)}"

    def holds(self, value: Any) -> bool:
        return self.position(value) >= 0

    def canonical(self, value: Any) -> Any:
        return self.values[self.position(value)]

    def position(self, value: Any) -> int:
        """Return the position of a value in the list, or -1 if it is not there."""
        plain = as_plain(value)
        return next(
            (place for place, known in enumerate(self.values) if is_same_value(known, plain)), -1
        )

    def positions(self, unit: Array) -> Indices:
        """Return the position floor(levels u) for each number u in [0, 1]."""
        return np.minimum(unit * self.levels, self.levels - 1).astype(np.int64)

    def grid_values(self, size: int | None) -> list[Any]:
        return list(self.values)

    def fix(self, value: Any) -> EnumeratedVariable:
        return type(self)((self.canonical(value),), when=self.when)

    def describe_values(self) -> dict[str, Any]:
        return {"values": list(self.values)}

    def __repr__(self) -> str:
        when = "" if self.when is None else f", when={self.when!r}"
        return f"{type(self).__name__}(values={self.values!r}{when})"


@dataclass(frozen=True, repr=False)
class Ordered(EnumeratedVariable):
    """One of several values that have an order, such as ("low", "medium", "high").

    Neighbouring values are at distance 1, so a kernel sees them as more alike than distant ones.

    >>> from kernelbandits import Ordered
    >>> Ordered(("low", "medium", "high")).encode("high")
    (2.0,)
    """

    kind: ClassVar[str] = "ordered"

    @property
    def lower(self) -> tuple[float, ...]:
        return () if self.single else (0.0,)

    @property
    def upper(self) -> tuple[float, ...]:
        return () if self.single else (float(len(self.values) - 1),)

    def encode(self, value: Any) -> tuple[float, ...]:
        return () if self.single else (float(self.position(value)),)

    def decode(self, coordinates: Array) -> Any:
        return self.values[0 if self.single else int(coordinates[0])]

    def from_unit(self, unit: Array) -> Array:
        if self.single:
            return np.empty((len(unit), 0))
        return self.positions(unit)[:, None].astype(np.float64)


@dataclass(frozen=True, repr=False)
class Category(EnumeratedVariable):
    """One of several values without an order: ("acid", "base"), (True, False), (None, 0.1, "auto").

    Any two values are at distance 1.

    >>> from kernelbandits import Category
    >>> solvent = Category(("water", "ethanol", "acetone"))
    >>> [round(number, 3) for number in solvent.encode("ethanol")]
    [0.0, 0.707, 0.0]
    """

    kind: ClassVar[str] = "choice"

    @property
    def lower(self) -> tuple[float, ...]:
        return () if self.single else (0.0,) * len(self.values)

    @property
    def upper(self) -> tuple[float, ...]:
        return () if self.single else (APART,) * len(self.values)

    def encode(self, value: Any) -> tuple[float, ...]:
        place = self.position(value)
        return tuple(APART if other == place else 0.0 for other in range(len(self.lower)))

    def decode(self, coordinates: Array) -> Any:
        return self.values[0 if self.single else int(coordinates.argmax())]

    def nearest(self, columns: Array) -> Array:
        return columns if self.single else self.one_hot(columns.argmax(1))

    def from_unit(self, unit: Array) -> Array:
        return self.one_hot(self.positions(unit))

    def one_hot(self, numbers: Indices) -> Array:
        """Return the coordinates of the values at these positions."""
        rows: Array = APART * np.eye(len(self.lower))[numbers] if not self.single else np.empty(0)
        return np.empty((len(numbers), 0)) if self.single else rows


KINDS: dict[str, type[Variable]] = {
    variable.kind: variable for variable in (Real, Integer, Category, Ordered)
}
"""How a file and the command line call a variable -> its class."""


def check_scale_and_step(variable: Real | Integer) -> None:
    """Raise an error for a log scale that reaches zero, and for a step that is too large."""
    owner = type(variable).__name__
    checks.needs(
        isinstance(variable.log, (bool, np.bool_)), owner, "log True or False", variable.log
    )
    object.__setattr__(variable, "log", bool(variable.log))
    ends = variable.low, variable.high
    checks.needs(not variable.log or variable.low > 0, owner, "low > 0 with log=True", ends)
    if variable.step is not None:
        finite = math.isfinite(variable.high - variable.low)
        checks.needs(finite, owner, "high - low to be a finite number with a step", ends)
        fits = variable.step <= variable.high - variable.low
        needed = f"a step of at most high - low = {variable.high - variable.low:g}"
        checks.needs(fits, owner, needed, variable.step)
        most = f"at most 2^53 values from {variable.low} to {variable.high}"
        few = (variable.high - variable.low) / variable.step < LARGEST_INTEGER
        checks.needs(few, owner, most, f"step {variable.step}")


def check_digits(variable: Real) -> None:
    """Raise an error for digits that do not fit the scale, the step or the ends."""
    digits, ends = variable.digits, (variable.low, variable.high)
    few = digits in range(1, MOST_DIGITS + 1)
    checks.needs(few, "Real", f"digits, a whole number from 1 to {MOST_DIGITS}", digits)
    plain = variable.log and variable.step is None
    checks.needs(plain, "Real", "digits only with log=True and without a step", variable.step)
    written = all(count_digits(end) <= int(digits or 0) for end in ends)
    checks.needs(written, "Real", f"ends that have at most {digits} significant digits", ends)
    object.__setattr__(variable, "digits", int(digits or 0))


def count_digits(number: float) -> int:
    """Return how many significant digits a number has as it is written.

    >>> count_digits(0.0125), count_digits(1200.0)
    (3, 2)
    """
    return len(Decimal(repr(number)).normalize().as_tuple().digits)


def decimal_places(number: float) -> int:
    """Return how many digits a number has after the decimal point as it is written.

    >>> decimal_places(0.25), decimal_places(3), decimal_places(1e-07)
    (2, 0, 7)
    """
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def round_digits(number: float) -> float:
    """Return a number rounded to twelve significant digits."""
    return float(f"{number:.{DIGITS}g}")
