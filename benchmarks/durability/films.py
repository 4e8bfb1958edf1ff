"""What the studies of the experiments measure: a table of candidates, or a space.

The table has 94 perovskite films, or as many points of a simplex where the file is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import kernelbandits as kb

ROWS = 94


@dataclass(frozen=True)
class Table:
    cells: Any
    """Rows of numbers, or the description of a space: plain values, which a worker is sent."""
    name: str
    settings: dict[str, Any] = field(default_factory=lambda: {"seed": 7})

    @property
    def candidates(self) -> Any:
        """What a study is created with."""
        return read_candidates(self.cells)


def read_candidates(cells: Any) -> Any:
    """An array, or a space."""
    return kb.MixedBox.from_dict(cells) if isinstance(cells, dict) else np.array(cells)


def space() -> Table:
    """A recipe of six variables with one of each kind, and a constraint."""
    recipe = kb.MixedBox(
        {
            "rate": kb.Real(1e-5, 1e-1, log=True),
            "heat": kb.Real(20, 90, step=0.5),
            "A": kb.Real(0, 1),
            "B": kb.Real(0, 1),
            "cups": kb.Integer(1, 8),
            "solvent": kb.Category(("DMF", "DMSO", None)),
        },
        constraints=["A + B <= 1", "not (solvent == 'DMF' and heat > 60)"],
    )
    return Table(recipe.to_dict(), "a space of 6 variables")


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
