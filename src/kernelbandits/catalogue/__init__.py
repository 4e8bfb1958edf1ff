"""Policies, problems, kernels and laws by name, and values as text and as dictionaries."""

from kernelbandits.catalogue.codec import CODEC, fingerprint, identify
from kernelbandits.catalogue.entry import PolicyEntry
from kernelbandits.catalogue.policies import (
    ALL,
    FAMILIES,
    NOT_IMPLEMENTED,
    POLICIES,
    WITHOUT_A_LAW,
    policy,
    policy_entry,
    read_policy,
    shared_settings,
)
from kernelbandits.catalogue.problems import PROBLEMS, ProblemEntry, problem, read_problem
from kernelbandits.catalogue.spelling import (
    kernel_of,
    read_kernel,
    read_law,
    read_motion,
    read_noise,
    read_sweep,
    settings_of,
)
from kernelbandits.catalogue.user_policy import UserPolicy
from kernelbandits.catalogue.values import KERNELS, LAWS, MOTIONS, NOISES

__all__ = [
    "ALL",
    "CODEC",
    "FAMILIES",
    "KERNELS",
    "LAWS",
    "MOTIONS",
    "NOISES",
    "NOT_IMPLEMENTED",
    "POLICIES",
    "PROBLEMS",
    "WITHOUT_A_LAW",
    "PolicyEntry",
    "ProblemEntry",
    "UserPolicy",
    "fingerprint",
    "identify",
    "kernel_of",
    "policy",
    "policy_entry",
    "problem",
    "read_kernel",
    "read_law",
    "read_motion",
    "read_noise",
    "read_policy",
    "read_problem",
    "read_sweep",
    "settings_of",
    "shared_settings",
]
