"""The law of a family that a regret bound likes best.

A bound knows a law by one factor: 1 + C2 + C3 (repaired), 1 + C2 + C3' (tight), C2 + 2 C3 (as printed). All else in it
is made of gamma_T, R, D and T, so that the law of the least factor is the best whatever they are.

With c = C1, E max |w| >= 1 - (1 - c)^T and E|w| >= c give 1 + C2 + C3 >= 2 + (1 - (1 - c)^T)(1 + 1/c), which falls in c
from three rounds on. Hence no law has a smaller factor than w = 1, UCB (4, 2 and 5); and as c <= E|w|, none with
E|w| <= b < 1 has a smaller one than Ber(b). The same holds for the other two factors (docs/theory.md).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from kernelbandits import checks
from kernelbandits.exploration import (
    Bernoulli,
    Categorical,
    Exploration,
    Gaussian,
    Mixture,
    PointMass,
    Step,
)
from kernelbandits.theory.constants import Constants, constants

OBJECTIVES: Mapping[str, Callable[[Constants], float]] = {
    "repaired": lambda c: 1 + c.c2 + c.c3,
    "tight": lambda c: 1 + c.c2 + c.c3_tight,
    "printed": lambda c: c.c2 + 2 * c.c3,
}
FORMULAS = {"repaired": "1 + C2 + C3", "tight": "1 + C2 + C3'", "printed": "C2 + 2 C3"}
FEWEST = 3
"""With one or two rounds the factor may fall with C1, and then no law has the least."""
HOPELESS = 1e-100
"""Laws of less optimism C1 are not looked at."""
FOLD = math.sqrt(2 / math.pi)
"""E|N(0, 1)|"""
WIDEST = 4.0
"""The best scale of N(0, scale^2) lies between 1.1 and 1.3."""
GRID = 65
MOST_VALUES = 10_000
FARTHEST = 1e3
"""Stands for an infinite logarithm in the search."""


@dataclass(frozen=True)
class RatedLaw:
    """A law, or a schedule, with what the bound thinks of it."""

    name: str
    law: Any
    factor: float
    mean_abs: float
    """E|w|, the mean over the rounds: how much is explored."""

    def plays_like(self, other: RatedLaw) -> bool:
        """The same law, however it is written."""
        mine, others = (self.factor, self.mean_abs), (other.factor, other.mean_abs)
        return all(math.isclose(a, b, rel_tol=1e-7) for a, b in zip(mine, others, strict=True))


@dataclass(frozen=True)
class DesignedLaw:
    """The law of least factor in a family, and how others compare."""

    law: Any
    """A law, or a schedule of laws."""
    family: str
    horizon: int
    objective: str
    factor: float
    constants: Constants
    budget: float | None
    parameter: str
    """What was varied in the family, and its best value:"""
    value: float
    mean_abs: float
    """E|w|, the mean over the rounds."""
    alternatives: tuple[RatedLaw, ...]
    """UCB, the paper's choices and, with a budget below one, the best of all laws that keep to it."""
    curve: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    """The parameter and the factor, along the family."""

    @property
    def rated(self) -> RatedLaw:
        mine = RatedLaw(f"best {self.family}", self.law, self.factor, self.mean_abs)
        return (
            replace(mine, name=f"{mine.name} (UCB)")
            if mine.plays_like(self.alternatives[0])
            else mine
        )

    @property
    def rivals(self) -> tuple[RatedLaw, ...]:
        """The alternatives that are not the designed law itself."""
        return tuple(other for other in self.alternatives if not other.plays_like(self.rated))

    @property
    def is_ucb(self) -> bool:
        return self.rated.plays_like(self.alternatives[0])

    @property
    def sentence(self) -> str:
        """What was found, and what the bound thinks of it."""
        limit = f" with E|w| <= {self.budget:g}" if self.budget is not None else ""
        place = f"{self.factor:.4g}, at {self.parameter} = {self.value:.4g}"
        who = f"Of the {self.family} laws{limit} over {self.horizon} rounds"
        return f"{who} the factor {FORMULAS[self.objective]} is least, {place}; {self._verdict()}"

    def _verdict(self) -> str:
        ucb = self.alternatives[0].factor
        if self.is_ucb:
            hint = "a budget below 1 for E|w| asks for less exploration"
            return f"this is UCB, w = 1: the bound prefers it to every law, and never asks for randomness ({hint})."
        if self.budget is None or self.budget >= 1:
            return f"UCB has {ucb:.4g}, and no law has less."
        best = self.alternatives[-1]
        here = (
            f"this is {best.name}"
            if self.rated.plays_like(best)
            else f"{best.name} has {best.factor:.4g}"
        )
        return (
            f"{here}, the best of all laws with this budget; UCB, beyond the budget, has {ucb:.4g}."
        )

    def explain(self) -> str:
        """The sentence, and a line for each law: factor, E|w|, name."""
        rows = [
            f"{row.factor:10.4f}  {row.mean_abs:6.4f}  {row.name}"
            for row in (self.rated, *self.alternatives)
        ]
        return "\n".join((self.sentence, "    factor    E|w|  law", *rows))


