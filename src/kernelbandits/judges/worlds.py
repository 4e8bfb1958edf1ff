"""Games whose truth lies exactly at the premises of the confidence bands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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
BASIS = Arms(np.eye(10))
CIRCLE = Arms([(math.cos(a), math.sin(a)) for a in np.pi * np.arange(12) / 12])


@dataclass(frozen=True)
class World:
    """Games whose truth lies at the premises of a band, R and D as the policy is told them."""

    name: str
    draw: Callable[[World, Streams], Instance]
    horizon: int
    runs: int
    noise_scale: float = 1.0
    norm_bound: float = 0.05
    kernel: Kernel = LINEAR
    chased: bool = False
    """Whether the arm of the greatest error |f - mean| / sd is played, or what the policy asks for."""
    law: Callable[[float], Noise] | None = None
    """R -> the law of the noise; by default N(0, R^2) and +-R in turn."""

    def noise(self, seed: int) -> Noise:
        law = self.law or (RademacherNoise, GaussianNoise)[seed % 2]
        return law(self.noise_scale)


def sphere(world: World, streams: Streams) -> Instance:
    """Orthonormal arms, f in any direction, |f| = D."""
    direction = problem_generator(streams).standard_normal(len(BASIS))
    values = world.norm_bound * direction / np.linalg.norm(direction)
    return Instance(world.name, BASIS, values, world.noise(streams.seed))


def plane(world: World, streams: Streams) -> Instance:
    """Arms on a half circle, f = x . theta, |theta| = D."""
    angle = 2 * math.pi * problem_generator(streams).random()
    values = world.norm_bound * CIRCLE.points @ (math.cos(angle), math.sin(angle))
    return Instance(world.name, CIRCLE, values, world.noise(streams.seed))


def spike(world: World, streams: Streams) -> Instance:
    """f = D on one of the orthonormal arms: before the first reward |f - mean| = D sd there."""
    values = world.norm_bound * np.eye(len(BASIS))[streams.seed % len(BASIS)]
    return Instance(world.name, BASIS, values, world.noise(streams.seed))


def smooth(world: World, streams: Streams) -> Instance:
    """f = sum a_i k(., z_i) on twelve arms of the unit interval, |f| = D."""
    problem = RKHSFunction(world.kernel, 1, 12, 6, world.norm_bound, world.noise(streams.seed))
    return problem.instance(streams)


def drawn(world: World, streams: Streams) -> Instance:
    """f ~ GP(0, k) on orthonormal arms: independent standard normals."""
    values = problem_generator(streams).standard_normal(len(BASIS))
    return Instance(world.name, BASIS, values, world.noise(streams.seed))


def moving(world: World, streams: Streams, renewed: Callable[[int], float]) -> MovingInstance:
    """f_t = sqrt(1 - r_t) f_{t-1} + sqrt(r_t) g_t, all g_t and f_1 independent standard normals."""
    rng = problem_generator(streams)
    first = rng.standard_normal(len(BASIS))

    def path() -> Iterator[Array]:
        f = first
        for t in range(2, world.horizon + 1):
            f = math.sqrt(1 - renewed(t)) * f + math.sqrt(renewed(t)) * rng.standard_normal(
                len(BASIS)
            )
            yield f

    return MovingInstance(world.name, BASIS, first, world.noise(streams.seed), path=path())


RATE, PERIOD, FORGETTING = 0.05, 15, 0.95
"""Of the drift, of the restarts, and of WGP-UCB."""


def drifting(world: World, streams: Streams) -> Instance:
    """A share of f renewed in every round."""
    return moving(world, streams, lambda t: RATE)


def jumping(world: World, streams: Streams) -> Instance:
    """A new f after every `PERIOD` rounds."""
    return moving(world, streams, lambda t: float(t % PERIOD == 1))


CHASED = World("errors chased", sphere, 60, 300, chased=True)
OWN = World("own play", smooth, 40, 60, norm_bound=0.1, kernel=RBF(0.15))
SPIKE = World("norm alone", spike, 4, 20, noise_scale=0.01, norm_bound=1.0)
PLANE = World("errors chased", plane, 60, 300, chased=True)
LARGE = World("errors chased, D = R", sphere, 90, 150, norm_bound=1.0, chased=True)
BOUNDED = World("errors chased", sphere, 40, 40, chased=True, law=RademacherNoise)
DESIGNED = World("own play", sphere, 60, 300)
SILENT = World("no noise", smooth, 40, 40, noise_scale=0.0, norm_bound=1.0, kernel=RBF(0.15))
PRIOR = World("f ~ GP", drawn, 60, 300, law=GaussianNoise)
DRIFTING = World("f_t a Markov chain of GPs", drifting, 60, 200, law=GaussianNoise)
JUMPING = World(f"f ~ GP anew every {PERIOD} rounds", jumping, 60, 200, law=GaussianNoise)
HEAVY = World(
    "tails of index 1.8", sphere, 60, 100, chased=True, law=lambda scale: ParetoNoise(scale, 1.8)
)
KNOWN = World("sigma = R", plane, 60, 120, norm_bound=0.2, chased=True, law=GaussianNoise)
UNKNOWN = World(
    "sigma = R/2",
    plane,
    150,
    20,
    norm_bound=0.2,
    chased=True,
    law=lambda scale: GaussianNoise(scale / 2),
)
