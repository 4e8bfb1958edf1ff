"""Two columns varied and the others kept, where a mixture or a constraint gives a sum."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernelbandits.checks import Array

if TYPE_CHECKING:
    from kernelbandits.domains import MixedBox
    from kernelbandits.study.candidates import Candidates
    from kernelbandits.study.place import Place

TOTALS = (1.0, 100.0)
"""The sums that the components of a mixture may have."""
SUM_ERROR = 1e-6
"""By which share of itself such a sum may differ whatever its numbers are."""
ROUNDED = 0.01
"""By which share of itself a sum of numbers with few decimals may differ, such as 0.99."""
MOST_DECIMALS = 8
"""A number with more decimals is not rounded."""
MOST_SHARES = 12
"""Among so many columns of numbers a mixture is looked for."""

Side = list[tuple[Any, Array]]
"""Values of a column with their coordinates."""


@dataclass(frozen=True)
class ThreePartMixture:
    """Three columns or variables, none of them negative, that sum to 1 or to 100 %."""

    names: tuple[str, ...]
    total: float
    sums: tuple[float, float] | None = None
    """The least and the greatest sum in a table, where they differ by rounding."""


def describe_sums(sums: tuple[float, float] | None) -> str:
    """Return sums in words, where they differ by rounding.

    >>> describe_sums((0.99, 1.01))
    ' (rounded: 0.99 to 1.01)'
    """
    return "" if sums is None else f" (rounded: {sums[0]:g} to {sums[1]:g})"


@dataclass(frozen=True, eq=False)
class MapGrid:
    """A candidate with all values of two columns, the first of them changing faster."""

    sides: tuple[Side, Side]
    rows: Array
    """The coordinates of each combination."""
    inside: npt.NDArray[np.bool_]
    """Which of them satisfy the constraints."""
    shared: tuple[str, ...] = ()
    """The other columns that were changed, because a sum is given."""
    total: float | None = None
    """The sum of a mixture of three, if two of them are varied."""
    sums: tuple[float, float] | None = None
    """The least and the greatest sum in a table, where they differ by rounding."""


def spread_over(place: Place, row: Array, names: tuple[str, str], sides: Sequence[Side]) -> Array:
    """Return the row with all values of two columns."""
    blocks = dict(zip(place.varying, place.blocks, strict=True))
    (_, across), (_, up) = (zip(*side, strict=True) for side in sides)
    rows = np.tile(row, (len(up) * len(across), 1))
    rows[:, list(blocks[names[0]])] = np.tile(np.array(across), (len(up), 1))
    rows[:, list(blocks[names[1]])] = np.repeat(np.array(up), len(across), axis=0)
    return rows


# ---------------------------------------------------------------------- tables


def find_shares(numbers: Mapping[str, Array]) -> ThreePartMixture | None:
    """Find three of some columns with a given sum in all rows.

    Numbers with few decimals are rounded: 0.26 + 0.37 + 0.36 is a sum of 1. A sum may differ by
    half a unit in the last decimal of each number, and by a hundredth of the total at most.
    """
    shares = {name: numbers[name] for name in list(numbers)[:MOST_SHARES]}
    shares = {name: values for name, values in shares.items() if values.min() >= 0}
    for three in combinations(shares, 3):
        parts = np.stack([shares[name] for name in three])
        sums = parts.sum(0)
        for total in TOTALS:
            exact, missed = SUM_ERROR * total, np.abs(sums - total)
            if (missed <= exact + allowed_rounding(parts, total)).all():
                low, high = np.round([sums.min(), sums.max()], MOST_DECIMALS).tolist()
                return ThreePartMixture(three, total, (low, high) if missed.max() > exact else None)
    return None


def allowed_rounding(parts: Array, total: float) -> Array:
    """Return by how much each sum of numbers may differ from the total because of rounding.

    That is half a unit in the last decimal of each of them, and a hundredth of the total at most.
    """
    most = np.zeros(parts.shape[1])
    for decimals in reversed(range(MOST_DECIMALS)):
        few = (np.abs(parts - np.round(parts, decimals)) < 1e-9).all(0)
        most[few] = len(parts) * 0.5 * 10.0**-decimals
    return np.minimum(most, ROUNDED * total)


def fill_mixture(
    table: Candidates, row: Array, names: tuple[str, str], mixture: ThreePartMixture, most: int
) -> MapGrid:
    """Return the row with all values of two components, where the third makes up for them.

    A third component outside the values of the table breaks the constraint.
    """
    across, up = (share_values(table, name, most) for name in names)
    rows = spread_over(table, row, names, (across, up))
    [third] = [name for name in mixture.names if name not in names]
    given = np.add.outer([value for value, _ in up], [value for value, _ in across])
    left = mixture.total - given.ravel()
    (least, greatest), (low, high) = table.span(third), table.range(third)
    slack = SUM_ERROR * mixture.total
    inside = (left >= least - slack) & (left <= greatest + slack)
    block = dict(zip(table.varying, table.blocks, strict=True))[third]
    rows[:, list(block)] = ((left - low) / (high - low))[:, None]
    return MapGrid((across, up), rows, inside, (third,), mixture.total, mixture.sums)


def share_values(table: Candidates, name: str, most: int) -> Side:
    """Return evenly spaced values of a component with their coordinates."""
    low, high = table.range(name)
    values = np.linspace(*table.span(name), most)
    return [(float(value), np.array([(value - low) / (high - low)])) for value in values]


# ---------------------------------------------------------------------- spaces


def find_sum(space: MixedBox, plain: Sequence[str]) -> ThreePartMixture | None:
    """Find a constraint that gives the sum of three of the plain, not negative, numbers."""
    if not space.constraints:
        return None
    system = space.linear.system
    names = {column: space.names[number] for number, column in system.coordinates.column.items()}
    for weights, right in zip(system.equalities, system.equal_to, strict=True):
        named = np.flatnonzero(weights).tolist()
        if len(named) != 3 or not np.allclose(weights[named], weights[named[0]]):
            continue
        three = tuple(names[column] for column in named)
        for total in TOTALS:
            if {*three} <= {*plain} and math.isclose(right / weights[named[0]], total):
                return ThreePartMixture(three, total)
    return None


def share_sums(
    space: MixedBox, rows: Array, names: tuple[str, str]
) -> tuple[Array, tuple[str, ...]]:
    """Let the other numbers of each given sum make up for these two, in their proportions."""
    if not space.constraints:
        return rows, ()
    system, coordinates = space.linear.system, space.linear.coordinates
    search, changed = coordinates.to_search(rows), set[int]()
    columns = {space.names[number]: column for number, column in coordinates.column.items()}
    chosen = {columns[name] for name in names if name in columns}
    for weights, total in zip(system.equalities, system.equal_to, strict=True):
        named = set(np.flatnonzero(weights).tolist())
        others = sorted(named - chosen)
        if not others or not named & chosen:
            continue
        terms = weights[others] * search[:, others]
        left = total - search @ np.where(np.isin(np.arange(len(weights)), others), 0.0, weights)
        sums = terms.sum(1, keepdims=True)
        # Of components that the likely best does not contain, each takes as much.
        equal = np.full_like(terms, 1 / len(others))
        shares = np.divide(terms, sums, out=equal, where=np.abs(sums) > 1e-12)
        search[:, others] = shares * left[:, None] / weights[others]
        changed |= set(others)
    shared = tuple(name for name, column in columns.items() if column in changed)
    return coordinates.to_rows(search), shared


def holds_constraints(space: MixedBox, rows: Array) -> npt.NDArray[np.bool_]:
    """Tell which rows lie within the ranges and satisfy the constraints."""
    low, high = np.array(space.lower), np.array(space.upper)
    slack = 1e-9 * (high - low)
    inside: npt.NDArray[np.bool_] = ((rows >= low - slack) & (rows <= high + slack)).all(1)
    if space.constrained:
        inside &= space.feasible.holds(rows)
    return inside
