"""The self-normalised bound under play that chases the noise, with the width as the engine computes it (5.7)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.judges import oracle
from kernelbandits.judges.finding import (
    FALSE_ALARM,
    Effort,
    Finding,
    allowed,
    identity,
    share,
    verdict,
)
from kernelbandits.kernels import Linear
from kernelbandits.policies import IndexPolicy, WhitehouseUCB
from kernelbandits.streams import Streams

NAME = "martingale"
DIMENSION, ARMS, HORIZON = 4, 24, 100
NOISE_SCALE, NORM_BOUND, RIDGE = 0.7, 1.3, 0.6
DELTAS = (0.5, 0.1)
NOISES = ("Gaussian", "Rademacher")


@dataclass(frozen=True, eq=False)
class Chase:
    """f = 0, so every reward is noise; arrays of (rounds, runs)."""

    points: Array
    arms: Array
    noise: Array
    squares: Array
    """S' (V + ridge I)^-1 S after each round"""
    log_dets: Array
    """log det(I + V / ridge)"""


def martingale(effort: Effort) -> Iterator[Finding]:
    """P(some t: ||(V_t + ridge I)^-1/2 S_t|| > R sqrt(2 ln(1/delta) + L_t)) <= delta, and not for being too wide."""
    runs = effort.runs(400, least=60)
    for number, noise in enumerate(NOISES):
        chase = chased(noise, runs, Streams(effort.seed).generator(8, number))
        yield form_finding(noise, chase)
        for delta in DELTAS:
            yield from rate_findings(noise, chase, delta)


def chased(noise: str, runs: int, rng: np.random.Generator) -> Chase:
    """Each round plays the arm of greatest |x' (V + ridge I)^-1 S|, where the noise so far deceives most."""
    points = rng.standard_normal((ARMS, DIMENSION))
    points /= np.linalg.norm(points, axis=1)[:, None]
    drawn = (
        rng.standard_normal((HORIZON, runs))
        if noise == "Gaussian"
        else rng.choice((-1.0, 1.0), (HORIZON, runs))
    )
    design, sums = np.tile(RIDGE * np.eye(DIMENSION), (runs, 1, 1)), np.zeros((runs, DIMENSION))
    arms, squares, log_dets = [], [], []
    for errors in NOISE_SCALE * drawn:
        arm = np.abs(solved(design, sums) @ points.T).argmax(1)
        x = points[arm]
        design, sums = design + x[:, :, None] * x[:, None, :], sums + errors[:, None] * x
        arms.append(arm)
        squares.append((sums * solved(design, sums)).sum(1))
        log_dets.append(np.linalg.slogdet(design / RIDGE)[1])
    return Chase(points, np.array(arms), NOISE_SCALE * drawn, np.array(squares), np.array(log_dets))


def solved(matrices: Array, vectors: Array) -> Array:
    """(V + ridge I)^-1 S, run by run."""
    return np.asarray(np.linalg.solve(matrices, vectors[..., None])[..., 0])


def form_finding(noise: str, chase: Chase) -> Finding:
    """The square in three forms: S' (V + ridge)^-1 S, e' K (K + ridge)^-1 e, and e' mean of the engine, for f = 0."""
    gram, apart = oracle.linear(chase.points, chase.points), []
    for run in range(min(20, chase.arms.shape[1])):
        arms, errors = chase.arms[:, run].tolist(), chase.noise[:, run]
        policy = told_all(arms, errors, chase.points)
        forms = (
            float(chase.squares[-1, run]),
            oracle.self_normalised_square(gram, arms, errors, RIDGE),
            float(errors @ policy.posterior.mean[arms]),
        )
        apart.append(np.ptp(forms) / max(1.0, forms[0]))
    statement = (
        f"||(V + ridge I)^-1/2 S||^2: primal = kernel form = e' mean of the engine, {noise} noise"
    )
    return identity(NAME, statement, apart, 1e-9, f"rounding, after {HORIZON} rounds")


def told_all(arms: list[int], rewards: Array, points: Array) -> IndexPolicy:
    policy = engine_policy(points, 0.5)
    for arm, reward in zip(arms, rewards.tolist(), strict=True):
        policy.tell(policy.choice(arm), reward)
    return policy


def engine_policy(points: Array, delta: float) -> IndexPolicy:
    told: dict[str, Any] = {"noise_scale": NOISE_SCALE, "norm_bound": NORM_BOUND, "ridge": RIDGE}
    return WhitehouseUCB(points, Linear(), delta=delta, **told)


def rate_findings(noise: str, chase: Chase, delta: float) -> Iterator[Finding]:
    """With the engine's radius sqrt(ridge) (width - D), and with that of the definition."""
    radii = np.column_stack([engine_radii(chase, run, delta) for run in range(chase.arms.shape[1])])
    formula = NOISE_SCALE * np.sqrt(2 * math.log(1 / delta) + chase.log_dets)
    left, right = (np.any(chase.squares > bound**2, axis=0) for bound in (radii, formula))
    apart, differ = float(np.abs(radii - formula).max()), int((left != right).sum())
    statement = f"radius of the engine = R sqrt(2 ln(1/delta) + L), delta {delta:g}, {noise} noise"
    seen, detail = (
        f"difference {apart:.1e}, {differ} runs differ",
        "rounding; the same runs leave either ball",
    )
    same = verdict(apart <= 1e-9 and not differ)
    yield Finding(NAME, statement, "difference <= 1e-09, 0 runs differ", seen, same, detail=detail)
    yield rate_finding(noise, delta, left)


def rate_finding(noise: str, delta: float, left: Any) -> Finding:
    """At most delta; at delta 1/2 more than nothing, or the bound is wider than it need be."""
    count, runs = int(left.sum()), len(left)
    most, wide = allowed(delta, runs), delta == 0.5 and count == 0
    statement = f"P(S_t ever beyond that radius), delta {delta:g}, {noise} noise, {runs} runs"
    predicted = (
        f"{'in (0, 0.5]' if delta == 0.5 else f'<= {delta:g}'} (chance allows {most} of {runs})"
    )
    above = f"chance allows the least k with P(Bin({runs}, {delta:g}) > k) <= {FALSE_ALARM:g}"
    detail = f"{above}; none at all at delta 1/2 would mean a bound too wide"
    return Finding(
        NAME,
        statement,
        predicted,
        share(count, runs),
        verdict(count <= most and not wide),
        detail=detail,
    )


def engine_radii(chase: Chase, run: int, delta: float) -> list[float]:
    """sqrt(ridge) (width - D) after each round of one run."""
    policy, radii = engine_policy(chase.points, delta), []
    for t, (arm, reward) in enumerate(
        zip(chase.arms[:, run].tolist(), chase.noise[:, run].tolist(), strict=True)
    ):
        policy.tell(policy.choice(arm), reward)
        radii.append(math.sqrt(RIDGE) * (policy.width_at(t + 2) - NORM_BOUND))
    return radii
