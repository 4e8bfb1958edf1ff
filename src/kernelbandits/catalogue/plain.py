"""Values as plain dictionaries: {"kind": "RBF", "lengthscale": 0.2}, for files and fingerprints."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kernelbandits import exploration, problems
from kernelbandits.catalogue.problems import named_function
from kernelbandits.catalogue.values import KERNEL_CLASSES
from kernelbandits.streams import Streams

KINDS: Mapping[str, Callable[..., Any]] = {
    cls.__name__: cls
    for cls in (
        *KERNEL_CLASSES,
        exploration.PointMass,
        exploration.Bernoulli,
        exploration.Categorical,
        exploration.Gaussian,
        exploration.DiscretisedGaussian,
        exploration.RootExponential,
        exploration.Mixture,
        exploration.Step,
        exploration.Decay,
        exploration.Certainty,
        exploration.AdaptiveBernoulli,
        exploration.InformationDirected,
        problems.GaussianNoise,
        problems.RademacherNoise,
        problems.UniformNoise,
        problems.StudentNoise,
        problems.EmpiricalNoise,
        problems.ParetoNoise,
        problems.SampledFunction,
        problems.RKHSFunction,
        problems.GPFunction,
        problems.LowerBound,
        problems.Bump,
        problems.Misspecified,
        problems.Heteroscedastic,
        problems.FixedArms,
        problems.Standardised,
        problems.Markov,
        problems.Turning,
        problems.Jumps,
        problems.Drifting,
    )
}

PROCESS = f"{os.getpid()}-{time.time_ns()}"
"""Marks what only this process can tell apart."""
NUMBERED: dict[int, tuple[int, Any]] = {}
"""id -> (number, object)"""


def to_plain(value: Any) -> Any:
    """Return numbers, text and lists as they are; a value of the catalogue by kind and arguments.

    Anything else, such as a class or a function of the user, is known by its identity in this
    process only: results that were stored by another process are never taken for its results.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, range)):
        return [to_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return {
            "kind": "array",
            "shape": list(value.shape),
            "sha256": hashlib.sha256(value.tobytes()).hexdigest(),
        }
    return plain_object(value)


def plain_object(value: Any) -> dict[str, Any]:
    kind = type(value).__name__
    # A class of the user may have the name of one of ours, and inherit from it: it is another kind.
    if type(value) is KINDS.get(kind):
        return {"kind": kind} | {
            name: to_plain(getattr(value, name)) for name in arguments(KINDS[kind])
        }
    fixed = isinstance(value, problems.FunctionProblem) and value.is_finite
    if fixed or isinstance(value, problems.TableProblem):
        # The arms and rewards are the same for every seed, so they say all there is to know.
        return {"kind": kind, "name": value.name, "sha256": fingerprint(fixed_content(value))}
    if isinstance(value, problems.TestFunction) and value == named_function(value.name):
        return {"kind": kind, "name": value.name}
    return {"kind": "object", "repr": repr(value), "known_to": f"{PROCESS}-{number_of(value)}"}


def number_of(value: Any) -> int:
    """Return the number of an object, which is kept, so that no other one can get its identity."""
    return NUMBERED.setdefault(id(value), (len(NUMBERED), value))[0]


def arguments(constructor: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(constructor).parameters)


def fixed_content(problem: problems.Problem) -> Any:
    """Return the arms and rewards of a problem whose instance does not depend on the seed."""
    instance = problem.instance(Streams(0))
    return [
        to_plain(part)
        for part in (instance.domain.points, instance.values, instance.noise, instance.replicates)
    ]


def from_plain(plain: Any) -> Any:
    """Return the value again; an object known only by its repr cannot be rebuilt."""
    if isinstance(plain, list):
        return tuple(from_plain(item) for item in plain)
    if not isinstance(plain, Mapping):
        return plain
    kind = str(plain.get("kind"))
    if kind == "TestFunction":
        return named_function(str(plain["name"]))
    if kind not in KINDS:
        raise ValueError(f"a stored value needs a kind among {', '.join(KINDS)}, got {kind!r}")
    return KINDS[kind](**{name: from_plain(item) for name, item in plain.items() if name != "kind"})


def fingerprint(plain: Any) -> str:
    """Return sha256 of the canonical JSON text."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
