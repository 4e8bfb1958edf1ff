"""Kernels that were already checked on the arms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelbandits.checks import Array
from kernelbandits.kernels import Kernel, has_adapted

CHECKED_POINTS = 200
"""The number of points on which a function used as a kernel is checked, where all are too many."""


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
    """Return a kernel that is not checked again."""
    return Trusted(kernel.__call__, kernel.diagonal) if has_adapted(kernel) else kernel
