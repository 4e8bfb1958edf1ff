"""How candidates look that stand out, and where those of a column stand on an axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.report.studies.rounds import GREEN, ORANGE
from kernelbandits.report.studies.sheets import brief
from kernelbandits.report.studies.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 12
"""Values of a category that are named."""
NAME, LINE = 18, 16
"""Letters of such a name that are shown, and those that fit side by side under a panel."""


def markers(view: View) -> Iterator[tuple[Indices, dict[str, Any]]]:
    """Places of candidates that stand out, and how they look."""
    if len(view.pending):
        look = {"marker": "D", "ms": 12, "mfc": "none", "mec": GREEN, "mew": 2, "zorder": 5}
        yield view.pending, {**look, "label": "pending"}
    if view.marked is not None:
        place = view.beliefs.member[[view.marked.row]]
        look = {"marker": "o", "ms": 18, "mfc": "none", "mec": ORANGE, "mew": 2, "zorder": 6}
        yield place, {**look, "label": f"trial {view.marked.trial}"}
    if view.best is not None:
        look = {"marker": "*", "ms": 14, "mfc": ORANGE, "mec": "white", "mew": 1, "zorder": 7}
        yield np.array([view.best]), {**look, "label": "likely best"}


def positions(view: View, column: str) -> Array:
    """Numbers as they are; categories side by side, in the order of the table."""
    if view.candidates.kinds[column] == "number":
        return view.numbers(column)
    place = {name: float(number) for number, name in enumerate(values(view, column))}
    return np.array([place[text] for text in view.texts(column)])


def values(view: View, column: str) -> list[str]:
    """The different ones of a category."""
    return list(dict.fromkeys(view.texts(column)))


def named(view: View, column: str) -> list[str]:
    """What stands beside an axis: the values of a category, where they are few."""
    found = values(view, column)
    return [brief(name, NAME) for name in found] if len(found) <= FEW else []


def name_across(axis: Axes, view: View, column: str) -> None:
    """The categories below an axis, turned where they are long."""
    if view.candidates.kinds[column] == "category":
        names = named(view, column)
        turned: Any = (
            {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
            if is_long(view, column)
            else {}
        )
        axis.set_xticks(range(len(names)), names, fontsize=8.5, **turned)
        axis.set_xlim(-0.5, len(values(view, column)) - 0.5)


def name_up(axis: Axes, view: View, column: str) -> None:
    if view.candidates.kinds[column] == "category":
        names = named(view, column)
        axis.set_yticks(range(len(names)), names, fontsize=8.5)
        axis.set_ylim(len(values(view, column)) - 0.5, -0.5)


def is_long(view: View, column: str) -> bool:
    """Whether the names of a category do not fit side by side."""
    return view.candidates.kinds[column] == "category" and sum(map(len, named(view, column))) > LINE
