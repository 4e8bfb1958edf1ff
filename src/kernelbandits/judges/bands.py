"""Are confidence bands as wide as their formulas say, and no wider? Dense linear algebra at every ridge needed.

With rho^2 = ridge y' (K + ridge I)^-1 y + R^2 (L + 2 ln(1/delta)), for every a > 0

    f(x) <= mean_a(x) + sqrt((rho^2 - a y' (K + a I)^-1 y) / a + D^2) sd_a(x),

five a for DMM-UCB, the best a for CMM-UCB and `confidence_band`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.judges import oracle
from kernelbandits.judges.finding import Effort, Finding, identity, verdict
from kernelbandits.judges.stage import NOISE_SCALE, NORM_BOUND, RIDGE, Stage, stage
from kernelbandits.policies import CMMUCB, DMMUCB
from kernelbandits.posterior import ArmPosterior, LinearPosterior, PoolPosterior, Posterior
from kernelbandits.theory import Band, confidence_band

NAME = "bands"
DELTA, REWARDS, ARMS = 0.1, 60, 12
FORMS: tuple[tuple[type[Posterior], str], ...] = (
    (ArmPosterior, "Matern(0.3)"),
    (PoolPosterior, "RBF(0.25)"),
    (LinearPosterior, "linear"),
)
WIDTHS = {"whitehouse": oracle.self_normalised, "amm": oracle.mixed}
GRID = np.geomspace(1e-6, 1e6, 241)
QUIET = 0.05
"""Noise so small that some arms are known not to be the best."""


@dataclass(frozen=True, eq=False)
class Data:
    """Arms played at random on a stage, and their rewards."""

    where: Stage
    arms: list[int]
    rewards: Array
    noise_scale: float

    @classmethod
    def of(cls, seed: int, kernel: str, noise_scale: float = NOISE_SCALE) -> Data:
        where = stage(seed, kernel, ARMS)
        arms = where.streams.generator(31).integers(ARMS - 2, size=REWARDS).tolist()
        values, noise = (
            where.instance.values[arms],
            where.rewards(arms) - where.instance.values[arms],
        )
        return cls(where, arms, values + noise * (noise_scale / NOISE_SCALE), noise_scale)

    @property
    def sure(self) -> Array:
        """D sqrt(k(x, x)) >= |f(x)|"""
        return np.asarray(NORM_BOUND * np.sqrt(self.where.gram.diagonal()))

    @cached_property
    def radius(self) -> float:
        """rho^2"""
        log_det = oracle.log_det(self.where.gram, self.arms, RIDGE)
        paid = self.noise_scale**2 * (log_det + 2 * math.log(1 / DELTA))
        return oracle.loss(self.where.gram, self.arms, self.rewards, RIDGE) + paid

    def told(self, form: type[Posterior]) -> Posterior:
        posterior = form(self.where.kernel, self.where.instance.domain.points, RIDGE)
        for arm, reward in zip(self.arms, self.rewards.tolist(), strict=True):
            posterior.update(arm, reward)
        return posterior

    def bounds(self, a: float) -> tuple[Array, Array]:
        """mean_a, and what is added to it."""
        known = oracle.estimate(self.where.gram, self.arms, self.rewards, a)
        left = self.radius - oracle.loss(self.where.gram, self.arms, self.rewards, a)
        return known.mean, np.sqrt(max(left / a + NORM_BOUND**2, 0.0)) * known.sd


def bands(effort: Effort) -> Iterator[Finding]:
    """Every method on every form of the posterior, the two policies that play with such a band, and what cannot be."""
    for form, kernel in FORMS:
        data = Data.of(effort.seed, kernel, QUIET)
        posterior = data.told(form)
        for method in WIDTHS:
            yield ellipsoid(method, data, posterior)
        yield exact(f"confidence_band cmm, {form.__name__}", data, stated(data, posterior, "cmm"))
    data = Data.of(effort.seed, "RBF(0.25)")
    yield exact("CMM-UCB", data, played(CMMUCB, data))
    yield laddered(data, played(DMMUCB, data))
    yield contradicted(effort)


def stated(data: Data, posterior: Posterior, method: str) -> tuple[Array, Array]:
    band = confidence_band(posterior, data.noise_scale, NORM_BOUND, DELTA, method)
    return band.lower, band.upper


def played(constructor: Any, data: Data) -> tuple[Array, Array]:
    """The band of a policy that was told the data."""
    told = {
        "noise_scale": data.noise_scale,
        "norm_bound": NORM_BOUND,
        "ridge": RIDGE,
        "delta": DELTA,
    }
    policy = constructor(data.where.instance.domain, data.where.kernel, **told)
    for arm, reward in zip(data.arms, data.rewards.tolist(), strict=True):
        policy.tell(policy.choice(arm), reward)
    lower, upper = policy.band(len(data.arms) + 1)
    return lower, upper


def ellipsoid(method: str, data: Data, posterior: Posterior) -> Finding:
    """mean +- width sd within +-D sqrt(k); f(j) - f(i) <= mean_j - mean_i + width sd of the difference."""
    found = confidence_band(posterior, data.noise_scale, NORM_BOUND, DELTA, method)
    known = oracle.estimate(data.where.gram, data.arms, data.rewards, RIDGE)
    width = WIDTHS[method](data.noise_scale, NORM_BOUND, RIDGE, DELTA)(known.log_det)
    lower, upper = known.mean - width * known.sd, known.mean + width * known.sd
    right = compared(known, width, np.maximum(lower, -data.sure), np.minimum(upper, data.sure))
    apart = [
        np.abs(found.lower - right.lower),
        np.abs(found.upper - right.upper),
        np.abs(found.regrets - right.regrets),
    ]
    same = found.candidates.tolist() == right.candidates.tolist() and not found.contradiction
    statement = (
        f"confidence_band {method}, {type(posterior).__name__}: bounds, regrets and candidates"
    )
    detail = f"rounding under a root; {len(right.candidates)} of {ARMS} arms may be best"
    return identity(NAME, statement, [*np.ravel(apart), 0.0 if same else math.inf], 1e-7, detail)


def compared(known: oracle.Estimate, width: float, lower: Array, upper: Array) -> Bounds:
    """An arm may be best if no other beats it for certain; only such arms count for what an arm loses."""
    variance = known.sd**2
    apart = np.sqrt(np.maximum(variance[:, None] + variance - 2 * known.cov, 0.0))
    gaps = np.minimum(known.mean - known.mean[:, None] + width * apart, upper - lower[:, None])
    np.fill_diagonal(gaps, 0.0)
    best = np.flatnonzero((upper >= lower.max()) & (gaps >= 0).all(0))
    return Bounds(lower, upper, gaps[:, best].max(1), best)


@dataclass(frozen=True, eq=False)
class Bounds:
    lower: Array
    upper: Array
    regrets: Array
    candidates: Indices


def exact(title: str, data: Data, found: tuple[Array, Array]) -> Finding:
    """The least upper bound over all a, found on a grid and then between its points; the lower one likewise."""
    means, reaches = (np.array(rows) for rows in zip(*map(data.bounds, GRID), strict=True))
    lower, upper = -refined(data, -1.0, -means + reaches), refined(data, 1.0, means + reaches)
    right = np.maximum(lower, -data.sure), np.minimum(upper, data.sure)
    apart, detail = (
        np.abs(np.subtract(found, right)),
        "by a search in ln a; the engine stops after three steps",
    )
    return identity(NAME, f"{title}: the best bound over all ridges a", apart, 1e-6, detail)


def refined(data: Data, sign: float, table: Array) -> Array:
    """min over a of sign mean_a + reach_a, for each arm."""
    from scipy.optimize import minimize_scalar

    least = np.empty(ARMS)
    for arm, row in enumerate(table.argmin(0).tolist()):
        near = math.log(GRID[max(row - 1, 0)]), math.log(GRID[min(row + 1, len(GRID) - 1)])
        search = minimize_scalar(
            upper_at, bounds=near, args=(data, sign, arm), options={"xatol": 1e-6}
        )
        least[arm] = min(float(search.fun), float(table[row, arm]))
    return least


def upper_at(log_a: float, data: Data, sign: float, arm: int) -> float:
    mean, reach = data.bounds(math.exp(log_a))
    return float(sign * mean[arm] + reach[arm])


def laddered(data: Data, found: tuple[Array, Array]) -> Finding:
    """DMM-UCB as it comes: a = ridge 8^k, k = -2..2."""
    pairs = [data.bounds(RIDGE * 8.0**k) for k in range(-2, 3)]
    lower = np.max([mean - reach for mean, reach in pairs], axis=0)
    upper = np.min([mean + reach for mean, reach in pairs], axis=0)
    apart = np.abs(np.subtract(found, (lower, upper)))
    return identity(
        NAME,
        "DMM-UCB: the best bound over a = ridge 8^k, k = -2..2",
        apart,
        1e-7,
        "rounding under a root",
    )


def contradicted(effort: Effort) -> Finding:
    """Rewards of 50 D where the noise is said to be small: no f fits; rewards of a true f: some f does."""
    sound = [band_of(effort, method, 1.0).contradiction for method in (*WIDTHS, "cmm")]
    absurd = [band_of(effort, method, 50.0).contradiction for method in (*WIDTHS, "cmm")]
    wanted = "contradicted: 0 of 3 true, 3 of 3 absurd"
    seen = f"contradicted: {sum(sound)} of 3 true, {sum(absurd)} of 3 absurd"
    statement = "rewards contradict R and D where no f fits, and only there"
    return Finding(
        NAME,
        statement,
        wanted,
        seen,
        verdict(wanted == seen),
        detail="the true f fits for seed and noise given",
    )


def band_of(effort: Effort, method: str, factor: float) -> Band:
    data = Data.of(effort.seed, "RBF(0.25)", QUIET)
    posterior = ArmPosterior(data.where.kernel, data.where.instance.domain.points, RIDGE)
    for arm, reward in zip(data.arms, data.rewards.tolist(), strict=True):
        posterior.update(arm, factor * reward)
    return confidence_band(posterior, QUIET, NORM_BOUND, DELTA, method)
