"""A continuous box, and the evenly spread points that stand for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains.arms import Arms

COVER = 500
"""Points that stand for a box unless told otherwise."""
SHORTEST_SIDE, LONGEST_SIDE = 1e-100, 1e100
"""Squares of lengths and of slopes along these are numbers still."""
FLOATS = 1024
"""A side is searched if so many floats lie on it."""


@dataclass(frozen=True)
class Box:
    """All points with lower <= x <= upper, coordinate by coordinate."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        given = is_flat(self.lower) and is_flat(self.upper)
        checks.needs(
            given, "Box", "a lower and an upper bound for each coordinate", (self.lower, self.upper)
        )
        sides = tuple(
            tuple(checks.number("Box", "in every bound", side) for side in bound)
            for bound in (self.lower, self.upper)
        )
        checks.needs(
            len(sides[0]) == len(sides[1]) > 0,
            "Box",
            "as many lower as upper bounds, one at least",
            sides,
        )
        checks.needs(
            all(low < high for low, high in zip(*sides, strict=True)), "Box", "lower < upper", sides
        )
        object.__setattr__(self, "lower", sides[0])
        object.__setattr__(self, "upper", sides[1])

    @property
    def dimension(self) -> int:
        return len(self.lower)

    @property
    def discrete(self) -> tuple[bool, ...]:
        """Which coordinates of a row take separate values only: none."""
        return (False,) * self.dimension

    @property
    def sides(self) -> int:
        """Numbers in [0, 1] that say which point: one for each coordinate."""
        return self.dimension

    def encode(self, x: Any) -> Array:
        """The point as a row, if it lies in the box."""
        row = one_row("encode", x, self.dimension)
        within = bool(((row >= self.lower) & (row <= self.upper)).all())
        checks.needs(within, "encode", f"a point in {self}", row.tolist())
        return row

    def decode(self, row: Any) -> Array:
        """The point of a row, which is the nearest in the box; it cannot be written to."""
        x: Array = self.nearest(one_row("decode", row, self.dimension)[None])[0]
        x.flags.writeable = False
        return x

    def nearest(self, rows: Any) -> Array:
        """Each row moved into the box."""
        return np.clip(rows_of("nearest", rows, self.dimension), self.lower, self.upper)

    def place(self, unit: Array) -> Array:
        """The points lower + (upper - lower) u of rows u in [0, 1]^d."""
        low, high = np.array(self.lower), np.array(self.upper)
        placed: Array = np.clip(low * (1 - unit) + high * unit, low, high)
        return placed

    def moves(self, row: Array) -> Array:
        """The row with one separate value changed: there is none to change."""
        return np.empty((0, self.dimension))

    def cover(self, size: int = COVER) -> Arms:
        """Evenly spread points x_i = lower + (upper - lower) frac(1/2 + i a), a_j = g^-j, g^(d+1) = g + 1.

        The additive recurrence of the generalised golden ratio: deterministic, and the first points of a larger cover.
        """
        count = checks.whole("cover", "size", size)
        return Arms(
            self.place(evenly_spread(count, self.dimension)), f"a cover of {self} by {count} points"
        )


def evenly_spread(count: int, dimension: int) -> Array:
    """The first points frac(1/2 + i a) of the recurrence in the unit cube."""
    steps = golden_ratio(dimension) ** -np.arange(1.0, dimension + 1)
    unit: Array = (0.5 + np.arange(count)[:, None] * steps) % 1
    return unit


def golden_ratio(dimension: int) -> float:
    """The root g > 1 of g^(d+1) = g + 1, by the contraction g <- (1 + g)^(1/(d+1))."""
    ratio = 2.0
    for _ in range(100):
        ratio = (1 + ratio) ** (1 / (dimension + 1))
    return ratio


def is_flat(values: Any) -> bool:
    """Whether it is a sequence without sequences in it."""
    try:
        return np.ndim(values) == 1
    except ValueError:
        return False


def is_empty(values: Any) -> bool:
    """Whether it holds nothing."""
    try:
        return np.size(values) == 0
    except ValueError:
        return False


def check_sides(owner: str, box: Any) -> None:
    """A search can move along a side that is neither too long nor too short for squares, and has floats enough."""
    needed = f"sides of {SHORTEST_SIDE:g} to {LONGEST_SIDE:g} with at least {FLOATS} floats on each"
    for low, high, discrete in zip(box.lower, box.upper, box.discrete, strict=True):
        finest = FLOATS * math.ulp(max(abs(low), abs(high)))
        searched = max(SHORTEST_SIDE, finest) <= high - low <= LONGEST_SIDE
        checks.needs(discrete or searched, owner, needed, (low, high))


def one_row(owner: str, values: Any, dimension: int) -> Array:
    """A row of finite numbers, one for each coordinate."""
    try:
        given = np.asarray(values)
    except ValueError:
        raise ValueError(f"{owner} needs a row of {dimension} numbers, got {values!r}") from None
    checks.needs(given.shape == (dimension,), owner, f"a row of {dimension} numbers", values)
    row: Array = checks.points(owner, given[None])[0]
    return row


def rows_of(owner: str, values: Any, dimension: int) -> Array:
    rows = checks.points(owner, values)
    checks.needs(rows.shape[1] == dimension, owner, f"rows of {dimension} numbers", rows.shape)
    return rows
