"""From a grid to the whole box: how much the sd can rise between grid points.

sd(x) = |P phi(x)| with a contraction P. Interpolate phi from the corners of the cell around x: sd(x) is at most the
greatest sd at a corner plus the error of the interpolation, in each dimension at most the `bend` of the kernel,

    sup_t |phi(x + t a) - (1 - t) phi(x) - t phi(x + a)|,    a the width of a cell,

and over all dimensions at most their sum. For smooth kernels it is of the order a^2.
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
"""Parts of a cell in which the bend is evaluated; its rise between them is bounded."""
EPS = float(np.finfo(float).eps)
FARTHEST = 1e100
"""Cells of more lengthscales are no different, and their squares no numbers."""


class Path(NamedTuple):
    """What phi does along one cell in one dimension."""

    step: float
    """sup |phi(x + t a) - phi(x)|, t <= 1"""
    bend: float


@singledispatch
def path(kernel: Kernel, box: Box, dimension: int, width: float) -> Path:
    """Bounds that hold for any cell of this width in the box; infinite where none are known."""
    return Path(math.inf, math.inf)


@path.register(RBF)
@path.register(Matern)
@path.register(RationalQuadratic)
def stationary_path(
    kernel: RBF | Matern | RationalQuadratic, box: Box, dimension: int, width: float
) -> Path:
    """|.|^2 = 1 + (1 - t)^2 + t^2 + 2 t (1 - t) k(a) - 2 (1 - t) k(t a) - 2 t k((1 - t) a), on a grid of t."""
    cell = min(
        width / float(np.broadcast_to(kernel.lengthscale, box.dimension)[dimension]), FARTHEST
    )
    t = np.linspace(0, 1, FRACTIONS + 1)
    k = kernel.profile((t * cell) ** 2)
    squares = 1 + (1 - t) ** 2 + t**2 + 2 * t * (1 - t) * k[-1] - 2 * (1 - t) * k - 2 * t * k[::-1]
    whole, part = distance(kernel, cell), distance(kernel, cell / FRACTIONS / 2)
    return Path(
        whole, math.sqrt(max(float(squares.max()), 0.0) + 16 * EPS) + part + whole / FRACTIONS / 2
    )


def distance(kernel: RBF | Matern | RationalQuadratic, cell: float) -> float:
    """|phi(x) - phi(z)| = sqrt(2 - 2 k), which grows with the distance."""
    return math.sqrt(2 - 2 * float(kernel.profile(np.array(cell**2))) + 4 * EPS)


@path.register
def straight_path(kernel: Linear, box: Box, dimension: int, width: float) -> Path:
    return Path(width, 0.0)


@path.register
def polynomial_path(kernel: Polynomial, box: Box, dimension: int, width: float) -> Path:
    """phi = u x ... x u with u = (x, sqrt(c)): |phi'| <= p |u|^(p - 1), |phi''| <= p (p - 1) |u|^(p - 2)."""
    p, size = kernel.degree, math.sqrt(largest_norm(box) + kernel.offset)
    return Path(p * size ** (p - 1) * width, p * (p - 1) * size ** max(p - 2, 0) * width**2 / 8)


@path.register
def scaled_path(kernel: Scaled, box: Box, dimension: int, width: float) -> Path:
    step, bend = path(kernel.kernel, box, dimension, width)
    return Path(math.sqrt(kernel.factor) * step, math.sqrt(kernel.factor) * bend)


@path.register
def added_path(kernel: Sum, box: Box, dimension: int, width: float) -> Path:
    """phi = (phi_1, phi_2)"""
    left, right = (
        path(kernel.left, box, dimension, width),
        path(kernel.right, box, dimension, width),
    )
    return Path(math.hypot(left.step, right.step), math.hypot(left.bend, right.bend))


@path.register
def multiplied_path(kernel: Product, box: Box, dimension: int, width: float) -> Path:
    """phi = phi_1 x phi_2: the product of the interpolations is off by t (1 - t) step_1 step_2 on its own."""
    left, right = (
        path(kernel.left, box, dimension, width),
        path(kernel.right, box, dimension, width),
    )
    high, wide = (
        math.sqrt(largest_value(kernel.left, box)),
        math.sqrt(largest_value(kernel.right, box)),
    )
    step = left.step * wide + high * right.step
    return Path(step, left.bend * wide + high * right.bend + left.step * right.step / 4)


def bends(kernel: Kernel, box: Box, cells: Array) -> Array:
    """The bend in each dimension, for so many cells a side."""
    widths = (np.array(box.upper) - np.array(box.lower)) / cells
    return np.array([path(kernel, box, j, float(width)).bend for j, width in enumerate(widths)])


def certified(kernel: Kernel, box: Box) -> bool:
    """Whether a bound on a grid can be carried over to the whole box."""
    return math.isfinite(largest_value(kernel, box)) and bool(
        np.isfinite(bends(kernel, box, np.ones(box.dimension))).all()
    )


def cells_for(kernel: Kernel, box: Box, goal: float, limit: float) -> Array:
    """Cells a side: more where the bend is greatest, until its sum is at most the goal, or the limit is met."""
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


def peak_on(design: Design, box: Box, cells: Array) -> float:
    """sup v over the box: (max sqrt(v) on the grid + sum of bends / sqrt(ridge))^2."""
    points, kernel = grid(box, cells), design.places.kernel
    highest = max(
        float(design.relative(points[i : i + ROWS]).max()) for i in range(0, len(points), ROWS)
    )
    return (
        math.sqrt(highest) + float(bends(kernel, box, cells).sum()) / math.sqrt(design.ridge)
    ) ** 2
