"""The interface of a kernel; sums, products and multiples of kernels; functions used as kernels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels.properties import Block, CellChange, Eigendecay, Extent
from kernelbandits.kernels.spectral import Factor, Term, scale_terms

STEP = float(np.cbrt(np.finfo(float).eps))
"""Step h of a central difference, relative to max(1, |x_j|).

The cube root of eps makes its two errors equally large: h^2 from the Taylor series, eps / h from
rounding.
"""


class Kernel:
    """A positive semi-definite function of two points.

    `kernel(x, z)` is the (n, m) array of k(x_i, z_j) for the rows x_i of an (n, d) array and z_j of
    an (m, d) array. A new kernel is a frozen dataclass that defines `__call__`. `diagonal` and the
    gradients have defaults that work for every kernel; define them where a formula is faster or
    more exact. The methods after them are what others ask of a kernel. Their defaults mean
    "unknown": who needs the answer then says so. `k1 + k2`, `k1 * k2` and `2.0 * k1` are kernels
    again, and answer from the answers of their parts.

    A kernel with a `spelling` that is imported in `kernels/__init__.py` has a name on the command
    line, in studies and in files.

    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> import kernelbandits as kb
    >>> @dataclass(frozen=True)
    ... class Cosine(kb.kernels.Kernel):
    ...     period: float = 1.0
    ...
    ...     def __call__(self, x, z):
    ...         return np.cos(2 * np.pi * (x - z.T) / self.period)
    >>> policy = kb.SimpleUCB(kb.Arms([[0.0], [0.2], [0.4]]), Cosine(), noise_scale=1, norm_bound=1)
    >>> policy.ask(1, kb.Streams(0)).arm in (0, 1, 2)
    True
    >>> print(Cosine().eigendecay(dimension=1))
    None
    """

    spelling: ClassVar[str] = ""
    """The name that the command line knows the kernel by; "" for a kernel without one."""
    rank_argument: ClassVar[str] = "ranks and traces of the parts of the kernel"
    """What `rank_blocks` is derived from, for the certificate of an information gain."""

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

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        """Return bounds of k(x, x) from below and from above on an extent.

        Unknown on a whole box: (0, inf).
        """
        if extent.points is None:
            return 0.0, math.inf
        values = self.diagonal(extent.points)
        return float(values.min()), float(values.max())

    def rank_blocks(self, extent: Extent) -> list[Block]:
        """Return kernels whose sum is this one, each by its rank and its largest k(x, x).

        Unknown: one of infinite rank.
        """
        return [Block(math.inf, self.diagonal_range(extent)[1])]

    def cell_change(self, extent: Extent, coordinate: int, width: float) -> CellChange:
        """Return how much the feature changes at most along a cell in one coordinate.

        A bound on the corners of cells can then be extended to the whole box. Unknown: infinite.
        """
        return CellChange(math.inf, math.inf)

    def eigendecay(self, dimension: int) -> Eigendecay | None:
        """Return how fast the eigenvalues fall on a bounded domain of d dimensions; or None."""
        return None

    def frequencies(self, normals: Array) -> Array | None:
        """Return random frequencies w with k(x, z) = E cos(w . (x - z)), a (d, m) array; or None.

        `normals` are 1 + d rows of m standard normals. A kernel that has frequencies depends on
        x - z only, and k(x, x) = 1.
        """
        return None

    def spectral_terms(self, columns: Iterable[int]) -> tuple[Term, ...]:
        """Return products of kernels with frequencies, whose sum is this kernel on some columns.

        Unknown: none.
        """
        factor = Factor(self, tuple(columns))
        has_frequencies = self.frequencies(np.empty((factor.count_normals, 0))) is not None
        return (Term(1.0, (factor,)),) if has_frequencies else ()

    def lengthscales(self, dimension: int) -> Array | None:
        """Return the length over which rewards stay alike along each coordinate, or None.

        A sum or a product has the shortest one of its parts; it is infinite where the kernel does
        not depend on the coordinate.
        """
        terms = self.spectral_terms(range(dimension))
        shortest = np.full(dimension, np.inf)
        for factor in (factor for term in terms for factor in term.factors):
            # A kernel with frequencies that says nothing of its lengths is its own factor.
            own = factor.kernel is self
            lengths = None if own else factor.kernel.lengthscales(len(factor.columns))
            if lengths is None:
                return None
            np.minimum.at(shortest, list(factor.columns), lengths)
        return shortest if terms else None

    def shrink(self, factor: float) -> Kernel:
        """Return the kernel with lengthscales that are shorter by the factor."""
        return Stretched(self, factor)

    def with_lengthscale(self, lengthscale: float | tuple[float, ...]) -> Kernel:
        """Return the kernel with another lengthscale; an error for a kernel that has not just one.

        >>> import kernelbandits as kb
        >>> kb.Matern(0.3, nu=1.5).with_lengthscale(0.1)
        Matern(lengthscale=0.1, nu=1.5)
        """
        own = is_dataclass(self) and "lengthscale" in {one.name for one in fields(self)}
        checks.needs(own, "with_lengthscale", "a kernel with one setting lengthscale", self)
        changed: Any = replace(self, lengthscale=lengthscale)  # type: ignore[type-var]
        return changed  # type: ignore[no-any-return]

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
    """The sum of two kernels, k = left + right; written `left + right`.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> kernel = kb.RBF(0.5) + kb.Linear()
    >>> kernel == kb.kernels.Sum(kb.RBF(0.5), kb.Linear())
    True
    >>> kernel(np.array([[1.0]]), np.array([[1.0], [2.0]])).round(3)
    array([[2.   , 2.135]])
    """

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

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        left, right = self.left.diagonal_range(extent), self.right.diagonal_range(extent)
        return left[0] + right[0], left[1] + right[1]

    def rank_blocks(self, extent: Extent) -> list[Block]:
        return [*self.left.rank_blocks(extent), *self.right.rank_blocks(extent)]

    def cell_change(self, extent: Extent, coordinate: int, width: float) -> CellChange:
        """phi = (phi_1, phi_2)"""
        left = self.left.cell_change(extent, coordinate, width)
        right = self.right.cell_change(extent, coordinate, width)
        return CellChange(math.hypot(left.step, right.step), math.hypot(left.bend, right.bend))

    def eigendecay(self, dimension: int) -> Eigendecay | None:
        """Return the slower decay, because det(I + A + B) <= det(I + A) det(I + B)."""
        left, right = self.left.eigendecay(dimension), self.right.eigendecay(dimension)
        return None if left is None or right is None else max(left, right)

    def spectral_terms(self, columns: Iterable[int]) -> tuple[Term, ...]:
        where = tuple(columns)
        left, right = self.left.spectral_terms(where), self.right.spectral_terms(where)
        return left + right if left and right else ()


@dataclass(frozen=True)
class Product(Kernel):
    """The product of two kernels, k = left * right; written `left * right`.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> kernel = kb.RBF(0.5) * kb.kernels.Periodic(1.0, period=0.25)
    >>> kernel(np.array([[0.0]]), np.array([[0.0], [0.25], [0.5]])).round(3)
    array([[1.   , 0.882, 0.607]])
    """

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

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        left, right = self.left.diagonal_range(extent), self.right.diagonal_range(extent)
        return left[0] * right[0], left[1] * right[1]

    def cell_change(self, extent: Extent, coordinate: int, width: float) -> CellChange:
        """phi = phi_1 x phi_2.

        The product of two linear interpolations is not linear: it adds t (1 - t) step_1 step_2 <=
        step_1 step_2 / 4.
        """
        left = self.left.cell_change(extent, coordinate, width)
        right = self.right.cell_change(extent, coordinate, width)
        left_size = math.sqrt(self.left.diagonal_range(extent)[1])
        right_size = math.sqrt(self.right.diagonal_range(extent)[1])
        step = left.step * right_size + left_size * right.step
        bend = left.bend * right_size + left_size * right.bend + left.step * right.step / 4
        return CellChange(step, bend)

    def eigendecay(self, dimension: int) -> Eigendecay | None:
        left, right = self.left.eigendecay(dimension), self.right.eigendecay(dimension)
        return None if left is None or right is None else left.times(right)

    def spectral_terms(self, columns: Iterable[int]) -> tuple[Term, ...]:
        where = tuple(columns)
        pairs = product(self.left.spectral_terms(where), self.right.spectral_terms(where))
        return tuple(left.times(right) for left, right in pairs)


@dataclass(frozen=True)
class Scaled(Kernel):
    """A multiple of a kernel, factor * k with factor > 0; written `factor * k`.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> kernel = 4.0 * kb.RBF(0.5)
    >>> kernel.factor, kernel(np.array([[0.0]]), np.array([[0.0], [0.5]])).round(3)
    (4.0, array([[4.   , 2.426]]))
    """

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        checks.positive("a scaled kernel", "factor", self.factor)

    def __call__(self, x: Array, z: Array) -> Array:
        return self.factor * self.kernel(x, z)

    def with_lengthscale(self, lengthscale: float | tuple[float, ...]) -> Kernel:
        return replace(self, kernel=self.kernel.with_lengthscale(lengthscale))

    def diagonal(self, x: Array) -> Array:
        return self.factor * self.kernel.diagonal(x)

    def gradient(self, x: Array, z: Array) -> Array:
        return self.factor * self.kernel.gradient(x, z)

    def diagonal_gradient(self, x: Array) -> Array:
        return self.factor * self.kernel.diagonal_gradient(x)

    def diagonal_range(self, extent: Extent) -> tuple[float, float]:
        least, largest = self.kernel.diagonal_range(extent)
        return self.factor * least, self.factor * largest

    def rank_blocks(self, extent: Extent) -> list[Block]:
        return [Block(rank, self.factor * share) for rank, share in self.kernel.rank_blocks(extent)]

    def cell_change(self, extent: Extent, coordinate: int, width: float) -> CellChange:
        step, bend = self.kernel.cell_change(extent, coordinate, width)
        return CellChange(math.sqrt(self.factor) * step, math.sqrt(self.factor) * bend)

    def eigendecay(self, dimension: int) -> Eigendecay | None:
        return self.kernel.eigendecay(dimension)

    def spectral_terms(self, columns: Iterable[int]) -> tuple[Term, ...]:
        return scale_terms(self.kernel.spectral_terms(columns), self.factor)


@dataclass(frozen=True)
class Stretched(Kernel):
    """k(factor x, factor z), a kernel whose lengthscales are shorter by the factor.

    >>> import numpy as np
    >>> from kernelbandits.kernels import RBF, Stretched
    >>> x = np.array([[0.0], [0.1]])
    >>> bool(np.allclose(Stretched(RBF(0.4), 2.0)(x, x), RBF(0.2)(x, x)))
    True
    """

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        checks.positive("Stretched", "factor", self.factor)

    def __call__(self, x: Array, z: Array) -> Array:
        return self.kernel(self.factor * x, self.factor * z)

    def diagonal(self, x: Array) -> Array:
        return self.kernel.diagonal(self.factor * x)

    def gradient(self, x: Array, z: Array) -> Array:
        return self.factor * self.kernel.gradient(self.factor * x, self.factor * z)

    def diagonal_gradient(self, x: Array) -> Array:
        return self.factor * self.kernel.diagonal_gradient(self.factor * x)

    def lengthscales(self, dimension: int) -> Array | None:
        lengths = self.kernel.lengthscales(dimension)
        return None if lengths is None else lengths / self.factor


@dataclass(frozen=True)
class Adapted(Kernel):
    """A function of the user's as a kernel: any callable (x, z) -> (n, m) array of float64.

    Kernels of scikit-learn are such callables. Nothing is known of a function, so its matrices are
    checked to be symmetric and positive semi-definite (`kernels.gram`).

    >>> import numpy as np
    >>> from kernelbandits.kernels import Adapted
    >>> kernel = Adapted(lambda x, z: np.minimum(x, z.T))
    >>> kernel(np.array([[1.0], [2.0]]), np.array([[3.0], [1.5]]))
    array([[1. , 1. ],
           [2. , 1.5]])
    """

    function: Any
    """(x, z) -> the matrix of k(x_i, z_j)."""

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


def is_kernel(value: Any) -> bool:
    """Tell whether a value is a kernel, and not merely a function that could be used as one.

    >>> import kernelbandits as kb
    >>> kb.kernels.is_kernel(kb.RBF(0.2)), kb.kernels.is_kernel(lambda x, z: x @ z.T)
    (True, False)
    """
    return isinstance(value, Kernel)


def as_kernel(kernel: Any, owner: str = "a policy") -> Kernel:
    """Return a kernel unchanged, and wrap any other callable k(x, z) as `Adapted`.

    `owner` is whom an error names as the one who needs a kernel.

    >>> import kernelbandits as kb
    >>> kb.kernels.as_kernel(kb.RBF(0.2))
    RBF(lengthscale=0.2)
    >>> type(kb.kernels.as_kernel(lambda x, z: x @ z.T)).__name__
    'Adapted'
    """
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
        raise ValueError(f"{owner} needs a kernel or a callable k(x, z), got {kernel!r}{hint}")
    return Adapted(kernel)
