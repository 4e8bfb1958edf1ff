"""The points of a finite set, listed."""

from __future__ import annotations

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.domains.conditions import Activity, Mask, level_numbers
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
    partial, activity = np.zeros((1, 0)), coordinates.box.activity
    for number, (variable, place) in enumerate(coordinates.box.blocks):
        tied = bool(coordinates.is_grid[place].any())
        if tied:
            first, last = completing_range(system, partial, place.start)
        else:
            first = np.zeros(len(partial), dtype=np.int64)
            last = np.full(len(partial), int(variable.levels) - 1)
        if activity is not None and all(link.parent < number for link in activity.links[number]):
            inactive = ~find_active(system, activity, partial)[:, number]
            held = level_numbers(variable, variable.neutral[None])
            first, last = np.where(inactive, held, first), np.where(inactive, held, last)
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
    if activity is not None:
        rows = coordinates.to_rows(partial)
        partial = partial[(rows == activity.neutralise(rows)).all(1)]
    points: Array = partial[system.holds(partial)]
    return points if len(points) <= MOST_LISTED else None


def find_active(system: LinearSystem, activity: Activity, partial: Array) -> Mask:
    """Tell which variables are there at partial points, which have what they depend on."""
    rows = np.zeros((len(partial), system.coordinates.dimension))
    rows[:, : partial.shape[1]] = partial
    return activity.find_active(system.coordinates.to_rows(rows))


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
