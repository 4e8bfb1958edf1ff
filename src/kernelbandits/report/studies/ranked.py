"""The best candidates as dots with intervals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import Margins
from kernelbandits.checks import Indices
from kernelbandits.report.studies.marks import markers
from kernelbandits.report.studies.rounds import BLACK, BLUE, INTERVAL
from kernelbandits.report.studies.sheets import (
    QUIET,
    Drawing,
    brief,
    legend_above,
    nothing,
    printable,
)
from kernelbandits.report.studies.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOP = 20
"""Candidates that are ranked."""
CALLED = 20
"""Letters of its label."""
ROW, LETTER = 0.23, 0.075
"""Inches that a candidate takes, and a letter of its name."""


def ranking(view: View) -> Drawing:
    if not view.beliefs.known:
        return nothing("Best candidates", "No estimate yet.")
    places = view.ranked[:TOP]
    names = ", ".join(printable(name) for name in view.columns) or "no column that differs"
    how = "highest" if view.sign > 0 else "lowest"
    unknown = (
        ""
        if view.beliefs.results.any()
        else " Nothing is known yet: these are the model's before any result."
    )
    caption = (
        f"The {how} estimates of {view.target}, {len(places)} of {len(view.ranked)} candidates (rows that are alike "
        f"count once), with {INTERVAL}; crosses are the averages of their results, at the right how many. "
        f"In brackets: {names}.{unknown}"
    )
    labels = [label_of(view, place) for place in places]
    left = 0.35 + LETTER * max(len(label) for label in labels)
    margins = Margins(left=left, below=0.55, above=0.3, right=0.85, head=0.3)
    height = ROW * max(len(places), 2) + margins.below + margins.above + margins.head
    draw = partial(draw_ranking, view, places, labels)
    return Drawing("Best candidates", caption, height, draw, margins=margins)


def label_of(view: View, place: int) -> str:
    row = int(view.beliefs.row[place])
    x = view.candidates.x(row)
    values = ", ".join(neat(x[name]) for name in view.columns)
    called = brief(view.called(row), CALLED)
    name = f"{called}, row {row}" if called else f"row {row}"
    return brief(f"{name} ({values})" if values else name, 44)


def neat(value: float | str) -> str:
    """A number in five digits, text as it is."""
    return value if isinstance(value, str) else f"{value:.5g}"


def draw_ranking(view: View, places: Indices, labels: list[str], part: Any, grid: Any) -> None:
    axis, held = grid[0, 0], view.beliefs
    heights = np.arange(len(places))
    look: Any = {"ms": 5, "color": BLUE, "elinewidth": 1.6, "label": "estimate, 95 % interval"}
    axis.errorbar(held.mean[places], heights, xerr=held.bars(places), fmt="o", **look)
    axis.plot(
        held.average[places],
        heights,
        "x",
        color=BLACK,
        ms=6,
        label="average of its results",
        zorder=4,
    )
    for marks, style in markers(view):
        shown = np.flatnonzero(np.isin(places, marks))
        axis.plot(held.mean[places[shown]], shown, ls="none", **{**style, "ms": 0.8 * style["ms"]})
    name_rows(axis, labels, [str(count) for count in held.results[places]])
    axis.set_xlabel(brief(view.target, 60))
    legend_above(part, [axis], 5)


def name_rows(axis: Axes, labels: list[str], counts: list[str]) -> None:
    axis.set_yticks(range(len(labels)), labels, fontsize=9)
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(len(labels) - 0.5, -0.5)
    where: Any = ("axes fraction", "data")
    for place, count in [(-0.9, "results"), *enumerate(counts)]:
        style: Any = {"va": "center", "ha": "center", "fontsize": 8.5, "color": QUIET}
        axis.annotate(count, (1.045, place), xycoords=where, annotation_clip=False, **style)
