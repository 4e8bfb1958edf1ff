"""By name, and with the settings the thing takes: otherwise one sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Entry = TypeVar("Entry")


def looked_up(kind: str, name: str, table: Mapping[str, Entry]) -> Entry:
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"{kind} needs one of {', '.join(table)}, got {name!r}")
    return table[name]


def check_settings(name: str, parameters: Mapping[str, bool], given: Mapping[str, Any]) -> None:
    """Every setting known, and none missing that must be given (parameter -> whether it must)."""
    for setting in sorted(given):
        if setting not in parameters:
            raise ValueError(
                f"{name} needs settings among {', '.join(parameters)}, got {setting!r}"
            )
    missing = [setting for setting, must in parameters.items() if must and setting not in given]
    if missing:
        raise ValueError(
            f"{name} needs {', '.join(missing)}, got {', '.join(given) or 'no settings'}"
        )


def parameters_of(constructor: Callable[..., Any]) -> dict[str, bool]:
    """Each parameter of a call, and whether it must be given."""
    return {
        p.name: p.default is p.empty for p in inspect.signature(constructor).parameters.values()
    }
