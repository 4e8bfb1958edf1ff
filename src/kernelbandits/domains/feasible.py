"""The points of a mixed box that satisfy its constraints: membership, samples, moves, rounding.

Inside, a row has *search coordinates*: as kernels see it, except that a number on a log scale that
a constraint names has its value as coordinate, because constraints are linear in values. Variables
that no constraint names are *free*; the others are *tied*. With the choices and grid values held
fixed, and one alternative taken for each forbidden combination, the tied real numbers lie in a
polytope.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains.bfgs import STEPS, USUAL, Function, Halving, ascend, evaluate
from kernelbandits.domains.constraints import (
    Comparison,
    Condition,
    Constraint,
    Forbidden,
    LinearConstraint,
    OneOf,
)
from kernelbandits.domains.polytope import (
    Mask,
    PolytopeLimits,
    nearest_inside,
    null_basis,
)
from kernelbandits.domains.programme import (
    Alternative,
    Clause,
    LinearSystem,
    Programme,
    Solution,
    find_conflict,
    lacks_room,
)
from kernelbandits.domains.variables import DIGITS, EnumeratedVariable, Number
from kernelbandits.streams import Streams

if TYPE_CHECKING:
    from kernelbandits.domains.mixed import MixedBox

TOLERANCE = 1e-9
"""How far a point may miss a constraint, relative to the size of its terms."""
ROUNDING = 8 * np.finfo(float).eps
"""How far a search stays away from an inequality, relative to the size of its terms."""
POOL = 512
"""How many points are kept to start samples from."""
CORNERS = 24
"""From how many points, found by random objectives, the first samples start."""
MOST_STEPS = 40
"""The most rounds in which points are moved towards others by whole steps."""
FRESH = 4
"""How many moves separate a sample from the pool."""
MOST_LISTED = 100_000
"""A finite set with more points is not counted."""
MOST_EXPANDED = 2**22
"""The most coordinates of partial points while a finite set is listed, 32 MB."""

LinearRow = tuple[Array, float, int]
"""Factors by coordinate, a bound, and the number of the constraint that they come from."""


class FeasibleSet:
    """What the constraints of a mixed box leave of it."""

    def __init__(self, box: MixedBox, constraints: tuple[Constraint, ...]) -> None:
        self.box, self.constraints = box, constraints
        self.dimension = box.dimension
        self.labels = box.names or tuple(f"x{number + 1}" for number in range(box.sides))
        self._find = {unicodedata.normalize("NFKC", name): i for i, name in enumerate(self.labels)}
        self.tied = sorted({self.number_of(name) for one in constraints for name in one.names})
        """The numbers of the variables that a constraint names."""
        self._describe_coordinates()
        self.system = self._compile()
        self.programme = Programme(self.system, range(len(constraints)))
        self.sizes = self._sizes(self.system.inequalities, self.system.bounds)
        # Values on a log scale are rounded to twelve digits when they are written.
        logs = (self.system.inequalities[:, self.is_log & self.is_real] != 0).any(1)
        self.margins = self.sizes * np.where(logs, 4 * 10.0 ** (1 - DIGITS), 2 * ROUNDING)
        """How far a search stays away from each inequality."""
        self.equality_sizes = self._sizes(self.system.equalities, self.system.equal_to)
        self._refuse_empty()

    # ------------------------------------------------------------------ compiling

    def number_of(self, name: str) -> int:
        """Return the number of the variable with this name."""
        place = self._find.get(unicodedata.normalize("NFKC", name))
        if place is None:
            needed = f"names among {self.labels}"
            raise ValueError(f"a constraint needs {needed}, got {name!r}")
        return place

    def _describe_coordinates(self) -> None:
        """Find out what each coordinate of a row is."""
        d = self.dimension
        self.is_tied, self.is_real, self.is_log = (np.zeros(d, dtype=bool) for _ in range(3))
        self.low, self.side, self.step = np.zeros((3, d))
        self.column: dict[int, int] = {}
        """The coordinate of each number with more than one value."""
        for i, (variable, place) in enumerate(self.box.blocks):
            self.is_tied[place] = i in self.tied
            if isinstance(variable, Number) and not variable.single:
                j = self.column[i] = place.start
                self.is_real[j] = not variable.discrete
                self.is_log[j] = variable.log and i in self.tied
                self.low[j], self.side[j] = variable.low, variable.last - variable.low
                self.step[j] = variable.step or 0.0
        self.tied_real = self.is_tied & self.is_real
        self.lower, self.upper = np.array(self.box.lower), np.array(self.box.upper)
        for j in np.flatnonzero(self.is_log):
            self.lower[j], self.upper[j] = self.low[j], self.low[j] + self.side[j]

    def _compile(self) -> LinearSystem:
        """Return the constraints as linear rows, and clauses that choose among some of them."""
        equalities, inequalities = self._linear_rows()
        first = len(inequalities)
        avoiding, clauses = self._avoiding_rows(first)
        choices = {
            way.variable: int(self.box.variables[way.variable].levels)
            for clause in clauses
            for way in clause.alternatives
            if way.variable is not None
        }
        side = np.where(self.is_tied, self.side, 0.0)
        return LinearSystem(
            *self._stack(equalities),
            *self._stack([*inequalities, *avoiding]),
            first,
            clauses,
            np.where(side > 0, self.low, 0.0),
            side,
            np.where(side > 0, self.step, 0.0),
            choices,
        )

    def _linear_rows(self) -> tuple[list[LinearRow], list[LinearRow]]:
        """Return the linear constraints: those with ==, and the others written with <=."""
        equalities: list[LinearRow] = []
        inequalities: list[LinearRow] = []
        for owner, constraint in enumerate(self.constraints):
            if isinstance(constraint, LinearConstraint):
                row, bound = self._row_of(constraint)
                if constraint.relation == "==":
                    equalities.append((row, bound, owner))
                else:
                    sign = -1.0 if constraint.relation == ">=" else 1.0
                    inequalities.append((sign * row, sign * bound, owner))
        return equalities, inequalities

    def _avoiding_rows(self, first: int) -> tuple[list[LinearRow], tuple[Clause, ...]]:
        """Return inequalities that avoid forbidden combinations, and a clause for each of these.

        A clause names its alternatives: positions of a choice, or the number of an inequality.
        Inequalities are numbered from `first`.
        """
        rows: list[LinearRow] = []
        clauses = []
        for owner, constraint in enumerate(self.constraints):
            if isinstance(constraint, LinearConstraint):
                continue
            alternatives: list[Alternative] = []
            for condition in constraint.conditions:
                for way in self._ways_to_avoid(condition):
                    if isinstance(way, Alternative):
                        alternatives.append(way)
                    else:
                        alternatives.append(Alternative(None, (), first + len(rows)))
                        rows.append((*way, owner))
            clauses.append(Clause(owner, tuple(alternatives)))
        return rows, tuple(clauses)

    def _stack(self, rows: list[LinearRow]) -> tuple[Array, Array, tuple[int, ...]]:
        """Return the factors of rows as a matrix, their bounds, and their constraints."""
        matrix = np.array([row for row, _, _ in rows]).reshape(len(rows), self.dimension)
        return matrix, np.array([bound for _, bound, _ in rows]), tuple(o for _, _, o in rows)

    def _row_of(self, comparison: Comparison) -> tuple[Array, float]:
        """Return a comparison as factors by coordinate, and its bound without single values."""
        row, bound = np.zeros(self.dimension), comparison.bound
        for name, factor in comparison.coefficients:
            number = self.number_of(name)
            variable = self.box.variables[number]
            if not isinstance(variable, Number):
                needed = f"numbers in sums and comparisons ({name!r} is a choice: use == or in)"
                raise ValueError(f"a constraint needs {needed}, got {str(comparison)!r}")
            if variable.single:
                bound -= factor * float(variable.low)
            else:
                row[self.column[number]] += factor
        return row, bound

    def _ways_to_avoid(self, condition: Condition) -> Iterator[Any]:
        """Yield the alternatives to a condition: a choice, or rows of inequalities."""
        condition = self._as_choice(condition)
        if isinstance(condition, OneOf):
            number = self.number_of(condition.name)
            values = self.box.variables[number].values
            allowed = tuple(i for i, value in enumerate(values) if not condition.holds(value))
            if len(values) > 1:
                yield Alternative(number, allowed, -1)
            elif allowed:
                # A single value avoids the condition always: nothing is forbidden.
                yield np.zeros(self.dimension), 0.0
            return
        row, bound = self._row_of(condition)
        size = float(self._sizes(row[None], np.array([bound]))[0])
        if not row.any():
            holds = Comparison({"x": 1.0}, condition.relation, bound)
            if not compare_number(0.0, holds):
                yield np.zeros(self.dimension), 0.0
            return
        if condition.relation == "!=":
            needed = "no != between numbers in a forbidden combination"
            raise ValueError(f"a constraint needs {needed}, got {str(condition)!r}")
        # The opposite of x >= 60 is x < 60, which a search reaches up to twice the tolerance: a
        # value of the user that meets the bound exactly is still forbidden. On a grid it is half a
        # step, since there is no value between.
        named = row != 0
        gap = 2 * TOLERANCE * size
        if (self.step[named] > 0).all():
            gap = float(np.abs(row[named] * self.step[named]).min()) / 2
        if condition.relation in (">", ">=", "=="):
            yield row, bound - (gap if condition.relation != ">" else 0.0)
        if condition.relation in ("<", "<=", "=="):
            yield -row, -bound - (gap if condition.relation != "<" else 0.0)

    def _as_choice(self, condition: Condition) -> Condition:
        """Return `x == 3` as a condition on a choice, if x is one; check the values of a choice."""
        if isinstance(condition, Comparison) and len(condition.names) == 1:
            (name, factor), relation = condition.coefficients[0], condition.relation
            variable = self.box.variables[self.number_of(name)]
            if isinstance(variable, EnumeratedVariable) and relation in ("==", "!="):
                condition = OneOf(name, (condition.bound / factor,), relation == "!=")
        if isinstance(condition, OneOf):
            variable = self.box.variables[self.number_of(condition.name)]
            single = len(condition.values) == 1 and checks.is_number(condition.values[0])
            if isinstance(variable, Number) and single:
                relation = "!=" if condition.excluded else "=="
                return Comparison({condition.name: 1.0}, relation, condition.values[0])
            choice = isinstance(variable, EnumeratedVariable)
            for value in condition.values:
                known = choice and variable.holds(value)
                needed = f"{variable.requirement} for {condition.name!r}"
                checks.needs(known, "a constraint", needed, value)
        return condition

    def _sizes(self, rows: Array, bounds: Array) -> Array:
        """Return the size of the terms of each row, to which tolerances are relative."""
        largest = np.maximum(np.abs(self.low), np.abs(self.low + self.side))
        sizes: Array = np.maximum(np.abs(rows) @ largest, np.abs(bounds))
        return np.maximum(sizes, 1e-300)

    def _refuse_empty(self) -> None:
        """Raise an error if the constraints leave nothing, or too little to search in."""
        found = self.programme.most_room()
        needed = "MixedBox needs constraints that leave points to choose from"
        if found is None or lacks_room(self.system, found):
            conflict = find_conflict(self.system, range(len(self.constraints)))
            texts = " and ".join(f"'{self.constraints[owner]}'" for owner in conflict)
            if found is None:
                raise ValueError(f"{needed}; within the ranges no point satisfies {texts}")
            verb = "leaves" if len(conflict) == 1 else "leave"
            left = f"{verb} its real numbers no room to move (an equality is written with ==)"
            raise ValueError(f"{needed}; within the ranges {texts} {left}")
        basis = null_basis(self.system.equalities, self.side)
        if self.is_real.all() and not basis.shape[1]:
            texts = " and ".join(f"'{one}'" for one in self.constraints)
            raise ValueError(f"{needed}; {texts} determine every variable")
        self.interior = found

    @cached_property
    def allowed_positions(self) -> dict[Alternative, Mask]:
        """For each alternative that is a choice, which positions of its variable are allowed."""
        return {
            way: np.isin(np.arange(self.system.choices[way.variable]), way.positions)
            for clause in self.system.clauses
            for way in clause.alternatives
            if way.variable is not None
        }

    # ------------------------------------------------------------------ membership

    def to_search(self, rows: Array) -> Array:
        """Return rows in search coordinates."""
        found = rows.copy()
        for number, j in self.column.items():
            if self.is_log[j]:
                variable = self.box.variables[number]
                values = variable.from_coordinate(rows[:, j])
                if variable.discrete:
                    values = variable.grid_value(variable.grid_number(values))
                found[:, j] = values
        return found

    def to_rows(self, search: Array) -> Array:
        """Return rows as kernels see them."""
        rows = search.copy()
        for number, j in self.column.items():
            if self.is_log[j]:
                variable = self.box.variables[number]
                inside = np.clip(search[:, j], variable.low, variable.last)
                rows[:, j] = variable.to_coordinate(inside)
        return rows

    def positions(self, number: int, search: Array) -> Indices:
        """Return the position of the value that a choice has in each row."""
        columns = search[:, self.box.blocks[number][1]]
        one = columns.shape[1] == 1
        places = np.rint(columns[:, 0]) if one else columns.argmax(1)
        return places.astype(np.int64)

    def excess(self, search: Array) -> tuple[Array, Array]:
        """Return how much each inequality and each equality is missed, relative to its size."""
        system = self.system
        over = (search @ system.inequalities.T - system.bounds) / self.sizes
        apart = np.abs(search @ system.equalities.T - system.equal_to) / self.equality_sizes
        return over, apart

    def holds(self, search: Array, tolerance: float = TOLERANCE) -> Mask:
        """Tell which rows satisfy all constraints."""
        over, apart = self.excess(search)
        first = self.system.always
        good: Any = (over[:, :first] <= tolerance).all(1) & (apart <= TOLERANCE).all(1)
        places = {number: self.positions(number, search) for number in self.system.choices}
        for clause in self.system.clauses:
            avoided = np.zeros(len(search), dtype=bool)
            for way in clause.alternatives:
                if way.variable is None:
                    avoided |= over[:, way.inequality] <= tolerance
                else:
                    avoided |= self.allowed_positions[way][places[way.variable]]
            good &= avoided
        return np.asarray(good)

    def broken_constraint(self, search: Array) -> Constraint | None:
        """Return the first constraint that a row does not satisfy, or None."""
        over, apart = self.excess(search[None])
        for owner, constraint in enumerate(self.constraints):
            system = self.system
            for number, one in enumerate(system.equality_owners):
                if one == owner and apart[0, number] > TOLERANCE:
                    return constraint
            for number, one in enumerate(system.inequality_owners[: system.always]):
                if one == owner and over[0, number] > TOLERANCE:
                    return constraint
            if isinstance(constraint, Forbidden) and not self._avoids(owner, search, over[0]):
                return constraint
        return None

    def _avoids(self, owner: int, search: Array, over: Array) -> bool:
        clause = next(one for one in self.system.clauses if one.owner == owner)
        return any(
            over[way.inequality] <= TOLERANCE
            if way.variable is None
            else int(self.positions(way.variable, search[None])[0]) in way.positions
            for way in clause.alternatives
        )

    # ------------------------------------------------------------------ the polytope of a row

    def piece_offsets(self, search: Array, rng: np.random.Generator | None = None) -> Array:
        """Return the bounds of all inequalities for each row; infinite where one is not imposed.

        Of the alternatives of a forbidden combination that is not avoided by a choice, the one with
        the most room is imposed; with a generator a random one of those that hold.
        """
        over, _ = self.excess(search)
        offsets = np.full((len(search), len(self.system.bounds)), np.inf)
        offsets[:, : self.system.always] = self.system.bounds[: self.system.always]
        rows = np.arange(len(search))
        places = {number: self.positions(number, search) for number in self.system.choices}
        for clause in self.system.clauses:
            avoided = np.zeros(len(search), dtype=bool)
            numbers = [way.inequality for way in clause.alternatives if way.variable is None]
            if not numbers:
                continue
            for way in clause.alternatives:
                if way.variable is not None:
                    avoided |= self.allowed_positions[way][places[way.variable]]
            room = -over[:, numbers]
            if rng is not None:
                room = np.where(room >= -TOLERANCE, 1 + rng.random(room.shape), room)
            chosen = np.array(numbers)[room.argmax(1)]
            imposed = ~avoided
            offsets[rows[imposed], chosen[imposed]] = self.system.bounds[chosen[imposed]]
        return offsets

    def limits(
        self, search: Array, scale: Array, offsets: Array
    ) -> tuple[PolytopeLimits, Array, Array]:
        """Return the limits of rows divided by their scale, the projector, and the units.

        Coordinates of scale 0 are held fixed. The normals are projected onto what the equalities
        leave, so that moves along them keep the equalities.
        """
        units = np.where(scale > 0, scale, 1.0)
        basis = null_basis(self.system.equalities, scale)
        projector = basis @ basis.T
        moving = np.flatnonzero(scale > 0)
        sides = np.eye(self.dimension)[moving]
        normals = np.vstack([self.system.inequalities * units, sides * units, -sides * units])
        here = search / units
        rooms = np.hstack(
            [
                offsets - search @ self.system.inequalities.T,
                self.upper[moving] - search[:, moving],
                search[:, moving] - self.lower[moving],
            ]
        )
        inner: Array = normals @ projector
        lengths = np.sqrt((inner**2).sum(1))
        kept = lengths > 1e-9 * np.maximum(np.abs(normals).max(1, initial=0.0), 1e-300)
        inner, lengths = inner[kept] / lengths[kept, None], lengths[kept]
        return PolytopeLimits(inner, here @ inner.T + rooms[:, kept] / lengths), projector, units

    def ascend(
        self,
        function: Function,
        rows: Array,
        moving: Mask,
        scale: Array,
        steps: int = STEPS,
        beat: float = -math.inf,
        least: float | None = None,
        rivals: bool = False,
        halving: Halving = USUAL,
    ) -> tuple[Array, Array, int]:
        """Ascend to local maxima within the constraints; only the coordinates `moving` move."""
        search = self.to_search(rows)
        lengths, local = self._search_scale(scale, search)
        lengths = np.where(moving, lengths, 0.0)
        offsets = self.piece_offsets(search)
        limits, projector, units = self.limits(search, lengths, offsets)
        here = search / units
        slack = limits.offsets - here @ limits.normals.T
        limits = PolytopeLimits(limits.normals, limits.offsets + np.maximum(-slack, 0.0))

        def evaluate_in_units(places: Array) -> tuple[Array, Array]:
            values = np.clip(places * units, self.lower, self.upper)
            heights, slopes = function(self.to_rows(values))
            return heights, slopes * np.where(self.is_log, 1 / values, 1.0) * units

        if not projector.any():
            heights, _ = evaluate(evaluate_in_units, here)
            return rows, heights, len(rows)
        metric = np.matmul(projector * local[:, None, :] ** 2, projector)
        ones = np.ones(self.dimension)
        known: Any = {"beat": beat, "steps": steps, "least": least, "rivals": rivals}
        found = ascend(evaluate_in_units, here, limits, ones, metric, halving=halving, **known)
        ends = self.to_rows(np.clip(found.rows * units, self.lower, self.upper))
        return ends, found.values, found.evaluations

    def _search_scale(self, scale: Array, search: Array) -> tuple[Array, Array]:
        """Return the scale of each search coordinate, and for each row its share that is local.

        The value of a log variable changes the function over a distance in proportion to itself.
        """
        lengths = np.broadcast_to(scale, self.lower.shape).copy()
        local = np.ones(search.shape)
        for j in np.flatnonzero(self.is_log):
            lengths[j] = min(float(lengths[j]), 1.0) * self.side[j]
            local[:, j] = np.clip(search[:, j] * lengths[j] / self.side[j] / lengths[j], 1e-6, 1.0)
        return lengths, local

    # ------------------------------------------------------------------ repair and rounding

    def snap(self, search: Array) -> Array:
        """Return rows whose grid values are exact, and whose values at a bound are the bound."""
        found = np.clip(search, self.lower, self.upper)
        for number, j in self.column.items():
            variable = self.box.variables[number]
            if variable.discrete and self.is_tied[j]:
                found[:, j] = variable.grid_value(variable.grid_number(found[:, j]))
            elif variable.discrete:
                found[:, j] = variable.nearest(found[:, j])
        near = 1e-12 * (self.upper - self.lower)
        found = np.where(found - self.lower < near, self.lower, found)
        return np.where(self.upper - found < near, self.upper, found)

    def repair(self, search: Array) -> Array:
        """Return the rows with their real numbers moved into the constraints, if they can be.

        Grid values and choices stay as they are.
        """
        found = self.snap(search)
        scale = np.where(self.tied_real, self.upper - self.lower, 0.0)
        if not scale.any():
            return found
        found = self._meet_equalities(found, scale)
        offsets = self.piece_offsets(found) - self.margins
        limits, _, units = self.limits(found, scale, offsets)
        moved = nearest_inside(limits.normals, limits.offsets, found / units) * units
        return self._meet_last_digits(self.snap(self._meet_equalities(moved, scale)))

    def _meet_equalities(self, search: Array, scale: Array) -> Array:
        """Return the rows moved to the nearest ones, in scales, that satisfy the equalities."""
        if not len(self.system.equalities):
            return search
        inverse = np.linalg.pinv(self.system.equalities * scale, rcond=1e-10)
        missed = self.system.equal_to - search @ self.system.equalities.T
        return np.asarray(search + (missed @ inverse.T) * scale)

    def _meet_last_digits(self, search: Array) -> Array:
        """Put what rounding has left of each equality on the real number with the most room."""
        found = search.copy()
        room = np.minimum(found - self.lower, self.upper - found)
        for row, target in zip(self.system.equalities, self.system.equal_to, strict=True):
            able = self.tied_real & (row != 0) & ((self.system.equalities != 0).sum(0) == 1)
            if able.any():
                best = np.where(able, room, -np.inf).argmax(1)
                lines = np.arange(len(found))
                found[lines, best] += (target - found @ row) / row[best]
        return np.clip(found, self.lower, self.upper)

    def settle(self, rows: Array, starts: Array | None = None) -> Array:
        """Return the rows with all constraints met exactly; those that cannot be are moved.

        Rounding of grid values may break a constraint. Then points of the set, `starts`, are moved
        towards the rows as far as whole steps allow; without them, or where that fails, the nearest
        point is found by a mixed-integer programme, which takes ten times as long.
        """
        target = self.to_search(rows)
        search = self.repair(target)
        broken = ~self.holds(search)
        if starts is not None and broken.any() and len(self.lattice):
            search[broken] = self._step_towards(target[broken], self.to_search(starts[broken]))
            broken = ~self.holds(search)
        for number in np.flatnonzero(broken):
            search[number] = self._nearest_point(target[number])
        return self.to_rows(search)

    def _step_towards(self, target: Array, search: Array) -> Array:
        """Return points of the set, moved by whole steps as near to targets as that brings them.

        In each round each point takes the one move, among all of the lattice, that brings it
        nearest.
        """
        grid = self.is_tied & (self.step > 0)
        units = np.where(grid, self.upper - self.lower, np.inf)
        found = np.where(grid, search, target)
        found[:, self.is_tied & ~grid] = search[:, self.is_tied & ~grid]
        moves = self.lattice / units
        lengths = np.maximum((moves**2).sum(1), 1e-300)
        for _ in range(MOST_STEPS):
            gap = (target - found) / units
            times = np.rint(gap @ moves.T / lengths)
            times = np.stack([times, np.sign(times)], axis=2)
            tried = found[:, None, None, :] + times[..., None] * self.lattice[:, None, :]
            tried = self.snap(tried.reshape(-1, self.dimension))
            good = self.holds(tried).reshape(len(found), -1)
            tried = tried.reshape(len(found), -1, self.dimension)
            left = (((target[:, None] - tried) / units) ** 2).sum(2)
            distance = np.where(good, left, np.inf)
            best = distance.argmin(1)
            nearer = distance[np.arange(len(found)), best] < (gap**2).sum(1) - 1e-15
            if not nearer.any():
                break
            chosen = tried[np.arange(len(found)), best]
            found = np.where(nearer[:, None], chosen, found)
        found[:, self.tied_real] = target[:, self.tied_real]
        return self.repair(found)

    def write_briefly(self, row: Array) -> Array:
        """Return a row whose tied real numbers have twelve digits, if it satisfies the constraints.

        A search ends at 0.59999999999999 where a bound is 0.6, and the number that makes up a sum
        is 0.29999999999999993.
        """
        search = self.to_search(row[None])
        for digits in (DIGITS, 15):
            brief = search.copy()
            for j in np.flatnonzero(self.tied_real):
                brief[0, j] = float(f"{search[0, j]:.{digits}g}")
            brief = self._meet_last_digits(brief)
            for j in np.flatnonzero(self.tied_real):
                brief[0, j] = float(f"{brief[0, j]:.15g}")
            if self.holds(brief, tolerance=0.0)[0]:
                return np.asarray(self.to_rows(brief)[0])
        return row

    def pull_inside(self, rows: Array) -> Array:
        """Return the rows with their real numbers moved inside, without those that stay outside."""
        search = self.repair(self.to_search(rows))
        return self.to_rows(search[self.holds(search)])

    def _nearest_point(self, search: Array) -> Array:
        """Return the nearest point, by the sum of absolute distances."""
        positions = {
            number: int(self.positions(number, search[None])[0]) for number in self.system.choices
        }
        found = self.programme.nearest(search, positions)
        point = self.snap(search[None])
        if found is not None:
            point = self.repair(self._with_solution(point, found.values, found.positions))
        if found is None or not self.holds(point)[0]:
            gaps = (self.pool - search) / (self.upper - self.lower)
            point = self.pool[[int((gaps**2).sum(1).argmin())]]
        return np.asarray(point[0])

    def _with_solution(self, search: Array, values: Array, positions: dict[int, int]) -> Array:
        """Return rows with the tied numbers and choices of a solution."""
        found = search.copy()
        numbers = self.system.side > 0
        found[:, numbers] = values[numbers]
        for number, position in positions.items():
            variable: Any = self.box.variables[number]
            found[:, self.box.blocks[number][1]] = variable.encode(variable.values[position])
        return found

    # ------------------------------------------------------------------ samples

    @cached_property
    def pool(self) -> Array:
        """Points spread over the set, in search coordinates; the same for equal spaces."""
        rng = Streams(0).generator()
        starts = self._first_points(rng)
        drawn = self.box.without_constraints.from_unit(rng.random((POOL, self.box.sides)))
        chains = self.to_search(drawn)
        chosen = rng.integers(len(starts), size=POOL)
        chains[:, self.is_tied] = starts[chosen][:, self.is_tied]
        return self.walk(chains, 20 + 6 * int(self.is_tied.sum()), rng)

    def _first_points(self, rng: np.random.Generator) -> Array:
        """Return a few points of the set, in different parts of it if it has parts."""
        solutions: list[Solution | None] = [self.interior]
        parts = self.system.clauses or (self.step[self.is_tied] > 0).any()
        for _ in range(CORNERS if parts else 0):
            solutions.append(self.programme.extreme_point(rng.normal(size=self.programme.width)))
        base = self.to_search(
            self.box.without_constraints.from_unit(np.full((1, self.box.sides), 0.5))
        )
        found = np.vstack(
            [
                self.repair(self._with_solution(base, one.values, one.positions))
                for one in solutions
                if one is not None
            ]
        )
        good = found[self.holds(found)]
        needed = "constraints that floating-point numbers can satisfy"
        checks.needs(len(good) > 0, "MixedBox", needed, [str(one) for one in self.constraints])
        return good

    def sample(self, count: int, rng: np.random.Generator, moves: int = FRESH) -> Array:
        """Return rows of points spread over the set at random."""
        chains = self.pool[rng.integers(len(self.pool), size=count)]
        free = self.box.without_constraints.from_unit(rng.random((count, self.box.sides)))
        chains[:, ~self.is_tied] = free[:, ~self.is_tied]
        return self.to_rows(self.walk(chains, moves, rng))

    def walk(self, chains: Array, moves: int, rng: np.random.Generator) -> Array:
        """Return the end points of random walks within the set (hit-and-run)."""
        scale = np.where(self.tied_real, self.upper - self.lower, 0.0)
        basis = null_basis(self.system.equalities, scale) * scale[:, None]
        choices = [number for number in self.tied if number not in self.column]
        choices = [number for number in choices if self.box.variables[number].levels > 1]
        moved = np.abs(basis).max(1, initial=0.0) > 0
        leads = np.flatnonzero(self.is_log & self.tied_real & moved)
        start = chains
        for _ in range(moves):
            if basis.shape[1]:
                direction = rng.normal(size=(len(chains), basis.shape[1])) @ basis.T
                chains = self._slide(chains, direction, rng)
            if len(leads):
                chains = self._slide_log(chains, basis, leads[rng.integers(len(leads))], rng)
            if len(self.lattice):
                direction = self.lattice[rng.integers(len(self.lattice), size=len(chains))]
                chains = self._slide(chains, direction, rng, whole=True)
            if choices:
                chains = self._change_choice(chains, choices[rng.integers(len(choices))], rng)
        found = self._meet_equalities(chains, scale) if scale.any() else chains
        found = self._meet_last_digits(self.snap(found))
        # Rounding may leave a walk just outside. If it cannot be repaired, it has not moved.
        bad = ~self.holds(found, tolerance=0.0)
        if bad.any():
            repaired = self.repair(found[bad])
            found[bad] = np.where(self.holds(repaired)[:, None], repaired, start[bad])
        return found

    def _reach(
        self, chains: Array, direction: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return how far each chain can move backwards and forwards along its direction."""
        # Backwards is forwards along the opposite direction, with the other bound of a coordinate.
        sides, first = self.upper - self.lower, len(self.sizes)
        rooms = self.piece_offsets(chains, rng) - chains @ self.system.inequalities.T
        slow = direction @ self.system.inequalities.T / self.sizes
        speeds = np.hstack([slow, direction / sides])
        reaches = []
        for sign in (-1.0, 1.0):
            bound = np.where(sign * direction > 0, self.upper - chains, chains - self.lower)
            room = np.maximum(np.hstack([rooms / self.sizes, bound / sides]), 0.0)
            pace = sign * speeds
            pace[:, first:] = np.abs(pace[:, first:])
            meets = pace > 1e-12
            times = np.where(meets, room / np.where(meets, pace, 1.0), np.inf).min(1)
            reaches.append(sign * np.where(np.isfinite(times), times, 0.0))
        return reaches[0], reaches[1]

    def _slide(
        self, chains: Array, direction: Array, rng: np.random.Generator, whole: bool = False
    ) -> Array:
        """Return the chains moved to a random place along their directions."""
        back, ahead = self._reach(chains, direction, rng)
        share = rng.random(len(chains))
        times = back + share * (ahead - back)
        if whole:
            first, last = np.ceil(back - 1e-7), np.floor(ahead + 1e-7)
            times = first + np.floor(share * (last - first + 1))
        moved: Array = chains + times[:, None] * direction
        return moved

    def _slide_log(self, chains: Array, basis: Array, lead: int, rng: np.random.Generator) -> Array:
        """Return the chains with one value on a log scale drawn uniformly in its logarithm."""
        along = basis @ basis[lead]
        direction = np.broadcast_to(along / along[lead], chains.shape)
        back, ahead = self._reach(chains, direction, rng)
        here = chains[:, lead]
        low = np.log(np.maximum(here + back, self.lower[lead]))
        high = np.log(np.minimum(here + ahead, self.upper[lead]))
        drawn = np.exp(low + rng.random(len(chains)) * (high - low))
        moved: Array = chains + (drawn - here)[:, None] * direction
        return moved

    def _change_choice(self, chains: Array, number: int, rng: np.random.Generator) -> Array:
        """Return the chains with another value of a choice, where that is allowed."""
        variable, place = self.box.blocks[number]
        proposed = chains.copy()
        proposed[:, place] = variable.from_unit(rng.random(len(chains)))
        return np.where(self.holds(proposed)[:, None], proposed, chains)

    @cached_property
    def lattice(self) -> Array:
        """Moves of tied grid values by whole steps that keep the equalities, one in each row.

        Two values exchange steps, or more of them where two are not enough; where an equality has
        real numbers too, these make up for the step.
        """
        grid = np.flatnonzero(self.is_tied & (self.step > 0))
        if not len(grid):
            return np.zeros((0, self.dimension))
        matrix = self.system.equalities[:, grid] * self.step[grid]
        steps = [*pair_moves(matrix), *whole_number_kernel(matrix)]
        moves = np.zeros((len(steps), self.dimension))
        for move, numbers in zip(moves, steps, strict=True):
            move[grid] = numbers * self.step[grid]
        scale = np.where(self.tied_real, self.upper - self.lower, 0.0)
        if scale.any() and len(matrix):
            inverse = np.linalg.pinv(self.system.equalities * scale, rcond=1e-10)
            for j in grid:
                move = np.zeros(self.dimension)
                move[j] = self.step[j]
                effect = self.system.equalities @ move
                move += -(inverse @ effect) * scale
                left = np.abs(self.system.equalities @ move)
                if effect.any() and (left <= 1e-9 * self.equality_sizes).all():
                    moves = np.vstack([moves, move])
        return np.unique(moves, axis=0)

    # ------------------------------------------------------------------ neighbours and lists

    def neighbours(self, row: Array) -> Array:
        """Return rows that differ in one separate value, or in few where equalities tie them."""
        tried = [
            self.to_search(rows)
            for rows in self.box.without_constraints.changes(
                row, skip=tuple(self.column_variables())
            )
        ]
        here = self.to_search(row[None])[0]
        for move in self.lattice:
            steps = np.abs(move[self.step > 0] / self.step[self.step > 0]).max()
            most = (self.side / np.where(self.step > 0, self.step, 1.0))[self.step > 0].max()
            sizes = 2.0 ** np.arange(max(1, math.ceil(math.log2(most / steps + 1))))
            tried.append(here + np.concatenate([sizes, -sizes])[:, None] * move)
        if not tried:
            return np.empty((0, self.dimension))
        every = np.vstack(tried)
        grids = np.flatnonzero(self.is_tied & (self.step > 0))
        inside = (every[:, grids] >= self.lower[grids] - 1e-9 * self.step[grids]) & (
            every[:, grids] <= self.upper[grids] + 1e-9 * self.step[grids]
        )
        found = self.repair(every[inside.all(1)])
        found = found[self.holds(found)]
        return self.to_rows(np.unique(found[(found != here).any(1)], axis=0))

    def column_variables(self) -> list[int]:
        """Return the numbers of the tied variables that are numbers."""
        return [number for number in self.tied if number in self.column]

    def all_rows(self) -> Array | None:
        """Return the rows of all points of a finite set, or None if they are too many.

        The variables are joined one by one. Of a tied number only the values are taken for which
        the values of the others may still satisfy the linear constraints.
        """
        partial = np.zeros((1, 0))
        for number, (variable, place) in enumerate(self.box.blocks):
            if number in self.column and self.is_tied[place.start]:
                first, last = self._completing_range(partial, place.start)
            else:
                first = np.zeros(len(partial), dtype=np.int64)
                last = np.full(len(partial), int(variable.levels) - 1)
            counts = np.maximum(last - first + 1, 0)
            if counts.sum() * max(place.stop, 1) > MOST_EXPANDED:
                return None
            lines = np.repeat(np.arange(len(partial)), counts)
            within = np.arange(len(lines)) - np.repeat(np.cumsum(counts) - counts, counts)
            chosen = np.repeat(first, counts) + within
            if isinstance(variable, Number) and not variable.single:
                values = variable.grid_value(chosen)
                if not self.is_tied[place.start]:
                    values = variable.to_coordinate(values)
                columns = values[:, None]
            else:
                columns = variable.all_coordinates()[chosen]
            partial = np.hstack([partial[lines], columns])
        found: Array = partial[self.holds(partial)]
        return self.to_rows(found) if len(found) <= MOST_LISTED else None

    def _completing_range(self, known: Array, j: int) -> tuple[Indices, Indices]:
        """Return the first and the last grid number of coordinate j that may be completed.

        `known` are partial points: the coordinates before j, in search coordinates.
        """
        system = self.system
        rows = np.vstack(
            [system.inequalities[: system.always], system.equalities, -system.equalities]
        )
        sizes = [self.sizes[: system.always], self.equality_sizes, self.equality_sizes]
        bounds = [system.bounds[: system.always], system.equal_to, -system.equal_to]
        limits = np.concatenate(bounds) + TOLERANCE * np.concatenate(sizes)
        rest = rows[:, j + 1 :]
        least = np.where(rest > 0, rest * self.lower[j + 1 :], rest * self.upper[j + 1 :]).sum(1)
        room = limits - least - known @ rows[:, :j].T
        factors = rows[:, j]
        ends = room / np.where(factors == 0, 1.0, factors)
        high = np.where(factors > 0, ends, np.inf).min(1, initial=np.inf)
        low = np.where(factors < 0, ends, -np.inf).max(1, initial=-np.inf)
        low, high = np.maximum(low, self.lower[j]), np.minimum(high, self.upper[j])
        open_ = ((factors != 0) | (room >= 0)).all(1)
        start = np.ceil((low - self.lower[j]) / self.step[j] - 1e-9)
        stop = np.floor((high - self.lower[j]) / self.step[j] + 1e-9)
        stop = np.where(open_, stop, start - 1)
        return start.astype(np.int64), stop.astype(np.int64)


