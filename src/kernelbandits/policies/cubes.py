"""Cubes of arms: what the rules that divide the domain share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelbandits.checks import Array, Indices

AS_GIVEN = "cubes of the unit cube"
SCALED = "cubes of the unit cube, the box of the arms scaled to it"


@dataclass(frozen=True, eq=False)
class Cube:
    """A cube of the unit cube, and the arms in it."""

    lower: Array
    side: float
    arms: Indices
    """Their numbers, in order."""

    def halves(self, unit: Array) -> list[Cube]:
        """Return the cubes of half the side that hold an arm, at most 2^d.

        An arm on the border belongs to the upper cube.
        """
        half = self.side / 2
        corners, which, counts = np.unique(
            unit[self.arms] >= self.lower + half, axis=0, return_inverse=True, return_counts=True
        )
        groups = np.split(self.arms[which.ravel().argsort(kind="stable")], counts.cumsum()[:-1])
        return [
            Cube(self.lower + half * corner, half, arms)
            for corner, arms in zip(corners, groups, strict=True)
        ]

    def divides(self, unit: Array) -> bool:
        """Tell whether it holds two different points: arms at one point are one arm."""
        inside = unit[self.arms]
        return bool((inside != inside[0]).any())

    def parts(self, unit: Array) -> list[Cube]:
        """Return its halves, or theirs, where its arms first part."""
        found = self.halves(unit)
        while len(found) == 1:
            found = found[0].halves(unit)
        return found


def unit_cube(points: Array) -> tuple[Array, Cube, str]:
    """Return the arms as points of the unit cube, the cube of all arms, and how they were scaled.

    Arms that lie in the unit cube are not scaled.
    """
    inside = bool((points >= 0).all() and (points <= 1).all())
    unit = points if inside else scale_to_unit_cube(points)
    root = Cube(np.zeros(points.shape[1]), 1.0, np.arange(len(points)))
    return unit, root, AS_GIVEN if inside else SCALED


def scale_to_unit_cube(points: Array) -> Array:
    """Return (x - min) / (max - min) of each coordinate; zero where all are equal."""
    # Halves are subtracted, since max - min may overflow where max/2 - min/2 does not.
    low, high = points.min(0) / 2, points.max(0) / 2
    extent = np.where(high > low, high - low, 1.0)
    unit: Array = (points / 2 - low) / extent
    return unit
