"""The experiments of the paper's Section 5: its settings, its cells, and its run.

Stated in the paper: T = 1000, 25 seeds, RBF kernel, ridge 1, 50 candidates, noise of standard
deviation 0.01, the four exploration laws. Left open there, chosen here: lengthscale 0.2, R = 1,
D = 1, delta = 0.1 and the realised information gain. IGP-UCB and GP-TS keep their own ridge
1 + 2/T. The elimination rules, of which the paper speaks without playing them, keep theirs too:
R^2, and 1 for SupKernelUCB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from kernelbandits.catalogue import problem
from kernelbandits.checks import Array
from kernelbandits.experiment.cells import Cell, CellResult, Contender, contender
from kernelbandits.experiment.engines import play, rounds
from kernelbandits.experiment.paper_settings import (
    FIRST_FRESH_SEED,
    FIXED,
    PRESET,
    RAW,
    STANDARD,
    PaperReading,
    PaperSetting,
    natural_readings,
    sensitivity_settings,
)
from kernelbandits.experiment.results import Results
from kernelbandits.experiment.runner import Watcher, cells_of, run_cells
from kernelbandits.exploration import Bernoulli, Step
from kernelbandits.kernels import RBF
from kernelbandits.policies import IndexPolicy
from kernelbandits.problems import DataUnavailable, FixedArms, Problem, Standardised, least_norm
from kernelbandits.processes import Mapper
from kernelbandits.runtime import one_blas_thread
from kernelbandits.streams import Streams

SYNTHETIC = ("holder-table", "cross-in-tray", "ackley4", "hartmann6")
PEROVSKITE = "perovskite"
FAMILY = ("Simple-UCB", "Simple-Bernoulli", "Simple-Gaussian", "Simple-Categorical")
RIVALS = ("IGP-UCB", "GP-TS")
COMPARED = FAMILY + RIVALS
ELIMINATION = ("BPE", "REDS", "SupKernelUCB")
"""The paper says of them that they often have poor empirical performance."""
CONSTANT_HALF, CONSTANT_MEAN = "Ber(1/2) throughout", "Ber(3/8) throughout"
CONTROLS = (CONSTANT_HALF, CONSTANT_MEAN)
"""Simple-Bernoulli without its change of law: at the first p, and at the mean of the two."""
TIMED = "hartmann6"
"""The problem on which computing times are measured."""
BAND_ROUNDS, BAND_SEEDS = 200, 5
"""How many rounds and seeds the confidence band is compared with the reward function on."""


@dataclass(frozen=True)
class PaperPlan:
    """The cells of the paper's run: of its figure, of the sensitivity map and of the readings."""

    problems: tuple[Problem, ...]
    missing: str | None
    """Why a problem is left out, if one is."""
    horizon: int
    seeds: int
    engine: str
    cells: tuple[Cell, ...]
    map: Mapping[PaperSetting, tuple[Cell, ...]]
    readings: Mapping[PaperReading, tuple[Cell, ...]]
    """Played on seeds of their own (`FIRST_FRESH_SEED`)."""

    @property
    def keys(self) -> set[str]:
        """The keys of the distinct cells."""
        return {cell.key for cell in (*self.cells, *self.ending_cells)}

    @property
    def ending_cells(self) -> list[Cell]:
        """The cells of which only the final regret counts: those of the map and the readings."""
        varied = (*self.map.values(), *self.readings.values())
        return [cell for cells in varied for cell in cells]


def plan_paper(
    horizon: int = 1000, seeds: int = 25, with_map: bool = True, engine: str = "auto"
) -> PaperPlan:
    """Return what the paper's run plays; `with_map` adds the sensitivity map and the readings."""
    problems, missing = paper_problems()
    cells = paper_cells(PRESET, problems, horizon, seeds, engine)
    settings = sensitivity_settings() if with_map else ()
    sensitivity = {s: paper_cells(s, problems, horizon, seeds, engine) for s in settings}
    readings = reading_cells(problems, horizon, seeds, engine) if with_map else {}
    return PaperPlan(problems, missing, horizon, seeds, engine, cells, sensitivity, readings)


def reading_cells(
    problems: Sequence[Problem], horizon: int, seeds: int, engine: str
) -> dict[PaperReading, tuple[Cell, ...]]:
    """Return the cells of every reading, on as many fresh seeds."""
    fresh = range(FIRST_FRESH_SEED, FIRST_FRESH_SEED + seeds)
    found: dict[PaperReading, tuple[Cell, ...]] = {}
    # Readings that take candidates and rewards in the same way share the problems.
    prepared: dict[str, tuple[Problem, ...]] = {}
    for reading in natural_readings():
        if reading.group not in prepared:
            prepared[reading.group] = read_problems(reading, problems)
        chosen = prepared[reading.group]
        found[reading] = paper_cells(reading.setting, chosen, horizon, fresh, engine)
    return found


