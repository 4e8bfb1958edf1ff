"""One line of the table: what was measured, its goal, and whether the goal was reached."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SIGNS = {"<": operator.lt, "<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True)
class Goal:
    sign: str
    bound: float

    def is_reached(self, value: float) -> bool:
        return bool(SIGNS[self.sign](value, self.bound))


@dataclass(frozen=True)
class Row:
    what: str
    value: float | None
    """None where it could not be measured; the note says why."""
    unit: str
    goal: Goal | None = None
    note: str = ""
    details: Mapping[str, float] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        if self.goal is None or self.value is None:
            return "-"
        return "yes" if self.goal.is_reached(self.value) else "NO"

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """What, measured, goal, reached, note."""
        value = "-" if self.value is None else quantity(self.value, self.unit)
        goal = f"{self.goal.sign} {quantity(self.goal.bound, self.unit)}" if self.goal else "-"
        return self.what, value, goal, self.verdict, self.note

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"details": dict(self.details), "reached": self.verdict}


def quantity(value: float, unit: str) -> str:
    """Three digits and the unit: 0.98 x, 12.3 us, 58 200 x."""
    if value >= 100:
        digits = 3 - len(str(int(value)))
        return f"{round(value, digits):,.0f} {unit}".replace(",", " ").rstrip()
    return f"{value:.3g} {unit}".rstrip()
