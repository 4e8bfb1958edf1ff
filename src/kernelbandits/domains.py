"""What may be chosen, and the best of it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice, Indices

TIES = ("random", "lowest")
TIE_TOLERANCE = 1e-12
COVER = 500
"""Points that stand for a box unless told otherwise."""


@dataclass(frozen=True, eq=False)
class Arms:
    """A finite set of n arms, the rows of an (n, d) array."""

    points: Array
    origin: str = ""
    """What they stand for, where they are not the whole of it: a cover of a box."""

    def __init__(self, points: Any, origin: str = "") -> None:
        rows = checks.points("Arms", points)
        rows.flags.writeable = False
        object.__setattr__(self, "points", rows)
        object.__setattr__(self, "origin", origin)
        repeats = len(rows) - len({row.tobytes() for row in rows + 0.0})
        if repeats:
            warnings.warn(f"Arms: {repeats} of {len(rows)} points repeat another", DataNotice, stacklevel=2)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"Arms({len(self)} points in {self.dimension} dimensions)"

    @property
    def dimension(self) -> int:
        return int(self.points.shape[1])


@dataclass(frozen=True)
class Box:
    """All points with lower <= x <= upper, coordinate by coordinate."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        given = np.ndim(self.lower) == np.ndim(self.upper) == 1
        checks.needs(given, "Box", "a lower and an upper bound for each coordinate", (self.lower, self.upper))
        sides = tuple(
            tuple(checks.number("Box", "in every bound", side) for side in bound) for bound in (self.lower, self.upper)
        )
        checks.needs(len(sides[0]) == len(sides[1]) > 0, "Box", "as many lower as upper bounds", sides)
        checks.needs(all(low < high for low, high in zip(*sides, strict=True)), "Box", "lower < upper", sides)
        object.__setattr__(self, "lower", sides[0])
        object.__setattr__(self, "upper", sides[1])

    @property
    def dimension(self) -> int:
        return len(self.lower)

    def cover(self, size: int = COVER) -> Arms:
        """Evenly spread points x_i = lower + (upper - lower) frac(1/2 + i a), a_j = g^-j, g^(d+1) = g + 1.

        The additive recurrence of the generalised golden ratio: deterministic, and the first points of a larger cover.
        """
        count = checks.whole("cover", "size", size)
        steps = golden_ratio(self.dimension) ** -np.arange(1.0, self.dimension + 1)
        unit = (0.5 + np.arange(count)[:, None] * steps) % 1
        low, high = np.array(self.lower), np.array(self.upper)
        return Arms(np.clip(low * (1 - unit) + high * unit, low, high), f"a cover of {self} by {count} points")


def golden_ratio(dimension: int) -> float:
    """The root g > 1 of g^(d+1) = g + 1, by the contraction g <- (1 + g)^(1/(d+1))."""
    ratio = 2.0
    for _ in range(100):
        ratio = (1 + ratio) ** (1 / (dimension + 1))
    return ratio


def as_arms(domain: Any) -> Arms:
    """Arms as they are, a box by its declared cover, an (n, d) array as arms."""
    if isinstance(domain, Box):
        arms = domain.cover()
        text = f"the policy plays on {arms.origin}; Box.cover(size) declares another one"
        warnings.warn(text, DataNotice, stacklevel=4)
        return arms
    return domain if isinstance(domain, Arms) else Arms(domain)


def tied(index: Array) -> Indices:
    """The arms within 1e-12 max(1, |best|) of the best index, in order."""
    best = float(index[index.argmax()])
    if not -math.inf < best < math.inf:
        raise ValueError(
            f"the best arm needs finite indices, got {best}; policy.posterior.audit() rebuilds a damaged state"
        )
    return (index >= best - TIE_TOLERANCE * max(1.0, abs(best))).nonzero()[0]


def argmax(index: Array, ties: str, u: float) -> int:
    """The arm with the greatest index; the uniform u settles a tie, or the lowest arm wins it."""
    best = tied(index)
    if len(best) == 1 or ties == "lowest":
        return int(best[0])
    return int(best[int(u * len(best))])
