"""The policies by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelbandits.catalogue.entry import PolicyEntry
from kernelbandits.catalogue.families import FAMILIES
from kernelbandits.catalogue.lookup import check_settings, looked_up
from kernelbandits.policies import Policy

POLICIES: Mapping[str, PolicyEntry] = {
    entry.name: entry for family in FAMILIES.values() for entry in family
}


def policy_entry(name: str) -> PolicyEntry:
    return looked_up("policy", name, POLICIES)


def shared_settings(entry: PolicyEntry, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the settings shared by all policies that this one takes."""
    taken = [name for name in entry.settings if name not in entry.own]
    return {name: shared[name] for name in taken if shared.get(name) is not None}


def policy(name: str, domain: Any, kernel: Any, /, *exploration: Any, **settings: Any) -> Policy:
    """A policy by its name: kb.policy("simple-bernoulli", arms, kernel, p=0.25, noise_scale=1, norm_bound=1)."""
    entry = policy_entry(name)
    settings |= dict(zip(("exploration",), exploration, strict=True)) if exploration else {}
    check_settings(name, entry.parameters, settings)
    return entry.constructor(domain, kernel, **settings)
