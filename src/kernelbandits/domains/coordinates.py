"""The coordinates in which constraints are linear.

A row has *search coordinates*: as kernels see it, except that a number on a log scale that a
constraint names has its value as coordinate, because constraints are linear in values. Variables
that no constraint names are *free*; the others are *tied*.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains.constraints import Constraint
from kernelbandits.domains.variables import Number

if TYPE_CHECKING:
    from kernelbandits.domains.mixed import MixedBox

Mask = npt.NDArray[np.bool_]


class SearchCoordinates:
    """What each coordinate of a row of a mixed box is, for the constraints that name it."""

    def __init__(self, box: MixedBox, constraints: tuple[Constraint, ...]) -> None:
        self.box, self.free_box = box, box.without_constraints
        self.labels = box.names or tuple(f"x{number + 1}" for number in range(box.sides))
        self._find = {unicodedata.normalize("NFKC", name): i for i, name in enumerate(self.labels)}
        self.imposed = constraints
        """The constraints as they are imposed: where all variables that they name are there."""
        if box.activity is not None:
            impose = box.activity.impose
            self.imposed = tuple(impose(one, self.number_of, self.labels) for one in constraints)
        self.tied = sorted({self.number_of(name) for one in self.imposed for name in one.names})
        """The numbers of the variables that a constraint names."""
        self.column: dict[int, int] = {}
        """The coordinate of each number with more than one value."""
        self.is_tied, self.is_log, self.is_real = np.zeros((3, box.dimension), dtype=bool)
        """Which coordinates a constraint names; and of these, which have their value in place of
        its logarithm, and which are real numbers without a grid."""
        self.step = np.zeros(box.dimension)
        """The step of each tied number on a grid; 0 for other coordinates."""
        self.lower, self.upper = np.array(box.lower), np.array(box.upper)
        for i, (variable, place) in enumerate(box.blocks):
            tied = i in self.tied
            self.is_tied[place] = tied
            if isinstance(variable, Number) and not variable.single:
                j = self.column[i] = place.start
                if tied:
                    needed = "no digits for a variable that a constraint names"
                    checks.needs(variable.digits is None, "MixedBox", needed, self.labels[i])
                    self.is_real[j], self.is_log[j] = not variable.discrete, variable.log
                    self.step[j] = variable.step or 0.0
                    self.lower[j], self.upper[j] = variable.low, variable.last
        self.is_grid = self.step > 0
        self.sides = self.upper - self.lower
        self.real_sides = np.where(self.is_real, self.sides, 0.0)

    @property
    def dimension(self) -> int:
        return len(self.lower)

    def number_of(self, name: str) -> int:
        """Return the number of the variable with this name."""
        place = self._find.get(unicodedata.normalize("NFKC", name))
        if place is None:
            raise ValueError(f"a constraint needs names among {self.labels}, got {name!r}")
        return place

    def to_search(self, rows: Array) -> Array:
        """Return rows in search coordinates."""
        search = rows.copy()
        for number, j in self.column.items():
            if self.is_log[j]:
                variable = self.box.variables[number]
                values = variable.from_coordinate(rows[:, j])
                search[:, j] = self._on_grid(variable, values) if variable.discrete else values
        return search

    def to_rows(self, search: Array) -> Array:
        """Return rows as kernels see them."""
        rows = search.copy()
        for number, j in self.column.items():
            if self.is_log[j]:
                inside = np.clip(search[:, j], self.lower[j], self.upper[j])
                rows[:, j] = self.box.variables[number].to_coordinate(inside)
        return rows

    def round_to_grids(self, search: Array) -> Array:
        """Return rows within the bounds whose values on grids are exact."""
        rounded = np.clip(search, self.lower, self.upper)
        for number, j in self.column.items():
            variable = self.box.variables[number]
            if self.is_grid[j]:
                rounded[:, j] = self._on_grid(variable, rounded[:, j])
            elif variable.discrete:
                rounded[:, j] = variable.nearest(rounded[:, j])
        return rounded

    def _on_grid(self, variable: Number, values: Array) -> Array:
        return variable.grid_value(variable.grid_number(values))

    def positions(self, number: int, search: Array) -> Indices:
        """Return the position of the value that a choice has in each row."""
        columns = search[:, self.box.blocks[number][1]]
        places = np.rint(columns[:, 0]) if columns.shape[1] == 1 else columns.argmax(1)
        return places.astype(np.int64)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Return random rows that need not satisfy the constraints."""
        return self.to_search(self.free_box.from_unit(rng.random((count, self.box.sides))))
