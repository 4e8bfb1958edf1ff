"""Problems: from a seed they make n arms with known mean rewards, so that regret can be measured.

In reading order: `noise` (laws of the reward noise), `base` (Instance and Problem), `formulas` and
`functions` (the classical test functions), `user_function` (any Python function), `rkhs` (functions
of known norm), `prior` (draws from a Gaussian process), `tables` (any CSV file),
`perovskite` (one such file), `lower_bound` (the paper's Theorem 2), `bump` (where every policy must
lose), `derived` (any of them outside the model, with other noise, with fixed arms, standardised or
late rewards, or the regret against the true optimum), `drifting` (any of them in motion), `boxes`
(test functions on all of their box, and with a context).

>>> import kernelbandits as kb
>>> instance = kb.problem("branin", candidates=20).instance(kb.Streams(seed=0))
>>> instance.domain.points.shape, instance.optimum
((20, 2), 1.0)
>>> float(instance.gaps[instance.best])
0.0
"""

from kernelbandits.problems.base import Instance, Problem, scale_to_unit
from kernelbandits.problems.boxes import BoxInstance, ContextInstance, WholeBox, WithContext
from kernelbandits.problems.bump import Bump
from kernelbandits.problems.derived import (
    Delayed,
    FixedArms,
    Heteroscedastic,
    Misspecified,
    Standardised,
    TrueOptimum,
)
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
from kernelbandits.problems.user_function import FunctionProblem

__all__ = [
    "BoxInstance",
    "Bump",
    "ContextInstance",
    "CustomNoise",
    "DataUnavailable",
    "Delayed",
    "Drifting",
    "EmpiricalNoise",
    "FixedArms",
    "FunctionProblem",
    "GPFunction",
    "GaussianNoise",
    "Heteroscedastic",
    "Instance",
    "Jumps",
    "KernelSum",
    "LowerBound",
    "Markov",
    "Misspecified",
    "Motion",
    "MovingInstance",
    "Noise",
    "ParetoNoise",
    "Problem",
    "RKHSFunction",
    "RademacherNoise",
    "SampledFunction",
    "Standardised",
    "StudentNoise",
    "TableProblem",
    "TestFunction",
    "TrueOptimum",
    "Turning",
    "UniformNoise",
    "WholeBox",
    "WithContext",
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
    "scale_to_unit",
    "six_hump_camel",
]
