"""The ranking as dots with intervals: a panel for each problem, a row for each policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from kernelbandits.canvas import Margins, draw_panels, plain_ticks, save, shorten_label
from kernelbandits.formatting import format_ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernelbandits.analysis.ranking import Standing
    from kernelbandits.report.families import FamilyStyle

    Looks = Mapping[str, tuple[str, FamilyStyle]]

ROW, FONT, LETTER = 0.205, 9.5, 0.07
"""Inches of a row, the size of its name, inches of a letter of the name."""
PANEL_WIDTH = 3.2
TITLE = 34
"""Letters of a title that fit above a panel."""
SPREAD = 20.0
"""Means further apart than this are drawn on a logarithmic axis."""
QUIET = "#52606D"
LEVEL: dict[str, Any] = {"color": QUIET, "lw": 0.8, "ls": (0, (4, 3))}


def ranking_figure(
    standings: Mapping[str, Sequence[Standing]], looks: Looks, path: Path, level: str | None = None
) -> str:
    """Draw the standings of each problem title, best first, in the look of each policy's family.

    A dashed line shows the mean of the policy `level`.
    """
    handles = legend_handles(dict(looks.values()), level)
    columns = min(2, len(standings))
    rows, count = -(-len(standings) // columns), max(len(panel) for panel in standings.values())
    margins = Margins(
        left=0.3 + LETTER * max(len(shorten_label(label)) for label in looks),
        below=0.6,
        above=0.4,
        right=0.6,
        head=0.15 + ROW * -(-len(handles) // (columns + 1)),
    )
    width = columns * (PANEL_WIDTH + margins.left + margins.right)
    height = rows * (ROW * count + margins.above + margins.below) + margins.head
    with draw_panels(rows, columns, (width, height), margins) as (figure, grid):
        axes = list(grid.flat)
        for axis, (title, panel) in zip(axes, standings.items(), strict=False):
            draw_panel(axis, panel, looks, level)
            axis.set_title(fill(title, TITLE), fontsize=11)
        for axis in axes[len(standings) :]:
            axis.set_axis_off()
        figure.legend(
            handles=handles, loc="upper center", ncols=columns + 1, frameon=False, fontsize=FONT
        )
        return save(figure, path)


def draw_panel(axis: Axes, panel: Sequence[Standing], looks: Looks, level: str | None) -> None:
    low, high = set_scale(axis, panel)
    write_beside(axis, -1, "ranks")
    for place, row in enumerate(panel):
        _, look = looks[row.policy]
        ends = max(row.mean.low, low), min(row.mean.high, high)
        axis.plot(ends, (place, place), color=look.colour, lw=1.4, solid_capstyle="butt")
        axis.plot(
            max(row.mean.value, low),
            place,
            color=look.colour,
            marker=look.marker,
            ms=5,
            clip_on=False,
        )
        write_beside(axis, place, format_ranks(row.first, row.last))
        if row.policy == level:
            axis.axvline(row.mean.value, **LEVEL, zorder=1)
    axis.set_ylim(len(panel) - 0.4, -0.6)
    axis.set_yticks(range(len(panel)), [shorten_label(row.policy) for row in panel], fontsize=FONT)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel("cumulative regret")


def write_beside(axis: Axes, place: float, text: str) -> None:
    """Write a text at the right of a row."""
    where: Any = ("axes fraction", "data")
    axis.annotate(text, (1.03, place), xycoords=where, va="center", fontsize=FONT - 1, color=QUIET)


def set_scale(axis: Axes, panel: Sequence[Standing]) -> tuple[float, float]:
    """Start the axis at zero, or make it logarithmic if the means lie far apart; return limits."""
    means = [row.mean.value for row in panel]
    ends = [row.mean.high for row in panel if row.mean.high < float("inf")]
    most, least = max([*means, *ends]), min((mean for mean in means if mean > 0), default=0.0)
    low, high = 0.0, 1.04 * most or 1.0
    if least > 0 and max(means) > SPREAD * least:
        low = least / 2
        axis.set_xscale("log")
        axis.set_xticks(plain_ticks(low, high, most=6))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.minorticks_off()
    axis.set_xlim(low, high)
    return low, high


def legend_handles(families: Mapping[str, FamilyStyle], level: str | None) -> list[Any]:
    from matplotlib.lines import Line2D

    dots = [
        Line2D([], [], color=look.colour, marker=look.marker, ms=5, lw=1.4, label=family)
        for family, look in families.items()
    ]
    return [*dots, *([Line2D([], [], **LEVEL, label=f"level of {level}")] if level else [])]
