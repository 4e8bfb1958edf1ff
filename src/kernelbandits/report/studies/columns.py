"""The posterior over one column after the other, with the slice through the likely best."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import Margins
from kernelbandits.checks import Array, Indices
from kernelbandits.report.studies.marks import is_long, markers, name_across, positions
from kernelbandits.report.studies.rounds import BLACK, BLUE, CROWD, INTERVAL, MANY
from kernelbandits.report.studies.sheets import Drawing, brief, legend_above
from kernelbandits.report.studies.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEVERAL = 6
"""Columns that are drawn."""
THROUGH = "through the likely best, 95 % interval"
GREY = "#9AA5B1"


def by_column(view: View) -> Drawing:
    columns = view.columns[:SEVERAL]
    more = (
        f" Of {len(view.columns)} columns the first {SEVERAL} are drawn."
        if len(view.columns) > SEVERAL
        else ""
    )
    sliced = any(len(slice_of(view, name)) > 1 for name in columns)
    blue = f" In blue those that differ from the likely best in this column only, with {INTERVAL}."
    caption = (
        f"The estimates of {view.target} at all candidates, over one column at a time (grey); crosses are averages of "
        f"results.{blue if sliced else ''}{more}"
    )
    across = min(3, len(columns))
    rows = -(-len(columns) // across)
    below = 1.15 if any(is_long(view, name) for name in columns) else 0.55
    margins = Margins(left=0.85, below=below, above=0.2, right=0.12, head=0.35)
    height = rows * (2.0 + margins.above + margins.below) + margins.head
    draw = partial(draw_columns, view, columns)
    return Drawing(
        "Posterior by column", caption, height, draw, rows=rows, columns=across, margins=margins
    )


def draw_columns(view: View, columns: tuple[str, ...], part: Any, grid: Any) -> None:
    axes = list(grid.flat)
    for number, (axis, column) in enumerate(zip(axes, columns, strict=False)):
        draw_column(axis, view, column)
        axis.set_xlabel(brief(column, 24))
        if number % grid.shape[1] == 0:
            axis.set_ylabel(brief(view.target, 22))
    for axis in axes[len(columns) :]:
        axis.set_axis_off()
    legend_above(part, axes[: len(columns)], 6)


def draw_column(axis: Axes, view: View, column: str) -> None:
    held, x = view.beliefs, positions(view, column)
    name_across(axis, view, column)
    draw_all(axis, view, x)
    along = slice_of(view, column)
    if len(along) > 1:
        order = along[np.argsort(x[along])]
        look: Any = {"ms": 4, "lw": 1, "color": BLUE, "elinewidth": 1.4}
        axis.errorbar(
            x[order], held.mean[order], yerr=held.bars(order), fmt="o-", label=THROUGH, **look
        )
    for marks, style in markers(view):
        axis.plot(x[marks], held.mean[marks], ls="none", **{**style, "ms": 0.8 * style["ms"]})


def draw_all(axis: Axes, view: View, x: Array) -> None:
    """Every estimate, and the averages of what was measured."""
    held, measured = view.beliefs, np.flatnonzero(view.beliefs.results)
    look: Any = {"s": 10 if len(held) > CROWD else 18, "color": GREY, "alpha": 0.6, "linewidths": 0}
    axis.scatter(x, held.mean, rasterized=len(held) > MANY, label="estimate", **look)
    if len(measured):
        crosses: Any = {
            "color": BLACK,
            "ms": 4,
            "label": "average of results",
            "rasterized": len(measured) > MANY,
        }
        axis.plot(x[measured], held.average[measured], "x", **crosses)


def slice_of(view: View, column: str) -> Indices:
    """Places of the candidates that equal the likely best in all other columns."""
    if view.best is None:
        return np.array([], dtype=np.int64)
    same = np.ones(len(view.beliefs), dtype=np.bool_)
    for name in view.columns:
        if name != column:
            texts = np.array(view.texts(name))
            same &= texts == texts[view.best]
    return np.flatnonzero(same)
