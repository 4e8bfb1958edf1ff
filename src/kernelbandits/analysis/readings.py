"""Which natural reading of the paper's open settings supports which of its claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelbandits.analysis.claims import (
    FAILS,
    HOLDS,
    OPEN,
    UNTESTED,
    Verdict,
    check_readings,
)
from kernelbandits.analysis.sensitivity import CLAIM_NAMES
from kernelbandits.experiment.paper import PaperRun
from kernelbandits.experiment.paper_settings import (
    PRESET_READING,
    PROPOSED_READING,
    PaperReading,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ClaimSupport:
    """How one claim fares under all readings, each with the same fresh seeds."""

    sentence: str
    name: str
    """The claim in a few words."""
    preset: str
    """The verdict under the preset."""
    proposed: str
    """The verdict under R = 0.01, D = 15, lengthscale 0.1."""
    holds: tuple[PaperReading, ...]
    fails: tuple[PaperReading, ...]
    open: tuple[PaperReading, ...]
    untested: tuple[PaperReading, ...]


@dataclass(frozen=True)
class ReadingSummary:
    """What all readings together say; none is left out.

    `summarise_readings` returns it.

    >>> from kernelbandits.analysis import ReadingSummary
    >>> found = ReadingSummary(32, (1000, 1001), (), (), (), most=5, with_most=())
    >>> found.count, found.most, found.tested_count
    (32, 5, 0)
    """

    count: int
    """How many readings were tried."""
    seeds: tuple[int, ...]
    """The seeds on which every reading was played."""
    claims: tuple[ClaimSupport, ...]
    """How each claim fares."""
    all_hold: tuple[PaperReading, ...]
    """Readings under which every claim holds; one that was not tested does not."""
    none_fails: tuple[PaperReading, ...]
    """Readings under which no claim fails, as far as they were tested."""
    most: int
    """The most claims that hold together under one reading."""
    with_most: tuple[PaperReading, ...]
    """The readings under which so many hold."""

    @property
    def tested_count(self) -> int:
        """How many claims were tested under every reading."""
        return sum(not claim.untested for claim in self.claims)


def summarise_readings(run: PaperRun) -> ReadingSummary:
    """Count under which readings each claim holds, fails, stays open, or was not tested.

    >>> from kernelbandits.analysis import summarise_readings
    >>> from kernelbandits.experiment import plan_experiment
    >>> from kernelbandits.experiment.paper import PaperPlan, PaperRun
    >>> from kernelbandits.experiment.paper_settings import PRESET_READING, PROPOSED_READING
    >>> cells = plan_experiment("branin", ["greedy"], horizon=2, seeds=2)
    >>> plan = PaperPlan((), None, 2, 2, "numpy", cells, map={}, readings={PRESET_READING: cells})
    >>> readings = {PRESET_READING: {}, PROPOSED_READING: {}}
    >>> found = summarise_readings(PaperRun(plan, None, {}, {}, {}, (), readings))
    >>> found.count, found.most, found.seeds
    (2, 0, (0, 1))
    """
    found = check_readings(run)
    held = {reading: count_holding(verdicts) for reading, verdicts in found.items()}
    most = max(held.values())
    seeds = next(iter(run.plan.readings.values()))[0].seeds
    return ReadingSummary(
        count=len(found),
        seeds=seeds,
        claims=tuple(support_of(place, found) for place in range(len(CLAIM_NAMES))),
        all_hold=tuple(r for r, count in held.items() if count == len(CLAIM_NAMES)),
        none_fails=tuple(
            r for r, verdicts in found.items() if all(v.verdict != FAILS for v in verdicts)
        ),
        most=most,
        with_most=tuple(reading for reading, count in held.items() if count == most),
    )


def support_of(place: int, found: Mapping[PaperReading, Sequence[Verdict]]) -> ClaimSupport:
    """Sum up one claim under all readings, by its place among the claims."""
    by_verdict: dict[str, list[PaperReading]] = {HOLDS: [], FAILS: [], OPEN: [], UNTESTED: []}
    for reading, verdicts in found.items():
        by_verdict[verdicts[place].verdict].append(reading)
    claim = found[PRESET_READING][place].claim
    return ClaimSupport(
        sentence=claim.sentence,
        name=CLAIM_NAMES[claim.key],
        preset=found[PRESET_READING][place].verdict,
        proposed=found[PROPOSED_READING][place].verdict,
        holds=tuple(by_verdict[HOLDS]),
        fails=tuple(by_verdict[FAILS]),
        open=tuple(by_verdict[OPEN]),
        untested=tuple(by_verdict[UNTESTED]),
    )


def count_holding(verdicts: Sequence[Verdict]) -> int:
    return sum(verdict.verdict == HOLDS for verdict in verdicts)


def reading_map(run: PaperRun) -> dict[str, list[str]]:
    """Return name of claim -> its verdict under every reading, in their order."""
    rows: dict[str, list[str]] = {}
    for verdicts in check_readings(run).values():
        for verdict in verdicts:
            rows.setdefault(CLAIM_NAMES[verdict.claim.key], []).append(verdict.verdict)
    return rows


def readings_frame(run: PaperRun) -> pd.DataFrame:
    """Return readings.csv: the verdict on every claim and problem under every reading."""
    import pandas as pd

    return pd.DataFrame(
        {
            "R": reading.setting.noise_scale,
            "D": reading.setting.norm_bound,
            "lengthscale": reading.setting.lengthscale,
            "candidates": reading.candidates,
            "rewards": reading.rewards,
            "claim": verdict.claim.key,
            "problem": problem,
            "verdict": verdict.on(problem),
            "whole claim": verdict.verdict,
        }
        for reading, verdicts in check_readings(run).items()
        for verdict in verdicts
        for problem in verdict.problems
    )