def compare_number(left: float, comparison: Comparison) -> bool:
    """Tell whether a number satisfies a comparison."""
    bound = comparison.bound
    holds = {
        "<=": left <= bound,
        ">=": left >= bound,
        "<": left < bound,
        ">": left > bound,
        "==": left == bound,
        "!=": left != bound,
    }
    return holds[comparison.relation]


def as_whole_numbers(matrix: Array) -> list[list[int]]:
    """Return each row multiplied by a number that makes all of it whole."""
    rows = []
    for row in matrix.tolist():
        parts = [Fraction(repr(number)).limit_denominator(10**9) for number in row]
        common = math.lcm(*(part.denominator for part in parts))
        rows.append([int(part * common) for part in parts])
    return rows


def pair_moves(matrix: Array) -> Iterator[Array]:
    """Yield whole-number vectors in the kernel of a matrix with at most two entries.

    >>> [move.tolist() for move in pair_moves(np.array([[1.0, 1.0, 2.0]]))]
    [[1.0, -1.0, 0.0], [2.0, 0.0, -1.0], [0.0, 2.0, -1.0]]
    """
    count = matrix.shape[1]
    rows = as_whole_numbers(matrix)
    columns = [[row[j] for row in rows] for j in range(count)]
    for j in range(count):
        if not any(columns[j]):
            yield np.eye(count)[j]
    for one, other in combinations(range(count), 2):
        first, second = columns[one], columns[other]
        place = next((i for i, entry in enumerate(first) if entry), None)
        if place is None or not second[place]:
            continue
        divisor = math.gcd(first[place], second[place])
        here, there = second[place] // divisor, -first[place] // divisor
        if all(here * a + there * b == 0 for a, b in zip(first, second, strict=True)):
            move = np.zeros(count)
            sign = 1 if here > 0 else -1
            move[one], move[other] = sign * here, sign * there
            yield move


