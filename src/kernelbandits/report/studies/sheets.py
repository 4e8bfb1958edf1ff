"""Drawings laid on one sheet, each over its caption, as PNG or SVG; or a single one as SVG for a page."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kernelbandits.canvas import LONGEST, PANEL, Margins, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

WIDTH = 9.6
"""Inches of a sheet."""
HEADING, LINE, GAP = 0.42, 0.18, 0.22
"""Inches that a heading, a line of a caption, the space below it take."""
LETTERS, TITLE = 138, 72
"""Of a line of a caption, and of the title."""
BARE = Margins(0.0, 0.0, 0.0, 0.0)
DPI = 140
QUIET = "#52606D"
PLAIN: Any = {"text.parse_math": False, "text.usetex": False}
"""Names of columns are text, whatever dollars there are in them."""


@dataclass(frozen=True)
class Drawing:
    """Panels in rows and columns, and who draws on them."""

    title: str
    caption: str
    height: float
    draw: Callable[[Any, Any], None]
    """(figure or part of one, grid of axes)"""
    rows: int = 1
    columns: int = 1
    margins: Margins = PANEL

    def place(self, part: Figure | SubFigure) -> None:
        """Draw on that part of a figure, which is as large as this drawing."""
        spec = self.margins.shares((WIDTH, self.height), self.rows, self.columns)
        grid = part.subplots(self.rows, self.columns, squeeze=False, gridspec_kw=spec)
        self.draw(part, grid)


def sheet(title: str, drawings: Sequence[Drawing], kind: str) -> bytes:
    """All of them below each other with headings and captions; kind: png or svg."""
    captions = ["\n".join(wrap(printable(one.caption), LETTERS)) for one in drawings]
    lines = wrap(printable(title), TITLE)
    heights = [HEADING * (len(lines) / 2 + 1)]
    for one, caption in zip(drawings, captions, strict=True):
        heights += [HEADING, one.height, LINE * (caption.count("\n") + 1) + GAP]
    with blank(sum(heights)) as figure:
        laid: Any = figure.subfigures(len(heights), 1, height_ratios=heights)
        parts: list[SubFigure] = list(laid)
        write(parts[0], "\n".join(lines), 0.5, fontsize=14, weight="bold", va="center")
        for number, one in enumerate(drawings):
            heading, panels, below = parts[1 + 3 * number : 4 + 3 * number]
            write(heading, one.title, 0.5, fontsize=12, weight="bold", va="center")
            one.place(panels)
            write(below, captions[number], 1.0, fontsize=9, color=QUIET, va="top", linespacing=1.35)
        return rendered(figure, kind)


def alone(one: Drawing) -> str:
    """A drawing without heading and caption, as SVG."""
    with blank(one.height) as figure:
        one.place(figure)
        return rendered(figure, "svg").decode()


@contextmanager
def blank(height: float) -> Iterator[Figure]:
    """A sheet without axes; letters that no font here has are boxes, and no reason to complain."""
    import matplotlib as mpl

    with (
        warnings.catch_warnings(),
        drawing(1, 1, (WIDTH, height), BARE) as (figure, grid),
        mpl.rc_context(PLAIN),
    ):
        warnings.filterwarnings("ignore", message="Glyph")
        grid[0, 0].remove()
        yield figure


def rendered(figure: Figure, kind: str) -> bytes:
    file = io.BytesIO()
    figure.savefig(
        file,
        format=kind,
        dpi=DPI,
        metadata={"Date": None, "Creator": None} if kind == "svg" else None,
    )
    return file.getvalue()


def write(part: SubFigure, text: str, height: float, **style: Any) -> None:
    part.text(0.15 / WIDTH, height, text, ha="left", **style)


def legend_above(part: Any, axes: Sequence[Axes], columns: int = 4) -> None:
    """One legend over all panels, each name once."""
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
        part.legend(
            found.values(), found.keys(), ncols=min(columns, len(found)), fontsize=9, **place
        )


def printable(text: str) -> str:
    """On one line, without letters that steer."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def brief(text: str, letters: int = LONGEST) -> str:
    """So many letters of a name."""
    name = printable(text)
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def nothing(title: str, sentence: str) -> Drawing:
    """In place of a drawing."""
    return Drawing(
        title,
        "",
        0.9,
        lambda part, grid: say(grid[0, 0], sentence),
        margins=Margins(0.1, 0.1, 0.1, 0.1),
    )


def say(axis: Axes, sentence: str) -> None:
    """A panel with nothing to show says so."""
    axis.set_axis_off()
    axis.text(0.5, 0.5, sentence, ha="center", va="center", color=QUIET, transform=axis.transAxes)
