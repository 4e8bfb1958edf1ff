"""Kernels as values: k(x, z) for two sets of points, sums, products and scaling of kernels."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array

MATERN_SMOOTHNESS = (0.5, 1.5, 2.5)


class Kernel:
    """A positive semi-definite function: `kernel(x, z)` is the (n, m) array of k(x_i, z_j)."""

    def __call__(self, x: Array, z: Array) -> Array:
        raise NotImplementedError

    def diagonal(self, x: Array) -> Array:
        """k(x_i, x_i)."""
        return np.array([self(row[None], row[None])[0, 0] for row in x])

    def __add__(self, other: Any) -> Sum:
        return Sum(self, as_kernel(other))

    def __radd__(self, other: Any) -> Kernel:
        """0 + k = k, so that sum([k1, k2]) works."""
        return self if type(other) is int and other == 0 else Sum(as_kernel(other), self)

    def __mul__(self, other: Any) -> Kernel:
        return Scaled(self, other) if checks.is_number(other) else Product(self, as_kernel(other))

    def __rmul__(self, factor: float) -> Scaled:
        return Scaled(self, factor)


class Stationary(Kernel):
    """A kernel of the scaled distance r = |(x - z) / l|, with k(x, x) = 1."""

    lengthscale: float | tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", checks.lengthscales(type(self).__name__, self.lengthscale))

    def __call__(self, x: Array, z: Array) -> Array:
        return self.profile(squared_distance(type(self).__name__, x, z, self.lengthscale))

    def diagonal(self, x: Array) -> Array:
        return np.ones(len(x))

    def profile(self, squares: Array) -> Array:
        """k as a function of r^2."""
        raise NotImplementedError


def squared_distance(owner: str, x: Array, z: Array, lengthscale: float | tuple[float, ...]) -> Array:
    """r^2 = sum_j ((x_j - z_j) / l_j)^2, added up a dimension at a time so that only (n, m) numbers are held."""
    scale = np.broadcast_to(np.asarray(lengthscale), (np.size(lengthscale) if np.ndim(lengthscale) else x.shape[1],))
    if not len(scale) == x.shape[1] == z.shape[1]:
        raise ValueError(f"{owner} needs points of {len(scale)} dimensions, got {x.shape[1]} and {z.shape[1]}")
    squares = np.zeros((len(x), len(z)))
    with np.errstate(over="ignore"):
        for j, length in enumerate(scale):
            squares += ((x[:, None, j] - z[None, :, j]) / length) ** 2
    return squares


@dataclass(frozen=True)
class RBF(Stationary):
    r"""Squared-exponential kernel, k(x, z) = exp(-r^2 / 2), r = |(x - z) / l|."""

    lengthscale: float | tuple[float, ...] = 1.0
    """The length l over which rewards stay alike; one number, or one for each dimension."""

    def profile(self, squares: Array) -> Array:
        return np.exp(-0.5 * squares)


@dataclass(frozen=True)
class Matern(Stationary):
    r"""Matern kernel of smoothness nu = 1/2, 3/2 or 5/2, with s = sqrt(2 nu) r:

    k = exp(-s), (1 + s) exp(-s), (1 + s + s^2 / 3) exp(-s).
    """

    lengthscale: float | tuple[float, ...] = 1.0
    nu: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.needs(self.nu in MATERN_SMOOTHNESS, "Matern", f"nu in {MATERN_SMOOTHNESS}", self.nu)

    def profile(self, squares: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            s = np.sqrt(2 * self.nu * squares)
            polynomial = {0.5: 1.0, 1.5: 1 + s, 2.5: 1 + s + s * (s / 3)}[self.nu]
            values: Array = np.nan_to_num(polynomial * np.exp(-s), nan=0.0)
            return values


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    r"""Rational quadratic kernel, k(x, z) = (1 + r^2 / (2 alpha))^-alpha: a scale mixture of RBF kernels."""

    lengthscale: float | tuple[float, ...] = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("RationalQuadratic", "alpha", self.alpha)

    def profile(self, squares: Array) -> Array:
        with np.errstate(over="ignore"):
            return (1 + squares / (2 * self.alpha)) ** -self.alpha


def inner_products(owner: str, x: Array, z: Array) -> Array:
    """x_i . z_j."""
    if x.shape[1] != z.shape[1]:
        raise ValueError(f"{owner} needs points of {x.shape[1]} dimensions, got {x.shape[1]} and {z.shape[1]}")
    return x @ z.T


def squared_norms(x: Array) -> Array:
    """x_i . x_i"""
    norms: Array = np.einsum("ij,ij->i", x, x)
    return norms


@dataclass(frozen=True)
class Linear(Kernel):
    r"""Linear kernel, k(x, z) = x . z; the theory's k(x, x) <= 1 needs points in the unit ball."""

    def __call__(self, x: Array, z: Array) -> Array:
        return inner_products("Linear", x, z)

    def diagonal(self, x: Array) -> Array:
        return squared_norms(x)


