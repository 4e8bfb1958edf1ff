"""The partial dependence of the estimate on each column: a panel with a band for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import Margins
from kernelbandits.insight.dependence import BAND
from kernelbandits.report.studies.columns import is_long, label_x_axis, positions, widen_range
from kernelbandits.report.studies.curves import BLUE, GREEN, ORANGE
from kernelbandits.report.studies.sheets import (
    QUIET,
    Drawing,
    empty_drawing,
    legend_above,
    shorten,
    write_plain_ticks,
)
from kernelbandits.report.studies.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernelbandits.insight import PartialDependence

TITLE = "Partial dependence"
SPACE = 0.04
"""Space at both ends of an axis, as a share of its range."""
ACROSS = 3
"""Panels beside each other."""


def dependence(view: View) -> list[Drawing]:
    """Return one panel for each of the most relevant columns."""
    check = view.check
    if check.by_similarity:
        why = "The model sees the similarity of candidates, and no columns."
        return [empty_drawing(TITLE, why)]
    if not check.dependence:
        return [empty_drawing(TITLE, check.sentences[0])]
    more = len(check.columns) - len(check.dependence)
    noun = view.column_noun
    left_out = f" The {more} {noun}s that matter least are not drawn." if more > 0 else ""
    caution = (
        " The model predicts held-out results badly: do not rely on these curves yet."
        if check.verdict == "poor"
        else ""
    )
    caption = (
        f"The estimate of {view.target} at each value of a {noun}, averaged over the other {noun}s "
        f"(line), and {BAND} (band; bars for choices). The {noun}s that matter most come first, "
        "with their share of the variance of the estimates. All panels have the same scale. The "
        f"marks at the bottom are the values that were measured.{left_out}{caution}"
    )
    names = [one.name for one in check.dependence]
    across = min(ACROSS, max(2, len(names)))
    rows = -(-len(names) // across)
    below = 1.15 if any(is_long(view, name) for name in names) else 0.6
    margins = Margins(left=0.9, below=below, above=0.3, right=0.2, head=0.35)
    height = rows * (1.9 + margins.above + margins.below) + margins.head
    draw = partial(draw_dependence, view)
    return [Drawing(TITLE, caption, height, draw, rows=rows, columns=across, margins=margins)]


def draw_dependence(view: View, part: Any, grid: Any) -> None:
    axes, curves = list(grid.flat), view.check.dependence
    shares = {one.column: one.share for one in view.check.columns}
    low = min(min(one.low) for one in curves)
    high = max(max(one.high) for one in curves)
    space = 0.08 * (high - low) or 1.0
    for number, (axis, curve) in enumerate(zip(axes, curves, strict=False)):
        axis.set_ylim(low - 1.5 * space, high + space)
        draw_curve(axis, view, curve)
        name = shorten(curve.name, 24)
        axis.set_xlabel(f"{name} (log scale)" if curve.log else name)
        axis.set_title(
            f"share {100 * shares[curve.name]:.0f} %", fontsize=10, loc="right", color=QUIET
        )
        write_plain_ticks(axis.yaxis)
        if number % grid.shape[1] == 0:
            axis.set_ylabel(shorten(view.target, 22))
    for axis in axes[len(curves) :]:
        axis.set_axis_off()
    legend_above(part, axes[: len(curves)], 6)


def show_range(axis: Axes, view: View, name: str) -> None:
    """Show the whole range of a column of numbers, with a little space at both ends."""
    axis.set_xlim(*widen_range(view, name, *view.span(name), SPACE))


def draw_curve(axis: Axes, view: View, curve: PartialDependence) -> None:
    """Draw the band of one column, and where the likely best and pending candidates lie."""
    label_x_axis(axis, view, curve.name)
    if curve.is_number:
        show_range(axis, view, curve.name)
        values = np.array(curve.values, dtype=float)
        axis.plot(values, curve.mean, color=BLUE, lw=1.8, label="average estimate")
        axis.fill_between(values, curve.low, curve.high, color=BLUE, alpha=0.18, lw=0)
    else:
        levels = view.levels(curve.name)
        values = np.array([levels.index(str(value)) for value in curve.values], dtype=float)
        reach = np.subtract(curve.high, curve.low)
        axis.bar(values, reach, bottom=curve.low, width=0.6, color=BLUE, alpha=0.18, lw=0)
        axis.hlines(curve.mean, values - 0.3, values + 0.3, color=BLUE, lw=1.8)
    where = positions(view, curve.name)
    measured = where[np.flatnonzero(view.estimates.results)]
    foot: Any = {"transform": axis.get_xaxis_transform(), "clip_on": False}
    axis.plot(measured, np.full(len(measured), 0.03), "|", color=QUIET, ms=6, mew=0.8, **foot)
    # The wide line shows on both sides of the narrow one where both have the same value.
    wide: Any = {"color": GREEN, "lw": 4, "alpha": 0.4, "label": "pending", "zorder": 1}
    for place in view.pending[:1]:
        axis.axvline(where[place], **wide)
    if view.explanation is not None:
        explained = view.place_of(view.explanation.row, view.explanation.x)
        dotted: Any = {"color": QUIET, "lw": 1.4, "ls": ":", "zorder": 1}
        axis.axvline(where[explained], label=f"trial {view.explanation.trial}", **dotted)
    if view.best is not None:
        narrow: Any = {"color": ORANGE, "lw": 1.4, "ls": (0, (5, 2)), "label": "likely best"}
        axis.axvline(where[view.best], zorder=1, **narrow)
