"""Small bandits and policies, each beside its definition, for the tests of the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

import definitions
from definitions import IndexRule, KernelFormula, TimedWidthFormula, WidthFormula
from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.experiment.engines import resolve_engine
from kernelbandits.exploration import Bernoulli, Step
from kernelbandits.kernels import RBF, Kernel, Linear, Matern
from kernelbandits.policies import (
    AMMUCB,
    GPUCB,
    IGPUCB,
    GenericGP,
    IndexPolicy,
    SimpleBernoulli,
    SimpleCategorical,
    SimpleGaussian,
    SimpleMixture,
    SimpleUCB,
    WhitehouseUCB,
)
from kernelbandits.problems import GaussianNoise, Instance
from kernelbandits.streams import Streams
from kernelbandits.verification.laws import LAWS, WeightLaw, coin, normal

NOISE_SCALE, NORM_BOUND, RIDGE = 0.7, 1.3, 0.6
# None of these numbers is 1: with 1, a factor that was forgotten would not show.
SCALES: dict[str, Any] = {"noise_scale": NOISE_SCALE, "norm_bound": NORM_BOUND}
KERNELS: Mapping[str, tuple[Kernel, KernelFormula]] = {
    "RBF(0.25)": (RBF(0.25), definitions.rbf(0.25)),
    "Matern(0.3)": (Matern(0.3, nu=2.5), definitions.matern(0.3)),
    "linear": (Linear(), definitions.linear),
}
ENGINES = ("numpy", "numba") if resolve_engine("auto") == "numba" else ("numpy",)
"""Asking and telling, and the compiled loop where numba is installed."""


@dataclass(frozen=True, eq=False)
class ReferenceBandit:
    """A bandit with Gaussian noise, its kernel matrix and the reward of each round."""

    kernel: Kernel
    instance: Instance
    gram: Array
    streams: Streams

    def rewards(self, arms: Any) -> Array:
        """Y_t = f(X_t) + R Phi^-1(u_t), u_t of the column "noise"."""
        law = normal(0.0, NOISE_SCALE)
        noise = [law.quantile(float(u)) for u in self.streams.uniforms("noise", len(arms))]
        return np.asarray(self.instance.values[arms] + noise)

    @property
    def points(self) -> Array:
        return self.instance.domain.points


def reference_bandit(seed: int, kernel: str = "RBF(0.25)", arms: int = 20) -> ReferenceBandit:
    """Arms in a square of the plane, f of norm D exactly."""
    streams = Streams(seed)
    rng, (used, formula) = streams.generator(6, list(KERNELS).index(kernel)), KERNELS[kernel]
    points, centres = (rng.random((count, 2)) / np.sqrt(2) for count in (arms, 8))
    values = definitions.function_of_norm(
        NORM_BOUND, formula, points, centres, rng.standard_normal(8)
    )
    instance = Instance("reference", Arms(points), values, GaussianNoise(NOISE_SCALE))
    return ReferenceBandit(used, instance, formula(points, points), streams)


def step_schedule(horizon: int) -> tuple[Step, Callable[[int], WeightLaw]]:
    """The paper's schedule: Ber(1/2) in the first half of the rounds, Ber(1/4) after."""
    early, late, change = coin(0.5), coin(0.25), horizon // 2
    return Step(Bernoulli(0.5), Bernoulli(0.25), change), lambda t: early if t <= change else late


@dataclass(frozen=True, eq=False)
class PolicyCase:
    """A policy as the package builds it, beside the rule that it must follow."""

    constructor: Callable[..., IndexPolicy]
    rule: IndexRule
    settings: Mapping[str, Any] = field(default_factory=dict)
    ties: str = "lowest"
    kernel: str = "RBF(0.25)"

    def policy(self, bandit: ReferenceBandit) -> IndexPolicy:
        given = {**SCALES, "ties": self.ties, **self.settings}
        return self.constructor(bandit.instance.domain, bandit.kernel, **given)

    @property
    def optimist(self) -> bool:
        """Whether w = 1 in every round."""
        return self.rule.law(1) is LAWS["w = 1"][1]


def randomised_case(
    constructor: Any, law: WeightLaw | Callable[[int], WeightLaw], **settings: Any
) -> PolicyCase:
    """A member of the paper's family, at a ridge that is not the paper's."""
    width = definitions.self_normalised(NOISE_SCALE, NORM_BOUND, RIDGE, delta=0.5)
    schedule = (lambda t: law) if isinstance(law, WeightLaw) else law
    rule = IndexRule(RIDGE, definitions.every_round(width), schedule)
    return PolicyCase(constructor, rule, {"ridge": RIDGE, **settings})


def ucb_case(constructor: Any, ridge: float, width: WidthFormula, /, **settings: Any) -> PolicyCase:
    """A rule with w = 1."""
    return timed_case(constructor, ridge, definitions.every_round(width), **settings)


def timed_case(
    constructor: Any, ridge: float, width: TimedWidthFormula, /, **settings: Any
) -> PolicyCase:
    """A rule with w = 1 whose width depends on the round."""
    return PolicyCase(constructor, IndexRule(ridge, width, lambda t: LAWS["w = 1"][1]), settings)


