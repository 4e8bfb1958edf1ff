"""The Gaussian-process model of a policy with the rewards it rests on, to be examined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array
from kernelbandits.kernels import KernelStack
from kernelbandits.policies import Policy
from kernelbandits.policies.observations import Hyperparameters, Observations
from kernelbandits.posterior import Factorisation
from kernelbandits.posterior.members import mix_covariances, mix_moments


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
    hyperparameters: Hyperparameters
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

    def estimate(self, rows: Array) -> tuple[Array, Array]:
        """Return the estimate and its standard deviation at any points, in the rewards' units."""
        means, sds = [], []
        for kernel, exact in zip(self.hyperparameters.kernels, self.factorise(), strict=True):
            cross = kernel(rows, self.observations.points)
            left = kernel.diagonal(rows) - (exact.explained_root(cross) ** 2).sum(0)
            means.append(exact.mean(cross))
            sds.append(np.sqrt(np.maximum(left, 0.0)))
        mean, variance = mix_moments(np.array(means), np.array(sds))
        sd = np.sqrt(variance)
        return np.asarray(self.units.original(mean)), np.asarray(self.units.original_sd(mean, sd))

    def factorise(self) -> list[Factorisation]:
        """Return the posterior of each member, from counts and sums."""
        kernels, ridges, _ = self.hyperparameters
        pairs = zip(kernels, ridges, strict=True)
        return [self.observations.factorise(kernel, ridge) for kernel, ridge in pairs]

    def moments(self, fitted: Sequence[Factorisation], rows: Array) -> tuple[Array, Array]:
        """Return mean and covariance of f at some points, averaged over the members.

        `fitted` are the posteriors of the members (`factorise`).
        """
        kernels = self.hyperparameters.kernels
        stack = KernelStack(kernels)
        crosses, priors = stack(rows, self.observations.points), stack(rows, rows)
        means, covariances = [], []
        for exact, cross, prior in zip(fitted, crosses, priors, strict=True):
            root = exact.explained_root(cross)
            means.append(exact.mean(cross))
            covariances.append(prior - root.T @ root)
        every = np.array(means)
        return every.mean(0), mix_covariances(every, np.array(covariances))

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
    members = Hyperparameters(posterior.kernels, posterior.ridges.tolist(), None)
    return FittedModel(Observations.of(posterior, units), members, units)


def require_model(owner: str, policy: Policy, model: FittedModel | None) -> FittedModel:
    """Return the model; an error if the policy has none."""
    if model is None:
        needed = "a policy with rewards and a model of all of them"
        raise ValueError(f"{owner} needs {needed}, got {policy}")
    return model
