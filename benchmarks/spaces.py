"""Time of a suggestion on spaces of six variables after 200 results, against a box and Optuna.

All players are asked in turn in every round, so that what else the machine does slows all of them.
Times are processor seconds of ask + tell on one thread, fits included. The results are those of
random points, the same for all players of a space.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any, Protocol

import numpy as np

import kernelbandits as kb
from benchmarks import machine, tables
from benchmarks.rows import Goal, Row
from kernelbandits.domains.variables import Number

RESULTS, ROUNDS = 200, 40
"""Suggestions that are timed after so many results: in a fifth of them at least one fit is due."""
REAL = kb.Real(0, 1)
ONE_OF_EACH = {
    "rate": kb.Real(1e-5, 1e-1, log=True),
    "heat": kb.Real(20, 90, step=0.5),
    "A": REAL,
    "B": REAL,
    "cups": kb.Integer(1, 8),
    "solvent": kb.Category(("DMF", "DMSO", "water")),
}
SPACES: Mapping[str, kb.MixedBox] = {
    "a box: 6 reals": kb.MixedBox({f"x{i}": REAL for i in range(1, 7)}),
    "5 reals and a category": kb.MixedBox(
        {f"x{i}": REAL for i in range(1, 6)} | {"solvent": kb.Category(("DMF", "DMSO", "water"))}
    ),
    "log, step, 2 reals, integer, category": kb.MixedBox(ONE_OF_EACH),
    "the same with constraints": kb.MixedBox(
        ONE_OF_EACH, constraints=["A + B <= 1", "not (solvent == 'DMF' and heat > 60)"]
    ),
    "a mixture of 6": kb.MixedBox(
        dict.fromkeys("ABCDEF", REAL), constraints=["A + B + C + D + E + F == 1"]
    ),
}
BOX, CATEGORY, MIXED = list(SPACES)[:3]


class Player(Protocol):
    """Suggests points of a space, and learns results."""

    def ask(self, t: int) -> dict[str, Any]: ...

    def tell(self, x: dict[str, Any], y: float) -> None: ...


class AutoPlayer:
    """`kb.Auto` with the goal to find the best."""

    def __init__(self, space: kb.MixedBox) -> None:
        self.auto = kb.Auto(space, goal="find")

    def ask(self, t: int) -> dict[str, Any]:
        return dict(self.auto.ask(t).x)

    def tell(self, x: dict[str, Any], y: float) -> None:
        self.auto.tell(self.auto.choice(x), y)


class OptunaPlayer:
    """Optuna's GPSampler."""

    def __init__(self, space: kb.MixedBox) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.GPSampler(seed=0)
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        named = zip(space.names, space.variables, strict=True)
        self.space = {name: optuna_distribution(variable) for name, variable in named}
        self.trial: Any = None

    def ask(self, t: int) -> dict[str, Any]:
        self.trial = self.study.ask(self.space)
        return dict(self.trial.params)

    def tell(self, x: dict[str, Any], y: float) -> None:
        from optuna.trial import create_trial

        if self.trial is None:
            self.study.add_trial(create_trial(params=x, distributions=self.space, value=y))
        else:
            self.study.tell(self.trial, y)
        self.trial = None


def optuna_distribution(variable: Any) -> Any:
    """The same variable for Optuna."""
    from optuna import distributions

    if not isinstance(variable, Number):
        return distributions.CategoricalDistribution(variable.values)
    if isinstance(variable, kb.Integer):
        return distributions.IntDistribution(variable.low, variable.high, log=variable.log)
    return distributions.FloatDistribution(
        variable.low, variable.high, log=variable.log, step=variable.step
    )


def has_optuna() -> bool:
    """Whether Optuna and what its GPSampler needs are installed."""
    return all(machine.found(name) != "not installed" for name in ("optuna", "torch"))


@dataclass
class Clock:
    """Times the rounds of a player on a space."""

    space: kb.MixedBox
    make: Callable[[kb.MixedBox], Player]
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.player = self.make(self.space)
        for row in self.space.cover(RESULTS).points:
            x = self.space.decode(row)
            self.player.tell(x, measure(self.space, x))

    def play(self, t: int) -> None:
        began = time.process_time()
        x = self.player.ask(t)
        asked = time.process_time()
        y = measure(self.space, x)
        measured = time.process_time()
        self.player.tell(x, y)
        self.seconds.append(asked - began + time.process_time() - measured)


def measure(space: kb.MixedBox, x: dict[str, Any]) -> float:
    """A smooth function of the coordinates with three waves, and noise that depends on them."""
    lower, upper = np.array(space.lower), np.array(space.upper)
    unit = (space.encode(x) - lower) / (upper - lower)
    place = float(unit @ np.linspace(1, 2, len(unit)))
    return float(np.sin(2 * place) - ((unit - 0.4) ** 2).sum() + 0.05 * np.sin(1e4 * place))


def rows() -> list[Row]:
    """Each space relative to the box, and to Optuna on the box and on mixed variables."""
    warnings.simplefilter("ignore")
    ours = {name: Clock(space, AutoPlayer) for name, space in SPACES.items()}
    theirs: dict[str, Clock] = {}
    if has_optuna():
        theirs = {name: Clock(SPACES[name], OptunaPlayer) for name in (BOX, MIXED)}
    for t in range(RESULTS + 1, RESULTS + ROUNDS + 1):
        for clock in (*ours.values(), *theirs.values()):
            clock.play(t)
    found = [compare_with_box(name, ours) for name in list(SPACES)[1:]]
    return found + [compare_with_optuna(name, ours, theirs) for name in (BOX, MIXED)]


def compare_with_box(name: str, ours: Mapping[str, Clock]) -> Row:
    value = median(ours[name].seconds) / median(ours[BOX].seconds)
    means = fmean(ours[name].seconds) / fmean(ours[BOX].seconds)
    goal = Goal("<=", 1.2) if name == CATEGORY else None
    note = f"medians; {means:.2f} x by means with fits; {describe(ours[name])}"
    return Row(f"{name}, against a box", value, "x", goal, note)


def compare_with_optuna(name: str, ours: Mapping[str, Clock], theirs: Mapping[str, Clock]) -> Row:
    what, goal = f"{name}, against Optuna's GPSampler", Goal("<=", 0.1)
    if not theirs:
        return Row(what, None, "x", goal, "optuna or torch is not installed")
    value = fmean(ours[name].seconds) / fmean(theirs[name].seconds)
    note = f"means, fits included; {describe(ours[name])}; Optuna {describe(theirs[name])}"
    return Row(what, value, "x", goal, note)


def describe(clock: Clock) -> str:
    times = median(clock.seconds), fmean(clock.seconds)
    return f"median {1e3 * times[0]:.1f} ms, mean {1e3 * times[1]:.1f} ms"


def run() -> None:
    title = f"Suggestions on spaces after {RESULTS} results, {ROUNDS} rounds side by side"
    more = {name: machine.found(name) for name in ("optuna", "torch")}
    tables.measure("spaces", title, {"suggestions on spaces": rows}, more)
