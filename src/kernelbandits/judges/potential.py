"""The elliptical potential: how fast the sum of sd^2 along a play grows with its log-determinant (5.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.judges.finding import FAILS, Effort, Finding, identity, verdict
from kernelbandits.judges.stage import KERNELS, NOISE_SCALE, NORM_BOUND, Stage, stage
from kernelbandits.kernels import Linear
from kernelbandits.policies import IndexPolicy, SimpleBernoulli, SimpleGaussian, SimpleUCB

NAME = "potential"
BREAK_EVEN = 2.512862417252339
"""The root of x = 2 ln(1 + x): up to it the factor 2 suffices."""
SHARP = 1 / math.log(2)
RIDGES = (0.1, 1 / BREAK_EVEN, 1.0, 3.0)
TOLD: dict[str, Any] = {"noise_scale": NOISE_SCALE, "norm_bound": NORM_BOUND, "ties": "lowest"}

Chooser = Callable[[IndexPolicy, int], int]
"""(policy, t) -> the arm to play."""


@dataclass(frozen=True)
class Path:
    """Sums along a play, in the engine's own numbers."""

    ridge: float
    largest: float
    """M = sup k(x, x) / ridge"""
    log_det: float
    squares: float
    """sum sd^2 / ridge"""
    logarithms: float
    """sum ln(1 + sd^2 / ridge)"""
    bonuses: float
    """sum g^2, g = width sd"""

    @property
    def factor(self) -> float:
        """M / ln(1 + M): the least factor that is always enough."""
        return self.largest / math.log1p(self.largest)


def walked(policy: IndexPolicy, choose: Chooser, rewards: Iterable[float]) -> Path:
    """Play the arms chosen, and sum what the policy says of each before its reward."""
    ridge, largest = (
        policy.posterior.ridge,
        float(policy.posterior.prior.max()) / policy.posterior.ridge,
    )
    sds, widths = [], []
    for t, reward in enumerate(rewards, start=1):
        arm = choose(policy, t)
        sds.append(policy.posterior.sd[arm])
        widths.append(policy.width_at(t))
        policy.tell(policy.choice(arm), float(reward))
    ratios, bonuses = np.square(sds) / ridge, np.square(np.multiply(widths, sds))
    return Path(
        ridge,
        largest,
        policy.posterior.log_det,
        ratios.sum(),
        np.log1p(ratios).sum(),
        bonuses.sum(),
    )


def most_unknown(policy: IndexPolicy, t: int) -> int:
    return int(policy.posterior.sd.argmax())


def walks(where: Stage, ridge: float, horizon: int) -> Iterator[Path]:
    """Three policies as they play, and the play that seeks the greatest sd."""
    rewards = where.instance.values.mean() + where.streams.normal("noise", 1, horizon)

    def asked(policy: IndexPolicy, t: int) -> int:
        return int(policy.ask(t, where.streams).arm or 0)

    for rule in (SimpleUCB, SimpleBernoulli, SimpleGaussian):
        yield walked(rule(where.instance.domain, where.kernel, ridge=ridge, **TOLD), asked, rewards)
    yield walked(
        SimpleUCB(where.instance.domain, where.kernel, ridge=ridge, **TOLD), most_unknown, rewards
    )


def orthogonal(ridge: float, arms: int = 8) -> Path:
    """Each of d orthonormal arms once: sd = 1 every time, the worst there is."""
    policy = SimpleUCB(np.eye(arms), Linear(), ridge=ridge, **TOLD)
    return walked(policy, lambda policy, t: t - 1, np.zeros(arms))


def potential(effort: Effort) -> Iterator[Finding]:
    """sum sd^2 / ridge <= factor L, with the factor that holds, where it is sharp, and where 2 is too small."""
    horizon = effort.runs(150, least=60)
    paths = [
        path
        for name in KERNELS
        for r in RIDGES
        for path in walks(stage(effort.seed, name), r, horizon)
    ]
    plays = f"{len(paths)} plays of {horizon} rounds"
    apart = [abs(path.logarithms - path.log_det) / path.log_det for path in paths]
    yield identity(
        NAME,
        f"sum ln(1 + sd^2/ridge) = L, {plays}",
        apart,
        1e-9,
        "relative, in the engine's own numbers",
    )
    yield below(
        "sum sd^2/ridge <= M/ln(1+M) L, M = sup k/ridge",
        ((p.squares, p.factor * p.log_det) for p in paths),
    )
    yield bounded(
        "k/ridge <= 1: factor 1/ln 2", SHARP, [path for path in paths if path.largest <= 1 + 1e-12]
    )
    yield attained(
        "k/ridge = 1, orthogonal arms once each: the factor 1/ln 2 is attained",
        SHARP,
        orthogonal(1.0),
    )
    yield bounded(
        "k/ridge <= 2.5128: factor 2",
        2.0,
        [path for path in paths if path.largest <= BREAK_EVEN + 1e-12],
    )
    yield attained(
        "k/ridge = 2.5128, orthogonal arms: the factor 2 is attained",
        2.0,
        orthogonal(1 / BREAK_EVEN),
    )
    yield too_small(orthogonal(0.1))
    yield below(
        "sum g^2 <= (R sqrt(2 ln 2 + L) + D)^2 2 L at ridge 1",
        ((path.bonuses, bonus_bound(path.log_det)) for path in paths if path.ridge == 1),
    )


def bonus_bound(log_det: float) -> float:
    """(R sqrt(2 ln 2 + L) + D)^2 2 L."""
    return (NOISE_SCALE * math.sqrt(2 * math.log(2) + log_det) + NORM_BOUND) ** 2 * 2 * log_det


def below(statement: str, pairs: Iterable[tuple[float, float]]) -> Finding:
    """Every first number at most the second."""
    ratios = [left / right for left, right in pairs]
    return limited(statement, "ratio <= 1", ratios, 1.0)


def bounded(statement: str, factor: float, paths: list[Path]) -> Finding:
    """sum sd^2 / ridge <= factor L."""
    return limited(
        statement,
        f"sum / L <= {factor:.4f}",
        [path.squares / path.log_det for path in paths],
        factor,
    )


def limited(statement: str, predicted: str, ratios: list[float], limit: float) -> Finding:
    greatest = float(np.max(ratios))
    seen, holds = (
        f"at most {greatest:.4f}, {len(ratios)} plays",
        verdict(greatest <= limit * (1 + 1e-9)),
    )
    return Finding(NAME, statement, predicted, seen, holds, detail="proved; 1e-9 for rounding")


def attained(statement: str, factor: float, path: Path) -> Finding:
    ratio = path.squares / path.log_det
    holds = verdict(abs(ratio - factor) <= 1e-9)
    return Finding(
        NAME, statement, f"sum / L = {factor:.9f}", f"{ratio:.9f}", holds, detail="1e-9, rounding"
    )


def too_small(path: Path) -> Finding:
    """10 > 2 ln 11 for every arm: a checker that agrees here agrees with everything."""
    statement = "the factor 2 at ridge 0.1, 8 orthogonal arms once each: sum sd^2/ridge <= 2 L"
    predicted, seen = (
        f"80 > {16 * math.log(11):.2f}",
        f"{path.squares:.2f}, 2 L = {2 * path.log_det:.2f}",
    )
    detail = "must fail: 10 > 2 ln 11 = 4.80 for each arm"
    return Finding(
        NAME, statement, predicted, seen, verdict(path.squares <= 2 * path.log_det), FAILS, detail
    )
