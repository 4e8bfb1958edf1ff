"""What a sampler keeps in the attributes of trials. Only this file uses private names of Optuna.

A value is JSON text in numbered parts. A part, as Optuna's databases store it, has less than 2 kB,
and a value no more than 16 kB.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial

from kernelbandits.codec import write_compact

PREFIX = "kernelbandits"
MOST_IN_PART = 2000
"""Characters of a part: older databases of Optuna have columns of 2048."""
MOST_IN_ALL = 16_000
"""Characters of a value; a larger one is not stored."""
CONSTRAINTS = "constraints"
"""The attribute in which Optuna keeps the values of constraints."""


def write_attribute(study: Study, trial: FrozenTrial, name: str, value: Any) -> bool:
    """Store a value with a trial; return False if it is too large."""
    text = write_compact(value)
    if len(text) > MOST_IN_ALL:
        return False
    parts = split_text(text)
    for number, part in enumerate(parts):
        key = f"{PREFIX}:{name}:{number}/{len(parts)}"
        # Samplers of Optuna store what they know in this way; there is no public one.
        study._storage.set_trial_system_attr(trial._trial_id, key, part)
    return True


def split_text(text: str) -> list[str]:
    """Split a text into parts that are short enough once they are written as JSON."""
    parts = []
    while text:
        size = MOST_IN_PART
        while len(json.dumps(text[:size])) > MOST_IN_PART:
            size -= 50
        parts.append(text[:size])
        text = text[size:]
    return parts


def read_attribute(trial: FrozenTrial, name: str) -> Any:
    """Return the value that a trial has, or None if it has none or not all of its parts."""
    start = f"{PREFIX}:{name}:"
    parts: dict[int, str] = {}
    count = 0
    for key, part in trial.system_attrs.items():
        if key.startswith(start):
            place, _, total = key.removeprefix(start).partition("/")
            parts[int(place)], count = part, int(total)
    if not parts or sorted(parts) != list(range(count)):
        return None
    try:
        return json.loads("".join(parts[place] for place in range(count)))
    except ValueError:
        return None


def has_constraints(trial: FrozenTrial) -> bool:
    """Tell whether a trial has values of constraints."""
    return any(
        key == CONSTRAINTS or key.startswith(f"{CONSTRAINTS}:")
        for key, value in trial.system_attrs.items()
        if value is not None
    )


def internal_values(
    parameters: Mapping[str, Any], distributions: Mapping[str, Any]
) -> dict[str, float]:
    """Return parameters as the numbers that Optuna stores for them."""
    return {
        name: float(distributions[name].to_internal_repr(value))
        for name, value in parameters.items()
    }
