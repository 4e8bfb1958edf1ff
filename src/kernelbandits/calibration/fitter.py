"""The fitter: it turns rewards into kernel, noise and units, and into plausible ones about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.calibration import Calibration
from kernelbandits.calibration.censoring import replace_limits
from kernelbandits.calibration.completion import Completion
from kernelbandits.calibration.evidence import Blocks
from kernelbandits.calibration.fit import ScaleFit, check_arguments
from kernelbandits.calibration.noise import NoiseEvidence
from kernelbandits.calibration.prior import LARGEST_LOG, LEAST_NOISE, Prior
from kernelbandits.calibration.rewards import Rewards
from kernelbandits.calibration.shape import FEWEST_POINTS, most_probable_shape
from kernelbandits.calibration.sides import check_coordinates, domain_blocks, domain_sides
from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array, unchecked
from kernelbandits.domains import Arms, Contextual
from kernelbandits.kernels import KernelStack

EVALUATIONS, FEWEST_EVALUATIONS = 60, 20
"""The likelihood is evaluated at most this often in one fit, of up to 100 points and of many."""
LEAST_RIDGE_SHARE = 1e-8
"""The least ridge of a member, as a share of the prior variance of f."""
GIVEN_NOISE_SD = 0.3
"""How well a given noise is taken to be known, as the sd of its log variance: to some 15 %."""
CONTRADICTION = 4.0
"""A given noise is overruled where a free fit has this much more log evidence."""
ANSWER_PRIOR: Mapping[str, float] = {
    "noise": -3.5,
    "noise_sd": 2.0,
    "nugget": -3.5,
    "nugget_sd": 2.0,
}
"""The prior of the answers differs from that of the choices in these (`Fitter.fit_answers`)."""
ANSWER_MEMBERS = 16
"""How many sets of scales the answers average over. With eight, the interval of the recommended row
covered 82 to 93 %, depending on which eight were drawn; with 16 it covered 91 and 93 %."""
MOST_FITTED_AGAIN = 200
"""With more points measured, the fit of the choices answers: another one would take seconds."""

Scales = tuple[Calibration, tuple[Calibration, ...]]
"""The most probable scales, and the members drawn about them."""


@dataclass(frozen=True)
class Fit:
    """One fit of the scales to rewards."""

    calibration: Calibration
    """The most probable scales."""
    members: tuple[Calibration, ...]
    """Plausible scales about them, over which the posterior is averaged."""
    sides: tuple[float, ...]
    """The sides of the domain at the fit, of which lengthscales are shares; the range of contexts
    seen may have grown since."""
    noise_contradicted: bool
    """Whether the rewards contradict the noise that was given."""

    @property
    def lengthscales(self) -> Array:
        """The most probable lengthscale of each coordinate, in the units of the domain."""
        return np.asarray(np.array(self.calibration.lengthscales) * np.array(self.sides))


def ridge_of(scales: Calibration) -> float:
    """Return the ridge of the posterior under some scales: their noise variance.

    Rewards without noise still need a ridge: with less, variances lose most of their digits.
    """
    return max(scales.noise_variance, LEAST_RIDGE_SHARE * scales.total_variance)


@dataclass(frozen=True, eq=False)
class Fitter:
    """What is fitted to the rewards on a domain, and how. A fit depends on the rewards alone.

    Parameters
    ----------
    prior
        The prior of the scales.
    shared, nu
        Whether all columns share one lengthscale, and the smoothness of the kernel.
    members
        How many plausible scales are drawn; 1 for the most probable ones alone.
    mean_known
        Whether the fitted mean is taken for known. The theory of a confidence width needs it; else
        the mean stays uncertain.
    noise
        The standard deviation of one reward as the user knows it, or None. Rewards that contradict
        it overrule it, and the fit says so.
    transform
        Whether skewed rewards are transformed by a power (`calibration.power`) if that makes the
        model more probable.
    completion
        What makes rows longer by what earlier studies predict of them; None without any.
        Lengthscales and sides are those of the longer rows.
    """

    domain: Any
    prior: Prior
    shared: bool
    nu: float
    members: int = 1
    mean_known: bool = False
    noise: float | None = None
    transform: bool = False
    completion: Completion | None = None

    def __post_init__(self) -> None:
        inner = self.domain.domain if isinstance(self.domain, Contextual) else self.domain
        if isinstance(inner, Arms):
            check_coordinates(inner.points)
        prior = self.prior
        if not isinstance(self.domain, Arms):
            prior = replace(prior, nugget=None)
        if self.features:
            prior = replace(prior, additive=None)
        object.__setattr__(self, "prior", prior)

    @property
    def features(self) -> bool:
        """Whether the points are features: then the kernel is their inner product."""
        return isinstance(self.domain, Arms) and self.domain.features

    @cached_property
    def blocks(self) -> Blocks:
        """The coordinates of each column."""
        d = self.domain.dimension
        return (*domain_blocks(self.domain), *((j,) for j in range(d, d + len(self._predicted))))

    @property
    def _predicted(self) -> tuple[float, ...]:
        """The sides of the columns that earlier studies predict."""
        return () if self.completion is None else self.completion.sides

    # ------------------------------------------------------------------ fits

    @cached_property
    def before_rewards(self) -> Fit:
        """What is assumed before the first reward: the prior."""
        row = np.zeros((1, self.domain.dimension + len(self._predicted)))
        fit = self.scale_fit(row, [1], [0.0], [0.0], self.prior)
        scales = fit.prior_scales(self.members, message="no rewards yet", rewards=0, points=0)
        return Fit(*scales, self._sides_with(Rewards()), False)

    def scale_fit(
        self, points: Array, counts: Any, sums: Any, squares: Any, prior: Prior
    ) -> ScaleFit:
        """Return what scales are fitted to: rewards at points, and a prior."""
        model = prior, self.shared, self.nu, self.blocks
        return check_arguments(points, counts, sums, squares, *model, features=self.features)

    def fit(self, rewards: Rewards) -> Fit:
        """Fit the scales to all rewards.

        Of rewards that are limits, the first fit takes the limits. It says about which measurements
        they count as, to which the scales are fitted then.
        """
        fit = RewardsFit(self, rewards, NoiseEvidence(rewards)).fit_choices()
        if not rewards.has_limits:
            return fit
        known = self.replace_limits(rewards, fit)
        return RewardsFit(self, known, NoiseEvidence(known)).fit_choices()

    def fit_answers(self, rewards: Rewards, last: Fit) -> Fit | None:
        """Fit the scales once more for answers: noise or nugget, either may be large.

        As long as no point is measured twice, rewards tell only the sum of the two variances: a
        reward that stands out was luck, or its point is good. The prior of the choices prefers the
        second, which pays in a search. An answer must not: under noise, 95 % intervals of the
        recommended row then covered 84 and 89 %, and with this prior 93 and 91 % (decision 12).
        None where the last fit answers as well: there is nothing to tell apart where the noise is
        known.
        """
        mixed = self.prior.nugget is not None and self.members > 1
        known = self.noise is not None and not last.noise_contradicted
        usable = 0 < len(rewards) <= MOST_FITTED_AGAIN and last.calibration.ok
        if not mixed or known or not usable:
            return None
        rewards = self.replace_limits(rewards, last)
        evidence = NoiseEvidence(rewards)
        if evidence.repeats_are_equal:
            return None
        return RewardsFit(self, rewards, evidence).fit_answers(last)

    # ------------------------------------------------------------------ what follows from a fit

    def units(self, fit: Fit) -> Standard:
        """Return the transformation from the rewards' own units to those of the posterior."""
        standard = fit.calibration.standard
        if not self.mean_known:
            return standard
        centre = standard.original(fit.calibration.mean)
        return unchecked(Standard, {"centre": centre, "spread": standard.spread})

    def replace_limits(self, rewards: Rewards, fit: Fit) -> Rewards:
        """Return the rewards with each limit replaced by a measurement, under the scales of a fit.

        The most probable scales decide, for all members alike. Rewards without limits are returned
        as they are.
        """
        if not rewards.has_limits:
            return rewards
        scales, points = fit.calibration, rewards.points
        prior = self.stack_of(fit, (scales,))(points, points)[0]
        least = LEAST_RIDGE_SHARE * scales.total_variance
        return replace_limits(rewards, self.units(fit), prior, ridge_of(scales), least)

    def stack_of(self, fit: Fit, members: tuple[Calibration, ...] | None = None) -> KernelStack:
        """Return the kernels of the members of a fit, or of other scales in their place."""
        sides, known = np.array(fit.sides), self.mean_known
        members = fit.members if members is None else members
        if self.features:
            return KernelStack(
                [one.posterior_kernel if known else one.whole_kernel(sides) for one in members]
            )
        parts = [scales.parts(sides) for scales in members]
        if known:
            parts = [replace(part, level=0.0, additive=0.0, nugget=0.0) for part in parts]
        if self.completion is not None:
            return KernelStack([self.completion.kernel_of(part) for part in parts])
        return KernelStack.of_parts(parts)

    def own_lengthscales(self, fit: Fit) -> Array:
        """Return the most probable lengthscales of the coordinates of the domain alone."""
        return fit.lengthscales[: self.domain.dimension]

    def scale_points(self, rewards: Rewards) -> Array:
        """Return the points with rewards, relative to the first of them, in sides of the domain."""
        rows = rewards.points if self.completion is None else self.completion(rewards.points)
        # An inner product changes if its points are moved.
        return rows if self.features else np.asarray((rows - rows[0]) / self.sides(rewards))

    def sides(self, rewards: Rewards) -> Array:
        """Return the sides of the domain, which a fit takes for 1.

        Of a context and of arms that come with the round, they are the range seen so far.
        """
        if self.features:
            return np.ones(self.domain.dimension)
        known = self._domain_sides
        seen = np.ones(0)
        if rewards.events:
            seen = np.ptp(rewards.points[:, len(known) :], axis=0)
        unseen = np.ones(self.domain.dimension - len(known) - len(seen))
        return positive_sides(np.concatenate([known, seen, unseen, self._predicted]))

    def _sides_with(self, rewards: Rewards) -> tuple[float, ...]:
        return tuple(self.sides(rewards).tolist())

    @cached_property
    def _domain_sides(self) -> Array:
        """The sides of the domain without the context; none if its arms come with the round."""
        inner = self.domain.domain if isinstance(self.domain, Contextual) else self.domain
        return np.empty(0) if checks.is_whole(inner) else domain_sides(inner)


