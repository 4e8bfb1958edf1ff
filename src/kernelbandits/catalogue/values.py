"""Kernels, exploration laws, noises and motions by the names a command line knows them by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernelbandits import exploration, kernels, problems
from kernelbandits.codec import list_values

KERNEL_CLASSES: tuple[type[kernels.Kernel], ...] = tuple(
    cls
    for cls in list_values(kernels)
    if issubclass(cls, kernels.Kernel) and cls is not kernels.Adapted
)
"""The kernels that are values: all of `kernelbandits.kernels` but functions."""

KERNELS: Mapping[str, Callable[..., kernels.Kernel]] = {
    cls.spelling: cls for cls in KERNEL_CLASSES if cls.spelling
}

LAWS: Mapping[str, Callable[..., Any]] = {
    spelling: cls
    for cls in list_values(exploration)
    if (spelling := getattr(cls, "spelling", ""))  # Other values have no such attribute.
}
"""The laws and the schedules of `kernelbandits.exploration` that have a `spelling`."""

NOISES: Mapping[str, type[problems.Noise]] = {
    "gaussian": problems.GaussianNoise,
    "rademacher": problems.RademacherNoise,
    "uniform": problems.UniformNoise,
    "student": problems.StudentNoise,
    "pareto": problems.ParetoNoise,
}

MOTIONS: Mapping[str, type[problems.Motion]] = {
    "markov": problems.Markov,
    "turning": problems.Turning,
    "jumps": problems.Jumps,
}
