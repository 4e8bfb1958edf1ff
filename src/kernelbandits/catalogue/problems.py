"""The problems by name; a family of test functions takes its dimension in its name, as in ackley4 or levy10."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernelbandits import problems
from kernelbandits.catalogue.lookup import check_settings, looked_up, parameters_of
from kernelbandits.problems import Problem, SampledFunction, TestFunction

SFU = "Surjanovic & Bingham, Virtual Library of Simulation Experiments"

FUNCTIONS: Mapping[str, Callable[[], TestFunction]] = {
    "holder-table": problems.holder_table,
    "cross-in-tray": problems.cross_in_tray,
    "branin": problems.branin,
    "six-hump-camel": problems.six_hump_camel,
}

FAMILIES: Mapping[str, Callable[[int], TestFunction]] = {
    "ackley": problems.ackley,
    "hartmann": problems.hartmann,
    "levy": problems.levy,
    "rosenbrock": problems.rosenbrock,
}


@dataclass(frozen=True)
class ProblemEntry:
    """A problem, how to build it and where it comes from."""

    name: str
    constructor: Callable[..., Problem]
    source: str


def named_function(name: str) -> TestFunction | None:
    """A test function by its name, the dimension of a family behind it; None if there is none."""
    if not isinstance(name, str):
        return None
    if name in FUNCTIONS:
        return FUNCTIONS[name]()
    family = re.fullmatch(r"([a-z]+)([0-9]{1,4})", name)
    return FAMILIES[family[1]](int(family[2])) if family and family[1] in FAMILIES else None


def sampled(name: str) -> ProblemEntry:
    function = named_function(name)
    assert function is not None
    return ProblemEntry(name, partial(SampledFunction, function), SFU)


NAMED = (*FUNCTIONS, "ackley4", "hartmann3", "hartmann6", "levy4", "rosenbrock4")

PROBLEMS: Mapping[str, ProblemEntry] = {name: sampled(name) for name in NAMED} | {
    "rkhs": ProblemEntry(
        "rkhs", problems.RKHSFunction, "a function of known norm: rkhs:kernel=rbf(0.2),dimension=2"
    ),
    "gp": ProblemEntry(
        "gp", problems.GPFunction, "a draw from the prior: gp:kernel=rbf(0.2),dimension=2"
    ),
    "perovskite": ProblemEntry(
        "perovskite", problems.perovskite, "Sun et al., Matter 4(4), 2021: 94 measured films"
    ),
    "csv": ProblemEntry(
        "csv", problems.read_table, "any table: csv:path=films.csv,columns=Cs/FA,target=stability"
    ),
    "lower-bound": ProblemEntry(
        "lower-bound",
        problems.LowerBound,
        "Theorem 2 of the paper, where its rule must lose: lower-bound:d=3,horizon=2000",
    ),
    "drifting": ProblemEntry(
        "drifting",
        problems.Drifting,
        "any in motion: drifting:problem=gp,motion=markov(0.01), or turning(1000), jumps(100)",
    ),
}


def problem(name: str, /, **settings: Any) -> Problem:
    """A problem by its name: kb.problem("hartmann6", candidates=50)."""
    entry = sampled(name) if named_function(name) else looked_up("problem", name, PROBLEMS)
    check_settings(name, parameters_of(entry.constructor), settings)
    return entry.constructor(**settings)
