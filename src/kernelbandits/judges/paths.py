"""Runs followed round by round: what each round lost and what was known before it, by the definitions alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.experiment.engines import play
from kernelbandits.judges import oracle
from kernelbandits.judges.finding import Effort, Finding, verdict
from kernelbandits.judges.players import (
    BANDITS,
    NOISE_SCALE,
    NORM_BOUND,
    PLAYERS,
    Bandit,
    delta,
    drawn,
)
from kernelbandits.policies import GenericGP
from kernelbandits.streams import Streams

ROUNDING = 1e-9
SHORT = 400
LOUD = 0.3
"""The noise of random functions followed round by round; in the traps it would help out."""


@dataclass(frozen=True)
class Path:
    """A run of T rounds and what was known before each of them, by the definitions."""

    values: Array
    arms: Any
    mean: Array
    reach: Array
    """(T, n): width sd"""
    width: float
    """After the last round, as L_T."""
    log_det: float

    @property
    def inside(self) -> bool:
        """Whether f lay in the band in all rounds."""
        return bool((np.abs(self.values - self.mean) <= self.reach + ROUNDING).all())

    @property
    def regrets(self) -> Array:
        lost: Array = (self.values.max() - self.values)[self.arms]
        return lost

    @property
    def bonuses(self) -> Array:
        """width sd of the arms played."""
        played: Array = self.reach[np.arange(len(self.arms)), self.arms]
        return played

    @property
    def ceiling(self) -> float:
        """2 width_T sqrt(T L_T / ln 2)"""
        return 2 * self.width * math.sqrt(len(self.arms) * self.log_det / math.log(2))


def path(name: str, bandit: Bandit, seed: int, engine: str) -> Path:
    """Let the engine play, then look at the arms and rewards alone."""
    noise, streams, chance = NOISE_SCALE if bandit.fixed else LOUD, Streams(seed), delta(SHORT)
    instance, law = bandit.instance(seed, noise), PLAYERS[name].exploration(SHORT)
    told = {"noise_scale": noise, "norm_bound": NORM_BOUND, "delta": chance}
    policy = GenericGP(instance.domain, bandit.kernel, law, ties="lowest", **told)
    arms = play(policy, instance, SHORT, streams, engine).arms
    rewards = instance.values[arms] + instance.noise.draw(streams.uniforms("noise", SHORT))
    mean, sd, log_dets = estimates(bandit.gram, arms, rewards)
    width = oracle.self_normalised(noise, NORM_BOUND, 1.0, chance)
    widths = np.array([width(one) for one in log_dets])
    return Path(
        instance.values, arms, mean, widths[:-1, None] * sd, float(widths[-1]), float(log_dets[-1])
    )


def estimates(gram: Array, arms: Any, rewards: Array) -> tuple[Array, Array, Array]:
    """mean, sd (T, n) before each round and L before and after all, with N the counts and S the sums of rewards:

    mean = K W A^-1 W^-1 S,   cov = K - K W A^-1 W K,   L = log det A,   W = N^1/2, A = I + W K W, ridge 1.
    """
    steps = np.eye(len(gram))[arms]
    counts, sums = (
        np.vstack([np.zeros(len(gram)), np.cumsum(some, axis=0)])
        for some in (steps, steps * rewards[:, None])
    )
    root = np.sqrt(counts)
    matrix = np.eye(len(gram)) + root[:, :, None] * gram * root[:, None, :]
    weighted = root[:-1, :, None] * gram
    solved = np.linalg.solve(matrix[:-1], weighted)
    mean = np.einsum("tij,ti->tj", solved, sums[:-1] / np.maximum(root[:-1], 1))
    variance = gram.diagonal() - np.einsum("tij,tij->tj", weighted, solved)
    return mean, np.sqrt(np.maximum(variance, 0.0)), np.linalg.slogdet(matrix)[1]


def pathwise(engine: str, effort: Effort) -> Iterator[Finding]:
    """w = 1, where the band holds f: every round loses at most 2 width sd of the arm played; so does their sum."""
    seeds = range(effort.seed * 10**6, effort.seed * 10**6 + effort.runs(8, least=3))
    paths = [path("w = 1", bandit, seed, engine) for bandit in BANDITS for seed in seeds]
    kept = [one for one in paths if one.inside]
    broken = sum(int((one.regrets > 2 * one.bonuses + ROUNDING).sum()) for one in kept)
    detail = f"{len(kept)} of {len(paths)} runs on the event, {SHORT} rounds each"
    yield Finding(
        "regret",
        f"{engine}, w = 1: max f - f(x_t) <= 2 width_t sd_t(x_t) in every round",
        "0 rounds lose more",
        f"{broken} of {SHORT * len(kept)}",
        verdict(bool(kept) and broken == 0),
        detail=detail,
    )
    first = max((one.regrets.sum() / (2 * one.bonuses.sum()) for one in kept), default=math.inf)
    second = max((2 * one.bonuses.sum() / one.ceiling for one in kept), default=math.inf)
    yield Finding(
        "regret",
        f"{engine}, w = 1: regret <= 2 sum width_t sd_t(x_t) <= 2 width_T sqrt(T L_T / ln 2)",
        "shares <= 1, <= 1",
        f"{first:.3f}, {second:.3f}",
        verdict(max(first, second) <= 1 + ROUNDING),
        detail=detail,
    )


def maximised(engine: str, effort: Effort) -> Finding:
    """The link between law and regret: x_t maximises mean + w_t width_t sd, w_t, mean, width and sd by definition."""
    seeds = range(effort.seed * 10**6, effort.seed * 10**6 + effort.runs(2, least=1))
    games = [(name, bandit, seed) for name in PLAYERS for bandit in BANDITS for seed in seeds]
    right = sum(
        rounds_maximised(name, seed, path(name, bandit, seed, engine))
        for name, bandit, seed in games
    )
    return Finding(
        "regret",
        f"{engine}, {len(PLAYERS)} laws: x_t maximises mean + w_t width_t sd_t",
        f"{SHORT * len(games)} rounds",
        f"{right} rounds",
        verdict(right == SHORT * len(games)),
        detail=f"within {ROUNDING:g}, rounding",
    )


def rounds_maximised(name: str, seed: int, played: Path) -> int:
    index = played.mean + np.array(drawn(name, SHORT, seed))[:, None] * played.reach
    chosen = index[np.arange(SHORT), played.arms]
    return int((chosen >= index.max(1) - ROUNDING).sum())
