"""Several kernels of one form, evaluated together: they share the distances between points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelbandits.checks import Array, Indices, unchecked
from kernelbandits.kernels.additive import AdditiveMatern, Constant, SamePoint, distinct_points
from kernelbandits.kernels.base import Kernel, Scaled, Sum
from kernelbandits.kernels.profiles import Profile, matern32, matern52, rbf
from kernelbandits.kernels.stationary import RBF, Matern

CHUNK, LEAST_CHUNK = 16384, 64
"""How many kernels are computed at a time, so that they stay in the cache of the processor."""
FEW_PAIRS = 8
"""A column has few values if their pairs are at most this many times as many as the points."""


@dataclass(frozen=True)
class KernelParts:
    """The parts of a kernel that a fit can find.

    signal * k + additive * k_1 + level + nugget * [x = z]

    k is a Matern or RBF kernel, k_1 the mean of such kernels of one block of coordinates each.

    >>> import kernelbandits as kb
    >>> parts = kb.kernels.KernelParts(0.3, nu=2.5, signal=2.0, level=0.0)
    >>> parts.variance, parts.compose() == 2.0 * kb.Matern(0.3)
    (2.0, True)
    """

    lengthscale: float | tuple[float, ...]
    """That of k and of k_1; one number, or one for each dimension."""
    nu: float
    """The smoothness of the Matern kernel; infinite for RBF."""
    signal: float
    """The variance of k."""
    level: float
    """The variance of the constant part."""
    additive: float = 0.0
    """The variance of k_1."""
    nugget: float = 0.0
    """The variance of what is different at every point."""
    blocks: tuple[tuple[int, ...], ...] = ()
    """The blocks of the additive part; empty where there is none."""

    @property
    def variance(self) -> float:
        """k(x, x)"""
        return self.signal + self.additive + self.level + self.nugget

    @property
    def profile(self) -> Profile:
        """r^2 -> k and s = -2 dk/d(r^2)."""
        if math.isinf(self.nu):
            return rbf
        return matern32 if self.nu == 1.5 else matern52

    def compose(self) -> Kernel:
        """Return the kernel that has these parts; they are those of checked kernels or of a fit."""
        lengths = {"lengthscale": self.lengthscale}
        scales = lengths | {"nu": self.nu}
        smooth = unchecked(RBF, lengths) if math.isinf(self.nu) else unchecked(Matern, scales)
        terms: list[tuple[float, Kernel]] = [(self.signal, smooth), (self.level, Constant())]
        if self.additive:
            additive = unchecked(AdditiveMatern, scales | {"blocks": self.blocks})
            terms.append((self.additive, additive))
        terms.append((self.nugget, SamePoint()))
        (factor, first), *others = terms
        kernel: Kernel = unchecked(Scaled, {"kernel": first, "factor": factor})
        for factor, term in others:
            if factor:
                one = term if factor == 1 else unchecked(Scaled, {"kernel": term, "factor": factor})
                kernel = Sum(kernel, one)
        return kernel


def split_kernels(kernels: Sequence[Kernel]) -> tuple[KernelParts, ...] | None:
    """Return the parts of each kernel, or None if one of them has another form.

    >>> import kernelbandits as kb
    >>> (parts,) = kb.kernels.split_kernels([2.0 * kb.Matern(0.3) + kb.kernels.Constant()])
    >>> parts.signal, parts.level, parts.nu
    (2.0, 1.0, 2.5)
    >>> kb.kernels.split_kernels([kb.Linear()]) is None
    True
    """
    parts = []
    for kernel in kernels:
        split = _split_kernel(kernel)
        if split is None:
            return None
        parts.append(split)
    return tuple(parts)


def _split_kernel(kernel: Kernel) -> KernelParts | None:
    """Return the parts of a kernel, or None if it has another form."""
    terms: dict[type, tuple[float, Kernel]] = {}
    for factor, term in list_terms(kernel):
        form = Matern if isinstance(term, RBF) else type(term)
        if form in terms and form in (Matern, AdditiveMatern):
            return None
        terms[form] = (terms.get(form, (0.0, term))[0] + factor, term)
    if not set(terms) <= {Matern, AdditiveMatern, Constant, SamePoint} or Matern not in terms:
        return None
    signal, smooth = terms[Matern]
    assert isinstance(smooth, (Matern, RBF))
    nu = smooth.nu if isinstance(smooth, Matern) else math.inf
    if nu < 1:
        return None
    additive, parts = terms.get(AdditiveMatern, (0.0, None))
    level, nugget = (terms[part][0] if part in terms else 0.0 for part in (Constant, SamePoint))
    if parts is None:
        return KernelParts(smooth.lengthscale, nu, signal, level, nugget=nugget)
    assert isinstance(parts, AdditiveMatern)
    if (parts.lengthscale, parts.nu) != (smooth.lengthscale, nu):
        return None
    return KernelParts(smooth.lengthscale, nu, signal, level, additive, nugget, parts.blocks)


def list_terms(kernel: Kernel, factor: float = 1.0) -> list[tuple[float, Kernel]]:
    """Return the terms of a sum of kernels with their factors."""
    if isinstance(kernel, Sum):
        return [*list_terms(kernel.left, factor), *list_terms(kernel.right, factor)]
    if isinstance(kernel, Scaled):
        return list_terms(kernel.kernel, factor * kernel.factor)
    return [(factor, kernel)]


class StackedKernels:
    """M kernels signal * k + additive * k_1 + level, with lengthscales and variances of their own.

    The squared distances in each block of coordinates are computed once for all. The part
    nugget * [x = z] is left out: who knows which points are the same adds `nuggets`.

    >>> import numpy as np
    >>> from kernelbandits.kernels import Constant, Matern, StackedKernels, split_kernels
    >>> each = [2.0 * Matern((length,)) + Constant() for length in (0.3, 0.6)]
    >>> stacked = StackedKernels.of(split_kernels(each))
    >>> x, z = np.array([[0.0]]), np.array([[0.3]])
    >>> stacked(x, z).ravel().round(3), [round(float(k(x, z)[0, 0]), 3) for k in each]
    (array([2.048, 2.657]), [2.048, 2.657])
    """

    def __init__(self, parts: Sequence[KernelParts], lengths: Array) -> None:
        self.blocks = parts[0].blocks or tuple((j,) for j in range(lengths.shape[1]))
        self.profile = parts[0].profile
        first = np.array([block[0] for block in self.blocks])
        # Points are divided by the lengthscales of the first kernel. Squares of coordinates in
        # their own units could overflow.
        self.units = lengths[0]
        self.weights = np.square(lengths[0, first] / lengths[:, first])
        """(M, B): what a squared distance in a block counts in each kernel."""
        self.signals = np.array([part.signal for part in parts])
        self.additives = np.array([part.additive for part in parts])
        self.levels = np.array([part.level for part in parts])
        self.nuggets = np.array([part.nugget for part in parts])
        self.variances = np.array([part.variance for part in parts])
        """k(x, x), the nugget included."""

    @classmethod
    def of(cls, parts: Sequence[KernelParts]) -> StackedKernels | None:
        """Stack kernels of these parts, or return None if their forms differ."""
        tuples = all(isinstance(part.lengthscale, tuple) for part in parts)
        forms = {(part.nu, part.blocks, np.size(part.lengthscale)) for part in parts}
        if not tuples or len(forms) > 1:
            return None
        lengths = np.array([part.lengthscale for part in parts])
        if any((lengths[:, block] != lengths[:, block[:1]]).any() for block in parts[0].blocks):
            return None
        return cls(parts, lengths)

    def __call__(self, x: Array, z: Array) -> Array:
        """Return k_i(x, z) without the nugget, an (M, n, m) array."""
        out = np.empty((len(self.signals), len(x), len(z)))
        rows = PoolRows(self, z)
        rows.write(rows.scale(x), [None] * len(self.blocks), out)
        return out


class KernelStack:
    """The kernels of M >= 1 members, evaluated together: those of one form share the distances.

    It is made of kernels, or of the parts that a fit has found (`of_parts`). The other of the two
    is made when somebody reads it.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> stack = kb.kernels.KernelStack([kb.RBF(0.2), kb.RBF(0.5)])
    >>> values = stack(np.array([[0.0]]), np.array([[0.0], [0.2]]))
    >>> values.shape, values[:, 0, 1].round(3)
    ((2, 1, 2), array([0.607, 0.923]))
    """

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.size = len(kernels)
        self.kernels = tuple(kernels)

    @classmethod
    def of_parts(cls, parts: Sequence[KernelParts]) -> KernelStack:
        """Stack the kernels that have these parts."""
        stack = object.__new__(cls)
        stack.size, stack.parts = len(parts), tuple(parts)
        return stack

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernel of each member."""
        return tuple(part.compose() for part in self.parts or ())

    @cached_property
    def parts(self) -> tuple[KernelParts, ...] | None:
        """The parts of each kernel; None if one of them has another form."""
        return split_kernels(self.kernels)

    @cached_property
    def stacked(self) -> StackedKernels | None:
        """The kernels with their distances in common, if there are several of one form."""
        parts = self.parts
        return None if self.size < 2 or parts is None else StackedKernels.of(parts)

    def select(self, number: int) -> KernelStack:
        """Return the kernel of one member alone."""
        if self.parts is not None:
            return KernelStack.of_parts([self.parts[number]])
        return KernelStack([self.kernels[number]])

    def equals(self, other: KernelStack) -> bool:
        """Tell whether the kernels are the same."""
        if self.parts is not None or other.parts is not None:
            return self.parts == other.parts
        return self.kernels == other.kernels

    def diagonal(self, x: Array) -> Array:
        """Return k_i(x, x) of each kernel, an (M, n) array."""
        if self.stacked is None:
            return np.array([kernel.diagonal(x) for kernel in self.kernels])
        return np.tile(self.stacked.variances[:, None], len(x))

    def __call__(self, x: Array, z: Array) -> Array:
        """Return k_i(x, z) of each kernel, an (M, n, m) array."""
        if self.stacked is None:
            return np.array([kernel(x, z) for kernel in self.kernels])
        values = self.stacked(x, z)
        if self.stacked.nuggets.any():
            values += self.stacked.nuggets[:, None, None] * SamePoint()(x, z)
        return values


