"""What is believed of f at every arm: mean, sd and covariance, in the units of the policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.policies import Auto
from kernelbandits.policies.base import LEAST_RIDGE
from kernelbandits.posterior import ArmPosterior, LinearPosterior, PoolPosterior
from kernelbandits.study.player import Player
from kernelbandits.study.state import State


@dataclass(frozen=True)
class Belief:
    """A Gaussian process, looked at on the arms."""

    mean: Array
    sd: Array
    covariance: Callable[[Indices], Array]


def own(player: Player) -> Belief:
    """The estimate that the policy chooses by; its ridge need not be the variance of the noise."""
    mean, sd = player.estimates()
    return Belief(mean, sd, lambda arms: agreeing(player.covariance(arms), sd[arms]))


def agreeing(covariance: Array, sd: Array) -> Array:
    """The same correlations, with these sds: a rule may widen them, for a drift."""
    root = np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
    ratio: Array = sd / root
    return covariance * np.outer(ratio, ratio)


def calibrated(player: Player, state: State) -> Belief:
    """The posterior at the noise that the policy was told of: ridge R^2; a failure is no value.

    That of auto is fitted; a rule that forgets, weighs or truncates results, or has no R, is believed as it is.
    """
    if isinstance(player.policy, Auto):
        return observed(player, player.policy)
    given: Any = player.policy.settings.get("noise_scale")
    plain = type(player.policy.posterior) in (ArmPosterior, PoolPosterior, LinearPosterior)
    plain = plain and player.policy.posterior.complete and checks.is_number(given)
    if not plain:
        return own(player)
    ridge = max(float(given) ** 2, LEAST_RIDGE)
    posterior = PoolPosterior(player.policy.posterior.kernel, player.policy.domain, ridge)
    counts, sums = tallied(player, state)
    if counts.any():
        posterior.learn(counts, sums)
    points = player.policy.domain.points
    return Belief(posterior.mean, posterior.sd, lambda arms: posterior.covariance(points[arms]))


def observed(player: Player, policy: Auto) -> Belief:
    """By the values alone, where the policy takes failures for bad ones."""
    posterior, units, points = policy.observed(), policy.units, policy.domain.points
    if posterior is policy.posterior:
        return own(player)
    mean, sd = units.original(posterior.mean), units.spread * posterior.sd
    return Belief(mean, sd, lambda arms: posterior.covariance(points[arms]) * units.spread**2)


def tallied(player: Player, state: State) -> tuple[Array, Array]:
    """Count and sum of the values at each arm."""
    counts, sums = np.zeros((2, len(player.rows)))
    for choice, reward in player.pairs(state.results, state.scale):
        counts[choice.arm] += 1
        sums[choice.arm] += reward
    return counts, sums