@dataclass(frozen=True)
class Path:
    """The laws of a family that keep to a budget, one for each value of a parameter in [low, high]."""

    parameter: str
    low: float
    high: float
    law: Callable[[float], Any]


def best_law(
    family: str,
    horizon: int,
    *,
    objective: str = "repaired",
    budget: float | None = None,
    **options: Any,
) -> DesignedLaw:
    """The law of the family with the least factor over T >= 3 rounds, among those with E|w| <= budget.

    Families: bernoulli, gaussian (mean zero), shifted-gaussian, categorical (values=4, on i/4), mixture (of w = 1 and
    N(0, scale^2); scale=None is free) and step (two Bernoulli laws, the first up to round last=T//2; the budget is for
    the mean over the rounds). The parameter is found to about 1e-6.
    """
    rounds = checks.whole("best_law", "horizon", horizon, least=FEWEST)
    checks.one_of("best_law", "objective", objective, OBJECTIVES)
    path = family_path(family, rounds, budget=budget, **options)
    curve = tuple(
        (x, factor(path.law(x), rounds, objective))
        for x in np.linspace(path.low, path.high, GRID).tolist()
    )
    needed = f"a budget that leaves the family C1 = P(w >= 1) above {HOPELESS:g}"
    checks.needs(min(height for _, height in curve) < math.inf, "best_law", needed, budget)
    value = refined(curve, lambda x: factor(path.law(x), rounds, objective))
    law = path.law(value)
    mine = rate("", law, rounds, objective)
    others = tuple(
        rate(name, other, rounds, objective) for name, other in known_laws(rounds, budget).items()
    )
    return DesignedLaw(
        law,
        family,
        rounds,
        objective,
        mine.factor,
        constants(law, rounds),
        None if budget is None else float(budget),
        path.parameter,
        value,
        mine.mean_abs,
        others,
        curve,
    )


def factor(exploration: Any, horizon: int, objective: str = "repaired") -> float:
    """What a law or schedule contributes to the bound; infinite where C1 = P(w >= 1) is zero or hopelessly small."""
    checks.one_of("factor", "objective", objective, OBJECTIVES)
    runs = Exploration.of(exploration).runs(checks.whole("factor", "horizon", horizon))
    if min(law.optimism for law, _, _ in runs) < HOPELESS:
        return math.inf
    return OBJECTIVES[objective](constants(exploration, horizon))


def rate(name: str, exploration: Any, horizon: int, objective: str = "repaired") -> RatedLaw:
    """A law with its factor and E|w|."""
    runs = Exploration.of(exploration).runs(checks.whole("rate", "horizon", horizon))
    explored = math.fsum((stop - start) * law.mean_abs for law, start, stop in runs) / horizon
    return RatedLaw(name, exploration, factor(exploration, horizon, objective), explored)


