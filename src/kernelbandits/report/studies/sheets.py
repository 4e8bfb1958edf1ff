"""Drawings below each other on one sheet (PNG or SVG), or a single one as SVG for a page."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kernelbandits.canvas import (
    LONGEST,
    METADATA,
    PANEL,
    Margins,
    follow_colour_scheme,
    line_height,
    names_across,
    styled_figure,
)
from kernelbandits.formatting import format_number
from kernelbandits.report.studies.marks import Mark, find_marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.legend import Legend

WIDTH = 9.6
"""Width of a sheet in inches."""
NARROW = 4.6
"""Width of a drawing for the screen of a phone, on which its letters keep their size."""
MOST_LEFT = 0.42
"""The largest share of a narrow drawing that the names at its left may take."""
NAME = 0.075
"""The width of a letter of such a name, in inches."""
SMALL = 9
"""The size of the letters of a legend, in points."""
HEADING, LINE, GAP = 0.42, 0.18, 0.22
"""Heights of a heading, a line of a caption and the space below it, in inches."""
LETTERS, TITLE = 138, 72
"""The most letters in a line of a caption and in a line of the title."""
DPI, FINE = 140, 300
"""Pixels in an inch of marks that are stored as an image; a page can show them 3.5 times as large,
and they stay sharp."""
MOST_ALIKE = 1e5
"""Numbers that have more than about five digits in common are too long for an axis."""
QUIET = "#52606D"
GOOD, SURE = "viridis", "cividis"
"""The colours of estimates, of which the bright ones are good, and of standard deviations."""
PLAIN: Any = {"text.parse_math": False, "text.usetex": False}
"""A dollar in the name of a column is text, not mathematics."""


@dataclass(frozen=True)
class Drawing:
    """Panels in rows and columns, with a title, a caption and the function that draws them."""

    title: str
    caption: str
    height: float
    draw: Callable[[Any, Any], None]
    """Called with the figure (or a part of one) and the grid of its axes."""
    rows: int = 1
    columns: int = 1
    margins: Margins = PANEL
    findings: tuple[str, ...] = ()
    """What the figure shows of this study; a page that says it elsewhere leaves it out."""

    @property
    def full_caption(self) -> str:
        """The findings, and how to read the figure."""
        return " ".join([*self.findings, self.caption])

    def place(self, part: Figure | SubFigure) -> None:
        """Draw on a part of a figure that has the size of this drawing."""
        spec = self.margins.shares((WIDTH, self.height), self.rows, self.columns)
        grid = part.subplots(self.rows, self.columns, squeeze=False, gridspec_kw=spec)
        self.draw(part, grid)

    def place_narrow(self, figure: Figure) -> None:
        """Draw all panels below each other, on a figure that becomes as wide as a phone.

        The names of the legend take as many lines as they need, which is known when they are drawn.
        """
        panels, lines = self.rows * self.columns, 1
        while True:
            figure.clear()
            head = self.margins.head + (lines - 1) * line_height(SMALL)
            left = min(self.margins.left, MOST_LEFT * NARROW)
            margins = replace(self.margins, head=head, left=left)
            panel = (self.height - self.margins.head) / self.rows
            size = NARROW, panel * panels + head
            figure.set_size_inches(*size)
            spec = margins.shares(size, panels, 1)
            column = figure.subplots(panels, 1, squeeze=False, gridspec_kw=spec)
            self.draw(figure, column.reshape(self.rows, self.columns))
            needed = max((count_lines(one) for one in figure.legends), default=1)
            if needed <= lines:
                break
            lines = needed
        for before, axis in pairwise(column.flat):
            if not axis.get_ylabel() and len(axis.get_yticks()):
                axis.set_ylabel(before.get_ylabel())
        if left < self.margins.left:
            shorten_names(column.flat, int((left - 0.3) / NAME))


def sheet(title: str, drawings: Sequence[Drawing], kind: str) -> bytes:
    """Render drawings below each other with headings and captions, as "png", "svg" or "pdf"."""
    captions = ["\n".join(wrap(make_printable(one.full_caption), LETTERS)) for one in drawings]
    lines = wrap(make_printable(title), TITLE)
    heights = [HEADING * (len(lines) / 2 + 1)]
    for one, caption in zip(drawings, captions, strict=True):
        lines_below = caption.count("\n") + 1 if caption else 0
        heights += [HEADING, one.height, LINE * lines_below + GAP]
    with blank_figure(sum(heights)) as figure:
        laid: Any = figure.subfigures(len(heights), 1, height_ratios=heights)
        parts: list[SubFigure] = list(laid)
        write_text(parts[0], "\n".join(lines), 0.5, fontsize=14, weight="bold", va="center")
        for number, one in enumerate(drawings):
            heading, panels, below = parts[1 + 3 * number : 4 + 3 * number]
            write_text(heading, one.title, 0.5, fontsize=12, weight="bold", va="center")
            one.place(panels)
            write_text(
                below, captions[number], 1.0, fontsize=9, color=QUIET, va="top", linespacing=1.35
            )
        return render_figure(figure, kind)


def render_svg(one: Drawing) -> str:
    """Render one drawing without heading and caption as SVG."""
    with blank_figure(one.height) as figure:
        one.place(figure)
        return render_figure(figure, "svg").decode()


def render_with_marks(one: Drawing, *, narrow: bool = False) -> tuple[str, list[Mark]]:
    """Render one drawing as SVG; and where its marks are, for a page that shows their texts."""
    with blank_figure(one.height) as figure:
        if narrow:
            one.place_narrow(figure)
        else:
            one.place(figure)
        svg = render_figure(figure, "svg", FINE).decode()
        return follow_colour_scheme(svg), find_marks(figure)


@contextmanager
def blank_figure(height: float) -> Iterator[Figure]:
    """Yield a figure without axes.

    Letters that are missing in the font are drawn as boxes, and matplotlib's warning about them
    is silenced: the names come from the user's table, so the user cannot act on it.
    """
    import matplotlib as mpl

    with (
        warnings.catch_warnings(),
        styled_figure((WIDTH, height)) as figure,
        mpl.rc_context(PLAIN),
    ):
        warnings.filterwarnings("ignore", message="Glyph")
        yield figure


def render_figure(figure: Figure, kind: str, dpi: int = DPI) -> bytes:
    file = io.BytesIO()
    figure.savefig(
        file,
        format=kind,
        dpi=dpi,
        metadata=METADATA.get(kind),
    )
    return file.getvalue()


def write_text(part: SubFigure, text: str, height: float, **style: Any) -> None:
    part.text(0.15 / WIDTH, height, text, ha="left", **style)


def legend_above(part: Any, axes: Sequence[Axes], columns: int = 4) -> None:
    """Draw one legend above all panels that has each name once."""
    found: dict[str, Any] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    if found:
        place: dict[str, Any] = {
            "loc": "upper left",
            "bbox_to_anchor": (0.1 / WIDTH, 1.0),
            "frameon": False,
        }
        width = part.bbox.width / part.get_figure(root=True).dpi
        if width < WIDTH:
            columns = names_across([*found], width, SMALL)
        part.legend(
            found.values(), found.keys(), ncols=min(columns, len(found)), fontsize=SMALL, **place
        )


def count_lines(legend: Legend) -> int:
    """Count the lines of names in the legend of a narrow drawing."""
    names = [one.get_text() for one in legend.get_texts()]
    return -(-len(names) // names_across(names, NARROW, SMALL))


def shorten_names(axes: Iterable[Axes], letters: int) -> None:
    """Cut the names beside panels to so many letters; numbers stay."""
    from matplotlib.ticker import FixedLocator

    for axis in axes:
        if isinstance(axis.yaxis.get_major_locator(), FixedLocator):
            names = [shorten(one.get_text(), letters) for one in axis.get_yticklabels()]
            axis.set_yticks(axis.get_yticks(), names)


def make_printable(text: str) -> str:
    """Return the text on one line, without control characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def shorten(text: str, letters: int = LONGEST) -> str:
    """Cut a name to this number of letters."""
    name = make_printable(text)
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def colours_of_estimates(sign: float) -> str:
    """Return the colours of a map of estimates: bright is good, also where less is better.

    >>> colours_of_estimates(-1.0)
    'viridis_r'
    """
    return GOOD if sign > 0 else f"{GOOD}_r"


