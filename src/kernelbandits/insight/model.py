"""The Gaussian-process model of a policy with the rewards it rests on, to be examined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array
from kernelbandits.policies import Policy
from kernelbandits.policies.observations import Hyperparameters, Observations
from kernelbandits.posterior import PointPosterior


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Kernels, ridges and rewards of a policy at one time (`fitted_model`).

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> points = np.linspace(0, 1, 12)[:, None]
    >>> auto = kb.Auto(points)
    >>> for arm, x in enumerate(points[:, 0]):
    ...     auto.tell(auto.choice(arm), np.sin(6 * x))
    >>> model = kb.insight.fitted_model(auto)
    >>> mean, sd = model.estimate(np.array([[0.25]]))
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.1), model.noise_scale < 0.1
    (True, True)
    """

    observations: Observations
    """The rewards, by distinct point."""
    hyperparameters: Hyperparameters
    """The kernels and ridges of the members."""
    units: Standard
    """From the units of the rewards to those of the members."""

    @property
    def noise_scale(self) -> float:
        """The standard deviation of one reward, averaged over the members.

        Where rewards were transformed, it is that in the middle of the rewards.
        """
        return float(self.units.original_sd(0.0, self.standardised_noise))

    def noise_at(self, value: float) -> float:
        """Return the standard deviation of one reward where f has this value.

        It differs from `noise_scale` only where rewards were transformed.
        """
        z = self.units.standardise(value)
        return float(self.units.original_sd(z, self.standardised_noise))

    @property
    def standardised_noise(self) -> float:
        """The standard deviation of one reward in the units of the members."""
        ridges = self.hyperparameters.ridges
        return math.sqrt(sum(ridges) / len(ridges))

    @cached_property
    def posterior(self) -> PointPosterior:
        """The posterior of the rewards under the members."""
        stack, ridges, _ = self.hyperparameters
        observed = self.observations
        posterior = PointPosterior(stack, observed.points.shape[1], ridges)
        totals = observed.counts, observed.counts * observed.standardised
        # With standard errors, the counts are weights.
        posterior.learn(observed.points, *totals, events=len(observed))
        return posterior

    def estimate(self, rows: Array) -> tuple[Array, Array]:
        """Return the estimate and its standard deviation at any points, in the rewards' units."""
        mean, sd = self.posterior.at(rows)
        return np.asarray(self.units.original(mean)), np.asarray(self.units.original_sd(mean, sd))

    def block_lengthscales(self, block: Sequence[int]) -> Array | None:
        """Return the lengthscale of a column under each member, in the units of its coordinates.

        If the coordinates of a category have different ones, it is their geometric mean.
        """
        lengths = self.hyperparameters.lengthscales
        return None if lengths is None else np.exp(np.log(lengths[:, list(block)]).mean(1))


def fitted_model(policy: Policy) -> FittedModel | None:
    """Return the model of a policy: its hyperparameters, and the rewards that it rests on.

    None before the first reward, and for a rule that forgets, weighs, truncates or refits its
    rewards: it has no such model.

    >>> import kernelbandits as kb
    >>> policy = kb.policies.Greedy(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.3), ridge=0.01)
    >>> kb.insight.fitted_model(policy) is None
    True
    >>> policy.tell(policy.choice(1), 0.9)
    >>> model = kb.insight.fitted_model(policy)
    >>> model.noise_scale, model.estimate([[0.5], [0.7]])[0].round(2)
    (0.1, array([0.89, 0.71]))
    """
    observations = policy.observations()
    if observations is None:
        return None
    return FittedModel(observations, policy.hyperparameters(), policy.units)


def model_of_answers(policy: Policy) -> FittedModel | None:
    """Return the model that estimates and intervals come from (`Policy.answer_model`).

    None where there is no `fitted_model`.
    """
    if policy.observations() is None:
        return None
    posterior, units = policy.answer_model()
    members = Hyperparameters(posterior.stack, posterior.ridges.tolist(), None)
    return FittedModel(Observations.of(posterior, units), members, units)


def require_model(owner: str, policy: Policy, model: FittedModel | None) -> FittedModel:
    """Return the model; an error if the policy has none."""
    if model is None:
        needed = "a policy with rewards and a model of all of them"
        raise ValueError(f"{owner} needs {needed}, got {policy}")
    return model
