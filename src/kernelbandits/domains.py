"""What may be chosen, and the best of it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice, Indices

TIES = ("random", "lowest")
TIE_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Arms:
    """A finite set of n arms, the rows of an (n, d) array."""

    points: Array

    def __init__(self, points: Any) -> None:
        rows = checks.points("Arms", points)
        rows.flags.writeable = False
        object.__setattr__(self, "points", rows)
        repeats = len(rows) - len({row.tobytes() for row in rows + 0.0})
        if repeats:
            warnings.warn(f"Arms: {repeats} of {len(rows)} points repeat another", DataNotice, stacklevel=2)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"Arms({len(self)} points in {self.dimension} dimensions)"

    @property
    def dimension(self) -> int:
        return int(self.points.shape[1])


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
