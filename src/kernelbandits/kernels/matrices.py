"""Gram matrices, with the checks that a function used as a kernel has to pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.kernels.base import Adapted, Kernel

CHECKED_POINTS = 200
"""The number of points on which a function used as a kernel is checked, where all are too many."""


def has_adapted(kernel: Kernel) -> bool:
    """Tell whether any part of the kernel is a function of the user's, so that it is checked.

    >>> import kernelbandits as kb
    >>> mine = kb.kernels.as_kernel(lambda x, z: x @ z.T)
    >>> kb.kernels.has_adapted(kb.RBF(0.2)), kb.kernels.has_adapted(kb.RBF(0.2) + mine)
    (False, True)
    """
    parts = [part for part in vars(kernel).values() if isinstance(part, Kernel)]
    return isinstance(kernel, Adapted) or any(map(has_adapted, parts))


def gram(kernel: Kernel, points: Array) -> Array:
    """Return K = k(points, points), checked to be finite.

    The package's own kernels are positive semi-definite by construction. A kernel with a part of
    the user's own is also checked to be symmetric and positive semi-definite on these points.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> kb.kernels.gram(kb.RBF(0.5), np.array([[0.0], [0.5], [1.0]])).round(3)
    array([[1.   , 0.607, 0.135],
           [0.607, 1.   , 0.607],
           [0.135, 0.607, 1.   ]])
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
    """Raise an error if k(x, z) and k(z, x) differ by more than rounding.

    >>> import numpy as np
    >>> from kernelbandits.kernels import check_symmetric
    >>> check_symmetric(np.array([[1.0, 0.5], [0.2, 1.0]]))
    Traceback (most recent call last):
        ...
    ValueError: a kernel needs k(x, z) = k(z, x), got 0.5 and 0.2 for points 0 and 1
    """
    gap = np.abs(matrix - matrix.T)
    row, column = np.unravel_index(int(gap.argmax()), gap.shape)
    pair = f"{matrix[row, column]} and {matrix[column, row]} for points {row} and {column}"
    if gap[row, column] > 1e-12 * max(1.0, float(np.abs(matrix).max())):
        raise ValueError(f"a kernel needs k(x, z) = k(z, x), got {pair}")


def check_semidefinite(matrix: Array) -> None:
    """Raise an error if an eigenvalue is negative by more than rounding explains.

    >>> import numpy as np
    >>> from kernelbandits.kernels import check_semidefinite
    >>> check_semidefinite(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> check_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: a kernel needs no negative eigenvalue on the arms, got -1; ...
    """
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


@dataclass(frozen=True)
class Trusted(Kernel):
    """A function used as a kernel whose matrix on all arms has passed the checks.

    On a subset of the arms it passes too, so a posterior over some of them does not check again.
    """

    matrix: Callable[[Array, Array], Array]
    variances: Callable[[Array], Array]

    def __call__(self, x: Array, z: Array) -> Array:
        return self.matrix(x, z)

    def diagonal(self, x: Array) -> Array:
        return self.variances(x)


def as_trusted(kernel: Kernel) -> Kernel:
    """Return a kernel that is not checked again.

    >>> import kernelbandits as kb
    >>> mine = kb.kernels.as_kernel(lambda x, z: x @ z.T)
    >>> kb.kernels.has_adapted(kb.kernels.as_trusted(mine))
    False
    """
    return Trusted(kernel.__call__, kernel.diagonal) if has_adapted(kernel) else kernel
