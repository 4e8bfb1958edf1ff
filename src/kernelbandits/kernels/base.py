"""The interface of a kernel; sums, products and multiples of kernels; functions used as kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array

STEP = float(np.cbrt(np.finfo(float).eps))
"""Step h of a central difference, relative to max(1, |x_j|).

The cube root of eps makes its two errors equally large: h^2 from the Taylor series, eps / h from
rounding.
"""


class Kernel:
    """A positive semi-definite function of two points.

    `kernel(x, z)` is the (n, m) array of k(x_i, z_j) for the rows x_i of an (n, d) array and z_j of
    an (m, d) array. A new kernel is a frozen dataclass that defines `__call__`. The other methods
    have defaults that work for every kernel; define them where a formula is faster or more exact.
    `k1 + k2`, `k1 * k2` and `2.0 * k1` are kernels again.
    """

    def __call__(self, x: Array, z: Array) -> Array:
        """Return k(x_i, z_j) as an (n, m) array."""
        raise NotImplementedError

    def diagonal(self, x: Array) -> Array:
        """Return k(x_i, x_i) as an array of n numbers."""
        return np.array([self(row[None], row[None])[0, 0] for row in x])

    def gradient(self, x: Array, z: Array) -> Array:
        """Return d k(x_i, z_j) / d x_i as an (n, m, d) array; here by central differences."""
        return np.stack(
            [(self(up, z) - self(down, z)) / size[:, None] for up, down, size in steps(x)], axis=-1
        )

    def value_and_gradient(self, x: Array, z: Array) -> tuple[Array, Array]:
        """Return k(x_i, z_j) and its gradient; a kernel may have a faster way to both."""
        return self(x, z), self.gradient(x, z)

    def diagonal_gradient(self, x: Array) -> Array:
        """Return d k(x_i, x_i) / d x_i as an (n, d) array; here by central differences."""
        return np.stack(
            [(self.diagonal(up) - self.diagonal(down)) / size for up, down, size in steps(x)],
            axis=-1,
        )

    def __add__(self, other: Any) -> Sum:
        return Sum(self, as_kernel(other))

    def __radd__(self, other: Any) -> Kernel:
        """0 + k = k, so that sum([k1, k2]) works."""
        return self if type(other) is int and other == 0 else Sum(as_kernel(other), self)

    def __mul__(self, other: Any) -> Kernel:
        return Scaled(self, other) if checks.is_number(other) else Product(self, as_kernel(other))

    def __rmul__(self, factor: float) -> Scaled:
        return Scaled(self, factor)


def steps(x: Array) -> list[tuple[Array, Array, Array]]:
    """Return (x + h e_j, x - h e_j, their distance) for each coordinate j.

    The distance is computed from the two rounded points; it is not exactly 2 h.
    """
    pairs = [(x.copy(), x.copy()) for _ in range(x.shape[1])]
    for j, (up, down) in enumerate(pairs):
        size = STEP * np.maximum(1.0, np.abs(x[:, j]))
        up[:, j] += size
        down[:, j] -= size
    return [(up, down, up[:, j] - down[:, j]) for j, (up, down) in enumerate(pairs)]


@dataclass(frozen=True)
class Sum(Kernel):
    """The sum of two kernels, k = left + right; written `left + right`."""

    left: Kernel
    right: Kernel

    def __call__(self, x: Array, z: Array) -> Array:
        return self.left(x, z) + self.right(x, z)

    def diagonal(self, x: Array) -> Array:
        return self.left.diagonal(x) + self.right.diagonal(x)

    def gradient(self, x: Array, z: Array) -> Array:
        return self.left.gradient(x, z) + self.right.gradient(x, z)

    def diagonal_gradient(self, x: Array) -> Array:
        return self.left.diagonal_gradient(x) + self.right.diagonal_gradient(x)


@dataclass(frozen=True)
class Product(Kernel):
    """The product of two kernels, k = left * right; written `left * right`."""

    left: Kernel
    right: Kernel

    def __call__(self, x: Array, z: Array) -> Array:
        return self.left(x, z) * self.right(x, z)

    def diagonal(self, x: Array) -> Array:
        return self.left.diagonal(x) * self.right.diagonal(x)

    def gradient(self, x: Array, z: Array) -> Array:
        """left' right + left right'"""
        left, right = self.left(x, z)[..., None], self.right(x, z)[..., None]
        return self.left.gradient(x, z) * right + left * self.right.gradient(x, z)

    def diagonal_gradient(self, x: Array) -> Array:
        left, right = self.left.diagonal(x)[:, None], self.right.diagonal(x)[:, None]
        return self.left.diagonal_gradient(x) * right + left * self.right.diagonal_gradient(x)


@dataclass(frozen=True)
class Scaled(Kernel):
    """A multiple of a kernel, factor * k with factor > 0; written `factor * k`."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        checks.positive("a scaled kernel", "factor", self.factor)

    def __call__(self, x: Array, z: Array) -> Array:
        return self.factor * self.kernel(x, z)

    def diagonal(self, x: Array) -> Array:
        return self.factor * self.kernel.diagonal(x)

    def gradient(self, x: Array, z: Array) -> Array:
        return self.factor * self.kernel.gradient(x, z)

    def diagonal_gradient(self, x: Array) -> Array:
        return self.factor * self.kernel.diagonal_gradient(x)


@dataclass(frozen=True)
class Adapted(Kernel):
    """A function of the user's as a kernel: any callable (x, z) -> (n, m) array of float64.

    Kernels of scikit-learn are such callables. Nothing is known of a function, so its matrices are
    checked to be symmetric and positive semi-definite (`kernels.gram`).
    """

    function: Any

    def __call__(self, x: Array, z: Array) -> Array:
        gram = np.asarray(self.function(x, z))
        name = getattr(self.function, "__name__", type(self.function).__name__)
        checks.needs(
            gram.shape == (len(x), len(z)),
            name,
            f"an array of shape {(len(x), len(z))}",
            gram.shape,
        )
        checks.needs(gram.dtype == np.float64, name, "float64 values", str(gram.dtype))
        return gram

    def diagonal(self, x: Array) -> Array:
        """Return k(x_i, x_i), in one call if the function has scikit-learn's method `diag`."""
        if hasattr(self.function, "diag"):
            return np.asarray(self.function.diag(x), dtype=np.float64)
        return super().diagonal(x)


def as_kernel(kernel: Any) -> Kernel:
    """Return a kernel unchanged, and wrap any other callable k(x, z) as `Adapted`."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) or not callable(kernel):
        hint = ""
        if isinstance(kernel, type):
            hint = f"; make one: {kernel.__name__}(...)"
        elif isinstance(kernel, str):
            hint = (
                "; give a kernel such as kb.RBF(0.2) (kb.policy(...), kb.run_experiment and "
                "studies also take text such as 'rbf:0.2')"
            )
        raise ValueError(f"a policy needs a kernel or a callable k(x, z), got {kernel!r}{hint}")
    return Adapted(kernel)
