"""A dry run before an experiment: which policies refuse a problem, and how long each will take."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelbandits.experiment.cells import Cell
from kernelbandits.experiment.engines import find_loop, resolve_engine, rounds
from kernelbandits.policies import Policy
from kernelbandits.posterior import LARGEST_COVARIANCE
from kernelbandits.problems import Instance
from kernelbandits.runtime import one_blas_thread
from kernelbandits.streams import Streams

FIRST_ROUNDS = 16
"""How many rounds are tried where Python plays them."""
COMPILED_ROUND = 2e-6
"""Seconds that a round of the compiled loop takes on up to 200 arms, roughly; it is too short to be
measured here. On pools it grows with the number of arms."""

Planner = Callable[[Sequence[Any]], Sequence[Cell]]
"""Policies as the user gave them -> their cells."""


@dataclass
class DryRun:
    """Which policies can be played, and how long their cells are expected to take."""

    willing: list[Any] = field(default_factory=list)
    """The policies that can be played, as the user gave them."""
    seconds: dict[str, float] = field(default_factory=dict)
    """key of a cell -> seconds"""
    refused: dict[str, str] = field(default_factory=dict)
    """The other policies -> why they cannot be played."""

    def slow_first(self, cells: Iterable[Cell]) -> list[Cell]:
        """Sort the cells, the slowest first, so that several workers end at about the same time."""
        return sorted(cells, key=lambda cell: -self.seconds[cell.key])


def try_policies(
    policies: Iterable[Any], plan_cells: Planner, optional: Sequence[str] = ()
) -> DryRun:
    """Build every policy on the first seed of every problem, and play a few rounds of it.

    An error of a policy is raised, unless the policy is among the optional ones. Where all policies
    refuse, the first error is raised.
    """
    run = DryRun()
    for policy in policies:
        try:
            run.seconds |= {cell.key: expected_seconds(cell) for cell in plan_cells([policy])}
            run.willing.append(policy)
        except ValueError as error:
            if policy not in optional:
                raise
            run.refused[policy] = str(error)
    if run.refused and not run.willing:
        raise ValueError(next(iter(run.refused.values())))
    return run


def expected_seconds(cell: Cell) -> float:
    """Estimate how long a cell takes: build its policy once and play a few rounds of a seed.

    Warnings are dropped here, since the same ones come when the cell is played.
    """
    streams = Streams(cell.seeds[0])
    instance = cell.problem.instance(streams)
    with one_blas_thread, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        policy = cell.contender.build(instance, cell.kernel)
        building = time.perf_counter() - start
        return len(cell.seeds) * (
            building + cell.horizon * seconds_a_round(cell, policy, instance, streams)
        )


def seconds_a_round(cell: Cell, policy: Policy, instance: Instance, streams: Streams) -> float:
    """Return the seconds for one round and its recommendation, a mean over the first few rounds."""
    if resolve_engine(cell.engine) == "numba" and find_loop(policy, instance):
        return COMPILED_ROUND * max(1.0, len(instance.values) / LARGEST_COVARIANCE)
    few = min(FIRST_ROUNDS, cell.horizon)
    start = time.perf_counter()
    for t, _, _ in rounds(policy, instance, few, streams):
        instance.recommended(policy, t)
    return (time.perf_counter() - start) / few
