"""Settings of a policy as plain values for JSON: numbers, text, priors, and exploration laws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from kernelbandits import calibration, checks, exploration

MODULES = (exploration, calibration)
"""Where the classes are defined that a setting may be an instance of."""


def write_setting(name: str, value: Any) -> Any:
    """Return a setting as plain values; a law or a prior becomes its type and its fields.

    >>> from kernelbandits import Bernoulli
    >>> write_setting("exploration", Bernoulli(0.5))
    {'type': 'Bernoulli', 'p': 0.5}
    """
    plain = value.item() if hasattr(value, "item") else value
    if plain == math.inf:
        # JSON has no infinite numbers; nu = inf is the squared-exponential kernel.
        return "inf"
    if plain is None or isinstance(plain, (str, bool, int, float)):
        return plain
    if isinstance(plain, (tuple, list)):
        return [write_setting(name, one) for one in plain]
    if is_dataclass(plain) and not isinstance(plain, type) and known_class(type(plain).__name__):
        return {"type": type(plain).__name__} | {
            field.name: write_setting(name, getattr(plain, field.name))
            for field in fields(plain)
            if field.init
        }
    needed = f"a {name} of numbers, text, or a law of kb.exploration"
    raise ValueError(f"Auto.to_dict needs {needed}, got {plain!r}")


def read_setting(value: Any) -> Any:
    """Return the setting that `write_setting` has written."""
    if isinstance(value, list):
        return tuple(read_setting(one) for one in value)
    if not isinstance(value, Mapping):
        return math.inf if value == "inf" else value
    made = known_class(value.get("type"))
    checks.needs(made is not None, "Auto.from_dict", "a known type of setting", value.get("type"))
    assert made is not None
    return made(**{str(name): read_setting(one) for name, one in value.items() if name != "type"})


def known_class(name: Any) -> Any:
    """Return the class of kb.exploration or kb.calibration with this name, or None."""
    for module in MODULES:
        found = getattr(module, name, None) if name in getattr(module, "__all__", ()) else None
        if isinstance(found, type) and is_dataclass(found):
            return found
    return None
