"""Random points of a constrained set: walks along lines, by whole steps, and between choices."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains.lattice import lattice_moves
from kernelbandits.domains.polytope import null_basis
from kernelbandits.domains.rounding import Rounding
from kernelbandits.streams import Streams

POOL = 512
"""How many points are kept to start samples from."""
CORNERS = 24
"""From how many points, found by random objectives, the first walks start."""
MOVES = 4
"""How many moves separate a sample from the pool."""
SHRINKS = 40
"""How often a place along a line is drawn again."""


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
        self.choices = [
            number
            for number in coordinates.tied
            if number not in coordinates.column and coordinates.box.variables[number].levels > 1
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
        """Return the ends of random walks within the set."""
        start, basis = chains, self.basis
        for _ in range(moves):
            if basis.shape[1]:
                direction = rng.normal(size=(len(chains), basis.shape[1])) @ basis.T
                chains = self.slide(chains, direction, rng)
            if len(self.logs):
                log = self.logs[rng.integers(len(self.logs))]
                along = basis @ basis[log]
                direction = np.broadcast_to(along / along[log], chains.shape)
                chains = self.slide(chains, direction, rng, log=log)
            if len(self.lattice):
                direction = self.lattice[rng.integers(len(self.lattice), size=len(chains))]
                chains = self.slide(chains, direction, rng, whole=True)
            if self.choices:
                chains = self._change_choice(
                    chains, self.choices[rng.integers(len(self.choices))], rng
                )
        ends = self.coordinates.round_to_grids(self.rounding.meet_equalities(chains))
        # Rounding may leave a walk just outside. If it cannot be repaired, it has not moved.
        bad = np.flatnonzero(~self.system.holds(ends, tolerance=0.0))
        ends[bad] = self.rounding.repair(ends[bad])
        bad = bad[~self.system.holds(ends[bad], tolerance=0.0)]
        ends[bad] = start[bad]
        return ends

    def slide(
        self,
        chains: Array,
        direction: Array,
        rng: np.random.Generator,
        whole: bool = False,
        log: int | None = None,
    ) -> Array:
        """Return the chains moved to a random place of the set along their directions.

        The place is uniform; with `whole` it is a whole number of directions away, and with the
        coordinate of a number on a log scale it is uniform in its logarithm. A place that a clause
        forbids is drawn again, from the part that is left between it and the other end. This keeps
        the distribution (Neal 2003, the shrinkage of slice sampling).
        """
        back, ahead = self._reach(chains, direction)
        if whole:
            back, ahead = np.ceil(back - 1e-7), np.floor(ahead + 1e-7)
        moved, left = chains.copy(), np.arange(len(chains))
        for _ in range(SHRINKS):
            share = rng.random(len(left))
            if whole:
                times = back + np.floor(share * (ahead - back + 1))
            elif log is None:
                times = back + share * (ahead - back)
            else:
                here = chains[left, log]
                least = self.coordinates.lower[log]
                ends = np.log(np.maximum([here + back, here + ahead], least))
                times = np.exp(ends[0] + share * (ends[1] - ends[0])) - here
            places = chains[left] + times[:, None] * direction[left]
            good = self.system.holds(places) if self.system.clauses else np.ones(len(left), bool)
            moved[left[good]] = places[good]
            left, times, back, ahead = left[~good], times[~good], back[~good], ahead[~good]
            if not len(left):
                break
            step = 1.0 if whole else 0.0
            back = np.where(times < 0, np.minimum(times + step, 0.0), back)
            ahead = np.where(times > 0, np.maximum(times - step, 0.0), ahead)
        return moved

    def _reach(self, chains: Array, direction: Array) -> tuple[Array, Array]:
        """Return how far each chain can move backwards and forwards along its direction."""
        rooms = np.maximum(self.offsets - chains @ self.normals.T, 0.0)
        speeds = direction @ self.normals.T
        meets = np.abs(speeds) > 1e-12
        times = rooms / np.where(meets, speeds, 1.0)
        back = np.where(meets & (speeds < 0), times, -np.inf).max(1)
        ahead = np.where(meets & (speeds > 0), times, np.inf).min(1)
        return np.where(np.isfinite(back), back, 0.0), np.where(np.isfinite(ahead), ahead, 0.0)

    def _change_choice(self, chains: Array, number: int, rng: np.random.Generator) -> Array:
        """Return the chains with another value of a choice, where that is allowed."""
        variable, place = self.coordinates.box.blocks[number]
        proposed = chains.copy()
        proposed[:, place] = variable.from_unit(rng.random(len(chains)))
        return np.where(self.system.holds(proposed)[:, None], proposed, chains)