@cache
def policy_cases(horizon: int, seed: int = 0) -> Mapping[str, PolicyCase]:
    """The paper's policies and their nearest rivals, by title."""
    return {**chosen_settings(horizon), **default_settings(horizon), **timed(horizon, seed)}


def chosen_settings(horizon: int) -> dict[str, PolicyCase]:
    """Policies with settings that are not the defaults."""
    scales, (schedule, law_at) = (NOISE_SCALE, NORM_BOUND), step_schedule(horizon)
    signed, foreign = LAWS["-1, 1/2 or 2"], LAWS["N(0.2, 0.8^2) by its ppf"]
    shared = LAWS["0.4 at 1, else N(0, 1)"][1]
    own, whitehouse = {"ridge": RIDGE, "delta": 0.1}, (*scales, RIDGE, 0.1)
    return {
        "Simple-UCB, ridge 1": ucb_case(
            SimpleUCB, 1.0, definitions.self_normalised(*scales, 1.0, 0.5)
        ),
        "Simple-UCB": randomised_case(SimpleUCB, LAWS["w = 1"][1]),
        "Simple-Bernoulli": replace(
            randomised_case(SimpleBernoulli, LAWS["Ber(0.3)"][1], p=0.3), ties="random"
        ),
        "Simple-Gaussian": randomised_case(SimpleGaussian, LAWS["N(0, 1)"][1]),
        "Simple-Categorical": randomised_case(SimpleCategorical, LAWS["i/4, i = 1..4"][1]),
        "Simple-Mixture": randomised_case(SimpleMixture, shared, rho=0.4),
        "Generic-GP, Ber(1/2) then Ber(1/4)": randomised_case(
            GenericGP, law_at, exploration=schedule
        ),
        "Generic-GP, w = -1, 1/2 or 2": randomised_case(
            GenericGP, signed[1], exploration=signed[0]
        ),
        "Generic-GP, N(0.2, 0.8^2) by its ppf": randomised_case(
            GenericGP, foreign[1], exploration=foreign[0]
        ),
        "Whitehouse": ucb_case(
            WhitehouseUCB, RIDGE, definitions.self_normalised(*whitehouse), **own
        ),
        "IGP-UCB": ucb_case(
            IGPUCB, 1 + 2 / horizon, definitions.improved(*scales, 0.1), horizon=horizon, delta=0.1
        ),
        "AMM-UCB": ucb_case(AMMUCB, RIDGE, definitions.mixture(*whitehouse), **own),
    }


def default_settings(horizon: int) -> dict[str, PolicyCase]:
    """Policies told R, D and what they cannot do without; the rest is the documented default."""
    scales, matern = (NOISE_SCALE, NORM_BOUND), horizon ** (2 / (2 * 2.5 + 2 * 2))
    half = definitions.every_round(definitions.self_normalised(*scales, 1.0, 0.5))
    mixed = WeightLaw(((0.5, 1.0, 0.0), (0.5, 0.0, 1.0)))
    tuned = ucb_case(
        WhitehouseUCB,
        matern,
        definitions.self_normalised(*scales, matern, 0.1),
        ridge="matern",
        horizon=horizon,
    )
    return {
        "Simple-Bernoulli by default": PolicyCase(
            SimpleBernoulli, IndexRule(1.0, half, lambda t: coin(0.5))
        ),
        "Simple-Mixture by default": PolicyCase(
            SimpleMixture, IndexRule(1.0, half, lambda t: mixed)
        ),
        "Whitehouse by default": ucb_case(
            WhitehouseUCB, 1.0, definitions.self_normalised(*scales, 1.0, 0.1)
        ),
        "Whitehouse, ridge T^(d/(2 nu + 2 d))": replace(tuned, kernel="Matern(0.3)"),
        "IGP-UCB by default": ucb_case(
            IGPUCB, 1 + 2 / horizon, definitions.improved(*scales, 0.1), horizon=horizon
        ),
        "AMM-UCB by default": ucb_case(AMMUCB, 1.0, definitions.mixture(*scales, 1.0, 0.1)),
    }


def timed(horizon: int, seed: int) -> dict[str, PolicyCase]:
    """Widths that depend on the round.

    beta_t of Srinivas et al. is taken times 1/1000; at its full size it would outweigh all else.
    """
    gram, own, square = reference_bandit(seed).gram, 1 + 2 / horizon, NOISE_SCALE**2
    gains = definitions.greedy_gains(gram, square, horizon + 1)
    own_gains = definitions.greedy_gains(gram, own, horizon)
    return {
        "GP-UCB, finite": timed_case(GPUCB, square, definitions.finite_arms(len(gram), 0.1)),
        "GP-UCB, rkhs, greedy gain": timed_case(
            GPUCB,
            square,
            definitions.agnostic(NORM_BOUND, 0.1, gains, 1e-3),
            schedule="rkhs",
            gain="greedy",
            beta_scale=1e-3,
        ),
        "IGP-UCB, greedy gain": timed_case(
            IGPUCB,
            own,
            definitions.improved_by_gain(NOISE_SCALE, NORM_BOUND, 0.1, own_gains),
            horizon=horizon,
            gain="greedy",
        ),
    }
