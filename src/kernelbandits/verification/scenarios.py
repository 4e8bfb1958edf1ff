"""Problems whose true function and noise just satisfy the assumptions of the confidence bands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.kernels import RBF, Kernel, Linear
from kernelbandits.problems import (
    GaussianNoise,
    Instance,
    MovingInstance,
    Noise,
    ParetoNoise,
    RademacherNoise,
    RKHSFunction,
)
from kernelbandits.problems.base import problem_generator
from kernelbandits.streams import Streams

LINEAR = Linear()
ORTHONORMAL_ARMS = Arms(np.eye(10))
HALF_CIRCLE = Arms([(math.cos(a), math.sin(a)) for a in np.pi * np.arange(12) / 12])
DRIFT_RATE, RESTART_PERIOD, FORGETTING = 0.05, 15, 0.95
"""Settings of TV-GP-UCB, R-GP-UCB and WGP-UCB, and of the functions that move with them."""


def function_of_norm(
    norm: float, kernel: Kernel, points: Array, centres: Array, coefficients: Array
) -> Array:
    """Return the values at the points of D f / ||f||, f = sum_i a_i k(., z_i).

    ||f||^2 = a' K a
    """
    size = math.sqrt(coefficients @ kernel(centres, centres) @ coefficients)
    return kernel(points, centres) @ coefficients * (norm / size)


@dataclass(frozen=True)
class Scenario:
    """A family of problems, one for each seed, and how they are played."""

    name: str
    draw: Callable[[Scenario, Streams], Instance]
    horizon: int
    runs: int
    noise_scale: float = 1.0
    """R, as the policy is told it."""
    norm_bound: float = 0.05
    """D, as the policy is told it; the true function has exactly this norm."""
    kernel: Kernel = LINEAR
    adversarial: bool = False
    """Play the arm with the largest error |f - mean| / sd instead of the policy's choice.

    That is allowed where the theory holds for every sequence of arms. It makes the band fail
    wherever it can.
    """
    law: Callable[[float], Noise] | None = None
    """R -> the law of the noise; by default N(0, R^2) and +-R in turn."""

    def noise(self, seed: int) -> Noise:
        law = self.law or (RademacherNoise, GaussianNoise)[seed % 2]
        return law(self.noise_scale)

    def instance(self, streams: Streams) -> Instance:
        return self.draw(self, streams)


def random_direction(scenario: Scenario, streams: Streams) -> Instance:
    """Return orthonormal arms and an f in a random direction, |f| = D."""
    direction = problem_generator(streams).standard_normal(len(ORTHONORMAL_ARMS))
    values = scenario.norm_bound * direction / np.linalg.norm(direction)
    return Instance(scenario.name, ORTHONORMAL_ARMS, values, scenario.noise(streams.seed))


def linear_on_circle(scenario: Scenario, streams: Streams) -> Instance:
    """Return arms on a half circle and f = x . theta, |theta| = D."""
    angle = 2 * math.pi * problem_generator(streams).random()
    values = scenario.norm_bound * HALF_CIRCLE.points @ (math.cos(angle), math.sin(angle))
    return Instance(scenario.name, HALF_CIRCLE, values, scenario.noise(streams.seed))


def one_good_arm(scenario: Scenario, streams: Streams) -> Instance:
    """Return an f that is D on one of the orthonormal arms, and 0 on the others.

    Before the first reward |f - mean| = D sd there.
    """
    values = scenario.norm_bound * np.eye(len(ORTHONORMAL_ARMS))[streams.seed % 10]
    return Instance(scenario.name, ORTHONORMAL_ARMS, values, scenario.noise(streams.seed))


def smooth_function(scenario: Scenario, streams: Streams) -> Instance:
    """Return f = sum a_i k(., z_i) on twelve arms of the unit interval, |f| = D."""
    noise = scenario.noise(streams.seed)
    problem = RKHSFunction(scenario.kernel, 1, 12, 6, scenario.norm_bound, noise)
    return problem.instance(streams)


def prior_sample(scenario: Scenario, streams: Streams) -> Instance:
    """Draw f from the Gaussian process that the kernel defines."""
    values = problem_generator(streams).standard_normal(len(ORTHONORMAL_ARMS))
    return Instance(scenario.name, ORTHONORMAL_ARMS, values, scenario.noise(streams.seed))


def moving_sample(
    scenario: Scenario, streams: Streams, renewed: Callable[[int], float]
) -> MovingInstance:
    """Return a moving f_t; f_1 and all g_t are independent standard normals.

    f_t = sqrt(1 - r_t) f_{t-1} + sqrt(r_t) g_t
    """
    rng, arms = problem_generator(streams), len(ORTHONORMAL_ARMS)
    first = rng.standard_normal(arms)

    def path() -> Iterator[Array]:
        f = first
        for t in range(2, scenario.horizon + 1):
            share = renewed(t)
            f = math.sqrt(1 - share) * f + math.sqrt(share) * rng.standard_normal(arms)
            yield f

    noise = scenario.noise(streams.seed)
    return MovingInstance(scenario.name, ORTHONORMAL_ARMS, first, noise, path=path())


def drifting_sample(scenario: Scenario, streams: Streams) -> Instance:
    """Return an f of which a fixed share is renewed in every round."""
    return moving_sample(scenario, streams, lambda t: DRIFT_RATE)


def jumping_sample(scenario: Scenario, streams: Streams) -> Instance:
    """Return an f that is a new one after every `RESTART_PERIOD` rounds."""
    return moving_sample(scenario, streams, lambda t: float(t % RESTART_PERIOD == 1))


def true_values(instance: Instance, t: int) -> Any:
    """Return f_t on all arms."""
    return instance.at(t) if isinstance(instance, MovingInstance) else instance.values


# name, problems, rounds, runs
ADVERSARIAL = Scenario("adversarial arms", random_direction, 60, 300, adversarial=True)
OWN_ARMS = Scenario("own arms", smooth_function, 40, 60, norm_bound=0.1, kernel=RBF(0.15))
NORM_ONLY = Scenario("nearly no noise", one_good_arm, 4, 20, noise_scale=0.01, norm_bound=1.0)
CIRCLE = Scenario("adversarial arms", linear_on_circle, 60, 300, adversarial=True)
LARGE_NORM = Scenario(
    "adversarial arms, D = R", random_direction, 90, 150, norm_bound=1.0, adversarial=True
)
BOUNDED_NOISE = Scenario(
    "adversarial arms", random_direction, 40, 40, adversarial=True, law=RademacherNoise
)
OWN_DESIGN = Scenario("own arms", random_direction, 60, 300)
NO_NOISE = Scenario(
    "no noise", smooth_function, 40, 40, noise_scale=0.0, norm_bound=1.0, kernel=RBF(0.15)
)
PRIOR = Scenario("f ~ GP", prior_sample, 60, 300, law=GaussianNoise)
DRIFTING = Scenario("f_t a Markov chain of GPs", drifting_sample, 60, 200, law=GaussianNoise)
JUMPING = Scenario(
    f"a new f ~ GP every {RESTART_PERIOD} rounds", jumping_sample, 60, 200, law=GaussianNoise
)
HEAVY_TAILS = Scenario(
    "tails of index 1.8",
    random_direction,
    60,
    100,
    adversarial=True,
    law=lambda scale: ParetoNoise(scale, 1.8),
)
NOISE_KNOWN = Scenario(
    "sigma = R", linear_on_circle, 60, 120, norm_bound=0.2, adversarial=True, law=GaussianNoise
)
NOISE_HALF = Scenario(
    "sigma = R/2",
    linear_on_circle,
    150,
    20,
    norm_bound=0.2,
    adversarial=True,
    law=lambda scale: GaussianNoise(scale / 2),
)
