"""The values of the catalogue as JSON, and what identifies anything else that is played.

The types are those that have a name on the command line (`values`), those that policies store, and
problems. Experiments know their results by the fingerprint of all that decides them.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits import checks, problems
from kernelbandits.catalogue.problems import named_function
from kernelbandits.catalogue.values import KERNEL_CLASSES, MOTIONS, NOISES
from kernelbandits.codec import Form, Plain, refuse
from kernelbandits.policies.stored import CODEC as POLICY_CODEC
from kernelbandits.streams import Streams

PROCESS = f"{os.getpid()}-{time.time_ns()}"
"""Marks what only this process can tell apart."""
NUMBERED: dict[int, tuple[int, Any]] = {}
"""id -> (number, object)"""


def write_function(function: problems.TestFunction) -> dict[str, Any] | None:
    """Return the name of a test function, which says all of it if the catalogue has it."""
    return {"name": function.name} if function == named_function(function.name) else None


def read_function(name: Any) -> problems.TestFunction:
    function = named_function(name)
    checks.needs(function is not None, "a stored TestFunction", "a name of the catalogue", name)
    assert function is not None
    return function


CODEC = POLICY_CODEC.with_types(
    *KERNEL_CLASSES,
    *NOISES.values(),
    *MOTIONS.values(),
    problems.EmpiricalNoise,
    problems.SampledFunction,
    problems.RKHSFunction,
    problems.GPFunction,
    problems.LowerBound,
    problems.Bump,
    problems.Misspecified,
    problems.Heteroscedastic,
    problems.FixedArms,
    problems.Standardised,
    problems.Drifting,
    problems.Delayed,
    problems.TrueOptimum,
    problems.WholeBox,
    problems.WithContext,
    Form("TestFunction", problems.TestFunction, write_function, read_function),
)
"""Writes and reads every value that has a name, a kernel, a law, a noise, a problem."""


def identify(value: Any) -> Plain:
    """Return what distinguishes a value from any other, as JSON has it, for a fingerprint.

    Values of the catalogue are written whole, arrays and tables by a checksum of their content.
    Anything else, such as a class or a function of the user, is known by its identity in this
    process only: results that were stored by another process are never taken for its results.

    >>> import kernelbandits as kb
    >>> kb.catalogue.identify(kb.RBF(0.2))
    {'type': 'RBF', 'lengthscale': 0.2}
    >>> sorted(kb.catalogue.identify(lambda x: x))
    ['known_to', 'repr', 'type']
    """
    return IDENTITY.encode(value)


def identify_object(value: Any) -> dict[str, Any]:
    fixed = isinstance(value, problems.FunctionProblem) and value.is_finite
    if fixed or isinstance(value, problems.TableProblem):
        # The arms and rewards are the same for every seed, so they say all there is to know.
        content = fingerprint(fixed_content(value))
        return {"type": type(value).__name__, "name": value.name, "sha256": content}
    # The object is kept, so that no other one can get its identity.
    number = NUMBERED.setdefault(id(value), (len(NUMBERED), value))[0]
    return {"type": "object", "repr": repr(value), "known_to": f"{PROCESS}-{number}"}


def identify_array(array: Any) -> dict[str, Any]:
    return {"shape": array.shape, "sha256": hashlib.sha256(array.tobytes()).hexdigest()}


def fixed_content(problem: problems.Problem) -> Plain:
    """Return the arms and rewards of a problem whose instance does not depend on the seed."""
    instance = problem.instance(Streams(0))
    return identify((instance.domain.points, instance.values, instance.noise, instance.replicates))


IDENTITY = replace(
    CODEC.with_types(Form("array", np.ndarray, identify_array, refuse)), other=identify_object
)


def fingerprint(plain: Plain) -> str:
    """Return sha256 of the canonical JSON text.

    Equal content has equal text, in whatever order the keys of a dictionary were written.

    >>> from kernelbandits.catalogue import fingerprint
    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    >>> fingerprint({"a": 1})[:12]
    '015abd7f5cc5'
    """
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
