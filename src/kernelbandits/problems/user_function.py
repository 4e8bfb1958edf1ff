"""A problem from a Python function, which is evaluated on candidates of its domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD, Array
from kernelbandits.domains import Arms, Box, Category, MixedBox
from kernelbandits.problems.base import Instance, problem_generator, scale_to_unit
from kernelbandits.problems.noise import PAPER_NOISE, Noise
from kernelbandits.streams import Streams

MOST_DRAWS = 200
"""How many times candidates are drawn until enough of them are different."""


@dataclass(frozen=True, eq=False)
class FunctionProblem:
    """Arms from the domain of a Python function, with its values as mean rewards.

    `kb.problem(f, domain)` builds one. No maximiser needs to be known: regret is measured against
    the best candidate. `kb.Arms` are all candidates, as they are. A box is sampled: each seed draws
    its own candidates uniformly, the function gets them in its own units, and kernels see the box
    scaled to the unit cube, so that one lengthscale serves all problems. The coordinates of a
    category stay as they are: two of its values are at distance 1.

    The function must return the same number whenever it gets the same point; the noise of the
    rewards is added by `noise`. It is evaluated once on each candidate of a seed, and the values
    are kept.

    >>> import kernelbandits as kb
    >>> problem = kb.problem(lambda x: -((x[0] - 3.0) ** 2), kb.Box((0.0,), (10.0,)), name="hill")
    >>> problem.title, problem.candidates
    ('hill (d = 1)', 50)
    >>> instance = problem.instance(kb.Streams(0))
    >>> float(instance.values.min()), float(instance.values.max())
    (0.0, 1.0)
    """

    function: Callable[[Any], float]
    """Takes a point (a row of the arms, an array, or the dict of a MixedBox), returns a number."""
    domain: Any
    """Arms, an (n, d) array, a Box or a MixedBox."""
    name: str = ""
    """How tables and figures call it; the name of the function if none is given."""
    candidates: int = 50
    """How many points of a box each seed draws; arms are all candidates."""
    noise: Noise = PAPER_NOISE
    """The law of the noise that each reward has besides the value."""
    direction: str = "maximize"
    """Whether large or small values of the function are sought."""
    scale: bool = True
    """Whether the values are scaled to [0, 1] over the candidates."""
    _instances: dict[int | None, Instance] = field(default_factory=dict, init=False, repr=False)
    """Seed -> what was drawn for it; None for arms, which are the same for every seed."""

    def __post_init__(self) -> None:
        owner = "kb.problem(f, domain)"
        checks.needs(callable(self.function), owner, "a function of one point", self.function)
        domain = self.domain
        if domain is None:
            raise ValueError(
                f"{owner} needs a domain: kb.Box(lower, upper), a kb.MixedBox, kb.Arms(points) "
                "or an (n, d) array"
            )
        if not isinstance(domain, (Arms, Box, MixedBox)):
            domain = Arms(domain)
        checks.whole(owner, "candidates", self.candidates)
        checks.needs(isinstance(self.noise, Noise), owner, "a noise law", self.noise)
        checks.needs(isinstance(self.scale, bool), owner, "scale true or false", self.scale)
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "direction", checks.direction(owner, self.direction))
        object.__setattr__(self, "name", str(self.name) or name_of(self.function))

    @property
    def title(self) -> str:
        return f"{self.name} (d = {self.dimension})"

    @property
    def dimension(self) -> int:
        return int(self.domain.dimension)

    @property
    def is_finite(self) -> bool:
        """Whether the candidates are the same for every seed."""
        few = isinstance(self.domain, MixedBox) and self.domain.count <= self.candidates
        return isinstance(self.domain, Arms) or few

    @property
    def description(self) -> str:
        if isinstance(self.domain, Arms):
            arms = f"the {len(self.domain)} arms given"
        elif self.is_finite:
            arms = f"all points of {self.domain}"
        else:
            arms = f"{self.candidates} candidates a seed, uniform in {self.domain}"
        reward = f"minus {self.name}" if self.direction == "minimize" else self.name
        scaling = ", scaled to [0, 1] over them" if self.scale else ""
        return f"{arms}; the reward is {reward}{scaling}"

    def instance(self, streams: Streams) -> Instance:
        # Every policy of an experiment asks for the instance of every seed, and a function may take
        # long: it is evaluated once for a seed.
        key = None if self.is_finite else streams.seed
        if key not in self._instances:
            self._instances[key] = self._build(streams)
        return self._instances[key]

    def _build(self, streams: Streams) -> Instance:
        rows = self._draw_rows(streams)
        values = np.array([self._evaluate(row) for row in rows])
        self._check_repeatable(rows[0], values[0])
        rewards = -values if self.direction == "minimize" else values
        arms = self.domain if isinstance(self.domain, Arms) else Arms(scale_rows(self.domain, rows))
        return Instance(
            self.name, arms, scale_to_unit(rewards) if self.scale else rewards, self.noise
        )

    def _draw_rows(self, streams: Streams) -> Array:
        """Draw the candidates as rows in the units of the domain, all different."""
        if isinstance(self.domain, Arms):
            return self.domain.points
        if isinstance(self.domain, MixedBox) and self.is_finite:
            return self.domain.all_rows()
        rng = problem_generator(streams)
        rows: Array = self.domain.from_unit(rng.random((self.candidates, self.domain.sides)))
        for _ in range(MOST_DRAWS):
            # Whole numbers and categories repeat themselves; each point is one candidate only.
            first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
            rows = rows[first][: self.candidates]
            if len(rows) == self.candidates:
                break
            more = self.domain.from_unit(rng.random((self.candidates, self.domain.sides)))
            rows = np.vstack([rows, more])
        return rows

    def _evaluate(self, row: Array) -> float:
        point = row if isinstance(self.domain, Arms) else self.domain.decode(row)
        try:
            value = self.function(point)
        except Exception as error:
            raise ValueError(
                f"{self.name} failed at {write_point(point)}: {type(error).__name__}: {error}"
            ) from error
        number = checks.to_number(value)
        if number is None or not abs(number) <= LARGEST_REWARD:
            raise ValueError(
                f"{self.name} needs to return a finite number, "
                f"got {value!r} at {write_point(point)}"
            )
        return number

    def _check_repeatable(self, row: Array, value: float) -> None:
        again = self._evaluate(row)
        if again != value:
            raise ValueError(
                f"{self.name} needs to return the same number for the same point, got {value} and "
                f"{again}; leave the noise out of the function and give its law as noise=..."
            )


def name_of(function: Callable[..., Any]) -> str:
    """Return the name that a function was defined with; "function" where it has none."""
    name = getattr(function, "__name__", type(function).__name__)
    return "function" if name == "<lambda>" else str(name)


def scale_rows(domain: Box | MixedBox, rows: Array) -> Array:
    """Scale every coordinate to [0, 1] over the domain, except those of categories."""
    low, high = np.array(domain.lower), np.array(domain.upper)
    if isinstance(domain, MixedBox):
        for variable, place in domain.blocks:
            if isinstance(variable, Category):
                low[place], high[place] = 0.0, 1.0
    unit: Array = (rows - low) / (high - low)
    return unit


def write_point(point: Any) -> str:
    return str(point.tolist()) if isinstance(point, np.ndarray) else repr(point)
