"""The constraints of a mixed box as linear rows, and which points satisfy them.

A forbidden combination is a clause: one of its choices or one of its inequalities must avoid it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains.constraints import (
    RELATIONS,
    Comparison,
    Condition,
    Constraint,
    Forbidden,
    LinearConstraint,
    OneOf,
)
from kernelbandits.domains.coordinates import Mask, SearchCoordinates
from kernelbandits.domains.variables import DIGITS, EnumeratedVariable, Number

TOLERANCE = 1e-9
"""How far a point may miss a constraint, relative to the size of its terms."""
ROUNDING = 8 * np.finfo(float).eps
"""How far a search stays away from an inequality, relative to the size of its terms."""


class LinearRow(NamedTuple):
    """A sum over the coordinates of a row, and what it is compared with."""

    factors: Array
    bound: float
    owner: int
    """The number of the constraint that it comes from."""


class Clause(NamedTuple):
    """A forbidden combination: at least one choice or one inequality must avoid it."""

    owner: int
    """The number of its constraint."""
    choices: dict[int, Mask]
    """The number of a variable -> which of its values avoid the combination."""
    inequalities: list[int]
    """The numbers of the inequalities that avoid it."""


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """The constraints of a mixed box as rows of numbers over search coordinates."""

    coordinates: SearchCoordinates
    constraints: tuple[Constraint, ...]
    equalities: Array
    """(q, d): equalities @ x == equal_to"""
    equal_to: Array
    equality_owners: list[int]
    """The constraint that each equality comes from."""
    inequalities: Array
    """(m, d): inequalities @ x <= bounds, the first always, the others where a clause says so."""
    bounds: Array
    inequality_owners: list[int]
    always: int
    """How many inequalities always hold."""
    clauses: tuple[Clause, ...]

    @cached_property
    def sizes(self) -> Array:
        """The size of the terms of each inequality, to which tolerances are relative."""
        return term_sizes(self.coordinates, self.inequalities, self.bounds)

    @cached_property
    def equality_sizes(self) -> Array:
        return term_sizes(self.coordinates, self.equalities, self.equal_to)

    @cached_property
    def margins(self) -> Array:
        """How far a search stays away from each inequality."""
        # Values on a log scale are rounded to twelve digits when they are written.
        logs = self.coordinates.is_log & self.coordinates.is_real
        written = (self.inequalities[:, logs] != 0).any(1)
        return self.sizes * np.where(written, 4 * 10.0 ** (1 - DIGITS), 2 * ROUNDING)

    @cached_property
    def choices(self) -> dict[int, int]:
        """The variables that clauses name -> how many values they have."""
        named = [one for clause in self.clauses for one in clause.choices.items()]
        return {number: len(allowed) for number, allowed in sorted(named, key=lambda one: one[0])}

    # ------------------------------------------------------------------ membership

    def excess(self, search: Array) -> Array:
        """Return by how much each row misses each constraint, relative to the size of its terms."""
        over = self._over(search)
        missed = np.zeros((len(search), len(self.constraints)))
        missed[:, self.inequality_owners[: self.always]] = over[:, : self.always]
        apart = np.abs(search @ self.equalities.T - self.equal_to) / self.equality_sizes
        missed[:, self.equality_owners] = apart
        for clause in self.clauses:
            avoided = self._avoiding_choice(clause, search)
            least = over[:, clause.inequalities].min(1, initial=np.inf)
            missed[:, clause.owner] = np.where(avoided, 0.0, least)
        return missed

    def holds(self, search: Array, tolerance: float = TOLERANCE) -> Mask:
        """Tell which rows satisfy all constraints; the tolerance is that of the inequalities."""
        allowed = np.full(len(self.constraints), tolerance)
        allowed[self.equality_owners] = TOLERANCE
        return np.asarray((self.excess(search) <= allowed).all(1))

    def broken_constraint(self, search: Array) -> Constraint | None:
        """Return the first constraint that a row does not satisfy, or None."""
        broken = np.flatnonzero(self.excess(search[None])[0] > TOLERANCE)
        return self.constraints[broken[0]] if len(broken) else None

    def imposed_bounds(self, search: Array) -> Array:
        """Return the bounds of all inequalities for each row; infinite where one is not imposed.

        Of the inequalities of a clause that no choice avoids, the one with the most room is
        imposed.
        """
        over = self._over(search)
        imposed = np.full(over.shape, np.inf)
        imposed[:, : self.always] = self.bounds[: self.always]
        for clause in self.clauses:
            if clause.inequalities:
                lines = np.flatnonzero(~self._avoiding_choice(clause, search))
                numbers = np.array(clause.inequalities)
                roomiest = numbers[over[np.ix_(lines, numbers)].argmin(1)]
                imposed[lines, roomiest] = self.bounds[roomiest]
        return imposed

    def _over(self, search: Array) -> Array:
        over: Array = (search @ self.inequalities.T - self.bounds) / self.sizes
        return over

    def _avoiding_choice(self, clause: Clause, search: Array) -> Mask:
        """Tell in which rows a choice avoids the combination."""
        avoided = np.zeros(len(search), dtype=bool)
        for number, allowed in clause.choices.items():
            avoided |= allowed[self.coordinates.positions(number, search)]
        return avoided


def term_sizes(coordinates: SearchCoordinates, rows: Array, bounds: Array) -> Array:
    """Return the size of the terms of each row."""
    largest = np.maximum(np.abs(coordinates.lower), np.abs(coordinates.upper))
    sizes: Array = np.maximum(np.abs(rows) @ largest, np.abs(bounds))
    return np.maximum(sizes, 1e-300)


# ---------------------------------------------------------------------- compiling


def compile_constraints(
    coordinates: SearchCoordinates, constraints: tuple[Constraint, ...]
) -> LinearSystem:
    """Return constraints as linear rows, and clauses that choose among some of them."""
    equalities: list[LinearRow] = []
    inequalities: list[LinearRow] = []
    for owner, constraint in enumerate(coordinates.imposed):
        if isinstance(constraint, LinearConstraint):
            factors, bound = read_row(coordinates, constraint)
            sign = -1.0 if constraint.relation == ">=" else 1.0
            kept = equalities if constraint.relation == "==" else inequalities
            kept.append(LinearRow(sign * factors, sign * bound, owner))
    always, clauses = len(inequalities), []
    for owner, constraint in enumerate(coordinates.imposed):
        if isinstance(constraint, Forbidden):
            listed = [ways_to_avoid(coordinates, one, owner) for one in constraint.conditions]
            if None in listed:
                continue  # A condition never holds: nothing is forbidden.
            clause = Clause(owner, {}, [])
            for way in (way for ways in listed for way in ways or ()):
                if isinstance(way, LinearRow):
                    clause.inequalities.append(len(inequalities))
                    inequalities.append(way)
                else:
                    number, allowed = way
                    clause.choices[number] = clause.choices.get(number, False) | allowed
            clauses.append(clause)
    return LinearSystem(
        coordinates,
        constraints,
        *stack_rows(coordinates, equalities),
        *stack_rows(coordinates, inequalities),
        always,
        tuple(clauses),
    )


def stack_rows(
    coordinates: SearchCoordinates, rows: list[LinearRow]
) -> tuple[Array, Array, list[int]]:
    """Return the factors of rows as a matrix, their bounds, and their constraints."""
    matrix = np.array([row.factors for row in rows]).reshape(len(rows), coordinates.dimension)
    return matrix, np.array([row.bound for row in rows]), [row.owner for row in rows]


def read_row(coordinates: SearchCoordinates, comparison: Comparison) -> tuple[Array, float]:
    """Return a comparison as factors by coordinate, and its bound without single values."""
    factors, bound = np.zeros(coordinates.dimension), comparison.bound
    for name, factor in comparison.coefficients:
        number = coordinates.number_of(name)
        variable = coordinates.box.variables[number]
        if not isinstance(variable, Number):
            needed = f"numbers in sums and comparisons ({name!r} is a choice: use == or in)"
            raise ValueError(f"a constraint needs {needed}, got {str(comparison)!r}")
        if variable.single:
            bound -= factor * float(variable.low)
        else:
            factors[coordinates.column[number]] += factor
    return factors, bound


def ways_to_avoid(
    coordinates: SearchCoordinates, condition: Condition, owner: int
) -> list[LinearRow | tuple[int, Mask]] | None:
    """Return what avoids a condition: an inequality, or a variable and which of its values do.

    None is returned if the condition never holds.
    """
    condition = as_choice(coordinates, condition)
    if isinstance(condition, OneOf):
        number = coordinates.number_of(condition.name)
        values = coordinates.box.variables[number].values
        allowed = np.array([not condition.holds(value) for value in values])
        if len(values) == 1:
            return None if allowed[0] else []
        return [(number, allowed)]
    factors, bound = read_row(coordinates, condition)
    if not factors.any():
        return [] if RELATIONS[condition.relation](0.0, bound) else None
    if condition.relation == "!=":
        needed = "no != between numbers in a forbidden combination"
        raise ValueError(f"a constraint needs {needed}, got {str(condition)!r}")
    # The opposite of x >= 60 is x < 60, which a search reaches up to twice the tolerance: a value
    # of the user that meets the bound exactly is still forbidden. On a grid it is half a step,
    # since there is no value between.
    steps = np.abs(factors * coordinates.step)[factors != 0]
    size = float(term_sizes(coordinates, factors[None], np.array([bound]))[0])
    gap = float(steps.min()) / 2 if steps.all() else 2 * TOLERANCE * size
    below = LinearRow(factors, bound - (gap if condition.relation != ">" else 0.0), owner)
    above = LinearRow(-factors, -bound - (gap if condition.relation != "<" else 0.0), owner)
    if condition.relation == "==":
        return [below, above]
    return [below if condition.relation in (">", ">=") else above]


def as_choice(coordinates: SearchCoordinates, condition: Condition) -> Condition:
    """Return `x == 3` as a condition on a choice, if x is one; check the values of a choice."""
    if isinstance(condition, Comparison) and len(condition.names) == 1:
        (name, factor), relation = condition.coefficients[0], condition.relation
        variable = coordinates.box.variables[coordinates.number_of(name)]
        if isinstance(variable, EnumeratedVariable) and relation in ("==", "!="):
            condition = OneOf(name, (condition.bound / factor,), relation == "!=")
    if isinstance(condition, OneOf):
        variable = coordinates.box.variables[coordinates.number_of(condition.name)]
        single = len(condition.values) == 1 and checks.is_number(condition.values[0])
        if isinstance(variable, Number) and single:
            relation = "!=" if condition.excluded else "=="
            return Comparison({condition.name: 1.0}, relation, condition.values[0])
        choice = isinstance(variable, EnumeratedVariable)
        for value in condition.values:
            needed = f"{variable.requirement} for {condition.name!r}"
            checks.needs(choice and variable.holds(value), "a constraint", needed, value)
    return condition
