"""The best of finitely many indices, and who wins a tie."""

from __future__ import annotations

import math

from kernelbandits.checks import Array, Indices

TIES = ("random", "lowest")
TIE_TOLERANCE = 1e-12


def tied(index: Array) -> Indices:
    """The arms within 1e-12 max(1, |best|) of the best index, in order."""
    best = float(index[index.argmax()])
    if not -math.inf < best < math.inf:
        raise ValueError(
            f"the best arm needs finite indices, got {best}; policy.posterior.audit() rebuilds a damaged state"
        )
    return (index >= best - TIE_TOLERANCE * max(1.0, abs(best))).nonzero()[0]


def argmax(index: Array, ties: str, u: float) -> int:
    """The arm with the greatest index; the uniform u settles a tie, or the lowest arm wins it."""
    best = tied(index)
    if len(best) == 1 or ties == "lowest":
        return int(best[0])
    return int(best[int(u * len(best))])
