"""The variables of a domain, and points that have the same value of one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import Arms, Box, MixedBox, Real
from kernelbandits.domains.variables import Number

ROWS = 64
"""Over how many points the other variables are averaged."""
VALUES = 25
"""How many values of a number are tried; all of them, if there are no more."""
FEWEST = 8
"""Over how many points at least, where constraints leave few at a value."""
POOLED, PARTNERS = 2048, 24
"""From how many points of a constrained space slices are made, and how many of them are ends."""
MOVED = 1e-9
"""By how much a point that was moved may miss an inequality, relative to its size."""
GOLDEN = (5**0.5 - 1) / 2


class Slice(NamedTuple):
    """Points that have the same value of one variable."""

    value: Any
    rows: Array


class DomainVariable(NamedTuple):
    """A variable of a domain: its name, its coordinates and its slices."""

    name: str
    block: tuple[int, ...]
    slices: Callable[[], list[Slice]]
    is_number: bool
    log: bool


def list_variables(domain: Any) -> list[DomainVariable]:
    """Return the variables of arms, a box or a space; without names they are x1, x2, ..."""
    if isinstance(domain, Box):
        sides = zip(domain.lower, domain.upper, strict=True)
        return list_variables(MixedBox(tuple(Real(low, high) for low, high in sides)))
    if isinstance(domain, Arms):
        return [
            DomainVariable(
                f"x{number}",
                block,
                partial(slice_points, domain.points, block),
                len(block) == 1,
                False,
            )
            for number, block in enumerate(domain.blocks, 1)
        ]
    checks.needs(isinstance(domain, MixedBox), "partial dependence", "arms or a space", domain)
    names = domain.names or tuple(f"x{number}" for number in range(1, domain.sides + 1))
    return [
        DomainVariable(
            names[number],
            tuple(range(place.start, place.stop)),
            partial(slice_space, domain, number),
            isinstance(variable, Number),
            bool(getattr(variable, "log", False)),
        )
        for number, (variable, place) in enumerate(domain.blocks)
        if variable.levels > 1
    ]


# ---------------------------------------------------------------------- spaces


def slice_space(space: MixedBox, number: int) -> list[Slice]:
    """Return points of a space for several values of one of its variables.

    The points of one slice are spread over the values of all other variables. Where a constraint
    names the variable, they are points that satisfy the constraints at this value: in a mixture
    the other components give what this one takes. (Those on a grid may lie between its values.)
    """
    variable, place = space.blocks[number]
    if space.allowed is not None:
        return slice_listed(space, number)
    if space.activity is not None:
        return slice_conditional(space, number)
    if not space.constraints or number not in space.linear.coordinates.tied:
        others = space.cover(ROWS).points
        values = variable.grid_values(VALUES)
        return [Slice(value, set_value(others, place, variable.encode(value))) for value in values]
    rows = space.cover(POOLED).points
    if isinstance(variable, Number):
        slices = slice_constrained(space, variable, rows, place.start)
    else:
        slices = [
            Slice(value, rows[(rows[:, place] == variable.encode(value)).all(1)][:ROWS])
            for value in variable.grid_values(None)
        ]
    return [one for one in slices if len(one.rows) >= FEWEST]


def slice_listed(space: MixedBox, number: int) -> list[Slice]:
    """Return the points of a list that have several values of a variable which is there."""
    variable, place = space.blocks[number]
    rows = space.all_rows()
    if space.activity is not None:
        rows = rows[space.activity.find_active(rows)[:, number]]
    values = [(one, np.array(variable.encode(one))) for one in variable.grid_values(VALUES)]
    alike = [(one, rows[np.isclose(rows[:, place], at, rtol=1e-12).all(1)]) for one, at in values]
    slices = [Slice(one, same[select_rows(len(same))]) for one, same in alike]
    return [one for one in slices if len(one.rows) >= FEWEST]


def slice_conditional(space: MixedBox, number: int) -> list[Slice]:
    """Return points for several values of a variable of a space with conditions.

    They are points at which the variable is there. What becomes active by its value has values
    spread over its range, and what becomes inactive none.
    """
    variable, place = space.blocks[number]
    others, slices = space.unconditional.cover(POOLED).points, []
    for value in variable.grid_values(VALUES):
        rows = space.neutralise(set_value(others, place, variable.encode(value)))
        kept = space.activity is None or space.activity.find_active(rows)[:, number]
        if space.constraints:
            kept = kept & space.feasible.holds(rows)
        slices.append(Slice(value, rows[kept][:ROWS]))
    return [one for one in slices if len(one.rows) >= FEWEST]


def set_value(rows: Array, place: slice, coordinates: Sequence[float]) -> Array:
    """Return rows with one variable set to a value."""
    changed = rows.copy()
    changed[:, place] = coordinates
    return changed


def slice_constrained(space: MixedBox, variable: Number, rows: Array, column: int) -> list[Slice]:
    """Return feasible points for several values of a number that a constraint names.

    Some points of the space are moved to each value. A point moves on a line: to one of the points
    with the least values of the variable, or to one of those with the greatest, that with the most
    similar other numbers. A set given by linear constraints is convex, so it contains these lines;
    what a forbidden combination excludes is left out. In a mixture the proportions of the other
    components stay about the same. The points move continuously, and so does their average.
    """
    coordinates = space.linear.coordinates
    search = coordinates.to_search(rows)
    order = np.argsort(search[:, column], kind="stable")
    moved, ends = search[:ROWS], (order[:PARTNERS], order[-PARTNERS:])
    # Choices stay as they are: only numbers stand in linear constraints.
    numbers = coordinates.is_real | coordinates.is_grid
    partners = [find_partners(moved, search[end], column, numbers) for end in ends]
    slices = []
    for coordinate in possible_coordinates(variable, rows[order, column]):
        wanted = set_value(rows[:1], slice(column, column + 1), (coordinate,))
        target = float(coordinates.to_search(wanted)[0, column])
        gap = target - moved[:, column]
        towards = np.where((gap < 0)[:, None], *partners) - moved
        onward = gap * towards[:, column] > 0
        share = np.divide(gap, towards[:, column], out=np.zeros_like(gap), where=onward)
        found = moved + np.where(numbers, share[:, None] * towards, 0.0)
        found[:, column] = target
        reached = (gap == 0) | (onward & (share <= 1.0 + MOVED))
        kept = found[reached & space.linear.system.holds(found, tolerance=MOVED)]
        moved_rows = coordinates.to_rows(kept)
        # Between points with other numbers above 0 too many may be above 0.
        moved_rows = moved_rows[space.feasible.holds(moved_rows, MOVED)]
        slices.append(Slice(variable.decode(np.array([coordinate])), moved_rows))
    return slices


def find_partners(points: Array, others: Array, column: int, numbers: Any) -> Array:
    """Return for each point that of the others with the most similar numbers, but in one column."""
    compared = numbers & (np.arange(points.shape[1]) != column)
    sides = np.maximum(np.ptp(np.vstack([points, others]), axis=0), 1e-300)
    apart = (points[:, None] - others[None]) / sides
    nearest: Array = others[np.square(apart[:, :, compared]).sum(2).argmin(1)]
    return nearest


def possible_coordinates(variable: Number, ordered: Array) -> Array:
    """Return coordinates of a number that the constraints leave, from those of feasible points.

    There are points beyond both ends, to which others can be moved.
    """
    if variable.discrete:
        known = np.unique(ordered)
        kept = np.linspace(0, len(known) - 1, min(VALUES, len(known))).round().astype(int)
        return np.asarray(known[kept])
    beyond = min(PARTNERS, len(ordered) // 4)
    return np.linspace(ordered[beyond], ordered[-1 - beyond], VALUES)


# ---------------------------------------------------------------------- arms and boxes


def slice_points(points: Array, block: Sequence[int]) -> list[Slice]:
    """Return the points of a list of arms, with several values of one of their columns.

    Values of a column of several coordinates, a category, are numbered as they first come.
    """
    coordinates = list(block)
    others = points[select_rows(len(points))]
    if len(coordinates) > 1:
        known, first = np.unique(points[:, coordinates], axis=0, return_index=True)
        levels = known[np.argsort(first)]
        return [Slice(i, set_columns(others, coordinates, one)) for i, one in enumerate(levels)]
    values = spread_values(points[:, coordinates[0]])
    return [Slice(float(one), set_columns(others, coordinates, one)) for one in values]


def set_columns(rows: Array, columns: list[int], values: Any) -> Array:
    """Return rows with the same values in these columns."""
    changed = rows.copy()
    changed[:, columns] = values
    return changed


def spread_values(numbers: Array) -> Array:
    """Return all different numbers, or evenly spaced ones if there are more than VALUES."""
    known = np.unique(numbers)
    return known if len(known) <= VALUES else np.linspace(known[0], known[-1], VALUES)


def select_rows(n: int) -> Indices:
    """Return all rows of a table, or 64 that are spread over it.

    The table may be a grid, in which evenly spaced rows would all have the same value of a column.
    Multiples of the golden ratio meet every part of the table and follow no grid.
    """
    if n <= ROWS:
        return np.arange(n)
    return np.unique((np.arange(1, ROWS + 1) * GOLDEN % 1 * n).astype(np.int64))