@dataclass(frozen=True)
class Polynomial(Kernel):
    r"""Polynomial kernel, k(x, z) = (x . z + offset)^degree."""

    degree: int = 2
    offset: float = 1.0

    def __post_init__(self) -> None:
        checks.whole("Polynomial", "degree", self.degree)
        checks.nonnegative("Polynomial", "offset", self.offset)

    def __call__(self, x: Array, z: Array) -> Array:
        with np.errstate(over="ignore"):
            return (inner_products("Polynomial", x, z) + self.offset) ** self.degree

    def diagonal(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return (squared_norms(x) + self.offset) ** self.degree


@dataclass(frozen=True)
class Sum(Kernel):
    """k = left + right."""

    left: Kernel
    right: Kernel

    def __call__(self, x: Array, z: Array) -> Array:
        return self.left(x, z) + self.right(x, z)

    def diagonal(self, x: Array) -> Array:
        return self.left.diagonal(x) + self.right.diagonal(x)


@dataclass(frozen=True)
class Product(Kernel):
    """k = left * right."""

    left: Kernel
    right: Kernel

    def __call__(self, x: Array, z: Array) -> Array:
        return self.left(x, z) * self.right(x, z)

    def diagonal(self, x: Array) -> Array:
        return self.left.diagonal(x) * self.right.diagonal(x)


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


@dataclass(frozen=True)
class Normalised(Kernel):
    """k(x, z) / sqrt(k(x, x) k(z, z)): the same directions in feature space, with k(x, x) = 1."""

    kernel: Kernel

    def __call__(self, x: Array, z: Array) -> Array:
        return self.kernel(x, z) / np.sqrt(np.outer(self.norms(x), self.norms(z)))

    def norms(self, x: Array) -> Array:
        squares = self.kernel.diagonal(x)
        checks.needs(bool((squares > 0).all()), "Normalised", "k(x, x) > 0 at every point", float(squares.min()))
        return squares

    def diagonal(self, x: Array) -> Array:
        return np.ones(len(self.norms(x)))


@dataclass(frozen=True)
class Adapted(Kernel):
    """Any callable (x, z) -> (n, m) array as a kernel, scikit-learn's among them; its Gram matrices are checked."""

    function: Any

    def __call__(self, x: Array, z: Array) -> Array:
        gram = np.asarray(self.function(x, z))
        name = getattr(self.function, "__name__", type(self.function).__name__)
        checks.needs(gram.shape == (len(x), len(z)), name, f"an array of shape {(len(x), len(z))}", gram.shape)
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
        raise ValueError(f"{kernel} needs finite values, got {matrix[row, column]} for points {row} and {column}")
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
        raise ValueError(f"a kernel needs no negative eigenvalue on the arms, got {values[0]:.3g}; {where}")
