"""The policies by name, read off the classes in `kernelbandits.policies`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelbandits import policies
from kernelbandits.catalogue.entry import PolicyEntry
from kernelbandits.catalogue.lookup import PYTHON_EXAMPLES, check_settings, find_entry
from kernelbandits.catalogue.spelling import kernel_of, keywords, settings_of, split
from kernelbandits.policies import Policy
from kernelbandits.policies.about import FAMILIES as FAMILY_TITLES


def collect_families() -> dict[str, tuple[PolicyEntry, ...]]:
    """Return title of family -> its members, in the order in which the modules define them."""
    rules = [rule for rule in vars(policies).values() if is_named_policy(rule)]
    rules.sort(key=lambda rule: (rule.__module__, line_of(rule)))
    entries = [PolicyEntry(rule, rule.about) for rule in rules]
    return {
        title: tuple(entry for entry in entries if entry.about.family == title)
        for title in FAMILY_TITLES
    }


def is_named_policy(value: Any) -> bool:
    """Tell whether a value is a policy that has a name in the catalogue."""
    return isinstance(value, type) and issubclass(value, Policy) and value.about is not None


def line_of(rule: type[Policy]) -> int:
    """Return the line of the constructor, by which the members of a module are ordered."""
    return rule.__init__.__code__.co_firstlineno


FAMILIES: Mapping[str, tuple[PolicyEntry, ...]] = collect_families()

POLICIES: Mapping[str, PolicyEntry] = {
    entry.name: entry for family in FAMILIES.values() for entry in family
}

ALL = "all"
"""In the place of a policy: every policy of the catalogue that needs no law."""
WITHOUT_A_LAW = tuple(name for name in POLICIES if name != "generic-gp")
"""What "all" stands for."""

NOT_IMPLEMENTED: Mapping[str, str] = {
    "LP-GP-UCB": "Lee, Shekhar & Javidi, "
    "multi-scale zero-order optimization of smooth functions in an RKHS, 2022",
    "Shekhar & Javidi's rule": "Shekhar & Javidi, "
    "instance-dependent regret analysis of kernelized bandits, 2022",
    "EIC": "Hu, Wang, Dai, Low & Ng, adjusted expected improvement for cumulative regret "
    "minimization in noisy Bayesian optimization, 2025",
    "PE-GP-UCB": "Ziomek, Adachi & Osborne, "
    "time-varying Gaussian process bandits with unknown prior, 2025",
    "mini-META": "Calandriello, Carratino, Lazaric, Valko & Rosasco, scaling Gaussian process "
    "optimization by evaluating a few unique candidates multiple times, 2022",
    "RIPS": "Camilleri, Jamieson & Katz-Samuels, "
    "high-dimensional experimental design and kernel bandits, 2021",
}
"""Named in the literature and left out rather than approximated -> their paper."""


def policy_entry(name: str) -> PolicyEntry:
    """Return what the catalogue says of a policy, by the name of the policy.

    >>> from kernelbandits.catalogue import policy_entry
    >>> policy_entry("simple-bernoulli").title
    'Simple-Bernoulli'
    >>> policy_entry("simple-bernuli")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: No policy is called 'simple-bernuli'. Did you mean 'simple-bernoulli'? ...
    """
    return find_entry("policy", name, POLICIES)


def read_policy(text: str) -> tuple[str, dict[str, Any]]:
    """Read the name of a policy and its settings.

    Examples
    --------
    >>> from kernelbandits.catalogue import read_policy
    >>> read_policy("simple-bernoulli:p=0.25")
    ('simple-bernoulli', {'p': 0.25})
    """
    name, given = split(text)
    policy_entry(name)
    return name, keywords(given)


def shared_settings(entry: Any, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the settings shared by all policies that this one takes.

    `entry` is what is known of a policy (`policy_entry`), and `shared` has the settings of all
    policies; those that are None were not given.

    >>> from kernelbandits.catalogue import policy_entry, shared_settings
    >>> shared = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 100, "ridge": None}
    >>> shared_settings(policy_entry("simple-ucb"), shared)
    {'noise_scale': 0.1, 'norm_bound': 1.0}
    """
    taken = [name for name in entry.settings if name not in entry.by_name_only]
    return {name: shared[name] for name in taken if shared.get(name) is not None}


def policy(
    name: str, domain: Any, kernel: Any = None, exploration: Any = None, **settings: Any
) -> Policy:
    """Build a policy by its name.

    Parameters
    ----------
    name
        As `kernelbandits list policies` shows it: "simple-ucb", "gp-ts", "auto", ...
    domain
        What may be played: `kb.Arms`, an (n, d) array, a `kb.Box`, ...
    kernel
        For instance `kb.RBF(0.2)`, or as text "rbf:0.2"; not for a policy that fits its own, such
        as "auto".
    exploration
        For a policy that takes one, an exploration law or a schedule of laws, or as text
        "bernoulli:0.5".
    settings
        Those of the policy: noise_scale, norm_bound, ... A horizon of "doubling" plays a rule that
        needs a horizon without one (`Doubling`).

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> kb.policy("simple-bernoulli", arms, kb.RBF(0.2), p=0.25, noise_scale=1, norm_bound=1)
    SimpleBernoulli(Arms(3 points in 1 dimensions), 0 rewards)
    >>> kb.policy("generic-gp", arms, "matern:0.3", "gaussian:0,1", noise_scale=1, norm_bound=1)
    GenericGP(Arms(3 points in 1 dimensions), 0 rewards)
    >>> kb.policy("igp-ucb", arms, "rbf:0.2", noise_scale=1, norm_bound=1, horizon="doubling")
    Doubling(IGPUCB, Arms(3 points in 1 dimensions), 0 rewards)
    """
    entry = policy_entry(name)
    given = settings_of(settings)
    if exploration is not None:
        given |= settings_of({"exploration": exploration})
    check_settings(name, entry.parameters, given, PYTHON_EXAMPLES)
    if entry.takes_kernel and kernel is None:
        raise ValueError(f"{name} needs a kernel, such as kb.RBF(0.2) or 'rbf:0.2', got none")
    return entry.build(domain, kernel_of(kernel), given)
