"""Coverage: the true function leaves each confidence band no more often than its delta allows.

A band that is too wide passes this check; tests/theory/test_bands_by_definition.py compares the
widths with their formulas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.streams import Streams
from kernelbandits.verification.bands import BANDS, StatedBand
from kernelbandits.verification.scenarios import Scenario, true_values
from kernelbandits.verification.statements import (
    FALSE_ALARM,
    CheckedStatement,
    Effort,
    format_share,
    most_failures,
)

ROUNDING = 1e-9
FEWEST_RUNS, FEWEST_SLOW_RUNS = 40, 24


def check_coverage(effort: Effort) -> Iterator[CheckedStatement]:
    for name, band in BANDS.items():
        yield check_band(name, band, effort)


def check_band(name: str, band: StatedBand, effort: Effort) -> CheckedStatement:
    """Check that f leaves the band in at most a share delta of the runs, in each scenario."""
    counts = [(scenario, *count_failures(band, scenario, effort)) for scenario in band.scenarios]
    limits = [most_failures(band.delta, runs) for _, _, runs in counts]
    allowed = dict.fromkeys(
        f"{limit} of {runs}" for limit, (_, _, runs) in zip(limits, counts, strict=True)
    )
    detail = f"the limit is the least k with P(Bin(runs, {band.delta:g}) > k) <= {FALSE_ALARM:g}"
    if not any(failed for _, failed, _ in counts):
        detail += "; f never left the band: it is wide, or these scenarios are easy"
    return CheckedStatement(
        f"{name}: {band.formula}",
        f"fails in at most {band.delta:g} of the runs (up to {', '.join(allowed)} by chance)",
        ", ".join(format_share(failed, runs, scenario.name) for scenario, failed, runs in counts),
        holds=all(failed <= limit for (_, failed, _), limit in zip(counts, limits, strict=True)),
        detail=detail,
    )


def count_failures(band: StatedBand, scenario: Scenario, effort: Effort) -> tuple[int, int]:
    """Return the number of runs in which the band failed, and the number of runs."""
    least = FEWEST_RUNS if band.share == 1 else FEWEST_SLOW_RUNS
    runs = effort.runs(round(scenario.runs * band.share), least)
    return sum(run_fails(band, scenario, seed) for seed in effort.seeds(runs)), runs


def run_fails(band: StatedBand, scenario: Scenario, seed: int) -> bool:
    """Tell whether f leaves the band in any round in which the band is stated."""
    return any(
        band.checked_in(policy, t, scenario) and not band_holds(band, policy, t, scenario, f)
        for policy, t, f in play_rounds(band, scenario, seed)
    )


def play_rounds(
    band: StatedBand, scenario: Scenario, seed: int
) -> Iterator[tuple[Any, int, Array]]:
    """Yield (policy, t, f_t) before each round, then play the round."""
    streams = Streams(seed)
    instance = scenario.instance(streams)
    policy = band.build(instance, scenario)
    for t in range(1, scenario.horizon + 1):
        f = true_values(instance, t)
        yield policy, t, f
        adversarial = scenario.adversarial
        choice = policy.choice(largest_error(policy, f)) if adversarial else policy.ask(t, streams)
        policy.tell(choice, instance.pull(int(choice.arm or 0), streams.uniform("noise", t), t))


def largest_error(policy: Any, f: Array) -> int:
    """Return the arm with the largest |f - mean| / sd."""
    posterior = policy.posterior
    return int((np.abs(f - posterior.mean) / posterior.sd).argmax())


def band_holds(band: StatedBand, policy: Any, t: int, scenario: Scenario, f: Array) -> bool:
    """Tell whether lower <= f <= upper on all arms, and what is stated with the band holds too."""
    lower, upper = band.limits(policy, t, scenario)
    inside = bool(((lower - ROUNDING <= f) & (f <= upper + ROUNDING)).all())
    return inside and band.also(policy, scenario, f)
