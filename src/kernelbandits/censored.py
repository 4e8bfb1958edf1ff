"""Results of which only a limit is known: <0.5 below a detection limit, >99 beyond a scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kernelbandits import checks

BELOW, ABOVE = "<", ">"
SIGNS = {BELOW: -1.0, ABOVE: 1.0}
"""Where the result is, seen from its limit."""


class Censored(float):
    """A result that is below a limit, or above it.

    It is a float, the limit, so everything that takes numbers takes it; it is written with its
    side, and is equal only to the same limit with the same side. `kb.Auto` and studies learn what
    it says: that the result is beyond the limit, and not how far. Other policies take the limit for
    the result.

    Parameters
    ----------
    limit
        The detection limit, or the end of the scale.
    side
        "<" if the result is below it, ">" if it is above.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> result = kb.Censored(0.5, "<")
    >>> result, f"{result:.3g}", result == 0.5, result + 1
    (<0.5, '<0.5', False, 1.5)
    >>> kb.Censored(0.5, "below")
    Traceback (most recent call last):
    ...
    ValueError: a censored result needs side in ('<', '>'), got 'below'
    """

    side: str

    def __new__(cls, limit: Any, side: Any) -> Censored:
        made = super().__new__(cls, float(limit))
        made.side = checks.one_of("a censored result", "side", side, SIGNS)
        return made

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]
        return float(self), self.side

    def __repr__(self) -> str:
        return self.__format__("g")

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return UNDETECTED if self == NOT_DETECTED else f"{self.side}{float(self).__format__(form)}"

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Censored) and self.side == other.side
        return same and float(self) == float(other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((float(self), self.side))

    def turned(self) -> Censored:
        """Return the same result upside down: what is below 0.5 is above -0.5."""
        return Censored(-float(self), ABOVE if self.side == BELOW else BELOW)


UNDETECTED = "n.d."
NOT_DETECTED = Censored(float("-inf"), BELOW)
"""A result without a number (n.d.): it is below a detection limit that is still to be found."""


def side_of(value: float | None) -> str | None:
    """Return the side of a censored result; None for a plain number.

    >>> side_of(Censored(99.0, ">")), side_of(99.0)
    ('>', None)
    """
    return value.side if isinstance(value, Censored) else None


def with_side(value: float, side: Any) -> float:
    """Return a number as a limit, if a side is given with it: a table has the side beside it.

    >>> with_side(0.5, "<"), with_side(0.5, None)
    (<0.5, 0.5)
    """
    return Censored(value, side) if isinstance(side, str) and side else value


def average_results(values: Sequence[float]) -> float:
    """Return the mean of results; it is a limit if one of them is, as it lies on the same side.

    Between limits of both sides it may be anything, and is nan.

    >>> average_results([1.0, 2.0]), average_results([1.0, Censored(0.5, "<")])
    (1.5, <0.75)
    >>> average_results([Censored(9.0, ">"), Censored(0.5, "<")])
    nan
    """
    sides = {side for value in values if (side := side_of(value)) is not None}
    if len(sides) > 1 or not values:
        return math.nan
    return with_side(math.fsum(map(float, values)) / len(values), next(iter(sides), None))


def split_sides(values: Mapping[str, float]) -> tuple[dict[str, float], dict[str, str]]:
    """Return values as plain numbers, and the sides of those that are limits, by name.

    >>> split_sides({"a": Censored(0.5, "<"), "b": 2.0})
    ({'a': 0.5, 'b': 2.0}, {'a': '<'})
    """
    sides = {name: side for name, y in values.items() if (side := side_of(y)) is not None}
    return {name: float(y) for name, y in values.items()}, sides


def join_sides(values: Mapping[str, float], sides: Mapping[str, str]) -> dict[str, float]:
    """Return values with their sides, as `split_sides` has divided them.

    >>> join_sides({"a": 0.5, "b": 2.0}, {"a": "<"})
    {'a': <0.5, 'b': 2.0}
    """
    return {name: Censored(y, sides[name]) if name in sides else y for name, y in values.items()}
