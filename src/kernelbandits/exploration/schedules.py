"""Schedules of laws, and the exploration argument of a policy: a law, t -> law, or (t, posterior) -> law."""

from __future__ import annotations

import inspect
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.exploration.composed import as_law
from kernelbandits.exploration.laws import Bernoulli, Law
from kernelbandits.exploration.tails import at_all

Run = tuple[Law, int, int]
"""A law and the rounds start + 1..stop in which it holds."""
MOST_ROUNDS = 1 << 62


@dataclass(frozen=True)
class Step:
    """The paper's schedule: one law up to a round, another after it; with Ber(1/2), Ber(1/4) and T//2 its Section 5."""

    first: Law
    second: Law
    last: int
    """The last round of the first law."""

    def __post_init__(self) -> None:
        checks.whole("Step", "last", self.last, least=0)
        object.__setattr__(self, "first", as_law(self.first))
        object.__setattr__(self, "second", as_law(self.second))

    def __call__(self, t: int) -> Law:
        return self.first if t <= self.last else self.second

    def runs(self, horizon: int) -> list[Run]:
        """The same without asking round by round."""
        change = min(self.last, horizon)
        both = (self.first, 0, change), (self.second, change, horizon)
        return [run for run in both if run[1] < run[2]]


@dataclass(frozen=True)
class Decay:
    """Ber(p_t), p_t = max(floor, first t^-power): less exploration in later rounds, never less than the floor."""

    first: float = 1.0
    power: float = 0.5
    floor: float = 0.05

    def __post_init__(self) -> None:
        checks.chance("Decay", "first", self.first)
        checks.nonnegative("Decay", "power", self.power)
        checks.chance("Decay", "floor", self.floor)

    def __call__(self, t: int) -> Law:
        return Bernoulli(max(self.floor, self.first * checks.whole("Decay", "t", t) ** -self.power))

    def early(self, horizon: int) -> int:
        """How many of the rounds 1..horizon have a p_t of their own, for it falls and is above the floor yet."""
        if not self.power:
            return 0
        rounds = range(1, min(horizon, MOST_ROUNDS) + 1)
        return bisect_left(rounds, True, key=lambda t: self.first * t**-self.power <= self.floor)

    def chances(self, horizon: int) -> Array:
        """p_t of the early rounds, at once."""
        rounds = np.arange(1.0, self.early(horizon) + 1)
        return np.asarray(self.first * rounds**-self.power)

    def runs(self, horizon: int) -> list[Run]:
        """The rounds after the early ones are one run."""
        early = self.early(horizon)
        late = [(self(early + 1), early, horizon)] if early < horizon else []
        return [*((self(t), t - 1, t) for t in range(1, early + 1)), *late]


@dataclass(frozen=True)
class Certainty:
    """Ber(p_t), p_t = floor + (first - floor) max_x sd(x) / max_x sqrt(k(x, x)): explore while something is unknown.

    p_t is fixed by the history, as the paper allows; C1 never falls below the floor. The greatest are those over the
    arms of the round; on a box those over its cover of 500 points.
    """

    first: float = 0.5
    floor: float = 0.05

    def __post_init__(self) -> None:
        checks.chance("Certainty", "first", self.first)
        checks.chance("Certainty", "floor", self.floor)
        checks.needs(
            self.floor <= self.first, "Certainty", "floor <= first", (self.floor, self.first)
        )

    def __call__(self, t: int, posterior: Any) -> Law:
        known = math.sqrt(float(posterior.prior.max()))
        unknown = min(1.0, float(posterior.sd.max()) / known) if known else 0.0
        return Bernoulli(self.floor + (self.first - self.floor) * unknown)


@dataclass(frozen=True)
class Exploration:
    """A law or schedule, told apart once: `law(t, posterior)` is the law of round t."""

    source: Any
    arguments: int
    """0 for a law, 1 for t -> law, 2 for (t, posterior) -> law."""

    @classmethod
    def of(cls, source: Any) -> Exploration:
        if isinstance(source, Exploration):
            return source
        if isinstance(source, (Law, type)) or hasattr(source, "ppf") or not callable(source):
            return cls(as_law(source), 0)
        return cls(source, required_arguments(source))

    def law(self, t: int, posterior: Any) -> Law:
        if self.arguments == 0:
            return self.source  # type: ignore[no-any-return]
        return as_law(self.source(t) if self.arguments == 1 else self.source(t, posterior))

    @property
    def uses_history(self) -> bool:
        return self.arguments == 2

    def runs(self, horizon: int) -> list[Run]:
        """The laws of rounds 1..horizon, for a law or schedule that does not look at the history."""
        if self.arguments == 0:
            return [(self.source, 0, horizon)]
        if hasattr(self.source, "runs"):
            return list(self.source.runs(horizon))
        laws = [self.source(t) for t in range(1, horizon + 1)]
        sizes = [len(list(run)) for _, run in groupby(laws, key=id)]
        return [
            (as_law(laws[stop - size]), stop - size, stop)
            for size, stop in zip(sizes, accumulate(sizes), strict=True)
        ]

    def counts(self, horizon: int) -> Counter[Law]:
        """How many of the rounds 1..horizon have each law; equal laws are one, in whatever order they come."""
        if self.arguments and not hasattr(self.source, "runs"):
            return Counter(as_law(self.source(t)) for t in range(1, horizon + 1))
        found: Counter[Law] = Counter()
        for law, start, stop in self.runs(horizon):
            found[law] += stop - start
        return found

    def weights(self, uniforms: Array) -> Array:
        """w_1..w_T from the uniforms of rounds 1..T."""
        drawn = [
            at_all(law.draw, uniforms[start:stop]) for law, start, stop in self.runs(len(uniforms))
        ]
        return np.concatenate(drawn) if drawn else np.empty(0)


def required_arguments(schedule: Callable[..., Any]) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(schedule).parameters.values()
    count = sum(p.kind in kinds and p.default is p.empty for p in parameters)
    checks.needs(
        count in (1, 2), "a schedule", "the arguments (t) or (t, posterior)", f"{count} arguments"
    )
    return count
