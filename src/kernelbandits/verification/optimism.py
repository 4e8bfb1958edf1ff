"""Optimism: the largest index reaches the optimum often enough.

The anti-concentration lemma says P(max_x index_t(x) >= f(x*)) >= C1 / 2 in every round, where
C1 = P(w >= 1). Where the self-normalised bound holds, the probability is at least C1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.exploration import Gaussian
from kernelbandits.kernels import RBF
from kernelbandits.policies import GenericGP
from kernelbandits.problems import GaussianNoise, Instance, Noise, RademacherNoise
from kernelbandits.streams import Streams
from kernelbandits.verification.laws import LAWS, WeightLaw
from kernelbandits.verification.scenarios import function_of_norm
from kernelbandits.verification.statements import CheckedStatement, Effort, standard_error

NORM_BOUND, KERNEL = 1.0, RBF(0.3)
TAIL_POINTS = (0.05, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
DRAWS = 4000
PLAYED_LAWS = ("w = 1", "Ber(0.3)", "N(0, 1)", "0.4 at 1, else N(0, 1)")
ERRORS = 4.0
"""Standard errors by which a frequency may miss its probability."""


def check_optimism(effort: Effort) -> Iterator[CheckedStatement]:
    yield check_normal_tail()
    for number, (title, (law, definition)) in enumerate(LAWS.items()):
        uniforms = Streams(effort.seed).generator(10, number).random(DRAWS)
        yield check_optimism_of_law(title, law, definition, uniforms)
    for title in PLAYED_LAWS:
        yield from check_lemma(title, effort)


def check_normal_tail() -> CheckedStatement:
    """Check the two bounds of the normal tail.

    z phi(z) / (z^2 + 1) <= P(Z > z) <= exp(-z^2 / 2) / 2
    """
    tails = {z: Gaussian(0.0, 1.0).tail(z) for z in TAIL_POINTS}
    lower = {z: z / (z * z + 1) * normal_density(z) for z in TAIL_POINTS}
    upper = {z: math.exp(-z * z / 2) / 2 for z in TAIL_POINTS}
    return CheckedStatement(
        "The normal tail satisfies z phi(z)/(z^2 + 1) <= P(Z > z) <= exp(-z^2/2)/2 "
        f"at {len(TAIL_POINTS)} values of z",
        f"z = 1: between {lower[1.0]:.6f} and {upper[1.0]:.6f}",
        f"{tails[1.0]:.6f}",
        holds=all(lower[z] <= tails[z] <= upper[z] for z in TAIL_POINTS),
        detail=f"z from {TAIL_POINTS[0]} to {TAIL_POINTS[-1]:g}; proved, so no tolerance",
    )


def normal_density(z: float) -> float:
    """Return phi(z)."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def check_optimism_of_law(
    title: str, law: Any, definition: WeightLaw, uniforms: Array
) -> CheckedStatement:
    """Check C1 as the law computes it, by its definition, and as a frequency of its draws."""
    frequency = float(np.mean(law.draw(uniforms) >= 1))
    exact = definition.optimism
    tolerance = ERRORS * standard_error(exact, len(uniforms))
    return CheckedStatement(
        f"C1 = P(w >= 1) of the law {title}",
        f"{exact:.6f}",
        f"computed {law.optimism:.6f}, frequency {frequency:.4f}",
        holds=abs(law.optimism - exact) <= 1e-12 and abs(frequency - exact) <= tolerance + 1e-12,
        detail=f"computed: 1e-12; frequency: 4 standard errors = {tolerance:.4f}, "
        f"{len(uniforms)} draws",
    )


# The lemma, simulated.


