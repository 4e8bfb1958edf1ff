"""Kernelized bandits by exploration distributions.

In round t draw one number w_t from an exploration law and play the arm that maximises
estimate + w_t * uncertainty width. The rooms, in reading order:

    streams       randomness as a table
    kernels       how alike two points are
    domains       what may be chosen
    posterior     the estimate: mean, sd, log-determinant
    exploration   laws of w_t and schedules of them
    widths        the uncertainty width of each rule
    theory        what can be proved
    problems      what is played, and its best answer
    policies      who plays: ask is pure, tell learns
    catalogue     all of them by name
    experiment    problems x policies x seeds
    report        figures, tables, claims
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kernelbandits import theory
from kernelbandits.catalogue import policy, problem
from kernelbandits.checks import DataNotice, NumericsWarning, TheoryWarning
from kernelbandits.domains import Arms, Box
from kernelbandits.exploration import (
    Bernoulli,
    Categorical,
    Certainty,
    Decay,
    Frozen,
    Gaussian,
    Law,
    Mixture,
    PointMass,
    Step,
)
from kernelbandits.kernels import (
    RBF,
    Adapted,
    Kernel,
    Linear,
    Matern,
    Normalised,
    Polynomial,
    RationalQuadratic,
)
from kernelbandits.policies import (
    GPTS,
    GPUCB,
    IGPUCB,
    Choice,
    GenericGP,
    Greedy,
    Policy,
    SimpleBernoulli,
    SimpleCategorical,
    SimpleGaussian,
    SimpleMixture,
    SimpleUCB,
    UniformRandom,
    WhitehouseUCB,
)
from kernelbandits.posterior import ArmPosterior, PoolPosterior
from kernelbandits.streams import Streams

if TYPE_CHECKING:
    from kernelbandits.experiment import Contender, play, rounds, run_experiment

__version__ = "0.1.0"

__all__ = [
    "GPTS",
    "GPUCB",
    "IGPUCB",
    "RBF",
    "Adapted",
    "ArmPosterior",
    "Arms",
    "Bernoulli",
    "Box",
    "Categorical",
    "Certainty",
    "Choice",
    "Contender",
    "DataNotice",
    "Decay",
    "Frozen",
    "Gaussian",
    "GenericGP",
    "Greedy",
    "Kernel",
    "Law",
    "Linear",
    "Matern",
    "Mixture",
    "Normalised",
    "NumericsWarning",
    "PointMass",
    "Policy",
    "Polynomial",
    "PoolPosterior",
    "RationalQuadratic",
    "SimpleBernoulli",
    "SimpleCategorical",
    "SimpleGaussian",
    "SimpleMixture",
    "SimpleUCB",
    "Step",
    "Streams",
    "TheoryWarning",
    "UniformRandom",
    "WhitehouseUCB",
    "play",
    "policy",
    "problem",
    "rounds",
    "run_experiment",
    "theory",
]


def __getattr__(name: str) -> Any:
    """The experiment room opens at first use: asking and telling do not wait for it."""
    if name in ("experiment", "report"):
        return import_module(f"kernelbandits.{name}")
    if name in ("Contender", "play", "rounds", "run_experiment"):
        return getattr(import_module("kernelbandits.experiment"), name)
    raise AttributeError(f"kernelbandits has no {name!r}")
