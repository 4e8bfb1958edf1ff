"""Whether the fitted model of auto is to be trusted, by the results themselves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kernelbandits.checks import Array
from kernelbandits.policies import Auto, Policy
from kernelbandits.posterior import members_of
from kernelbandits.study.units import FIRST, Scale

NO_BETTER = (
    "The model predicts held-out results no better than their mean: take estimates and "
    "probabilities with care."
)


class LeftOut(NamedTuple):
    """The mean result of each point, and what the model predicts for it from all others."""

    measured: Array
    predicted: Array


def predict_left_out(policy: Auto) -> LeftOut | None:
    """Predict the mean result of each point from the results of all others.

    With C = K + ridge diag(1/n) over the points and their mean results y, the prediction for point
    i without its results is y_i - (C^-1 y)_i / (C^-1)_ii. It is averaged over the members of the
    mixture, all of which keep their scales. None with fewer than five points.
    """
    rewards = policy.rewards
    if len(rewards) < FIRST:
        return None
    points, counts = rewards.points, rewards.counts
    means = policy.units.standardise(rewards.sums / counts + rewards.origin)
    predicted = [
        predict_each(member, points, counts, means) for member in members_of(policy.posterior)
    ]
    return LeftOut(means, np.mean(predicted, axis=0))


def predict_each(member: Any, points: Array, counts: Array, means: Array) -> Array:
    """The prediction of each mean from all others, under one posterior."""
    covariance = member.kernel(points, points) + np.diag(member.ridge / counts)
    inverse = cho_solve(cho_factor(covariance, lower=True), np.eye(len(means)))
    return np.asarray(means - (inverse @ means) / inverse.diagonal())


def predicts_no_better_than_mean(policy: Policy) -> bool:
    """Whether the squared errors of auto's predictions are no less than those of the mean.

    Both leave out the point that they predict.
    """
    found = predict_left_out(policy) if isinstance(policy, Auto) else None
    if found is None or np.ptp(found.measured) == 0:
        return False
    n = len(found.measured)
    mean_errors = (found.measured - found.measured.mean()) * n / (n - 1)
    return bool(np.sum((found.measured - found.predicted) ** 2) >= np.sum(mean_errors**2))


def describe_contradiction(policy: Policy, noise: float | None, scale: Scale) -> str:
    """Say that the results contradict the noise that was given; "" if they do not."""
    if noise is None or not isinstance(policy, Auto) or not policy.calibrator.noise_contradicted:
        return ""
    fitted = float(scale.length(policy.calibration.noise_scale))
    return (
        f"You gave a noise of {noise:g}, but the results look as if it were about {fitted:.2g}; "
        "the fitted noise is used."
    )