def draw_smooth(rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw twelve arms in the plane and a random f of norm D."""
    points, centres = rng.random((12, 2)), rng.random((6, 2))
    coefficients = rng.standard_normal(6)
    return points, function_of_norm(NORM_BOUND, KERNEL, points, centres, coefficients)


def draw_hidden(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return two similar arms and an f that stays hidden while only the first is played.

    f = D (k(., x2) - r k(., x1)) / sqrt(1 - r^2) with r = k(x1, x2) = 0.95. Rewards of x1 say
    nothing about f(x2) = D sqrt(1 - r^2), and the bound f <= mean + width sd is as tight as it can
    be: a width that forgets D, or uses the variance for the sd, ends below f(x2).
    """
    points = np.array([[0.0], [0.3 * math.sqrt(-2 * math.log(0.95))]])
    coefficients = np.array([-KERNEL(points, points)[0, 1], 1.0])
    return points, function_of_norm(NORM_BOUND, KERNEL, points, points, coefficients)


@dataclass(frozen=True)
class LemmaSetting:
    """Functions of norm D, what the policy is told, and the rounds that are looked at."""

    name: str
    draw: Callable[[np.random.Generator], tuple[Array, Array]]
    """Random generator -> points, and f on them."""
    noise_scale: float
    ridge: float
    rounds: tuple[int, ...]


SETTINGS = (
    LemmaSetting("smooth f", draw_smooth, 0.5, 1.0, (1, 2, 5, 15)),
    LemmaSetting("hidden f", draw_hidden, 0.01, 0.01, (1, 2, 3, 4)),
)
NOISES: Mapping[str, Callable[[float], Noise]] = {
    "Gaussian": GaussianNoise,
    "Rademacher": RademacherNoise,
}


@dataclass(frozen=True)
class IndexObservation:
    """What was seen in one round of one run."""

    reached: bool
    """max_x index(x) >= f(x*), with the weight drawn."""
    bound_holds: bool
    """Whether the self-normalised bound held in the rounds before."""
    reached_with_one: bool
    """max_x index(x) >= f(x*), with w = 1."""


Observations = dict[tuple[str, str, int], list[IndexObservation]]
"""(setting, noise, round) -> one observation for each run."""


def check_lemma(title: str, effort: Effort) -> Iterator[CheckedStatement]:
    optimism, runs = LAWS[title][1].optimism, effort.runs(300, least=80)
    observations: Observations = {}
    for number, (setting, noise) in enumerate(product(SETTINGS, NOISES)):
        seeds = Streams(effort.seed).generator(9, number).integers(2**40, size=runs).tolist()
        for t in setting.rounds:
            observations[setting.name, noise, t] = []
        for seed in seeds:
            law, scaled = LAWS[title][0], NOISES[noise](setting.noise_scale)
            for t, seen in observe_run(setting, scaled, law, Streams(seed)):
                observations[setting.name, noise, t].append(seen)
    yield check_least_frequency(
        f"Law {title}: in every round P(max index >= f(x*)) >= C1/2", optimism / 2, observations
    )
    bound_held = {
        key: [one for one in seen if one.bound_holds] for key, seen in observations.items()
    }
    yield check_least_frequency(
        f"Law {title}: given that the self-normalised bound holds, P(max index >= f(x*)) >= C1",
        optimism,
        bound_held,
    )
    yield check_always_reached(
        f"Law {title}: given that bound, the index with w = 1 always reaches f(x*)",
        [*chain(*bound_held.values())],
    )


def observe_run(
    setting: LemmaSetting, noise: Noise, exploration: Any, streams: Streams
) -> Iterator[tuple[int, IndexObservation]]:
    """Let Generic-GP play one run, and look at the chosen rounds."""
    points, values = setting.draw(streams.generator(7))
    policy = GenericGP(
        points,
        KERNEL,
        exploration,
        noise_scale=setting.noise_scale,
        norm_bound=NORM_BOUND,
        ridge=setting.ridge,
        ties="lowest",
    )
    instance = Instance("optimism", Arms(points), values, noise)
    gram, best = KERNEL(points, points), values.max()
    arms: list[int] = []
    errors: list[float] = []
    for t in range(1, setting.rounds[-1] + 1):
        choice = policy.ask(t, streams)
        arm = int(choice.arm or 0)
        if t in setting.rounds:
            reached, with_one = (
                bool(policy.index(t, w).max() >= best) for w in (choice.note["weight"], 1.0)
            )
            held = bound_holds(setting, gram[np.ix_(arms, arms)], np.array(errors))
            yield t, IndexObservation(reached, held, with_one)
        reward = instance.pull(arm, streams.uniform("noise", t), t)
        policy.tell(choice, reward)
        arms.append(arm)
        errors.append(reward - values[arm])


def bound_holds(setting: LemmaSetting, played: Array, errors: Array) -> bool:
    """Tell whether the noise is within its bound, K over the arms played, e their noise.

    e' K (K + ridge I)^-1 e <= R^2 (2 ln 2 + L)
    """
    identity = np.eye(len(played))
    square = float(errors @ played @ np.linalg.solve(played + setting.ridge * identity, errors))
    log_det = float(np.linalg.slogdet(identity + played / setting.ridge)[1])
    return square <= setting.noise_scale**2 * (2 * math.log(2) + log_det)


def check_least_frequency(
    statement: str, probability: float, observations: Observations
) -> CheckedStatement:
    """Check that in every setting, noise and round the optimum is reached often enough."""
    shares = {key: float(np.mean([o.reached for o in seen])) for key, seen in observations.items()}
    tolerance = {
        key: ERRORS * standard_error(probability, max(1, len(seen)))
        for key, seen in observations.items()
    }
    setting, noise, t = min(shares, key=shares.__getitem__)
    return CheckedStatement(
        statement,
        f">= {probability:.4f}, less 4 standard errors = {max(tolerance.values()):.3f}",
        f"at least {min(shares.values()):.3f} ({setting}, {noise} noise, t = {t})",
        holds=all(share >= probability - tolerance[key] for key, share in shares.items()),
        detail=f"{len(observations)} combinations of function, noise and round, "
        f"each with {min(map(len, observations.values()))} runs or more",
    )


def check_always_reached(statement: str, seen: list[IndexObservation]) -> CheckedStatement:
    below = sum(not one.reached_with_one for one in seen)
    return CheckedStatement(
        statement,
        "never below f(x*)",
        f"{below} of {len(seen)} below",
        holds=bool(seen) and not below,
        detail="follows from the bound, so no tolerance",
    )
