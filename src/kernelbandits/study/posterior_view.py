"""The posterior of f at every arm: mean, sd and covariance, in the units of the policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelbandits.checks import Array, Indices
from kernelbandits.study.driver import Driver


@dataclass(frozen=True)
class PosteriorView:
    """Mean and standard deviation of f at every arm, and the covariance of some of them."""

    mean: Array
    sd: Array
    covariance: Callable[[Indices], Array]


def policy_view(driver: Driver) -> PosteriorView:
    """Return the estimates that the policy chooses by, at the policy's own ridge."""
    mean, sd = driver.estimates()
    return PosteriorView(mean, sd, driver.covariance)


def noise_view(driver: Driver) -> PosteriorView:
    """Return the posterior at the noise that the policy was given or has fitted.

    Answers such as the probability of being best use this one: a policy's own ridge may be larger
    than the noise variance, and its estimates then lie too close to the prior.
    """
    policy = driver.policy
    posterior, units, points = policy.noise_posterior(), policy.units, policy.domain.points
    if posterior is policy.posterior:
        return policy_view(driver)
    mean, sd = units.original(posterior.mean), units.spread * posterior.sd
    return PosteriorView(
        mean, sd, lambda arms: posterior.covariance(points[arms]) * units.spread**2
    )
