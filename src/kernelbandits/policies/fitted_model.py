"""The Gaussian-process model of a policy with the results it rests on, to be examined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import StackedKernels
from kernelbandits.policies.leave_one_out import (
    LeaveOneOut,
    merge_equal_points,
    predict_left_out,
)
from kernelbandits.policies.partial_dependence import (
    PartialDependence,
    Slice,
    average_with_interval,
)
from kernelbandits.policies.relevance import Relevance, column_relevance
from kernelbandits.posterior import Factorisation, PoolMixture, members_of
from kernelbandits.posterior.mixture import mix_moments
from kernelbandits.runtime import single_threaded


class LeftOut(NamedTuple):
    """A point and the prediction of its mean result from other points."""

    place: int
    """The position of the point in the model."""
    predicted: float
    sd: float


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Kernels, ridges and results of a policy at one time.

    `Policy.fitted_model` makes it. It answers whether the model can be trusted (`leave_one_out`),
    which columns it depends on (`relevance`), and how (`partial_dependence`).

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> points = np.array([[x, y] for x in np.linspace(0, 1, 6) for y in (0.0, 0.4, 1.0)])
    >>> auto = kb.Auto(points)
    >>> for arm, x in enumerate(points):
    ...     auto.tell(auto.choice(arm), np.sin(6 * x[0]))
    >>> first, second = auto.fitted_model().relevance(points)
    >>> first.share > 0.9, second.share < 0.1
    (True, True)
    """

    members: Sequence[Any]
    """Posteriors that differ in kernel and ridge and are averaged; often one."""
    points: Array
    """(m, d): the distinct points with results."""
    counts: Array
    """How many results each point has."""
    means: Array
    """The mean result of each point."""
    standardised: Array
    """The same in the units of the members."""
    units: Standard
    """From the units of the results to those of the members."""
    lengthscales: Array | None
    """(members, d): the lengthscales of each member; None for a kernel without any."""

    @property
    def noise_scale(self) -> float:
        """The standard deviation of one result, averaged over the members.

        Where results were transformed, it is that in the middle of the results.
        """
        return float(self.units.original_sd(0.0, self.standardised_noise))

    def noise_at(self, value: float) -> float:
        """The standard deviation of one result where f has this value.

        It differs from `noise_scale` only where results were transformed.
        """
        z = self.units.standardise(value)
        return float(self.units.original_sd(z, self.standardised_noise))

    @property
    def standardised_noise(self) -> float:
        """The standard deviation of one result in the units of the members."""
        ridges = [float(one.ridge) for one in self.members]
        return math.sqrt(sum(ridges) / len(ridges))

    @single_threaded
    def log_evidence(self, kernel: Any, ridge: float) -> float:
        """ln p(results) under a kernel, up to a term of the ridge and the counts alone.

        It is -(u' (K + ridge N^-1)^-1 u + ln det(I + N^1/2 K N^1/2 / ridge)) / 2, with the
        standardised means u and the counts N.
        """
        totals = self.counts * self.standardised
        exact = Factorisation.of(self._gram(kernel), self.counts, totals, ridge)
        return -0.5 * (float(self.standardised @ exact.coefficients) + exact.log_det)

    def leave_one_out(self) -> LeaveOneOut | None:
        """Predict the mean result of each point from all others; None with fewer than five."""
        return predict_left_out(
            self.members, self.points, self.counts, self.means, self.standardised, self.units
        )

    def find_outliers(self) -> list[LeftOut]:
        """Find results that are far from what all others predict, the farthest first.

        A result far out spoils the predictions of its neighbours as well. So the farthest one is
        set aside before the next is looked for, until none is far out, or a quarter is set aside.
        """
        found: list[LeftOut] = []
        kept = np.arange(len(self.points))
        while 4 * len(found) < len(self.points):
            left_out = self._restrict(kept).leave_one_out()
            if left_out is None or not len(left_out.outliers):
                break
            place = int(left_out.outliers[0])
            prediction = float(left_out.predicted[place]), float(left_out.sd[place])
            found.append(LeftOut(int(kept[place]), *prediction))
            kept = np.delete(kept, place)
        return found

    def _restrict(self, kept: Indices) -> FittedModel:
        """Return the same model of the results at some of the points."""
        return replace(
            self,
            points=self.points[kept],
            counts=self.counts[kept],
            means=self.means[kept],
            standardised=self.standardised[kept],
        )

    @single_threaded
    def relevance(
        self, rows: Array, blocks: Sequence[Sequence[int]] | None = None
    ) -> tuple[Relevance, ...]:
        """Return how much each column of a table matters for the posterior mean.

        Parameters
        ----------
        rows
            The points of the candidates.
        blocks
            The coordinates of each column; by default every coordinate is a column.
        """
        fitted = self._factorise()

        def means(where: Array) -> Array:
            return np.array([exact.mean(kernel(where, self.points)) for kernel, exact in fitted])

        chosen = [(j,) for j in range(rows.shape[1])] if blocks is None else blocks
        return tuple(column_relevance(means, rows, block) for block in chosen)

    @single_threaded
    def partial_dependence(
        self, name: str, slices: Sequence[Slice], *, is_number: bool = True, log: bool = False
    ) -> PartialDependence:
        """Average the posterior over the points of each slice, in the units of the rewards.

        Parameters
        ----------
        name
            The variable.
        slices
            Its values, each with points that have this value.
        is_number, log
            What kind of variable it is.
        """
        fitted = self._factorise()
        found = [
            average_with_interval(*self._moments(fitted, one.rows), self.units) for one in slices
        ]
        mean, low, high = zip(*found, strict=True)
        values = tuple(one.value for one in slices)
        return PartialDependence(name, values, mean, low, high, is_number, log)

    def estimate(self, rows: Array) -> tuple[Array, Array]:
        """Return the estimate and its standard deviation at any points, in the rewards' units."""
        fitted = self._factorise()
        means, sds = [], []
        for kernel, exact in fitted:
            cross = kernel(rows, self.points)
            left = kernel.diagonal(rows) - (exact.explained_root(cross) ** 2).sum(0)
            means.append(exact.mean(cross))
            sds.append(np.sqrt(np.maximum(left, 0.0)))
        mean, variance = mix_moments(np.array(means), np.array(sds))
        sd = np.sqrt(variance)
        return np.asarray(self.units.original(mean)), np.asarray(self.units.original_sd(mean, sd))

    def _factorise(self) -> list[tuple[Any, Factorisation]]:
        """Return the kernel of each member, and its posterior from counts and sums."""
        totals = self.counts * self.standardised
        return [
            (one.kernel, Factorisation.of(self._gram(one.kernel), self.counts, totals, one.ridge))
            for one in self.members
        ]

    def _moments(
        self, fitted: Sequence[tuple[Any, Factorisation]], rows: Array
    ) -> tuple[Array, Array]:
        """Return mean and covariance of f at some points, averaged over the members."""
        crosses, priors = self._evaluate(rows, self.points), self._evaluate(rows, rows)
        means, covariances = [], []
        for (_, exact), cross, prior in zip(fitted, crosses, priors, strict=True):
            root = exact.explained_root(cross)
            means.append(exact.mean(cross))
            covariances.append(prior - root.T @ root)
        mean = np.mean(means, axis=0)
        away = np.array(means) - mean
        return mean, np.mean(covariances, axis=0) + away.T @ away / len(means)

    def _evaluate(self, x: Array, z: Array) -> Array:
        """Return the kernels of all members, (members, n, m); together, if they are of one form."""
        stacked = self._stacked_kernels
        if stacked is None:
            return np.array([one.kernel(x, z) for one in self.members])
        same = (x[:, None] == z[None]).all(2)
        return np.asarray(stacked(x, z) + stacked.nuggets[:, None, None] * same)

    @cached_property
    def _stacked_kernels(self) -> StackedKernels | None:
        return StackedKernels.of([one.kernel for one in self.members])

    def _gram(self, kernel: Any) -> Array:
        matrix: Array = kernel(self.points, self.points)
        return matrix

    def block_lengthscales(self, block: Sequence[int]) -> Array | None:
        """Return the lengthscale of a column under each member, in the units of its coordinates.

        If the coordinates of a category have different ones, it is their geometric mean.
        """
        if self.lengthscales is None:
            return None
        return np.asarray(np.exp(np.log(self.lengthscales[:, list(block)]).mean(1)))


def model_of(posterior: Any, units: Standard, lengthscales: Array | None = None) -> FittedModel:
    """Return the model of a posterior that has learnt all rewards, in standardised units."""
    played = posterior.tally.played_arms
    counts, sums = posterior.counts[played], posterior.tally.sums[played]
    points, number, means = merge_equal_points(posterior.points[played], counts, sums)
    return FittedModel(
        members=model_members(posterior),
        points=points,
        counts=number,
        means=np.asarray(units.original(means)),
        standardised=means,
        units=units,
        lengthscales=lengthscales,
    )


class Member(NamedTuple):
    """Kernel and ridge of one member of a mixture."""

    kernel: Any
    ridge: float


def model_members(posterior: Any) -> Sequence[Any]:
    """Kernel and ridge of each member; the posteriors of a stacked mixture are not built for it."""
    if not isinstance(posterior, PoolMixture):
        return members_of(posterior)
    pairs = zip(posterior.kernels, posterior.ridges.tolist(), strict=True)
    return [Member(kernel, ridge) for kernel, ridge in pairs]