def positive_sides(sides: Array) -> Array:
    """Return the sides, with 1 in place of 0: a coordinate that is the same everywhere."""
    return np.where(sides > 0, sides, 1.0)


@dataclass(frozen=True, eq=False)
class RewardsFit:
    """One fit on its way: the rewards, and what they say of the noise."""

    fitter: Fitter
    rewards: Rewards
    evidence: NoiseEvidence

    def fit_choices(self) -> Fit:
        """Return the scales by which places are chosen."""
        shape, start = self._choose_shape()
        scales, contradicted = self._fit_scales(self._prior_of_choices(shape), shape, start), False
        if self.fitter.noise is not None:
            # The noise that was given is overruled if a free fit explains the rewards far better.
            free = self._fit_scales(self._free_prior(), shape, start)
            gain = free[0].evidence - scales[0].evidence
            contradicted = bool(free[0].ok and gain > CONTRADICTION)
            scales = free if contradicted else scales
        return Fit(*scales, self.fitter._sides_with(self.rewards), contradicted)

    def fit_answers(self, last: Fit) -> Fit | None:
        """Return the scales by which questions are answered; None if they cannot be fitted."""
        prior, start = replace(self.fitter.prior, **ANSWER_PRIOR), last.calibration
        scales = self._fit_scales(prior, start.standard.shape, start, ANSWER_MEMBERS)
        return Fit(*scales, last.sides, last.noise_contradicted) if scales[0].ok else None

    def _fit_scales(
        self, prior: Prior, shape: float, start: Calibration | None, members: int | None = None
    ) -> Scales:
        """Return the most probable scales under a prior, and the members drawn about them."""
        totals = self.evidence.totals_of_shape(shape)
        number = self.fitter.members if members is None else members
        variances, units = self.evidence.mean_variances(shape), self._units
        if shape != 1.0:
            units = replace(units.then(self.evidence.linear), shape=shape)
        rewards = self._scale_fit.of_rewards(*totals, prior, variances, units)
        scales = rewards.calibrate_members(number, start, self._evaluations)
        if shape != 1.0 and not scales[0].ok:
            # What is kept then are scales of untransformed rewards.
            return self._fit_scales(prior, 1.0, None, members)
        return scales

    @property
    def _units(self) -> Standard:
        """Scales are fitted to the differences of the rewards from one of them."""
        return unchecked(Standard, {"centre": self.rewards.origin})

    @cached_property
    def _scale_fit(self) -> ScaleFit:
        """The points with rewards, to which scales are fitted."""
        fitter, prior, totals = self.fitter, self._free_prior(), self.evidence.totals
        fit = fitter.scale_fit(fitter.scale_points(self.rewards), *totals, prior)
        return fit.of_rewards(*totals, prior, self.evidence.mean_variances(1.0), self._units)

    @property
    def _evaluations(self) -> int:
        """How often a fit may evaluate the likelihood.

        One evaluation costs O(m^3) for m points. Many points leave one sharp maximum, for which a
        single search of few steps is enough.
        """
        return max(FEWEST_EVALUATIONS, min(EVALUATIONS, 100 * EVALUATIONS // len(self.rewards)))

    def _choose_shape(self) -> tuple[float, Calibration | None]:
        """Return the power by which rewards are transformed, and the linear fit that chose it.

        The shape and the scales could be fitted together. In turn it is a comparison of nine
        numbers, and no search has one more dimension. With many points the linear fit is one to
        some of them; the evidence is that of all.
        """
        if not self.fitter.transform or len(self.rewards) < FEWEST_POINTS:
            return 1.0, None
        linear = self._scale_fit.choose_part().calibrate(None, self._evaluations)
        if not linear.ok:
            return 1.0, None
        counts, sums, _ = self.evidence.totals
        means = self.evidence.linear.standardise(sums / counts)
        if means.std() == 0:
            return 1.0, linear
        return most_probable_shape(means, self._scale_fit.evidence_under(linear)), linear

    def _prior_of_choices(self, shape: float) -> Prior:
        """Return the prior, with what is known of the noise: given by the user, or by repeats."""
        if self.fitter.noise is None:
            return self._free_prior()
        noise = self._log_noise(self.fitter.noise, shape)
        return replace(self.fitter.prior, noise=noise, noise_sd=GIVEN_NOISE_SD)

    def _free_prior(self) -> Prior:
        """Return the prior, with what repeats show of the noise, whatever the user gave."""
        if self.evidence.repeats_are_equal:
            # Rewards that repeat to the last digit have no noise: a law with a density, such as the
            # prior, gives that no probability, however often it happens.
            return replace(self.fitter.prior, noise=LEAST_NOISE, noise_sd=GIVEN_NOISE_SD)
        return self.fitter.prior

    def _log_noise(self, noise: float, shape: float) -> float:
        """Return the log noise variance in standardised units, as far as a fit reaches.

        A transformation multiplies small deviations by its slope, which differs from point to
        point; its mean square over the points is taken.
        """
        share = noise / self.evidence.linear.spread
        if shape != 1.0:
            stretch = Standard.of(*self.evidence.totals_of_shape(shape)).spread
            slopes = self.evidence.log_slopes(shape)
            share *= math.sqrt(float(np.exp(2 * slopes).mean())) / stretch
        share = max(share, math.exp(LEAST_NOISE / 2))
        return min(2 * math.log(share), LARGEST_LOG)
