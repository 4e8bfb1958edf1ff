"""The points of a mixed box that satisfy its constraints, for a search: a front of its parts.

`coordinates` says in which coordinates constraints are linear, `linear_system` which points satisfy
them, `programme` whether there are any, `walks` draws points, `rounding` moves rows into the set,
`polytope` moves along its faces, `lattice` by whole steps, and `listing` lists a finite set.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains.bfgs import Ascent, Function, ascend, evaluate
from kernelbandits.domains.constraints import Constraint
from kernelbandits.domains.coordinates import Mask, SearchCoordinates
from kernelbandits.domains.linear_system import TOLERANCE, compile_constraints
from kernelbandits.domains.listing import list_points
from kernelbandits.domains.polytope import limits_of, null_basis
from kernelbandits.domains.programme import Programme, find_conflict, lacks_room
from kernelbandits.domains.rounding import Rounding
from kernelbandits.domains.walks import MOVES, RandomWalks

if TYPE_CHECKING:
    from kernelbandits.domains.mixed import MixedBox


class FeasibleSet:
    """What the constraints of a mixed box leave of it. Rows are as kernels see them."""

    def __init__(self, box: MixedBox, constraints: tuple[Constraint, ...]) -> None:
        self.coordinates = SearchCoordinates(box, constraints)
        self.system = compile_constraints(self.coordinates, constraints)
        programme = Programme(self.system)
        self.rounding = Rounding(self.system, programme, self._interior(programme))

    def _interior(self, programme: Programme) -> Array:
        """Return the point with the most room; raise an error if there is too little to search."""
        constraints, coordinates = self.system.constraints, self.coordinates
        middle = np.full((1, coordinates.box.sides), 0.5)
        base = coordinates.to_search(coordinates.free_box.from_unit(middle))[0]
        found = programme.most_room(base)
        needed = "MixedBox needs constraints that leave points to choose from"
        if found is None or lacks_room(self.system, found):
            conflict = find_conflict(self.system, base)
            texts = " and ".join(f"'{constraints[owner]}'" for owner in conflict)
            if found is None:
                raise ValueError(f"{needed}; within the ranges no point satisfies {texts}")
            verb = "leaves" if len(conflict) == 1 else "leave"
            left = f"{verb} its real numbers no room to move (an equality is written with ==)"
            raise ValueError(f"{needed}; within the ranges {texts} {left}")
        basis = null_basis(self.system.equalities, coordinates.real_sides)
        if coordinates.is_real.all() and not basis.shape[1]:
            texts = " and ".join(f"'{one}'" for one in constraints)
            raise ValueError(f"{needed}; {texts} determine every variable")
        return found.row

    @cached_property
    def walks(self) -> RandomWalks:
        return RandomWalks(self.rounding)

    def holds(self, rows: Array, tolerance: float = TOLERANCE) -> Mask:
        """Tell which rows satisfy all constraints."""
        return self.system.holds(self.coordinates.to_search(rows), tolerance)

    def broken_constraint(self, row: Array) -> Constraint | None:
        """Return the first constraint that a row does not satisfy, or None."""
        return self.system.broken_constraint(self.coordinates.to_search(row[None])[0])

    def sample(self, count: int, rng: np.random.Generator, moves: int = MOVES) -> Array:
        """Return rows of points spread over the set at random."""
        return self.coordinates.to_rows(self.walks.sample(count, rng, moves))

    def replace(self, rows: Array, bad: Mask, rng: np.random.Generator) -> None:
        """Replace the numbers and choices of bad rows that constraints name by random ones."""
        tied = self.coordinates.is_tied
        rows[np.ix_(bad, tied)] = self.sample(int(bad.sum()), rng)[:, tied]

    def all_rows(self) -> Array | None:
        """Return the rows of all points of a finite set, or None if they are too many."""
        points = list_points(self.system)
        return None if points is None else self.coordinates.to_rows(points)

    # ------------------------------------------------------------------ rows moved into the set

    def settle(self, rows: Array) -> Array:
        """Return the rows with all constraints met; those that cannot be repaired are moved."""
        search = self.coordinates.to_search(rows)
        settled = self.rounding.settle(search)
        for number in np.flatnonzero(~self.system.holds(settled)):
            gaps = (self.walks.pool - search[number]) / self.coordinates.sides
            settled[number] = self.walks.pool[int((gaps**2).sum(1).argmin())]
        return self.coordinates.to_rows(settled)

    def pull_inside(self, rows: Array) -> Array:
        """Return the rows with their real numbers moved inside, without those that stay outside."""
        search = self.rounding.repair(self.coordinates.to_search(rows))
        return self.coordinates.to_rows(search[self.system.holds(search)])

    def write_briefly(self, row: Array) -> Array:
        """Return a row whose numbers have few digits, if it satisfies the constraints."""
        search = self.coordinates.to_search(row[None])[0]
        brief = self.rounding.write_briefly(search)
        return row if brief is search else self.coordinates.to_rows(brief[None])[0]

    def neighbours(self, row: Array) -> Array:
        """Return rows that differ in one separate value, or in few where equalities tie them."""
        coordinates = self.coordinates
        numbers = [number for number in coordinates.tied if number in coordinates.column]
        changes = coordinates.free_box.changes(row, skip=numbers)
        here, grid = coordinates.to_search(row[None])[0], coordinates.is_grid
        tried = [here[None], *(coordinates.to_search(rows) for rows in changes)]
        for move in self.walks.lattice:
            most = (coordinates.sides[grid] / np.maximum(np.abs(move[grid]), 1e-300)).min()
            sizes = 2.0 ** np.arange(math.floor(math.log2(max(most, 1.0))) + 1)
            tried.append(here + np.concatenate([sizes, -sizes])[:, None] * move)
        every = np.vstack(tried)
        slack = 1e-9 * coordinates.step
        inside = (every >= coordinates.lower - slack) & (every <= coordinates.upper + slack)
        repaired = self.rounding.repair(every[inside[:, grid].all(1)])
        good = self.system.holds(repaired, tolerance=0.0) & (repaired != here).any(1)
        return coordinates.to_rows(np.unique(repaired[good], axis=0))

    # ------------------------------------------------------------------ moves along faces

    def ascend(
        self, function: Function, rows: Array, moving: Mask, scale: Array, **known: Any
    ) -> Ascent:
        """Ascend to local maxima within the constraints; only the coordinates `moving` move.

        The other arguments are those of `bfgs.ascend`.
        """
        coordinates = self.coordinates
        search = coordinates.to_search(rows)
        lengths, local = self._search_scale(np.where(moving, scale, 0.0), search)
        limits = limits_of(self.system, search, lengths)
        units, here = limits.units, search / limits.units
        # A start that is outside by rounding must not be held by a limit behind it.
        offsets = np.maximum(limits.offsets, here @ limits.normals.T)

        def evaluate_in_units(places: Array) -> tuple[Array, Array]:
            values = np.clip(places * units, coordinates.lower, coordinates.upper)
            heights, slopes = function(coordinates.to_rows(values))
            return heights, slopes * np.where(coordinates.is_log, 1 / values, 1.0) * units

        if not limits.projector.any():
            heights, _ = evaluate(evaluate_in_units, here)
            return Ascent(rows, heights, len(rows))
        limits = replace(limits, offsets=offsets)
        metric = np.matmul(limits.projector * local[:, None, :] ** 2, limits.projector)
        ones = np.ones(len(units))
        found = ascend(evaluate_in_units, here, limits, ones, metric, **known)
        ends = np.clip(found.rows * units, coordinates.lower, coordinates.upper)
        return Ascent(coordinates.to_rows(ends), found.values, found.evaluations)

    def _search_scale(self, scale: Array, search: Array) -> tuple[Array, Array]:
        """Return the scale of each search coordinate, and for each row its share that is local.

        The value of a log variable changes the function over a distance in proportion to itself.
        """
        coordinates, local = self.coordinates, np.ones(search.shape)
        logs = coordinates.is_log
        lengths = np.where(logs, np.minimum(scale, 1.0) * coordinates.sides, scale)
        local[:, logs] = np.clip(search[:, logs] / coordinates.sides[logs], 1e-6, 1.0)
        return lengths, local
