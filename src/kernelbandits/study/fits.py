"""Fits of auto as events: written with the ask that made them, and taken in place of new ones.

A fit depends on the results, on the units and on the settings of the model, and on nothing else. A
digest of these is stored with it. It counts while the results that stand have the same digest: a
correction, a withdrawal or an undo of a result that was used makes it void, and one of a later
result does not.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from kernelbandits.calibration import Calibration
from kernelbandits.calibration.fitter import Fit
from kernelbandits.censored import side_of
from kernelbandits.codec import write_compact
from kernelbandits.policies.stored import CODEC
from kernelbandits.storage import Draft
from kernelbandits.study.events import State, Trial

if TYPE_CHECKING:
    from kernelbandits.study.place import Place

DIGEST_BYTES = 8
MODEL = ("policy", "settings", "noise", "goal")
"""The settings that a fit depends on."""


def digest_results(
    state: State, revision: int, place: Place, numbers: Collection[int]
) -> dict[int, str]:
    """Return for some numbers of values a digest of all that a fit to so many depends on."""
    body, scale = state.settings.body, state.scale
    model = [revision, place.extent, *(body[name] for name in MODEL)]
    units = [scale.centre, scale.spread, scale.sign]
    digest = blake2b(write_compact([model, units]).encode(), digest_size=DIGEST_BYTES)
    parts = [pack_result(trial, place) for trial in state.results if trial.value is not None]
    found, known = dict[int, str](), 0
    for number in sorted(number for number in numbers if number <= len(parts)):
        digest.update(b"".join(parts[known:number]))
        found[number], known = digest.copy().hexdigest(), number
    return found


def pack_result(trial: Trial, place: Place) -> bytes:
    """Return the bytes by which a result enters a digest."""
    side = (side_of(trial.value) or "").encode()
    said = place.identify(trial.row) + pack_number(trial.value) + side
    return said if trial.sem is None else said + b"sem" + pack_number(trial.sem)


pack_number = struct.Struct("<d").pack


def find_valid(
    state: State, revision: int, place: Place, above: int = 0
) -> dict[int, Mapping[str, Any]]:
    """Return the stored fits to more than `above` values that still count, by numbers of values.

    They are returned as they are stored (`policies.stored`): a policy needs one of many.
    """
    stored = {
        (event.body["results"], event.body["digest"]): event
        for event in state.fits
        if event.body["results"] > above and event.body["revision"] == revision
    }
    digests = digest_results(state, revision, place, {number for number, _ in stored})
    valid = [stored[one] for one in digests.items() if one in stored]
    return {event.body["results"]: event.body["fit"] for event in valid}


def draft_fit(number: int, digest: str, revision: int, fit: Fit) -> Draft:
    """Return the event of a fit to so many values."""
    body = {"results": number, "digest": digest, "revision": revision, "fit": CODEC.encode(fit)}
    return Draft(kind="fitted", body=body)


def compare_fits(before: Fit, made: Fit) -> str:
    """Say how far a fit that was made again is from the stored one; "" if all numbers are equal."""
    if before == made:
        return ""
    if len(before.members) != len(made.members):
        return f"{len(made.members)} sets of scales now, and {len(before.members)} then"
    changes = [
        abs(new - old) / abs(old)
        for old_fit, new_fit in zip(
            (before.calibration, *before.members), (made.calibration, *made.members), strict=True
        )
        for old, new in zip(numbers_of(old_fit), numbers_of(new_fit), strict=True)
        if old
    ]
    return f"scales differ by up to {max(changes, default=0.0):.1g} of their size"


def numbers_of(fit: Calibration) -> list[float]:
    return [
        *fit.lengthscales,
        fit.signal_variance,
        fit.noise_variance,
        fit.additive_variance,
        fit.nugget_variance,
    ]
