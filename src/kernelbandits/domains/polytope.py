"""Moves within a polytope: directions along its faces, and the nearest point of it.

All functions work on many points at once. Point i is inside if normals @ x_i <= offsets[i]: the
normals are shared, the offsets differ from point to point, and an infinite offset is no limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbandits.checks import Array

Mask = npt.NDArray[np.bool_]

TOUCHING = 1e-9
"""A limit this close, in scales, holds the point."""
PASSES = 12
"""The most changes of the active set for one direction or one projection."""
DEPENDENT = 1e-12
"""Added to the diagonal, relative to it: limits that meet in a corner may be dependent."""


@dataclass(frozen=True)
class PolytopeLimits:
    """Inequalities that hold the starts of an ascent, in coordinates without equalities."""

    normals: Array
    """(m, r): one row of length 1 for each inequality."""
    offsets: Array
    """(n, m): one row for each start."""

    def __getitem__(self, kept: Any) -> PolytopeLimits:
        return PolytopeLimits(self.normals, self.offsets[kept])

    def directions(self, rows: Array, slopes: Array, inverse_hessian: Array) -> Array:
        """Return the p that maximises g'p - p'H^-1 p / 2 with normals @ p <= 0 where they touch.

        p = H (g - G' l) for the multipliers l >= 0 of the limits that hold. Which of them hold is
        found by changing the set until all multipliers are positive and no other limit is crossed.
        """
        image: Array = np.matmul(inverse_hessian, slopes[:, :, None])[:, :, 0]
        touching = self.offsets - rows @ self.normals.T <= TOUCHING
        pushed = touching & (image @ self.normals.T > 0)
        # Most starts are away from most limits: only those that are held, and what holds them.
        starts, limits = np.flatnonzero(pushed.any(1)), np.flatnonzero(touching.any(0))
        if len(starts):
            near, held = (mask[np.ix_(starts, limits)] for mask in (touching, pushed))
            image[starts] = held_directions(
                image[starts], inverse_hessian[starts], self.normals[limits], near, held
            )
        return image

    def shorten(self, rows: Array, direction: Array) -> Array:
        """Return the directions, cut where they meet the first limit."""
        crossing = direction @ self.normals.T
        room = np.maximum(self.offsets - rows @ self.normals.T, 0.0)
        # A direction along a face crosses it by rounding, which must not end the step.
        meets = crossing > 1e-7 * np.abs(direction).max(1, initial=1e-300)[:, None]
        share = np.where(meets, room / np.where(meets, crossing, 1.0), np.inf).min(
            1, initial=np.inf
        )
        cut: Array = direction * np.minimum(share, 1.0)[:, None]
        return cut

    def move(self, rows: Array, step: Array) -> Array:
        return rows + step


def held_directions(
    image: Array, inverse_hessian: Array, normals: Array, near: Mask, held: Mask
) -> Array:
    """Return the directions that do not cross the limits near the starts."""
    pushing: Array = image @ normals.T
    mixed = np.matmul(inverse_hessian, normals.T)
    gram = np.matmul(normals, mixed)
    direction = image
    for _ in range(PASSES):
        multipliers = solve_held(gram, pushing, held)
        direction = image - np.matmul(mixed, multipliers[:, :, None])[:, :, 0]
        crossing = direction @ normals.T
        size = 1e-9 * np.abs(direction).max(1, initial=1e-300)[:, None]
        changed = near & np.where(held, multipliers > 0, crossing > size)
        if (changed == held).all():
            break
        held = changed
    return direction


def solve_held(gram: Array, right: Array, held: Mask) -> Array:
    """Return the multipliers of the limits that hold, zero for the others."""
    both = held[:, :, None] & held[:, None, :]
    diagonal = np.diagonal(gram, axis1=1, axis2=2)
    system = np.where(both, gram, 0.0)
    places = np.arange(gram.shape[1])
    system[:, places, places] = np.where(held, diagonal * (1 + DEPENDENT) + 1e-300, 1.0)
    solution: Array = np.linalg.solve(system, np.where(held, right, 0.0)[:, :, None])[:, :, 0]
    return solution


def nearest_inside(normals: Array, offsets: Array, rows: Array) -> Array:
    """Return the point of each polytope nearest to a row; outside if it is empty.

    x = y - G' l, with multipliers l >= 0 of the limits that hold, found as for a direction.
    """
    outside = (rows @ normals.T > offsets).any(1)
    found = rows.copy()
    if outside.any():
        found[outside] = moved_inside(normals, offsets[outside], rows[outside])
    return found


def moved_inside(normals: Array, offsets: Array, rows: Array) -> Array:
    """Return the nearest points of rows that are outside."""
    excess = rows @ normals.T - offsets
    held = excess > 0
    gram = np.broadcast_to(normals @ normals.T, (len(rows), len(normals), len(normals)))
    moved = rows
    for _ in range(3 * PASSES):
        multipliers = solve_held(gram, excess, held)
        moved = rows - multipliers @ normals
        beyond = moved @ normals.T - offsets
        changed = np.where(held, multipliers > 0, beyond > 1e-12)
        if (changed == held).all():
            break
        held = changed
    # What the first solution misses by rounding, a second one corrects.
    missed = moved @ normals.T - offsets
    refined: Array = moved - solve_held(gram, missed, held | (missed > 0)) @ normals
    return refined


def null_basis(equalities: Array, scale: Array) -> Array:
    """Return an orthonormal basis of the p with equalities @ (scale * p) = 0, one in each column.

    A coordinate of scale 0 is held fixed: it is zero in every column.
    """
    free = (scale > 0).nonzero()[0]
    basis = np.zeros((len(scale), 0))
    if not len(free):
        return basis
    columns = equalities[:, free] * scale[free]
    columns = columns[np.abs(columns).max(1, initial=0.0) > 0]
    if len(columns):
        columns = columns / np.abs(columns).max(1, keepdims=True)
        _, sizes, rotation = np.linalg.svd(columns)
        rank = int((sizes > 1e-10 * sizes[0]).sum())
        inner = rotation[rank:].T
    else:
        inner = np.eye(len(free))
    basis = np.zeros((len(scale), inner.shape[1]))
    basis[free] = inner
    return basis
