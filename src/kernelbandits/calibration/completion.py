"""Rows that are completed by columns that follow from the others, and kernels of such rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.kernels import Kernel, KernelParts, SamePoint

KEPT = 8
"""How many sets of rows keep their further columns: the members of a posterior ask for the same."""


class DerivedColumn(Protocol):
    """A column that follows from the coordinates of a row."""

    side: float
    """The extent of the column, of which a lengthscale is a share."""
    is_flat: bool
    """Whether it is about the same everywhere."""

    def __call__(self, rows: Array) -> Array:
        """Return its value at each row."""

    def slopes(self, rows: Array) -> Array:
        """Return its gradient at each row, an (n, d) array."""


class Completion:
    """The further columns of a row: what earlier studies predict of it."""

    def __init__(self, predictions: Sequence[DerivedColumn]) -> None:
        self.predictions = tuple(predictions)
        self.sides = tuple(one.side for one in predictions)
        self._kept: dict[tuple[str, bytes], Array] = {}

    def __call__(self, rows: Array) -> Array:
        """Return the rows (x, prediction of x, ...)."""
        return np.hstack([rows, self.predict(rows)])

    def predict(self, rows: Array) -> Array:
        """Return what each earlier study predicts at each row, an (n, k) array."""

        def compute() -> Array:
            return np.column_stack([one(rows) for one in self.predictions])

        return self._keep("values", rows, compute)

    def slopes(self, rows: Array) -> Array:
        """Return the gradients of the predictions, a (k, n, d) array."""

        def compute() -> Array:
            return np.array([one.slopes(rows) for one in self.predictions])

        return self._keep("slopes", rows, compute)

    def _keep(self, what: str, rows: Array, compute: Callable[[], Array]) -> Array:
        """Return what was computed of the same rows a moment ago, or compute it."""
        key = what, rows.tobytes()
        found = self._kept.get(key)
        if found is None:
            found = compute()
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found
        return found

    def kernel_of(self, parts: KernelParts) -> Kernel:
        """Return the kernel of rows whose completed form has a kernel of these parts."""
        kernel: Kernel = Completed(replace(parts, nugget=0.0).compose(), self)
        # Whether two rows are the same is decided by the rows alone.
        return kernel + parts.nugget * SamePoint() if parts.nugget else kernel


@dataclass(frozen=True)
class Completed(Kernel):
    """k((x, c(x)), (z, c(z))): a kernel of rows with columns that follow from the others."""

    kernel: Kernel
    completion: Completion

    def __call__(self, x: Array, z: Array) -> Array:
        return self.kernel(self.completion(x), self.completion(z))

    def diagonal(self, x: Array) -> Array:
        return self.kernel.diagonal(self.completion(x))

    def gradient(self, x: Array, z: Array) -> Array:
        return self.value_and_gradient(x, z)[1]

    def value_and_gradient(self, x: Array, z: Array) -> tuple[Array, Array]:
        """dk/dx_j + sum_i dk/dc_i dc_i/dx_j"""
        value, gradient = self.kernel.value_and_gradient(self.completion(x), self.completion(z))
        d = x.shape[1]
        followed = np.einsum("nmk,knj->nmj", gradient[..., d:], self.completion.slopes(x))
        return value, gradient[..., :d] + followed

    def diagonal_gradient(self, x: Array) -> Array:
        inner, d = self.kernel.diagonal_gradient(self.completion(x)), x.shape[1]
        followed = np.einsum("nk,knj->nj", inner[:, d:], self.completion.slopes(x))
        return np.asarray(inner[:, :d] + followed)

    def lengthscales(self, dimension: int) -> Array | None:
        longer = self.kernel.lengthscales(dimension + len(self.completion.predictions))
        return None if longer is None else longer[:dimension]
