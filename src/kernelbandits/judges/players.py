"""Who plays for the regret bounds, and on what: exploration laws and small bandits, each beside its definition."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.exploration import Bernoulli, Categorical, Gaussian, Mixture, PointMass, Step
from kernelbandits.judges import oracle
from kernelbandits.judges.oracle import Alike, Weights
from kernelbandits.kernels import RBF, Kernel, Linear, Matern
from kernelbandits.problems import GaussianNoise, Instance
from kernelbandits.streams import Streams
from kernelbandits.theory import information_gain

NOISE_SCALE, NORM_BOUND = 0.05, 1.0
NODES = 50_000


@dataclass(frozen=True, eq=False)
class Bandit:
    """Arms, a kernel with its definition, and functions of norm D by seed."""

    name: str
    points: Array
    kernel: Kernel
    alike: Alike
    horizon: int = 40_000
    fixed: tuple[float, ...] | None = None
    """The same f for every seed."""

    def instance(self, seed: int, noise_scale: float = NOISE_SCALE) -> Instance:
        return Instance(self.name, Arms(self.points), self.values(seed), GaussianNoise(noise_scale))

    def values(self, seed: int) -> Array:
        """f = sum a_i k(., z_i) of norm D on the arms, or the one given."""
        if self.fixed is not None:
            return NORM_BOUND * np.array(self.fixed) / math.hypot(*self.fixed)
        rng = Streams(seed).generator(*map(ord, self.name))
        centres = rng.random((6, self.points.shape[1])) / math.sqrt(2)
        return oracle.function_of_norm(
            NORM_BOUND, self.alike, self.points, centres, rng.standard_normal(6)
        )

    @cached_property
    def gram(self) -> Array:
        return self.alike(self.points, self.points)

    @cached_property
    def gain(self) -> float:
        """An upper bound of gamma_T, certified; on orthonormal arms (d / 2) ln(1 + T / d)."""
        if self.fixed is not None:
            return len(self.fixed) / 2 * math.log1p(self.horizon / len(self.fixed))
        return information_gain(self.kernel, self.points, self.horizon).upper


GRID = (np.array([(i, j) for i in range(4) for j in range(3)]) + 0.5) / 5
TRAPS = (
    Bandit("trap", np.eye(2), Linear(), oracle.linear, 100_000, (0.1, 0.995)),
    Bandit("shallow trap", np.eye(2), Linear(), oracle.linear, 100_000, (0.6, 0.8)),
)
"""The first holds who never explores, the second who forgets D.

