"""The power transformation of Yeo and Johnson (2000), by which skewed rewards become less skewed.

    w(u) = ((1 + u)^s - 1) / s                 for u >= 0   (ln(1 + u) for s = 0),
    w(u) = -((1 - u)^(2 - s) - 1) / (2 - s)    for u < 0    (-ln(1 - u) for s = 2)

is increasing and smooth, with w(0) = 0 and w'(0) = 1. The shape s = 1 changes nothing. A smaller
shape draws large rewards together and small ones apart, which suits rewards of which few are large;
a larger one does the opposite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits.checks import Array

LEAST_EXPONENT = 1e-9
"""A smaller exponent counts as 0: the power becomes a logarithm."""
LARGEST_LOG = 300.0
"""The inverse of a logarithm is not followed beyond e^300."""


def transform_power(u: Any, shape: float) -> Array:
    """Return w(u)."""
    given = np.asarray(u, dtype=np.float64)
    logs = np.log1p(np.abs(given))
    above, below = raise_powers(logs, shape), raise_powers(logs, 2 - shape)
    return np.where(given >= 0, above, -below)


def invert_power(w: Any, shape: float) -> Array:
    """Return u with w(u) = w; every number is a value of w for shapes in [0, 2]."""
    given = np.asarray(w, dtype=np.float64)
    size = np.abs(given)
    above, below = undo_powers(size, shape), undo_powers(size, 2 - shape)
    return np.where(given >= 0, above, -below)


def log_slope(u: Any, shape: float) -> Array:
    """Return ln w'(u) = (s - 1) ln(1 + |u|) for u >= 0, and (1 - s) ln(1 + |u|) below."""
    given = np.asarray(u, dtype=np.float64)
    return np.where(given >= 0, shape - 1, 1 - shape) * np.log1p(np.abs(given))


def raise_powers(logs: Array, exponent: float) -> Array:
    """Return ((1 + a)^exponent - 1) / exponent, given ln(1 + a)."""
    if exponent < LEAST_EXPONENT:
        return logs
    return np.expm1(np.minimum(exponent * logs, LARGEST_LOG)) / exponent


def undo_powers(size: Array, exponent: float) -> Array:
    """Return a with ((1 + a)^exponent - 1) / exponent = size."""
    logs = size if exponent < LEAST_EXPONENT else np.log1p(exponent * size) / exponent
    return np.expm1(np.minimum(logs, LARGEST_LOG))
