"""The posterior over the candidates: the figures that suit their columns, and the best of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import Margins
from kernelbandits.checks import Indices
from kernelbandits.formatting import format_cell
from kernelbandits.report.studies.columns import (
    MOST_LINES,
    category_groups,
    line,
    markers,
)
from kernelbandits.report.studies.curves import BLACK, BLUE, INTERVAL
from kernelbandits.report.studies.maps import estimate_map
from kernelbandits.report.studies.sheets import (
    QUIET,
    Drawing,
    empty_drawing,
    legend_above,
    make_printable,
    shorten,
    write_plain_ticks,
)
from kernelbandits.report.studies.ternary import ternary_map
from kernelbandits.report.studies.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOP = 20
"""The most candidates that are shown."""
LABEL = 20
"""The most letters of a label."""
ROW, LETTER = 0.23, 0.075
"""Height of a candidate and width of a letter of its name, in inches."""


def posterior(view: View) -> Iterator[Drawing]:
    """Yield a line or a map, as the columns allow, and the best candidates in every case."""
    numbers = [name for name in view.columns if view.candidates.column_types[name] == "number"]
    if view.estimates.is_complete:
        single = len(numbers) == 1 and view.candidates.lists_all
        if single and len(category_groups(view)) <= MOST_LINES:
            yield line(view, numbers[0])
        elif view.map is not None:
            draw = estimate_map if view.map.total is None else ternary_map
            yield draw(view, view.map)
    yield ranking(view)


def ranking(view: View) -> Drawing:
    if not view.estimates.is_complete or not view.estimates.results.any():
        return empty_drawing(f"Best {view.noun}s", "No result yet.")
    places = view.ranking[:TOP]
    names = ", ".join(make_printable(name) for name in view.columns) or "no column that differs"
    how = "highest" if view.sign > 0 else "lowest"
    if not view.candidates.lists_all:
        among = f"{len(view.ranking)} points that were measured or are pending"
        labels, equal = f"The labels are the values of {names}.", ""
    else:
        among = f"{len(view.ranking)} candidates"
        labels, equal = f"In brackets: {names}.", " Equal rows count as one candidate."
    caption = (
        f"The {len(places)} {how} estimates of {view.target} among {among}, with {INTERVAL}."
        f"{equal} Crosses are averages of results. At the right: the number of results. "
        f"{labels}"
    )
    shown = [label_of(view, place) for place in places]
    left = 0.35 + LETTER * max(len(label) for label in shown)
    margins = Margins(left=left, below=0.55, above=0.3, right=0.85, head=0.3)
    height = ROW * max(len(places), 2) + margins.below + margins.above + margins.head
    draw = partial(draw_ranking, view, places, shown)
    return Drawing(f"Best {view.noun}s", caption, height, draw, margins=margins)


def label_of(view: View, place: int) -> str:
    row = int(view.estimates.row[place])
    x = view.candidates.x(row)
    values = ", ".join(format_cell(x[name]) for name in view.columns if name in x)
    if view.candidates.number(row) is None:
        return shorten(values, 44)
    name = shorten(view.candidates.name(row), LABEL)
    return shorten(f"{name} ({values})" if values else name, 44)


def draw_ranking(view: View, places: Indices, labels: list[str], part: Any, grid: Any) -> None:
    axis = grid[0, 0]
    estimates = view.estimates
    heights = np.arange(len(places))
    look: Any = {"ms": 5, "color": BLUE, "elinewidth": 1.6, "label": "estimate, 95 % interval"}
    axis.errorbar(estimates.mean[places], heights, xerr=estimates.bars(places), fmt="o", **look)
    axis.plot(
        estimates.average[places],
        heights,
        "x",
        color=BLACK,
        ms=6,
        label="average of its results",
        zorder=4,
    )
    for marks, style in markers(view):
        shown = np.flatnonzero(np.isin(places, marks))
        axis.plot(
            estimates.mean[places[shown]], shown, ls="none", **{**style, "ms": 0.8 * style["ms"]}
        )
    name_rows(axis, labels, [str(count) for count in estimates.results[places]])
    axis.set_xlabel(shorten(view.target, 60))
    write_plain_ticks(axis.xaxis)
    legend_above(part, [axis], 5)


def name_rows(axis: Axes, labels: list[str], counts: list[str]) -> None:
    axis.set_yticks(range(len(labels)), labels, fontsize=9)
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(len(labels) - 0.5, -0.5)
    where: Any = ("axes fraction", "data")
    for place, count in [(-0.9, "results"), *enumerate(counts)]:
        style: Any = {"va": "center", "ha": "center", "fontsize": 8.5, "color": QUIET}
        axis.annotate(count, (1.045, place), xycoords=where, annotation_clip=False, **style)
