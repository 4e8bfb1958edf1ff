"""The members of a posterior: how they are given, and their moments with equal weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels import Kernel, KernelStack, as_kernel
from kernelbandits.posterior.base import EPS
from kernelbandits.posterior.sufficient import Tally


class MemberPosterior:
    """What posteriors of M >= 1 members share: their moments, each with weight 1 / M.

    A subclass defines `members_at`, `member_covariances` and `_largest_ratio`.
    """

    tally: Tally
    stack: KernelStack
    """The kernels of the members."""
    ridges: Array = np.empty(0)
    """The ridge of each member."""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernel of each member."""
        return self.stack.kernels

    @property
    def kernel(self) -> Kernel:
        """The kernel of the first member."""
        return self.kernels[0]

    @property
    def ridge(self) -> float:
        """The ridge of the first member."""
        return self.ridges.item(0)

    def members_at(self, points: Any) -> tuple[Array, Array]:
        """Return mean and sd of each member at any points, (M, n) arrays."""
        raise NotImplementedError

    def at(self, points: Any) -> tuple[Array, Array]:
        """Return mean and sd at any points, computed from counts and sums."""
        mean, variance = mix_moments(*self.members_at(points))
        return mean, np.sqrt(variance)

    def member_covariances(self, points: Any) -> Array:
        """Return the covariance of f at any points under each member, an (M, n, n) array."""
        raise NotImplementedError

    def covariance(self, points: Any) -> Array:
        """Return the covariance of f at any points, computed from counts and sums."""
        return mix_covariances(self.members_at(points)[0], self.member_covariances(points))

    @property
    def conditioning(self) -> float:
        """eps k_max n_max / ridge of the worst member, the relative error of a variance."""
        return EPS * self._largest_ratio * max(1, self.tally.most)

    @property
    def _largest_ratio(self) -> float:
        """k(x, x) / ridge of the member that has relatively the least noise."""
        raise NotImplementedError


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
