"""A continuous box, and evenly spread points that cover it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains.arms import Arms
from kernelbandits.streams import Streams

COVER = 500
"""The default number of points in a cover."""
SHORTEST_SIDE, LONGEST_SIDE = 1e-100, 1e100
"""Sides that a search accepts: squares of lengths and of slopes neither overflow nor vanish."""
FLOATS = 1024
"""A side is searched if at least this many floating-point numbers lie on it."""


@dataclass(frozen=True)
class Box:
    """All points x with lower <= x <= upper in every coordinate.

    >>> from kernelbandits import Box
    >>> box = Box(lower=(0.0, 20.0), upper=(1.0, 90.0))
    >>> box.nearest([[0.5, 100.0]])
    array([[ 0.5, 90. ]])
    >>> box.cover(3).points.round(2).tolist()
    [[0.5, 55.0], [0.25, 24.89], [0.01, 64.78]]
    >>> Box((0.0,), (0.0,))
    Traceback (most recent call last):
    ...
    ValueError: Box needs lower < upper, got ((0.0,), (0.0,))
    """

    lower: tuple[float, ...]
    """The smallest value of each coordinate."""
    upper: tuple[float, ...]
    """The largest value of each coordinate."""

    if TYPE_CHECKING:
        # The fields are tuples, and any sequence is taken.
        def __init__(
            self, lower: Sequence[float] | Array, upper: Sequence[float] | Array
        ) -> None: ...

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
        """The number of coordinates of a point."""
        return len(self.lower)

    @property
    def discrete(self) -> tuple[bool, ...]:
        """Which coordinates of a row take separate values only; in a box none does."""
        return (False,) * self.dimension

    @property
    def sides(self) -> int:
        """How many numbers in [0, 1] determine a point: one for each coordinate."""
        return self.dimension

    def encode(self, x: Any) -> Array:
        """Return the point as a row of numbers; an error if it is not in the box."""
        row = as_row("encode", x, self.dimension)
        if not ((row >= self.lower) & (row <= self.upper)).all():
            got = checks.quote_given(row.tolist())
            raise ValueError(f"encode needs a point in {self}, got {got}")
        return row

    def decode(self, row: Any) -> Array:
        """Return the point of the box nearest to a row, as a read-only array."""
        x: Array = self.nearest(as_row("decode", row, self.dimension)[None])[0]
        x.flags.writeable = False
        return x

    def nearest(self, rows: Any) -> Array:
        """Return the point of the box nearest to each row."""
        return np.clip(as_rows("nearest", rows, self.dimension), self.lower, self.upper)

    def from_unit(self, unit: Array) -> Array:
        """Return the points lower + (upper - lower) u for rows u in [0, 1]^d."""
        low, high = np.array(self.lower), np.array(self.upper)
        # Written as low (1 - u) + high u, because upper - lower may overflow.
        placed: Array = np.clip(low * (1 - unit) + high * unit, low, high)
        return placed

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> Array:
        """Return n random points as the rows of an array; equal seeds give equal points.

        A numpy Generator in place of the seed draws other points at each call.

        >>> from kernelbandits import Box
        >>> Box((0.0, 20.0), (1.0, 90.0)).sample(2, seed=1).round(2)
        array([[7.000e-02, 2.553e+01],
               [1.000e-02, 7.646e+01]])
        """
        return self.from_unit(draw_units(n, self.sides, seed))

    def neighbours(self, row: Array) -> Array:
        """Return the rows that differ in one separate value; a box has none."""
        return np.empty((0, self.dimension))

    def cover(self, size: int = COVER) -> Arms:
        """Return evenly spread points as arms.

        x_i = lower + (upper - lower) frac(1/2 + i a) with a_j = g^-j and g^(d+1) = g + 1, the
        additive recurrence of the generalised golden ratio. It is deterministic, and a cover begins
        with the points of every smaller one.
        """
        count = checks.whole("cover", "size", size)
        return Arms(
            self.from_unit(spread_points(count, self.dimension)),
            f"a cover of {self} by {count} points",
        )


def draw_units(n: Any, sides: int, seed: Any) -> Array:
    """Return the rows u in [0, 1)^sides that become a sample of n points."""
    count = checks.whole("sample", "n", n)
    if isinstance(seed, np.random.Generator):
        return seed.random((count, sides))
    given = checks.is_whole(seed) and seed >= 0
    checks.needs(given, "sample", "a whole seed >= 0 or a numpy Generator", seed)
    return Streams(seed).generator().random((count, sides))


def spread_points(count: int, dimension: int) -> Array:
    """Return the first points frac(1/2 + i a) of the recurrence in the unit cube."""
    steps = golden_ratio(dimension) ** -np.arange(1.0, dimension + 1)
    unit: Array = (0.5 + np.arange(count)[:, None] * steps) % 1
    return unit


def golden_ratio(dimension: int) -> float:
    """Return the root g > 1 of g^(d+1) = g + 1, by iterating g <- (1 + g)^(1/(d+1)).

    >>> from kernelbandits.domains import golden_ratio
    >>> round(golden_ratio(1), 4)
    1.618
    """
    ratio = 2.0
    for _ in range(100):
        ratio = (1 + ratio) ** (1 / (dimension + 1))
    return ratio


def is_flat(values: Any) -> bool:
    """Tell whether the values are a sequence that contains no sequences."""
    try:
        return np.ndim(values) == 1
    except ValueError:
        return False


def is_empty(values: Any) -> bool:
    """Tell whether there are no values."""
    try:
        return np.size(values) == 0
    except ValueError:
        return False


def check_sides(owner: str, box: Any) -> None:
    """Raise an error if a search cannot move along a side.

    A side must be neither too long nor too short to be squared, and must contain enough
    floating-point numbers; one of separate values must not be too long.
    """
    needed = f"sides of {SHORTEST_SIDE:g} to {LONGEST_SIDE:g} with at least {FLOATS} floats on each"
    for low, high, discrete in zip(box.lower, box.upper, box.discrete, strict=True):
        finest = FLOATS * math.ulp(max(abs(low), abs(high)))
        long = discrete or high - low >= max(SHORTEST_SIDE, finest)
        checks.needs(long and high - low <= LONGEST_SIDE, owner, needed, (low, high))


def as_row(owner: str, values: Any, dimension: int) -> Array:
    """Return the values as a row of finite numbers, one for each coordinate."""
    try:
        given = np.asarray(values)
    except ValueError:
        raise ValueError(f"{owner} needs a row of {dimension} numbers, got {values!r}") from None
    checks.needs(given.shape == (dimension,), owner, f"a row of {dimension} numbers", values)
    row: Array = checks.points(owner, given[None])[0]
    return row


def as_rows(owner: str, values: Any, dimension: int) -> Array:
    """Return the values as rows of finite numbers, one number for each coordinate."""
    rows = checks.points(owner, values)
    checks.needs(rows.shape[1] == dimension, owner, f"rows of {dimension} numbers", rows.shape)
    return rows
