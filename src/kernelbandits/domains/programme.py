"""Mixed-integer programmes over the constraints of a space: room, conflicts, rounding.

The columns are the numbers of a space (real ones scaled to [0, 1], those on a grid by their number
on it), one truth value for each value of a choice that a forbidden combination names, one for each
numerical alternative of a forbidden combination, and the room: the distance to every inequality,
in units of the sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kernelbandits.checks import Array

LEAST_ROOM = 1e-6
"""A set with less room, in units of the sides, is thin."""


class Alternative(NamedTuple):
    """One way to avoid a forbidden combination: by a choice, or by an inequality."""

    variable: int | None
    """The number of the choice's variable, or None for an inequality."""
    positions: tuple[int, ...]
    """The values of the choice, by position, that avoid the combination."""
    inequality: int
    """The number of the inequality, or -1."""


class Clause(NamedTuple):
    """A forbidden combination: at least one of its alternatives must hold."""

    owner: int
    """The number of its constraint."""
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """The constraints of a space as rows of numbers over the coordinates of a row."""

    equalities: Array
    """(q, d)"""
    equal_to: Array
    equality_owners: tuple[int, ...]
    """The constraint that each equality belongs to."""
    inequalities: Array
    """(m, d): inequalities @ values <= bounds, the first always, others as alternatives."""
    bounds: Array
    inequality_owners: tuple[int, ...]
    always: int
    """How many inequalities always hold."""
    clauses: tuple[Clause, ...]
    low: Array
    """The smallest value of each number, in its own units; 0 for other coordinates."""
    side: Array
    """The range of each number; 0 for other coordinates."""
    step: Array
    """The step of each number on a grid; 0 for others."""
    choices: dict[int, int]
    """The variables that clauses name -> how many values they have."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A point found: the numbers by coordinate, the positions of choices, and the room."""

    values: Array
    positions: dict[int, int]
    room: float


