"""The experiments of the paper's Section 5: its settings, its cells, and its run.

Stated in the paper: T = 1000, 25 seeds, RBF kernel, ridge 1, 50 candidates, noise of standard
deviation 0.01, the four exploration laws. Left open there, chosen here: lengthscale 0.2, R = 1,
D = 1, delta = 0.1 and the realised information gain. IGP-UCB and GP-TS keep their own ridge
1 + 2/T.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kernelbandits.catalogue import problem
from kernelbandits.checks import Array
from kernelbandits.experiment.cells import Cell, CellResult, Contender, contender
from kernelbandits.experiment.engines import play, rounds
from kernelbandits.experiment.results import Results
from kernelbandits.experiment.runner import Watcher, cells_of, run_cells
from kernelbandits.experiment.workers import Mapper
from kernelbandits.exploration import Bernoulli, Step
from kernelbandits.kernels import RBF
from kernelbandits.policies import IndexPolicy
from kernelbandits.problems import DataUnavailable, Problem, least_norm
from kernelbandits.streams import Streams

SYNTHETIC = ("holder-table", "cross-in-tray", "ackley4", "hartmann6")
PEROVSKITE = "perovskite"
FAMILY = ("Simple-UCB", "Simple-Bernoulli", "Simple-Gaussian", "Simple-Categorical")
RIVALS = ("IGP-UCB", "GP-TS")
COMPARED = FAMILY + RIVALS
CONSTANT_HALF, CONSTANT_MEAN = "Ber(1/2) throughout", "Ber(3/8) throughout"
CONTROLS = (CONSTANT_HALF, CONSTANT_MEAN)
"""Simple-Bernoulli without its change of law: at the first p, and at the mean of the two."""
TIMED = "hartmann6"
"""The problem on which computing times are measured."""
BAND_ROUNDS, BAND_SEEDS = 200, 5
"""How many rounds and seeds the confidence band is compared with the reward function on."""

NOISE_SCALES, LENGTHSCALES = (0.01, 0.1, 1.0), (0.1, 0.2, 0.5)


@dataclass(frozen=True)
class PaperSetting:
    """What the paper leaves open."""

    noise_scale: float = 1.0
    lengthscale: float = 0.2
    ridge: float = 1.0
    norm_bound: float = 1.0
    delta: float = 0.1
    gain: str = "realised"

    @property
    def ridge_is_noise(self) -> bool:
        return self.ridge == self.noise_scale**2 and self.noise_scale != 1

    @property
    def title(self) -> str:
        ridge = "R²" if self.ridge_is_noise else f"{self.ridge:g}"
        return f"R = {self.noise_scale:g}, lengthscale {self.lengthscale:g}, ridge {ridge}"


PRESET = PaperSetting()


@dataclass(frozen=True)
class PaperPlan:
    """The cells of the paper's run: those of its figure, and those of the sensitivity map."""

    problems: tuple[Problem, ...]
    missing: str | None
    """Why a problem is left out, if one is."""
    horizon: int
    seeds: int
    engine: str
    cells: tuple[Cell, ...]
    map: Mapping[PaperSetting, tuple[Cell, ...]]

    @property
    def keys(self) -> set[str]:
        """The keys of the distinct cells."""
        return {cell.key for cell in (*self.cells, *self.map_cells)}

    @property
    def map_cells(self) -> list[Cell]:
        return [cell for cells in self.map.values() for cell in cells]


def plan_paper(
    horizon: int = 1000, seeds: int = 25, with_map: bool = True, engine: str = "auto"
) -> PaperPlan:
    """Return what the paper's run plays; `with_map` adds the settings of the sensitivity map."""
    problems, missing = paper_problems()
    cells = paper_cells(PRESET, problems, horizon, seeds, engine)
    settings = sensitivity_settings() if with_map else ()
    sensitivity = {s: paper_cells(s, problems, horizon, seeds, engine) for s in settings}
    return PaperPlan(problems, missing, horizon, seeds, engine, cells, sensitivity)


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
    ended = {key: result.ending() for key, result in found.items()}
    rest = [cell for cell in plan.map_cells if cell.key not in ended]
    ended |= run_cells(rest, mapper=mapper, folder=folder, watch=watch, endings=True)
    timing = mapper(measure_times, [plan])
    meanwhile(results)
    norms, ratios = measure_norms(plan)
    (times,) = timing
    entries = tuple(map_entry(setting, cells, ended) for setting, cells in plan.map.items())
    return PaperRun(plan, results, times, norms, ratios, entries)


