"""Moves by whole steps on grids that keep equalities: whole-number vectors of a kernel."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from kernelbandits.checks import Array


def lattice_moves(equalities: Array, step: Array, real_sides: Array) -> Array:
    """Return moves of grid values by whole steps that keep the equalities, one in each row.

    Where an equality has real numbers too, these make up for the steps, in proportion to the
    squares of their sides. `step` is 0 for coordinates without a grid, `real_sides` for all but the
    real numbers.
    """
    grid = np.flatnonzero(step > 0)
    if not len(grid):
        return np.zeros((0, len(step)))
    # What real numbers cannot make up for: combinations of equalities in which none is left.
    alone = whole_number_kernel(equalities[:, real_sides > 0].T)
    matrix = np.reshape(alone, (len(alone), len(equalities))) @ equalities[:, grid] * step[grid]
    steps = elementary_moves(whole_number_kernel(matrix))
    moves = np.zeros((len(steps), len(step)))
    moves[:, grid] = np.reshape(steps, (len(steps), len(grid))) * step[grid]
    inverse = np.linalg.pinv(equalities * real_sides, rcond=1e-10)
    made_up: Array = moves - (moves @ equalities.T @ inverse.T) * real_sides
    return made_up


def elementary_moves(kernel: list[list[int]]) -> list[list[int]]:
    """Return the vectors of a kernel, and for each two of them those without a common entry.

    In a mixture the vectors exchange steps between the first component and another one; without
    the first component they exchange steps between two others.

    >>> elementary_moves([[1, -1, 0], [1, 0, -1]])
    [[0, 1, -1], [1, -1, 0], [1, 0, -1]]
    """
    moves = {tuple(vector) for vector in kernel}
    for one, other in combinations(kernel, 2):
        for left, right in zip(one, other, strict=True):
            if left and right:
                pairs = zip(one, other, strict=True)
                moves.add(tuple(shorten([right * a - left * b for a, b in pairs])))
    return [list(move) for move in sorted(moves) if any(move)]


def whole_number_kernel(matrix: Array) -> list[list[int]]:
    """Return a basis of the whole-number vectors k with matrix @ k = 0.

    Columns are added to each other, as in Euclid's algorithm, until each row has one entry that is
    not zero; the same additions on the unit matrix give the kernel.

    >>> whole_number_kernel(np.array([[2.0, 3.0]]))
    [[3, -2]]
    """
    rows, count = as_whole_numbers(matrix), matrix.shape[1]
    columns = [[row[j] for row in rows] for j in range(count)]
    unit = [[int(i == j) for i in range(count)] for j in range(count)]
    first = 0
    for row in range(len(rows)):
        while True:
            entries = [j for j in range(first, count) if columns[j][row]]
            if len(entries) <= 1:
                break
            pivot = min(entries, key=lambda j: abs(columns[j][row]))
            for j in entries:
                if j != pivot:
                    times = columns[j][row] // columns[pivot][row]
                    for table in (columns, unit):
                        pairs = zip(table[j], table[pivot], strict=True)
                        table[j] = [one - times * other for one, other in pairs]
        if entries:
            j = entries[0]
            columns[first], columns[j] = columns[j], columns[first]
            unit[first], unit[j] = unit[j], unit[first]
            first += 1
    return [shorten(vector) for vector in unit[first:]]


def as_whole_numbers(matrix: Array) -> list[list[int]]:
    """Return each row multiplied by a number that makes all of it whole."""
    rows = []
    for row in matrix.tolist():
        parts = [Fraction(repr(number)).limit_denominator(10**9) for number in row]
        common = math.lcm(*(part.denominator for part in parts))
        rows.append([int(part * common) for part in parts])
    return rows


def shorten(vector: list[int]) -> list[int]:
    """Return a vector divided by its common divisor, with a positive first entry."""
    divisor = math.gcd(*vector) or 1
    sign = -1 if next((entry for entry in vector if entry), 0) < 0 else 1
    return [sign * entry // divisor for entry in vector]
