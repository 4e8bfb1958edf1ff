"""Bumps: problems on which every policy must lose, of the order of sqrt(T gamma_T)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.kernels import RBF, Kernel, as_kernel
from kernelbandits.problems.base import Instance, problem_generator
from kernelbandits.problems.noise import GaussianNoise, Noise
from kernelbandits.streams import Streams

KERNEL = RBF(0.1)
MOST_ARMS = 2000


@dataclass(frozen=True)
class Bump:
    """f is Delta at one point of a grid, drawn for each seed, and 0 at the others.

    Delta = (1 - 1/M) R sqrt(M/T) for M arms and N(0, R^2) noise. As a function of the RKHS, f is a
    bump of norm at most D; this is checked. With the bump at each arm equally often, the expected
    regret of *every* policy after T rounds is at least

        (1 - 1/M)^2 R sqrt(M T) / 2

    (docs/theory). Since gamma_T <= (M/2) ln(1 + T/(M ridge)), this is of the order
    sqrt(T gamma_T) up to a logarithm, which is the lower bound of Scarlett, Bogunovic & Cevher
    (2017) for a kernel whose bumps fit into the grid.

    >>> from kernelbandits.problems import Bump
    >>> problem = Bump(per_side=3, horizon=900, noise_scale=0.3)
    >>> round(problem.gap, 4), round(problem.least_regret, 2)
    (0.0267, 10.67)
    """

    kernel: Kernel = KERNEL
    """The kernel of the space in which the bump has norm at most D."""
    dimension: int = 2
    """d: the grid is in [0, 1]^d."""
    per_side: int = 4
    """Points of the grid in each dimension: M = per_side^dimension."""
    horizon: int = 1000
    """T, how many rounds will be played; the bump is lower where there are more."""
    noise_scale: float = 0.1
    """R, the standard deviation of the noise."""
    norm_bound: float = 1.0
    """D, which the norm of the bump may not exceed."""

    def __post_init__(self) -> None:
        owner = "the bump problem"
        as_kernel(self.kernel)
        checks.whole(owner, "dimension", self.dimension)
        checks.whole(owner, "per_side", self.per_side, least=2)
        checks.needs(self.arms <= MOST_ARMS, owner, f"per_side^dimension <= {MOST_ARMS}", self.arms)
        checks.whole(owner, "horizon", self.horizon, least=self.arms)
        checks.positive(owner, "noise_scale", self.noise_scale)
        checks.positive(owner, "norm_bound", self.norm_bound)
        needed = f"a bump of norm <= D = {self.norm_bound:g} (a longer horizon, a coarser grid)"
        checks.needs(self.norm <= self.norm_bound, owner, needed, round(self.norm, 4))

    @property
    def arms(self) -> int:
        """M"""
        return int(self.per_side**self.dimension)

    @cached_property
    def points(self) -> Array:
        """The grid in the unit cube."""
        side = np.linspace(0.0, 1.0, self.per_side)
        return np.array(list(itertools.product(side, repeat=self.dimension)))

    @property
    def gap(self) -> float:
        """Delta"""
        return (1 - 1 / self.arms) * self.noise_scale * math.sqrt(self.arms / self.horizon)

    @cached_property
    def norm(self) -> float:
        """The largest norm of a bump: Delta sqrt(max_i (K^-1)_ii)."""
        matrix = as_kernel(self.kernel)(self.points, self.points)
        try:
            heights = np.linalg.inv(matrix).diagonal()
        except np.linalg.LinAlgError:
            return math.inf
        return self.gap * math.sqrt(float(heights.max())) if (heights > 0).all() else math.inf

    @property
    def least_regret(self) -> float:
        """(1 - 1/M)^2 R sqrt(M T) / 2: what every policy loses on average over the bumps."""
        share = 1 - 1 / self.arms
        return share**2 * self.noise_scale * math.sqrt(self.arms * self.horizon) / 2

    @property
    def name(self) -> str:
        return f"bump-{self.arms}"

    @property
    def title(self) -> str:
        return f"Bump ({self.arms} arms)"

    @property
    def description(self) -> str:
        return (
            f"a grid of {self.arms} points; one of them, drawn for each seed, is better by "
            f"{self.gap:.4g}; every policy loses {self.least_regret:.4g} on average in "
            f"{self.horizon} rounds"
        )

    @property
    def noise(self) -> Noise:
        return GaussianNoise(self.noise_scale)

    def instance(self, streams: Streams) -> Instance:
        best = int(problem_generator(streams).integers(self.arms))
        return Instance(
            self.name, Arms(self.points), self.gap * np.eye(self.arms)[best], self.noise
        )
