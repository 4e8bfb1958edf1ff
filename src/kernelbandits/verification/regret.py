"""Regret: the repaired bound holds for every law, and so do the steps of its proof in each run.

E regret <= (1 + C2 + C3') g sqrt(2 T gamma_T / ln 2) + 2 D T delta,
g = D + R sqrt(2 gamma_T + 2 ln(1/delta)),   delta = min(1, 1 / (2 D T)),   ridge 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.experiment.engines import play
from kernelbandits.kernels import RBF, Kernel, Linear, Matern
from kernelbandits.policies import GenericGP, Greedy
from kernelbandits.problems import GaussianNoise, Instance
from kernelbandits.streams import Streams
from kernelbandits.theory import information_gain, regret_bound
from kernelbandits.verification.laws import SCHEDULES
from kernelbandits.verification.scenarios import function_of_norm
from kernelbandits.verification.statements import CheckedStatement, Effort, mean_and_error

NOISE_SCALE, NORM_BOUND = 0.05, 1.0
SHORT_HORIZON, LARGE_NOISE = 400, 0.3
"""Of the runs that are followed round by round."""
ROUNDING = 1e-9


# The problems.


@dataclass(frozen=True, eq=False)
class SmallBandit:
    """A few arms, a kernel, and functions of norm D, one for each seed."""

    name: str
    points: Array
    kernel: Kernel
    horizon: int = 40_000
    fixed: tuple[float, ...] | None = None
    """The direction of f on orthonormal arms, if f is the same for every seed."""

    def instance(self, seed: int, noise_scale: float = NOISE_SCALE) -> Instance:
        return Instance(self.name, Arms(self.points), self.values(seed), GaussianNoise(noise_scale))

    def values(self, seed: int) -> Array:
        """Return f on the arms."""
        if self.fixed is not None:
            return NORM_BOUND * np.array(self.fixed) / math.hypot(*self.fixed)
        rng = Streams(seed).generator(*map(ord, self.name))
        centres = rng.random((6, self.points.shape[1])) / math.sqrt(2)
        coefficients = rng.standard_normal(6)
        return function_of_norm(NORM_BOUND, self.kernel, self.points, centres, coefficients)

    @cached_property
    def gram(self) -> Array:
        return self.kernel(self.points, self.points)

    @cached_property
    def gain(self) -> float:
        """An upper bound of gamma_T; on d orthonormal arms it is (d / 2) ln(1 + T / d)."""
        if self.fixed is not None:
            return len(self.fixed) / 2 * math.log1p(self.horizon / len(self.fixed))
        return information_gain(self.kernel, self.points, self.horizon).upper


GRID = (np.array([(i, j) for i in range(4) for j in range(3)]) + 0.5) / 5
TRAPS = (
    SmallBandit("trap", np.eye(2), Linear(), 100_000, (0.1, 0.995)),
    SmallBandit("shallow trap", np.eye(2), Linear(), 100_000, (0.6, 0.8)),
)
"""Two arms of which the worse is tried first.