def map_entry(
    setting: PaperSetting, cells: Sequence[Cell], ended: Mapping[str, CellResult]
) -> MapEntry:
    endings = {cell.name: ended[cell.key].regret[:, -1] for cell in cells}
    return MapEntry(setting, endings, {cell.name: ended[cell.key].settings for cell in cells})


def measure_times(plan: PaperPlan) -> Mapping[str, Array]:
    """Seconds per round of each policy, on one BLAS thread."""
    (timed,) = (problem for problem in plan.problems if problem.name == TIMED)
    with threadpool_limits(limits=1):
        return paired_times(timed, PRESET, plan.horizon, plan.seeds, plan.engine)


def measure_norms(plan: PaperPlan) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """Least norms and width ratios, on one BLAS thread."""
    rounds, seeds = min(plan.horizon, BAND_ROUNDS), min(plan.seeds, BAND_SEEDS)
    with threadpool_limits(limits=1):
        norms = least_norms(plan.problems, RBF(PRESET.lengthscale), plan.seeds)
        return norms, width_ratios(plan.problems, PRESET, rounds, seeds)


def sensitivity_settings() -> tuple[PaperSetting, ...]:
    """R x lengthscale x ridge in {1, R^2}; the two ridges are one at R = 1."""
    grid = [
        PaperSetting(noise_scale=r, lengthscale=length, ridge=ridge)
        for length in LENGTHSCALES
        for r in sorted(NOISE_SCALES, reverse=True)
        for ridge in sorted({1.0, r**2}, reverse=True)
    ]
    return tuple(grid)


def paper_problems() -> tuple[tuple[Problem, ...], str | None]:
    """The five problems; without the Perovskite file the other four, and why it is missing."""
    synthetic = tuple(problem(name) for name in SYNTHETIC)
    try:
        return (*synthetic, problem(PEROVSKITE)), None
    except DataUnavailable as error:
        return synthetic, str(error)


def contenders(setting: PaperSetting, horizon: int, controls: bool = True) -> tuple[Contender, ...]:
    """The six policies of the paper's figure, and Simple-Bernoulli's controls."""
    shared = {
        "noise_scale": setting.noise_scale,
        "norm_bound": setting.norm_bound,
        "ridge": setting.ridge,
        "delta": setting.delta,
        "gain": setting.gain,
        "horizon": horizon,
    }
    schedule = Step(Bernoulli(0.5), Bernoulli(0.25), horizon // 2)
    entered = [
        contender("simple-ucb", {}, shared),
        contender("simple-bernoulli", {"p": schedule}, shared, label="Simple-Bernoulli"),
        contender("simple-gaussian", {}, shared),
        contender("simple-categorical", {}, shared),
        contender("igp-ucb", {}, shared),
        contender("gp-ts", {}, shared),
    ]
    if controls:
        entered += [
            contender("simple-bernoulli", {"p": p}, shared, label=label)
            for label, p in control_laws()
        ]
    return tuple(entered)


def control_laws() -> tuple[tuple[str, float], ...]:
    return (CONSTANT_HALF, 0.5), (CONSTANT_MEAN, 0.375)


def paper_cells(
    setting: PaperSetting,
    problems: Sequence[Problem],
    horizon: int,
    seeds: int,
    engine: str,
    controls: bool = True,
) -> tuple[Cell, ...]:
    kernel = RBF(setting.lengthscale)
    return cells_of(
        problems, contenders(setting, horizon, controls), kernel, horizon, seeds, engine
    )


def least_norms(problems: Iterable[Problem], kernel: Any, seeds: int) -> Mapping[str, Array]:
    """problem -> for each seed the least RKHS norm of a function through its rewards.

    The numbers are certified lower bounds of it.
    """
    return {
        p.name: np.array([instance_norm(p, kernel, seed) for seed in range(seeds)])
        for p in problems
    }


def width_ratios(
    problems: Iterable[Problem], setting: PaperSetting, horizon: int, seeds: int
) -> Mapping[str, Array]:
    """problem -> for each seed max |f - mean| / (width sd) over the rounds of Simple-UCB.

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
    """policy -> seconds per round on each seed, the least of the repeats.

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
    return (*contenders(setting, horizon, controls=False), contender("whitehouse-ucb", {}, shared))