def empty_drawing(title: str, sentence: str) -> Drawing:
    """Return a drawing that shows only a sentence."""
    return Drawing(
        title,
        "",
        0.9,
        lambda part, grid: write_message(grid[0, 0], sentence),
        margins=Margins(0.1, 0.1, 0.1, 0.1),
    )


def write_plain_ticks(*sides: Axis) -> None:
    """Write few ticks, each number in full, with as many digits as tell it from the next.

    By default matplotlib takes a factor or a sum out of all numbers of an axis (1e6, +1.2e3) and
    writes it at the corner, where it is easily overlooked. That is left so only where the numbers
    would be too long.
    """
    from matplotlib.ticker import MaxNLocator

    for side in sides:
        side.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        low, high = side.get_view_interval()
        if max(abs(low), abs(high)) > MOST_ALIKE * (high - low):
            continue
        side.set_major_formatter(partial(format_tick, side))


def format_tick(side: Axis, value: float, position: int | None = None) -> str:
    """Write one number of an axis; its position among the ticks does not count."""
    low, high = side.get_view_interval()
    apart = abs(high - low) / 10
    if abs(value) < 1e-6 * apart:
        return "0"
    known = apart > 0 and math.isfinite(apart)
    digits = math.ceil(math.log10(abs(value) / apart)) + 1 if known else 6
    return format_number(value, min(max(digits, 4), 15))


def write_message(axis: Axes, sentence: str) -> None:
    """Write a sentence in the middle of an empty panel."""
    axis.set_axis_off()
    middle: Any = {"ha": "center", "va": "center", "transform": axis.transAxes}
    axis.text(0.5, 0.5, sentence, color=QUIET, wrap=True, **middle)
