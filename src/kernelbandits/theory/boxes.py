"""From a grid to the whole box: how much the sd can grow between grid points.

sd(x) = |P phi(x)| with a contraction P. Interpolate phi linearly from the corners of the cell
around x. Then sd(x) is at most the largest sd at a corner plus the error of the interpolation. In
each dimension that error is at most the `bend` of the kernel (`Kernel.cell_change`),

    sup_t |phi(x + t a) - (1 - t) phi(x) - t phi(x + a)|,    a the width of a cell,

and over all dimensions at most the sum of the bends. For smooth kernels it is of the order a^2.
"""

from __future__ import annotations

import math

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains import Box
from kernelbandits.kernels import Kernel
from kernelbandits.theory.caps import extent_of, largest_value
from kernelbandits.theory.relaxation import ROWS, Design


def bends(kernel: Kernel, box: Box, cells: Array) -> Array:
    """Return the bend in each dimension, for this number of cells along each side."""
    extent = extent_of(box)
    widths = ((extent.upper - extent.lower) / cells).tolist()
    return np.array([kernel.cell_change(extent, j, width).bend for j, width in enumerate(widths)])


def is_certifiable(kernel: Kernel, box: Box) -> bool:
    """Tell whether a bound on a grid can be extended to the whole box."""
    return math.isfinite(largest_value(kernel, box)) and bool(
        np.isfinite(bends(kernel, box, np.ones(box.dimension))).all()
    )


def count_cells(kernel: Kernel, box: Box, goal: float, limit: float) -> Array:
    """Return the number of cells along each side.

    The side with the largest bend is refined until the sum of bends is at most the goal, or the
    grid would have more points than the limit.
    """
    cells = np.ones(box.dimension)
    while (found := bends(kernel, box, cells)).sum() > goal:
        finer = cells.copy()
        finer[found.argmax()] = math.ceil(1.2 * finer[found.argmax()])
        if (finer + 1).prod() > limit:
            break
        cells = finer
    return cells


def grid(box: Box, cells: Array) -> Array:
    """Return the corners of all cells."""
    sides = [
        np.linspace(low, high, int(n) + 1)
        for low, high, n in zip(box.lower, box.upper, cells, strict=True)
    ]
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, box.dimension)


def bound_peak(design: Design, box: Box, cells: Array) -> float:
    """Return an upper bound of sup v over the box, from v on a grid.

    (max sqrt(v) on the grid + sum of bends / sqrt(ridge))^2
    """
    points, kernel = grid(box, cells), design.places.kernel
    highest = max(
        float(design.relative_variance(points[i : i + ROWS]).max())
        for i in range(0, len(points), ROWS)
    )
    return (
        math.sqrt(highest) + float(bends(kernel, box, cells).sum()) / math.sqrt(design.ridge)
    ) ** 2
