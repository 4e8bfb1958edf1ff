"""Random functions of exactly known RKHS norm, and the least norm that given values need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.kernels import Kernel, as_kernel, gram
from kernelbandits.problems.base import Instance, check_rewards, problem_generator
from kernelbandits.problems.noise import PAPER_NOISE, Noise
from kernelbandits.streams import Streams

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class KernelSum:
    """A function of the RKHS of k, f = sum_i alpha_i k(., z_i).

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> f = kb.problems.KernelSum(kb.RBF(0.5), np.array([[0.0], [1.0]]), np.array([1.0, -1.0]))
    >>> f([[0.0], [0.5], [1.0]]).round(3), round(f.norm, 3)
    (array([ 0.865,  0.   , -0.865]), 1.315)
    """

    kernel: Kernel
    """k"""
    centres: Array
    """The points z_i, rows of an array."""
    coefficients: Array
    """The numbers alpha_i."""

    def __call__(self, points: Any) -> Array:
        return self.kernel(checks.points("KernelSum", points), self.centres) @ self.coefficients

    @property
    def norm(self) -> float:
        """||f||_H = sqrt(alpha' K_zz alpha)."""
        square = float(
            self.coefficients @ gram(as_kernel(self.kernel), self.centres) @ self.coefficients
        )
        return math.sqrt(max(square, 0.0))


@dataclass(frozen=True)
class RKHSFunction:
    """A random function of the RKHS of k, whose norm is exactly D.

    f = sum_i alpha_i k(., z_i),   ||f||_H = D

    alpha is normal; the arms and the centres z_i are drawn uniformly from the unit cube.
    The values are not rescaled, so that D is the norm bound of the theory.

    >>> import kernelbandits as kb
    >>> problem = kb.problems.RKHSFunction(kb.RBF(0.2), dimension=2, norm_bound=1.5)
    >>> round(problem.function(kb.Streams(0)).norm, 6)
    1.5
    """

    kernel: Kernel
    """k, whose space the functions belong to."""
    dimension: int
    """d: the candidates are in [0, 1]^d."""
    candidates: int = 50
    """How many arms each seed draws."""
    centres: int = 20
    """How many terms the sum has."""
    norm_bound: float = 1.0
    """The norm D of every function drawn."""
    noise: Noise = PAPER_NOISE
    """The law of the noise that each reward has besides the value."""

    def __post_init__(self) -> None:
        checks.needs(callable(self.kernel), "RKHSFunction", "a kernel", self.kernel)
        for name in ("dimension", "candidates", "centres"):
            checks.whole("RKHSFunction", name, getattr(self, name))
        checks.nonnegative("RKHSFunction", "norm_bound", self.norm_bound)
        checks.needs(isinstance(self.noise, Noise), "RKHSFunction", "a noise law", self.noise)

    @property
    def name(self) -> str:
        return f"rkhs{self.dimension}"

    @property
    def title(self) -> str:
        return f"RKHS ball (d = {self.dimension})"

    @property
    def description(self) -> str:
        arms = f"{self.candidates} candidates a seed, uniform in the unit cube"
        return f"{arms}; a function of norm {self.norm_bound:g}"

    def instance(self, streams: Streams) -> Instance:
        arms, function = self._draw(streams)
        return Instance(self.name, arms, function(arms.points), self.noise)

    def function(self, streams: Streams) -> KernelSum:
        """Return the function behind the instance of the same seed."""
        return self._draw(streams)[1]

    def _draw(self, streams: Streams) -> tuple[Arms, KernelSum]:
        rng = problem_generator(streams)
        arms = Arms(rng.random((self.candidates, self.dimension)))
        centres = rng.random((self.centres, self.dimension))
        return arms, scale_to_norm(
            self.norm_bound, self.kernel, centres, rng.standard_normal(self.centres)
        )


def scale_to_norm(norm: float, kernel: Kernel, centres: Array, coefficients: Array) -> KernelSum:
    """Scale a function f to norm D.

    D f / ||f||_H
    """
    raw = KernelSum(kernel, centres, coefficients).norm
    checks.needs(
        raw > 0, "RKHSFunction", "a kernel under which the drawn function is not zero", kernel
    )
    return KernelSum(kernel, centres, coefficients * (norm / raw))


def least_norm(kernel: Kernel, points: Any, values: Any) -> float:
    """Return a lower bound of ||f||_H for all f through y, with eta = n eps lambda_max(K).

    sqrt(y' (K + eta I)^-1 y)

    The least norm is sqrt(y' K^-1 y); the stored K is the true one up to rounding of norm at most
    eta, so stored K + eta I >= true K, and the inverse reverses the order.

    >>> import kernelbandits as kb
    >>> points = [[0.0], [0.1], [1.0]]
    >>> smooth = kb.problems.least_norm(kb.RBF(0.5), points, [0.5, 0.5, 0.0])
    >>> rough = kb.problems.least_norm(kb.RBF(0.5), points, [0.5, 0.0, 0.0])
    >>> round(smooth, 2), round(rough, 2)
    (0.51, 2.65)
    """
    x = checks.points("least_norm", points)
    y = check_rewards("least_norm", values)
    checks.needs(len(x) == len(y), "least_norm", f"one value for each of {len(x)} points", len(y))
    spectrum, axes = np.linalg.eigh(gram(as_kernel(kernel), x))
    eta = len(y) * EPSILON * max(float(spectrum[-1]), 0.0)
    checks.needs(
        float(spectrum[0]) >= -eta,
        "least_norm",
        "a positive semi-definite kernel",
        float(spectrum[0]),
    )
    if eta == 0:
        return math.inf if y.any() else 0.0
    return math.sqrt(float(((axes.T @ y) ** 2 / (np.maximum(spectrum, 0.0) + eta)).sum()))
