"""The first choices, before anything is known: about the middle, then far from those tried."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from kernelbandits.checks import Array
from kernelbandits.policies.fields import Field, Listed, Spot
from kernelbandits.streams import Randomness

OFFERED = 10
"""A place far away is the farthest of so many random ones: not a corner always."""
OPENINGS = ("middle", "random")


def opening(
    field: Field, tried: Array, spans: Array, t: int, randomness: Randomness, first: str
) -> Spot:
    """A place about the middle, or anywhere; then of ten at random the one farthest from those tried, sides being 1."""
    if not len(tried) and first == "middle":
        return middle(field, spans, t, randomness)
    offered = [*offers(field, t, randomness)]
    if not len(tried):
        return offered[0]
    d = len(spans)
    rows = np.array([spot.row[:d] for spot in offered]) / spans
    squares = ((rows[:, None] - (tried[:, :d] / spans)[None]) ** 2).sum(2)
    return offered[int(squares.min(1).argmax())]


def middle(field: Field, spans: Array, t: int, randomness: Randomness) -> Spot:
    """A place at random in the middle fifth of every side; among listed rows the nearest to such a place.

    Not the middle itself: functions tend to have something there.
    """
    if isinstance(field, Listed):
        unit = fifth(randomness.normal("sample", t, field.rows.shape[1]))
        target = field.rows.min(0) + unit * np.ptp(field.rows, axis=0)
        return field.spot(int((((field.rows - target) / spans) ** 2).sum(1).argmin()))
    return field.spot(
        field.box.place(fifth(randomness.normal("sample", t, field.box.sides))[None])[0]
    )


def fifth(normals: Array) -> Array:
    """Even numbers in [2/5, 3/5]."""
    inner: Array = (2 + ndtr(normals)) / 5
    return inner


def offers(field: Field, t: int, randomness: Randomness) -> list[Spot]:
    """Ten places, each drawn as every other."""
    if isinstance(field, Listed):
        arms = (ndtr(randomness.normal("sample", t, OFFERED)) * len(field.rows)).astype(int)
        return [field.spot(min(int(arm), len(field.rows) - 1)) for arm in arms]
    unit = ndtr(randomness.normal("sample", t, OFFERED * field.box.sides)).reshape(OFFERED, -1)
    return [field.spot(row) for row in field.box.place(np.minimum(unit, np.nextafter(1.0, 0.0)))]
