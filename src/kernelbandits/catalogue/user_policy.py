"""Policies that are not in the catalogue: a class of the user, or a factory that builds one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from kernelbandits.catalogue.entry import PolicyEntry, with_horizon
from kernelbandits.catalogue.policies import POLICIES, policy_entry
from kernelbandits.policies import Policy

Constructor = Callable[..., Policy]
"""A class of policies, or a factory (domain, kernel, **settings) -> policy."""


@dataclass(frozen=True)
class UserPolicy:
    """What is known of a policy that the user brings; it is read from its class or its signature.

    `title`, `paper`, `guarantee` and `ours`, which a report prints, are taken from the `about` of
    the class itself, or from attributes of these names on it. Those of its parent are not taken:
    what is proved of a policy need not hold for a subclass.

    >>> import kernelbandits as kb
    >>> class Bold(kb.SimpleUCB):
    ...     title = "Bold UCB"
    >>> known = kb.catalogue.UserPolicy(Bold)
    >>> known.title, known.guarantee, known.takes_kernel
    ('Bold UCB', 'none is known here: a policy of your own', True)
    """

    constructor: Constructor
    """A class derived from `kb.Policy`, or a factory (domain, kernel, **settings) -> policy."""

    def __post_init__(self) -> None:
        given = self.constructor
        if isinstance(given, Policy):
            raise ValueError(
                f"an experiment needs the class {type(given).__name__} or a factory, got a policy "
                "that is already built; every seed plays with a policy of its own"
            )
        is_other_class = isinstance(given, type) and not issubclass(given, Policy)
        if not callable(given) or is_other_class:
            raise ValueError(
                "an experiment needs policies by name, classes derived from kb.Policy, factories "
                f"(domain, kernel, **settings) -> policy, or kb.Contender, got {given!r}"
            )

    @property
    def name(self) -> str:
        """The module and the name of the class or factory; no name of the catalogue has a dot."""
        named = unwrap(self.constructor)
        return f"{named.__module__}.{getattr(named, '__qualname__', type(named).__qualname__)}"

    @property
    def title(self) -> str:
        return self._own_text("title", self.name.rpartition(".")[2])

    @property
    def paper(self) -> str:
        return self._own_text("paper", "–")

    @property
    def guarantee(self) -> str:
        return self._own_text("guarantee", "none is known here: a policy of your own")

    @property
    def ours(self) -> str:
        return self._own_text("ours", "–")

    def _own_text(self, attribute: str, default: str) -> str:
        stated = getattr(unwrap(self.constructor), "__dict__", {})
        text = getattr(stated.get("about"), attribute, stated.get(attribute))
        return text if isinstance(text, str) else default

    @property
    def by_name_only(self) -> tuple[str, ...]:
        """Settings that the shared ones do not replace: those that functools.partial has set."""
        return tuple(self.constructor.keywords) if isinstance(self.constructor, partial) else ()

    @cached_property
    def parameters(self) -> Mapping[str, bool]:
        """Each setting it takes besides domain and kernel, and whether it must be given."""
        found: dict[str, bool] = {}
        for place, signature in enumerate(signatures(self.constructor)):
            for parameter in signature.parameters.values():
                # A class that hands on **settings may itself fill in what its parent needs.
                filled = place > 0 and parameter.kind is not parameter.KEYWORD_ONLY
                must = parameter.default is parameter.empty and not filled
                if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                    found.setdefault(parameter.name, must)
        for name in (self._domain, self.kernel_parameter):
            found.pop(name, None)
        return found | dict.fromkeys(self.by_name_only, False)

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(self.parameters)

    @property
    def _domain(self) -> str:
        """The first parameter, whatever its name."""
        return next((name for name, _ in self._positional), "domain")

    @property
    def kernel_parameter(self) -> str:
        """The parameter called kernel, else the second one if it must be given, else ""."""
        known = {
            name for signature in signatures(self.constructor) for name in signature.parameters
        }
        if "kernel" in known:
            return "kernel"
        return next((name for name, must in self._positional[1:2] if must), "")

    @property
    def takes_kernel(self) -> bool:
        """Whether it takes a kernel; one that does not fits its own, or has none."""
        return bool(self.kernel_parameter) and getattr(
            unwrap(self.constructor), "takes_kernel", True
        )

    def build(self, domain: Any, kernel: Any, settings: Mapping[str, Any]) -> Policy:
        """Build the policy, with a kernel if it takes one."""
        constructor = with_horizon(self.constructor, settings)
        if self.takes_kernel and self.kernel_parameter == "kernel":
            return constructor(domain, kernel=kernel, **settings)
        given = (domain, kernel) if self.takes_kernel else (domain,)
        return constructor(*given, **settings)

    @property
    def _positional(self) -> list[tuple[str, bool]]:
        parameters = next(iter(signatures(self.constructor))).parameters.values()
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [(p.name, p.default is p.empty) for p in parameters if p.kind in kinds]


def find_policy(policy: str | Constructor) -> PolicyEntry | UserPolicy:
    """Return what is known of a policy, given by its name, its class or a factory.

    A class of the catalogue is found by identity, so that a subclass is never taken for its parent.
    """
    if isinstance(policy, str):
        return policy_entry(policy)
    known = (entry for entry in POLICIES.values() if entry.constructor is policy)
    return next(known, None) or UserPolicy(policy)


def unwrap(constructor: Any) -> Any:
    """Return the class or function inside functools.partial."""
    return unwrap(constructor.func) if isinstance(constructor, partial) else constructor


def signatures(constructor: Constructor) -> list[inspect.Signature]:
    """Return the signature of a call; of a class also those of the parents that get **settings."""
    called = unwrap(constructor)
    if not isinstance(called, type):
        return [inspect.signature(called)]
    found = []
    for step in called.__mro__:
        if "__init__" in vars(step) and step is not object:
            found.append(without_self(inspect.signature(vars(step)["__init__"])))
            kinds = {parameter.kind for parameter in found[-1].parameters.values()}
            if inspect.Parameter.VAR_KEYWORD not in kinds:
                break
    return found


def without_self(signature: inspect.Signature) -> inspect.Signature:
    return signature.replace(parameters=list(signature.parameters.values())[1:])