@dataclass(frozen=True)
class MapEntry:
    """The final regrets under one setting of the sensitivity map."""

    setting: PaperSetting
    endings: Mapping[tuple[str, str], Array]
    """(problem, policy) -> final regret on each seed"""
    used: Mapping[tuple[str, str], Mapping[str, Any]]
    """(problem, policy) -> the settings that the policy had"""


@dataclass(frozen=True)
class PaperRun:
    """All that was played and measured; `analysis.check_paper` checks the paper's claims on it."""

    plan: PaperPlan
    results: Results
    times: Mapping[str, Array]
    """policy -> seconds per round on each seed, measured with the policies in alternation"""
    norms: Mapping[str, Array]
    """problem -> the least RKHS norm of its rewards on each seed"""
    ratios: Mapping[str, Array]
    """problem -> the largest |f - mean| / (width sd) of Simple-UCB on each of a few seeds"""
    map: tuple[MapEntry, ...]
    readings: Mapping[PaperReading, Mapping[tuple[str, str], Array]]
    """reading -> (problem, policy) -> final regret on each fresh seed"""


def run_paper(
    plan: PaperPlan,
    mapper: Mapper = map,
    folder: Path | None = None,
    watch: Watcher | None = None,
    meanwhile: Callable[[Results], object] = lambda results: None,
) -> PaperRun:
    """Play the plan; after an interruption it goes on from the cells stored in the folder.

    `meanwhile` is called with the results of the paper's figure while one worker measures computing
    times, for example to draw the figure.
    """
    found = run_cells(plan.cells, mapper=mapper, folder=folder, watch=watch)
    results = Results(plan.cells, found)
    ended = {key: result.select_last_round() for key, result in found.items()}
    rest = [cell for cell in plan.ending_cells if cell.key not in ended]
    ended |= run_cells(rest, mapper=mapper, folder=folder, watch=watch, endings=True)
    timing = mapper(measure_times, [plan])
    meanwhile(results)
    norms, ratios = measure_norms(plan)
    (times,) = timing
    entries = tuple(map_entry(setting, cells, ended) for setting, cells in plan.map.items())
    readings = {reading: final_regrets(cells, ended) for reading, cells in plan.readings.items()}
    return PaperRun(plan, results, times, norms, ratios, entries, readings)


def map_entry(
    setting: PaperSetting, cells: Sequence[Cell], ended: Mapping[str, CellResult]
) -> MapEntry:
    used = {cell.name: ended[cell.key].settings for cell in cells}
    return MapEntry(setting, final_regrets(cells, ended), used)


def final_regrets(
    cells: Sequence[Cell], ended: Mapping[str, CellResult]
) -> dict[tuple[str, str], Array]:
    """Return the final regret on each seed, by (problem, policy)."""
    return {cell.name: ended[cell.key].regret[:, -1] for cell in cells}


def measure_times(plan: PaperPlan) -> Mapping[str, Array]:
    """Measure the seconds per round of each policy, on one BLAS thread."""
    (timed,) = (problem for problem in plan.problems if problem.name == TIMED)
    with one_blas_thread:
        return paired_times(timed, PRESET, plan.horizon, plan.seeds, plan.engine)


def measure_norms(plan: PaperPlan) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """Compute least norms and width ratios, on one BLAS thread."""
    rounds, seeds = min(plan.horizon, BAND_ROUNDS), min(plan.seeds, BAND_SEEDS)
    with one_blas_thread:
        norms = least_norms(plan.problems, RBF(PRESET.lengthscale), plan.seeds)
        return norms, width_ratios(plan.problems, PRESET, rounds, seeds)


def paper_problems() -> tuple[tuple[Problem, ...], str | None]:
    """Return the five problems; without the Perovskite file four, and why it is missing."""
    synthetic = tuple(problem(name) for name in SYNTHETIC)
    try:
        return (*synthetic, problem(PEROVSKITE)), None
    except DataUnavailable as error:
        return synthetic, str(error)


