"""Kernels as functions of r^2 together with their slopes, which share an exponential.

They are those of `kernels.stationary`, for code that needs value and slope of many pairs at once:
the marginal likelihood and the search on a box.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelbandits.checks import Array

Profile = Callable[[Array], tuple[Array, Array]]
"""r^2 -> k and -2 dk/d(r^2)."""


def rbf(squares: Array) -> tuple[Array, Array]:
    """k = exp(-r^2 / 2) and -2 dk/d(r^2) = k."""
    k = np.exp(-0.5 * squares)
    return k, k


def matern32(squares: Array) -> tuple[Array, Array]:
    """With a = sqrt(3) r: k = (1 + a) exp(-a) and -2 dk/d(r^2) = 3 exp(-a)."""
    a = np.sqrt(3.0 * squares)
    decay = np.exp(-a)
    return (1.0 + a) * decay, 3.0 * decay


def matern52(squares: Array) -> tuple[Array, Array]:
    """With a = sqrt(5) r: k = (1 + a + a^2/3) exp(-a), -2 dk/d(r^2) = (5/3) (1 + a) exp(-a)."""
    k = 5.0 * squares
    slope = np.sqrt(k)
    decay = np.negative(slope)
    np.exp(decay, out=decay)
    # In place, because new arrays would take as long as the exponential.
    slope += 1.0
    slope *= decay
    k *= decay
    k *= 1.0 / 3.0
    k += slope
    slope *= 5.0 / 3.0
    return k, slope