def known_laws(horizon: int, budget: float | None = None) -> dict[str, Any]:
    """UCB, the three of the paper's experiments, and the best law of all that keeps to the budget."""
    known: dict[str, Any] = {
        "UCB": PointMass(1.0),
        "paper: Ber(1/2), then Ber(1/4)": Step(Bernoulli(0.5), Bernoulli(0.25), horizon // 2),
        "paper: N(0, 1)": Gaussian(0.0, 1.0),
        "paper: uniform on 1/4, ..., 1": Categorical((0.25,) * 4),
    }
    return known | (
        {f"Ber({budget:g})": Bernoulli(budget)} if budget is not None and budget < 1 else {}
    )


def refined(curve: Sequence[tuple[float, float]], function: Callable[[float], float]) -> float:
    """The best point of the curve, or a better one between its neighbours; logarithms keep steep slopes in hand."""
    best = min(range(len(curve)), key=lambda place: curve[place][1])
    ends = curve[max(best - 1, 0)][0], curve[min(best + 1, len(curve) - 1)][0]
    inner = minimize_scalar(
        lambda x: min(math.log(function(x)), FARTHEST),
        bounds=ends,
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(inner.x) if function(inner.x) < curve[best][1] else curve[best][0]


def family_path(family: str, horizon: int, *, budget: float | None = None, **options: Any) -> Path:
    """The laws among which `best_law` looks."""
    checks.one_of("best_law", "family", family, FAMILIES)
    known = [
        name
        for name in inspect.signature(FAMILIES[family]).parameters
        if name not in ("horizon", "budget")
    ]
    for name in options:
        checks.needs(
            name in known, f"the family {family}", f"options among ({', '.join(known)})", name
        )
    limit = math.inf if budget is None else checks.positive("best_law", "budget", budget)
    return FAMILIES[family](horizon, limit, **options)


def bernoulli(horizon: int, budget: float) -> Path:
    """Ber(p), E|w| = p."""
    return Path("p", 0.0, min(budget, 1.0), Bernoulli)


def gaussian(horizon: int, budget: float) -> Path:
    """N(0, scale^2), E|w| = scale sqrt(2 / pi)."""
    return Path("scale", 0.0, min(budget / FOLD, WIDEST), lambda scale: Gaussian(0.0, scale))


def shifted_gaussian(horizon: int, budget: float) -> Path:
    """N(mean, scale^2) with the greatest mean that E|w| <= budget leaves; the limit scale = 0, mean = 1 is UCB."""
    most = min(budget, 1.0)
    return Path(
        "scale", 0.0, most / FOLD, lambda scale: Gaussian(greatest_mean(scale, most), scale)
    )


def greatest_mean(scale: float, budget: float) -> float:
    """The m >= 0 with E|N(m, scale^2)| = budget."""
    if scale * FOLD >= budget:
        return 0.0
    return float(brentq(lambda m: Gaussian(m, scale).mean_abs - budget, 0.0, budget, xtol=1e-15))


def categorical(horizon: int, budget: float, values: int = 4) -> Path:
    """Values i/K: all that is not on 1 is on 1/K, which leaves the budget to C1, and the factor falls with C1."""
    count = checks.whole("categorical", "values", values, least=2)
    checks.needs(count <= MOST_VALUES, "categorical", f"values <= {MOST_VALUES}", values)
    checks.needs(
        budget > 1 / count, "categorical", f"a budget > 1/{count}, its least weight", budget
    )
    top = min((budget - 1 / count) / (1 - 1 / count), 1.0)
    return Path("P(w = 1)", 0.0, top, lambda c: Categorical((1 - c, *(0.0,) * (count - 2), c)))


def mixture(horizon: int, budget: float, scale: float | None = None) -> Path:
    """w = 1 with chance rho, else N(0, scale^2): E|w| = rho + (1 - rho) scale sqrt(2 / pi).

    A free scale is varied and rho follows from the budget; where none binds, rho is varied at scale 1.
    """
    if scale is None and budget < 1:
        return Path("scale", 0.0, budget / FOLD, lambda s: mixed(share_of_one(s, budget), s))
    width = checks.nonnegative("mixture", "scale", 1.0 if scale is None else scale)
    mean = width * FOLD
    checks.needs(
        min(mean, 1.0) <= budget,
        "mixture",
        f"a budget >= {min(mean, 1.0):.4g} at scale {width:g}",
        budget,
    )
    least = (mean - budget) / (mean - 1) if mean > budget else 0.0
    return Path(
        "rho",
        least,
        1.0 if budget >= 1 else share_of_one(width, budget),
        lambda rho: mixed(rho, width),
    )


def share_of_one(scale: float, budget: float) -> float:
    """The rho at which E|w| = budget < 1."""
    mean = min(scale * FOLD, budget)
    return (budget - mean) / (1 - mean)


def mixed(rho: float, scale: float) -> Mixture:
    return Mixture((rho, 1 - rho), (PointMass(1.0), Gaussian(0.0, scale)))


def step(horizon: int, budget: float, last: int | None = None) -> Path:
    """Ber(p) up to round `last`, then the Bernoulli law that the mean budget of all rounds leaves."""
    first = horizon // 2 if last is None else checks.whole("step", "last", last)
    checks.needs(first < horizon, "step", f"last < {horizon}, the horizon", first)
    total, second = min(budget, 1.0) * horizon, horizon - first

    def law(p: float) -> Step:
        return Step(
            Bernoulli(p), Bernoulli(min(max((total - first * p) / second, 0.0), 1.0)), first
        )

    return Path("first p", max((total - second) / first, 0.0), min(total / first, 1.0), law)


FAMILIES: Mapping[str, Callable[..., Path]] = {
    "bernoulli": bernoulli,
    "gaussian": gaussian,
    "shifted-gaussian": shifted_gaussian,
    "categorical": categorical,
    "mixture": mixture,
    "step": step,
}
