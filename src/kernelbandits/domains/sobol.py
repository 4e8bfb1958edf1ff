"""Points of Sobol, evenly spread in the unit cube.

Written here because importing `scipy.stats.qmc` takes about a second, longer than everything else
that a policy on a box needs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains.box import spread_points

TABLE = """
3:1 7:1,3 11:1,3,1 13:1,1,1 19:1,1,3,3 25:1,3,5,13 37:1,1,5,5,17 41:1,1,5,5,5 47:1,1,7,11,19
55:1,1,5,1,1 59:1,1,1,3,11 61:1,3,5,5,31 67:1,3,3,9,7,49 91:1,1,1,15,21,21 97:1,3,1,13,27,49
103:1,1,1,15,7,5 109:1,3,1,15,13,25 115:1,1,5,5,19,61 131:1,3,7,11,23,15,103
137:1,3,7,13,13,15,69 143:1,1,3,13,7,35,63 145:1,3,5,9,1,25,53 157:1,3,1,13,9,35,107
167:1,3,1,5,27,61,31 171:1,1,5,11,19,41,61 185:1,3,5,3,3,13,69 191:1,1,7,13,1,19,1
193:1,3,7,5,13,19,59 203:1,1,3,9,25,29,41 211:1,3,5,13,23,1,55 213:1,3,7,3,13,59,17
229:1,3,1,3,5,53,69
"""
"""One entry for each of the dimensions 2 to 33: a primitive polynomial over GF(2), written in bits,
and the first direction numbers of Joe and Kuo (2008)."""


@lru_cache(maxsize=32)
def sobol(power: int, dimension: int) -> Array:
    """Return the first 2^power points of Sobol's sequence, each moved to the middle of its cell.

    Dimensions beyond 33 are filled with the points of a cover.

    >>> sobol(2, 2)
    array([[0.125, 0.125],
           [0.625, 0.625],
           [0.375, 0.875],
           [0.875, 0.375]])
    """
    columns = [van_der_corput(power), *(digital_sequence(power, entry) for entry in TABLE.split())]
    points: Array = (np.array(columns[:dimension], dtype=float).T + 0.5) / 2**power
    if dimension > len(columns):
        points = np.hstack([points, spread_points(2**power, dimension - len(columns))])
    points.flags.writeable = False
    return points


def van_der_corput(power: int) -> list[int]:
    """Return the first coordinate of all points, times 2^power."""
    return xor_combinations([1 << (power - 1 - bit) for bit in range(power)])


def digital_sequence(power: int, entry: str) -> list[int]:
    """Return another coordinate of all points, times 2^power.

    The direction numbers follow m_k = m_{k-s} xor 2^s m_{k-s} xor all those 2^i m_{k-i} for which
    the polynomial, of degree s, has bit s - i set.
    """
    polynomial, first = entry.split(":")
    numbers, degree = [int(part) for part in first.split(",")], int(polynomial).bit_length() - 1
    for k in range(len(numbers), power):
        numbers.append(numbers[k - degree])
        for i in range(1, degree + 1):
            numbers[k] ^= (int(polynomial) >> (degree - i) & 1) * numbers[k - i] << i
    return xor_combinations([number << (power - 1 - k) for k, number in enumerate(numbers[:power])])


def xor_combinations(directions: list[int]) -> list[int]:
    """Return, for n = 0, 1, 2, ..., the exclusive or of the directions at the set bits of n."""
    points = [0]
    for direction in directions:
        points += [point ^ direction for point in points]
    return points


def shift_points(points: Array, u: float) -> Array:
    """Return the points with coordinate j moved by a_j u modulo 1, a_j = 1 + 997 j.

    This is the rotation of Cranley and Patterson: the points stay as evenly spread, and every point
    is uniform if u is. One uniform serves for all coordinates, because multiples by different whole
    numbers are uncorrelated; so a round takes one number from its table.
    """
    moved: Array = (points + (1 + 997 * np.arange(points.shape[1])) * u) % 1
    return moved
