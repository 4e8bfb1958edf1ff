"""Kernels, exploration laws, noises and motions by the names a command line knows them by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernelbandits import exploration, kernels, problems

KERNELS: Mapping[str, Callable[..., kernels.Kernel]] = {
    "rbf": kernels.RBF,
    "matern": kernels.Matern,
    "linear": kernels.Linear,
    "polynomial": kernels.Polynomial,
    "rational-quadratic": kernels.RationalQuadratic,
    "on": kernels.On,
}

LAWS: Mapping[str, Callable[..., Any]] = {
    "point-mass": exploration.PointMass,
    "bernoulli": exploration.Bernoulli,
    "gaussian": exploration.Gaussian,
    "categorical": exploration.Categorical,
    "discretised-gaussian": exploration.DiscretisedGaussian,
    "root-exponential": exploration.RootExponential,
    "mixture": exploration.Mixture,
    "step": exploration.Step,
    "decay": exploration.Decay,
    "certainty": exploration.Certainty,
    "adaptive-bernoulli": exploration.AdaptiveBernoulli,
    "information-directed": exploration.InformationDirected,
}

NOISES: Mapping[str, Callable[..., problems.Noise]] = {
    "gaussian": problems.GaussianNoise,
    "rademacher": problems.RademacherNoise,
    "uniform": problems.UniformNoise,
    "student": problems.StudentNoise,
    "pareto": problems.ParetoNoise,
}

MOTIONS: Mapping[str, Callable[..., problems.Motion]] = {
    "markov": problems.Markov,
    "turning": problems.Turning,
    "jumps": problems.Jumps,
}
