"""The points of a finite set, listed."""

from __future__ import annotations

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.domains.linear_system import TOLERANCE, LinearSystem
from kernelbandits.domains.variables import Number

MOST_LISTED = 100_000
"""A finite set with more points is not counted."""
MOST_EXPANDED = 2**22
"""The most coordinates of partial points while a finite set is listed, 32 MB."""


def list_points(system: LinearSystem) -> Array | None:
    """Return all points of a finite set, or None if they are too many.

    The variables are joined one by one. Of a tied number only the values are taken for which the
    values of the others may still satisfy the linear constraints.
    """
    coordinates = system.coordinates
    partial = np.zeros((1, 0))
    for variable, place in coordinates.box.blocks:
        tied = bool(coordinates.is_grid[place].any())
        if tied:
            first, last = completing_range(system, partial, place.start)
        else:
            first = np.zeros(len(partial), dtype=np.int64)
            last = np.full(len(partial), int(variable.levels) - 1)
        counts = np.maximum(last - first + 1, 0)
        if counts.sum() * max(place.stop, 1) > MOST_EXPANDED:
            return None
        lines = np.repeat(np.arange(len(partial)), counts)
        within = np.arange(len(lines)) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = np.repeat(first, counts) + within
        if isinstance(variable, Number) and tied:
            columns = variable.grid_value(chosen)[:, None]
        else:
            columns = variable.all_coordinates()[chosen]
        partial = np.hstack([partial[lines], columns])
    points: Array = partial[system.holds(partial)]
    return points if len(points) <= MOST_LISTED else None


def completing_range(system: LinearSystem, partial: Array, j: int) -> tuple[Indices, Indices]:
    """Return the first and the last grid number of coordinate j that may be completed.

    `partial` are partial points: the coordinates before j.
    """
    always, coordinates = system.always, system.coordinates
    rows = np.vstack([system.inequalities[:always], system.equalities, -system.equalities])
    sizes = [system.sizes[:always], system.equality_sizes, system.equality_sizes]
    bounds = [system.bounds[:always], system.equal_to, -system.equal_to]
    limits = np.concatenate(bounds) + TOLERANCE * np.concatenate(sizes)
    lower, upper, step = coordinates.lower, coordinates.upper, coordinates.step[j]
    rest = rows[:, j + 1 :]
    least = np.where(rest > 0, rest * lower[j + 1 :], rest * upper[j + 1 :]).sum(1)
    room = limits - least - partial @ rows[:, :j].T
    factors = rows[:, j]
    ends = room / np.where(factors == 0, 1.0, factors)
    high = np.where(factors > 0, ends, np.inf).min(1, initial=upper[j])
    low = np.where(factors < 0, ends, -np.inf).max(1, initial=lower[j])
    first = np.ceil((low - lower[j]) / step - 1e-9)
    last = np.floor((high - lower[j]) / step + 1e-9)
    last = np.where(((factors != 0) | (room >= 0)).all(1), last, first - 1)
    return first.astype(np.int64), last.astype(np.int64)
