"""How a figure with a panel for each problem is laid out: its size, its grid and its legend."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelbandits import checks
from kernelbandits.canvas import (
    LegendAbove,
    LegendBeside,
    Margins,
    draw_legend,
    draw_panels,
    grid_of,
    legend_goes_above,
    line_height,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEGENDS = ("auto", "above", "below", "right", "none")
PANEL_SIZE = 4.2, 3.3
"""Inches of a panel if no size is asked for; many policies make it higher (`panel_height`)."""
MARGINS = Margins(left=0.85, below=0.6, above=0.45)
LETTERS = 10.0
"""Points of the letters, before they shrink with the panels."""
TITLE_LETTERS, TITLE_LETTER = 1.2 * LETTERS, 0.53
"""Points of a title, matplotlib's size "large"; what a letter takes, in heights of its letters."""
COLUMN_LETTERS, COLUMN_WIDTH = 8.5, 0.75
"""Points of the letters in the column beside a panel, and its inches with these letters."""
LEAST_LETTERS = 4.0
"""Points to which the letters of the column shrink where a panel is small."""
LEAST_WIDTH = 0.35
"""Inches that the column has to leave for the curves."""
LEAST_SCALE = 0.7
"""Letters and lines shrink with the panels, down to this share."""
LEAST_PANEL = 1.2
"""Inches below which a panel has no space for its labels."""


Drawer = Callable[["Axes", int, float, float], None]
"""(panel, number of its problem, scale of lines, points of the letters in its column) -> draws."""


