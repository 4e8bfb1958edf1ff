"""Several kernels of one form, evaluated together: they share the distances between points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.kernels.additive import AdditiveMatern, Constant, SamePoint
from kernelbandits.kernels.base import Kernel, Scaled, Sum
from kernelbandits.kernels.profiles import Profile, matern32, matern52, rbf
from kernelbandits.kernels.stationary import RBF, Matern

CHUNK, LEAST_CHUNK = 8192, 64
"""How many kernels are computed at a time, so that they stay in the cache of the processor."""


@dataclass(frozen=True)
class KernelParts:
    """signal * k + additive * k_1 + level + nugget * [x = z].

    k is a Matern or RBF kernel, k_1 the mean of such kernels of one block of coordinates each.
    """

    smooth: Matern | RBF
    signal: float
    level: float
    additive: float = 0.0
    nugget: float = 0.0
    blocks: tuple[tuple[int, ...], ...] = ()
    """The blocks of the additive part; empty where there is none."""

    @property
    def variance(self) -> float:
        """k(x, x)"""
        return self.signal + self.additive + self.level + self.nugget

    @property
    def profile(self) -> Profile:
        """r^2 -> k and s = -2 dk/d(r^2)."""
        if isinstance(self.smooth, RBF):
            return rbf
        return matern32 if self.smooth.nu == 1.5 else matern52


def split_kernel(kernel: Kernel) -> KernelParts | None:
    """Return the parts of a kernel, or None if it has another form."""
    found: dict[type, tuple[float, Kernel]] = {}
    for factor, term in list_terms(kernel):
        known = Matern if isinstance(term, RBF) else type(term)
        if known in found and known in (Matern, AdditiveMatern):
            return None
        found[known] = (found.get(known, (0.0, term))[0] + factor, term)
    if not set(found) <= {Matern, AdditiveMatern, Constant, SamePoint} or Matern not in found:
        return None
    signal, smooth = found[Matern]
    assert isinstance(smooth, (Matern, RBF))
    if isinstance(smooth, Matern) and smooth.nu < 1:
        return None
    additive, parts = found.get(AdditiveMatern, (0.0, None))
    level, nugget = (found[part][0] if part in found else 0.0 for part in (Constant, SamePoint))
    if parts is None:
        return KernelParts(smooth, signal, level, nugget=nugget)
    assert isinstance(parts, AdditiveMatern)
    alike = isinstance(smooth, Matern) and (parts.lengthscale, parts.nu) == (
        smooth.lengthscale,
        smooth.nu,
    )
    return KernelParts(smooth, signal, level, additive, nugget, parts.blocks) if alike else None


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
    >>> from kernelbandits.kernels import Constant, Matern, StackedKernels
    >>> each = [2.0 * Matern((length,)) + Constant() for length in (0.3, 0.6)]
    >>> stacked = StackedKernels.of(each)
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
    def of(cls, kernels: Sequence[Kernel]) -> StackedKernels | None:
        """Stack kernels, or return None if their forms differ or are others."""
        parts = [part for part in map(split_kernel, kernels) if part is not None]
        if len(parts) < len(kernels):
            return None
        tuples = all(isinstance(part.smooth.lengthscale, tuple) for part in parts)
        forms = {(part.profile, part.blocks, np.size(part.smooth.lengthscale)) for part in parts}
        if not tuples or len(forms) > 1:
            return None
        lengths = np.array([part.smooth.lengthscale for part in parts])
        if any((lengths[:, block] != lengths[:, block[:1]]).any() for block in parts[0].blocks):
            return None
        return cls(parts, lengths)

    def __call__(self, x: Array, z: Array, out: Array | None = None) -> Array:
        """Return k_i(x, z) without the nugget, an (M, n, m) array."""
        result = np.empty((len(self.signals), len(x), len(z))) if out is None else out
        left, right = (np.ascontiguousarray((points / self.units).T) for points in (x, z))
        width = max(LEAST_CHUNK, CHUNK // (len(self.signals) * len(self.blocks)))
        for row in range(len(x)):
            for start in range(0, len(z), width):
                chunk = slice(start, start + width)
                squares = self._squares(left[:, row], right[:, chunk])
                result[:, row, chunk] = self._values(squares)
        return result

    def _squares(self, point: Array, others: Array) -> Array:
        """Return the squared distances to one point in each block, a (B, n) array."""
        apart = others - point[:, None]
        np.square(apart, out=apart)
        if len(apart) == len(self.blocks):
            return apart
        return np.array([apart[list(block)].sum(0) for block in self.blocks])

    def _values(self, squares: Array) -> Array:
        """Return the kernels at these squared distances, an (M, n) array."""
        values = self.profile(self.weights @ squares)[0]
        values *= self.signals[:, None]
        values += self.levels[:, None]
        if self.additives.any():
            each = self.profile(self.weights[:, :, None] * squares)[0]
            values += (self.additives / len(self.blocks))[:, None] * each.sum(1)
        return values

