"""Gram matrices, with the checks that a function used as a kernel has to pass."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.kernels.base import Adapted, Kernel


def has_adapted(kernel: Kernel) -> bool:
    """Tell whether any part of the kernel is a function of the user's, so that it is checked."""
    if isinstance(kernel, Adapted):
        return True
    parts = (getattr(kernel, part.name) for part in fields(kernel))  # type: ignore[arg-type]
    return any(has_adapted(part) for part in parts if isinstance(part, Kernel))


def gram(kernel: Kernel, points: Array) -> Array:
    """Return K = k(points, points), checked to be finite.

    The package's own kernels are positive semi-definite by construction. A kernel with a part of
    the user's own is also checked to be symmetric and positive semi-definite on these points.
    """
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
    """Raise an error if k(x, z) and k(z, x) differ by more than rounding."""
    gap = np.abs(matrix - matrix.T)
    row, column = np.unravel_index(int(gap.argmax()), gap.shape)
    pair = f"{matrix[row, column]} and {matrix[column, row]} for points {row} and {column}"
    if gap[row, column] > 1e-12 * max(1.0, float(np.abs(matrix).max())):
        raise ValueError(f"a kernel needs k(x, z) = k(z, x), got {pair}")


def check_semidefinite(matrix: Array) -> None:
    """Raise an error if an eigenvalue is negative by more than rounding explains."""
    # Rounding of a symmetric eigenvalue problem is of size n eps times the largest eigenvalue; the
    # factor 8 leaves a margin. The message names the two points with the largest share in the
    # offending eigenvector, since a wrong kernel is usually wrong for particular pairs.
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -len(matrix) * np.finfo(float).eps * max(values[-1], 0.0) * 8:
        first, second = sorted(np.abs(vectors[:, 0]).argsort()[-2:]) if len(matrix) > 1 else (0, 0)
        where = f"points {first} and {second} carry most of it"
        raise ValueError(
            f"a kernel needs no negative eigenvalue on the arms, got {values[0]:.3g}; {where}"
        )
