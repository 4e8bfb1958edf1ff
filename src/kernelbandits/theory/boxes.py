"""From a grid to the whole box: how much the sd can grow between grid points.

sd(x) = |P phi(x)| with a contraction P. Interpolate phi linearly from the corners of the cell
around x. Then sd(x) is at most the largest sd at a corner plus the error of the interpolation. In
each dimension that error is at most the `bend` of the kernel,

    sup_t |phi(x + t a) - (1 - t) phi(x) - t phi(x + a)|,    a the width of a cell,

and over all dimensions at most the sum of the bends. For smooth kernels it is of the order a^2.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains import Box
from kernelbandits.kernels import (
    RBF,
    Kernel,
    Linear,
    Matern,
    Polynomial,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
)
from kernelbandits.theory.caps import largest_norm, largest_value
from kernelbandits.theory.relaxation import ROWS, Design

FRACTIONS = 512
"""The bend is evaluated at this many points of a cell; between them it is bounded."""
EPS = float(np.finfo(float).eps)
FARTHEST = 1e100
"""Widths beyond this many lengthscales are cut: k is 0 there, and their squares would overflow."""


class CellChange(NamedTuple):
    """How much the feature phi changes along one cell in one dimension."""

    step: float
    """sup |phi(x + t a) - phi(x)|, t <= 1"""
    bend: float


@singledispatch
def cell_change(kernel: Kernel, box: Box, dimension: int, width: float) -> CellChange:
    """Bounds for all cells of this width in the box; infinite where none are known."""
    return CellChange(math.inf, math.inf)


@cell_change.register(RBF)
@cell_change.register(Matern)
@cell_change.register(RationalQuadratic)
def change_of_stationary(
    kernel: RBF | Matern | RationalQuadratic, box: Box, dimension: int, width: float
) -> CellChange:
    """|.|^2 = 1 + (1 - t)^2 + t^2 + 2 t (1 - t) k(a) - 2 (1 - t) k(t a) - 2 t k((1 - t) a).

    It is evaluated on a grid of t, and the change between two t of the grid is added.
    """
    lengthscale = float(np.broadcast_to(kernel.lengthscale, box.dimension)[dimension])
    cell = min(width / lengthscale, FARTHEST)
    t = np.linspace(0, 1, FRACTIONS + 1)
    k = kernel.profile((t * cell) ** 2)
    squares = 1 + (1 - t) ** 2 + t**2 + 2 * t * (1 - t) * k[-1] - 2 * (1 - t) * k - 2 * t * k[::-1]
    whole, part = distance(kernel, cell), distance(kernel, cell / FRACTIONS / 2)
    return CellChange(
        whole, math.sqrt(max(float(squares.max()), 0.0) + 16 * EPS) + part + whole / FRACTIONS / 2
    )


def distance(kernel: RBF | Matern | RationalQuadratic, cell: float) -> float:
    """|phi(x) - phi(z)| = sqrt(2 - 2 k), which grows with the distance."""
    return math.sqrt(2 - 2 * float(kernel.profile(np.array(cell**2))) + 4 * EPS)


@cell_change.register
def change_of_linear(kernel: Linear, box: Box, dimension: int, width: float) -> CellChange:
    return CellChange(width, 0.0)


@cell_change.register
def change_of_polynomial(kernel: Polynomial, box: Box, dimension: int, width: float) -> CellChange:
    """|phi'| <= p |u|^(p - 1) and |phi''| <= p (p - 1) |u|^(p - 2).

    phi = u x ... x u is the p-th tensor power of u = (x, sqrt(c)).
    """
    p = kernel.degree
    size = math.sqrt(largest_norm(box) + kernel.offset)
    return CellChange(
        p * size ** (p - 1) * width, p * (p - 1) * size ** max(p - 2, 0) * width**2 / 8
    )


@cell_change.register
def change_of_scaled(kernel: Scaled, box: Box, dimension: int, width: float) -> CellChange:
    step, bend = cell_change(kernel.kernel, box, dimension, width)
    return CellChange(math.sqrt(kernel.factor) * step, math.sqrt(kernel.factor) * bend)


@cell_change.register
def change_of_sum(kernel: Sum, box: Box, dimension: int, width: float) -> CellChange:
    """phi = (phi_1, phi_2)"""
    left = cell_change(kernel.left, box, dimension, width)
    right = cell_change(kernel.right, box, dimension, width)
    return CellChange(math.hypot(left.step, right.step), math.hypot(left.bend, right.bend))


@cell_change.register
def change_of_product(kernel: Product, box: Box, dimension: int, width: float) -> CellChange:
    """phi = phi_1 x phi_2.

    The product of two linear interpolations is not linear: it adds t (1 - t) step_1 step_2 <=
    step_1 step_2 / 4.
    """
    left = cell_change(kernel.left, box, dimension, width)
    right = cell_change(kernel.right, box, dimension, width)
    left_size = math.sqrt(largest_value(kernel.left, box))
    right_size = math.sqrt(largest_value(kernel.right, box))
    step = left.step * right_size + left_size * right.step
    return CellChange(
        step, left.bend * right_size + left_size * right.bend + left.step * right.step / 4
    )


def bends(kernel: Kernel, box: Box, cells: Array) -> Array:
    """The bend in each dimension, for this number of cells along each side."""
    widths = (np.array(box.upper) - np.array(box.lower)) / cells
    return np.array(
        [cell_change(kernel, box, j, float(width)).bend for j, width in enumerate(widths)]
    )


def is_certifiable(kernel: Kernel, box: Box) -> bool:
    """Whether a bound on a grid can be extended to the whole box."""
    return math.isfinite(largest_value(kernel, box)) and bool(
        np.isfinite(bends(kernel, box, np.ones(box.dimension))).all()
    )


def count_cells(kernel: Kernel, box: Box, goal: float, limit: float) -> Array:
    """The number of cells along each side.

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
    """The corners of all cells."""
    sides = [
        np.linspace(low, high, int(n) + 1)
        for low, high, n in zip(box.lower, box.upper, cells, strict=True)
    ]
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, box.dimension)


def bound_peak(design: Design, box: Box, cells: Array) -> float:
    """sup v over the box: (max sqrt(v) on the grid + sum of bends / sqrt(ridge))^2."""
    points, kernel = grid(box, cells), design.places.kernel
    highest = max(
        float(design.relative_variance(points[i : i + ROWS]).max())
        for i in range(0, len(points), ROWS)
    )
    return (
        math.sqrt(highest) + float(bends(kernel, box, cells).sum()) / math.sqrt(design.ridge)
    ) ** 2
