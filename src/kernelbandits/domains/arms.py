"""A finite set of arms."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice


@dataclass(frozen=True, eq=False)
class Arms:
    """A finite set of n arms, the rows of an (n, d) array."""

    points: Array
    origin: str = ""
    """What they stand for, where they are not the whole of it: a cover of a box."""

    def __init__(self, points: Any, origin: str = "") -> None:
        rows = checks.points("Arms", points)
        rows.flags.writeable = False
        object.__setattr__(self, "points", rows)
        object.__setattr__(self, "origin", origin)
        repeats = len(rows) - len({row.tobytes() for row in rows + 0.0})
        if repeats:
            warnings.warn(
                f"Arms: {repeats} of {len(rows)} points repeat another", DataNotice, stacklevel=2
            )

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"Arms({len(self)} points in {self.dimension} dimensions)"

    @property
    def dimension(self) -> int:
        return int(self.points.shape[1])
