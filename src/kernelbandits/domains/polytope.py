"""Moves within a polytope: directions along its faces, and the nearest point of it.

With the choices and grid values of a row held fixed, and one inequality imposed for each forbidden
combination, its tied real numbers lie in a polytope. All functions work on many rows at once. Row i
is inside if normals @ x_i <= offsets[i]: the normals are shared, the offsets differ from row to
row, and an infinite offset is no limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains.coordinates import Mask
from kernelbandits.domains.linear_system import LinearSystem

TOUCHING = 1e-9
"""A limit this close, in scales, holds the point."""
TOGETHER, PASSES = 8, 40
"""The set of limits that hold changes so often as a whole, and at most so often at all."""
DEPENDENT = 1e-12
"""Added to the diagonal, relative to it: limits that meet in a corner may be dependent."""


@dataclass(frozen=True)
class PolytopeLimits:
    """Inequalities that hold rows, in units in which the function changes over a distance of 1."""

    normals: Array
    """(m, d): one row of length 1 for each inequality, along which the equalities are kept."""
    offsets: Array
    """(n, m): one row for each row of the search."""
    units: Array
    """A row of the search is a row here times these units."""
    projector: Array
    """(d, d): the part of a move that keeps the equalities and the coordinates that are fixed."""

    def __getitem__(self, kept: Any) -> PolytopeLimits:
        return replace(self, offsets=self.offsets[kept])

    def directions(self, rows: Array, slopes: Array, inverse_hessian: Array) -> Array:
        """Return the p that maximises g'p - p'H^-1 p / 2 with normals @ p <= 0 where they touch.

        p = H (g - G' l) for the multipliers l >= 0 of the limits that hold.
        """
        image: Array = np.matmul(inverse_hessian, slopes[:, :, None])[:, :, 0]
        touching = self.offsets - rows @ self.normals.T <= TOUCHING
        pushed = touching & (image @ self.normals.T > 0)
        # Most starts are away from most limits: only those that are held, and what holds them.
        starts, limits = np.flatnonzero(pushed.any(1)), np.flatnonzero(touching.any(0))
        if len(starts):
            normals, held = self.normals[limits], image[starts]
            mixed = np.matmul(inverse_hessian[starts], normals.T)
            near = touching[np.ix_(starts, limits)]
            least = 1e-9 * np.abs(held).max(1, initial=1e-300)[:, None]
            found = multipliers(np.matmul(normals, mixed), held @ normals.T, near, least)
            image[starts] = held - np.matmul(mixed, found[:, :, None])[:, :, 0]
        return image

    def shorten(self, rows: Array, direction: Array) -> Array:
        """Return the directions, cut where they meet the first limit."""
        crossing = direction @ self.normals.T
        room = np.maximum(self.offsets - rows @ self.normals.T, 0.0)
        # A direction along a face crosses it by rounding, which must not end the step.
        meets = crossing > 1e-7 * np.abs(direction).max(1, initial=1e-300)[:, None]
        share = np.where(meets, room / np.where(meets, crossing, 1.0), np.inf)
        cut: Array = direction * share.min(1, initial=1.0)[:, None]
        return cut

    def move(self, rows: Array, step: Array) -> Array:
        return rows + step

    def nearest_inside(self, rows: Array) -> Array:
        """Return the point of each polytope nearest to a row; outside if it is empty.

        x = y - G' l for the multipliers l >= 0 of the limits that hold.
        """
        inside = rows.copy()
        gram = self.normals @ self.normals.T
        # What the first solution misses by rounding, a second one corrects.
        for _ in range(2):
            excess = inside @ self.normals.T - self.offsets
            outside = np.flatnonzero((excess > 0).any(1))
            if len(outside):
                grams = np.broadcast_to(gram, (len(outside), *gram.shape))
                near = np.isfinite(excess[outside])
                found = multipliers(grams, np.where(near, excess[outside], 0.0), near, 1e-15)
                inside[outside] -= found @ self.normals
        return inside


def limits_of(
    system: LinearSystem, search: Array, scale: Array, margins: Array | float = 0.0
) -> PolytopeLimits:
    """Return the limits of rows, in units of the scale; a coordinate of scale 0 is held fixed.

    The normals are projected onto what the equalities leave, so that moves along them keep the
    equalities. The limits are those of the inequalities imposed on each row, less the margins.
    """
    coordinates = system.coordinates
    units = np.where(scale > 0, scale, 1.0)
    basis = null_basis(system.equalities, scale)
    projector = basis @ basis.T
    moving = np.flatnonzero(scale > 0)
    sides = np.eye(len(scale))[moving]
    normals = np.vstack([system.inequalities, sides, -sides]) * units
    rooms = np.hstack(
        [
            system.imposed_bounds(search) - margins - search @ system.inequalities.T,
            coordinates.upper[moving] - search[:, moving],
            search[:, moving] - coordinates.lower[moving],
        ]
    )
    inner: Array = normals @ projector
    lengths = np.sqrt((inner**2).sum(1))
    kept = lengths > 1e-9 * np.maximum(np.abs(normals).max(1, initial=0.0), 1e-300)
    inner, lengths = inner[kept] / lengths[kept, None], lengths[kept]
    offsets = (search / units) @ inner.T + rooms[:, kept] / lengths
    return PolytopeLimits(inner, offsets, units, projector)


def multipliers(gram: Array, pushing: Array, near: Mask, least: Array | float) -> Array:
    """Return l >= 0 with gram @ l = pushing where l > 0, and gram @ l >= pushing elsewhere.

    Which limits hold is found by changing the set until all multipliers are positive and no other
    limit is crossed. Only limits that are near can hold. If all that is wrong is changed at once,
    the sets may repeat; if only the first limit is, they never do (Murty 1974).
    """
    held = near & (pushing > 0)
    for number in range(PASSES):
        found = solve_held(gram, pushing, held)
        crossing = pushing - np.matmul(gram, found[:, :, None])[:, :, 0]
        wrong = near & np.where(held, found <= 0, crossing > least)
        if not wrong.any():
            break
        if number >= TOGETHER:
            wrong &= np.cumsum(wrong, axis=1) == 1
        held = held ^ wrong
    return found


def solve_held(gram: Array, right: Array, held: Mask) -> Array:
    """Return the multipliers of the limits that hold, zero for the others."""
    both = held[:, :, None] & held[:, None, :]
    diagonal = np.diagonal(gram, axis1=1, axis2=2)
    system = np.where(both, gram, 0.0)
    places = np.arange(gram.shape[1])
    system[:, places, places] = np.where(held, diagonal * (1 + DEPENDENT) + 1e-300, 1.0)
    solution: Array = np.linalg.solve(system, np.where(held, right, 0.0)[:, :, None])[:, :, 0]
    return solution


def null_basis(equalities: Array, scale: Array) -> Array:
    """Return an orthonormal basis of the p with equalities @ (scale * p) = 0, one in each column.

    A coordinate of scale 0 is held fixed: it is zero in every column.
    """
    free = (scale > 0).nonzero()[0]
    columns = equalities[:, free] * scale[free]
    columns = columns[np.abs(columns).max(1, initial=0.0) > 0]
    inner = np.eye(len(free))
    if len(columns):
        columns = columns / np.abs(columns).max(1, keepdims=True)
        _, sizes, rotation = np.linalg.svd(columns)
        rank = int((sizes > 1e-10 * sizes[0]).sum())
        inner = rotation[rank:].T
    basis = np.zeros((len(scale), inner.shape[1]))
    basis[free] = inner
    return basis
