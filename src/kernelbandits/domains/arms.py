"""A finite list of arms."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice


@dataclass(frozen=True, eq=False)
class Arms:
    """A finite list of n arms, the rows of an (n, d) array.

    Policies accept the array itself too. The points are copied and cannot be written to. Rows that
    repeat another row are accepted with a notice.

    >>> from kernelbandits import Arms
    >>> arms = Arms([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    >>> arms
    Arms(3 points in 2 dimensions)
    >>> arms.points[1]
    array([0.5, 0.5])
    >>> Arms([1.0, 2.0])
    Traceback (most recent call last):
    ...
    ValueError: Arms needs an (n, d) array, got shape (2,); pass points[:, None] for one column
    """

    points: Array
    """One row for each arm."""
    origin: str = ""
    """What the arms represent if they are not everything, for example a cover of a box."""

    def __init__(self, points: Any, origin: str = "") -> None:
        rows = checks.points("Arms", points)
        rows.flags.writeable = False
        object.__setattr__(self, "points", rows)
        object.__setattr__(self, "origin", origin)
        # Adding 0.0 turns -0.0 into 0.0, which has other bytes but is the same point.
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
        """The number of coordinates of a point."""
        return int(self.points.shape[1])
