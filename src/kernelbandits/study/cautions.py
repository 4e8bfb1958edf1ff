"""What to be careful about: a model without skill, a lucky result, a noise given wrong."""

from __future__ import annotations

import math

from kernelbandits.calibration.fitter import CONTRADICTION
from kernelbandits.insight import LeaveOneOut, fitted_model
from kernelbandits.insight.left_out import USEFUL
from kernelbandits.policies import Policy
from kernelbandits.study.events import State
from kernelbandits.study.units import Scale

NO_BETTER = (
    "The model predicts held-out results no better than their mean: take estimates and "
    "probabilities with care."
)

GOOD = 0.7
"""The share of the variance of held-out results from which predictions are called good."""
NO_RESULTS = "There are no results yet: all estimates come from the assumptions of the model alone."
FEWEST_DEVIATIONS = 8
"""With fewer results, deviations of single candidates are hardly told from the shape of f."""
DEVIATION = 5.0
"""Deviations of single candidates of this many times the noise given are named. They may be real,
so a smaller ratio would be named in many studies whose noise is right."""


def describe_poor_model(left_out: LeaveOneOut | None) -> str:
    """Say that each result is predicted from the others no better than by their mean.

    "" if the model is better, with fewer than five measured candidates, and if all results are
    equal.
    """
    return NO_BETTER if left_out is not None and left_out.skill <= 0 else ""


def judge_skill(skill: float | None) -> str:
    """Say how well a model predicts held-out results: good, useful, poor or unknown."""
    if skill is None or math.isnan(skill):
        return "unknown"
    return "good" if skill >= GOOD else "useful" if skill >= USEFUL else "poor"


def describe_contradiction(policy: Policy, noise: float | None, scale: Scale) -> str:
    """Say that the results contradict the noise that was given; "" if they do not."""
    if noise is None or policy.fits is None or not policy.fits.noise_contradicted:
        return ""
    model = fitted_model(policy)
    if model is None:
        return ""
    fitted = float(scale.length(model.noise_scale))
    return (
        f"You gave a noise of {noise:g}, but the results look as if it were about {fitted:.2g}; "
        "the fitted noise is used."
    )


def describe_deviations(policy: Policy, noise: float | None, scale: Scale) -> str:
    """Say that single candidates deviate much more than by the noise that was given; "" if not.

    Without repeated measurements, a noise that was given too small looks like deviations of single
    candidates: the nugget of the model. No result tells the two apart, but the user can. It is said
    only if the results need the nugget (`Fits.nugget_evidence`): its prior is no reason. A noise
    given as 0 means that results repeat exactly, and nothing is said of it.
    """
    own = policy.fits
    if not noise or own is None or own.noise_contradicted:
        return ""
    if policy.n_rewards < FEWEST_DEVIATIONS:
        return ""
    deviation = float(scale.length(own.nugget_scale))
    if deviation < DEVIATION * noise or own.nugget_evidence() < CONTRADICTION:
        return ""
    return (
        f"Candidates that resemble each other differ by about {deviation:.2g}, much more than the "
        f"noise of {noise:g} that you gave. Either single candidates deviate, or the noise is "
        "larger: measure one of them again to see which."
    )


def describe_noise(policy: Policy, state: State) -> list[str]:
    """Return what the results, as the policy has learnt them, say against the noise given."""
    noise, scale = state.settings.noise, state.scale
    contradiction = describe_contradiction(policy, noise, scale)
    deviations = describe_deviations(policy, noise, scale)
    return [sentence for sentence in (contradiction, deviations) if sentence]
