"""Test functions to be minimised, in the forms of the Virtual Library of Simulation Experiments.

Surjanovic and Bingham, sfu.ca/~ssurjano. Each takes an (n, d) array in natural coordinates, and
gives n values.
"""

from __future__ import annotations

import math

import numpy as np

from kernelbandits.checks import Array


def holder_table(x: Array) -> Array:
    """Compute the Holder table function.

    f = -|sin(x1) cos(x2) exp(|1 - |x| / pi|)|
    """
    radius = np.hypot(x[:, 0], x[:, 1])
    f: Array = -np.abs(np.sin(x[:, 0]) * np.cos(x[:, 1])) * np.exp(np.abs(1 - radius / math.pi))
    return f


def cross_in_tray(x: Array) -> Array:
    """Compute the cross-in-tray function.

    f = -1e-4 (|sin(x1) sin(x2) exp(|100 - |x| / pi|)| + 1)^0.1
    """
    radius = np.hypot(x[:, 0], x[:, 1])
    waves = np.abs(np.sin(x[:, 0]) * np.sin(x[:, 1])) * np.exp(np.abs(100 - radius / math.pi))
    f: Array = -1e-4 * (waves + 1) ** 0.1
    return f


def ackley(x: Array) -> Array:
    """Compute Ackley's function.

    f = -20 exp(-0.2 sqrt(mean x_i^2)) - exp(mean cos(2 pi x_i)) + 20 + e
    """
    bowl = -20 * np.exp(-0.2 * np.sqrt((x**2).mean(1)))
    f: Array = bowl - np.exp(np.cos(2 * math.pi * x).mean(1)) + 20 + math.e
    return f


def hartmann(x: Array, rates: Array, peaks: Array) -> Array:
    """Compute Hartmann's function, a = (1, 1.2, 3, 3.2).

    f = -sum_i a_i exp(-sum_j A_ij (x_j - P_ij)^2)
    """
    exponents = (rates * (x[:, None, :] - peaks) ** 2).sum(2)
    f: Array = -np.exp(-exponents) @ np.array([1.0, 1.2, 3.0, 3.2])
    return f


def hartmann3(x: Array) -> Array:
    """Compute Hartmann's function with the 4 x 3 matrices A and P."""
    rates = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    peaks = [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
    return hartmann(x, rates, 1e-4 * np.array(peaks))


def hartmann6(x: Array) -> Array:
    """Compute Hartmann's function with the 4 x 6 matrices A and P."""
    rates = np.array(
        [
            [10, 3, 17, 3.5, 1.7, 8],
            [0.05, 10, 17, 0.1, 8, 14],
            [3, 3.5, 1.7, 10, 17, 8],
            [17, 8, 0.05, 10, 0.1, 14],
        ]
    )
    peaks = [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
    return hartmann(x, rates, 1e-4 * np.array(peaks))


def branin(x: Array) -> Array:
    """Compute Branin's function.

    f = (x2 - 5.1 x1^2 / (4 pi^2) + 5 x1 / pi - 6)^2 + 10 (1 - 1 / (8 pi)) cos(x1) + 10
    """
    valley = x[:, 1] - 5.1 / (4 * math.pi**2) * x[:, 0] ** 2 + 5 / math.pi * x[:, 0] - 6
    return valley**2 + 10 * (1 - 1 / (8 * math.pi)) * np.cos(x[:, 0]) + 10


def six_hump_camel(x: Array) -> Array:
    """Compute the six-hump camel function.

    f = (4 - 2.1 x1^2 + x1^4 / 3) x1^2 + x1 x2 + (-4 + 4 x2^2) x2^2
    """
    s, t = x[:, 0] ** 2, x[:, 1] ** 2
    return (4 - 2.1 * s + s**2 / 3) * s + x[:, 0] * x[:, 1] + (-4 + 4 * t) * t


def levy(x: Array) -> Array:
    """Compute Levy's function.

    f = sin^2(pi w_1) + sum_{i<d} (w_i - 1)^2 (1 + 10 sin^2(pi w_i + 1)) + last

    w = 1 + (x - 1) / 4 and last = (w_d - 1)^2 (1 + sin^2(2 pi w_d)).
    """
    w = 1 + (x - 1) / 4
    first, last = np.sin(math.pi * w[:, 0]) ** 2, w[:, -1]
    middle = ((w[:, :-1] - 1) ** 2 * (1 + 10 * np.sin(math.pi * w[:, :-1] + 1) ** 2)).sum(1)
    f: Array = first + middle + (last - 1) ** 2 * (1 + np.sin(2 * math.pi * last) ** 2)
    return f


def rosenbrock(x: Array) -> Array:
    """Compute Rosenbrock's function.

    f = sum_{i<d} 100 (x_{i+1} - x_i^2)^2 + (x_i - 1)^2
    """
    f: Array = (100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (x[:, :-1] - 1) ** 2).sum(1)
    return f
