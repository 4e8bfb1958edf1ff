"""Is the maximum of the index above f(x*) often enough? The anti-concentration lemma by simulation (5.6)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.exploration import Gaussian
from kernelbandits.judges import oracle
from kernelbandits.judges.finding import Effort, Finding, standard_error, verdict
from kernelbandits.judges.oracle import Weights
from kernelbandits.judges.stage import LAWS
from kernelbandits.kernels import RBF
from kernelbandits.policies import GenericGP
from kernelbandits.problems import GaussianNoise, Instance, Noise, RademacherNoise
from kernelbandits.streams import Streams

NAME = "optimism"
NORM_BOUND = 1.0
TAILS = (0.05, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
NOISES = (GaussianNoise, RademacherNoise)
PLAYED = ("w = 1", "Ber(0.3)", "N(0, 1)", "0.4 at 1, else N(0, 1)")
ERRORS = 4.0


@dataclass(frozen=True)
class World:
    """Functions of norm D exactly, and what the policy is told of the noise."""

    noise_scale: float
    ridge: float
    horizon: int
    looked_at: tuple[int, ...]
    lengthscale: float

    def drawn(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Points, and f on them."""
        raise NotImplementedError


class Smooth(World):
    """Twelve arms in the plane, f random."""

    def drawn(self, rng: np.random.Generator) -> tuple[Array, Array]:
        points, centres, alike = (
            rng.random((12, 2)),
            rng.random((6, 2)),
            oracle.rbf(self.lengthscale),
        )
        return points, oracle.function_of_norm(
            NORM_BOUND, alike, points, centres, rng.standard_normal(6)
        )


class Hidden(World):
    """Two arms much alike, f = D (k(., x2) - r k(., x1)) / sqrt(1 - r^2), r = k(x1, x2) = 0.95.

    Playing x1 tells nothing of f(x2) = D sqrt(1 - r^2). Nowhere is the bound f <= mean + width sd tighter: one that
    forgets D, or has sd^2 for sd, ends below f(x2).
    """

    def drawn(self, rng: np.random.Generator) -> tuple[Array, Array]:
        apart, alike = (
            self.lengthscale * math.sqrt(-2 * math.log(0.95)),
            oracle.rbf(self.lengthscale),
        )
        points = np.array([[0.0], [apart]])
        coefficients = np.array([-alike(points, points)[0, 1], 1.0])
        return points, oracle.function_of_norm(NORM_BOUND, alike, points, points, coefficients)


WORLDS = (Smooth(0.5, 1.0, 15, (1, 2, 5, 15), 0.3), Hidden(0.01, 0.01, 4, (1, 2, 3, 4), 0.3))


def optimism(effort: Effort) -> Iterator[Finding]:
    """P(max_x f~_t(x) >= f(x*)) >= C1 / 2, and >= C1 where the self-normalised bound holds."""
    yield tail_finding()
    for number, (title, (law, right)) in enumerate(LAWS.items()):
        yield chance_finding(
            title, law, right, Streams(effort.seed).generator(10, number).random(4000)
        )
    for title in PLAYED:
        yield from lemma_findings(title, effort)


def tail_finding() -> Finding:
    """z / (z^2 + 1) phi(z) <= P(Z > z) <= exp(-z^2 / 2) / 2."""
    chances = {z: Gaussian(0.0, 1.0).tail(z) for z in TAILS}
    bounds = {z: (z / (z * z + 1) * bell(z), math.exp(-z * z / 2) / 2) for z in TAILS}
    holds = verdict(all(bounds[z][0] <= chance <= bounds[z][1] for z, chance in chances.items()))
    statement = f"z phi(z)/(z^2+1) <= P(Z > z) <= exp(-z^2/2)/2 at {len(TAILS)} z from {TAILS[0]} to {TAILS[-1]:g}"
    predicted = f"z = 1: between {bounds[1.0][0]:.6f} and {bounds[1.0][1]:.6f}"
    return Finding(
        NAME, statement, predicted, f"{chances[1.0]:.6f}", holds, detail="proved, no tolerance"
    )


