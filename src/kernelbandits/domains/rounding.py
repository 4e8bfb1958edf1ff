"""Rows moved into a constrained set: onto grids, onto equalities, inside inequalities."""

from __future__ import annotations

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains.linear_system import LinearSystem
from kernelbandits.domains.polytope import limits_of
from kernelbandits.domains.programme import Programme
from kernelbandits.domains.variables import round_digits


class Rounding:
    """Moves rows to points that satisfy all constraints as computed in floating point."""

    def __init__(self, system: LinearSystem, programme: Programme, interior: Array) -> None:
        self.system, self.programme, self.interior = system, programme, interior
        self.coordinates = system.coordinates
        scaled = system.equalities * self.coordinates.real_sides
        self.inverse = np.linalg.pinv(scaled, rcond=1e-10)

    def repair(self, search: Array) -> Array:
        """Return the rows with their real numbers moved into the constraints, if they can be.

        Grid values and choices stay as they are.
        """
        rounded = self.coordinates.round_to_grids(search)
        if not self.coordinates.is_real.any() or not len(rounded):
            return rounded
        met = self.meet_equalities(rounded)
        limits = limits_of(self.system, met, self.coordinates.real_sides, self.system.margins)
        moved = limits.nearest_inside(met / limits.units) * limits.units
        return self.coordinates.round_to_grids(self.meet_equalities(moved))

    def meet_equalities(self, search: Array) -> Array:
        """Return the rows moved to the nearest ones, in sides, that satisfy the equalities."""
        missed = self.system.equal_to - search @ self.system.equalities.T
        met: Array = search + (missed @ self.inverse.T) * self.coordinates.real_sides
        return met

    def settle(self, search: Array) -> Array:
        """Return the rows with all constraints met; those that cannot be repaired are moved.

        Rounding of grid values may break a constraint. Then the nearest point is found by a
        mixed-integer programme.
        """
        settled = self.repair(search)
        for number in np.flatnonzero(~self.system.holds(settled, tolerance=0.0)):
            point = self.programme.nearest(search[number])
            if point is not None:
                settled[[number]] = self.repair(point[None])
        return settled

    def write_briefly(self, search: Array) -> Array:
        """Return a row whose tied real numbers have twelve digits, if it satisfies the constraints.

        A search ends at 0.59999999999999 where a bound is 0.6, and the number that makes up a sum
        is 0.29999999999999993.
        """
        coordinates, system = self.coordinates, self.system
        brief, reals = search.copy(), coordinates.is_real
        brief[reals] = [round_digits(value) for value in search[reals].tolist()]
        near = 1e-12 * coordinates.sides
        brief = np.where(brief - coordinates.lower < near, coordinates.lower, brief)
        brief = np.where(coordinates.upper - brief < near, coordinates.upper, brief)
        # What rounding has left of each equality goes to the real number with the most room.
        room = np.minimum(brief - coordinates.lower, coordinates.upper - brief)
        able = reals & ((system.equalities != 0).sum(0) == 1)
        for factors, target in zip(system.equalities, system.equal_to, strict=True):
            if (able & (factors != 0)).any():
                j = int(np.where(able & (factors != 0), room, -np.inf).argmax())
                brief[j] += (target - brief @ factors) / factors[j]
                brief[j] = float(f"{brief[j]:.15g}")
        brief = np.clip(brief, coordinates.lower, coordinates.upper)
        return brief if system.holds(brief[None], tolerance=0.0)[0] else search
