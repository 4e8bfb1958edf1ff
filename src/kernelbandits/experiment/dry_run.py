"""A first look at cells before they are played: who refuses, and what each will take."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from threadpoolctl import threadpool_limits

from kernelbandits.experiment.cells import Cell
from kernelbandits.experiment.engines import find_loop, resolve_engine, rounds
from kernelbandits.policies import Policy
from kernelbandits.problems import Instance
from kernelbandits.streams import Streams

FIRST_ROUNDS = 16
"""How many rounds are tried where Python plays them."""
COMPILED_ROUND = 2e-6
"""Seconds a round of the compiled loop may take."""

Planner = Callable[[Sequence[str]], Sequence[Cell]]
"""The cells of the policies spelled so."""


@dataclass
class DryRun:
    """Policies as they are spelled, the seconds their cells are expected to take, and what the others said."""

    willing: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """key of a cell -> seconds"""
    refused: dict[str, str] = field(default_factory=dict)

    def slow_first(self, cells: Iterable[Cell]) -> list[Cell]:
        """So that several workers end together."""
        return sorted(cells, key=lambda cell: -self.seconds[cell.key])


def try_policies(policies: Iterable[str], planned: Planner, optional: Sequence[str] = ()) -> DryRun:
    """Build every policy on the first seed of every problem; an optional one may refuse, any other raises.

    Where all refuse, the first of them is raised.
    """
    trial = DryRun()
    for spelled in policies:
        try:
            trial.seconds |= {cell.key: expected_seconds(cell) for cell in planned([spelled])}
            trial.willing.append(spelled)
        except ValueError as error:
            if spelled not in optional:
                raise
            trial.refused[spelled] = str(error)
    if trial.refused and not trial.willing:
        raise ValueError(next(iter(trial.refused.values())))
    return trial


def expected_seconds(cell: Cell) -> float:
    """By one building and a few rounds of the first seed; what they warn of is said when they are played."""
    streams = Streams(cell.seeds[0])
    instance = cell.problem.instance(streams)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        policy = cell.contender.build(instance, cell.kernel)
        building = time.perf_counter() - start
        return len(cell.seeds) * (
            building + cell.horizon * seconds_a_round(cell, policy, instance, streams)
        )


def seconds_a_round(cell: Cell, policy: Policy, instance: Instance, streams: Streams) -> float:
    if resolve_engine(cell.engine) == "numba" and find_loop(policy, instance):
        return COMPILED_ROUND
    few, start = min(FIRST_ROUNDS, cell.horizon), time.perf_counter()
    for _ in rounds(policy, instance, few, streams):
        policy.recommend()
    return (time.perf_counter() - start) / few
