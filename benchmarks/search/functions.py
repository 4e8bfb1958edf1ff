"""The boxes: test functions, cropped or shifted where the minimum would lie in the middle.

value = (worst - f(x)) / (worst - min f), worst the greatest f among 2^16 Sobol points

On the twelve functions of `DEVELOPMENT` and the six of `MANY_DEVELOPMENT`, which have 10 to 30
variables, the default of the package was chosen. On the eight of `HELD_OUT` and the five of
`MANY_HELD_OUT` nothing was chosen, and nothing should be. Where f spans many decades, ln(1 + f) is
searched instead: otherwise almost every point would be within 1e-4 of the range.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits.problems import formulas, functions
from kernelbandits.problems.functions import TestFunction

Array = np.ndarray[Any, np.dtype[np.float64]]


def griewank(x: Array) -> Array:
    """f(x) = 1 + sum x_i^2 / 4000 - prod cos(x_i / sqrt(i))."""
    number = np.sqrt(np.arange(1, x.shape[1] + 1))
    value: Array = 1 + (x**2).sum(1) / 4000 - np.cos(x / number).prod(1)
    return value


def styblinski_tang(x: Array) -> Array:
    """f(x) = sum (x_i^4 - 16 x_i^2 + 5 x_i) / 2."""
    value: Array = 0.5 * (x**4 - 16 * x**2 + 5 * x).sum(1)
    return value


def michalewicz(x: Array) -> Array:
    """f(x) = -sum sin(x_i) sin(i x_i^2 / pi)^20."""
    number = np.arange(1, x.shape[1] + 1)
    value: Array = -(np.sin(x) * np.sin(number * x**2 / math.pi) ** 20).sum(1)
    return value


def log_goldstein_price(x: Array) -> Array:
    """ln f of Goldstein and Price, whose f spans six decades."""
    a, b = x.T
    first = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
    second = 30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    value: Array = np.log(first * second)
    return value


def cosine_mixture(x: Array) -> Array:
    """f(x) = sum x_i^2 - 0.1 sum cos(5 pi x_i)."""
    value: Array = (x**2).sum(1) - 0.1 * np.cos(5 * math.pi * x).sum(1)
    return value


def log_beale(x: Array) -> Array:
    """ln(1 + f), f(x) = sum (c_i - x_1 + x_1 x_2^i)^2, i = 1, 2, 3, c = (1.5, 2.25, 2.625)."""
    a, b = x.T
    value: Array = np.log1p(
        (1.5 - a + a * b) ** 2 + (2.25 - a + a * b**2) ** 2 + (2.625 - a + a * b**3) ** 2
    )
    return value


def mccormick(x: Array) -> Array:
    """f(x) = sin(x_1 + x_2) + (x_1 - x_2)^2 - 1.5 x_1 + 2.5 x_2 + 1."""
    a, b = x.T
    value: Array = np.sin(a + b) + (a - b) ** 2 - 1.5 * a + 2.5 * b + 1
    return value


def rastrigin(x: Array) -> Array:
    """f(x) = sum (x_i^2 - 10 cos(2 pi x_i) + 10)."""
    value: Array = (x**2 - 10 * np.cos(2 * math.pi * x) + 10).sum(1)
    return value


def alpine(x: Array) -> Array:
    """f(x) = -prod sqrt(x_i) sin(x_i), the second function of this name."""
    value: Array = -(np.sqrt(x) * np.sin(x)).prod(1)
    return value


def shekel7(x: Array) -> Array:
    """f(x) = -sum over j = 1, ..., 7 of 1 / (|x - c_j|^2 + b_j): seven wells in four dimensions."""
    wells = np.array(
        [
            [4, 4, 4, 4],
            [1, 1, 1, 1],
            [8, 8, 8, 8],
            [6, 6, 6, 6],
            [3, 7, 3, 7],
            [2, 9, 2, 9],
            [5, 3, 5, 3],
        ]
    )
    widths = np.array([0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3])
    value: Array = -(1 / (((x[:, None, :] - wells) ** 2).sum(2) + widths)).sum(1)
    return value


def log_colville(x: Array) -> Array:
    """ln(1 + f), f of Colville: two curved valleys that are coupled.

    f(x) = 100 (x_1^2 - x_2)^2 + (x_1 - 1)^2 + 90 (x_3^2 - x_4)^2 + (x_3 - 1)^2
           + 10.1 ((x_2 - 1)^2 + (x_4 - 1)^2) + 19.8 (x_2 - 1) (x_4 - 1)
    """
    a, b, c, d = x.T
    valleys = 100 * (a**2 - b) ** 2 + (a - 1) ** 2 + 90 * (c**2 - d) ** 2 + (c - 1) ** 2
    coupled = 10.1 * ((b - 1) ** 2 + (d - 1) ** 2) + 19.8 * (b - 1) * (d - 1)
    value: Array = np.log1p(valleys + coupled)
    return value


def log_zakharov(x: Array) -> Array:
    """ln(1 + f), f(x) = sum x_i^2 + s^2 + s^4, s = sum i x_i / 2."""
    weighted = 0.5 * x @ np.arange(1, x.shape[1] + 1)
    value: Array = np.log1p((x**2).sum(1) + weighted**2 + weighted**4)
    return value


def trid(x: Array) -> Array:
    """f(x) = sum (x_i - 1)^2 - sum x_i x_(i-1): a narrow bowl, least at x_i = i (d + 1 - i)."""
    value: Array = ((x - 1) ** 2).sum(1) - (x[:, 1:] * x[:, :-1]).sum(1)
    return value


def log_rosenbrock(x: Array) -> Array:
    """ln(1 + f), f of Rosenbrock: a curved valley."""
    value: Array = np.log1p(formulas.rosenbrock(x))
    return value


def log_dixon_price(x: Array) -> Array:
    """ln(1 + f), f(x) = (x_1 - 1)^2 + sum over i = 2, ..., d of i (2 x_i^2 - x_(i-1))^2."""
    number = np.arange(2, x.shape[1] + 1)
    rest = (number * (2 * x[:, 1:] ** 2 - x[:, :-1]) ** 2).sum(1)
    value: Array = np.log1p((x[:, 0] - 1) ** 2 + rest)
    return value


def rotated_ellipsoid(x: Array) -> Array:
    """f(x) = |W Q x|^2 with an orthogonal Q: a bowl whose axes are not those of the box.

    W = diag(10^((i - 1) / (d - 1))), so its longest axis is ten times its shortest one. Q has the
    entries sqrt(2 / (d + 1)) sin(i j pi / (d + 1)).
    """
    d = x.shape[1]
    number = np.arange(1, d + 1)
    rotation = math.sqrt(2 / (d + 1)) * np.sin(np.outer(number, number) * math.pi / (d + 1))
    value: Array = ((x @ rotation * 10 ** ((number - 1) / (d - 1))) ** 2).sum(1)
    return value


def shift(
    name: str, formula: Callable[[Array], Array], width: float, minimiser: tuple[float, ...]
) -> TestFunction:
    """The function on a cube of this width, with the minimiser at a random place in it.

    Each of its coordinates is 0.1 to 0.3 of the width away from the middle, on a random side.
    """
    d = len(minimiser)
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    away = generator.uniform(0.1, 0.3, d) * generator.choice([-1, 1], d)
    lower = np.array(minimiser) - width * (0.5 + away)
    return make_function(
        name, formula, tuple(lower.tolist()), tuple((lower + width).tolist()), minimiser
    )


def mirror(function: TestFunction) -> TestFunction:
    """The function with every second coordinate reversed: its minimiser is in no diagonal place."""
    signs = np.where(np.arange(function.dimension) % 2, -1.0, 1.0)

    def formula(x: Array) -> Array:
        return function.formula(x * signs)

    turned = tuple(tuple((signs * point).tolist()) for point in function.minimisers)
    return replace(function, formula=formula, minimisers=turned)


def embed(function: TestFunction, dimension: int) -> TestFunction:
    """The function of some of many variables, at random places; the others change nothing."""
    name = f"{function.name}-of-{dimension}"
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    places = generator.permutation(dimension)[: function.dimension]

    def formula(x: Array) -> Array:
        return function.formula(x[:, places])

    def place(values: Any, rest: float) -> tuple[float, ...]:
        row = np.full(dimension, rest)
        row[places] = values
        return tuple(row.tolist())

    lower, upper = place(function.lower, 0.0), place(function.upper, 1.0)
    minimisers = tuple(place(point, 0.5) for point in function.minimisers)
    return TestFunction(name, name, formula, lower, upper, minimisers, function.minimum)


def crop(function: TestFunction, lower: float | tuple[float, ...], upper: Any) -> TestFunction:
    """The function on a smaller box; minimisers outside it are left out."""
    d = function.dimension
    low = tuple(np.broadcast_to(np.asarray(lower, float), d).tolist())
    high = tuple(np.broadcast_to(np.asarray(upper, float), d).tolist())
    inside = tuple(
        point
        for point in function.minimisers
        if all(a <= x <= b for a, x, b in zip(low, point, high, strict=True))
    )
    return replace(function, lower=low, upper=high, minimisers=inside)


def make_function(
    name: str,
    formula: Any,
    lower: tuple[float, ...],
    upper: tuple[float, ...],
    minimiser: tuple[float, ...],
) -> TestFunction:
    minimum = float(formula(np.array([minimiser]))[0])
    return TestFunction(name, name, formula, lower, upper, (minimiser,), minimum)


STYBLINSKI = -2.9035340277711770951
"""The root of 4 x^3 - 32 x + 5 at which its term is least."""
ALPINE = 7.917052684666207
"""The root of sin(x) + 2 x cos(x) at which sqrt(x) sin(x) is greatest on [0, 10]."""
SHEKEL = (4.000572819251117, 3.9996062096096887)
"""The first and third, and the second and fourth coordinate, next to the centre of a well."""
FUNCTIONS = {
    function.name: function
    for function in (
        functions.branin(),
        crop(functions.six_hump_camel(), (-2.0, -1.0), (3.0, 2.0)),
        make_function(
            "log-goldstein-price", log_goldstein_price, (-1.5, -2.0), (2.0, 2.0), (0.0, -1.0)
        ),
        make_function(
            "michalewicz2",
            michalewicz,
            (0.5, 0.5),
            (math.pi, math.pi),
            (2.2029055201726, 1.5707963267949),
        ),
        functions.rosenbrock(3),
        functions.hartmann3(),
        crop(functions.ackley(3), -15.0, 25.0),
        make_function("griewank3", griewank, (-300.0,) * 3, (600.0,) * 3, (0.0,) * 3),
        make_function(
            "styblinski-tang4", styblinski_tang, (-5.0,) * 4, (5.0,) * 4, (STYBLINSKI,) * 4
        ),
        crop(functions.levy(4), -3.0, 10.0),
        functions.hartmann6(),
        make_function("cosine8", cosine_mixture, (-0.6,) * 8, (1.0,) * 8, (0.0,) * 8),
        make_function("log-beale", log_beale, (-4.5, -4.5), (4.5, 4.5), (3.0, 0.5)),
        make_function(
            "mccormick",
            mccormick,
            (-1.5, -3.0),
            (4.0, 4.0),
            (0.5 - math.pi / 3, -0.5 - math.pi / 3),
        ),
        make_function("rastrigin2", rastrigin, (-2.0, -2.0), (5.12, 5.12), (0.0, 0.0)),
        make_function("alpine3", alpine, (0.0,) * 3, (10.0,) * 3, (ALPINE,) * 3),
        make_function("shekel7", shekel7, (2.0,) * 4, (10.0,) * 4, SHEKEL * 2),
        make_function("log-colville", log_colville, (-3.0,) * 4, (10.0,) * 4, (1.0,) * 4),
        make_function("log-zakharov5", log_zakharov, (-5.0,) * 5, (10.0,) * 5, (0.0,) * 5),
        make_function("trid6", trid, (-36.0,) * 6, (36.0,) * 6, (6.0, 10.0, 12.0, 12.0, 10.0, 6.0)),
    )
}
FUNCTIONS |= {
    function.name: function
    for function in (
        shift("ackley20", formulas.ackley, 30.0, (0.0,) * 20),
        shift("levy10", formulas.levy, 20.0, (1.0,) * 10),
        shift("log-rosenbrock10", log_rosenbrock, 6.0, (1.0,) * 10),
        mirror(
            make_function(
                "styblinski-tang10", styblinski_tang, (-5.0,) * 10, (5.0,) * 10, (STYBLINSKI,) * 10
            )
        ),
        embed(FUNCTIONS["hartmann6"], 25),
        embed(FUNCTIONS["branin"], 30),
        shift("griewank20", griewank, 600.0, (0.0,) * 20),
        shift(
            "log-dixon-price12",
            log_dixon_price,
            6.0,
            tuple(2.0 ** -(1 - 2.0 ** (1 - i)) for i in range(1, 13)),
        ),
        shift("rotated-ellipsoid15", rotated_ellipsoid, 10.0, (0.0,) * 15),
        embed(FUNCTIONS["shekel7"], 24),
        embed(FUNCTIONS["mccormick"], 30),
    )
}
HELD_OUT = (
    "log-beale",
    "mccormick",
    "rastrigin2",
    "alpine3",
    "shekel7",
    "log-colville",
    "log-zakharov5",
    "trid6",
)
"""The functions that chose nothing."""
MANY_DEVELOPMENT = (
    "ackley20",
    "levy10",
    "log-rosenbrock10",
    "styblinski-tang10",
    "hartmann6-of-25",
    "branin-of-30",
)
"""The functions of many variables on which the default of the package was chosen."""
MANY_HELD_OUT = (
    "griewank20",
    "log-dixon-price12",
    "rotated-ellipsoid15",
    "shekel7-of-24",
    "mccormick-of-30",
)
"""The functions of many variables that chose nothing."""
NAMES = tuple(FUNCTIONS)
DEVELOPMENT = tuple(
    name for name in NAMES if name not in (*HELD_OUT, *MANY_DEVELOPMENT, *MANY_HELD_OUT)
)
"""The functions of few variables on which the default of the package was chosen."""