In the first bandit it pays little, and a rule that never explores stays with it. In the second it
pays more than half of D, and a rule whose width forgets D stays with it.
"""
BANDITS = (
    SmallBandit("RBF", GRID, RBF(1.5)),
    SmallBandit("Matern", GRID, Matern(2.0, nu=2.5)),
    SmallBandit("linear", GRID, Linear()),
    *TRAPS,
)


def confidence(horizon: int) -> float:
    """Return the delta that the proof needs.

    delta = min(1, 1 / (2 D T))
    """
    return min(1.0, 1 / (2 * NORM_BOUND * horizon))


def build_policy(
    name: str, bandit: SmallBandit, instance: Instance, horizon: int, noise_scale: float
) -> GenericGP:
    """Build Generic-GP with the named law and the delta of the proof."""
    return GenericGP(
        instance.domain,
        bandit.kernel,
        SCHEDULES[name].exploration(horizon),
        noise_scale=noise_scale,
        norm_bound=NORM_BOUND,
        delta=confidence(horizon),
        ties="lowest",
    )


def tight_bound(name: str, bandit: SmallBandit) -> float:
    """Return the tightened bound of `kernelbandits.theory` for this law on this bandit."""
    law = SCHEDULES[name].exploration(bandit.horizon)
    return regret_bound(
        law, bandit.horizon, bandit.gain, noise_scale=NOISE_SCALE, norm_bound=NORM_BOUND
    ).tight


def check_regret(effort: Effort) -> Iterator[CheckedStatement]:
    seeds = effort.seeds(effort.runs(6, least=3))
    runs = {
        name: {bandit: [play_long(name, bandit, seed) for seed in seeds] for bandit in BANDITS}
        for name in SCHEDULES
    }
    for name, found in runs.items():
        yield check_expected_regret(name, found)
    yield check_greedy()
    yield check_realised_gain([pair for found in runs.values() for pair in found.items()])
    yield from check_each_run(effort)


# Expected regret of long runs.


@dataclass(frozen=True)
class LongRun:
    """The result of T rounds."""

    regret: float
    log_det: float
    """L_T = log det(I + K) of the arms played."""


def play_long(name: str, bandit: SmallBandit, seed: int) -> LongRun:
    instance = bandit.instance(seed)
    policy = build_policy(name, bandit, instance, bandit.horizon, NOISE_SCALE)
    arms = play(policy, instance, bandit.horizon, Streams(seed)).arms
    counts = np.bincount(arms, minlength=len(bandit.points))
    root = np.sqrt(counts)
    matrix = np.eye(len(counts)) + root[:, None] * bandit.gram * root
    return LongRun(total_regret(instance.values, counts), float(np.linalg.slogdet(matrix)[1]))


def total_regret(values: Array, counts: Any) -> float:
    """Return sum_i n_i (max f - f_i)."""
    return float(counts @ (values.max() - values))


def check_expected_regret(
    name: str, found: Mapping[SmallBandit, Sequence[LongRun]]
) -> CheckedStatement:
    """Check that on each bandit the mean regret + 3 standard errors is at most the bound."""
    bounds = [tight_bound(name, bandit) for bandit in found]
    regrets = [mean_and_error([run.regret for run in runs]) for runs in found.values()]
    runs = len(next(iter(found.values())))
    largest = (f"{one.name} (2DT = {2 * NORM_BOUND * one.horizon:.0f})" for one in found)
    return CheckedStatement(
        f"Law {name}: expected regret <= (1 + C2 + C3') g sqrt(2 T gamma/ln 2) + 1 "
        f"on {len(found)} bandits",
        "<= " + ", ".join(f"{bound:.0f}" for bound in bounds),
        ", ".join(f"{mean:.1f}" for mean, _ in regrets),
        holds=all(
            mean + 3 * error <= bound for (mean, error), bound in zip(regrets, bounds, strict=True)
        ),
        detail=f"{runs} runs each, mean + 3 standard errors; {', '.join(largest)}",
    )


def check_greedy() -> CheckedStatement:
    """Check that the bound is not trivial: a rule that never explores exceeds it."""
    trap = TRAPS[0]
    instance, bound = trap.instance(0), tight_bound("w = 1", trap)
    policy = Greedy(instance.domain, trap.kernel, ties="lowest")
    arms = play(policy, instance, trap.horizon, Streams(0)).arms
    regret = total_regret(instance.values, np.bincount(arms, minlength=len(trap.points)))
    return CheckedStatement(
        f"Greedy, which never explores, satisfies the bound of w = 1 on the {trap.name}",
        f"<= {bound:.0f}",
        f"{regret:.0f}",
        holds=regret <= bound,
        should_hold=False,
        detail="it never tries the better arm",
    )


def check_realised_gain(
    found: Sequence[tuple[SmallBandit, Sequence[LongRun]]],
) -> CheckedStatement:
    """Check that L_T / 2 <= gamma_T in all runs: gamma_T is the maximum over all runs."""
    shares = [run.log_det / 2 / bandit.gain for bandit, runs in found for run in runs]
    return CheckedStatement(
        f"L_T / 2 <= gamma_T in {len(shares)} runs, with the upper bound of gamma_T",
        "ratio <= 1",
        f"at most {max(shares):.4f}",
        holds=max(shares) <= 1 + ROUNDING,
        detail=f"{ROUNDING:g}, rounding",
    )


# The steps of the proof, in every single run.


@dataclass(frozen=True)
class FollowedRun:
    """A run of T rounds, and what was known of f before each of them."""

    values: Array
    """f on the n arms."""
    arms: Any
    mean: Array
    """Posterior means, (T, n)."""
    bonus: Array
    """width_t sd_t, (T, n)."""
    last_width: float
    log_det: float
    """L_T."""

    @property
    def band_holds(self) -> bool:
        """Whether f lay in the band mean -+ width sd in all rounds."""
        return bool((np.abs(self.values - self.mean) <= self.bonus + ROUNDING).all())

    @property
    def regrets(self) -> Array:
        return np.asarray((self.values.max() - self.values)[self.arms])

    @property
    def played_bonus(self) -> Array:
        """width_t sd_t(x_t)."""
        return np.asarray(self.bonus[np.arange(len(self.arms)), self.arms])

    @property
    def bonus_bound(self) -> float:
        """2 width_T sqrt(T L_T / ln 2)."""
        return 2 * self.last_width * math.sqrt(len(self.arms) * self.log_det / math.log(2))


def follow_run(name: str, bandit: SmallBandit, seed: int, engine: str = "auto") -> FollowedRun:
    """Play a short run, then compute mean, sd and width of all rounds from arms and rewards."""
    # In the traps much noise would help: it would lead a rule that does not explore to the better
    # arm by chance.
    noise, streams = NOISE_SCALE if bandit.fixed else LARGE_NOISE, Streams(seed)
    instance = bandit.instance(seed, noise)
    policy = build_policy(name, bandit, instance, SHORT_HORIZON, noise)
    arms = play(policy, instance, SHORT_HORIZON, streams, engine).arms
    rewards = instance.values[arms] + instance.noise.draw(streams.uniforms("noise", SHORT_HORIZON))
    mean, sd, log_dets = estimate_all_rounds(bandit.gram, arms, rewards)
    radius = np.sqrt(2 * math.log(1 / confidence(SHORT_HORIZON)) + log_dets)
    width = NORM_BOUND + noise * radius
    return FollowedRun(
        instance.values, arms, mean, width[:-1, None] * sd, float(width[-1]), float(log_dets[-1])
    )


def estimate_all_rounds(gram: Array, arms: Any, rewards: Array) -> tuple[Array, Array, Array]:
    """Return posterior mean and sd before each round, (T, n), and L before and after all, (T + 1).

    With N the counts and S the sums of rewards of the arms, W = N^1/2 and A = I + W K W,

        mean = K W A^-1 W^-1 S,   cov = K - K W A^-1 W K,   L = log det A   (ridge 1).
    """
    played = np.eye(len(gram))[arms]
    start = np.zeros((1, len(gram)))
    counts = np.vstack([start, np.cumsum(played, axis=0)])
    sums = np.vstack([start, np.cumsum(played * rewards[:, None], axis=0)])
    root = np.sqrt(counts)
    matrix = np.eye(len(gram)) + root[:, :, None] * gram * root[:, None, :]
    weighted = root[:-1, :, None] * gram
    solved = np.linalg.solve(matrix[:-1], weighted)
    mean = np.einsum("tij,ti->tj", solved, sums[:-1] / np.maximum(root[:-1], 1))
    variance = gram.diagonal() - np.einsum("tij,tij->tj", weighted, solved)
    return mean, np.sqrt(np.maximum(variance, 0.0)), np.linalg.slogdet(matrix)[1]


def check_each_run(effort: Effort, engine: str = "auto") -> Iterator[CheckedStatement]:
    """Check w = 1 in the runs in which f stays in the band: what a round loses, and their sum."""
    seeds = effort.seeds(effort.runs(8, least=3))
    played = [follow_run("w = 1", bandit, seed, engine) for bandit in BANDITS for seed in seeds]
    kept = [run for run in played if run.band_holds]
    too_large = sum(int((run.regrets > 2 * run.played_bonus + ROUNDING).sum()) for run in kept)
    detail = f"{len(kept)} of {len(played)} runs with f in the band, {SHORT_HORIZON} rounds each"
    yield CheckedStatement(
        "w = 1, f in the band: max f - f(x_t) <= 2 width_t sd_t(x_t) in every round",
        "0 exceptions",
        f"{too_large} of {SHORT_HORIZON * len(kept)} rounds",
        holds=bool(kept) and too_large == 0,
        detail=detail,
    )
    first = max((r.regrets.sum() / (2 * r.played_bonus.sum()) for r in kept), default=math.inf)
    second = max((2 * r.played_bonus.sum() / r.bonus_bound for r in kept), default=math.inf)
    yield CheckedStatement(
        "w = 1, f in the band: regret <= 2 sum width_t sd_t(x_t) <= 2 width_T sqrt(T L_T / ln 2)",
        "both ratios <= 1",
        f"{first:.3f}, {second:.3f}",
        holds=max(first, second) <= 1 + ROUNDING,
        detail=detail,
    )
