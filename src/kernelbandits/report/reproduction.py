"""The paper in one run: its five problems and six policies, its claims judged, and where they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from kernelbandits.checks import Array
from kernelbandits.experiment import Cell, CellResult, Results, run_cells
from kernelbandits.experiment.paper import (
    PRESET,
    Setting,
    least_norms,
    paired_times,
    paper_cells,
    paper_problems,
    sensitivity_settings,
    width_ratios,
)
from kernelbandits.experiment.runner import Watcher
from kernelbandits.experiment.workers import Mapper
from kernelbandits.kernels import RBF
from kernelbandits.problems import Problem
from kernelbandits.report.claims import (
    Verdict,
    efficiency_claims,
    judge,
    performance_claims,
    regret_samples,
    with_times,
)

TIMED = "hartmann6"
BAND_ROUNDS, BAND_SEEDS = 200, 5
"""Where the confidence band is looked at."""


@dataclass(frozen=True)
class Plan:
    """What is to be played."""

    problems: tuple[Problem, ...]
    missing: str | None
    """Why a problem is left out, if one is."""
    horizon: int
    seeds: int
    engine: str
    cells: tuple[Cell, ...]
    map: Mapping[Setting, tuple[Cell, ...]]

    @property
    def keys(self) -> set[str]:
        """Of the distinct cells."""
        return {cell.key for cell in (*self.cells, *self.map_cells)}

    @property
    def size(self) -> int:
        return len(self.keys)

    @property
    def timed(self) -> Problem:
        """The problem on which the policies' times are taken."""
        return next(problem for problem in self.problems if problem.name == TIMED)

    @property
    def map_cells(self) -> list[Cell]:
        return [cell for cells in self.map.values() for cell in cells]


def plan(horizon: int = 1000, seeds: int = 25, with_map: bool = True, engine: str = "auto") -> Plan:
    problems, missing = paper_problems()
    cells = paper_cells(PRESET, problems, horizon, seeds, engine)
    settings = sensitivity_settings() if with_map else ()
    sensitivity = {s: paper_cells(s, problems, horizon, seeds, engine) for s in settings}
    return Plan(problems, missing, horizon, seeds, engine, cells, sensitivity)


@dataclass(frozen=True)
class MapEntry:
    """One setting: the final regrets by (problem, policy), and the verdicts they give."""

    setting: Setting
    endings: Mapping[tuple[str, str], Array]
    used: Mapping[tuple[str, str], Mapping[str, Any]]
    """The settings each policy really had."""
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class Reproduction:
    plan: Plan
    results: Results
    times: Mapping[str, Array]
    """Seconds a round on each seed, the policies taken in turn."""
    norms: Mapping[str, Array]
    """The least RKHS norm of the rewards of each problem and seed."""
    ratios: Mapping[str, Array]
    """The largest |f - mean| / (width sd) of Simple-UCB on each problem and a few seeds."""
    verdicts: tuple[Verdict, ...]
    map: tuple[MapEntry, ...]
    drawings: Mapping[str, str] = field(default_factory=dict)
    """The curves as SVG, if they are drawn already."""


def reproduce(
    chosen: Plan,
    mapper: Mapper = map,
    folder: Path | None = None,
    watch: Watcher | None = None,
    draw: Callable[[Results], Mapping[str, str]] = lambda results: {},
) -> Reproduction:
    """Play the plan and judge it; interrupted, it goes on from the cells in the folder.

    The curves are drawn, and norms and bands looked at, while one worker measures the times.
    """
    found = run_cells(chosen.cells, mapper=mapper, folder=folder, watch=watch)
    results = Results(chosen.cells, found)
    ended = {key: result.ending() for key, result in found.items()}
    rest = [cell for cell in chosen.map_cells if cell.key not in ended]
    ended |= run_cells(rest, mapper=mapper, folder=folder, watch=watch, endings=True)
    timing = mapper(measured_times, [(chosen.timed, chosen.horizon, chosen.seeds, chosen.engine)])
    drawings = draw(results)
    norms, ratios = measured_norms(chosen)
    (times,) = timing
    claims = performance_claims() + efficiency_claims(TIMED)
    verdicts = judge(claims, with_times(regret_samples(endings_of(chosen.cells, ended)), times))
    entries = tuple(map_entry(setting, cells, ended) for setting, cells in chosen.map.items())
    return Reproduction(chosen, results, times, norms, ratios, verdicts, entries, drawings)


def measured_times(game: tuple[Problem, int, int, str]) -> Mapping[str, Array]:
    """Seconds a round of each policy, on one BLAS thread."""
    problem, horizon, seeds, engine = game
    with threadpool_limits(limits=1):
        return paired_times(problem, PRESET, horizon, seeds, engine)


def measured_norms(chosen: Plan) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """Least norms and width ratios, on one BLAS thread."""
    rounds, seeds = min(chosen.horizon, BAND_ROUNDS), min(chosen.seeds, BAND_SEEDS)
    with threadpool_limits(limits=1):
        norms = least_norms(chosen.problems, RBF(PRESET.lengthscale), chosen.seeds)
        return norms, width_ratios(chosen.problems, PRESET, rounds, seeds)


def endings_of(
    cells: Sequence[Cell], ended: Mapping[str, CellResult]
) -> dict[tuple[str, str], Array]:
    return {cell.name: ended[cell.key].regret[:, -1] for cell in cells}


def map_entry(setting: Setting, cells: Sequence[Cell], ended: Mapping[str, CellResult]) -> MapEntry:
    endings = endings_of(cells, ended)
    used = {cell.name: ended[cell.key].settings for cell in cells}
    return MapEntry(setting, endings, used, judge(performance_claims(), regret_samples(endings)))
