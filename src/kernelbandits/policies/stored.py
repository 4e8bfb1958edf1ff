"""What a policy stores: domains, exploration laws, priors and fits, by the codec of these types."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernelbandits import calibration, domains, exploration
from kernelbandits.calibration import Calibration
from kernelbandits.calibration.fitter import Fit
from kernelbandits.codec import Codec, Form, list_arguments, list_values

SPACE = Form(
    "MixedBox",
    domains.MixedBox,
    lambda space: {
        "variables": space.variables,
        "names": space.names,
        "constraints": [str(one) for one in space.constraints],
        "allowed": space.allowed,
    },
    domains.MixedBox,
)
"""A constraint is written as the text that it is read from."""


def write_fit(fit: Fit) -> dict[str, Any]:
    """Return the parts of a fit; of its members only what differs from the most probable scales.

    This halves the text, which a study keeps with its asks and Optuna in its trials.
    """
    mode = fit.calibration
    members = [
        {
            name: getattr(member, name)
            for name in list_arguments(Calibration)
            if getattr(member, name) != getattr(mode, name)
        }
        for member in fit.members
    ]
    return vars(fit) | {"members": members}


def read_fit(members: tuple[dict[str, Any], ...], **parts: Any) -> Fit:
    fit = Fit(members=(), **parts)
    return replace(fit, members=tuple(replace(fit.calibration, **member) for member in members))


CODEC = Codec.of(
    *list_values(exploration),
    *list_values(calibration),
    Form("Fit", Fit, write_fit, read_fit),
    domains.Arms,
    domains.Box,
    domains.Contextual,
    domains.Real,
    domains.Integer,
    domains.Category,
    domains.Ordered,
    SPACE,
)
"""Writes and reads what a policy is given and what it fits."""
