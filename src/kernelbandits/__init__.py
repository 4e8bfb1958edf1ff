"""Kernelized bandits by exploration distributions.

In round t draw one number w_t from an exploration law and play the arm that maximises
estimate + w_t * uncertainty width. The rooms, in reading order:

    streams       randomness as a table
    kernels       how alike two points are
    domains       what may be chosen
    posterior     the estimate: mean, sd, log-determinant
    calibration   lengthscales, signal and noise from rewards
    exploration   laws of w_t and schedules of them
    widths        the uncertainty width of each rule
    theory        what can be proved
    problems      what is played, and its best answer
    policies      who plays: ask is pure, tell learns
    catalogue     all of them by name
    experiment    problems x policies x seeds
    judges        the theory checked by simulation
    report        figures, tables, claims
    storage       the events of a study, in a file or a database
    study         durable ask and tell
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kernelbandits import calibration, theory
from kernelbandits.catalogue import policy, problem
from kernelbandits.checks import DataNotice, NumericsWarning, Refusal, TheoryWarning
from kernelbandits.domains import (
    Arms,
    Box,
    Category,
    Contextual,
    Found,
    Integer,
    MixedBox,
    Ordered,
    Real,
    maximise,
)
from kernelbandits.exploration import (
    Bernoulli,
    Categorical,
    Certainty,
    Decay,
    DiscretisedGaussian,
    Frozen,
    Gaussian,
    Law,
    Mixture,
    PointMass,
    RootExponential,
    Step,
)
from kernelbandits.kernels import (
    RBF,
    Adapted,
    Kernel,
    Linear,
    Matern,
    Normalised,
    On,
    Polynomial,
    RationalQuadratic,
)
from kernelbandits.policies import (
    AMMUCB,
    BPE,
    CMMUCB,
    DMMUCB,
    GPTS,
    GPUCB,
    IGPUCB,
    IRGPUCB,
    MVR,
    OFUL,
    REDS,
    RGPUCB,
    TGPUCB,
    TVGPUCB,
    UCB1,
    WGPUCB,
    AdaptiveTree,
    Auto,
    Choice,
    Explanation,
    ExploitPlus,
    GaussianTS,
    GenericGP,
    GPUCBPlus,
    Greedy,
    KernelUCB,
    LinTS,
    Outcome,
    PiGPUCB,
    Policy,
    RandUCB,
    RarelySwitchingOFUL,
    SimpleBernoulli,
    SimpleCategorical,
    SimpleGaussian,
    SimpleMixture,
    SimpleUCB,
    StreamingUCB,
    SupKernelUCB,
    UCBRevisited,
    UniformRandom,
    WhitehouseUCB,
    optimize,
)
from kernelbandits.posterior import ArmPosterior, LinearPosterior, PointPosterior, PoolPosterior
from kernelbandits.streams import Streams

if TYPE_CHECKING:
    from kernelbandits.experiment import Contender, play, rounds, run_experiment
    from kernelbandits.storage import StorageError
    from kernelbandits.study import AlreadyTold, Study

__version__ = "0.1.0"

LATER = {
    "experiment": ("Contender", "play", "rounds", "run_experiment"),
    "storage": ("StorageError",),
    "study": ("AlreadyTold", "Study"),
}
"""Names whose rooms open when they are first asked for."""

__all__ = [
    "AMMUCB",
    "BPE",
    "CMMUCB",
    "DMMUCB",
    "GPTS",
    "GPUCB",
    "IGPUCB",
    "IRGPUCB",
    "MVR",
    "OFUL",
    "RBF",
    "REDS",
    "RGPUCB",
    "TGPUCB",
    "TVGPUCB",
    "UCB1",
    "WGPUCB",
    "Adapted",
    "AdaptiveTree",
    "AlreadyTold",
    "ArmPosterior",
    "Arms",
    "Auto",
    "Bernoulli",
    "Box",
    "Categorical",
    "Category",
    "Certainty",
    "Choice",
    "Contender",
    "Contextual",
    "DataNotice",
    "Decay",
    "DiscretisedGaussian",
    "Explanation",
    "ExploitPlus",
    "Found",
    "Frozen",
    "GPUCBPlus",
    "Gaussian",
    "GaussianTS",
    "GenericGP",
    "Greedy",
    "Integer",
    "Kernel",
    "KernelUCB",
    "Law",
    "LinTS",
    "Linear",
    "LinearPosterior",
    "Matern",
    "MixedBox",
    "Mixture",
    "Normalised",
    "NumericsWarning",
    "On",
    "Ordered",
    "Outcome",
    "PiGPUCB",
    "PointMass",
    "PointPosterior",
    "Policy",
    "Polynomial",
    "PoolPosterior",
    "RandUCB",
    "RarelySwitchingOFUL",
    "RationalQuadratic",
    "Real",
    "Refusal",
    "RootExponential",
    "SimpleBernoulli",
    "SimpleCategorical",
    "SimpleGaussian",
    "SimpleMixture",
    "SimpleUCB",
    "Step",
    "StorageError",
    "StreamingUCB",
    "Streams",
    "Study",
    "SupKernelUCB",
    "TheoryWarning",
    "UCBRevisited",
    "UniformRandom",
    "WhitehouseUCB",
    "calibration",
    "maximise",
    "optimize",
    "play",
    "policy",
    "problem",
    "rounds",
    "run_experiment",
    "theory",
]


def __getattr__(name: str) -> Any:
    """The rooms of experiments and of studies open at first use: asking and telling do not wait for them."""
    if name in ("experiment", "judges", "report", "storage", "study"):
        return import_module(f"kernelbandits.{name}")
    for room, names in LATER.items():
        if name in names:
            return getattr(import_module(f"kernelbandits.{room}"), name)
    raise AttributeError(f"kernelbandits has no {name!r}")
