"""The candidates of the experiments.

94 perovskite films, or as many points of a simplex where the file is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

ROWS = 94


@dataclass(frozen=True)
class Table:
    cells: list[list[float]]
    name: str
    settings: dict[str, Any] = field(default_factory=lambda: {"seed": 7})


def films() -> Table:
    """Compositions (Cs, FA, MA)."""
    from kernelbandits.problems.perovskite import DataUnavailable, perovskite

    try:
        return Table(perovskite().table.domain.points.tolist(), "94 perovskite films")
    except DataUnavailable:
        return simplex()


def simplex(rows: int = ROWS) -> Table:
    points = np.random.default_rng(rows).dirichlet((1.0, 1.0, 1.0), rows)
    return Table(points.round(6).tolist(), f"{rows} points of a simplex")
