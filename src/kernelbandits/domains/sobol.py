"""Sobol's points, evenly spread in the unit cube."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains.box import evenly_spread

TABLE = """
3:1 7:1,3 11:1,3,1 13:1,1,1 19:1,1,3,3 25:1,3,5,13 37:1,1,5,5,17 41:1,1,5,5,5 47:1,1,7,11,19 55:1,1,5,1,1
59:1,1,1,3,11 61:1,3,5,5,31 67:1,3,3,9,7,49 91:1,1,1,15,21,21 97:1,3,1,13,27,49 103:1,1,1,15,7,5 109:1,3,1,15,13,25
115:1,1,5,5,19,61 131:1,3,7,11,23,15,103 137:1,3,7,13,13,15,69 143:1,1,3,13,7,35,63 145:1,3,5,9,1,25,53
157:1,3,1,13,9,35,107 167:1,3,1,5,27,61,31 171:1,1,5,11,19,41,61 185:1,3,5,3,3,13,69 191:1,1,7,13,1,19,1
193:1,3,7,5,13,19,59 203:1,1,3,9,25,29,41 211:1,3,5,13,23,1,55 213:1,3,7,3,13,59,17 229:1,3,1,3,5,53,69
"""
"""Dimensions 2 to 33: a primitive polynomial over GF(2) in bits: the first direction numbers of Joe and Kuo (2008)."""


@lru_cache(maxsize=32)
def sobol(power: int, dimension: int) -> Array:
    """The first 2^power points, each in the middle of its cell; further dimensions are those of a cover."""
    columns = [van_der_corput(power), *(digital(power, entry) for entry in TABLE.split())]
    points: Array = (np.array(columns[:dimension], dtype=float).T + 0.5) / 2**power
    if dimension > len(columns):
        points = np.hstack([points, evenly_spread(2**power, dimension - len(columns))])
    points.flags.writeable = False
    return points


def van_der_corput(power: int) -> list[int]:
    return combined([1 << (power - 1 - bit) for bit in range(power)])


def digital(power: int, entry: str) -> list[int]:
    """m_k = m_{k-s} xor 2^s m_{k-s} xor the 2^i m_{k-i} for which the polynomial of degree s has bit s - i set."""
    polynomial, first = entry.split(":")
    numbers, degree = [int(part) for part in first.split(",")], int(polynomial).bit_length() - 1
    for k in range(len(numbers), power):
        numbers.append(numbers[k - degree])
        for i in range(1, degree + 1):
            numbers[k] ^= (int(polynomial) >> (degree - i) & 1) * numbers[k - i] << i
    return combined([number << (power - 1 - k) for k, number in enumerate(numbers[:power])])


def combined(directions: list[int]) -> list[int]:
    """The exclusive or of the directions at the bits of 0, 1, 2, ..."""
    points = [0]
    for direction in directions:
        points += [point ^ direction for point in points]
    return points


def shifted(points: Array, u: float) -> Array:
    """Cranley and Patterson's rotation: coordinate j moved by frac(a_j u), a_j = 1 + 997 j, each uniform if u is."""
    moved: Array = (points + (1 + 997 * np.arange(points.shape[1])) * u) % 1
    return moved
