"""What the engine is asked to play before the judges: small bandits, laws and policies, each beside its definition."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.experiment.engines import chosen_engine
from kernelbandits.exploration import (
    Bernoulli,
    Categorical,
    DiscretisedGaussian,
    Frozen,
    Gaussian,
    Mixture,
    PointMass,
    Step,
)
from kernelbandits.judges import oracle
from kernelbandits.judges.oracle import Alike, Rule, Weights
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

NOISE_SCALE, NORM_BOUND, RIDGE = 0.7, 1.3, 0.6
"""None of them 1, where a forgotten factor would not show."""
KERNELS: Mapping[str, tuple[Kernel, Alike]] = {
    "RBF(0.25)": (RBF(0.25), oracle.rbf(0.25)),
    "Matern(0.3)": (Matern(0.3, nu=2.5), oracle.matern(0.3)),
    "linear": (Linear(), oracle.linear),
}


def engines() -> tuple[str, ...]:
    """Ask and tell, and the compiled loop where numba is installed."""
    return ("numpy", "numba") if chosen_engine("auto") == "numba" else ("numpy",)


@dataclass(frozen=True, eq=False)
class Stage:
    """A bandit with Gaussian noise, and its definition: K over the arms, f on them, the reward of each round."""

    kernel: Kernel
    instance: Instance
    gram: Array
    streams: Streams

    def rewards(self, arms: Any) -> Array:
        """Y_t = f(X_t) + R Phi^-1(u_t), u_t of the column "noise"."""
        law = oracle.normal(0.0, NOISE_SCALE)
        noise = [law.quantile(float(u)) for u in self.streams.uniforms("noise", len(arms))]
        return np.asarray(self.instance.values[arms] + noise)


def stage(seed: int, kernel: str = "RBF(0.25)", arms: int = 20) -> Stage:
    """Arms in a ball of the plane, f of norm D exactly."""
    streams = Streams(seed)
    rng, (played, alike) = streams.generator(6, list(KERNELS).index(kernel)), KERNELS[kernel]
    points, centres = (rng.random((count, 2)) / np.sqrt(2) for count in (arms, 8))
    values = oracle.function_of_norm(NORM_BOUND, alike, points, centres, rng.standard_normal(8))
    instance = Instance("judged", Arms(points), values, GaussianNoise(NOISE_SCALE))
    return Stage(played, instance, alike(points, points), streams)


@dataclass(frozen=True)
class Foreign:
    """A law of somebody else's: no more than `cdf` and `ppf`."""

    weights: Weights

    def cdf(self, x: float) -> float:
        return float(self.weights.at_most(np.array(x)))

    def ppf(self, u: Any) -> Any:
        return np.vectorize(self.weights.quantile, otypes=[float])(u)


class Counting(Foreign):
    """One whose values are whole numbers, and which knows their chances."""

    def pmf(self, x: Any) -> Any:
        chances = self.weights.at_most(np.asarray(x)) - self.weights.below(np.asarray(x))
        return chances if np.ndim(x) else float(chances)

    def cdf(self, x: Any) -> Any:
        return self.weights.at_most(np.asarray(x))


def bells(points: int, scale: float, upper: float, top: float) -> Weights:
    """z_m = upper m / (M - 1), m = 0..M-1: the last with chance `top`, the others as exp(-z^2 / (2 scale^2))."""
    values = [upper * m / (points - 1) for m in range(points)]
    sizes = [math.exp(-((z / scale) ** 2) / 2) for z in values[:-1]]
    return oracle.atoms([*((1 - top) * size / sum(sizes) for size in sizes), top], values)


