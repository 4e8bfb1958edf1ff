"""Mixed-integer programmes over the constraints of a space: room, conflicts, the nearest point.

The columns are the tied numbers of a space (real ones scaled to [0, 1], those on a grid by their
number on it), one truth value for each value of a choice that a forbidden combination names, one
for each inequality that avoids a forbidden combination, the room, which is the distance to every
inequality in units of the sides, and for each number its distance from a target.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains.linear_system import LinearSystem

LEAST_ROOM = 1e-6
"""A set with less room, in units of the sides, is thin."""

ProgrammeRow = tuple[Array, float, float]
"""Factors by column, and the least and the greatest value of the sum."""


class Solution(NamedTuple):
    """A point in search coordinates, and its room."""

    row: Array
    room: float


class Programme:
    """The mixed-integer programme of some of the constraints, by default all."""

    def __init__(self, system: LinearSystem, owners: Iterable[int] | None = None) -> None:
        self.system = system
        self.owners = set(range(len(system.constraints)) if owners is None else owners)
        coordinates = system.coordinates
        self.numbers = np.flatnonzero(coordinates.is_real | coordinates.is_grid)
        """The coordinates that are tied numbers."""
        self.real = coordinates.is_real[self.numbers]
        sides = coordinates.sides[self.numbers]
        self.unit = np.where(self.real, sides, coordinates.step[self.numbers])
        """What one unit of each column is in the number's own units."""
        self.tops = np.rint(sides / self.unit)
        """The greatest value of each column of a number."""
        place = len(self.numbers)
        self.choices: dict[int, slice] = {}
        for variable, levels in system.choices.items():
            self.choices[variable] = slice(place, place + levels)
            place += levels
        self.room = place + len(system.bounds) - system.always
        """The column of the room; before it are those of the inequalities of clauses."""
        self.distances = slice(self.room + 1, self.room + 1 + len(self.numbers))
        self.rows = [*self._linear_rows(), *self._bound_rows(), *self._clause_rows()]

    def _row(self, *entries: tuple[Any, Any]) -> Array:
        row = np.zeros(self.distances.stop)
        for place, value in entries:
            row[place] = value
        return row

    def _linear_rows(self) -> Iterator[ProgrammeRow]:
        system, numbers = self.system, slice(len(self.numbers))
        lowest = system.coordinates.lower[self.numbers]
        for row, target, owner in zip(
            system.equalities, system.equal_to, system.equality_owners, strict=True
        ):
            if owner in self.owners:
                left = float(target - row[self.numbers] @ lowest)
                yield self._row((numbers, row[self.numbers] * self.unit)), left, left
        for number, owner in enumerate(system.inequality_owners):
            if owner in self.owners:
                factors = system.inequalities[number, self.numbers]
                bound = float(system.bounds[number] - factors @ lowest)
                parts = factors * self.unit
                length = float(np.sqrt((parts[self.real] ** 2).sum()))
                row = self._row((numbers, parts), (self.room, length))
                if number >= system.always:
                    # It is imposed where its truth value is 1: bound + M elsewhere.
                    largest = float(np.maximum(parts * self.tops, 0.0).sum()) + length
                    excess = max(largest - bound, 0.0)
                    row[self._column_of(number)] = excess
                    bound += excess
                yield row, -np.inf, bound

    def _column_of(self, inequality: int) -> int:
        """Return the column of the truth value of an inequality of a clause."""
        return self.room - len(self.system.bounds) + inequality

    def _bound_rows(self) -> Iterator[ProgrammeRow]:
        """Yield that a real number keeps the room to both of its bounds."""
        for place in np.flatnonzero(self.real).tolist():
            yield self._row((place, -1.0), (self.room, 1.0)), -np.inf, 0.0
            yield self._row((place, 1.0), (self.room, 1.0)), -np.inf, 1.0

    def _clause_rows(self) -> Iterator[ProgrammeRow]:
        """Yield that something avoids each clause, and that each choice has one value."""
        for clause in self.system.clauses:
            if clause.owner in self.owners:
                choices = ((self.choices[one], allowed) for one, allowed in clause.choices.items())
                others = ((self._column_of(number), 1.0) for number in clause.inequalities)
                yield self._row(*choices, *others), 1.0, np.inf
        for values in self.choices.values():
            yield self._row((values, 1.0)), 1.0, 1.0

    # ------------------------------------------------------------------ solving

    def most_room(self, base: Array) -> Solution | None:
        """Return the point with the most room; None if there is no point at all.

        Its free coordinates are those of `base`.
        """
        return self._solve(self._row((self.room, -1.0)), self.rows, 0.5, base)

    def random_corner(self, base: Array, rng: np.random.Generator) -> Array | None:
        """Return the point that minimises a random sum over the columns."""
        objective = self._row((slice(self.room), rng.normal(size=self.room)))
        found = self._solve(objective, self.rows, 0.0, base)
        return None if found is None else found.row

    def nearest(self, search: Array) -> Array | None:
        """Return the point nearest to a row.

        The distance is the sum of absolute distances, real numbers in sides and others in steps
        over the number of values; a changed choice counts as a side.
        """
        coordinates = self.system.coordinates
        target = (search - coordinates.lower)[self.numbers] / self.unit
        rows = list(self.rows)
        for place, goal in enumerate(target.tolist()):
            distance = self.distances.start + place
            rows.append((self._row((place, 1.0), (distance, -1.0)), -np.inf, goal))
            rows.append((self._row((place, -1.0), (distance, -1.0)), -np.inf, -goal))
        objective = self._row((self.distances, 1 / self.tops))
        for variable, values in self.choices.items():
            position = int(coordinates.positions(variable, search[None])[0])
            objective[values.start + position] = -1.0
        found = self._solve(objective, rows, 0.0, search)
        return None if found is None else found.row

    def _solve(
        self, objective: Array, rows: list[ProgrammeRow], room: float, base: Array
    ) -> Solution | None:
        """Return the point that minimises an objective."""
        # Imported here: it takes a fifth of a second, and only constraints need it.
        from scipy.optimize import Bounds, LinearConstraint, milp

        upper = self._row((slice(None, self.room), 1.0), (self.distances, np.inf))
        upper[: len(self.numbers)] = self.tops
        upper[self.room] = room if self.real.any() else 0.0
        whole = self._row((slice(None, self.room), 1), (slice(len(self.numbers)), ~self.real))
        constraints: Any = ()
        if rows:
            matrix, lows, highs = (np.array(parts) for parts in zip(*rows, strict=True))
            # A row of zeros, over single values only, stays as it is.
            sizes = np.abs(matrix[:, : self.room]).max(1)
            sizes = np.where(sizes > 0, sizes, 1.0)
            constraints = LinearConstraint(matrix / sizes[:, None], lows / sizes, highs / sizes)
        bounds = Bounds(np.zeros(len(upper)), upper)
        found = milp(
            objective, integrality=whole.astype(int), bounds=bounds, constraints=constraints
        )
        if found.x is None:
            return None
        return Solution(self._point(found.x, base), float(found.x[self.room]))

    def _point(self, columns: Array, base: Array) -> Array:
        """Return a row with the tied numbers and choices of a solution."""
        coordinates, point = self.system.coordinates, base.copy()
        places = columns[: len(self.numbers)]
        places = np.where(self.real, np.clip(places, 0.0, 1.0), np.rint(places))
        point[self.numbers] = coordinates.lower[self.numbers] + places * self.unit
        for number, values in self.choices.items():
            variable, place = coordinates.box.blocks[number]
            point[place] = variable.all_coordinates()[int(columns[values].argmax())]
        return point


def find_conflict(system: LinearSystem, base: Array) -> list[int]:
    """Return a smallest set of constraints that leave no room together.

    Constraints are left out one by one as long as the others still leave no room.
    """
    kept = list(range(len(system.constraints)))
    for owner in list(kept):
        rest = [other for other in kept if other != owner]
        if lacks_room(system, Programme(system, rest).most_room(base)):
            kept = rest
    return kept


def lacks_room(system: LinearSystem, solution: Solution | None) -> bool:
    """Tell whether there is no point, or real numbers have too little room to move."""
    real = bool(system.coordinates.is_real.any())
    return solution is None or (real and solution.room < LEAST_ROOM)
