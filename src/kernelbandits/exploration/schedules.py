"""Schedules: a law for every round.

The `exploration` argument of a policy is a law, a schedule t -> law, or a schedule
(t, posterior) -> law or (t, posterior, width) -> law, where width is the width of the policy in
round t. Any function of one of these forms is a schedule.
"""

from __future__ import annotations

import inspect
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any, ClassVar

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.exploration.frozen import as_law
from kernelbandits.exploration.laws import Bernoulli, Law
from kernelbandits.exploration.tails import evaluate_at_all

Run = tuple[Law, int, int]
"""A law and the rounds start + 1..stop in which it holds."""
MOST_ROUNDS = 1 << 62


@dataclass(frozen=True)
class Step:
    """One law up to a round, and another one after it.

    Section 5 of the paper uses Ber(1/2) in the first half of the rounds and Ber(1/4) in the second:

    >>> from kernelbandits import Bernoulli, Step
    >>> schedule = Step(Bernoulli(0.5), Bernoulli(0.25), last=500)
    >>> schedule(500), schedule(501)
    (Bernoulli(p=0.5), Bernoulli(p=0.25))
    """

    spelling: ClassVar[str] = "step"

    first: Law
    """The law of the rounds 1..last."""
    second: Law
    """The law of all later rounds."""
    last: int
    """The last round of the first law."""

    def __post_init__(self) -> None:
        checks.whole("Step", "last", self.last, least=0)
        object.__setattr__(self, "first", as_law(self.first))
        object.__setattr__(self, "second", as_law(self.second))

    def __call__(self, t: int) -> Law:
        return self.first if t <= self.last else self.second

    def runs(self, horizon: int, first: int = 1) -> list[Run]:
        """Return the laws of rounds first..horizon, without a call for every round."""
        change = max(first - 1, min(self.last, horizon))
        both = (self.first, first - 1, change), (self.second, change, horizon)
        return [run for run in both if run[1] < run[2]]


@dataclass(frozen=True)
class Decay:
    """Ber(p_t) with p_t = max(floor, first * t^-power): less exploration in later rounds.

    >>> from kernelbandits import Decay
    >>> [Decay(power=0.5, floor=0.05)(t).p for t in (1, 4, 100, 10_000)]
    [1.0, 0.5, 0.1, 0.05]
    """

    spelling: ClassVar[str] = "decay"

    first: float = 1.0
    """The probability of exploring in round 1."""
    power: float = 0.5
    """How fast the probability falls; 0 keeps it constant."""
    floor: float = 0.05
    """The probability never falls below this. Regret bounds need C1 > 0 in every round."""

    def __post_init__(self) -> None:
        checks.chance("Decay", "first", self.first)
        checks.nonnegative("Decay", "power", self.power)
        checks.chance("Decay", "floor", self.floor)

    def __call__(self, t: int) -> Law:
        return Bernoulli(max(self.floor, self.first * checks.whole("Decay", "t", t) ** -self.power))

    def early_rounds(self, horizon: int) -> int:
        """Return how many of the rounds 1..horizon have a p_t above the floor.

        Each of these rounds has a law of its own. All later rounds share one law, so the search by
        bisection serves even a horizon of 10^18.
        """
        if not self.power:
            return 0
        rounds = range(1, min(horizon, MOST_ROUNDS) + 1)
        return bisect_left(rounds, True, key=lambda t: self.first * t**-self.power <= self.floor)

    def chances(self, horizon: int) -> Array:
        """Return p_t of the early rounds as an array."""
        rounds = np.arange(1.0, self.early_rounds(horizon) + 1)
        return np.asarray(self.first * rounds**-self.power)

    def runs(self, horizon: int, first: int = 1) -> list[Run]:
        """Return the laws of rounds first..horizon; the rounds at the floor are one run."""
        early = max(first - 1, self.early_rounds(horizon))
        late = [(self(early + 1), early, horizon)] if early < horizon else []
        return [*((self(t), t - 1, t) for t in range(first, early + 1)), *late]


