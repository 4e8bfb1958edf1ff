"""The judges of regret: below the repaired bound on random functions, above the lower bound on its instance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.experiment.engines import play
from kernelbandits.judges.finding import FAILS, Effort, Finding, verdict
from kernelbandits.judges.lower_bound import above_lower_bound
from kernelbandits.judges.paths import maximised, pathwise
from kernelbandits.judges.players import (
    BANDITS,
    NOISE_SCALE,
    NORM_BOUND,
    PLAYERS,
    TRAPS,
    Bandit,
    bounds,
    delta,
)
from kernelbandits.judges.stage import engines
from kernelbandits.policies import GenericGP, Greedy
from kernelbandits.streams import Streams
from kernelbandits.theory import regret_bound

__all__ = ["above_lower_bound", "below_bound"]

ROUNDING = 1e-9


def below_bound(effort: Effort) -> Iterator[Finding]:
    """Expected regret below the bound for every law, and the links of its proof."""
    runs = {
        (name, bandit): outcomes(name, bandit, effort) for name in PLAYERS for bandit in BANDITS
    }
    for name in PLAYERS:
        yield expected_regret(
            name, {bandit: found for (law, bandit), found in runs.items() if law == name}
        )
    yield no_exploration()
    yield same_bounds()
    yield from realised_gain(runs)
    for engine in engines():
        yield from pathwise(engine, effort)
        yield maximised(engine, effort)


@dataclass(frozen=True)
class Outcome:
    """A run of T rounds."""

    regret: float
    log_det: float
    """log det(I + K) of the arms played, by its definition."""
    engine_log_det: float


def outcomes(name: str, bandit: Bandit, effort: Effort) -> list[Outcome]:
    return [
        outcome(name, bandit, effort.seed * 10**6 + run) for run in range(effort.runs(6, least=3))
    ]


def outcome(name: str, bandit: Bandit, seed: int) -> Outcome:
    """The law plays with the delta that the proof needs."""
    instance, law = bandit.instance(seed), PLAYERS[name].exploration(bandit.horizon)
    policy = GenericGP(
        instance.domain,
        bandit.kernel,
        law,
        noise_scale=NOISE_SCALE,
        norm_bound=NORM_BOUND,
        delta=delta(bandit.horizon),
        ties="lowest",
    )
    arms = play(policy, instance, bandit.horizon, Streams(seed)).arms
    counts = np.bincount(arms, minlength=len(bandit.points))
    return Outcome(
        lost(instance.values, counts), log_det(bandit.gram, counts), policy.played_log_det
    )


def lost(values: Array, counts: Any) -> float:
    """sum_i n_i (max f - f_i)"""
    return float(counts @ (values.max() - values))


def log_det(gram: Array, counts: Any) -> float:
    """log det(I + N^1/2 K N^1/2), N the counts of the arms."""
    root = np.sqrt(counts)
    return float(np.linalg.slogdet(np.eye(len(gram)) + root[:, None] * gram * root)[1])


def expected_regret(name: str, found: dict[Bandit, list[Outcome]]) -> Finding:
    """mean + 3 standard errors <= (1 + C2 + C3') g sqrt(2 T gamma / ln 2) + 2 D T delta, on each bandit."""
    limits = {bandit: bounds(name, bandit)[1] for bandit in found}
    seen = {bandit: [one.regret for one in many] for bandit, many in found.items()}
    names = ", ".join(
        f"{bandit.name} (2DT = {2 * NORM_BOUND * bandit.horizon:.0f})" for bandit in found
    )
    return Finding(
        "regret",
        f"{name}: E regret <= (1 + C2 + C3') g sqrt(2 T gamma/ln 2) + 1 on {len(found)} bandits",
        "<= " + ", ".join(f"{limit:.0f}" for limit in limits.values()),
        ", ".join(f"{np.mean(regrets):.1f}" for regrets in seen.values()),
        verdict(all(highest(seen[bandit]) <= limits[bandit] for bandit in found)),
        detail=f"{len(next(iter(seen.values())))} runs each, mean + 3 standard errors: {names}",
    )


def highest(values: list[float]) -> float:
    """mean + 3 standard errors."""
    return float(np.mean(values) + 3 * np.std(values, ddof=1) / math.sqrt(len(values)))


def no_exploration() -> Finding:
    """A rule that never explores loses more than the bound of w = 1 allows: the bound is no empty one."""
    trap = TRAPS[0]
    instance, limit = trap.instance(0), bounds("w = 1", trap)[1]
    arms = play(
        Greedy(instance.domain, trap.kernel, ties="lowest"), instance, trap.horizon, Streams(0)
    ).arms
    regret = lost(instance.values, np.bincount(arms, minlength=len(trap.points)))
    return Finding(
        "regret",
        f"Greedy keeps the bound of w = 1 on the {trap.name}",
        f"<= {limit:.0f}",
        f"{regret:.0f}",
        verdict(regret <= limit),
        FAILS,
        "must fail: it never tries the better arm",
    )


def same_bounds() -> Finding:
    """theory.regret_bound says what the formulas of this file say."""
    told = {"noise_scale": NOISE_SCALE, "norm_bound": NORM_BOUND}
    errors = {}
    for name, player in PLAYERS.items():
        for bandit in BANDITS:
            found = regret_bound(
                player.exploration(bandit.horizon), bandit.horizon, bandit.gain, **told
            )
            pairs = zip((found.repaired, found.tight), bounds(name, bandit), strict=True)
            errors[f"{name}, {bandit.name}"] = max(abs(one / other - 1) for one, other in pairs)
    worst = max(errors, key=errors.__getitem__)
    return Finding(
        "regret",
        f"repaired and tightened bounds of {len(PLAYERS)} laws on {len(BANDITS)} bandits, by their formulas",
        "relative difference 0",
        f"{errors[worst]:.1e} ({worst})",
        verdict(errors[worst] <= 1e-6),
        detail="1e-6: the quadrature of the judge",
    )


def realised_gain(runs: dict[tuple[str, Bandit], list[Outcome]]) -> Iterator[Finding]:
    """L_T / 2 <= gamma_T, and the L_T of the engine is that of the arms it played."""
    pairs = [(bandit, one) for (_, bandit), many in runs.items() for one in many]
    share = max(one.log_det / 2 / bandit.gain for bandit, one in pairs)
    error = max(abs(one.engine_log_det - one.log_det) / max(1.0, one.log_det) for _, one in pairs)
    statement = f"realised L_T / 2 <= certified gamma_T, {len(pairs)} runs"
    yield Finding("regret", statement, "share <= 1", f"{share:.4f}", verdict(share <= 1 + ROUNDING))
    yield Finding(
        "regret",
        f"the engine's L_T is log det(I + K) of the arms played, {len(pairs)} runs",
        "relative difference 0",
        f"{error:.1e}",
        verdict(error <= 1e-8),
        detail="1e-8: rounding of up to 100 000 updates",
    )
