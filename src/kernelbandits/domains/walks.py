"""Random points of a constrained set: walks along lines, by whole steps, and between choices."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains.lattice import lattice_moves
from kernelbandits.domains.polytope import null_basis
from kernelbandits.domains.rounding import Rounding
from kernelbandits.domains.variables import Number
from kernelbandits.streams import Streams

POOL = 512
"""How many points are kept to start samples from."""
CORNERS = 24
"""From how many points, found by random objectives, the first walks start."""
MOVES = 4
"""How many moves separate a sample from the pool."""


class RandomWalks:
    """Walks within a constrained set (hit-and-run), and a pool of points from which they start."""

    def __init__(self, rounding: Rounding) -> None:
        self.rounding, self.system = rounding, rounding.system
        self.coordinates = coordinates = self.system.coordinates
        self.lattice = lattice_moves(
            self.system.equalities, coordinates.step, coordinates.real_sides
        )
        """Moves of grid values by whole steps that keep the equalities."""
        self.basis = null_basis(self.system.equalities, coordinates.real_sides)
        self.basis *= coordinates.real_sides[:, None]
        moved = np.abs(self.basis).max(1, initial=0.0) > 0
        self.logs = np.flatnonzero(coordinates.is_log & moved)
        """The real numbers on log scales that can move."""
        named = [coordinates.box.blocks[number] for number in coordinates.tied]
        self.choices = [
            (variable, place)
            for variable, place in named
            if not isinstance(variable, Number) and variable.levels > 1
        ]
        # What limits a walk: the inequalities that always hold, and the bounds of tied numbers.
        numbers = coordinates.is_real | coordinates.is_grid
        sides = np.eye(coordinates.dimension)[numbers] / coordinates.sides[numbers, None]
        always = self.system.inequalities[: self.system.always]
        sizes = self.system.sizes[: self.system.always]
        self.normals = np.vstack([always / sizes[:, None], sides, -sides])
        self.offsets = np.concatenate(
            [
                self.system.bounds[: self.system.always] / sizes,
                sides @ coordinates.upper,
                -sides @ coordinates.lower,
            ]
        )

    @cached_property
    def pool(self) -> Array:
        """Points spread over the set, in search coordinates; the same for equal spaces."""
        rng = Streams(0).generator()
        tied = self.coordinates.is_tied
        starts = self._first_points(rng)
        chains = self.coordinates.draw(POOL, rng)
        chains[:, tied] = starts[rng.integers(len(starts), size=POOL)][:, tied]
        return self.walk(chains, 20 + 6 * int(tied.sum()), rng)

    def _first_points(self, rng: np.random.Generator) -> Array:
        """Return a few points of the set, in different parts of it if it has parts."""
        parts = self.system.clauses or self.coordinates.is_grid.any()
        interior, programme = self.rounding.interior, self.rounding.programme
        corners = [programme.random_corner(interior, rng) for _ in range(CORNERS if parts else 0)]
        points = [interior, *(row for row in corners if row is not None)]
        rows = self.rounding.repair(np.array(points))
        good = rows[self.system.holds(rows, tolerance=0.0)]
        needed = "constraints that floating-point numbers can satisfy"
        given = [str(one) for one in self.system.constraints]
        checks.needs(len(good) > 0, "MixedBox", needed, given)
        return good

    def sample(self, count: int, rng: np.random.Generator, moves: int = MOVES) -> Array:
        """Return points spread over the set at random."""
        chains = self.pool[rng.integers(len(self.pool), size=count)]
        free = ~self.coordinates.is_tied
        chains[:, free] = self.coordinates.draw(count, rng)[:, free]
        return self.walk(chains, moves, rng)

    def walk(self, chains: Array, moves: int, rng: np.random.Generator) -> Array:
        """Return the ends of random walks within the set.

        A move that ends where a clause forbids it is not made.
        """
        start, basis = chains, self.basis
        for _ in range(moves):
            if basis.shape[1]:
                direction = rng.normal(size=(len(chains), basis.shape[1])) @ basis.T
                back, ahead = self._reach(chains, direction)
                times = back + rng.random(len(chains)) * (ahead - back)
                chains = self._accept(chains, chains + times[:, None] * direction)
            if len(self.logs):
                chains = self._move_log(chains, self.logs[rng.integers(len(self.logs))], rng)
            if len(self.lattice):
                direction = self.lattice[rng.integers(len(self.lattice), size=len(chains))]
                back, ahead = self._reach(chains, direction)
                first, last = np.ceil(back - 1e-7), np.floor(ahead + 1e-7)
                times = first + np.floor(rng.random(len(chains)) * (last - first + 1))
                chains = self._accept(chains, chains + times[:, None] * direction)
            if self.choices:
                variable, place = self.choices[rng.integers(len(self.choices))]
                changed = chains.copy()
                changed[:, place] = variable.from_unit(rng.random(len(chains)))
                chains = self._accept(chains, changed)
        ends = self.coordinates.round_to_grids(self.rounding.meet_equalities(chains))
        # Rounding may leave a walk just outside. If it cannot be repaired, it has not moved.
        bad = np.flatnonzero(~self.system.holds(ends, tolerance=0.0))
        ends[bad] = self.rounding.repair(ends[bad])
        bad = bad[~self.system.holds(ends[bad], tolerance=0.0)]
        ends[bad] = start[bad]
        return ends

    def _accept(self, chains: Array, moved: Array) -> Array:
        """Return the chains moved where no clause forbids it."""
        if not self.system.clauses:
            return moved
        return np.where(self.system.holds(moved)[:, None], moved, chains)

    def _move_log(self, chains: Array, j: int, rng: np.random.Generator) -> Array:
        """Return the chains with one value on a log scale drawn uniformly in its logarithm."""
        along = self.basis @ self.basis[j]
        direction = np.broadcast_to(along / along[j], chains.shape)
        here = chains[:, j]
        ends = np.maximum(here + self._reach(chains, direction), self.coordinates.lower[j])
        low, high = np.log(ends)
        drawn = np.exp(low + rng.random(len(chains)) * (high - low))
        return self._accept(chains, chains + (drawn - here)[:, None] * direction)

    def _reach(self, chains: Array, direction: Array) -> Array:
        """Return how far each chain can move backwards, and how far forwards."""
        rooms = np.maximum(self.offsets - chains @ self.normals.T, 0.0)
        speeds = direction @ self.normals.T
        meets = np.abs(speeds) > 1e-12
        times = rooms / np.where(meets, speeds, 1.0)
        back = np.where(meets & (speeds < 0), times, -np.inf).max(1)
        ahead = np.where(meets & (speeds > 0), times, np.inf).min(1)
        reach = np.array([back, ahead])
        return np.where(np.isfinite(reach), reach, 0.0)