@dataclass(frozen=True)
class FigureShape:
    """What a user asks of the shape of a figure."""

    size: tuple[float, float] | None = None
    """Width and height in inches."""
    rows: int | None = None
    columns: int | None = None
    """How many panels stand below each other, and beside each other."""
    legend: str = "auto"
    """Where the legend stands: in a free place of the grid or above it ("auto"), "above", "below"
    or "right" of all panels, or nowhere ("none")."""

    def __post_init__(self) -> None:
        checks.one_of("a figure", "legend", self.legend, LEGENDS)
        for name in ("rows", "columns"):
            if getattr(self, name) is not None:
                checks.whole("a figure", name, getattr(self, name))

    def grid(self, panels: int) -> tuple[int, int, str]:
        """Return rows, columns, and where the legend stands; "grid" is a place among the panels."""
        if self.rows is None and self.columns is None:
            if self.legend != "auto":
                return (*grid_of(panels), self.legend)
            above = legend_goes_above(panels)
            return (*grid_of(panels + (not above)), "above" if above else "grid")
        rows = self.rows or -(-panels // (self.columns or 1))
        columns = self.columns or -(-panels // rows)
        enough = rows * columns >= panels
        checks.needs(enough, "a figure", f"rows x columns >= {panels}", f"{rows} x {columns}")
        free = "grid" if rows * columns > panels else "above"
        return rows, columns, free if self.legend == "auto" else self.legend


@contextmanager
def draw_figure(
    titles: Sequence[str],
    named: Sequence[str],
    heading: str,
    draw: Drawer,
    shape: FigureShape,
    column: int = 0,
) -> Iterator[Figure]:
    """Yield a figure with a panel for each title; smaller figures get smaller letters.

    Parameters
    ----------
    named
        What the legend names, and `heading` what stands above the names.
    draw
        Draws one panel.
    column
        How many lines stand in a column beside each panel.
    """
    rows, columns, where = shape.grid(len(titles))
    lines = len(heading.splitlines()) + len(named) if where in ("grid", "right") else 0

    def outside(width: float, scale: float) -> LegendAbove | None:
        flat = where in ("above", "below")
        return (
            LegendAbove(named, heading, width, LETTERS * scale, where == "below") if flat else None
        )

    def beside(scale: float) -> LegendBeside | None:
        return LegendBeside(named, heading, LETTERS * scale) if where == "right" else None

    side = width_of(beside(1.0))
    panel = panel_height(column, lines if where == "grid" else 0)
    natural_width = PANEL_SIZE[0] * columns + side
    panel += lines_above(titles, PANEL_SIZE[0], 1.0)
    natural_height = max(
        panel * rows + head_of(outside(natural_width, 1.0)), lines * line_height(LETTERS)
    )
    natural = natural_width, natural_height
    least = least_panel(column)
    least_side = width_of(beside(LEAST_SCALE))
    least_head = head_of(outside(least[0] * columns, LEAST_SCALE))
    width, height = (
        natural
        if shape.size is None
        else check_size(shape.size, (rows, columns), least, (least_side, least_head), titles)
    )
    scale = min(1.0, max(LEAST_SCALE, min(width / natural[0], height / natural[1])))
    legend: LegendAbove | LegendBeside | None = outside(width, scale) or beside(scale)
    margins, letters = MARGINS.scale(scale), 0.0
    flat = head_of(outside(width, scale))
    room = (width - width_of(beside(scale))) / columns
    margins = replace(
        margins,
        above=margins.above + lines_above(titles, room, scale),
        head=0.0 if where == "below" else flat,
        foot=flat if where == "below" else 0.0,
        side=width_of(beside(scale)),
    )
    panel = (height - flat) / rows
    if column:
        letters = column_letters(margins, (room, panel), column, scale)
        margins = replace(margins, right=margins.right + column_width(letters))
    with draw_panels(rows, columns, (width, height), margins, LETTERS * scale) as (figure, grid):
        axes = list(grid.flat)
        for place, title in enumerate(titles):
            draw(axes[place], place, scale, letters)
            axes[place].set_title(wrap_title(title, room, scale))
        if legend:
            legend.draw(figure, axes[0])
        elif where == "grid":
            fitting = panel / line_height(1.0) / lines
            draw_legend(axes[len(titles)], axes[0], heading, min(LETTERS * scale, fitting))
        for axis in axes[len(titles) + (where == "grid") :]:
            axis.set_axis_off()
        yield figure


def width_of(legend: LegendBeside | None) -> float:
    """Return the inches beside the panels."""
    return legend.width if legend else 0.0


def head_of(legend: LegendAbove | None) -> float:
    """Return the inches above the panels."""
    return legend.height if legend else 0.0


def wrap_title(title: str, width: float, scale: float) -> str:
    """Return a title in lines that end before the next panel, of panels that wide in inches."""
    # A title stands in the middle of the curves, which are right of the middle of the panel.
    free = width - scale * (MARGINS.left - MARGINS.right)
    return textwrap.fill(title, max(1, int(free * 72 / (TITLE_LETTERS * scale) / TITLE_LETTER)))


def lines_above(titles: Sequence[str], width: float, scale: float) -> float:
    """Return the inches that the longest title needs for its lines after the first one."""
    lines = max(len(wrap_title(title, width, scale).splitlines()) for title in titles)
    return (lines - 1) * line_height(TITLE_LETTERS * scale)


def check_size(
    size: tuple[float, float],
    grid: tuple[int, int],
    panel: tuple[float, float],
    legend: tuple[float, float],
    titles: Sequence[str],
) -> tuple[float, float]:
    """Return width and height in inches, if each panel and the legend outside have the space."""
    rows, columns = grid
    numbers = len(size) == 2 and all(checks.is_number(inches) for inches in size)
    checks.needs(numbers, "a figure", "a size of two numbers, width and height in inches", size)
    width = panel[0] * columns + legend[0]
    narrow = lines_above(titles, panel[0], LEAST_SCALE)
    above = min(narrow, lines_above(titles, (size[0] - legend[0]) / columns, LEAST_SCALE))
    # Titles have fewer lines in wider panels: this height is then for the width that was asked for.
    needed = size[0] if above < narrow else width, (panel[1] + above) * rows + legend[1]
    # A size that an error names is one that is accepted: rounded up.
    least = [math.ceil(10 * inches - 1e-9) / 10 for inches in needed]
    fits = all(least[side] <= size[side] < math.inf for side in (0, 1))
    said = f"a size of at least {least[0]:g} x {least[1]:g} inches for its {rows} x {columns}"
    checks.needs(fits, "a figure", f"{said} panels", f"{size[0]:g} x {size[1]:g}")
    return size


def panel_height(policies: int, lines: int) -> float:
    """Return the inches of a panel beside which the column and so many lines of legend fit."""
    column = MARGINS.above + MARGINS.below + column_height(policies, COLUMN_LETTERS)
    return max(PANEL_SIZE[1], column, lines * line_height(LETTERS))


def least_panel(policies: int) -> tuple[float, float]:
    """Return the least width and height of a panel, in inches, for its labels and its column."""
    if not policies:
        return LEAST_PANEL, LEAST_PANEL
    margins = MARGINS.scale(LEAST_SCALE)
    width = margins.left + margins.right + column_width(LEAST_LETTERS) + LEAST_WIDTH
    height = margins.above + margins.below + column_height(policies, LEAST_LETTERS)
    return max(LEAST_PANEL, width), max(LEAST_PANEL, height)


def column_letters(
    margins: Margins, panel: tuple[float, float], policies: int, scale: float
) -> float:
    """Return the points of the letters with which the column fits beside the curves of a panel."""
    width = panel[0] - margins.left - margins.right - LEAST_WIDTH
    height = panel[1] - margins.above - margins.below
    fitting = min(width / column_width(1.0), height / column_height(policies, 1.0))
    return max(LEAST_LETTERS, min(COLUMN_LETTERS * scale, fitting))


def column_width(letters: float) -> float:
    """Return the inches of the column with letters of so many points."""
    return COLUMN_WIDTH * letters / COLUMN_LETTERS


def column_height(policies: int, letters: float) -> float:
    """Return the inches of a heading and a line for each policy."""
    return (policies + 1) * line_height(letters)