@dataclass(frozen=True)
class Certainty:
    """Ber(p_t) with p_t = floor + (first - floor) * max_x sd(x) / max_x sqrt(k(x, x)).

    The policy explores less as the estimate becomes certain. p_t depends on the history only, which
    the paper allows, and C1 never falls below the floor. The maxima are over the arms of the round,
    and on a box over its cover of 500 points.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> posterior = kb.posterior.ArmPosterior(kb.Linear(), np.eye(2))
    >>> schedule = kb.Certainty(first=0.5, floor=0.1)
    >>> schedule(1, posterior).p
    0.5
    """

    spelling: ClassVar[str] = "certainty"

    first: float = 0.5
    """The probability of exploring before anything was observed."""
    floor: float = 0.05
    """The probability of exploring when nothing is left to learn."""

    def __post_init__(self) -> None:
        checks.chance("Certainty", "first", self.first)
        checks.chance("Certainty", "floor", self.floor)
        checks.needs(
            self.floor <= self.first, "Certainty", "floor <= first", (self.floor, self.first)
        )

    @property
    def chance_range(self) -> tuple[float, float]:
        """The smallest and the largest p_t over all histories."""
        return self.floor, self.first

    def __call__(self, t: int, posterior: Any) -> Law:
        known = math.sqrt(float(posterior.prior.max()))
        unknown = min(1.0, float(posterior.sd.max()) / known) if known else 0.0
        return Bernoulli(self.floor + (self.first - self.floor) * unknown)


@dataclass(frozen=True)
class Exploration:
    """The `exploration` argument of a policy, a law or a schedule: `law(t, posterior, width)`.

    >>> from kernelbandits import Bernoulli
    >>> from kernelbandits.exploration import Exploration
    >>> Exploration.of(lambda t: Bernoulli(1 / t)).law(4, posterior=None)
    Bernoulli(p=0.25)
    """

    source: Any
    """The law or the schedule."""
    arguments: int
    """0 for a law, else how many of (t, posterior, width) a schedule takes."""

    @classmethod
    def of(cls, source: Any) -> Exploration:
        """Find out which of the forms was given."""
        if isinstance(source, Exploration):
            return source
        if isinstance(source, (Law, type)) or hasattr(source, "ppf") or not callable(source):
            return cls(as_law(source), 0)
        return cls(source, required_arguments(source))

    def law(self, t: int, posterior: Any, width: float = math.nan) -> Law:
        """Return the law of round t."""
        if self.arguments == 0:
            return self.source  # type: ignore[no-any-return]
        return as_law(self.source(*(t, posterior, width)[: self.arguments]))

    @property
    def uses_history(self) -> bool:
        """Whether the law depends on the posterior, so that no weight is known in advance."""
        return self.arguments >= 2

    def runs(self, horizon: int, first: int = 1) -> list[Run]:
        """Return the laws of rounds first..horizon, each with the rounds in which it holds.

        This is for a law or a schedule that does not use the posterior.
        """
        if self.arguments == 0:
            return [(self.source, first - 1, horizon)]
        if hasattr(self.source, "runs"):
            return list(self.source.runs(horizon, first))
        laws = [self.source(t) for t in range(first, horizon + 1)]
        sizes = [len(list(run)) for _, run in groupby(laws, key=id)]
        return [
            (as_law(laws[stop - size]), first - 1 + stop - size, first - 1 + stop)
            for size, stop in zip(sizes, accumulate(sizes), strict=True)
        ]

    def counts(self, horizon: int) -> Counter[Law]:
        """Return how many of the rounds 1..horizon have each law; equal laws count together."""
        if self.arguments and not hasattr(self.source, "runs"):
            return Counter(as_law(self.source(t)) for t in range(1, horizon + 1))
        found: Counter[Law] = Counter()
        for law, start, stop in self.runs(horizon):
            found[law] += stop - start
        return found

    def weights(self, uniforms: Array, first: int = 1) -> Array:
        """Return the weights w_t of successive rounds from `first` on, for their uniforms."""
        before = first - 1
        drawn = [
            evaluate_at_all(law.draw, uniforms[start - before : stop - before])
            for law, start, stop in self.runs(before + len(uniforms), first)
        ]
        return np.concatenate(drawn) if drawn else np.empty(0)


def chance_range(source: Any) -> tuple[float, float] | None:
    """Return the smallest and the largest p of a schedule of Ber(p), over all histories.

    A schedule that depends on the history states them as its `chance_range`; the regret bounds need
    the smallest. The result is None for laws and schedules that state none.

    >>> import kernelbandits as kb
    >>> kb.exploration.chance_range(kb.AdaptiveBernoulli(floor=0.05))
    (0.05, 1.0)
    >>> kb.exploration.chance_range(kb.Bernoulli(0.3)) is None
    True
    """
    return getattr(source, "chance_range", None)


def required_arguments(schedule: Callable[..., Any]) -> int:
    """Return how many positional arguments without a default a schedule has: 1, 2 or 3."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(schedule).parameters.values()
    count = sum(p.kind in kinds and p.default is p.empty for p in parameters)
    needed = "the arguments (t), (t, posterior) or (t, posterior, width)"
    checks.needs(count in (1, 2, 3), "a schedule", needed, f"{count} arguments")
    return count