Its first arm, lowest of those that tie before the first reward, pays a little; or more than half of D.
"""
BANDITS = (
    Bandit("RBF", GRID, RBF(1.5), oracle.rbf(1.5)),
    Bandit("Matern", GRID, Matern(2.0, nu=2.5), oracle.matern(2.0)),
    Bandit("linear", GRID, Linear(), oracle.linear),
    *TRAPS,
)


@dataclass(frozen=True)
class Player:
    """An exploration law or schedule, and its definition: shares of the rounds and their laws."""

    exploration: Callable[[int], Any]
    parts: tuple[tuple[float, Weights], ...]


def alone(law: Any, weights: Weights) -> Player:
    return Player(lambda horizon: law, ((1.0, weights),))


def coin(p: float) -> Weights:
    return oracle.atoms((1 - p, p), (0.0, 1.0))


PLAYERS: Mapping[str, Player] = {
    "w = 1": alone(PointMass(1.0), oracle.atoms((1.0,), (1.0,))),
    "Ber(1/2)": alone(Bernoulli(0.5), coin(0.5)),
    "Ber(1/2), then Ber(1/4)": Player(
        lambda horizon: Step(Bernoulli(0.5), Bernoulli(0.25), horizon // 2),
        ((0.5, coin(0.5)), (0.5, coin(0.25))),
    ),
    "i/4, i = 1..4": alone(
        Categorical((0.25,) * 4), oracle.atoms((0.25,) * 4, (0.25, 0.5, 0.75, 1.0))
    ),
    "1 or N(0, 1)": alone(
        Mixture((0.5, 0.5), (PointMass(1.0), Gaussian(0.0, 1.0))),
        Weights(((0.5, 1.0, 0.0), (0.5, 0.0, 1.0))),
    ),
    "N(0, 1)": alone(Gaussian(0.0, 1.0), oracle.normal()),
}


def drawn(name: str, horizon: int, seed: int) -> list[float]:
    """w_1..w_T by the definition of the laws, from the uniforms of the seed."""
    laws = [law for share, law in PLAYERS[name].parts for _ in range(round(share * horizon))]
    uniforms = Streams(seed).uniforms("weight", horizon)
    return [law.quantile(float(u)) for law, u in zip(laws, uniforms, strict=True)]


def delta(horizon: int) -> float:
    """min(1, 1 / (2 D T)): the confidence the proof needs."""
    return min(1.0, 1 / (2 * NORM_BOUND * horizon))


def bounds(name: str, bandit: Bandit) -> tuple[float, float]:
    """(1 + C2 + C3) g sqrt(4 T gamma) + 2 D T delta, and with C3' for C3 and 1 / ln 2 for the factor 2 of the 4."""
    c2, c3, c3_tight = constants(name, bandit.horizon)
    horizon, gain, chance = bandit.horizon, bandit.gain, delta(bandit.horizon)
    width = NORM_BOUND + NOISE_SCALE * math.sqrt(2 * gain + 2 * math.log(1 / chance))
    leftover = 2 * NORM_BOUND * horizon * chance
    repaired = (1 + c2 + c3) * width * math.sqrt(4 * horizon * gain) + leftover
    return repaired, (1 + c2 + c3_tight) * width * math.sqrt(
        2 * horizon * gain / math.log(2)
    ) + leftover


@cache
def constants(name: str, horizon: int) -> tuple[float, float, float]:
    """C2 = E max |w|, C3 = E max |w| / C1 + max E|w| / C1, C3' = E max (w - E w)^+ / C1."""
    groups = [(round(share * horizon), law) for share, law in PLAYERS[name].parts]
    c2 = expected_maximum([(count, size(law, 1.0)) for count, law in groups])
    scaled = expected_maximum([(count, size(law, law.optimism)) for count, law in groups])
    middle = max(expected_maximum([(1, size(law, law.optimism))]) for _, law in groups)
    return (
        c2,
        scaled + middle,
        expected_maximum([(count, excess(law, law.optimism)) for count, law in groups]),
    )


Tail = tuple[Callable[[Array], Array], tuple[float, ...]]
"""u -> P(Z > u), and where it jumps."""


def size(law: Weights, scale: float) -> Tail:
    """Z = |w| / scale."""
    jumps = tuple(abs(middle) / scale for _, middle, spread in law.parts if not spread)
    return lambda u: 1 - law.at_most(scale * u) + law.below(-scale * u), jumps


def excess(law: Weights, scale: float) -> Tail:
    """Z = (w - E w)^+ / scale."""
    jumps = tuple(
        max(middle - law.mean, 0.0) / scale for _, middle, spread in law.parts if not spread
    )
    return lambda u: 1 - law.at_most(law.mean + scale * u), jumps


def expected_maximum(groups: list[tuple[int, Tail]]) -> float:
    """int 1 - prod P(Z <= u)^n du, by the midpoint rule between the jumps, up to where nothing is left."""
    breaks = sorted({0.0, 100.0, *(place for _, (_, jumps) in groups for place in jumps)})
    total = 0.0
    for low, high in pairwise(breaks):
        u = low + (high - low) * (np.arange(NODES) + 0.5) / NODES
        below = np.sum(
            [count * np.log1p(-np.minimum(tail(u), 1 - 1e-15)) for count, (tail, _) in groups],
            axis=0,
        )
        total += float(-np.expm1(below).mean() * (high - low))
    return total
