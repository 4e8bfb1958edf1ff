"""Theorem 2, the lower bound: on its instance the paper's rule must lose.

The instance has d orthonormal arms and no noise; arm 1 pays Delta, the others nothing. The bound is
regret >= (1 - alpha) T Delta C1 with alpha = 51/60 and

    Delta = (R sqrt(d/2) + D) / (2 sqrt(1 + (T/6) / (d - 1))).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kernelbandits.catalogue import policy, policy_entry, shared_settings
from kernelbandits.experiment.engines import play
from kernelbandits.kernels import Linear
from kernelbandits.policies import GenericGP
from kernelbandits.problems import Bump, LowerBound
from kernelbandits.streams import Streams
from kernelbandits.verification.laws import SCHEDULES
from kernelbandits.verification.statements import CheckedStatement, Effort, mean_and_error

DIMENSION, DIMENSIONS, HORIZON = 3, (2, 3, 4, 5, 6, 7), 2000
ALPHA = 5.1 / 6
RANDOM_LAWS = ("Ber(1/2)", "i/4, i = 1..4", "1 or N(0, 1)", "N(0, 1)")


def check_lower_bound(effort: Effort) -> Iterator[CheckedStatement]:
    yield check_formulas()
    yield check_certain_weight()
    for name in RANDOM_LAWS:
        yield check_random_weight(name, effort)
    yield check_every_run(effort)
    yield check_growth()
    yield from check_many_arms(effort)
    yield check_ratio_of_counts()
    yield from check_bumps(effort)


def gap(d: int, horizon: int) -> float:
    """Return Delta, with R = D = 1."""
    return (math.sqrt(d / 2) + 1) / (2 * math.sqrt(1 + horizon / 6 / (d - 1)))


def proved_regret(d: int, horizon: int, optimism: float = 1.0) -> float:
    """Return the lower bound of the theorem, with R = D = 1.

    (1 - alpha) T Delta C1
    """
    return (1 - ALPHA) * horizon * gap(d, horizon) * optimism


def count_late_exploration(weights: Sequence[float]) -> int:
    """Count the rounds t > floor(alpha T) with w_t >= 1."""
    return sum(weight >= 1 for weight in weights[51 * len(weights) // 60 :])


def count_pulls(name: str, d: int, horizon: int, seed: int, engine: str = "auto") -> Any:
    """Play the instance, and count how often each arm was played."""
    problem, streams = LowerBound(d=d, horizon=horizon), Streams(seed)
    instance, law = problem.instance(streams), SCHEDULES[name].exploration(horizon)
    policy = GenericGP(
        instance.domain, Linear(), law, noise_scale=1.0, norm_bound=1.0, ties="lowest"
    )
    return np.bincount(play(policy, instance, horizon, streams, engine).arms, minlength=d)


def regret_of_run(name: str, d: int, horizon: int, seed: int = 0) -> float:
    """Return the regret of a run: Delta times the number of pulls of the other arms."""
    return float(gap(d, horizon) * count_pulls(name, d, horizon, seed)[1:].sum())


def check_formulas() -> CheckedStatement:
    """Check that the problem `lower-bound` has the Delta and the bound of the theorem."""
    problem = LowerBound(d=DIMENSION, horizon=HORIZON)
    pairs = [(LowerBound(d=d, horizon=HORIZON).gap, gap(d, HORIZON)) for d in DIMENSIONS]
    for name in ("w = 1", *RANDOM_LAWS):
        law, optimism = SCHEDULES[name].exploration(HORIZON), SCHEDULES[name].optimism
        pairs.append((problem.regret_bound(law), proved_regret(DIMENSION, HORIZON, optimism)))
    largest = max(abs(one / other - 1) for one, other in pairs)
    return CheckedStatement(
        "Delta for d = 2..7 and the lower bounds of five laws are their formulas",
        "relative difference 0",
        f"{largest:.1e}",
        holds=largest <= 1e-12,
        detail="1e-12, rounding",
    )


def check_certain_weight() -> CheckedStatement:
    """Check the lower bound for w = 1, for all d that T = 2000 allows."""
    regrets = [regret_of_run("w = 1", d, HORIZON) for d in DIMENSIONS]
    bounds = [proved_regret(d, HORIZON) for d in DIMENSIONS]
    return CheckedStatement(
        "w = 1, T = 2000: regret >= (1 - alpha) T Delta for d = 2..7",
        ">= " + ", ".join(f"{bound:.1f}" for bound in bounds),
        ", ".join(f"{regret:.1f}" for regret in regrets),
        holds=all(regret >= bound for regret, bound in zip(regrets, bounds, strict=True)),
    )


def check_random_weight(name: str, effort: Effort) -> CheckedStatement:
    """Check the lower bound for a random weight.

    mean - 3 standard errors >= (1 - alpha) T Delta C1
    """
    bound = proved_regret(DIMENSION, HORIZON, SCHEDULES[name].optimism)
    seeds = effort.seeds(effort.runs(40, least=10))
    mean, error = mean_and_error([regret_of_run(name, DIMENSION, HORIZON, s) for s in seeds])
    return CheckedStatement(
        f"Law {name}, d = 3, T = 2000: expected regret >= (1 - alpha) T Delta C1",
        f">= {bound:.2f}",
        f"{mean:.2f} +- {error:.2f}",
        holds=mean - 3 * error >= bound,
        detail=f"{len(seeds)} runs, 3 standard errors",
    )


def check_every_run(effort: Effort, engine: str = "auto") -> CheckedStatement:
    """Check the step of our proof that holds in every run, not only in expectation."""
    seeds = effort.seeds(effort.runs(5, least=2))
    runs = [(name, seed) for name in RANDOM_LAWS for seed in seeds]
    surplus = [
        int(count_pulls(name, DIMENSION, HORIZON, seed, engine)[1:].sum())
        - count_late_exploration(SCHEDULES[name].weights(HORIZON, seed))
        for name, seed in runs
    ]
    return CheckedStatement(
        "Four laws, in every run: the suboptimal pulls are at least as many as the rounds "
        "t > floor(alpha T) with w_t >= 1",
        f"{len(runs)} of {len(runs)} runs",
        f"{sum(more >= 0 for more in surplus)} of {len(runs)} runs",
        holds=min(surplus) >= 0,
        detail=f"d = 3, T = 2000; the smallest surplus is {min(surplus)} pulls",
    )


def check_many_arms(effort: Effort) -> Iterator[CheckedStatement]:
    """Check the same step for up to fifty arms and T far below e^d.

    suboptimal pulls >= #{t > floor(alpha T): w_t >= 1}

    With ten times the gap the rule finds the best arm early, and the statement fails.
    """
    sizes, names = ((10, 300), (20, 600), (30, 1350), (50, 3750)), ("w = 1", *RANDOM_LAWS)
    for factor in (1.0, 10.0):
        surplus = [
            pulls_in_steps(name, d, horizon, seed, factor)
            - count_late_exploration(SCHEDULES[name].weights(horizon, seed))
            for d, horizon in sizes
            for name in names
            for seed in effort.seeds(effort.runs(2, least=1))
        ]
        kept = sum(more >= 0 for more in surplus)
        times = "" if factor == 1 else f"{factor:g} times "
        yield CheckedStatement(
            f"d = 10 to 50, T >= 1.5 d^2, {times}Delta with ln 2: in every run suboptimal pulls >= "
            "the rounds t > floor(alpha T) with w_t >= 1",
            f"{len(surplus)} of {len(surplus)} runs",
            f"{kept} of {len(surplus)} runs",
            holds=kept == len(surplus),
            should_hold=factor == 1,
            detail=f"five laws; the smallest surplus is {min(surplus)} pulls",
        )


def pulls_in_steps(name: str, d: int, horizon: int, seed: int, factor: float) -> int:
    """Count suboptimal pulls of the rule in closed form, R = D = 1, at `factor` times the gap."""
    delta, counts = factor * LowerBound(d=d, horizon=horizon).gap, np.zeros(d)
    for weight in SCHEDULES[name].weights(horizon, seed):
        width = math.sqrt(2 * math.log(2) + np.log1p(counts).sum()) + 1
        index = weight * width / np.sqrt(1 + counts)
        index[0] += delta * counts[0] / (1 + counts[0])
        counts[index.argmax()] += 1
    return int(counts[1:].sum())


def check_ratio_of_counts() -> CheckedStatement:
    """Check the step that needs T >= 180, with whole numbers of pulls.

    In a round t > floor(alpha T) before which the arms 2..d have q < beta T pulls in total,
    (1 + q) / (1 + n_1) <= 1/4. It is enough to look at the first such t and the largest such q.
    """
    horizons = np.arange(180, 100_000)
    pulls = -(-horizons // 6) - 1
    others = 51 * horizons // 60 + 1 - pulls
    largest = float(((1 + pulls) / others).max())
    return CheckedStatement(
        "(1 + q)/(1 + n_1) <= 1/4 for q < T/6 and t > floor(0.85 T), T = 180 to 100 000",
        "<= 0.25",
        f"{largest:.4f}",
        holds=largest <= 0.25,
    )


BUMP = Bump(per_side=3, horizon=300, noise_scale=0.2)
BUMP_POLICIES = ("simple-ucb", "simple-gaussian", "greedy", "gp-ts", "ucb1", "random")


def check_bumps(effort: Effort) -> Iterator[CheckedStatement]:
    """Check that every policy loses at least this much on average over the bumps.

    (1 - 1/M)^2 R sqrt(M T) / 2

    A rule that is told the best arm does not, so the bound does not hold by accident.
    """
    seeds = effort.seeds(effort.runs(90, least=45))
    regrets = {name: [play_bump(name, seed) for seed in seeds] for name in BUMP_POLICIES}
    found = {name: mean_and_error(each) for name, each in regrets.items()}
    yield CheckedStatement(
        f"Bumps on {BUMP.arms} arms, T = {BUMP.horizon}: expected regret >= "
        f"(1 - 1/M)^2 R sqrt(M T)/2, for {len(BUMP_POLICIES)} policies",
        f">= {BUMP.least_regret:.2f}",
        ", ".join(f"{name} {mean:.2f}" for name, (mean, _) in found.items()),
        holds=all(mean + 3 * error >= BUMP.least_regret for mean, error in found.values()),
        detail=f"{len(seeds)} runs each, mean + 3 standard errors; the norm of a bump is "
        f"{BUMP.norm:.3f}",
    )
    told = float(np.mean([min(BUMP.instance(Streams(seed)).gaps) * BUMP.horizon for seed in seeds]))
    yield CheckedStatement(
        "Bumps: a rule that is told the best arm satisfies the lower bound",
        f">= {BUMP.least_regret:.2f}",
        f"{told:.2f}",
        holds=told >= BUMP.least_regret,
        should_hold=False,
    )


def play_bump(name: str, seed: int) -> float:
    """Return the regret of a policy, given the true R and D."""
    streams = Streams(seed)
    instance = BUMP.instance(streams)
    entry = policy_entry(name)
    given = {
        "noise_scale": BUMP.noise_scale,
        "norm_bound": BUMP.norm_bound,
        "horizon": BUMP.horizon,
        "delta": 0.1,
    }
    chosen = policy(name, instance.domain, BUMP.kernel, **shared_settings(entry, given))
    return float(instance.gaps[play(chosen, instance, BUMP.horizon, streams).arms].sum())


def check_growth() -> CheckedStatement:
    """Check that the regret grows at least like sqrt(T).

    (1 - alpha) Delta sqrt(T) tends to a constant.
    """
    horizons = (500, 2000, 8000)
    ratios = [regret_of_run("w = 1", DIMENSION, t) / math.sqrt(t) for t in horizons]
    bounds = [proved_regret(DIMENSION, t) / math.sqrt(t) for t in horizons]
    return CheckedStatement(
        "w = 1, d = 3: regret / sqrt(T) >= (1 - alpha) sqrt(T) Delta for T = 500, 2000, 8000",
        ">= " + ", ".join(f"{bound:.3f}" for bound in bounds),
        ", ".join(f"{ratio:.3f}" for ratio in ratios),
        holds=all(ratio >= bound for ratio, bound in zip(ratios, bounds, strict=True)),
    )
