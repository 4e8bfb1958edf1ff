"""The first choices, before anything is known: the middle, then places far from those tried."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from kernelbandits.checks import Array
from kernelbandits.policies.fields import Field, Listed, Spot
from kernelbandits.streams import Randomness

OFFERED = 10
"""A place far away is the farthest of so many random ones: not a corner always."""


OPENINGS = ("middle", "random")


def opening(field: Field, tried: Array, spans: Array, t: int, randomness: Randomness, first: str) -> Spot:
    """The middle or a place at random; after it, of ten at random the one farthest from those tried, sides being 1."""
    if not len(tried) and first == "middle":
        return middle(field, spans)
    offered = [*offers(field, t, randomness)]
    if not len(tried):
        return offered[0]
    d = len(spans)
    rows = np.array([spot.row[:d] for spot in offered]) / spans
    squares = ((rows[:, None] - (tried[:, :d] / spans)[None]) ** 2).sum(2)
    return offered[int(squares.min(1).argmax())]


def middle(field: Field, spans: Array) -> Spot:
    """The listed row nearest to the mean of all, or the middle of the box."""
    if isinstance(field, Listed):
        away = (field.rows - field.rows.mean(0)) / spans
        return field.spot(int((away**2).sum(1).argmin()))
    centre = np.add(field.box.lower, field.box.upper) / 2
    return field.spot(field.box.nearest(centre[None])[0])


def offers(field: Field, t: int, randomness: Randomness) -> list[Spot]:
    """Ten places, each drawn as every other."""
    if isinstance(field, Listed):
        arms = (ndtr(randomness.normal("sample", t, OFFERED)) * len(field.rows)).astype(int)
        return [field.spot(min(int(arm), len(field.rows) - 1)) for arm in arms]
    unit = ndtr(randomness.normal("sample", t, OFFERED * field.box.sides)).reshape(OFFERED, -1)
    return [field.spot(row) for row in field.box.place(np.minimum(unit, np.nextafter(1.0, 0.0)))]