def whole_number_kernel(matrix: Array) -> list[Array]:
    """Return a basis of the whole-number vectors k with matrix @ k = 0.

    Columns are added to each other, as in Euclid's algorithm, until each row has one entry that is
    not zero; the same additions on the unit matrix give the kernel.

    >>> [move.tolist() for move in whole_number_kernel(np.array([[2.0, 3.0]]))]
    [[3.0, -2.0]]
    """
    rows, count = as_whole_numbers(matrix), matrix.shape[1]
    columns = [[row[j] for row in rows] for j in range(count)]
    unit = [[int(i == j) for i in range(count)] for j in range(count)]
    first = 0
    for row in range(len(rows)):
        while True:
            entries = [j for j in range(first, count) if columns[j][row]]
            if len(entries) <= 1:
                break
            pivot = min(entries, key=lambda j: abs(columns[j][row]))
            for j in entries:
                if j != pivot:
                    times = columns[j][row] // columns[pivot][row]
                    for table in (columns, unit):
                        pairs = zip(table[j], table[pivot], strict=True)
                        table[j] = [one - times * other for one, other in pairs]
        if entries:
            j = entries[0]
            columns[first], columns[j] = columns[j], columns[first]
            unit[first], unit[j] = unit[j], unit[first]
            first += 1
    kernel = [np.array(vector, dtype=np.float64) for vector in unit[first:]]
    return [move if move[move.nonzero()[0][0]] > 0 else -move for move in kernel]
