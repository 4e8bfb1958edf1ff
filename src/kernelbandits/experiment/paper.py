"""The paper's Section 5 as a preset, with the settings it leaves open filled in and named.

Stated in the paper: T = 1000, 25 seeds, RBF kernel, ridge 1, 50 candidates, noise sd 0.01, the four laws.
Left open there, chosen here: lengthscale 0.2, R = 1, D = 1, delta = 0.1 and the realised information gain.
IGP-UCB and GP-TS keep their own ridge 1 + 2/T.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from kernelbandits.catalogue import problem
from kernelbandits.checks import Array
from kernelbandits.experiment.cells import Cell, Contender, contender
from kernelbandits.experiment.engines import play, rounds
from kernelbandits.experiment.runner import cells_of
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
"""Simple-Bernoulli without its change of law: at the first chance, and at the mean of the two."""

NOISE_SCALES, LENGTHSCALES = (0.01, 0.1, 1.0), (0.1, 0.2, 0.5)


@dataclass(frozen=True)
class Setting:
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


PRESET = Setting()


def sensitivity_settings() -> tuple[Setting, ...]:
    """R x lengthscale x ridge in {1, R^2}; the two ridges are one at R = 1."""
    grid = [
        Setting(noise_scale=r, lengthscale=length, ridge=ridge)
        for length in LENGTHSCALES
        for r in sorted(NOISE_SCALES, reverse=True)
        for ridge in sorted({1.0, r**2}, reverse=True)
    ]
    return tuple(grid)


def paper_problems() -> tuple[tuple[Problem, ...], str | None]:
    """The five problems; without the Perovskite file the four synthetic ones, and one line that says so."""
    synthetic = tuple(problem(name) for name in SYNTHETIC)
    try:
        return (*synthetic, problem(PEROVSKITE)), None
    except DataUnavailable as error:
        return synthetic, str(error)


def contenders(setting: Setting, horizon: int, controls: bool = True) -> tuple[Contender, ...]:
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
    setting: Setting,
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
    """Of each problem and seed: the least RKHS norm of a function through its rewards (a certified lower bound)."""
    return {
        p.name: np.array([instance_norm(p, kernel, seed) for seed in range(seeds)])
        for p in problems
    }


def width_ratios(
    problems: Iterable[Problem], setting: Setting, horizon: int, seeds: int
) -> Mapping[str, Array]:
    """Of each problem and seed: max |f - mean| / (width sd) over the rounds of Simple-UCB; above 1 f left the band."""
    return {
        p.name: np.array([width_ratio(p, setting, horizon, seed) for seed in range(seeds)])
        for p in problems
    }


def width_ratio(chosen: Problem, setting: Setting, horizon: int, seed: int) -> float:
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
    chosen: Problem, setting: Setting, horizon: int, seeds: int, engine: str, repeats: int = 2
) -> Mapping[str, Array]:
    """Seconds a round of each policy on each seed, the policies taken in turn; the least of the repeats."""
    entered = timed(setting, horizon)
    times = {item.label: np.full(seeds, np.inf) for item in entered}
    for seed in range(seeds):
        streams = Streams(seed)
        instance = chosen.instance(streams)
        for _, item in product(range(repeats), entered):
            rule = item.build(instance, RBF(setting.lengthscale))
            seconds = play(rule, instance, horizon, streams, engine).seconds
            times[item.label][seed] = min(times[item.label][seed], seconds / horizon)
    return times


def timed(setting: Setting, horizon: int) -> tuple[Contender, ...]:
    shared = {
        "noise_scale": setting.noise_scale,
        "norm_bound": setting.norm_bound,
        "delta": setting.delta,
    }
    return (*contenders(setting, horizon, controls=False), contender("whitehouse-ucb", {}, shared))
