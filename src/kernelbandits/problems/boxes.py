"""Test functions on all of their box, and with coordinates that are given and not chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import Arms, Box, Contextual
from kernelbandits.problems.base import Instance, problem_generator
from kernelbandits.problems.derived import DerivedProblem
from kernelbandits.problems.drifting import MovingInstance
from kernelbandits.problems.functions import SampledFunction
from kernelbandits.streams import Streams

SAMPLE = 4096
"""Points of a cover of the unit cube whose least reward is the 0 of a box."""
CONTEXTS = 43
"""The stream of the contexts."""


@dataclass(frozen=True, eq=False)
class BoxInstance(Instance):
    """A box to play on, and a function with a known maximum; points are numbered as they are met.

    `values` are the mean rewards of evenly spread points; they say what is usually lost.

    >>> import kernelbandits as kb
    >>> instance = kb.problem("box", problem="branin").instance(kb.Streams(0))
    >>> numbers = [instance.number(kb.Choice(x=x)) for x in ([0.5, 0.5], [0.1239, 0.8183])]
    >>> numbers, instance.regrets(numbers).round(3).tolist()
    ([0, 1], [0.08, 0.0])
    """

    function: Callable[[Array], Array] = field(kw_only=True, repr=False)
    """The mean rewards of points, given as rows."""
    _numbers: dict[bytes, int] = field(default_factory=dict, init=False, repr=False)
    _met: list[float] = field(default_factory=list, init=False, repr=False)

    @property
    def finite(self) -> bool:
        return False

    @property
    def outside_theory(self) -> str:
        return "it is played on a box, and gains are computed for arms"

    def number(self, choice: Any) -> int:
        """Return the number of the point of a choice, in the order in which they were met."""
        row = np.array(choice.x, dtype=np.float64)
        key = row.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self._met)
            self._met.append(float(self.function(row[None])[0]))
        return self._numbers[key]

    def recommended(self, policy: Any, t: int) -> int:
        """Return the number of the point that a policy recommends."""
        return self.number(policy.recommend_choice())

    def regrets(self, arms: Any) -> Array:
        return self.optimum - np.array(self._met)[np.asarray(arms, dtype=np.intp)]

    def pull(self, arm: int, u: float, t: int = 1) -> float:
        known = checks.is_whole(arm) and 0 <= arm < len(self._met)
        checks.needs(known, "pull", f"a point met, 0..{len(self._met) - 1}", arm)
        return self._met[arm] + self.noise.draw(u)


@dataclass(frozen=True)
class WholeBox(DerivedProblem):
    """A test function on all of its box, scaled to the unit cube: nothing is drawn but the noise.

    Regret is against the known maximum of the function. Rewards are scaled so that the maximum is 1
    and the least of 4096 evenly spread points 0. Rules that do not play boxes play on a cover of
    500 points, and lose what lies between them.

    >>> import kernelbandits as kb
    >>> results = kb.run_experiment(
    ...     "box:problem=branin", ["simple-ucb", "auto"], horizon=8, seeds=2, noise_scale=0.01
    ... )
    >>> bool((results["branin-box", "Auto"].simple >= 0).all())
    True
    """

    is_outermost: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_function(self)

    @property
    def name(self) -> str:
        return f"{self.problem.name}-box"

    @property
    def title(self) -> str:
        return f"{self.problem.title} on its box"

    @property
    def description(self) -> str:
        return "all points of the unit cube; rewards minus the function, regret against its maximum"

    def instance(self, streams: Streams) -> BoxInstance:
        problem: Any = self.problem
        sides = (0.0,) * self.dimension, (1.0,) * self.dimension
        rows = Box(*sides).cover().points
        return BoxInstance(
            self.name,
            Box(*sides),
            scaled_reward(problem, rows),
            self.noise,
            function=lambda points: scaled_reward(problem, points),
            reference=scaled_optimum(problem),
        )


@dataclass(frozen=True, eq=False)
class ContextInstance(MovingInstance):
    """n arms whose mean rewards depend on a context, which is given before each choice.

    >>> import kernelbandits as kb
    >>> problem = kb.problem("contextual", problem="hartmann6", size=2)
    >>> instance = problem.instance(kb.Streams(0))
    >>> instance.domain.size, instance.context(1).shape, len(instance.at(1))
    (2, (2,), 50)
    """

    contexts: Callable[[int], Array] = field(kw_only=True, repr=False)

    @property
    def outside_theory(self) -> str:
        return "its best arm depends on the context of the round"

    @property
    def finite(self) -> bool:
        return False

    def context(self, t: int) -> Array:
        """Return what is given in round t."""
        return self.contexts(t)

    def recommended(self, policy: Any, t: int) -> int:
        """Return the arm that a policy recommends for the context of round t."""
        return int(policy.recommend_choice(context=self.context(t)).arm)


@dataclass(frozen=True)
class WithContext(DerivedProblem):
    """A test function whose last coordinates are given in each round, uniform at random.

    The arms are random candidates in the other coordinates, for each seed its own. Regret is
    against the best arm for the context of the round. Rewards are scaled as those of `WholeBox`.

    >>> import kernelbandits as kb
    >>> results = kb.run_experiment(
    ...     "contextual:problem=hartmann6,size=2", ["simple-ucb", "auto"], horizon=8, seeds=2
    ... )
    >>> results.problems[0].title
    'Hartmann (d = 6), 2 coordinates given'
    """

    size: int = 1
    """How many coordinates are given."""

    is_outermost: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_function(self)
        fewer = checks.whole("WithContext", "size", self.size) < self.dimension
        checks.needs(fewer, "WithContext", f"size < {self.dimension}", self.size)

    @property
    def name(self) -> str:
        return f"{self.problem.name}-context-{self.size}"

    @property
    def title(self) -> str:
        given = "1 coordinate" if self.size == 1 else f"{self.size} coordinates"
        return f"{self.problem.title}, {given} given"

    @property
    def description(self) -> str:
        candidates = getattr(self.problem, "candidates", 0)
        given = f"the last {self.size} of {self.dimension} coordinates are given in each round"
        return f"{candidates} candidates a seed, uniform in the unit cube; {given}"

    def instance(self, streams: Streams) -> ContextInstance:
        problem: Any = self.problem
        chosen = self.dimension - self.size
        points = problem_generator(streams).random((problem.candidates, chosen))
        drawn = RoundContexts(streams, self.size)

        def rewards(t: int) -> Array:
            given = np.tile(drawn(t), (len(points), 1))
            return scaled_reward(problem, np.hstack([points, given]))

        def later() -> Iterator[Array]:
            t = 2
            while True:
                yield rewards(t)
                t += 1

        domain = Contextual(Arms(points), self.size)
        return ContextInstance(
            self.name, domain, rewards(1), self.noise, path=later(), contexts=drawn
        )


class RoundContexts:
    """The contexts of rounds 1, 2, ..., uniform in the unit cube; a longer game begins alike."""

    def __init__(self, streams: Streams, size: int) -> None:
        self._generator = streams.generator(CONTEXTS)
        self._size = size
        self._drawn: list[Array] = []

    def __call__(self, t: int) -> Array:
        while len(self._drawn) < t:
            self._drawn.append(self._generator.random(self._size))
        return self._drawn[t - 1]


def check_function(derived: DerivedProblem) -> None:
    known = isinstance(derived.problem, SampledFunction)
    needed = "a test function, such as branin or hartmann6"
    checks.needs(known, type(derived).__name__, needed, derived.problem)


def scaled_reward(problem: SampledFunction, points: Array) -> Array:
    """Return the rewards at points of the unit cube; scaled, their maximum on the cube is 1."""
    low, spread = reward_range(problem)
    return np.asarray(np.minimum((problem.reward(points) - low) / spread, scaled_optimum(problem)))


def scaled_optimum(problem: SampledFunction) -> float:
    low, spread = reward_range(problem)
    return (problem.optimum - low) / spread


@cache
def reward_range(problem: SampledFunction) -> tuple[float, float]:
    """Return what is the 0 of the scaled rewards, and the distance from there to the maximum."""
    if not problem.scale:
        return 0.0, 1.0
    sides = (0.0,) * problem.dimension, (1.0,) * problem.dimension
    low = float(problem.reward(Box(*sides).cover(SAMPLE).points).min())
    return low, problem.optimum - low
