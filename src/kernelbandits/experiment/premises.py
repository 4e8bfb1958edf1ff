"""Check what a comparison of policies assumes, and say what is false.

R is compared with the noise of the problem, D with the least norm of a function through its mean
rewards, and the meanings of the information gain with each other. On the instance of the lower
bound T, kernel, ridge, R and D must be those for which the bound was proved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kernelbandits.catalogue import POLICIES
from kernelbandits.experiment.cells import Cell
from kernelbandits.kernels import Linear, as_kernel
from kernelbandits.problems import Drifting, LowerBound, least_norm
from kernelbandits.streams import Streams

if TYPE_CHECKING:
    from kernelbandits.experiment.results import Results

GENEROUS = 10
"""A noise scale this many times that of the noise is reported: it decides how much is explored."""
MANY = 500
"""The least norm of more arms is not computed."""


def premises(results: Results) -> list[str]:
    """Return a sentence for every premise that is false.

    A premise that is so generous that it decides the comparison has one too.
    """
    sentences = [
        text
        for problem in results.problems
        for cells in group_by_kernel(results, problem.name)
        for text in check_problem(cells[0], settings_of(results, cells))
    ]
    return [*dict.fromkeys(sentences), *check_gains(results)]


def settings_of(results: Results, cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return the settings of the policies of some cells."""
    return [dict(results.found[cell.key].settings) for cell in cells]


def group_by_kernel(results: Results, problem: str) -> list[list[Cell]]:
    """Return the cells of a problem, those with one kernel together."""
    groups: list[list[Cell]] = []
    for cell in results.cells:
        if cell.problem.name == problem:
            known = next((group for group in groups if group[0].kernel == cell.kernel), None)
            if known is None:
                groups.append([cell])
            else:
                known.append(cell)
    return groups


def check_problem(cell: Cell, given: list[dict[str, Any]]) -> Iterator[str]:
    name = cell.problem.name
    scales = sorted(
        {settings["noise_scale"] for settings in given if settings.get("noise_scale") is not None}
    )
    bounds = sorted(
        {settings["norm_bound"] for settings in given if settings.get("norm_bound") is not None}
    )
    if scales:
        yield from check_noise(name, cell.problem.noise.sub_gaussian, scales[0], scales[-1])
    if bounds:
        yield from check_norm(cell, bounds[0])
    if isinstance(cell.problem, Drifting):
        rules = "only rules for changing rewards have a guarantee on it"
        yield f"{name} changes from round to round, so {rules}"
    if isinstance(cell.problem, LowerBound):
        yield from check_lower_bound(cell, cell.problem, given)


def check_noise(name: str, true: float, least: float, most: float) -> Iterator[str]:
    """Compare the R that policies are given with the R of the noise."""
    if math.isinf(true):
        consequence = "no guarantee that needs an R holds on it"
        yield f"the noise of {name} is not sub-Gaussian, so {consequence}"
    elif true > least * (1 + 1e-9):
        given = f"policies are told {least:g}, so their guarantees do not hold"
        yield f"the noise of {name} needs R >= {true:.3g}, {given}; give noise_scale {true:.3g}"
    elif most >= GENEROUS * true > 0:
        ratio = f"{most / true:.0f} times that of the noise of {name}, and explore too much"
        yield f"policies are told R = {most:g}, {ratio}; give noise_scale {true:.3g}"


def check_norm(cell: Cell, bound: float) -> Iterator[str]:
    """Compare the D that policies are given with the least norm of a function through the rewards.

    The norm is that of the first seed.
    """
    instance = cell.problem.instance(Streams(cell.seeds[0]))
    if instance.finite and len(instance.domain) <= MANY:
        norm = least_norm(as_kernel(cell.kernel), instance.domain.points, instance.values)
        if norm > bound * (1 + 1e-9):
            truth = f"the least has {norm:.3g}, seed {cell.seeds[0]}"
            rewards = f"the rewards of {cell.problem.name} ({truth})"
            kernel = f" under {cell.kernel}" if cell.contender.own_kernel else ""
            function = f"no function of norm <= {bound:g}{kernel}"
            yield f"{function} has {rewards}; give a larger norm_bound (D)"


def check_lower_bound(
    cell: Cell, problem: LowerBound, given: list[dict[str, Any]]
) -> Iterator[str]:
    """Compare what the lower bound was proved for with what is played.

    A rule that is given a larger R or D than the bound needs loses at least as much.
    """
    found = [
        *check_horizon_and_kernel(cell, problem),
        *dict.fromkeys(text for rule in given for text in check_rule(problem, rule)),
    ]
    if found:
        yield f"the lower bound of {problem.name} does not hold here: it needs {'; '.join(found)}"
    elif cell.horizon > problem.horizon:
        which = f"the first {problem.horizon} of {cell.horizon} rounds"
        yield f"the lower bound of {problem.name} is one of {which}"


def check_horizon_and_kernel(cell: Cell, problem: LowerBound) -> Iterator[str]:
    if cell.horizon < problem.horizon:
        yield f"T = {problem.horizon} rounds, played are {cell.horizon}"
    if cell.kernel != Linear():
        yield f"the linear kernel, played is {cell.kernel}"


def check_rule(problem: LowerBound, settings: dict[str, Any]) -> Iterator[str]:
    """Say what a rule of the Generic-GP family was given otherwise than the lower bound needs.

    The bound says nothing of other rules.
    """
    entry = POLICIES.get(settings["policy"])
    if entry is None or not entry.constructor.is_generic:
        return
    noise, norm = settings["noise_scale"], settings["norm_bound"]
    if problem.size_of_rule(noise, norm) < problem.size * (1 - 1e-9):
        needed = f"R = {problem.noise_scale:g} and D = {problem.norm_bound:g}"
        yield f"{needed}, policies are told {noise:g} and {norm:g}"
    if settings["ridge"] != 1:
        yield f"ridge 1, played is {settings['ridge']:g}"


def check_gains(results: Results) -> Iterator[str]:
    """Report policies that use different meanings of the information gain."""
    meant: dict[str, list[str]] = {}
    for cell in results.cells:
        gain = results.found[cell.key].settings.get("gain")
        if gain not in (None, "none") and cell.contender.label not in meant.setdefault(gain, []):
            meant[gain].append(cell.contender.label)
    if len(meant) > 1:
        groups = "; ".join(f"{gain} for {', '.join(labels)}" for gain, labels in meant.items())
        yield f"the information gain is not one for all, which compares no policies ({groups})"
