"""A map of the estimate and its standard deviation over the two columns that matter most."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import Margins
from kernelbandits.checks import Array
from kernelbandits.report.studies.columns import (
    is_long,
    label_x_axis,
    label_y_axis,
    mark_measured,
    positions,
    widen_range,
)
from kernelbandits.report.studies.sheets import (
    SURE,
    Drawing,
    colours_of_estimates,
    legend_above,
    shorten,
    write_plain_ticks,
)
from kernelbandits.report.studies.view import View
from kernelbandits.study.dependence import EstimateMap
from kernelbandits.study.words import describe_point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPACE = 0.03
"""Space around a map, as a share of its sides."""
MAPS = Margins(left=0.95, below=0.6, above=0.3, right=0.85, head=0.35)


def estimate_map(view: View, found: EstimateMap, *, chosen: bool = False) -> Drawing:
    """Return the map of the estimate, and beside it that of its standard deviation.

    `chosen` says that somebody chose the two columns, and not their relevance.
    """
    which = f"the two {view.column_noun}s that matter most"
    if chosen or not view.check.columns:
        which = f"two {view.column_noun}s"
    fixed = f", at {describe_point(found.fixed)}" if found.fixed else ""
    others = "" if not found.fixed else " (the values of the likely best)"
    names = " and ".join(found.shared)
    makes = "makes" if len(found.shared) == 1 else "make"
    shared = f" {names} {makes} up for them, so that the given sums hold." if found.shared else ""
    if np.isnan(found.mean).any():
        shared += " What is forbidden is left blank."
    elsewhere = (
        f" They may differ from these values in the other {view.column_noun}s."
        if found.fixed
        else ""
    )
    caption = (
        f"Estimate of {view.target} (left) and its standard deviation (right) over {which}, "
        f"{found.across} and {found.up}{fixed}{others}.{shared} Bright is good in the "
        f"map of the estimate. Black rings are measured "
        f"{view.noun}s.{elsewhere}"
    )
    left = 1.6 if view.candidates.column_types[found.up] == "category" else MAPS.left
    below = 1.15 if is_long(view, found.across) else MAPS.below
    margins = replace(MAPS, left=left, below=below)
    draw = partial(draw_maps, view, found)
    return Drawing("Map of the estimate", caption, 4.3, draw, columns=2, margins=margins)


def draw_maps(view: View, found: EstimateMap, part: Any, grid: Any) -> None:
    axes = list(grid.flat)
    for axis, values, title, colours in (
        (
            axes[0],
            found.mean,
            f"{shorten(view.target, 18)}, estimate",
            colours_of_estimates(view.sign),
        ),
        (axes[1], found.sd, "its uncertainty (±)", SURE),
    ):
        label_x_axis(axis, view, found.across)
        label_y_axis(axis, view, found.up)
        shown = draw_cells(axis, view, found, values, colours)
        bar = part.colorbar(shown, ax=axis, fraction=0.05, pad=0.02)
        bar.outline.set_visible(False)
        write_plain_ticks(bar.ax.yaxis)
        mark_measured(axis, view, positions(view, found.across), positions(view, found.up))
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_xlabel(name_axis(view, found.across, 44))
        axis.grid(False)
        keep_space(axis, view, found)
    axes[0].set_ylabel(name_axis(view, found.up, 34))
    legend_above(part, axes, 6)


def name_axis(view: View, name: str, letters: int) -> str:
    shown = shorten(name, letters)
    return f"{shown} (log scale)" if name in view.candidates.log else shown


def draw_cells(axis: Axes, view: View, found: EstimateMap, values: Array, colours: str) -> Any:
    """Draw one cell for each pair of values; numbers and choices have axes of their own."""
    x = cell_edges(view, found.across, found.across_values)
    y = cell_edges(view, found.up, found.up_values)
    columns = place_values(view, found.across, found.across_values)
    rows = place_values(view, found.up, found.up_values)
    whole = np.full((len(y) - 1, len(x) - 1), np.nan)
    whole[np.ix_(rows, columns)] = values
    masked = np.ma.masked_invalid(whole)
    return axis.pcolormesh(x, y, masked, cmap=colours, rasterized=True, zorder=1)


def keep_space(axis: Axes, view: View, found: EstimateMap) -> None:
    """Leave space for marks at the edges of a map."""
    for name, interval, scale in (
        (found.across, axis.viewLim.intervalx, axis.set_xlim),
        (found.up, axis.viewLim.intervaly, axis.set_ylim),
    ):
        if view.candidates.column_types[name] == "number":
            low, high = (float(end) for end in interval)
            scale(*widen_range(view, name, low, high, SPACE))


def place_values(view: View, name: str, values: tuple[Any, ...]) -> list[int]:
    """Return the number of the cell of each value: a choice may have marks at other values too."""
    if view.candidates.column_types[name] == "number":
        return list(range(len(values)))
    levels = view.levels(name)
    return [levels.index(str(value)) for value in values]


def cell_edges(view: View, name: str, values: tuple[Any, ...]) -> Array:
    """Return the edges between neighbouring values, halfway on the scale of the axis."""
    if view.candidates.column_types[name] == "category":
        return np.asarray(np.arange(len(view.levels(name)) + 1) - 0.5, dtype=np.float64)
    centres = np.array(values, dtype=float)
    log = name in view.candidates.log
    if len(centres) == 1:
        return np.array(widen_range(view, name, *view.span(name), SPACE))
    scaled = np.log(centres) if log else centres
    middle = (scaled[1:] + scaled[:-1]) / 2
    first, last = scaled[0] - (middle[0] - scaled[0]), scaled[-1] + (scaled[-1] - middle[-1])
    edges = np.concatenate([[first], middle, [last]])
    return np.asarray(np.exp(edges) if log else edges, dtype=np.float64)
