"""The only registry: names <-> constructors, values <-> plain dictionaries, values <-> the text of a command line."""

from kernelbandits.catalogue.entries import (
    KERNELS,
    LAWS,
    NOISES,
    POLICIES,
    PROBLEMS,
    PolicyEntry,
    ProblemEntry,
    policy,
    policy_entry,
    problem,
    shared_settings,
)
from kernelbandits.catalogue.plain import from_plain, to_plain
from kernelbandits.catalogue.spelling import (
    spelled_kernel,
    spelled_law,
    spelled_noise,
    spelled_policy,
    spelled_problem,
)

__all__ = [
    "KERNELS",
    "LAWS",
    "NOISES",
    "POLICIES",
    "PROBLEMS",
    "PolicyEntry",
    "ProblemEntry",
    "from_plain",
    "policy",
    "policy_entry",
    "problem",
    "shared_settings",
    "spelled_kernel",
    "spelled_law",
    "spelled_noise",
    "spelled_policy",
    "spelled_problem",
    "to_plain",
]