WHOLE = oracle.atoms((0.15, 0.35, 0.3, 0.2), (-1.0, 0.0, 1.0, 2.0))
SHARED = Weights(((0.4, 1.0, 0.0), (0.6, 0.0, 1.0)))
LAWS: Mapping[str, tuple[Any, Weights]] = {
    "w = 1": (PointMass(1.0), oracle.atoms((1.0,), (1.0,))),
    "Ber(0.3)": (Bernoulli(0.3), oracle.atoms((0.7, 0.3), (0.0, 1.0))),
    "N(0, 1)": (Gaussian(0.0, 1.0), oracle.normal()),
    "i/4, i = 1..4": (Categorical((0.25,) * 4), oracle.atoms((0.25,) * 4, (0.25, 0.5, 0.75, 1.0))),
    "-1, 1/2 or 2": (
        Categorical((0.3, 0.3, 0.4), support=(-1.0, 0.5, 2.0)),
        oracle.atoms((0.3, 0.3, 0.4), (-1.0, 0.5, 2.0)),
    ),
    "0.4 at 1, else N(0, 1)": (Mixture((0.4, 0.6), (PointMass(1.0), Gaussian(0.0, 1.0))), SHARED),
    "N(0.2, 0.8^2) by its ppf": (Frozen(Foreign(oracle.normal(0.2, 0.8))), oracle.normal(0.2, 0.8)),
    "2, -1 or 1/2, unsorted": (
        Categorical((0.2, 0.5, 0.3), support=(2.0, -1.0, 0.5)),
        oracle.atoms((0.5, 0.3, 0.2), (-1.0, 0.5, 2.0)),
    ),
    "a bell on 0, 0.3, ..., 1.2": (DiscretisedGaussian(5, 0.5, 1.2, 0.1), bells(5, 0.5, 1.2, 0.1)),
    "-1, 0, 1 or 2 by its pmf": (Frozen(Counting(WHOLE)), WHOLE),
}


def step(horizon: int) -> tuple[Step, Callable[[int], Weights]]:
    """The paper's schedule, Ber(1/2) for the first half of the rounds and Ber(1/4) after."""
    early, late = oracle.atoms((0.5, 0.5), (0.0, 1.0)), oracle.atoms((0.75, 0.25), (0.0, 1.0))
    change = horizon // 2
    return Step(Bernoulli(0.5), Bernoulli(0.25), change), lambda t: early if t <= change else late


@dataclass(frozen=True, eq=False)
class Case:
    """A policy as the engine builds it, beside the rule it must follow."""

    title: str
    constructor: Callable[..., IndexPolicy]
    rule: Rule
    settings: Mapping[str, Any] = field(default_factory=dict)
    ties: str = "lowest"
    kernel: str = "RBF(0.25)"

    def policy(self, stage: Stage) -> IndexPolicy:
        told = {"noise_scale": NOISE_SCALE, "norm_bound": NORM_BOUND, "ties": self.ties}
        return self.constructor(stage.instance.domain, stage.kernel, **told, **self.settings)


def member(
    title: str, constructor: Any, law: Weights | Callable[[int], Weights], **settings: Any
) -> Case:
    """Of the paper's family, at a ridge that is not the paper's."""
    width = oracle.self_normalised(NOISE_SCALE, NORM_BOUND, RIDGE, delta=0.5)
    schedule = (lambda t: law) if isinstance(law, Weights) else law
    return Case(
        title,
        constructor,
        Rule(RIDGE, oracle.steady(width), schedule),
        {"ridge": RIDGE, **settings},
    )


def optimist(
    title: str, constructor: Any, ridge: float, width: oracle.Width, /, **settings: Any
) -> Case:
    """A rule with w = 1."""
    return timed(title, constructor, ridge, oracle.steady(width), **settings)


def timed(
    title: str, constructor: Any, ridge: float, width: oracle.TimedWidth, /, **settings: Any
) -> Case:
    """A rule with w = 1 whose width looks at the round."""
    return Case(title, constructor, Rule(ridge, width, lambda t: LAWS["w = 1"][1]), settings)