class PoolRows:
    """The kernels of some of the points of a pool with all of them.

    A column of a table often has few different values. The additive part of such a column is
    computed once for each pair of values, and looked up for each pair of points.

    >>> import numpy as np
    >>> from kernelbandits.kernels import Matern, PoolRows, StackedKernels, split_kernels
    >>> stacked = StackedKernels.of(split_kernels([Matern((0.3,)), Matern((0.6,))]))
    >>> rows = PoolRows(stacked, np.array([[0.0], [0.3], [0.6]]))
    >>> rows.of(np.array([0]))[:, 0].round(3)
    array([[1.   , 0.524, 0.139],
           [1.   , 0.829, 0.524]])
    """

    def __init__(self, kernels: StackedKernels, points: Array) -> None:
        self.kernels = kernels
        self._right = self.scale(points)
        self._levels: list[Indices | None] = []
        """For each block the number of the value of each point; None where there are many."""
        self._tables: list[Array] = []
        """For each block with few values the kernels of all pairs of values, (M, L, L)."""
        if kernels.additives.any():
            most = math.isqrt(FEW_PAIRS * len(points))
            for b, block in enumerate(kernels.blocks):
                column = self._right[list(block)].T
                # A sort of a million numbers is saved where the first of them tell enough.
                values, levels = distinct_points(column[: 4 * most])
                if len(values) <= most and len(column) > 4 * most:
                    values, levels = distinct_points(column)
                few = len(values) <= most
                self._levels.append(levels if few else None)
                self._tables.append(self._tabulate(b, values) if few else np.empty(0))

    def scale(self, points: Array) -> Array:
        """Return points in units of the first lengthscales, one row for each coordinate."""
        return np.ascontiguousarray((points / self.kernels.units).T)

    def _tabulate(self, b: int, values: Array) -> Array:
        """Return the additive parts of block b for all pairs of its values, (M, L, L)."""
        kernels = self.kernels
        squares = np.square(values[:, None] - values).sum(-1)
        table = kernels.profile(kernels.weights[:, b, None, None] * squares)[0]
        table *= (kernels.additives / len(kernels.blocks))[:, None, None]
        return table

    def of(self, numbers: Indices, out: Array | None = None) -> Array:
        """Return k_i of the points with these numbers and all points, without the nugget."""
        size = len(self.kernels.signals), len(numbers), self._right.shape[1]
        rows = np.empty(size) if out is None else out
        levels = [None if of is None else of[numbers] for of in self._levels]
        self.write(self._right[:, numbers], levels, rows)
        return rows

    def write(self, left: Array, levels: Sequence[Indices | None], out: Array) -> None:
        """Write the kernels of the points `left` with all to `out`, an (M, m, n) array.

        `levels` are the numbers of their values in the blocks that have tables.
        """
        members, m, n = out.shape
        width = max(LEAST_CHUNK, CHUNK // (members * (1 + sum(of is None for of in levels))))
        height = max(1, width // n)
        for top in range(0, m, height):
            some = slice(top, top + height)
            places = [None if of is None else of[some] for of in levels]
            for first in range(0, n, width):
                chunk = slice(first, first + width)
                out[:, some, chunk] = self._values(left[:, some], places, chunk)

    def _values(self, left: Array, levels: Sequence[Indices | None], chunk: slice) -> Array:
        """Return the kernels of some points with some of all, an (M, m, n) array."""
        kernels, members = self.kernels, len(self.kernels.signals)
        squares = self._squares(left, chunk)
        shape = members, *squares.shape[1:]
        flat = squares.reshape(len(squares), -1)
        values = kernels.profile(kernels.weights @ flat)[0]
        values *= kernels.signals[:, None]
        values += kernels.levels[:, None]
        computed = [b for b, places in enumerate(levels) if places is None]
        if computed and kernels.additives.any():
            each = kernels.profile(kernels.weights[:, computed, None] * flat[computed])[0]
            values += (kernels.additives / len(kernels.blocks))[:, None] * each.sum(1)
        values = values.reshape(shape)
        for table, places, numbers in zip(self._tables, levels, self._levels, strict=False):
            if places is not None and numbers is not None:
                values += table[:, places].take(numbers[chunk], axis=2)
        return values

    def _squares(self, left: Array, chunk: slice) -> Array:
        """Return the squared distances in each block, a (B, m, n) array."""
        apart = self._right[:, None, chunk] - left[:, :, None]
        np.square(apart, out=apart)
        if len(apart) == len(self.kernels.blocks):
            return apart
        return np.array([apart[list(block)].sum(0) for block in self.kernels.blocks])
