"""Gram matrices, and what a kernel from outside has to prove."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.kernels.base import Adapted, Kernel


def has_adapted(kernel: Kernel) -> bool:
    """Whether any part of the kernel comes from outside and so has to prove itself."""
    if isinstance(kernel, Adapted):
        return True
    parts = (getattr(kernel, part.name) for part in fields(kernel))  # type: ignore[arg-type]
    return any(has_adapted(part) for part in parts if isinstance(part, Kernel))


def gram(kernel: Kernel, points: Array) -> Array:
    """K = k(points, points), finite; a kernel from outside must also be symmetric and positive semi-definite."""
    matrix = kernel(points, points)
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(
            f"{kernel} needs finite values, got {matrix[row, column]} for points {row} and {column}"
        )
    if has_adapted(kernel):
        check_symmetric(matrix)
        check_semidefinite(matrix)
    return matrix


def check_symmetric(matrix: Array) -> None:
    gap = np.abs(matrix - matrix.T)
    row, column = np.unravel_index(int(gap.argmax()), gap.shape)
    pair = f"{matrix[row, column]} and {matrix[column, row]} for points {row} and {column}"
    if gap[row, column] > 1e-12 * max(1.0, float(np.abs(matrix).max())):
        raise ValueError(f"a kernel needs k(x, z) = k(z, x), got {pair}")


def check_semidefinite(matrix: Array) -> None:
    """The least eigenvalue may fall below zero by rounding only."""
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -len(matrix) * np.finfo(float).eps * max(values[-1], 0.0) * 8:
        first, second = sorted(np.abs(vectors[:, 0]).argsort()[-2:]) if len(matrix) > 1 else (0, 0)
        where = f"points {first} and {second} carry most of it"
        raise ValueError(
            f"a kernel needs no negative eigenvalue on the arms, got {values[0]:.3g}; {where}"
        )
