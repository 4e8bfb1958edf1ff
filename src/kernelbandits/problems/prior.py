"""Functions drawn from the prior itself: the setting of the Bayesian guarantees."""

from __future__ import annotations

from dataclasses import dataclass

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.kernels import RBF, Kernel, as_kernel
from kernelbandits.posterior import LARGEST_JOINT, ArmPosterior
from kernelbandits.problems.base import Instance, problem_generator
from kernelbandits.problems.noise import GaussianNoise, Noise
from kernelbandits.streams import Streams

NOISE = GaussianNoise(0.1)
KERNEL = RBF(0.2)
"""Where functions come from unless told otherwise."""


@dataclass(frozen=True)
class GPFunction:
    """A function drawn from GP(0, k), on candidates drawn uniformly from the unit cube.

    For such functions GP-UCB and IRGP-UCB are proved; where they change with time, TV-GP-UCB is.
    The values are not rescaled; their variance is k(x, x).

    >>> import kernelbandits as kb
    >>> problem = kb.problems.GPFunction(kb.RBF(0.2), dimension=1, candidates=200)
    >>> instance = problem.instance(kb.Streams(0))
    >>> float(instance.values.std().round(1)), instance.domain.points.shape
    (0.7, (200, 1))
    """

    kernel: Kernel = KERNEL
    """k, the covariance of the values."""
    dimension: int = 2
    """d: the candidates are in [0, 1]^d."""
    candidates: int = 50
    """How many arms each seed draws."""
    noise: Noise = NOISE
    """The law of the noise that each reward has besides the value."""

    def __post_init__(self) -> None:
        as_kernel(self.kernel)
        checks.whole("GPFunction", "dimension", self.dimension)
        most = checks.whole("GPFunction", "candidates", self.candidates) <= LARGEST_JOINT
        checks.needs(most, "GPFunction", f"at most {LARGEST_JOINT} candidates", self.candidates)
        checks.needs(isinstance(self.noise, Noise), "GPFunction", "a noise law", self.noise)

    @property
    def name(self) -> str:
        return f"gp{self.dimension}"

    @property
    def title(self) -> str:
        return f"Gaussian process (d = {self.dimension})"

    @property
    def description(self) -> str:
        arms = f"{self.candidates} candidates a seed, uniform in the unit cube"
        return f"{arms}; a draw from GP(0, {self.kernel})"

    def instance(self, streams: Streams) -> Instance:
        rng = problem_generator(streams)
        arms = Arms(rng.random((self.candidates, self.dimension)))
        values: Array = prior_root(self.kernel, arms) @ rng.standard_normal(self.candidates)
        return Instance(self.name, arms, values, self.noise)


def prior_root(kernel: Kernel, arms: Arms) -> Array:
    """Return S with K = S S' on the arms: S z is a draw from GP(0, k), z standard normal."""
    return ArmPosterior(kernel, arms).root()
