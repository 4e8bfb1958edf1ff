"""Fits of `Auto` as plain values for JSON: the numbers read are those that were written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from kernelbandits.calibration import Calibration, Standard
from kernelbandits.calibration.fitter import Fit

UNUSUAL: Mapping[str, Any] = {"features": False, "sample": 0}
"""What is left out of a body, and its value then."""


def write_fit(fit: Fit) -> dict[str, Any]:
    """Return a fit as JSON has it; numbers are written so that the same numbers are read."""
    mode = write_calibration(fit.calibration)
    members = [write_calibration(member) for member in fit.members]
    return {
        "mode": mode,
        "members": [
            {name: value for name, value in member.items() if value != mode[name]}
            for member in members
        ],
        "sides": list(fit.sides),
        "noise_contradicted": fit.noise_contradicted,
    }


def read_fit(body: Mapping[str, Any]) -> Fit:
    return Fit(
        read_calibration(body["mode"]),
        tuple(read_calibration({**body["mode"], **member}) for member in body["members"]),
        tuple(body["sides"]),
        body["noise_contradicted"],
    )


def write_calibration(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration as JSON has it; what most fits do not have is left out there."""
    body = {one.name: write_value(getattr(calibration, one.name)) for one in fields(calibration)}
    for name in UNUSUAL:
        if not body[name]:
            del body[name]
    return body


def write_value(value: Any) -> Any:
    """Return lists for tuples and units, text for the numbers that JSON has not."""
    if isinstance(value, Standard):
        return [getattr(value, one.name) for one in fields(value)]
    if isinstance(value, tuple):
        return [write_value(item) for item in value]
    infinite = isinstance(value, float) and value - value != 0
    return repr(value) if infinite else value


def read_calibration(body: Mapping[str, Any]) -> Calibration:
    whole = {**UNUSUAL, **body}
    known: dict[str, Any] = {one.name: whole[one.name] for one in fields(Calibration)}
    known |= {
        "lengthscales": tuple(known["lengthscales"]),
        "standard": Standard(*known["standard"]),
        "blocks": tuple(tuple(block) for block in known["blocks"]),
        "nu": float(known["nu"]),
        "evidence": float(known["evidence"]),
    }
    return Calibration(**known)
