"""A part of a mixed box: the points at which some variables have given values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains.constraints import (
    RELATIONS,
    Comparison,
    Constraint,
    Forbidden,
    LinearConstraint,
    OneOf,
)
from kernelbandits.domains.mixed import MixedBox


@dataclass(frozen=True)
class Part:
    """The points of a mixed box at which some variables have given values.

    >>> from kernelbandits import Category, MixedBox, Real
    >>> whole = MixedBox({"heat": Real(20, 90), "acid": Category(("a", "b"))})
    >>> part = Part(whole, {"acid": "b"})
    >>> part.box.names
    ('heat',)
    >>> part.expand([[35.0]]).round(3)
    array([[35.   ,  0.   ,  0.707]])
    >>> {"heat": 35.0, "acid": "a"} in part
    False
    """

    whole: MixedBox
    values: Mapping[str, Any]
    """Name -> value of each variable that is fixed."""

    def __post_init__(self) -> None:
        variables = dict(zip(self.whole.names, self.whole.variables, strict=True))
        for name, value in self.values.items():
            checks.needs(name in variables, "Part", f"names among {self.whole.names}", name)
            holds = variables[name].holds(value)
            checks.needs(holds, "Part", f"{variables[name].requirement} for {name!r}", value)

    @cached_property
    def box(self) -> MixedBox:
        """The variables that are left, with what the constraints demand of them."""
        named = zip(self.whole.names, self.whole.variables, strict=True)
        left = {name: variable for name, variable in named if name not in self.values}
        return MixedBox(left, constraints=tuple(self._constraints()))

    def _constraints(self) -> Iterator[Constraint]:
        for one in self.whole.constraints:
            if isinstance(one, Forbidden):
                conditions = [self._insert(condition) for condition in one.conditions]
                open_ = tuple(condition for condition in conditions if condition is not True)
                if False not in conditions and open_:
                    yield Forbidden(open_)
            else:
                left = self._insert(one)
                if isinstance(left, Comparison):
                    yield LinearConstraint(left.coefficients, left.relation, left.bound)

    def _insert(self, condition: Comparison | OneOf) -> Comparison | OneOf | bool:
        """Return the condition with fixed values inserted, or whether it holds if none is open."""
        if isinstance(condition, OneOf):
            fixed = condition.name in self.values
            return condition.holds(self.values[condition.name]) if fixed else condition
        pairs = condition.coefficients
        known = sum(factor * self.values[name] for name, factor in pairs if name in self.values)
        left = tuple((name, factor) for name, factor in pairs if name not in self.values)
        bound = condition.bound - known
        if left:
            return Comparison(left, condition.relation, bound)
        return bool(RELATIONS[condition.relation](known, condition.bound))

    @cached_property
    def columns(self) -> Indices:
        """Which coordinates of the whole box are those of the variables that are left."""
        slices = zip(self.whole.names, self.whole.blocks, strict=True)
        free = [range(at.start, at.stop) for name, (_, at) in slices if name not in self.values]
        return np.array([column for columns in free for column in columns], dtype=np.int64)

    @cached_property
    def _fixed_row(self) -> Array:
        row = np.zeros(self.whole.dimension)
        for name, (variable, at) in zip(self.whole.names, self.whole.blocks, strict=True):
            if name in self.values:
                row[at] = variable.encode(self.values[name])
        return row

    def expand(self, rows: Any) -> Array:
        """Return rows of the variables that are left as rows of the whole box."""
        whole: Array = np.tile(self._fixed_row, (len(rows), 1))
        whole[:, self.columns] = rows
        return whole

    def complete(self, x: Mapping[str, Any]) -> dict[str, Any]:
        """Return a point of the variables that are left as a point of the whole box."""
        return {name: self.values.get(name, x.get(name)) for name in self.whole.names}

    def __contains__(self, x: Any) -> bool:
        same = x in self.whole and all(
            variable.encode(x[name]) == variable.encode(self.values[name])
            for name, variable in zip(self.whole.names, self.whole.variables, strict=True)
            if name in self.values
        )
        return bool(same)
