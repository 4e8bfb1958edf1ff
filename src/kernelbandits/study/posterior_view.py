"""The posterior of f at every arm, in the units of the policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbandits.calibration import Standard
from kernelbandits.checks import Array, Indices
from kernelbandits.formatting import HALF_INTERVAL
from kernelbandits.policies import Policy
from kernelbandits.policies.working_set import BLOCK
from kernelbandits.posterior.draws import draw_from_posterior, draw_functions
from kernelbandits.study.driver import Driver
from kernelbandits.study.events import Trial


@dataclass(frozen=True)
class PosteriorView:
    """Estimate, standard deviation and 95 % interval of f at every arm, and draws of f."""

    mean: Array
    sd: Array
    low: Array
    high: Array
    draw: Callable[[Indices], Array]
    """(draws, arms): functions drawn from the posterior, at some arms."""

    @property
    def policy(self) -> Policy | None:
        """The policy on a working set, if it is not that of the study itself."""
        return None

    @property
    def has_estimate(self) -> npt.NDArray[np.bool_]:
        """Which arms are estimated: all, or those of a working set."""
        return np.ones(len(self.mean), dtype=np.bool_)

    def include(self, arm: int) -> None:
        """Estimate an arm, if it is not yet."""

    def complete(self) -> PosteriorView:
        """Return the estimates of all arms."""
        return self


@dataclass(frozen=True)
class WorkingView(PosteriorView):
    """The same for the working set of a very large table; other arms are NaN until asked for."""

    estimate: Callable[[Indices], PosteriorView]
    """Some arms -> their estimates."""
    restricted: Policy
    """The policy that chooses from the working set."""

    @property
    def policy(self) -> Policy | None:
        return self.restricted

    @property
    def has_estimate(self) -> npt.NDArray[np.bool_]:
        return ~np.isnan(self.mean)

    def include(self, arm: int) -> None:
        if np.isnan(self.mean[arm]):
            self._fill(np.array([arm]), self.estimate(np.array([arm])))

    def complete(self) -> PosteriorView:
        arms = np.flatnonzero(~self.has_estimate)
        for some in np.array_split(arms, 1 + len(arms) // BLOCK):
            if len(some):
                self._fill(some, self.estimate(some))
        return self

    def _fill(self, arms: Indices, view: PosteriorView) -> None:
        for name in ("mean", "sd", "low", "high"):
            getattr(self, name)[arms] = getattr(view, name)


def working_view(policy: Policy, posterior: Any, units: Standard) -> WorkingView:
    """Return the posterior of a working set, by the arms of the pool; equal arms are the same."""
    assert policy.working_set is not None
    numbers, points, first = (
        policy.working_set.numbers,
        policy.domain.points,
        policy.domain.index.first,
    )
    here = transformed_view(posterior, units, policy.working_set.arms.points)

    def spread(values: Array) -> Array:
        every: Array = np.full(len(points), np.nan)
        every[first[numbers]] = values
        return np.asarray(every[first])

    return WorkingView(
        spread(here.mean),
        spread(here.sd),
        spread(here.low),
        spread(here.high),
        draw=lambda arms: units.original(draw_from_posterior(posterior, points[arms])),
        estimate=lambda arms: space_view(posterior, units, points[arms]),
        restricted=policy,
    )


def find_working_policy(driver: Driver, pending: Iterable[Trial] = ()) -> Policy | None:
    """Return the policy with a working set of rows that are allowed; None if it has none.

    With the trials that were pending it is the policy that made the choice, whose posterior is
    known. To build another one on a million rows takes half a second.
    """
    policy = driver.policy
    if policy.working_set is None:
        return None
    allowed = driver.candidates.allowed_rows[driver.rows]
    waiting = [driver.arm(trial.row) for trial in pending]
    return policy.restrict_to(None if allowed.all() else np.flatnonzero(allowed), waiting)


def policy_view(driver: Driver, pending: Iterable[Trial] = ()) -> PosteriorView:
    """Return the estimates that the policy chooses by, at the policy's own ridge."""
    policy = driver.policy
    if not policy.finite:
        return space_view(policy.posterior, policy.units, driver.candidates.points)
    if (restricted := find_working_policy(driver, pending)) is not None:
        return working_view(restricted, restricted.posterior, policy.units)
    if not policy.units.is_linear:
        return transformed_view(policy.posterior, policy.units, policy.domain.points)
    mean, sd = driver.estimates()

    def draw(arms: Indices) -> Array:
        return draw_functions(mean[arms], driver.covariance(arms))

    return PosteriorView(mean, sd, mean - HALF_INTERVAL * sd, mean + HALF_INTERVAL * sd, draw)


def noise_view(driver: Driver, pending: Iterable[Trial] = ()) -> PosteriorView:
    """Return the posterior at the noise that the policy was given or has fitted.

    A policy's own ridge may be larger than the noise variance, and its estimates then lie too close
    to the prior.
    """
    if (restricted := find_working_policy(driver, pending)) is not None:
        return working_view(restricted, restricted.noise_posterior(), restricted.units)
    return posterior_view(driver, driver.policy.noise_posterior(), driver.policy.units)


def answer_view(driver: Driver) -> PosteriorView:
    """Return the posterior from which questions are answered (`Policy.answer_model`)."""
    if (restricted := find_working_policy(driver)) is not None:
        return working_view(restricted, *restricted.answer_model())
    return posterior_view(driver, *driver.policy.answer_model())


def posterior_view(driver: Driver, posterior: Any, units: Standard) -> PosteriorView:
    """Return a posterior that a policy gave; its own one, if it is that."""
    policy = driver.policy
    if not policy.finite:
        return space_view(posterior, units, driver.candidates.points)
    # A policy builds its posterior of several members when it is first read.
    if len(posterior.kernels) == 1 and posterior is policy.posterior:
        return policy_view(driver)
    return transformed_view(posterior, units, policy.domain.points)


def transformed_view(posterior: Any, units: Standard, points: Array) -> PosteriorView:
    """Return a posterior of standardised rewards, in the units of the rewards.

    The units may be a power transformation. Then the interval is not symmetric: its ends are those
    of the interval of the standardised reward.
    """
    return view_of(posterior.mean, posterior.sd, posterior, units, points)


def space_view(posterior: Any, units: Standard, points: Array) -> PosteriorView:
    """Return the posterior at some points of a space, which take the place of arms."""
    mean, sd = posterior.at(points) if len(points) else (np.zeros(0), np.zeros(0))
    return view_of(mean, sd, posterior, units, points)


def view_of(
    mean: Array, sd: Array, posterior: Any, units: Standard, points: Array
) -> PosteriorView:
    return PosteriorView(
        units.original(mean),
        units.original_sd(mean, sd),
        units.original(mean - HALF_INTERVAL * sd),
        units.original(mean + HALF_INTERVAL * sd),
        lambda arms: units.original(draw_from_posterior(posterior, points[arms])),
    )
