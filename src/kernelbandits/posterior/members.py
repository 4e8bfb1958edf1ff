"""The members of a posterior: how they are given, and their moments with equal weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels import KernelStack, as_kernel


def read_members(kernel: Any, ridge: Any) -> tuple[KernelStack, Array]:
    """Return the kernels and ridges of the members: one of each, or lists of the same length.

    A fitter gives the kernels as a stack, with ridges that are positive.
    """
    if isinstance(kernel, KernelStack):
        stack, ridges = kernel, np.array(ridge, dtype=np.float64, ndmin=1)
    else:
        several = isinstance(kernel, (list, tuple))
        stack = KernelStack([as_kernel(one) for one in (kernel if several else [kernel])])
        given = list(ridge) if several else [ridge]
        ridges = np.array([checks.positive("a posterior", "ridge", one) for one in given])
    same = stack.size == len(ridges) > 0
    checks.needs(same, "a posterior", "one ridge for each kernel, at least one", ridge)
    return stack, ridges


def mix_moments(means: Array, sds: Array) -> tuple[Array, Array]:
    """Return mean and variance of a mixture, from those of its members in rows."""
    mean: Array = means.mean(0)
    # Deviations from the mean are squared, not the means themselves: no digits cancel.
    variance: Array = (sds**2 + (means - mean) ** 2).mean(0)
    return mean, variance


def mix_covariances(means: Array, covariances: Array) -> Array:
    """Return the covariance of a mixture: the average of its members, and that of their means."""
    away = means - means.mean(0)
    covariance: Array = covariances.mean(0) + away.T @ away / len(means)
    return covariance