class Programme:
    """The mixed-integer programme of some of the constraints."""

    def __init__(self, system: LinearSystem, owners: Sequence[int]) -> None:
        self.system, self.owners = system, frozenset(owners)
        self.numbers = (system.side > 0).nonzero()[0]
        """The coordinates that are numbers."""
        grid = system.step[self.numbers] > 0
        self.unit = np.where(grid, system.step[self.numbers], system.side[self.numbers])
        """What one unit of each column is in the number's own units."""
        self.real = ~grid
        self.choice_columns: dict[int, int] = {}
        place = len(self.numbers)
        for variable, levels in system.choices.items():
            self.choice_columns[variable] = place
            place += levels
        self.alternatives = {
            alternative.inequality: place + number
            for number, alternative in enumerate(
                alternative
                for clause in system.clauses
                for alternative in clause.alternatives
                if alternative.inequality >= 0
            )
        }
        self.room_column = place + len(self.alternatives)
        self.width = self.room_column + 1
        self.rows: list[Array] = []
        self.lows: list[float] = []
        self.highs: list[float] = []
        self._add_constraints()

    def _row(self) -> Array:
        return np.zeros(self.width)

    def _add(self, row: Array, low: float, high: float) -> None:
        # A row of zeros, over single values only, stays as it is.
        size = float(np.abs(row[: self.room_column]).max()) or 1.0
        self.rows.append(row / size)
        self.lows.append(low / size)
        self.highs.append(high / size)

    def _number_row(self, coefficients: Array) -> tuple[Array, float]:
        """Return a row over the numbers in the units of the columns, and its value at the lows."""
        row = self._row()
        row[: len(self.numbers)] = coefficients[self.numbers] * self.unit
        return row, float(coefficients @ self.system.low)

    def _add_constraints(self) -> None:
        system = self.system
        for coefficients, target, owner in zip(
            system.equalities, system.equal_to, system.equality_owners, strict=True
        ):
            if owner in self.owners:
                row, at_low = self._number_row(coefficients)
                self._add(row, target - at_low, target - at_low)
        for number, coefficients in enumerate(system.inequalities):
            if system.inequality_owners[number] in self.owners:
                self._add_inequality(number, coefficients)
        for place in np.flatnonzero(self.real).tolist():
            # A real number keeps the room to both of its bounds.
            for sign, bound in ((-1.0, 0.0), (1.0, 1.0)):
                row = self._row()
                row[place], row[self.room_column] = sign, 1.0
                self._add(row, -np.inf, bound)
        for clause in system.clauses:
            if clause.owner in self.owners:
                self._add_clause(clause)
        for variable, place in self.choice_columns.items():
            row = self._row()
            row[place : place + system.choices[variable]] = 1.0
            self._add(row, 1.0, 1.0)

    def _add_inequality(self, number: int, coefficients: Array) -> None:
        row, at_low = self._number_row(coefficients)
        parts = row[: len(self.numbers)]
        row[self.room_column] = float(np.sqrt((parts[self.real] ** 2).sum()))
        bound = float(self.system.bounds[number]) - at_low
        if number in self.alternatives:
            # The inequality is imposed where its truth value is 1: bound + M elsewhere.
            tops = np.where(self.real, 1.0, np.rint(self.system.side[self.numbers] / self.unit))
            largest = float(np.maximum(parts * tops, 0.0).sum()) + abs(row[self.room_column])
            excess = max(largest - bound, 0.0)
            row[self.alternatives[number]] = excess
            bound += excess
        self._add(row, -np.inf, bound)

    def _add_clause(self, clause: Clause) -> None:
        row = self._row()
        for alternative in clause.alternatives:
            if alternative.variable is None:
                row[self.alternatives[alternative.inequality]] = 1.0
            else:
                place = self.choice_columns[alternative.variable]
                row[[place + position for position in alternative.positions]] = 1.0
        self._add(row, 1.0, np.inf)

    # ------------------------------------------------------------------ solving

    def most_room(self) -> Solution | None:
        """Return the point with the most room; None if there is no point at all."""
        objective = self._row()
        objective[self.room_column] = -1.0
        return self._solve(objective)

    def extreme_point(self, objective: Array) -> Solution | None:
        """Return the point that minimises a sum over all columns but the room."""
        whole = self._row()
        whole[: self.room_column] = objective[: self.room_column]
        return self._solve(whole, room=0.0)

    def nearest(self, values: Array, positions: dict[int, int]) -> Solution | None:
        """Return the point nearest to a given one.

        The distance is the sum of absolute distances, real numbers in sides and others in steps
        over the number of values; a changed choice counts as a side.
        """
        count = len(self.numbers)
        target = (values[self.numbers] - self.system.low[self.numbers]) / self.unit
        tops = np.where(self.real, 1.0, np.rint(self.system.side[self.numbers] / self.unit))
        # Columns for the absolute distances follow the others.
        wide = self.width + count
        rows = [np.concatenate([row, np.zeros(count)]) for row in self.rows]
        lows, highs = list(self.lows), list(self.highs)
        for place in range(count):
            for sign in (1.0, -1.0):
                row = np.zeros(wide)
                row[place], row[self.width + place] = sign, -1.0
                rows.append(row)
                lows.append(-np.inf)
                highs.append(sign * target[place])
        objective = np.zeros(wide)
        objective[self.width :] = 1 / np.maximum(tops, 1.0)
        for variable, position in positions.items():
            if variable in self.choice_columns:
                objective[self.choice_columns[variable] + position] = -1.0
        found = self._run(objective, rows, lows, highs, room=0.0)
        return None if found is None else self._solution(found)

    def _solve(self, objective: Array, room: float = 0.5) -> Solution | None:
        found = self._run(objective, self.rows, self.lows, self.highs, room)
        return None if found is None else self._solution(found)

    def _run(
        self,
        objective: Array,
        rows: list[Array],
        lows: list[float],
        highs: list[float],
        room: float,
    ) -> Array | None:
        # Imported here: it takes a fifth of a second, and only constraints need it.
        from scipy.optimize import Bounds, LinearConstraint, milp

        width = len(objective)
        upper = np.full(width, np.inf)
        upper[: self.width] = 1.0
        grid = np.rint(self.system.side[self.numbers] / self.unit)
        upper[: len(self.numbers)] = np.where(self.real, 1.0, grid)
        upper[self.room_column] = room if self.real.any() else 0.0
        whole = np.zeros(width, dtype=np.int64)
        whole[: self.room_column] = 1
        whole[: len(self.numbers)] = ~self.real
        constraints: Any = LinearConstraint(np.array(rows), lows, highs) if rows else ()
        found = milp(
            objective,
            integrality=whole,
            bounds=Bounds(np.zeros(width), upper),
            constraints=constraints,
        )
        return None if found.x is None else np.asarray(found.x)

    def _solution(self, found: Array) -> Solution:
        places = found[: len(self.numbers)]
        places = np.where(self.real, np.clip(places, 0.0, 1.0), np.rint(places))
        values = self.system.low.copy()
        values[self.numbers] += places * self.unit
        positions = {
            variable: int(found[place : place + self.system.choices[variable]].argmax())
            for variable, place in self.choice_columns.items()
        }
        return Solution(values, positions, float(found[self.room_column]))


def find_conflict(system: LinearSystem, owners: Sequence[int]) -> tuple[int, ...]:
    """Return a smallest set of constraints that leave no room together.

    Constraints are left out one by one as long as the others still leave no room.
    """
    kept = list(owners)
    for owner in owners:
        rest = [other for other in kept if other != owner]
        solution = Programme(system, rest).most_room()
        if solution is None or lacks_room(system, solution):
            kept = rest
    return tuple(kept)


def lacks_room(system: LinearSystem, solution: Solution) -> bool:
    """Tell whether real numbers have too little room to move."""
    real = (system.side > 0) & (system.step == 0)
    return bool(real.any()) and solution.room < LEAST_ROOM
