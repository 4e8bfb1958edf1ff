"""The boxes: twelve test functions, cropped where the minimum would lie in the middle.

value = (worst - f(x)) / (worst - min f), worst the greatest f among 2^16 Sobol points
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits.problems import functions
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
    )
}
NAMES = tuple(FUNCTIONS)
