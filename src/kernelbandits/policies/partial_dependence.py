"""How the estimate changes with one variable: the average over all others, with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array
from kernelbandits.domains import Arms, Box, MixedBox, Real
from kernelbandits.domains.variables import Number
from kernelbandits.formatting import format_interval
from kernelbandits.markup import html_card, html_table
from kernelbandits.policies.leave_one_out import HALF_INTERVAL
from kernelbandits.policies.relevance import select_rows

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
BAND = "the 95 % interval of that average, not of one candidate and not of a new measurement"
"""What the band of a partial dependence is, for captions and help texts."""


class Slice(NamedTuple):
    """Points that have the same value of one variable."""

    value: Any
    rows: Array


@dataclass(frozen=True)
class PartialDependence:
    """The estimate at each value of one variable, averaged over the other variables.

    `low` and `high` are the 95 % interval of that average: how well the average is known, not how
    much single candidates differ, and not the spread of new measurements. All numbers are in the
    units of the results, also where the model transforms them.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> auto = kb.Auto(kb.MixedBox({"heat": kb.Real(20, 90), "acid": kb.Category(("a", "b"))}))
    >>> for heat in np.linspace(20, 90, 8):
    ...     for acid in "ab":
    ...         auto.tell(kb.Choice({"heat": heat, "acid": acid}), heat / 10 + (acid == "b"))
    >>> acid = auto.partial_dependence("acid")
    >>> acid.values, round(acid.mean[1] - acid.mean[0], 1)
    (('a', 'b'), 1.0)
    >>> auto.partial_dependence("heat").records()[0].keys()
    dict_keys(['heat', 'mean', 'low', 'high'])
    """

    name: str
    """The variable, or the column of a table."""
    values: tuple[Any, ...]
    """Its values, as a user writes them: numbers in increasing order, or all choices."""
    mean: tuple[float, ...]
    """The average estimate at each value."""
    low: tuple[float, ...]
    """The lower end of the 95 % interval of that average."""
    high: tuple[float, ...]
    """The upper end."""
    is_number: bool = True
    """Whether the values are numbers; otherwise they are choices."""
    log: bool = False
    """Whether the model sees the variable by its logarithm."""

    def __post_init__(self) -> None:
        lengths = {len(part) for part in (self.values, self.mean, self.low, self.high)}
        checks.needs(len(lengths) == 1, "PartialDependence", "as many numbers as values", lengths)
        checks.needs(lengths != {0}, "PartialDependence", "at least one value", self.values)
        ends = zip(self.low, self.mean, self.high, strict=True)
        ordered = all(low <= mean <= high for low, mean, high in ends)
        checks.needs(ordered, "PartialDependence", "low <= mean <= high", self.name)

    def records(self) -> list[dict[str, Any]]:
        """The curve as rows of a table, for instance for `pandas.DataFrame(curve.records())`."""
        rows = zip(self.values, self.mean, self.low, self.high, strict=True)
        names = (self.name, "mean", "low", "high")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _repr_html_(self) -> str:
        """What a notebook shows: the curve as a table."""
        cells = zip(self.values, self.mean, self.low, self.high, strict=True)
        rows = [(value, format_interval(mean, low, high)) for value, mean, low, high in cells]
        table = html_table((self.name, "average estimate, 95 % interval"), rows)
        return html_card(f"Partial dependence on {self.name}", table)

    def convert(self, outward: Callable[[Array], Array]) -> PartialDependence:
        """Return the same curve in other units; a function that decreases exchanges the ends."""
        mean, first, second = (outward(np.array(part)) for part in (self.mean, self.low, self.high))
        low, high = np.sort([first, second], axis=0)
        return replace(
            self,
            mean=tuple(mean.tolist()),
            low=tuple(np.minimum(low, mean).tolist()),
            high=tuple(np.maximum(high, mean).tolist()),
        )

    def describe(self, place: int) -> str:
        """0.62 [0.55, 0.69] at 45"""
        known = format_interval(self.mean[place], self.low[place], self.high[place])
        return f"{known} at {show_value(self.values[place])}"

    @property
    def least(self) -> int:
        """The position of the lowest average."""
        return int(np.argmin(self.mean))

    @property
    def greatest(self) -> int:
        """The position of the highest average."""
        return int(np.argmax(self.mean))


def show_value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def average_with_interval(
    mean: Array, covariance: Array, units: Standard
) -> tuple[float, float, float]:
    """Return the average a of g(f) over some points, and the ends of its 95 % interval.

    g turns standardised rewards into rewards. With the posterior mean m and covariance S of f at
    the points, a = average of g(m). To first order the variance of the average is w' S w, with
    w = g'(m) / n. The ends are the averages of g(m -+ 1.96 S w / sqrt(w' S w)): of all functions f
    that move the average so far, this is the most probable. Without a power transformation it is
    exactly a -+ 1.96 sd; at a single point it is the interval of the estimate, g(m -+ 1.96 sd).
    """
    # The slope over one sd, and not at the point alone, as the sd of an estimate is computed.
    step = np.sqrt(np.maximum(covariance.diagonal(), 1e-18))
    weights = units.original_sd(mean, step) / step / len(mean)
    pulled = covariance @ weights
    variance = float(weights @ pulled)
    shift = HALF_INTERVAL * pulled / np.sqrt(variance) if variance > 0 else np.zeros(len(mean))
    average, low, high = (
        float(np.mean(units.original(mean + sign * shift))) for sign in (0.0, -1.0, 1.0)
    )
    return average, min(low, average), max(high, average)


# ---------------------------------------------------------------------- spaces


def slice_space(space: MixedBox, number: int) -> list[Slice]:
    """Return points of a space for several values of one of its variables.

    The points of one slice are spread over the values of all other variables. Where a constraint
    names the variable, they are points that satisfy the constraints at this value: in a mixture
    the other components give what this one takes. (Those on a grid may lie between its values.)
    """
    variable, place = space.blocks[number]
    if not space.constraints or number not in space.feasible.tied:
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
    feasible = space.feasible
    search = feasible.to_search(rows)
    order = np.argsort(search[:, column], kind="stable")
    moved, ends = search[:ROWS], (order[:PARTNERS], order[-PARTNERS:])
    # Choices stay as they are: only numbers stand in linear constraints.
    numbers = feasible.is_tied & np.isin(np.arange(space.dimension), [*feasible.column.values()])
    partners = [find_partners(moved, search[end], column, numbers) for end in ends]
    slices = []
    for coordinate in possible_coordinates(variable, rows[order, column]):
        wanted = set_value(rows[:1], slice(column, column + 1), (coordinate,))
        target = float(feasible.to_search(wanted)[0, column])
        gap = target - moved[:, column]
        towards = np.where((gap < 0)[:, None], *partners) - moved
        onward = gap * towards[:, column] > 0
        share = np.divide(gap, towards[:, column], out=np.zeros_like(gap), where=onward)
        found = moved + np.where(numbers, share[:, None] * towards, 0.0)
        found[:, column] = target
        reached = (gap == 0) | (onward & (share <= 1.0 + MOVED))
        kept = found[reached & feasible.holds(found, tolerance=MOVED)]
        slices.append(Slice(variable.decode(np.array([coordinate])), feasible.to_rows(kept)))
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
