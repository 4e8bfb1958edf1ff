"""The columns of a domain and their extent, which a fit takes for the unit of length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.evidence import Blocks
from kernelbandits.checks import Array
from kernelbandits.domains import Arms, Contextual, MixedBox
from kernelbandits.domains.box import check_sides

LARGEST_COORDINATE = 1e100
"""Of an arm or a context: beyond it distances in lengthscales overflow."""


def check_coordinates(*places: Any) -> Any:
    """Check that the numbers of some rows are small enough for distances; return the first row."""
    given = [place for place in places if place is not None]
    # A NaN is none of the two, and refused where numbers are checked.
    ends = (
        max(place.max(initial=0.0), -place.min(initial=0.0)) for place in map(np.asarray, given)
    )
    largest = max(map(float, ends), default=0.0)
    needed = f"coordinates of size at most {LARGEST_COORDINATE:g}"
    checks.needs(largest <= LARGEST_COORDINATE, "Auto", needed, largest)
    return places[0]


def domain_sides(domain: Any) -> Array:
    """Return the extent of a domain in each coordinate.

    Two values of an unordered category are one side apart.
    """
    if isinstance(domain, Arms):
        # By columns: numpy goes through the rows of a long and narrow matrix one by one.
        ranges = (float(np.ptp(column)) for column in domain.points.T)
        sides: Array = np.array(domain.sides or tuple(ranges))
    else:
        check_sides("Auto", domain)
        sides = np.subtract(domain.upper, domain.lower)
    for block in domain_blocks(domain):
        if len(block) > 1:
            # A category has the coordinate 1/sqrt(2) at its value: two values are at distance 1.
            sides[list(block)] = math.sqrt(2) * sides[list(block)].max()
    return sides


def domain_blocks(domain: Any) -> Blocks:
    """Return the coordinates of each column of a domain: several for an unordered category."""
    inner = domain.domain if isinstance(domain, Contextual) else domain
    known: Blocks
    if isinstance(inner, Arms):
        known = inner.blocks
    elif isinstance(inner, MixedBox):
        places = (range(*place.indices(inner.dimension)) for _, place in inner.blocks)
        # A variable with a single value has no coordinate.
        known = tuple(tuple(place) for place in places if place)
    else:
        known = tuple((j,) for j in range(inner if checks.is_whole(inner) else inner.dimension))
    covered = sum(len(block) for block in known)
    return (*known, *((j,) for j in range(covered, domain.dimension)))
