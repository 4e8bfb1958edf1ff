"""The policies by name, with their paper, what is guaranteed, and what is ours."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kernelbandits import policies as rules
from kernelbandits.catalogue.lookup import check_settings, looked_up
from kernelbandits.policies import Policy


@dataclass(frozen=True)
class PolicyEntry:
    """A policy and what is known of it."""

    name: str
    title: str
    constructor: type[Policy]
    paper: str
    guarantee: str
    """What is proved, and for whom."""
    ours: str
    """Which constants or options are not the original's."""
    own: tuple[str, ...] = ()
    """Settings it takes only when they are given to it by name, never from those shared by all."""

    @cached_property
    def parameters(self) -> Mapping[str, bool]:
        """What it takes besides domain and kernel, the settings of its family included -> whether it must be given."""
        found = initial(self.constructor, ("exploration",))
        for cls in inspect.getmro(self.constructor)[1:]:
            if "settings" not in found:
                break
            found.pop("settings")
            found |= {name: must for name, must in initial(cls, ("settings",)).items() if name not in found}
        return found

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(self.parameters)


def initial(cls: type, more: tuple[str, ...]) -> dict[str, bool]:
    """The keyword settings of a class's own constructor, `**settings` for those it hands on, and the others named."""
    parameters = inspect.signature(vars(cls).get("__init__", cls.__init__)).parameters.values()  # type: ignore[misc]
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    return {p.name: p.default is p.empty for p in parameters if p.kind in kinds or p.name in more}


GENERIC = "Hu, He & Sutherland, Efficient kernelized bandit algorithms via exploration distributions"
FAMILY = "ridge and delta as options; the paper's are 1 and 1/2"
GAP = "its printed proof has a gap at delta = 1/2 (docs/algorithms.md)"
CHOWDHURY = "Chowdhury & Gopalan, On kernelized multi-armed bandits, 2017"
SRINIVAS = "Srinivas, Krause, Kakade & Seeger, GP optimization in the bandit setting, 2010"
WHITEHOUSE = "Whitehouse, Ramdas & Wu, On the sublinear regret of GP-UCB, 2023"


def family(name: str, title: str, constructor: type[Policy], rate: str) -> PolicyEntry:
    return PolicyEntry(name, title, constructor, GENERIC, f"expected regret {rate}; {GAP}", FAMILY, own=("delta",))


POLICIES: Mapping[str, PolicyEntry] = {
    entry.name: entry
    for entry in (
        family("generic-gp", "Generic-GP", rules.GenericGP, "O((C2 + C3) gamma_T sqrt(T)) if P(w >= 1) > 0"),
        family("simple-ucb", "Simple-UCB", rules.SimpleUCB, "O~(gamma_T sqrt(T))"),
        family("simple-bernoulli", "Simple-Bernoulli", rules.SimpleBernoulli, "O~(gamma_T sqrt(T) / min p_t)"),
        family("simple-gaussian", "Simple-Gaussian", rules.SimpleGaussian, "O~(gamma_T sqrt(T))"),
        family(
            "simple-categorical",
            "Simple-Categorical",
            rules.SimpleCategorical,
            "O~(gamma_T sqrt(T) / min p_K)",
        ),
        family("simple-mixture", "Simple-Mixture", rules.SimpleMixture, "O~(gamma_T sqrt(T) / min rho_t)"),
        PolicyEntry(
            "igp-ucb",
            "IGP-UCB",
            rules.IGPUCB,
            CHOWDHURY,
            "regret O(sqrt(T) (D sqrt(gamma_T) + gamma_T)) with chance 1 - delta",
            "gain: realised L/2 by default, which the underlying inequality allows",
        ),
        PolicyEntry(
            "gp-ts",
            "GP-TS",
            rules.GPTS,
            CHOWDHURY,
            "regret O~(gamma_T sqrt(d T)) with chance 1 - delta",
            "gain: realised L/2 by default; all arms are the discretisation",
        ),
        PolicyEntry(
            "gp-ucb",
            "GP-UCB (Srinivas)",
            rules.GPUCB,
            SRINIVAS,
            "regret O~(sqrt(T gamma_T)) for f ~ GP (finite), O~(gamma_T sqrt(T)) for |f| <= D (rkhs)",
            "beta_scale (1; the authors' experiments use 1/5); gain realised is ours for the rkhs schedule",
        ),
        PolicyEntry(
            "whitehouse-ucb",
            "GP-UCB (Whitehouse)",
            rules.WhitehouseUCB,
            WHITEHOUSE,
            "regret O~(gamma_T(ridge) sqrt(T)) with chance 1 - delta, sublinear for Matern at the tuned ridge",
            "the constant 1 before T^(d / (2 nu + 2 d)) in the ridge 'matern'",
        ),
        PolicyEntry("greedy", "Greedy", rules.Greedy, "floor", "none", "a floor: always the greatest estimate"),
        PolicyEntry("random", "Uniform random", rules.UniformRandom, "floor", "none", "a floor: every arm alike"),
    )
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
