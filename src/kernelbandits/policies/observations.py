"""What the model of a policy rests on: the rewards by distinct point, and hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import Kernel, KernelStack
from kernelbandits.posterior import Factorisation
from kernelbandits.runtime import single_threaded


class Hyperparameters(NamedTuple):
    """The members of a model, which differ in kernel and ridge and are averaged; often one.

    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.SimpleUCB(arms, kb.RBF(0.3), noise_scale=0.5, norm_bound=1.0)
    >>> policy.hyperparameters().ridges, policy.hyperparameters().lengthscales
    ((0.25,), array([[0.3]]))
    """

    stack: KernelStack
    """The kernels of the members."""
    ridges: Sequence[float]
    """The variance of the noise under each member, in the units of the posterior."""
    lengthscales: Array | None
    """(members, d): the lengthscales of each member; None for a kernel without any."""

    @property
    def kernels(self) -> Sequence[Kernel]:
        """The kernel of each member."""
        return self.stack.kernels


@dataclass(frozen=True, eq=False)
class Observations:
    """The rewards that a model rests on, by distinct point.

    Position i of all arrays belongs to the i-th distinct point.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = kb.SimpleUCB(kb.Arms([[0.0], [1.0]]), kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    >>> for arm, reward in [(0, 0.2), (1, 0.7), (1, 0.9)]:
    ...     policy.tell(policy.choice(arm), reward)
    >>> observed = policy.observations()
    >>> observed.points, observed.counts, observed.means
    (array([[0.],
           [1.]]), array([1., 2.]), array([0.2, 0.8]))
    """

    points: Array
    """(m, d): the distinct points with rewards."""
    counts: Array
    """How many rewards each point has."""
    means: Array
    """The mean reward of each point."""
    standardised: Array
    """The same in the units of the posterior."""

    @classmethod
    def of(cls, posterior: Any, units: Standard) -> Observations:
        """Return the rewards that a posterior has learnt, all of them and all alike."""
        played = posterior.tally.played_arms
        counts, sums = posterior.counts[played], posterior.tally.sums[played]
        points, number, means = merge_equal_points(posterior.points[played], counts, sums)
        return cls(points, number, np.asarray(units.original(means)), means)

    def __len__(self) -> int:
        return len(self.points)

    def select(self, kept: Indices) -> Observations:
        """Return the rewards at some of the points."""
        parts = (self.points, self.counts, self.means, self.standardised)
        return Observations(*(part[kept] for part in parts))

    def factorise(self, kernel: Kernel, ridge: float) -> Factorisation:
        """Return the posterior of a kernel and a ridge, from counts and sums."""
        totals = self.counts * self.standardised
        return Factorisation.of(kernel(self.points, self.points), self.counts, totals, ridge)

    @single_threaded
    def log_evidence(self, kernel: Kernel, ridge: float) -> float:
        """Return ln p(rewards) under a kernel, up to a term of the ridge and the counts alone.

        It is -(u' (K + ridge N^-1)^-1 u + ln det(I + N^1/2 K N^1/2 / ridge)) / 2, with the
        standardised means u and the counts N.
        """
        exact = self.factorise(kernel, ridge)
        return -0.5 * (float(self.standardised @ exact.coefficients) + exact.log_det)


def merge_equal_points(points: Array, counts: Array, sums: Array) -> tuple[Array, Array, Array]:
    """Return distinct points in their order, their counts and their mean rewards.

    Two arms may be at one point. Left out alone, either would be predicted by the other.
    """
    slots: dict[bytes, int] = {}
    # Adding 0.0 turns -0.0 into 0.0, which is the same point with other bytes.
    owner = np.array([slots.setdefault(row.tobytes(), len(slots)) for row in points + 0.0])
    first = np.array([int(np.flatnonzero(owner == slot)[0]) for slot in range(len(slots))])
    number, total = np.zeros(len(slots)), np.zeros(len(slots))
    np.add.at(number, owner, counts)
    np.add.at(total, owner, sums)
    return points[first], number, total / number
