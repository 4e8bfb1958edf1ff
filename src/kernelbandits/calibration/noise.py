"""What rewards say of their noise: repeats, equal repeats, and their standard errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kernelbandits.calibration.power import log_slope
from kernelbandits.calibration.rewards import LEAST_VARIANCE, Precisions, Rewards
from kernelbandits.calibration.shape import Totals
from kernelbandits.calibration.standard import Standard, Summary, scatters
from kernelbandits.checks import Array

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NoiseEvidence:
    """The rewards as a fit takes them: counts, sums and squares, as far as they tell of the noise.

    Equal repeats at the least or the greatest reward seen say nothing of the noise: a detection
    limit or a rounded scale repeats as well. They count as one reward, until an unequal one comes.
    The mean of rewards with standard errors has a known variance, and counts as one reward too.

    It belongs to the rewards of one moment: make a new one when others have come.
    """

    rewards: Rewards

    @cached_property
    def totals(self) -> Totals:
        """Counts, sums and squares of the differences from the origin."""
        rewards = self.rewards
        counts, sums, squares = rewards.counts, rewards.sums, rewards.squares
        merged = self._merged_points
        if not merged.any():
            return counts, sums, squares
        means = np.where(self._error_points, self._weighted_means(), sums / counts)
        once = np.where(merged, 1.0, counts)
        return once, np.where(merged, means, sums), np.where(merged, means**2, squares)

    @cached_property
    def linear(self) -> Standard:
        """The standardisation of these totals, without a power."""
        return Standard.of(*self.totals)

    def totals_of_shape(self, shape: float) -> Totals:
        """Return the totals of the rewards after they were standardised and raised to a power."""
        if shape == 1.0:
            return self.totals
        counts, sums, _ = self.totals
        standard, merged = replace(self.linear, shape=shape), self._merged_points
        shaped_sums, shaped_squares = self.rewards.transformed_totals(standard.standardise)
        if merged.any():
            means = standard.standardise(sums / counts)
            shaped_sums = np.where(merged, means, shaped_sums)
            shaped_squares = np.where(merged, means**2, shaped_squares)
        return counts, shaped_sums, shaped_squares

    def mean_variances(self, shape: float) -> Array | None:
        """Return the known variance of the mean reward of each point, 0 where it is unknown.

        It is in the units of `totals_of_shape`. None if no reward has a standard error.
        """
        if not self.rewards.has_errors:
            return None
        points = self._error_points
        variances: Array = np.where(
            points, 1 / np.where(points, self._precisions.precisions, 1.0), 0.0
        )
        if shape == 1.0:
            return variances
        return np.asarray(variances / self.linear.spread**2 * np.exp(2 * self.log_slopes(shape)))

    def log_slopes(self, shape: float) -> Array:
        """Return ln of the slope of a power transformation at the mean reward of each point."""
        counts, sums, _ = self.totals
        return log_slope(self.linear.standardise(sums / counts), shape)

    @property
    def repeats_are_equal(self) -> bool:
        """Whether points were measured again, always with the same reward, not at a limit."""
        summary = Summary.of("Auto", *self.totals)
        return summary.rewards > len(self.rewards) and summary.scatter == 0

    @property
    def settled_best(self) -> Mask:
        """Which points have the greatest reward, if it came more than once and no repeat differed.

        A scale that ends there gives it again, so that another repeat is expected to tell nothing.
        """
        rewards = self.rewards
        scatter = scatters("Auto", rewards.counts, rewards.sums, rewards.squares)
        means = rewards.sums / rewards.counts
        best = means == means.max()
        came_again = rewards.counts[best].sum() > 1
        return np.asarray(best & came_again & (scatter.sum() == 0))

    @cached_property
    def equal_points(self) -> Mask:
        """Which points have several rewards, all of them equal."""
        rewards = self.rewards
        again = rewards.counts > 1
        if not again.any():
            return again
        scatter = scatters("Auto", rewards.counts, rewards.sums, rewards.squares)
        return np.asarray(again & (scatter == 0))

    @cached_property
    def _merged_points(self) -> Mask:
        """Which points count as one reward: equal repeats at a limit, and known variances."""
        return np.asarray(self._limit_points() | self._error_points)

    def _limit_points(self) -> Mask:
        """Return which points have equal repeats at the least or the greatest reward seen."""
        equal = self.equal_points
        if not equal.any():
            return equal
        means = self.rewards.sums / self.rewards.counts
        return np.asarray(equal & ((means == means.min()) | (means == means.max())))

    @cached_property
    def _error_points(self) -> Mask:
        """Which points have rewards with standard errors only.

        At a point that has plain rewards too, all of them count as plain ones in a fit: that widens
        the variance of the precise ones, and the posterior weighs them exactly.
        """
        if not self.rewards.has_errors:
            return np.zeros(len(self.rewards), dtype=np.bool_)
        return np.asarray((self._precisions.counts == 0) & (self._precisions.precisions > 0))

    def _weighted_means(self) -> Array:
        """Return the means of the rewards with standard errors; 0 at points without any."""
        if not self.rewards.has_errors:
            return np.zeros(len(self.rewards))
        known = self._precisions
        means = np.zeros(len(self.rewards))
        return np.divide(known.weighted, known.precisions, out=means, where=known.precisions > 0)

    @cached_property
    def _precisions(self) -> Precisions:
        """The precisions of the differences from the origin."""
        return self.rewards.precisions(lambda y: y, LEAST_VARIANCE)
