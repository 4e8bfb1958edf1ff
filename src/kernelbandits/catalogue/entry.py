"""What the catalogue says of one policy."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from kernelbandits.policies import Policy
from kernelbandits.policies.about import About
from kernelbandits.policies.doubling import DOUBLING, Doubling


@dataclass(frozen=True)
class PolicyEntry:
    """A policy, what is known of it (`about`, which stands beside its class), and its settings.

    >>> from kernelbandits.catalogue import policy_entry
    >>> entry = policy_entry("bpe")
    >>> entry.title, entry.paper.split(",")[0]
    ('BPE', 'Li & Scarlett')
    >>> [name for name, must_be_given in entry.parameters.items() if must_be_given]
    ['noise_scale', 'norm_bound', 'horizon']
    """

    constructor: type[Policy]
    """The class of the policy."""
    about: About

    @property
    def name(self) -> str:
        return self.about.name

    @property
    def title(self) -> str:
        return self.about.title

    @property
    def paper(self) -> str:
        return self.about.paper

    @property
    def guarantee(self) -> str:
        return self.about.guarantee

    @property
    def ours(self) -> str:
        return self.about.ours

    @property
    def by_name_only(self) -> tuple[str, ...]:
        """Settings that it takes only when they are given to it by name."""
        return self.about.by_name_only

    @property
    def takes_kernel(self) -> bool:
        """Whether it takes a kernel; one that does not fits its own."""
        return self.constructor.takes_kernel

    @cached_property
    def parameters(self) -> Mapping[str, bool]:
        """The settings beside domain and kernel -> whether each must be given."""
        signature = inspect.signature(self.constructor)
        return {
            name: parameter.default is parameter.empty
            for name, parameter in signature.parameters.items()
            if name not in ("domain", "kernel")
        }

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(self.parameters)

    def build(self, domain: Any, kernel: Any, settings: Mapping[str, Any]) -> Policy:
        """Build the policy; one that fits its own kernel is built without one."""
        constructor = with_horizon(self.constructor, settings)
        given = (domain, kernel) if self.takes_kernel else (domain,)
        return constructor(*given, **settings)


def with_horizon(
    constructor: Callable[..., Policy], settings: Mapping[str, Any]
) -> Callable[..., Policy]:
    """Return the constructor, or that of its `Doubling` where the horizon is "doubling"."""
    horizon = settings.get("horizon")
    return partial(Doubling, constructor) if horizon == DOUBLING else constructor
