"""The posterior over one column of numbers: a line with its band, one for each combination of categories."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import PALETTE, Margins
from kernelbandits.checks import Array, Indices
from kernelbandits.report.studies.marks import markers
from kernelbandits.report.studies.rounds import BLACK, BLUE, INTERVAL, dots
from kernelbandits.report.studies.sheets import Drawing, brief, legend_above
from kernelbandits.report.studies.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEVERAL = 6
"""Lines that can be told apart."""
FEW = 12
"""Candidates whose intervals are drawn one by one."""
LINES = Margins(left=0.95, below=0.55, above=0.25, right=0.2, head=0.45)


def groups(view: View) -> dict[str, Indices]:
    """Places of the candidates that share all their categories."""
    names = [name for name in view.columns if view.candidates.kinds[name] == "category"]
    cells = list(zip(*(view.texts(name) for name in names), strict=True)) or [()] * len(
        view.beliefs
    )
    found: dict[str, list[int]] = {}
    for place, one in enumerate(cells):
        found.setdefault(", ".join(one), []).append(place)
    return {name: np.array(places) for name, places in found.items()}


def line(view: View, column: str) -> Drawing:
    caption = (
        f"The estimate of {view.target} at the candidates, over {column}, and {INTERVAL}; between candidates the line "
        "only leads the eye. Dots are single results."
    )
    return Drawing("Posterior", caption, 3.9, partial(draw_line, view, column), margins=LINES)


def draw_line(view: View, column: str, part: Any, grid: Any) -> None:
    axis, x = grid[0, 0], view.numbers(column)
    parted = groups(view)
    for number, (name, places) in enumerate(parted.items()):
        known = places[np.isfinite(view.beliefs.mean[places])]
        colour = BLUE if len(parted) == 1 else PALETTE[number]
        order = known[np.argsort(x[known])]
        draw_band(axis, view, x, order, colour, brief(name, 20) or "estimate, 95 % interval")
        look = (
            {"color": BLACK, "label": "result"}
            if len(parted) == 1
            else {"color": colour, "label": None}
        )
        draw_told(axis, view, x, places, **look)
    for marks, style in markers(view):
        axis.plot(x[marks], view.beliefs.mean[marks], ls="none", **style)
    axis.set_xlabel(brief(column, 60))
    axis.set_ylabel(brief(view.target))
    legend_above(part, [axis], 5)


def draw_told(
    axis: Axes, view: View, x: Array, places: Indices, color: str, label: str | None
) -> None:
    """The single results of some candidates."""
    results = view.beliefs.member[view.trials.row]
    told = view.trials.stand & np.isin(results, places)
    if told.any():
        dots(axis, x[results[told]], view.trials.value[told], label, color=color)


def draw_band(axis: Axes, view: View, x: Array, order: Indices, colour: str, label: str) -> None:
    """Bars at few candidates, a band over many."""
    held = view.beliefs
    if len(order) <= FEW:
        look: Any = {
            "ms": 5,
            "lw": 1,
            "elinewidth": 2,
            "capsize": 4,
            "color": colour,
            "label": label,
        }
        axis.errorbar(x[order], held.mean[order], yerr=held.bars(order), fmt="o-", **look)
    else:
        axis.plot(x[order], held.mean[order], color=colour, lw=1.8, label=label)
        axis.fill_between(
            x[order], held.low[order], held.high[order], color=colour, alpha=0.18, lw=0
        )
