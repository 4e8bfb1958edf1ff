"""The only registry: names <-> constructors, values <-> plain dictionaries, values <-> text of a command line."""

from kernelbandits.catalogue.entry import PolicyEntry
from kernelbandits.catalogue.plain import fingerprint, from_plain, to_plain
from kernelbandits.catalogue.policies import (
    FAMILIES,
    NOT_IMPLEMENTED,
    POLICIES,
    policy,
    policy_entry,
    shared_settings,
)
from kernelbandits.catalogue.problems import PROBLEMS, ProblemEntry, problem
from kernelbandits.catalogue.spelling import (
    spelled_kernel,
    spelled_law,
    spelled_motion,
    spelled_noise,
    spelled_policy,
    spelled_problem,
)
from kernelbandits.catalogue.values import KERNELS, LAWS, MOTIONS, NOISES

__all__ = [
    "FAMILIES",
    "KERNELS",
    "LAWS",
    "MOTIONS",
    "NOISES",
    "NOT_IMPLEMENTED",
    "POLICIES",
    "PROBLEMS",
    "PolicyEntry",
    "ProblemEntry",
    "fingerprint",
    "from_plain",
    "policy",
    "policy_entry",
    "problem",
    "shared_settings",
    "spelled_kernel",
    "spelled_law",
    "spelled_motion",
    "spelled_noise",
    "spelled_policy",
    "spelled_problem",
    "to_plain",
]
