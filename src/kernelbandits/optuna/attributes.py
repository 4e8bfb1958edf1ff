"""What a sampler keeps in the attributes of a study. Only this file uses private names of Optuna.

A value is kept in a slot, of which a study has a fixed number: the next value of a slot replaces
the last. It is JSON text in numbered parts. A part, as Optuna's databases store it, has less than
2 kB, and a value no more than 16 kB. Trials have no attributes of the sampler, so their table has
the columns that a user expects.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from kernelbandits.checks import quote_given
from kernelbandits.codec import write_compact

PREFIX = "kernelbandits"
MOST_IN_PART = 2000
"""Characters of a part: older databases of Optuna have columns of 2048."""
MOST_IN_ALL = 16_000
"""Characters of a value; a larger one is not stored."""
SLOTS = 32
"""How many values of each sort a study keeps. A value that was replaced is worked out again."""
CONSTRAINTS = "constraints"
"""The attribute in which Optuna keeps the values of constraints."""


class Attributes:
    """The values that samplers keep with a study, as they are when it is read."""

    def __init__(self, study: Study) -> None:
        self._study = study
        # Samplers of Optuna keep what they know in this way; there is no public one.
        self._known = dict(study._storage.get_study_system_attrs(study._study_id))

    def write(self, slot: str, name: str, value: Any) -> bool:
        """Keep a value under a name in a slot; return False if it is too large."""
        text = write_compact(value)
        if len(text) > MOST_IN_ALL:
            return False
        parts = split_text(text)
        # Two processes may write to a slot at once. Parts of different values differ in their mark.
        mark = blake2b(f"{name}={text}".encode(), digest_size=6).hexdigest()
        for number, part in enumerate(parts):
            key, kept = f"{PREFIX}:{slot}:{number}", f"{mark}/{len(parts)}/{name}/{part}"
            self._study._storage.set_study_system_attr(self._study._study_id, key, kept)
            self._known[key] = kept
        return True

    def read(self, slot: str, name: str) -> Any:
        """Return the value of this name, or None if the slot has another one or not all parts."""
        texts: list[str] = []
        marks: set[str] = set()
        count = 1
        while len(texts) < count:
            mark, _, rest = self._known.get(f"{PREFIX}:{slot}:{len(texts)}", "").partition("/")
            total, _, rest = rest.partition("/")
            kept, _, part = rest.partition("/")
            marks.add(mark)
            if kept != name or len(marks) > 1:
                return None
            texts.append(part)
            count = int(total)
        try:
            return json.loads("".join(texts))
        except ValueError:
            return None


def slot_of(sort: str, number: int) -> str:
    """Return the slot of the value with this number.

    >>> slot_of("asked", 3), slot_of("asked", 35)
    ('asked:3', 'asked:3')
    """
    return f"{sort}:{number % SLOTS}"


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


def read_constraints(trial: FrozenTrial) -> dict[str, float]:
    """Return the values of the constraints of a trial by name; those of a list have numbers."""
    found: dict[str, float] = {}
    for key, value in trial.system_attrs.items():
        if key == CONSTRAINTS and value is not None:
            found |= {str(number): float(one) for number, one in enumerate(value)}
        elif key.startswith(f"{CONSTRAINTS}:") and value is not None:
            found[key.removeprefix(f"{CONSTRAINTS}:")] = float(value)
    return found


def write_constraints(
    study: Study, trial: FrozenTrial, function: Callable[[FrozenTrial], Sequence[float]]
) -> None:
    """Store what a function gives for the constraints of a trial, where Optuna looks for it."""
    given: Any = function(trial)
    values = given.tolist() if isinstance(given, np.ndarray) else given
    listed = isinstance(values, (list, tuple))
    if not listed or any(not isinstance(one, Real) or one != one for one in values):
        raise ValueError(
            "constraints_func needs a list of numbers (at most 0 where a constraint is met), got "
            f"{quote_given(given)} for trial {trial.number}"
        )
    values = tuple(float(one) for one in values)
    study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, values)


def internal_values(
    parameters: Mapping[str, Any], distributions: Mapping[str, Any]
) -> dict[str, float]:
    """Return parameters as the numbers that Optuna stores for them."""
    return {
        name: float(distributions[name].to_internal_repr(value))
        for name, value in parameters.items()
    }
