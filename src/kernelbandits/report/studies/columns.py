"""The posterior over columns: lines over one column of numbers, or one panel for each column."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import PALETTE, Margins
from kernelbandits.checks import Array, Indices
from kernelbandits.report.studies.curves import (
    BLACK,
    BLUE,
    CROWD,
    GREEN,
    INTERVAL,
    MANY,
    ORANGE,
    draw_dots,
)
from kernelbandits.report.studies.sheets import Drawing, legend_above, shorten
from kernelbandits.report.studies.view import View
from kernelbandits.study.values import table_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

MOST_NAMES = 12
"""With more values than this, a category has no names on its axis."""
NAME, LINE = 18, 16
"""The most letters of one name, and of all names that fit side by side below a panel."""
MOST_LINES = 6
"""The most lines that a reader can tell apart."""
MOST_BARS = 12
"""Up to this number of candidates each interval is a bar; above it they form a band."""
LINES = Margins(left=0.95, below=0.55, above=0.25, right=0.2, head=0.45)
MOST_COLUMNS = 6
"""The most columns that are drawn."""
MOST_TICKS = 5
"""The most ticks of a logarithmic axis."""
THROUGH = "through the likely best, 95 % interval"
GREY = "#9AA5B1"


def category_groups(view: View) -> dict[str, Indices]:
    """Return the places of the candidates of each combination of categories."""
    names = [name for name in view.columns if view.candidates.kinds[name] == "category"]
    cells = list(zip(*(view.texts(name) for name in names), strict=True)) or [()] * len(
        view.estimates
    )
    found: dict[str, list[int]] = {}
    for place, one in enumerate(cells):
        found.setdefault(", ".join(one), []).append(place)
    return {name: np.array(places) for name, places in found.items()}


def line(view: View, column: str) -> Drawing:
    caption = (
        f"The estimate of {view.target} over {column}, with {INTERVAL}. Only the candidates have "
        "an estimate: the lines between them are a guide to the eye. Dots are single results."
    )
    return Drawing("Posterior", caption, 3.9, partial(draw_line, view, column), margins=LINES)


def draw_line(view: View, column: str, part: Any, grid: Any) -> None:
    axis = grid[0, 0]
    x = view.numbers(column)
    label_x_axis(axis, view, column)
    groups = category_groups(view)
    for number, (name, places) in enumerate(groups.items()):
        known = places[np.isfinite(view.estimates.mean[places])]
        colour = BLUE if len(groups) == 1 else PALETTE[number]
        order = known[np.argsort(x[known])]
        draw_band(axis, view, x, order, colour, shorten(name, 20) or "estimate, 95 % interval")
        look = (
            {"color": BLACK, "label": "result"}
            if len(groups) == 1
            else {"color": colour, "label": None}
        )
        draw_single_results(axis, view, x, places, **look)
    for marks, style in markers(view):
        axis.plot(x[marks], view.estimates.mean[marks], ls="none", **style)
    axis.set_xlabel(shorten(column, 60))
    axis.set_ylabel(shorten(view.target))
    legend_above(part, [axis], 5)


def draw_single_results(
    axis: Axes, view: View, x: Array, places: Indices, color: str, label: str | None
) -> None:
    """Draw the single results of the candidates at these places."""
    results = view.estimates.member[view.trials.row]
    told = view.trials.has_result & np.isin(results, places)
    if told.any():
        draw_dots(axis, x[results[told]], view.trials.value[told], label, color=color)


def draw_band(axis: Axes, view: View, x: Array, order: Indices, colour: str, label: str) -> None:
    """Draw the intervals as bars at few candidates, as a band over many."""
    estimates = view.estimates
    if len(order) <= MOST_BARS:
        look: Any = {
            "ms": 5,
            "lw": 1,
            "elinewidth": 2,
            "capsize": 4,
            "color": colour,
            "label": label,
        }
        axis.errorbar(x[order], estimates.mean[order], yerr=estimates.bars(order), fmt="o-", **look)
    else:
        axis.plot(x[order], estimates.mean[order], color=colour, lw=1.8, label=label)
        axis.fill_between(
            x[order], estimates.low[order], estimates.high[order], color=colour, alpha=0.18, lw=0
        )


def column_panels(view: View) -> Drawing:
    columns = view.columns[:MOST_COLUMNS]
    more = (
        f" Only the first {MOST_COLUMNS} of {len(view.columns)} columns are drawn."
        if len(view.columns) > MOST_COLUMNS
        else ""
    )
    sliced = any(len(slice_places(view, name)) > 1 for name in columns)
    blue = (
        f" Blue points differ from the likely best in this column only; their bars show {INTERVAL}."
    )
    caption = (
        f"Each panel shows the estimates of {view.target} at all candidates (grey) over one "
        f"column. Crosses are averages of results.{blue if sliced else ''}{more}"
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
        axis.set_xlabel(shorten(column, 24))
        if number % grid.shape[1] == 0:
            axis.set_ylabel(shorten(view.target, 22))
    for axis in axes[len(columns) :]:
        axis.set_axis_off()
    legend_above(part, axes[: len(columns)], 6)


def draw_column(axis: Axes, view: View, column: str) -> None:
    estimates = view.estimates
    x = positions(view, column)
    label_x_axis(axis, view, column)
    draw_estimates(axis, view, x)
    along = slice_places(view, column)
    if len(along) > 1:
        order = along[np.argsort(x[along])]
        look: Any = {"ms": 4, "lw": 1, "color": BLUE, "elinewidth": 1.4}
        axis.errorbar(
            x[order],
            estimates.mean[order],
            yerr=estimates.bars(order),
            fmt="o-",
            label=THROUGH,
            **look,
        )
    for marks, style in markers(view):
        axis.plot(x[marks], estimates.mean[marks], ls="none", **{**style, "ms": 0.8 * style["ms"]})


def draw_estimates(axis: Axes, view: View, x: Array) -> None:
    """Draw the estimates of all candidates and the averages of their results."""
    estimates = view.estimates
    measured = np.flatnonzero(estimates.results)
    look: Any = {
        "s": 10 if len(estimates) > CROWD else 18,
        "color": GREY,
        "alpha": 0.6,
        "linewidths": 0,
    }
    axis.scatter(x, estimates.mean, rasterized=len(estimates) > MANY, label="estimate", **look)
    if len(measured):
        crosses: Any = {
            "color": BLACK,
            "ms": 4,
            "label": "average of results",
            "rasterized": len(measured) > MANY,
        }
        axis.plot(x[measured], estimates.average[measured], "x", **crosses)


def slice_places(view: View, column: str) -> Indices:
    """Return the places of the candidates that equal the likely best in all other columns."""
    if view.best is None:
        return np.array([], dtype=np.int64)
    same = np.ones(len(view.estimates), dtype=np.bool_)
    for name in view.columns:
        if name != column:
            texts = np.array(view.texts(name))
            same &= texts == texts[view.best]
    return np.flatnonzero(same)


def markers(view: View) -> Iterator[tuple[Indices, dict[str, Any]]]:
    """Yield the places and the marker style of pending, explained and likely best candidates."""
    if len(view.pending):
        look = {"marker": "D", "ms": 12, "mfc": "none", "mec": GREEN, "mew": 2, "zorder": 5}
        yield view.pending, {**look, "label": "pending"}
    if view.explanation is not None:
        place = view.estimates.member[[table_row(view.explanation.row)]]
        look = {"marker": "o", "ms": 18, "mfc": "none", "mec": ORANGE, "mew": 2, "zorder": 6}
        yield place, {**look, "label": f"trial {view.explanation.trial}"}
    if view.best is not None:
        look = {"marker": "*", "ms": 14, "mfc": ORANGE, "mec": "white", "mew": 1, "zorder": 7}
        yield np.array([view.best]), {**look, "label": "likely best"}


def positions(view: View, column: str) -> Array:
    """Return positions on an axis: numbers as they are, categories as 0, 1, 2 ... by first row."""
    if view.candidates.kinds[column] == "number":
        return view.numbers(column)
    place = {name: float(number) for number, name in enumerate(category_values(view, column))}
    return np.array([place[text] for text in view.texts(column)])


def category_values(view: View, column: str) -> list[str]:
    """Return the different values of a category in the order of the table."""
    return list(dict.fromkeys(view.texts(column)))


def tick_names(view: View, column: str) -> list[str]:
    """Return the tick labels of a category; none if it has too many values."""
    found = category_values(view, column)
    return [shorten(name, NAME) for name in found] if len(found) <= MOST_NAMES else []


def label_x_axis(axis: Axes, view: View, column: str) -> None:
    """Write the values of a category below the axis, rotated if they are long.

    The axis of a column that the model sees by its logarithms is logarithmic.
    """
    if column in view.candidates.log:
        axis.set_xscale("log")
        write_log_ticks(axis.xaxis, view.numbers(column))
    if view.candidates.kinds[column] == "category":
        names = tick_names(view, column)
        turned: Any = (
            {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
            if is_long(view, column)
            else {}
        )
        axis.set_xticks(range(len(names)), names, fontsize=8.5, **turned)
        axis.set_xlim(-0.5, len(category_values(view, column)) - 0.5)


def label_y_axis(axis: Axes, view: View, column: str) -> None:
    """Do the same at the left of the axis, where the names of a category are not rotated."""
    if column in view.candidates.log:
        axis.set_yscale("log")
        write_log_ticks(axis.yaxis, view.numbers(column))
    if view.candidates.kinds[column] == "category":
        names = tick_names(view, column)
        axis.set_yticks(range(len(names)), names, fontsize=8.5)
        axis.set_ylim(len(category_values(view, column)) - 0.5, -0.5)


def write_log_ticks(side: Axis, values: Array) -> None:
    """Write the ticks of a logarithmic axis as numbers: 0.01, 0.1, 1.

    By default matplotlib writes powers of ten as mathematics, which is switched off in figures of
    studies, because names of columns may hold dollars.
    """
    from matplotlib.ticker import NullLocator

    ticks = log_ticks(float(values.min()), float(values.max()))
    side.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    side.set_minor_locator(NullLocator())


def log_ticks(low: float, high: float) -> list[float]:
    """Choose few ticks from low to high: 1, 2 and 5 of each power of ten, 1 and 3, or some powers.

    Where there are not even two such ticks, they are the ends of the range.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for digits in ((1, 2, 5), (1, 3), (1,)):
        # A power of ten beyond the largest number is read as infinity, while 10.0**309 fails.
        known = [float(f"{digit}e{power}") for power in powers for digit in digits]
        ticks = [tick for tick in known if low <= tick <= high]
        if len(ticks) < MOST_TICKS:
            break
    return ticks[:: -(-len(ticks) // MOST_TICKS)] if len(ticks) > 1 else [low, high]


def is_long(view: View, column: str) -> bool:
    """Whether the names of a category do not fit side by side."""
    return (
        view.candidates.kinds[column] == "category"
        and sum(map(len, tick_names(view, column))) > LINE
    )
