"""Find a name or a setting of the catalogue; where there is none, say so in one sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kernelbandits.formatting import did_you_mean

Entry = TypeVar("Entry")

LISTED = {
    "policy": "policies",
    "problem": "problems",
    "kernel": "kernels",
    "exploration law": "laws",
    "noise": "noises",
}
"""What a name stands for -> the word by which `kernelbandits list` shows all such names."""

EXAMPLES: Mapping[str, str] = {
    "noise_scale": "0.1",
    "norm_bound": "1",
    "horizon": "1000",
    "exploration": "gaussian(0,1)",
    "kernel": "rbf(0.2)",
    "dimension": "2",
    "path": "films.csv",
    "problem": "branin",
}
"""Setting -> a value as text that a user may start from."""
PYTHON_EXAMPLES = {
    **EXAMPLES,
    "exploration": "kb.Gaussian()",
    "kernel": "kb.RBF(0.2)",
    "path": '"films.csv"',
    "problem": '"branin"',
}
"""The same, as it is written in Python."""


def find_entry(kind: str, name: str, table: Mapping[str, Entry]) -> Entry:
    """Return the entry of a table by its name.

    Raises
    ------
    ValueError
        If there is no such name: "No policy is called 'simple-ucd'. Did you mean 'simple-ucb'?"
    """
    if isinstance(name, str) and name in table:
        return table[name]
    shown = (
        f"`kernelbandits list {LISTED[kind]}` shows all."
        if kind in LISTED
        else f"There are {', '.join(table)}."
    )
    raise ValueError(f"No {kind} is called {name!r}.{did_you_mean(name, table)} {shown}")


def check_settings(
    name: str,
    parameters: Mapping[str, bool],
    given: Mapping[str, Any],
    examples: Mapping[str, str] = EXAMPLES,
) -> None:
    """Refuse a setting that does not exist, and say which ones are missing.

    Parameters
    ----------
    name
        The policy or problem, as the user called it.
    parameters
        Each setting that it takes, and whether it must be given.
    given
        The settings that the user gave.
    examples
        Values that the message may propose for what is missing.
    """
    for setting in sorted(given):
        check_setting(name, setting, parameters)
    missing = [setting for setting, must in parameters.items() if must and setting not in given]
    if missing:
        example = ", ".join(f"{setting}={examples.get(setting, '...')}" for setting in missing)
        raise ValueError(
            f"{name} needs {enumerate_names(missing)}, got {', '.join(given) or 'no settings'}; "
            f"for example {example}"
        )


def enumerate_names(names: Sequence[str]) -> str:
    """Join names as a sentence does: a; a and b; a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def check_setting(name: str, setting: str, parameters: Iterable[str]) -> None:
    known = list(parameters)
    if setting not in known:
        taken = f"It takes {', '.join(known)}." if known else "It takes no settings."
        raise ValueError(
            f"{name} has no setting {setting!r}.{did_you_mean(setting, known)} {taken}"
        )


def parameters_of(constructor: Callable[..., Any]) -> dict[str, bool]:
    """Return each parameter of a call, and whether it must be given."""
    return {
        p.name: p.default is p.empty for p in inspect.signature(constructor).parameters.values()
    }
