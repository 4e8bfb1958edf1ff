"""Axes for columns of numbers and text, marks of candidates, and lines over one column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
    draw_values,
)
from kernelbandits.report.studies.sheets import Drawing, legend_above, shorten, write_plain_ticks
from kernelbandits.report.studies.view import View

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
LINES = Margins(left=1.1, below=0.55, above=0.25, right=0.2, head=0.45)
LARGEST = 1e300
"""The ends of a logarithmic axis lie between this and its inverse, so that nothing overflows."""
MOST_TICKS = 5
"""The most ticks of a logarithmic axis."""


def category_groups(view: View) -> dict[str, Indices]:
    """Return the places of the candidates of each combination of categories."""
    names = [name for name in view.columns if view.candidates.column_types[name] == "category"]
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
        known = places[np.isfinite(view.estimates.mean[places]) & view.estimates.allowed[places]]
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
    write_plain_ticks(axis.yaxis)
    legend_above(part, [axis], 5)


def draw_single_results(
    axis: Axes, view: View, x: Array, places: Indices, color: str, label: str | None
) -> None:
    """Draw the single results of the candidates at these places."""
    results = view.estimates.member[view.trials.row]
    told = view.trials.has_result & np.isin(results, places)
    if told.any():
        sides = view.trials.beyond[told]
        draw_values(axis, x[results[told]], view.trials.value[told], sides, label, color=color)


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


def mark_measured(axis: Axes, view: View, x: Array, y: Array) -> None:
    """Draw the measured candidates as rings, and mark the pending ones and the likely best.

    x and y are where each candidate of the view stands.
    """
    measured = np.flatnonzero(view.estimates.results)
    if len(measured):
        look: Any = {
            "ms": 7 if len(measured) <= CROWD else 4,
            "mfc": "white",
            "mec": "black",
            "mew": 1.1,
            "alpha": 0.75,
            "label": "measured",
            "zorder": 4,
            "clip_on": False,
            "rasterized": len(measured) > MANY,
        }
        axis.plot(x[measured], y[measured], "o", **look)
    for marks, style in markers(view):
        axis.plot(x[marks], y[marks], ls="none", clip_on=False, **style)


def markers(view: View) -> Iterator[tuple[Indices, dict[str, Any]]]:
    """Yield the places and the marker style of pending, explained and likely best candidates."""
    if len(view.pending):
        look = {"marker": "D", "ms": 12, "mfc": "none", "mec": GREEN, "mew": 2, "zorder": 5}
        yield view.pending, {**look, "label": "pending"}
    if view.explanation is not None:
        place = np.array([view.place_of(view.explanation.row, view.explanation.x)])
        look = {"marker": "o", "ms": 18, "mfc": "none", "mec": ORANGE, "mew": 2, "zorder": 6}
        yield place, {**look, "label": f"trial {view.explanation.trial}"}
    if view.best is not None:
        # Hollow, so that it does not hide its own point and interval.
        look = {"marker": "s", "ms": 12, "mfc": "none", "mec": ORANGE, "mew": 2, "zorder": 7}
        yield np.array([view.best]), {**look, "label": "likely best"}


def positions(view: View, column: str) -> Array:
    """Return positions on an axis: numbers as they are, categories as 0, 1, 2 ... by first row.

    A value that figures do not show has none.
    """
    if view.candidates.column_types[column] == "number":
        return view.numbers(column)
    place = {name: float(number) for number, name in enumerate(view.levels(column))}
    return np.array([place.get(text, math.nan) for text in view.texts(column)])


def tick_names(view: View, column: str) -> list[str]:
    """Return the tick labels of a category; none if it has too many values."""
    found = view.levels(column)
    return [shorten(name, NAME) for name in found] if len(found) <= MOST_NAMES else []


def label_x_axis(axis: Axes, view: View, column: str) -> None:
    """Write the values of a category below the axis, rotated if they are long.

    The axis of a column that the model sees by its logarithms is logarithmic.
    """
    if column in view.candidates.log:
        axis.set_xscale("log")
        write_log_ticks(axis.xaxis, *view.span(column))
    elif view.candidates.column_types[column] == "number":
        write_plain_ticks(axis.xaxis)
    if view.candidates.column_types[column] == "category":
        names = tick_names(view, column)
        turned: Any = (
            {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
            if is_long(view, column)
            else {}
        )
        axis.set_xticks(range(len(names)), names, fontsize=8.5, **turned)
        axis.set_xlim(-0.5, len(view.levels(column)) - 0.5)


def label_y_axis(axis: Axes, view: View, column: str) -> None:
    """Do the same at the left of the axis, where the names of a category are not rotated."""
    if column in view.candidates.log:
        axis.set_yscale("log")
        write_log_ticks(axis.yaxis, *view.span(column))
    elif view.candidates.column_types[column] == "number":
        write_plain_ticks(axis.yaxis)
    if view.candidates.column_types[column] == "category":
        names = tick_names(view, column)
        axis.set_yticks(range(len(names)), names, fontsize=8.5)
        axis.set_ylim(len(view.levels(column)) - 0.5, -0.5)


def write_log_ticks(side: Axis, low: float, high: float) -> None:
    """Write the ticks of a logarithmic axis as numbers: 0.01, 0.1, 1.

    By default matplotlib writes powers of ten as mathematics, which is switched off in figures of
    studies, because names of columns may hold dollars.
    """
    from matplotlib.ticker import NullLocator

    ticks = log_ticks(low, high)
    side.set_ticks(ticks, name_ticks(ticks))
    side.set_minor_locator(NullLocator())


def name_ticks(ticks: Sequence[float]) -> list[str]:
    """Write the ticks of a logarithmic axis, either all with an exponent or none.

    >>> name_ticks([0.01, 0.1, 1.0]), name_ticks([1e-05, 0.001, 0.1])
    (['0.01', '0.1', '1'], ['1e-5', '1e-3', '1e-1'])
    """
    plain = [f"{tick:g}" for tick in ticks]
    digits = [f"{tick:.0e}".partition("e")[::2] for tick in ticks]
    short = [f"{digit}e{int(power)}" for digit, power in digits]
    exact = [float(text) for text in short] == [*ticks]
    return short if exact and any("e" in text for text in plain) else plain


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


def widen_range(view: View, column: str, low: float, high: float, share: float) -> list[float]:
    """Return the ends of an axis with some space on both sides of a range of numbers."""
    if column not in view.candidates.log:
        space = share * (high - low)
        return [low - space, high + space]
    factor = (high / low) ** share if high / low < LARGEST else 1.0
    return [max(low / factor, 1 / LARGEST), min(high * factor, LARGEST)]


def is_long(view: View, column: str) -> bool:
    """Tell whether the names of a category do not fit side by side."""
    return (
        view.candidates.column_types[column] == "category"
        and sum(map(len, tick_names(view, column))) > LINE
    )