def read_problems(reading: PaperReading, problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the problems with the candidates and the rewards of a reading."""
    found: list[Problem] = list(problems)
    if reading.rewards == RAW:
        found = [problem(one.name, scale=False) for one in problems]
    if reading.rewards == STANDARD:
        found = [Standardised(one) for one in found]
    if reading.candidates == FIXED:
        found = [FixedArms(one, seed=FIRST_FRESH_SEED) for one in found]
    return tuple(found)


def contenders(
    setting: PaperSetting, horizon: int, figure_only: bool = False
) -> tuple[Contender, ...]:
    """Return the six policies of the paper's figure, and those that only its claims need.

    These are Simple-Bernoulli's controls and the elimination rules.
    """
    # What has a ridge of its own by its own paper keeps it.
    own_ridge = {
        "noise_scale": setting.noise_scale,
        "norm_bound": setting.norm_bound,
        "delta": setting.delta,
        "gain": setting.gain,
        "horizon": horizon,
    }
    shared = own_ridge | {"ridge": setting.ridge}
    schedule = Step(Bernoulli(0.5), Bernoulli(0.25), horizon // 2)
    entered = [
        contender("simple-ucb", {}, shared),
        contender("simple-bernoulli", {"p": schedule}, shared, label="Simple-Bernoulli"),
        contender("simple-gaussian", {}, shared),
        contender("simple-categorical", {}, shared),
        contender("igp-ucb", {}, own_ridge),
        contender("gp-ts", {}, own_ridge),
    ]
    if figure_only:
        return tuple(entered)
    entered += [
        contender("simple-bernoulli", {"p": p}, shared, label=label) for label, p in control_laws()
    ]
    entered += [contender(name, {}, own_ridge) for name in ("bpe", "reds", "sup-kernel-ucb")]
    return tuple(entered)


def control_laws() -> tuple[tuple[str, float], ...]:
    return (CONSTANT_HALF, 0.5), (CONSTANT_MEAN, 0.375)


def paper_cells(
    setting: PaperSetting,
    problems: Sequence[Problem],
    horizon: int,
    seeds: int | Iterable[int],
    engine: str,
    figure_only: bool = False,
) -> tuple[Cell, ...]:
    kernel = RBF(setting.lengthscale)
    return cells_of(
        problems, contenders(setting, horizon, figure_only), kernel, horizon, seeds, engine
    )


def least_norms(problems: Iterable[Problem], kernel: Any, seeds: int) -> Mapping[str, Array]:
    """Return for each problem and seed the least RKHS norm of a function through its rewards.

    The numbers are certified lower bounds of it.
    """
    return {
        p.name: np.array([instance_norm(p, kernel, seed) for seed in range(seeds)])
        for p in problems
    }


def width_ratios(
    problems: Iterable[Problem], setting: PaperSetting, horizon: int, seeds: int
) -> Mapping[str, Array]:
    """Return for each problem and seed the largest ratio of error and width in a run of Simple-UCB.

    max |f - mean| / (width sd) over the rounds

    Above 1 the reward function left the confidence band.
    """
    return {
        p.name: np.array([width_ratio(p, setting, horizon, seed) for seed in range(seeds)])
        for p in problems
    }


def width_ratio(chosen: Problem, setting: PaperSetting, horizon: int, seed: int) -> float:
    streams = Streams(seed)
    instance = chosen.instance(streams)
    rule = contenders(setting, horizon)[0].build(instance, RBF(setting.lengthscale))
    assert isinstance(rule, IndexPolicy)
    worst = 0.0
    for t, _, _ in rounds(rule, instance, horizon, streams):
        posterior = rule.posterior
        band = rule.width(t + 1, posterior.log_det) * posterior.sd
        worst = max(worst, float(np.max(np.abs(instance.values - posterior.mean) / band)))
    return worst


def instance_norm(chosen: Problem, kernel: Any, seed: int) -> float:
    instance = chosen.instance(Streams(seed))
    return least_norm(kernel, instance.domain.points, instance.values)


def paired_times(
    chosen: Problem, setting: PaperSetting, horizon: int, seeds: int, engine: str, repeats: int = 2
) -> Mapping[str, Array]:
    """Measure the seconds per round of each policy on each seed, the least of the repeats.

    The policies alternate, so that a slow phase of the machine slows all of them.
    """
    entered = timed_contenders(setting, horizon)
    times = {item.label: np.full(seeds, np.inf) for item in entered}
    for seed in range(seeds):
        streams = Streams(seed)
        instance = chosen.instance(streams)
        for _, item in product(range(repeats), entered):
            rule = item.build(instance, RBF(setting.lengthscale))
            seconds = play(rule, instance, horizon, streams, engine).seconds
            times[item.label][seed] = min(times[item.label][seed], seconds / horizon)
    return times


def timed_contenders(setting: PaperSetting, horizon: int) -> tuple[Contender, ...]:
    shared = {
        "noise_scale": setting.noise_scale,
        "norm_bound": setting.norm_bound,
        "delta": setting.delta,
    }
    return (
        *contenders(setting, horizon, figure_only=True),
        contender("whitehouse-ucb", {}, shared),
    )
