"""A box of reals, whole numbers, ordered and unordered categories."""

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
from kernelbandits.domains.box import COVER, evenly_spread, one_row, rows_of
from kernelbandits.domains.variables import Variable

DOUBLINGS = 6
"""A cover is looked for among its size times 1, 2, 4, ... points of the recurrence, so many times."""


@dataclass(frozen=True)
class MixedBox:
    """Every combination of its variables' values; x is a dict if the variables have names, else a tuple.

    Kernels see rows: the coordinates of the variables side by side.
    """

    variables: Any
    """Name -> variable, or a sequence of variables; kept as a tuple."""
    names: tuple[str, ...] = ()

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
        self._check()

    def _check(self) -> None:
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
        return tuple(bound for variable in self.variables for bound in variable.lower)

    @cached_property
    def upper(self) -> tuple[float, ...]:
        return tuple(bound for variable in self.variables for bound in variable.upper)

    @cached_property
    def discrete(self) -> tuple[bool, ...]:
        """Which coordinates of a row take separate values only."""
        return tuple(variable.discrete for variable in self.variables for _ in variable.lower)

    @property
    def dimension(self) -> int:
        """Coordinates of a row."""
        return len(self.lower)

    @property
    def sides(self) -> int:
        """Numbers in [0, 1] that say which point: one for each variable."""
        return len(self.variables)

    @cached_property
    def count(self) -> float:
        """How many points it has; infinitely many if a variable is real."""
        return math.prod(float(variable.levels) for variable in self.variables)

    @cached_property
    def blocks(self) -> tuple[tuple[Variable, slice], ...]:
        """The variables and their coordinates' places in a row."""
        ends = np.cumsum([len(variable.lower) for variable in self.variables]).tolist()
        places = [
            slice(end - len(variable.lower), end)
            for variable, end in zip(self.variables, ends, strict=True)
        ]
        return tuple(zip(self.variables, places, strict=True))

    def encode(self, x: Any) -> Array:
        """The row of a point, if every variable may take its value."""
        values = self._values(x)
        for variable, value, name in zip(
            self.variables, values, self.names or range(self.sides), strict=True
        ):
            checks.needs(variable.holds(value), "encode", f"{variable.needed} for {name!r}", value)
        return np.concatenate(
            [variable.encode(value) for variable, value in zip(self.variables, values, strict=True)]
        )

    def _values(self, x: Any) -> tuple[Any, ...]:
        """The values of x in the order of the variables."""
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
        """The point of a row, which is the nearest admissible one."""
        nearest = self.nearest(one_row("decode", row, self.dimension)[None])[0]
        values = tuple(variable.decode(nearest[place]) for variable, place in self.blocks)
        return dict(zip(self.names, values, strict=True)) if self.names else values

    def nearest(self, rows: Any) -> Array:
        """The admissible row nearest to each, variable by variable."""
        given = rows_of("nearest", rows, self.dimension)
        return np.hstack([variable.nearest(given[:, place]) for variable, place in self.blocks])

    def place(self, unit: Array) -> Array:
        """The rows of points u in [0, 1)^v, a number for each variable."""
        return np.hstack(
            [
                variable.place(column)
                for variable, column in zip(self.variables, unit.T, strict=True)
            ]
        )

    def moves(self, row: Array) -> Array:
        """The rows that differ from this one in one separate value."""
        tried: Array = np.vstack([row[None], *self._moves(row)])
        changed: Array = tried[(tried != row).any(1)]
        return changed

    def _moves(self, row: Array) -> Iterator[Array]:
        for variable, place in self.blocks:
            if variable.discrete:
                values = variable.moves(row[place])
                rows = np.repeat(row[None], len(values), axis=0)
                rows[:, place] = values
                yield rows

    def cover(self, size: int = COVER) -> Arms:
        """All points if there are no more than size, else evenly spread ones, all different.

        They are fewer than size where the floats between the bounds of the real variables are.
        """
        count = checks.whole("cover", "size", size)
        if self.count <= count:
            return Arms(self.all(), f"all points of {self}")
        rows = self._spread(count)
        return Arms(rows, f"a cover of {self} by {len(rows)} points")

    def all(self) -> Array:
        """Every row, if the box is finite."""
        checks.needs(math.isfinite(self.count), "all", "a box without real variables", self)
        return np.array(
            [
                np.concatenate(parts)
                for parts in product(*(variable.all() for variable in self.variables))
            ]
        )

    def _spread(self, count: int) -> Array:
        """The first different ones of the recurrence that covers a box; what a finite box lacks then, in its order."""
        for doubling in range(DOUBLINGS):
            rows = different(self.place(evenly_spread(count * 2**doubling, self.sides)))
            if len(rows) >= count:
                return rows[:count]
        return (
            different(np.vstack([rows, self.all()]))[:count] if math.isfinite(self.count) else rows
        )


def different(rows: Array) -> Array:
    """Each row once, where it comes first; -0.0 is 0.0."""
    plain = rows + 0.0
    first: Array = plain[np.sort(np.unique(plain, axis=0, return_index=True)[1])]
    return first
