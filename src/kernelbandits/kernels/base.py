"""What a kernel is, and the algebra of kernels: sums, products, scaling, and functions from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array

STEP = float(np.cbrt(np.finfo(float).eps))
"""Of a central difference, relative to max(1, |x_j|): its two errors, h^2 and eps / h, are of one size."""


class Kernel:
    """A positive semi-definite function: `kernel(x, z)` is the (n, m) array of k(x_i, z_j)."""

    def __call__(self, x: Array, z: Array) -> Array:
        raise NotImplementedError

    def diagonal(self, x: Array) -> Array:
        """k(x_i, x_i)."""
        return np.array([self(row[None], row[None])[0, 0] for row in x])

    def gradient(self, x: Array, z: Array) -> Array:
        """The (n, m, d) array of d k(x_i, z_j) / d x_i; by central differences where nothing better is known."""
        return np.stack(
            [(self(up, z) - self(down, z)) / size[:, None] for up, down, size in steps(x)], axis=-1
        )

    def diagonal_gradient(self, x: Array) -> Array:
        """The (n, d) array of d k(x_i, x_i) / d x_i."""
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
    """For each coordinate j: x + h e_j, x - h e_j, and the distance that rounding has left between them."""
    pairs = [(x.copy(), x.copy()) for _ in range(x.shape[1])]
    for j, (up, down) in enumerate(pairs):
        size = STEP * np.maximum(1.0, np.abs(x[:, j]))
        up[:, j] += size
        down[:, j] -= size
    return [(up, down, up[:, j] - down[:, j]) for j, (up, down) in enumerate(pairs)]


@dataclass(frozen=True)
class Sum(Kernel):
    """k = left + right."""

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
    """k = left * right."""

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
    """factor * k, factor > 0."""

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
    """Any callable (x, z) -> (n, m) array as a kernel, scikit-learn's among them; its Gram matrices are checked."""

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
        """k(x_i, x_i), at once where the function has scikit-learn's `diag`."""
        if hasattr(self.function, "diag"):
            return np.asarray(self.function.diag(x), dtype=np.float64)
        return super().diagonal(x)


def as_kernel(kernel: Any) -> Kernel:
    """A kernel as it is; any other callable adapted."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) or not callable(kernel):
        raise ValueError(f"a policy needs a kernel or a callable k(x, z), got {kernel!r}")
    return Adapted(kernel)