def cases(horizon: int) -> tuple[Case, ...]:
    """The paper's policies and their nearest rivals."""
    told, schedule = (NOISE_SCALE, NORM_BOUND), step(horizon)
    signed, foreign = LAWS["-1, 1/2 or 2"], LAWS["N(0.2, 0.8^2) by its ppf"]
    random = member("Simple-Bernoulli", SimpleBernoulli, LAWS["Ber(0.3)"][1], p=0.3)
    return (
        optimist("Simple-UCB, ridge 1", SimpleUCB, 1.0, oracle.self_normalised(*told, 1.0, 0.5)),
        member("Simple-UCB", SimpleUCB, LAWS["w = 1"][1]),
        Case(random.title, random.constructor, random.rule, random.settings, ties="random"),
        member("Simple-Gaussian", SimpleGaussian, LAWS["N(0, 1)"][1]),
        member("Simple-Categorical", SimpleCategorical, LAWS["i/4, i = 1..4"][1]),
        member("Simple-Mixture", SimpleMixture, SHARED, rho=0.4),
        member(
            "Generic-GP, Ber(1/2) then Ber(1/4)", GenericGP, schedule[1], exploration=schedule[0]
        ),
        member("Generic-GP, w = -1, 1/2 or 2", GenericGP, signed[1], exploration=signed[0]),
        member(
            "Generic-GP, N(0.2, 0.8^2) by its ppf", GenericGP, foreign[1], exploration=foreign[0]
        ),
        optimist(
            "Whitehouse",
            WhitehouseUCB,
            RIDGE,
            oracle.self_normalised(*told, RIDGE, 0.1),
            ridge=RIDGE,
            delta=0.1,
        ),
        optimist(
            "IGP-UCB",
            IGPUCB,
            1 + 2 / horizon,
            oracle.improved(*told, 0.1),
            horizon=horizon,
            delta=0.1,
        ),
        optimist("AMM-UCB", AMMUCB, RIDGE, oracle.mixed(*told, RIDGE, 0.1), ridge=RIDGE, delta=0.1),
    )


def defaults(horizon: int) -> tuple[Case, ...]:
    """Policies told R, D and what they cannot do without: the rest is as the catalogue documents it."""
    told, matern = (NOISE_SCALE, NORM_BOUND), horizon ** (2 / (2 * 2.5 + 2 * 2))
    half = oracle.steady(oracle.self_normalised(*told, 1.0, 0.5))
    coin, mixed = oracle.atoms((0.5, 0.5), (0.0, 1.0)), Weights(((0.5, 1.0, 0.0), (0.5, 0.0, 1.0)))
    eigen = oracle.steady(oracle.self_normalised(*told, matern, 0.1))
    tuned = timed(
        "Whitehouse, ridge T^(d/(2 nu + 2 d))",
        WhitehouseUCB,
        matern,
        eigen,
        ridge="matern",
        horizon=horizon,
    )
    return (
        Case("Simple-Bernoulli as it comes", SimpleBernoulli, Rule(1.0, half, lambda t: coin)),
        Case("Simple-Mixture as it comes", SimpleMixture, Rule(1.0, half, lambda t: mixed)),
        optimist(
            "Whitehouse as it comes", WhitehouseUCB, 1.0, oracle.self_normalised(*told, 1.0, 0.1)
        ),
        replace(tuned, kernel="Matern(0.3)"),
        optimist(
            "IGP-UCB as it comes",
            IGPUCB,
            1 + 2 / horizon,
            oracle.improved(*told, 0.1),
            horizon=horizon,
        ),
        optimist("AMM-UCB as it comes", AMMUCB, 1.0, oracle.mixed(*told, 1.0, 0.1)),
    )


def paced(where: Stage, horizon: int) -> tuple[Case, ...]:
    """Widths that look at the round; 1/1000 of Srinivas et al.'s beta_t, lest it drown all else."""
    told, own, square = (NOISE_SCALE, NORM_BOUND), 1 + 2 / horizon, NOISE_SCALE**2
    agnostic = oracle.agnostic(
        NORM_BOUND, 0.1, oracle.greedy_gains(where.gram, square, horizon + 1), 1e-3
    )
    improved = oracle.improved_by(*told, 0.1, oracle.greedy_gains(where.gram, own, horizon))
    return (
        timed("GP-UCB, finite", GPUCB, square, oracle.finite(len(where.gram), 0.1)),
        timed(
            "GP-UCB, rkhs, greedy gain",
            GPUCB,
            square,
            agnostic,
            schedule="rkhs",
            gain="greedy",
            beta_scale=1e-3,
        ),
        timed("IGP-UCB, greedy gain", IGPUCB, own, improved, horizon=horizon, gain="greedy"),
    )
