"""Does the state of the engine stay what the definition says: mean, sd, log-determinant, posterior draws?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.experiment.engines import play
from kernelbandits.judges import oracle
from kernelbandits.judges.finding import Effort, Finding, counted, identity
from kernelbandits.judges.stage import (
    KERNELS,
    NOISE_SCALE,
    NORM_BOUND,
    RIDGE,
    Stage,
    engines,
    stage,
)
from kernelbandits.kernels import RBF, Matern
from kernelbandits.policies import GPTS, SimpleGaussian
from kernelbandits.posterior import ArmPosterior, LinearPosterior, PoolPosterior, Posterior

NAME = "engine"
RIDGES = (0.1, 0.6, 3.0)
LONG = 1200
"""Beyond the first audit, after which the state comes from a refactorisation."""
TOLD: dict[str, Any] = {"noise_scale": NOISE_SCALE, "norm_bound": NORM_BOUND}


def state_findings(effort: Effort) -> Iterator[Finding]:
    horizon = effort.runs(200, least=100)
    yield kernel_finding(effort)
    for engine in engines():
        yield from played_state(effort, horizon, engine)
        yield audited_state(effort, engine)
    for form, kernel in (
        (ArmPosterior, "Matern(0.3)"),
        (PoolPosterior, "RBF(0.25)"),
        (LinearPosterior, "linear"),
    ):
        yield from form_findings(effort, form, kernel)
    yield from sample_findings(stage(effort.seed), horizon)
    yield thompson_finding(
        stage(effort.seed, "Matern(0.3)", arms=8),
        LONG,
        f"the same over {LONG} rounds, an audit among them",
    )


def kernel_finding(effort: Effort) -> Finding:
    points, scales = stage(effort.seed).instance.domain.points, np.array([0.25, 0.6])
    s = oracle.distances(points, points) / 0.3
    root = math.sqrt(3) * s
    rights = {
        name: (kernel, alike(points, points)) for name, (kernel, alike) in KERNELS.items()
    } | {
        "Matern 3/2": (Matern(0.3, nu=1.5), (1 + root) * np.exp(-root)),
        "Matern 1/2": (Matern(0.3, nu=0.5), np.exp(-s)),
        "RBF of two lengthscales": (
            RBF(scales.tolist()),
            oracle.rbf(1.0)(points / scales, points / scales),
        ),
    }
    differences = [
        np.abs(kernel(points, points) - right).max() for kernel, right in rights.values()
    ]
    return identity(
        NAME, f"k(x, z) of {', '.join(rights)} by their formulas", differences, 1e-12, "rounding"
    )


def played_state(effort: Effort, horizon: int, engine: str) -> Iterator[Finding]:
    """The state after a run, and L in its three forms (5.5): engine, slogdet, sum of ln(1 + sd^2 / ridge)."""
    off_state, off_log_det = [], []
    for name in KERNELS:
        for ridge in RIDGES:
            where = stage(effort.seed, name)
            policy = SimpleGaussian(
                where.instance.domain, where.kernel, ridge=ridge, ties="lowest", **TOLD
            )
            arms = play(policy, where.instance, horizon, where.streams, engine).arms.tolist()
            known = oracle.estimate(where.gram, arms, where.rewards(arms), ridge)
            off_state.append(off(policy.posterior, known))
            forms = policy.posterior.log_det, known.log_det, potential(where.gram, arms, ridge)
            off_log_det.append(np.ptp(forms) / known.log_det)
    kinds = f"{len(KERNELS)} kernels, ridges {', '.join(f'{r:g}' for r in RIDGES)}"
    yield identity(
        NAME,
        f"mean, sd and L after {horizon} rounds ({engine})",
        off_state,
        1e-8,
        f"rounding; {kinds}",
    )
    detail = f"relative; {kinds}; slogdet, and the sds of the definition"
    yield identity(
        NAME,
        f"L = log det(I + K/ridge) = sum ln(1 + sd^2/ridge) ({engine})",
        off_log_det,
        1e-9,
        detail,
    )


def potential(gram: Array, arms: list[int], ridge: float) -> float:
    """sum_t ln(1 + sd_{t-1}(x_t)^2 / ridge)."""
    steps = [
        oracle.collapsed(gram, arms[:t], np.zeros(t), ridge).cov[arm, arm]
        for t, arm in enumerate(arms)
    ]
    return float(np.log1p(np.array(steps) / ridge).sum())


def audited_state(effort: Effort, engine: str) -> Finding:
    where = stage(effort.seed, "Matern(0.3)", arms=8)
    policy = SimpleGaussian(where.instance.domain, where.kernel, ridge=RIDGE, ties="lowest", **TOLD)
    arms = play(policy, where.instance, LONG, where.streams, engine).arms.tolist()
    known = oracle.estimate(where.gram, arms, where.rewards(arms), RIDGE)
    statement = f"mean, sd and L after {LONG} rounds, an audit among them ({engine})"
    return identity(NAME, statement, off(policy.posterior, known), 1e-8, "rounding")


def form_findings(effort: Effort, form: type[Posterior], kernel: str) -> Iterator[Finding]:
    """One form of the posterior, told arms at random, also away from its state, by `at`; then an audit, and on."""
    where = stage(effort.seed, kernel)
    rng, points = where.streams.generator(len(form.__name__)), where.instance.domain.points
    early, late = (
        rng.integers(len(points) - 6, size=80).tolist(),
        rng.integers(len(points), size=60).tolist(),
    )
    posterior, rewards = form(where.kernel, points, RIDGE), where.rewards([*early, *late])
    for told, arms in (("", early), (", an audit among them", [*early, *late])):
        for number in range(posterior.events, len(arms)):
            posterior.update(arms[number], float(rewards[number]))
        known = oracle.estimate(where.gram, arms, rewards[: len(arms)], RIDGE)
        statement = f"{form.__name__}: mean, sd, L and `at` after {len(arms)} rewards{told}"
        apart = [off(posterior, known), off_at(posterior, known), posterior.health.repairs]
        yield identity(NAME, statement, apart, 1e-7, "rounding under a root, and no repair")
        posterior.audit()


def off_at(posterior: Posterior, known: oracle.Estimate) -> float:
    mean, sd = posterior.at(posterior.points)
    return float(max(np.abs(mean - known.mean).max(), np.abs(sd - known.sd).max()))


def off(posterior: Posterior, known: oracle.Estimate) -> float:
    """The greatest difference of mean, sd and L."""
    mean, sd = np.abs(posterior.mean - known.mean).max(), np.abs(posterior.sd - known.sd).max()
    return float(np.max([mean, sd, abs(posterior.log_det - known.log_det)]))


def sample_findings(where: Stage, horizon: int) -> Iterator[Finding]:
    """GP-TS: its draw is linear in its normals, so the covariance can be read off unit vectors, without sampling."""
    ridge, scale_at = 1 + 2 / horizon, oracle.improved(NOISE_SCALE, NORM_BOUND, delta=0.1 / 2)
    policy = GPTS(
        where.instance.domain, where.kernel, horizon=horizon, delta=0.1, ties="lowest", **TOLD
    )
    yield identity(
        NAME,
        "GP-TS: S S' = K",
        np.abs(policy.root @ policy.root.T - where.gram).max(),
        1e-12,
        "rounding",
    )
    half = horizon // 2
    arms = play(policy, where.instance, half, where.streams, "numpy").arms.tolist()
    known = oracle.estimate(where.gram, arms, where.rewards(arms), ridge)
    units, nothing = np.eye(len(known.mean)), np.zeros(len(known.mean))
    columns = [policy.sample(half + 1, unit, nothing) for unit in units]
    columns += [policy.sample(half + 1, nothing, unit) for unit in units]
    spread = np.array(columns) - policy.sample(half + 1, nothing, nothing)
    apart = np.abs(spread.T @ spread - scale_at(known.log_det) ** 2 * known.cov).max()
    yield identity(
        NAME, f"GP-TS: the draw of round {half + 1} has covariance v^2 cov", apart, 1e-8, "rounding"
    )
    yield thompson_finding(where, horizon, "each round plays the maximiser of the draw")


def thompson_finding(where: Stage, horizon: int, says: str) -> Finding:
    """The root of K is the engine's to choose; given it, every arm follows from the normals of its round."""
    right, scale_at = {}, oracle.improved(NOISE_SCALE, NORM_BOUND, delta=0.1 / 2)
    for engine in engines():
        policy = GPTS(
            where.instance.domain, where.kernel, horizon=horizon, delta=0.1, ties="lowest", **TOLD
        )
        arms = play(policy, where.instance, horizon, where.streams, engine).arms.tolist()
        right[engine] = int(np.equal(thompson_arms(where, arms, policy.root, scale_at), arms).sum())
    return counted(
        NAME,
        f"GP-TS: {says}",
        dict.fromkeys(right, horizon),
        right,
        "exact; the draw by Matheron's rule",
    )


def thompson_arms(where: Stage, arms: list[int], root: Array, scale_at: oracle.Width) -> list[int]:
    horizon, n = len(arms), len(root)
    ridge, rewards = 1 + 2 / horizon, where.rewards(arms)
    best = []
    for t in range(1, horizon + 1):
        past, normals = arms[: t - 1], where.streams.normal("sample", t, 2 * n)
        known = oracle.collapsed(where.gram, past, rewards[: t - 1], ridge)
        draw = oracle.deviation(where.gram, past, ridge, root @ normals[:n], normals[n:])
        best.append(oracle.best(known.mean + scale_at(known.log_det) * draw))
    return best
