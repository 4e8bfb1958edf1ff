"""Kernels made from one other kernel: with k(x, x) = 1, or of some coordinates only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels.base import Kernel, as_kernel
from kernelbandits.kernels.properties import Block, CellChange, Eigendecay, Extent
from kernelbandits.kernels.spectral import Term, scale_terms


@dataclass(frozen=True)
class Normalised(Kernel):
    """k(x, z) / sqrt(k(x, x) k(z, z)), a kernel with k(x, x) = 1.

    The paper's theory takes k(x, x) <= 1 for granted; a polynomial kernel, for example, needs this.

    >>> import numpy as np
    >>> from kernelbandits.kernels import Normalised, Polynomial
    >>> x = np.array([[0.0], [2.0]])
    >>> Polynomial(2).diagonal(x)
    array([ 1., 25.])
    >>> Normalised(Polynomial(2)).diagonal(x)
    array([1., 1.])
    """

    kernel: Kernel
    """The kernel that is normalised."""

    def __call__(self, x: Array, z: Array) -> Array:
        return self.kernel(x, z) / np.sqrt(np.outer(self.norms(x), self.norms(z)))

    def norms(self, x: Array) -> Array:
        """Return k(x_i, x_i) of the inner kernel, all positive."""
        squares = self.kernel.diagonal(x)
        checks.needs(
            bool((squares > 0).all()),
            "Normalised",
            "k(x, x) > 0 at every point",
            float(squares.min()),
        )
        return squares

    def diagonal(self, x: Array) -> Array:
        return np.ones(len(self.norms(x)))

    def gradient(self, x: Array, z: Array) -> Array:
        """(k' - k a' / (2 a)) / sqrt(a b), with a = k(x, x), b = k(z, z)."""
        a, b = self.norms(x), self.norms(z)
        inner = (
            self.kernel(x, z)[..., None]
            * (self.kernel.diagonal_gradient(x) / (2 * a[:, None]))[:, None]
        )
        return (self.kernel.gradient(x, z) - inner) / np.sqrt(np.outer(a, b))[..., None]

    def diagonal_gradient(self, x: Array) -> Array:
        return np.zeros(x.shape)

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        return 1.0, 1.0

    def eigendecay(self, dimension: int) -> Eigendecay | None:
        return self.kernel.eigendecay(dimension)

    def spectral_terms(self, columns: Iterable[int]) -> tuple[Term, ...]:
        terms = self.kernel.spectral_terms(columns)
        return scale_terms(terms, 1 / sum(term.variance for term in terms)) if terms else ()


@dataclass(frozen=True)
class On(Kernel):
    """A kernel of some coordinates only: k(x, z) = kernel(x[columns], z[columns]).

    A product of such kernels gives groups of coordinates kernels of their own.

    >>> import numpy as np
    >>> from kernelbandits.kernels import On, RBF
    >>> kernel = On(RBF(0.2), (0, 1)) * On(RBF(1.0), 2)
    >>> kernel(np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]])).round(3)
    array([[0.607]])
    """

    spelling: ClassVar[str] = "on"

    kernel: Kernel
    columns: tuple[int, ...]
    """Column numbers from 0. A single number or a slice with an end is accepted too."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        object.__setattr__(self, "columns", column_numbers(self.columns))

    def __call__(self, x: Array, z: Array) -> Array:
        return self.kernel(*self._parts(x, z))

    def diagonal(self, x: Array) -> Array:
        return self.kernel.diagonal(self._part(x))

    def gradient(self, x: Array, z: Array) -> Array:
        gradient = np.zeros((len(x), len(z), x.shape[1]))
        gradient[:, :, self.columns] = self.kernel.gradient(*self._parts(x, z))
        return gradient

    def diagonal_gradient(self, x: Array) -> Array:
        gradient = np.zeros(x.shape)
        gradient[:, self.columns] = self.kernel.diagonal_gradient(self._part(x))
        return gradient

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        return self.kernel.diagonal_range(extent.select(self.columns))

    def rank_blocks(self, extent: Extent) -> list[Block]:
        return self.kernel.rank_blocks(extent.select(self.columns))

    def cell_change(self, extent: Extent, coordinate: int, width: float) -> CellChange:
        if coordinate not in self.columns:
            return CellChange(0.0, 0.0)
        place = self.columns.index(coordinate)
        return self.kernel.cell_change(extent.select(self.columns), place, width)

    def spectral_terms(self, columns: Iterable[int]) -> tuple[Term, ...]:
        where = tuple(columns)
        return self.kernel.spectral_terms([where[column] for column in self.columns])

    def _parts(self, x: Array, z: Array) -> tuple[Array, Array]:
        if x.shape[1] != z.shape[1]:
            raise ValueError(
                f"On needs points of {x.shape[1]} dimensions, got {x.shape[1]} and {z.shape[1]}"
            )
        return self._part(x), self._part(z)

    def _part(self, x: Array) -> Array:
        least = max(self.columns) + 1
        checks.needs(
            x.shape[1] >= least, "On", f"points of at least {least} dimensions", x.shape[1]
        )
        return x[:, self.columns]


def column_numbers(columns: Any) -> tuple[int, ...]:
    """Return the column numbers as a tuple, checked to be different."""
    items = (columns,) if checks.is_whole(columns) else columns
    if isinstance(columns, slice):
        items = range(*slice_ends(columns))
    listed = isinstance(items, Iterable) and not isinstance(items, str)
    checks.needs(listed, "On", "columns, a tuple of column numbers or a slice", columns)
    numbers = tuple(checks.whole("On", "in every column", item, least=0) for item in items)
    checks.needs(
        len(numbers) == len(set(numbers)) > 0,
        "On",
        "at least one column, none of them twice",
        columns,
    )
    return numbers


def slice_ends(columns: slice) -> tuple[int, int, int]:
    """Return start, end and step of a slice.

    The end must be given: the kernel does not know how many columns the points have.
    """
    start = checks.whole("On", "start", 0 if columns.start is None else columns.start, least=0)
    stop = checks.whole("On", "end of the slice", columns.stop, least=0)
    return start, stop, checks.whole("On", "step", 1 if columns.step is None else columns.step)
