"""Problems: frozen recipes that know their optimum, and make n arms with mean rewards from a seed.

In reading order: `noise` (laws of the reward noise), `base` (Instance and Problem), `formulas` and
`functions` (the classical test functions), `rkhs` (functions of known norm), `sheet` and `tables` (any CSV
file), `perovskite` (one such file), `drifting` (any of them in motion).
"""

from kernelbandits.problems.base import Instance, Problem, scaled
from kernelbandits.problems.drifting import Drifting, Jumps, Markov, Motion, MovingInstance, Turning
from kernelbandits.problems.functions import (
    SampledFunction,
    TestFunction,
    ackley,
    branin,
    cross_in_tray,
    hartmann,
    holder_table,
    levy,
    rosenbrock,
    six_hump_camel,
)
from kernelbandits.problems.lower_bound import LowerBound
from kernelbandits.problems.noise import (
    CustomNoise,
    EmpiricalNoise,
    GaussianNoise,
    Noise,
    ParetoNoise,
    RademacherNoise,
    StudentNoise,
    UniformNoise,
)
from kernelbandits.problems.perovskite import DataUnavailable, perovskite, perovskite_file
from kernelbandits.problems.prior import GPFunction
from kernelbandits.problems.rkhs import KernelSum, RKHSFunction, least_norm
from kernelbandits.problems.tables import TableProblem, read_table

__all__ = [
    "CustomNoise",
    "DataUnavailable",
    "Drifting",
    "EmpiricalNoise",
    "GPFunction",
    "GaussianNoise",
    "Instance",
    "Jumps",
    "KernelSum",
    "LowerBound",
    "Markov",
    "Motion",
    "MovingInstance",
    "Noise",
    "ParetoNoise",
    "Problem",
    "RKHSFunction",
    "RademacherNoise",
    "SampledFunction",
    "StudentNoise",
    "TableProblem",
    "TestFunction",
    "Turning",
    "UniformNoise",
    "ackley",
    "branin",
    "cross_in_tray",
    "hartmann",
    "holder_table",
    "least_norm",
    "levy",
    "perovskite",
    "perovskite_file",
    "read_table",
    "rosenbrock",
    "scaled",
    "six_hump_camel",
]
