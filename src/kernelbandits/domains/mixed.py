"""A box of real and whole numbers, ordered and unordered categories."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains.arms import Arms
from kernelbandits.domains.box import COVER, as_row, as_rows, spread_points
from kernelbandits.domains.variables import Variable

DOUBLINGS = 6
"""How often the points of a cover are doubled to find enough different ones.

Rounding to separate values makes points equal, so a cover needs more points than it keeps.
"""


@dataclass(frozen=True)
class MixedBox:
    """Every combination of the values of its variables.

    A point x is a dict if the variables have names, and a tuple otherwise. Kernels see rows of
    numbers: `encode` turns a point into a row, and `decode` a row into a point.

    >>> from kernelbandits import Category, Integer, MixedBox, Real
    >>> box = MixedBox({"heat": Real(20, 90), "stirs": Integer(1, 5), "acid": Category(("a", "b"))})
    >>> box.encode({"heat": 35.0, "stirs": 3, "acid": "b"}).round(3)
    array([35.   ,  3.   ,  0.   ,  0.707])
    >>> box.decode([36.2, 2.8, 0.1, 0.6])
    {'heat': 36.2, 'stirs': 3, 'acid': 'b'}
    >>> box.encode({"heat": 10.0, "stirs": 3, "acid": "b"})
    Traceback (most recent call last):
    ...
    ValueError: encode needs a number in [20.0, 90.0] for 'heat', got 10.0
    """

    variables: Any
    """Name -> variable, or a sequence of variables; kept as a tuple."""
    names: tuple[str, ...] = ()
    """Names of the variables, if they were given as a sequence."""

    def __post_init__(self) -> None:
        given, named = self.variables, isinstance(self.variables, Mapping)
        checks.needs(
            named or isinstance(given, Sequence),
            "MixedBox",
            "a mapping or a sequence of variables",
            given,
        )
        checks.needs(
            isinstance(self.names, (tuple, list)), "MixedBox", "a sequence of names", self.names
        )
        variables, names = (given.values(), given.keys()) if named else (given, self.names)
        object.__setattr__(self, "variables", tuple(variables))
        object.__setattr__(self, "names", tuple(names))
        self._check_variables()

    def _check_variables(self) -> None:
        """Raise an error for what is no variable, and for names that do not fit."""
        checks.needs(len(self.variables) > 0, "MixedBox", "at least one variable", self.variables)
        for variable in self.variables:
            known = isinstance(variable, Variable)
            checks.needs(
                known, "MixedBox", "variables that are Real, Integer, Ordered or Category", variable
            )
        if self.names:
            text = all(isinstance(name, str) for name in self.names)
            fits = text and len(set(self.names)) == len(self.names) == len(self.variables)
            checks.needs(fits, "MixedBox", "a name of its own for each variable", self.names)

    @cached_property
    def lower(self) -> tuple[float, ...]:
        """The smallest value of each coordinate of a row."""
        return tuple(bound for variable in self.variables for bound in variable.lower)

    @cached_property
    def upper(self) -> tuple[float, ...]:
        """The largest value of each coordinate of a row."""
        return tuple(bound for variable in self.variables for bound in variable.upper)

    @cached_property
    def discrete(self) -> tuple[bool, ...]:
        """Which coordinates of a row take separate values only."""
        return tuple(variable.discrete for variable in self.variables for _ in variable.lower)

    @property
    def dimension(self) -> int:
        """The number of coordinates of a row."""
        return len(self.lower)

    @property
    def sides(self) -> int:
        """How many numbers in [0, 1] determine a point: one for each variable."""
        return len(self.variables)

    @cached_property
    def count(self) -> float:
        """The number of points; infinite if a variable is real."""
        return math.prod(float(variable.levels) for variable in self.variables)

    @cached_property
    def blocks(self) -> tuple[tuple[Variable, slice], ...]:
        """Each variable with the part of a row that holds its coordinates."""
        ends = np.cumsum([len(variable.lower) for variable in self.variables]).tolist()
        places = [
            slice(end - len(variable.lower), end)
            for variable, end in zip(self.variables, ends, strict=True)
        ]
        return tuple(zip(self.variables, places, strict=True))

    def encode(self, x: Any) -> Array:
        """Return the row of a point; an error if a variable cannot take its value."""
        values = self._values(x)
        for variable, value, name in zip(
            self.variables, values, self.names or range(self.sides), strict=True
        ):
            checks.needs(
                variable.holds(value), "encode", f"{variable.requirement} for {name!r}", value
            )
        return np.concatenate(
            [variable.encode(value) for variable, value in zip(self.variables, values, strict=True)]
        )

    def _values(self, x: Any) -> tuple[Any, ...]:
        """Return the values of x in the order of the variables."""
        if self.names:
            fits = isinstance(x, Mapping) and set(x) == set(self.names)
            checks.needs(fits, "encode", f"a value for each of {self.names}", x)
            return tuple(x[name] for name in self.names)
        fits = (
            isinstance(x, (Sequence, np.ndarray))
            and not isinstance(x, str)
            and len(x) == len(self.variables)
        )
        checks.needs(fits, "encode", f"a sequence of {len(self.variables)} values", x)
        return tuple(x)

    def decode(self, row: Any) -> Any:
        """Return the point nearest to a row."""
        nearest = self.nearest(as_row("decode", row, self.dimension)[None])[0]
        values = tuple(variable.decode(nearest[place]) for variable, place in self.blocks)
        return dict(zip(self.names, values, strict=True)) if self.names else values

    def nearest(self, rows: Any) -> Array:
        """Return the row of the point nearest to each row, variable by variable."""
        given = as_rows("nearest", rows, self.dimension)
        return np.hstack([variable.nearest(given[:, place]) for variable, place in self.blocks])

    def from_unit(self, unit: Array) -> Array:
        """Return the rows for u in [0, 1)^v, one number for each variable."""
        return np.hstack(
            [
                variable.from_unit(column)
                for variable, column in zip(self.variables, unit.T, strict=True)
            ]
        )

    def neighbours(self, row: Array) -> Array:
        """Return rows that differ from this one in the value of one discrete variable."""
        tried: Array = np.vstack([row[None], *self._neighbours(row)])
        changed: Array = tried[(tried != row).any(1)]
        return changed

    def _neighbours(self, row: Array) -> Iterator[Array]:
        for variable, place in self.blocks:
            if variable.discrete:
                values = variable.neighbours(row[place])
                rows = np.repeat(row[None], len(values), axis=0)
                rows[:, place] = values
                yield rows

    def cover(self, size: int = COVER) -> Arms:
        """Return all points as arms if there are at most `size`, otherwise evenly spread ones.

        All are different. There are fewer than `size` only if so few floating-point numbers lie
        between the bounds of the real variables.
        """
        count = checks.whole("cover", "size", size)
        if self.count <= count:
            return Arms(self.all_rows(), f"all points of {self}")
        rows = self._spread_rows(count)
        return Arms(rows, f"a cover of {self} by {len(rows)} points")

    def all_rows(self) -> Array:
        """Return the rows of all points; an error if a variable is real."""
        checks.needs(math.isfinite(self.count), "all_rows", "a box without real variables", self)
        return np.array(
            [
                np.concatenate(parts)
                for parts in product(*(variable.all_coordinates() for variable in self.variables))
            ]
        )

    def _spread_rows(self, count: int) -> Array:
        """Return `count` different rows from the recurrence that also covers a box.

        If those are too few, a finite box adds its other points in their own order.
        """
        for doubling in range(DOUBLINGS):
            rows = distinct_rows(self.from_unit(spread_points(count * 2**doubling, self.sides)))
            if len(rows) >= count:
                return rows[:count]
        return (
            distinct_rows(np.vstack([rows, self.all_rows()]))[:count]
            if math.isfinite(self.count)
            else rows
        )


def distinct_rows(rows: Array) -> Array:
    """Return each row once, at its first position; -0.0 counts as 0.0."""
    plain = rows + 0.0
    first: Array = plain[np.sort(np.unique(plain, axis=0, return_index=True)[1])]
    return first
