"""What to be careful about: a model without skill, a noise that the results contradict."""

from __future__ import annotations

from kernelbandits.policies import Auto, Policy
from kernelbandits.study.units import Scale

NO_BETTER = (
    "The model predicts held-out results no better than their mean: take estimates and "
    "probabilities with care."
)


def describe_poor_model(policy: Policy) -> str:
    """Say that each result is predicted from the others no better than by their mean.

    "" if the model is better, with fewer than five measured candidates, and if all results are
    equal.
    """
    left_out = policy.leave_one_out()
    return NO_BETTER if left_out is not None and left_out.skill <= 0 else ""


def describe_contradiction(policy: Policy, noise: float | None, scale: Scale) -> str:
    """Say that the results contradict the noise that was given; "" if they do not."""
    if noise is None or not isinstance(policy, Auto) or not policy.calibrator.noise_contradicted:
        return ""
    fitted = float(scale.length(policy.calibration.noise_scale))
    return (
        f"You gave a noise of {noise:g}, but the results look as if it were about {fitted:.2g}; "
        "the fitted noise is used."
    )
