"""What is believed of f at every arm: mean, sd and covariance, in the units of the policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelbandits.checks import Array, Indices
from kernelbandits.study.player import Player


@dataclass(frozen=True)
class Belief:
    """A Gaussian process, looked at on the arms."""

    mean: Array
    sd: Array
    covariance: Callable[[Indices], Array]


def own(player: Player) -> Belief:
    """The estimate that the policy chooses by; its ridge need not be the variance of the noise."""
    mean, sd = player.estimates()
    return Belief(mean, sd, player.covariance)


def calibrated(player: Player) -> Belief:
    """The posterior at the noise that the policy was told of, or has fitted; a failure is no value."""
    policy = player.policy
    posterior, units, points = policy.noise_posterior(), policy.units, policy.domain.points
    if posterior is policy.posterior:
        return own(player)
    mean, sd = units.original(posterior.mean), units.spread * posterior.sd
    return Belief(mean, sd, lambda arms: posterior.covariance(points[arms]) * units.spread**2)
