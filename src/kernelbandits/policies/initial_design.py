"""The initial design: the first choices, before anything is known.

The first is about the middle, each of the others far from those tried.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from kernelbandits.checks import Array
from kernelbandits.domains import MixedBox, argmax
from kernelbandits.policies.place import ArmList, Location, Place
from kernelbandits.streams import Randomness

OFFERED = 10
"""A location far away is the farthest of this many random ones: not always a corner."""
FEWEST_PROMISING = 5
"""The best tenth of the predictions has at least so many locations."""
OPENINGS = ("middle", "random")


def design_location(
    place: Place, tried: Array, sides: Array, t: int, randomness: Randomness, opening: str
) -> Location:
    """Return the next location of the initial design.

    The first is about the middle, or anywhere with `opening="random"`; each of the others is of ten
    random locations the one farthest from those tried, in units of the sides of the domain.
    """
    if not len(tried) and opening == "middle":
        return draw_middle(place, sides, t, randomness)
    offers = draw_locations(place, t, randomness)
    if not len(tried):
        return offers[0]
    d = len(sides)
    rows = np.array([location.row[:d] for location in offers]) / sides
    squares = ((rows[:, None] - (tried[:, :d] / sides)[None]) ** 2).sum(2)
    return offers[int(squares.min(1).argmax())]


def promising_location(
    place: Place,
    predict: Callable[[Array], Array],
    tried: Array,
    sides: Array,
    ties: str,
    u: float,
) -> Location:
    """Return the next location of an initial design by what was learnt elsewhere.

    The first is the best prediction; each of the others is, of the best tenth, the one farthest
    from those tried, in units of the sides of the domain. On a box they are points of its cover.
    """
    rows = place.survey
    predicted = predict(rows)
    if len(tried):
        best = np.argsort(-predicted, kind="stable")[: max(FEWEST_PROMISING, len(rows) // 10)]
        squares = (((rows[best][:, None] - tried[None]) / sides) ** 2).sum(2)
        number = int(best[argmax(squares.min(1), ties, u)])
    else:
        number = argmax(predicted, ties, u)
    if isinstance(place, ArmList):
        return place.location(number)
    return place.location(rows[number][place.columns])


def draw_middle(place: Place, sides: Array, t: int, randomness: Randomness) -> Location:
    """Draw a location in the middle fifth of every side; among arms the nearest to such a point.

    It is not the middle itself, since test functions tend to have their optimum there.
    """
    if isinstance(place, ArmList):
        unit = middle_fifth(randomness.normal("sample", t, place.rows.shape[1]))
        target = place.rows.min(0) + unit * np.ptp(place.rows, axis=0)
        return place.location(int((((place.rows - target) / sides) ** 2).sum(1).argmin()))
    unit = middle_fifth(randomness.normal("sample", t, place.box.sides))
    whole = place.box.without_constraints if isinstance(place.box, MixedBox) else place.box
    # Under constraints the location is moved to the nearest allowed point.
    return place.location(place.box.nearest(whole.from_unit(unit[None]))[0])


def middle_fifth(normals: Array) -> Array:
    """Return uniform numbers in [2/5, 3/5] from standard normal ones."""
    inner: Array = (2 + ndtr(normals)) / 5
    return inner


def draw_locations(place: Place, t: int, randomness: Randomness) -> list[Location]:
    """Draw ten random locations."""
    if isinstance(place, ArmList):
        normals = randomness.normal("sample", t, OFFERED)
        arms = (ndtr(normals) * len(place.rows)).astype(int)
        return [place.location(min(int(arm), len(place.rows) - 1)) for arm in arms]
    normals = randomness.normal("sample", t, OFFERED * place.box.sides)
    unit = np.minimum(ndtr(normals).reshape(OFFERED, -1), np.nextafter(1.0, 0.0))
    return [place.location(row) for row in place.box.from_unit(unit)]
