"""What there is: policies, problems, kernels, laws and noises by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

from kernelbandits import exploration, kernels, problems
from kernelbandits import policies as rules
from kernelbandits.policies import Policy
from kernelbandits.problems import Problem, SampledFunction


@dataclass(frozen=True)
class PolicyEntry:
    """A policy and what is known of it."""

    name: str
    title: str
    constructor: Callable[..., Policy]
    paper: str
    guarantee: str
    """What is proved, and for whom."""
    ours: str
    """Which constants or options are not the original's."""
    own: tuple[str, ...] = ()
    """Settings it takes only when they are given to it by name, never from those shared by all."""

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """What it takes besides domain and kernel, the settings its family adds included."""
        names: list[str] = []
        for cls in inspect.getmro(self.constructor):  # type: ignore[arg-type]
            parameters = inspect.signature(vars(cls)["__init__"]).parameters.values() if "__init__" in vars(cls) else ()
            own = cls is self.constructor
            names += [p.name for p in parameters if p.kind is p.KEYWORD_ONLY or (own and p.name == "exploration")]
            if parameters and all(p.kind is not p.VAR_KEYWORD for p in parameters):
                break
        return tuple(names)


@dataclass(frozen=True)
class ProblemEntry:
    """A problem, how to build it and where it comes from."""

    name: str
    constructor: Callable[..., Problem]
    source: str


GENERIC = "Hu, He & Sutherland, Efficient kernelized bandit algorithms via exploration distributions"
FAMILY = "ridge and delta as options; the paper's are 1 and 1/2"
GAP = "its printed proof has a gap at delta = 1/2 (docs/algorithms.md)"
CHOWDHURY = "Chowdhury & Gopalan, On kernelized multi-armed bandits, 2017"
SRINIVAS = "Srinivas, Krause, Kakade & Seeger, GP optimization in the bandit setting, 2010"
WHITEHOUSE = "Whitehouse, Ramdas & Wu, On the sublinear regret of GP-UCB, 2023"


def family(name: str, title: str, constructor: Callable[..., Policy], rate: str) -> PolicyEntry:
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

SFU = "Surjanovic & Bingham, Virtual Library of Simulation Experiments"


def function_entry(function: Callable[..., Any], **fixed: Any) -> ProblemEntry:
    built = function(**fixed)
    return ProblemEntry(built.name, partial(SampledFunction, built), SFU)


def functions() -> dict[str, ProblemEntry]:
    entries = [
        function_entry(problems.holder_table),
        function_entry(problems.cross_in_tray),
        function_entry(problems.ackley, dimension=4),
        function_entry(problems.hartmann, dimension=3),
        function_entry(problems.hartmann, dimension=6),
        function_entry(problems.branin),
        function_entry(problems.six_hump_camel),
        function_entry(problems.levy, dimension=4),
        function_entry(problems.rosenbrock, dimension=4),
    ]
    return {entry.name: entry for entry in entries}


PROBLEMS: Mapping[str, ProblemEntry] = functions() | {
    "rkhs": ProblemEntry("rkhs", problems.RKHSFunction, "a random function of known RKHS norm"),
    "perovskite": ProblemEntry("perovskite", problems.perovskite, "Sun et al., Matter 4(4), 2021: 94 measured films"),
    "csv": ProblemEntry("csv", problems.read_table, "any table: --problem csv:path=films.csv,target=stability"),
}

KERNELS: Mapping[str, Callable[..., kernels.Kernel]] = {
    "rbf": kernels.RBF,
    "matern": kernels.Matern,
    "linear": kernels.Linear,
    "polynomial": kernels.Polynomial,
    "rational-quadratic": kernels.RationalQuadratic,
}

LAWS: Mapping[str, Callable[..., Any]] = {
    "point-mass": exploration.PointMass,
    "bernoulli": exploration.Bernoulli,
    "gaussian": exploration.Gaussian,
    "categorical": exploration.Categorical,
    "mixture": exploration.Mixture,
    "step": exploration.Step,
    "decay": exploration.Decay,
    "certainty": exploration.Certainty,
}

NOISES: Mapping[str, Callable[..., problems.Noise]] = {
    "gaussian": problems.GaussianNoise,
    "rademacher": problems.RademacherNoise,
    "uniform": problems.UniformNoise,
    "student": problems.StudentNoise,
}


Entry = TypeVar("Entry")


def looked_up(kind: str, name: str, table: Mapping[str, Entry]) -> Entry:
    if name not in table:
        raise ValueError(f"{kind} needs one of {', '.join(table)}, got {name!r}")
    return table[name]


def policy_entry(name: str) -> PolicyEntry:
    return looked_up("policy", name, POLICIES)


def shared_settings(entry: PolicyEntry, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the settings shared by all policies that this one takes."""
    taken = [name for name in entry.settings if name not in entry.own]
    return {name: shared[name] for name in taken if shared.get(name) is not None}


def policy(name: str, domain: Any, kernel: Any, *args: Any, **settings: Any) -> Policy:
    """A policy by its name: kb.policy("simple-bernoulli", arms, kernel, p=0.25, noise_scale=1, norm_bound=1)."""
    entry = policy_entry(name)
    unknown = set(settings) - set(entry.settings)
    if unknown:
        raise ValueError(f"{name} needs settings among {', '.join(entry.settings)}, got {sorted(unknown)[0]!r}")
    return entry.constructor(domain, kernel, *args, **settings)


def problem(name: str, **settings: Any) -> Problem:
    """A problem by its name in the catalogue: kb.problem("hartmann6", candidates=50)."""
    constructor = looked_up("problem", name, PROBLEMS).constructor
    known = tuple(inspect.signature(constructor).parameters)
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise ValueError(f"{name} needs settings among {', '.join(known)}, got {unknown[0]!r}")
    return constructor(**settings)
