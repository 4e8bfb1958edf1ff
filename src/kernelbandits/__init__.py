"""Kernelized bandits: choose what to measure next when measurements are noisy and expensive.

You have a list of options (rows of a table, points of a box) and want to find the best one with
few measurements. A policy keeps a Gaussian-process estimate of all options. In round t it draws a
weight w_t from an exploration law and suggests the option with the largest

    mean + w_t * width * sd.

The law says how much is explored: w = 1 is UCB, a Bernoulli law explores in some rounds only.
`Auto` learns all settings from the results; the other policies follow published papers, with their
regret bounds in `theory`. `Study` keeps suggestions and results in a file or a database.

>>> import numpy as np
>>> import kernelbandits as kb
>>> arms = kb.Arms([[0.0], [0.25], [0.5], [0.75], [1.0]])
>>> policy = kb.SimpleUCB(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
>>> for t in range(1, 21):
...     choice = policy.ask(t, np.random.default_rng(t))
...     policy.tell(choice, reward=1 - (choice.x[0] - 0.7) ** 2)
>>> arms.points[policy.posterior.mean.argmax()]
array([0.75])

The names that most scripts need stand at the root of the package (`dir(kb)`); the others are in its
modules, for example `kb.kernels.Polynomial`. A module is imported when it is first used. The
modules in reading order:

    streams       random numbers as a table that depends on the seed only
    kernels       how similar two points are
    domains       what may be chosen: arms, boxes, categories, contexts
    posterior     estimate from the results: mean, sd, log-determinant
    calibration   lengthscales, signal and noise fitted to results
    exploration   laws of the weight w_t, and schedules of laws
    widths        the confidence width of each policy
    theory        constants, information gain, regret bounds, confidence bands
    problems      functions and tables to test policies on
    policies      the policies: `ask` suggests, `tell` learns
    insight       why this choice, can the model be trusted, which variables matter
    catalogue     policies, problems, kernels and laws by name
    experiment    problems x policies x seeds
    verification  the theory checked by simulation
    report        figures, tables, claims
    storage       the events of a study, in a file or a database
    study         suggestions and results that outlive the process
    optimization  the whole loop in one call
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kernelbandits import runtime

if TYPE_CHECKING:
    # Modules that `dir` does not list; `import *` would need the packages of some of them.
    from kernelbandits import analysis as analysis
    from kernelbandits import (
        calibration,
        domains,
        exploration,
        insight,
        kernels,
        policies,
        posterior,
        problems,
        theory,
    )
    from kernelbandits import catalogue as catalogue
    from kernelbandits import experiment as experiment
    from kernelbandits import gest as gest
    from kernelbandits import optuna as optuna
    from kernelbandits import report as report
    from kernelbandits import sklearn as sklearn
    from kernelbandits import storage as storage
    from kernelbandits import study as study
    from kernelbandits import verification as verification
    from kernelbandits.catalogue import policy, problem
    from kernelbandits.censored import Censored
    from kernelbandits.checks import DataNotice, NumericsWarning, StudyConflict, TheoryWarning
    from kernelbandits.domains import (
        Arms,
        Box,
        Category,
        Contextual,
        Integer,
        MixedBox,
        Ordered,
        Real,
        read_space,
    )
    from kernelbandits.experiment import Contender, play, run_experiment
    from kernelbandits.exploration import (
        AdaptiveBernoulli,
        Bernoulli,
        Categorical,
        Certainty,
        Decay,
        Gaussian,
        InformationDirected,
        Mixture,
        PointMass,
        Step,
    )
    from kernelbandits.kernels import RBF, Linear, Matern
    from kernelbandits.measuring import RunningTrial
    from kernelbandits.optimization import optimize
    from kernelbandits.policies import (
        GPTS,
        GPUCB,
        IGPUCB,
        Auto,
        Choice,
        GenericGP,
        Policy,
        SimpleBernoulli,
        SimpleCategorical,
        SimpleGaussian,
        SimpleMixture,
        SimpleUCB,
        WhitehouseUCB,
    )
    from kernelbandits.streams import Streams
    from kernelbandits.study import AlreadyTold, Study

__version__ = "0.1.0"

HOMES = {
    "catalogue": ("policy", "problem"),
    "checks": ("DataNotice", "NumericsWarning", "StudyConflict", "TheoryWarning"),
    "domains": (
        "Arms",
        "Box",
        "Category",
        "Contextual",
        "Integer",
        "MixedBox",
        "Ordered",
        "Real",
        "read_space",
    ),
    "experiment": ("Contender", "play", "run_experiment"),
    "exploration": (
        "AdaptiveBernoulli",
        "Bernoulli",
        "Categorical",
        "Certainty",
        "Decay",
        "Gaussian",
        "InformationDirected",
        "Mixture",
        "PointMass",
        "Step",
    ),
    "kernels": ("RBF", "Linear", "Matern"),
    "measuring": ("RunningTrial",),
    "optimization": ("optimize",),
    "policies": (
        "GPTS",
        "GPUCB",
        "IGPUCB",
        "Auto",
        "Choice",
        "GenericGP",
        "Policy",
        "SimpleBernoulli",
        "SimpleCategorical",
        "SimpleGaussian",
        "SimpleMixture",
        "SimpleUCB",
        "WhitehouseUCB",
    ),
    "censored": ("Censored",),
    "streams": ("Streams",),
    "study": ("AlreadyTold", "Study"),
}
"""Modules, and the names that stand at the root as well."""

SEARCHED = (
    "kernels",
    "domains",
    "posterior",
    "calibration",
    "exploration",
    "theory",
    "problems",
    "policies",
    "insight",
    "experiment",
    "study",
    "storage",
)
"""Modules in which a name is looked for that the root does not have."""

__all__ = [
    "GPTS",
    "GPUCB",
    "IGPUCB",
    "RBF",
    "AdaptiveBernoulli",
    "AlreadyTold",
    "Arms",
    "Auto",
    "Bernoulli",
    "Box",
    "Categorical",
    "Category",
    "Censored",
    "Certainty",
    "Choice",
    "Contender",
    "Contextual",
    "DataNotice",
    "Decay",
    "Gaussian",
    "GenericGP",
    "InformationDirected",
    "Integer",
    "Linear",
    "Matern",
    "MixedBox",
    "Mixture",
    "NumericsWarning",
    "Ordered",
    "PointMass",
    "Policy",
    "Real",
    "RunningTrial",
    "SimpleBernoulli",
    "SimpleCategorical",
    "SimpleGaussian",
    "SimpleMixture",
    "SimpleUCB",
    "Step",
    "Streams",
    "Study",
    "StudyConflict",
    "TheoryWarning",
    "WhitehouseUCB",
    "calibration",
    "domains",
    "exploration",
    "insight",
    "kernels",
    "optimize",
    "play",
    "policies",
    "policy",
    "posterior",
    "problem",
    "problems",
    "read_space",
    "run_experiment",
    "theory",
]

# Hidden from mypy, which would accept any name of a module that has a __getattr__.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        try:
            return runtime.load_name(__name__, name, HOMES)
        except AttributeError:
            where = find_home(name)
            if where is None:
                raise
        message = f"kernelbandits has no {name!r} at its root: use kb.{where}.{name}"
        raise AttributeError(message, name=name)

    def __dir__() -> list[str]:
        return sorted([*__all__, "__version__"])


def find_home(name: str) -> str | None:
    """Return the module that has a public name, or None."""
    if name.startswith("_"):
        return None
    for module in SEARCHED:
        home = import_module(f"{__name__}.{module}")
        if name in getattr(home, "__all__", vars(home)):
            return module
    return None