def bell(z: float) -> float:
    """phi(z)."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def chance_finding(title: str, law: Any, right: Weights, uniforms: Array) -> Finding:
    """C1 as the law states it, against the definition and against its own draws."""
    drawn = float(np.mean([law.draw(float(u)) >= 1 for u in uniforms]))
    allowed = ERRORS * standard_error(right.optimism, len(uniforms))
    holds = verdict(
        abs(law.optimism - right.optimism) <= 1e-12
        and abs(drawn - right.optimism) <= allowed + 1e-12
    )
    seen = f"stated {law.optimism:.6f}, drawn {drawn:.4f}"
    detail = f"1e-12; the draws 4 s.e. = {allowed:.4f}, n = {len(uniforms)}"
    return Finding(
        NAME, f"C1 = P(w >= 1), {title}", f"{right.optimism:.6f}", seen, holds, detail=detail
    )


@dataclass(frozen=True)
class Look:
    """One round of one run."""

    reached: bool
    """max_x f~_t(x) >= f(x*), f~ with the weight drawn"""
    bound_holds: bool
    """The self-normalised bound, of the rounds before"""
    upper: bool
    """max_x f~_t(x) >= f(x*) with w = 1"""


Place = tuple[str, str, int]
"""World, noise, round."""


def lemma_findings(title: str, effort: Effort) -> Iterator[Finding]:
    runs, optimism = effort.runs(300, least=80), LAWS[title][1].optimism
    looks: dict[Place, list[Look]] = {}
    for number, (world, noise) in enumerate(product(WORLDS, NOISES)):
        seen = looked(
            world,
            noise(world.noise_scale),
            LAWS[title][0],
            runs,
            Streams(effort.seed).generator(9, number),
        )
        looks |= {
            (type(world).__name__, noise.__name__.removesuffix("Noise"), t): found
            for t, found in seen.items()
        }
    yield least_share(f"{title}: P(max f~_t >= f(x*)) >= C1/2 in every round", optimism / 2, looks)
    sound = {place: [look for look in seen if look.bound_holds] for place, seen in looks.items()}
    yield least_share(
        f"{title}: the same >= C1 where the self-normalised bound holds", optimism, sound
    )
    yield never_below(f"{title}: there, max f~_t >= f(x*) with w = 1", [*chain(*sound.values())])


def looked(
    world: World, noise: Noise, exploration: Any, runs: int, rng: np.random.Generator
) -> dict[int, list[Look]]:
    found: dict[int, list[Look]] = {t: [] for t in world.looked_at}
    for seed in rng.integers(2**40, size=runs).tolist():
        for t, look in run_looks(world, noise, exploration, Streams(seed)):
            found[t].append(look)
    return found


def run_looks(
    world: World, noise: Noise, exploration: Any, streams: Streams
) -> Iterator[tuple[int, Look]]:
    points, values = world.drawn(streams.generator(7))
    told = {"noise_scale": world.noise_scale, "norm_bound": NORM_BOUND, "ridge": world.ridge}
    policy = GenericGP(points, RBF(world.lengthscale), exploration, ties="lowest", **told)
    instance = Instance("optimism", Arms(points), values, noise)
    arms: list[int] = []
    errors: list[float] = []
    for t in range(1, world.horizon + 1):
        choice = policy.ask(t, streams)
        arm = int(choice.arm or 0)
        if t in world.looked_at:
            holds = bound_holds(world, points, arms, np.array(errors))
            reached, upper = (
                policy.index(t, w).max() >= values.max() for w in (choice.note["weight"], 1.0)
            )
            yield t, Look(bool(reached), holds, bool(upper))
        reward = instance.pull(arm, streams.uniform("noise", t), t)
        policy.tell(choice, reward)
        arms.append(arm)
        errors.append(reward - values[arm])


def bound_holds(world: World, points: Array, arms: list[int], errors: Array) -> bool:
    """||(V + ridge I)^-1/2 S||^2 <= R^2 (2 ln 2 + L)."""
    gram = oracle.rbf(world.lengthscale)(points, points)
    radius = world.noise_scale**2 * (2 * math.log(2) + oracle.log_det(gram, arms, world.ridge))
    return oracle.self_normalised_square(gram, arms, errors, world.ridge) <= radius


def least_share(statement: str, chance: float, looks: Mapping[Place, list[Look]]) -> Finding:
    """In every place the share of runs that reached f(x*) is at least the chance, up to four standard errors."""
    shares = {
        place: float(np.mean([look.reached for look in seen])) for place, seen in looks.items()
    }
    allowed = {
        place: ERRORS * standard_error(chance, max(1, len(seen))) for place, seen in looks.items()
    }
    holds = verdict(all(share >= chance - allowed[place] for place, share in shares.items()))
    world, noise, t = min(shares, key=shares.__getitem__)
    observed = f"least {min(shares.values()):.3f} ({world.lower()} f, {noise}, t = {t})"
    predicted = f">= {chance:.4f}, less 4 s.e. = {max(allowed.values()):.3f}"
    detail = f"by world, noise and round: {len(looks)} places of {min(map(len, looks.values()))} runs or more"
    return Finding(NAME, statement, predicted, observed, holds, detail=detail)


def never_below(statement: str, looks: list[Look]) -> Finding:
    below = sum(not look.upper for look in looks)
    seen, detail = f"{below} of {len(looks)} below", "a consequence of the bound, no tolerance"
    return Finding(
        NAME, statement, "0 below", seen, verdict(bool(looks) and not below), detail=detail
    )
