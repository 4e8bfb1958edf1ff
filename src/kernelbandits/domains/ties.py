"""The arm with the largest index, and how ties are resolved."""

from __future__ import annotations

import math

from kernelbandits.checks import Array, Indices

TIES = ("random", "lowest")
"""How a policy resolves ties."""
# Equal arms get indices that differ by rounding, and the two engines round differently. Without a
# tolerance rounding would decide, always for the same arm.
TIE_TOLERANCE = 1e-12
"""Indices this close, relative to max(1, |best|), are tied."""


def tied_arms(index: Array) -> Indices:
    """Return the arms within 1e-12 max(1, |best|) of the largest index, in order.

    >>> import numpy as np
    >>> from kernelbandits.domains import tied_arms
    >>> tied_arms(np.array([0.1, 0.7, 0.7 - 1e-15]))
    array([1, 2])
    """
    best = float(index[index.argmax()])
    if not -math.inf < best < math.inf:
        raise ValueError(
            f"the best arm needs finite indices, got {best}; "
            "policy.posterior.audit() rebuilds a damaged state"
        )
    return (index >= best - TIE_TOLERANCE * max(1.0, abs(best))).nonzero()[0]


def argmax(index: Array, ties: str, u: float) -> int:
    """Return the arm with the largest index.

    With ties="random" the uniform number u chooses among tied arms; with "lowest" the first wins.

    >>> import numpy as np
    >>> from kernelbandits.domains import argmax
    >>> index = np.array([0.3, 0.9, 0.9])
    >>> argmax(index, "random", 0.6), argmax(index, "lowest", 0.6)
    (2, 1)
    """
    best = tied_arms(index)
    if len(best) == 1 or ties == "lowest":
        return int(best[0])
    return int(best[int(u * len(best))])
