"""Test functions that know their optimum, and problems made of random candidates in their boxes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.problems import formulas
from kernelbandits.problems.base import Instance, problem_generator, scale_to_unit
from kernelbandits.problems.noise import PAPER_NOISE, Noise
from kernelbandits.streams import Streams

Point = tuple[float, ...]


@dataclass(frozen=True)
class TestFunction:
    """A function f on a box, to be minimised; the reward is -f, so that the optimum is -min f.

    >>> from kernelbandits.problems import TestFunction
    >>> bowl = TestFunction(
    ...     "bowl", "Bowl", lambda x: (x**2).sum(1), (-1.0, -1.0), (1.0, 1.0), ((0.0, 0.0),), 0.0
    ... )
    >>> bowl([[0.5, 0.5]]), bowl.maximisers, bowl.natural([[0.5, 1.0]])
    (array([0.5]), ((0.0, 0.0),), array([[0., 1.]]))
    """

    __test__: ClassVar[bool] = False

    name: str
    """How it is called on a command line."""
    title: str
    """How it is called in tables and figures."""
    formula: Callable[[Array], Array] = field(repr=False)
    """f of an (n, d) array in natural coordinates."""
    lower: Point
    """The corner of the box with the least coordinates."""
    upper: Point
    """The corner of the box with the greatest coordinates."""
    minimisers: tuple[Point, ...]
    """All global minimisers in the box."""
    minimum: float
    """f at the minimisers."""

    def __post_init__(self) -> None:
        sides = len(self.lower) == len(self.upper) and bool(np.less(self.lower, self.upper).all())
        checks.needs(
            sides and self.dimension > 0, "TestFunction", "lower < upper", (self.lower, self.upper)
        )
        points = checks.points("TestFunction", self.minimisers)
        in_box = (
            points.shape[1] == self.dimension
            and ((self.lower <= points) & (points <= self.upper)).all()
        )
        checks.needs(bool(in_box), "TestFunction", "minimisers in the box", self.minimisers)
        error = float(np.abs(self.formula(points) - self.minimum).max())
        known = error <= 1e-9 * max(1.0, abs(self.minimum))
        checks.needs(
            known,
            "TestFunction",
            f"the minimum {self.minimum} at every minimiser",
            f"an error of {error}",
        )

    def __call__(self, x: Any) -> Array:
        """f(x) for n points in natural coordinates."""
        return self.formula(self._points(x))

    @property
    def dimension(self) -> int:
        return len(self.lower)

    @property
    def maximisers(self) -> tuple[Point, ...]:
        """Where the reward -f is greatest."""
        return self.minimisers

    @property
    def optimum(self) -> float:
        """max -f = -min f."""
        return -self.minimum

    def natural(self, points: Any) -> Array:
        """Map points of the unit cube to the box.

        x = lower + (upper - lower) z
        """
        unit = self._points(points)
        outside = unit[((unit < 0) | (unit > 1)).any(1)]
        checks.needs(len(outside) == 0, self.title, "points in the unit cube", outside[:1].tolist())
        x: Array = np.array(self.lower) + self._sides * unit
        return x

    def unit(self, x: Any) -> Array:
        """Map points of the box to the unit cube.

        z = (x - lower) / (upper - lower)
        """
        z: Array = (self._points(x) - np.array(self.lower)) / self._sides
        return z

    @property
    def _sides(self) -> Array:
        sides: Array = np.array(self.upper) - np.array(self.lower)
        return sides

    def _points(self, x: Any) -> Array:
        array = checks.points(self.title, x)
        checks.needs(
            array.shape[1] == self.dimension, self.title, f"{self.dimension} columns", array.shape
        )
        return array


@dataclass(frozen=True)
class SampledFunction:
    """A test function on random candidates: f(x_i) is minus the function, scaled to [0, 1].

    Every seed draws its own candidates, uniformly in the unit cube, which stands for the box of the
    function. Regret is against the best of the candidates, not of the box.

    >>> import kernelbandits as kb
    >>> problem = kb.problems.SampledFunction(kb.problems.branin(), candidates=30)
    >>> instance = problem.instance(kb.Streams(0))
    >>> instance.domain.points.shape, instance.optimum
    ((30, 2), 1.0)
    >>> problem.optimum == -kb.problems.branin().minimum
    True
    """

    function: TestFunction
    """The test function."""
    candidates: int = 50
    """How many arms each seed draws."""
    scale: bool = True
    """Whether rewards are scaled to [0, 1] over the candidates."""
    noise: Noise = PAPER_NOISE
    """The law of the noise that each reward has besides the value."""

    def __post_init__(self) -> None:
        checks.needs(
            isinstance(self.function, TestFunction),
            "SampledFunction",
            "a TestFunction",
            self.function,
        )
        checks.whole("SampledFunction", "candidates", self.candidates)
        checks.needs(isinstance(self.noise, Noise), "SampledFunction", "a noise law", self.noise)

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def title(self) -> str:
        return self.function.title

    @property
    def dimension(self) -> int:
        return self.function.dimension

    @property
    def optimum(self) -> float:
        """The greatest raw reward on the whole box; an instance knows that of its candidates."""
        return self.function.optimum

    @property
    def maximisers(self) -> tuple[Point, ...]:
        """Where on the unit cube the raw reward is greatest."""
        return tuple(
            tuple(float(z) for z in row) for row in self.function.unit(self.function.maximisers)
        )

    @property
    def description(self) -> str:
        scaling = ", min-max scaled over them" if self.scale else ""
        arms = f"{self.candidates} candidates a seed, uniform in the unit cube"
        return f"{arms}; rewards minus the function{scaling}"

    def reward(self, points: Any) -> Array:
        """Return the raw reward, minus the function, at points of the unit cube."""
        return -self.function(self.function.natural(points))

    def instance(self, streams: Streams) -> Instance:
        points = problem_generator(streams).random((self.candidates, self.dimension))
        rewards = self.reward(points)
        return Instance(
            self.name, Arms(points), scale_to_unit(rewards) if self.scale else rewards, self.noise
        )


def holder_table() -> TestFunction:
    """Return Holder table on [-10, 10]^2: many local minima, four global ones near the corners.

    >>> from kernelbandits.problems import holder_table
    >>> f = holder_table()
    >>> len(f.minimisers), f([[8.05502, 9.66459]]).round(4)
    (4, array([-19.2085]))
    """
    corners = mirror_point(8.055023475736563, 9.664590019241272)
    return function_on_cube(
        "holder-table", "Holder Table", formulas.holder_table, 10.0, corners, -19.208502567886732
    )


def cross_in_tray() -> TestFunction:
    """Return cross-in-tray on [-10, 10]^2: many local minima, four global ones near the middle.

    >>> from kernelbandits.problems import cross_in_tray
    >>> f = cross_in_tray()
    >>> [f([point]).round(5).item() for point in f.minimisers]
    [-2.06261, -2.06261, -2.06261, -2.06261]
    """
    corners = mirror_point(1.3494066171539107, 1.3494066171539107)
    return function_on_cube(
        "cross-in-tray", "Cross-in-Tray", formulas.cross_in_tray, 10.0, corners, -2.062611870822738
    )


def ackley(dimension: int = 4) -> TestFunction:
    """Return Ackley on [-32.768, 32.768]^d: almost flat and rippled, one narrow minimum at 0.

    >>> from kernelbandits.problems import ackley
    >>> f = ackley(2)
    >>> f([[0.0, 0.0], [1.0, 1.0], [30.0, 30.0]]).round(2)
    array([ 0.  ,  3.63, 19.95])
    """
    d = checks.whole("ackley", "dimension", dimension)
    return function_on_cube(f"ackley{d}", "Ackley", formulas.ackley, 32.768, ((0.0,) * d,), 0.0)


def hartmann(dimension: int = 6) -> TestFunction:
    """Return Hartmann on [0, 1]^d, d = 3 or 6: a few smooth valleys, one of them the deepest.

    >>> from kernelbandits.problems import hartmann
    >>> [(d, round(hartmann(d).minimum, 4)) for d in (3, 6)]
    [(3, -3.8628), (6, -3.3224)]
    """
    checks.needs(dimension in (3, 6), "hartmann", "dimension 3 or 6", dimension)
    return hartmann3() if dimension == 3 else hartmann6()


def hartmann3() -> TestFunction:
    peak = (0.11458887665506896, 0.5556488946169301, 0.8525469846866774)
    lower, upper = (0.0,) * 3, (1.0,) * 3
    title = "Hartmann (d = 3)"
    return TestFunction(
        "hartmann3", title, formulas.hartmann3, lower, upper, (peak,), -3.862779787332663
    )


def hartmann6() -> TestFunction:
    first = (0.20168951100670543, 0.15001069182345797, 0.47687397422189703)
    last = (0.2753324304940561, 0.31165161660011326, 0.6573005340656204)
    lower, upper = (0.0,) * 6, (1.0,) * 6
    title = "Hartmann (d = 6)"
    return TestFunction(
        "hartmann6", title, formulas.hartmann6, lower, upper, (first + last,), -3.322368011415515
    )


def branin() -> TestFunction:
    """Return Branin on [-5, 10] x [0, 15]: smooth, with three equal minima.

    >>> from kernelbandits.problems import branin
    >>> branin().lower, branin().upper
    ((-5.0, 0.0), (10.0, 15.0))
    >>> branin()([[3.141593, 2.275]]).round(4)
    array([0.3979])
    """
    valleys = (-math.pi, 12.275), (math.pi, 2.275), (3 * math.pi, 2.475)
    lower, upper, minimum = (-5.0, 0.0), (10.0, 15.0), 10 / (8 * math.pi)
    return TestFunction("branin", "Branin (d = 2)", formulas.branin, lower, upper, valleys, minimum)


def six_hump_camel() -> TestFunction:
    """Return six-hump camel on [-3, 3] x [-2, 2]: six local minima, two of them global.

    >>> from kernelbandits.problems import six_hump_camel
    >>> f = six_hump_camel()
    >>> f([[0.0898, -0.7126], [-0.0898, 0.7126], [1.7036, -0.7961]]).round(3)
    array([-1.032, -1.032, -0.215])
    """
    humps = (0.08984201310031807, -0.7126564030207396), (-0.08984201310031807, 0.7126564030207396)
    lower, upper, minimum = (-3.0, -2.0), (3.0, 2.0), -1.0316284534898774
    title = "Six-Hump Camel (d = 2)"
    return TestFunction(
        "six-hump-camel", title, formulas.six_hump_camel, lower, upper, humps, minimum
    )


def levy(dimension: int = 2) -> TestFunction:
    """Return Levy on [-10, 10]^d: a rippled bowl with its minimum at (1, ..., 1).

    >>> from kernelbandits.problems import levy
    >>> levy(4).minimisers, levy(2)([[1.0, 1.0], [2.0, 1.0]]).round(2)
    (((1.0, 1.0, 1.0, 1.0),), array([0.  , 1.16]))
    """
    d = checks.whole("levy", "dimension", dimension)
    return function_on_cube(f"levy{d}", "Levy", formulas.levy, 10.0, ((1.0,) * d,), 0.0)


def rosenbrock(dimension: int = 2) -> TestFunction:
    """Return Rosenbrock on [-5, 10]^d: a curved valley with its minimum at (1, ..., 1).

    >>> from kernelbandits.problems import rosenbrock
    >>> rosenbrock()([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    array([  0.,   1., 101.])
    """
    d = checks.whole("rosenbrock", "dimension", dimension, least=2)
    lower, upper, title = (-5.0,) * d, (10.0,) * d, f"Rosenbrock (d = {d})"
    return TestFunction(
        f"rosenbrock{d}", title, formulas.rosenbrock, lower, upper, ((1.0,) * d,), 0.0
    )


def function_on_cube(
    name: str,
    title: str,
    formula: Callable[[Array], Array],
    half_width: float,
    minimisers: tuple[Point, ...],
    minimum: float,
) -> TestFunction:
    """Return a test function on [-a, a]^d."""
    d = len(minimisers[0])
    lower, upper = (-half_width,) * d, (half_width,) * d
    return TestFunction(name, f"{title} (d = {d})", formula, lower, upper, minimisers, minimum)


def mirror_point(x: float, y: float) -> tuple[Point, ...]:
    """Return the four points (+-x, +-y)."""
    return tuple((i * x, j * y) for i, j in product((1.0, -1.0), repeat=2))
