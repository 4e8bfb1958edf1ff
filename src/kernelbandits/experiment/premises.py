"""What can be seen of a comparison's premises: R against the noise there is, D against the least norm, one gain."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kernelbandits.experiment.cells import Cell
from kernelbandits.kernels import as_kernel
from kernelbandits.problems import Drifting, least_norm
from kernelbandits.streams import Streams

if TYPE_CHECKING:
    from kernelbandits.experiment.runner import Results

GENEROUS = 10
"""A noise scale so many times the noise's own is worth a word."""
MANY = 500
"""The least norm of more arms is not computed."""


def premises(results: Results) -> list[str]:
    """A sentence for every premise that is false, or so generous that it decides the comparison."""
    first = {cell.problem.name: cell for cell in results.cells}
    told = {name: told_on(results, name) for name in first}
    sentences = [text for name, cell in first.items() for text in on_problem(cell, told[name])]
    return [*sentences, *different_gains(results)]


def told_on(results: Results, problem: str) -> list[dict[str, Any]]:
    """The settings of the policies that played the problem."""
    return [dict(results.found[cell.key].settings) for cell in results.cells if cell.problem.name == problem]


def on_problem(cell: Cell, told: list[dict[str, Any]]) -> Iterator[str]:
    name = cell.problem.name
    scales = sorted({settings["noise_scale"] for settings in told if settings.get("noise_scale") is not None})
    bounds = sorted({settings["norm_bound"] for settings in told if settings.get("norm_bound") is not None})
    if scales:
        yield from of_noise(name, cell.problem.noise.sub_gaussian, scales[0], scales[-1])
    if bounds:
        yield from of_norm(cell, bounds[0])
    if isinstance(cell.problem, Drifting):
        yield f"{name} changes from round to round, so only rules for changing worlds have a guarantee on it"


def of_noise(name: str, true: float, least: float, most: float) -> Iterator[str]:
    """R told against the R of the noise."""
    if math.isinf(true):
        yield f"the noise of {name} is not sub-Gaussian, so no guarantee that needs an R holds on it"
    elif true > least * (1 + 1e-9):
        yield f"the noise of {name} needs R >= {true:.3g}, policies are told {least:g}, so their guarantees do not hold"
    elif most >= GENEROUS * true > 0:
        yield f"policies are told R = {most:g}, {most / true:.0f} times that of the noise of {name}, and explore for it"


def of_norm(cell: Cell, bound: float) -> Iterator[str]:
    """D told against the least norm of a function through the rewards, on the first seed."""
    instance = cell.problem.instance(Streams(cell.seeds[0]))
    if len(instance.domain) <= MANY:
        norm = least_norm(as_kernel(cell.kernel), instance.domain.points, instance.values)
        if norm > bound * (1 + 1e-9):
            truth = f"the least has {norm:.3g}, seed {cell.seeds[0]}, so D is not true there"
            yield f"no function of norm <= {bound:g} has the rewards of {cell.problem.name} ({truth})"


def different_gains(results: Results) -> Iterator[str]:
    """Policies under different meanings of the information gain are not compared with each other."""
    meant: dict[str, list[str]] = {}
    for cell in results.cells:
        gain = results.found[cell.key].settings.get("gain")
        if gain not in (None, "none") and cell.contender.label not in meant.setdefault(gain, []):
            meant[gain].append(cell.contender.label)
    if len(meant) > 1:
        groups = "; ".join(f"{gain} for {', '.join(labels)}" for gain, labels in meant.items())
        yield f"the information gain is not one for all, which compares no policies ({groups})"
