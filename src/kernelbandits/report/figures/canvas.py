"""What all figures share: panels with room for their labels, colours, strokes and markers, and the two files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#000000",
    "#E69F00",
    "#882255",
    "#999933",
    "#6A51A3",
    "#8C510A",
    "#00A6A6",
    "#E7298A",
    "#4D6B1E",
    "#A50026",
    "#3B3B98",
)
"""Okabe and Ito's colours, which colour-blind readers tell apart; then others that differ from them; no grey."""
STROKES = ("-", "-", "-", "-", "--", "--", "-.", "-.", ":", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p", "d", "H", "8")
LONGEST = 36
"""Characters of a name that are shown."""
PLAIN_TICKS = [digit * 10.0**power for power in range(-6, 7) for digit in (1, 2, 5)]


@dataclass(frozen=True)
class Margins:
    """Inches around a panel: tick and axis labels at the left and below, the title above; a head over the figure."""

    left: float = 0.65
    below: float = 0.5
    above: float = 0.4
    right: float = 0.15
    head: float = 0.0

    def shares(self, size: tuple[float, float], rows: int, columns: int) -> dict[str, float]:
        """The same as shares of a figure of that size, as matplotlib wants them."""
        width, height = size
        across, between = self.left + self.right, self.above + self.below
        return {
            "left": self.left / width,
            "right": 1 - self.right / width,
            "bottom": self.below / height,
            "top": 1 - (self.above + self.head) / height,
            "wspace": across / (width / columns - across),
            "hspace": between / ((height - self.head) / rows - between),
        }


PANEL = Margins()


@contextmanager
def drawing(
    rows: int, columns: int, size: tuple[float, float], margins: Margins = PANEL
) -> Iterator[tuple[Figure, Any]]:
    """A figure on the file back end; the caller's own matplotlib settings stay untouched."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style: Any = {
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#E6E6E6",
        "svg.hashsalt": "kernelbandits",
        "svg.fonttype": "none",
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=size)
        FigureCanvasAgg(figure)
        yield (
            figure,
            figure.subplots(
                rows, columns, squeeze=False, gridspec_kw=margins.shares(size, rows, columns)
            ),
        )


def style_of(labels: Sequence[str], label: str) -> dict[str, Any]:
    place = labels.index(label)
    return {"color": PALETTE[place % len(PALETTE)], "linestyle": STROKES[place % len(STROKES)]}


def marker_of(labels: Sequence[str], label: str) -> str:
    return MARKERS[labels.index(label) % len(MARKERS)]


def shown(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def plain_ticks(low: float, high: float, most: int = 12) -> list[float]:
    """Ticks of a logarithmic axis that read as plain numbers: 1, 2 and 5 of each decade, or 1 only where too many."""
    ticks = [tick for tick in PLAIN_TICKS if low <= tick <= high]
    return ticks if len(ticks) <= most else [tick for tick in ticks if f"{tick:e}".startswith("1")]


def save(figure: Figure, path: Path) -> str:
    """PNG and SVG beside each other; the SVG's text."""
    figure.savefig(path.with_suffix(".png"), dpi=140)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    path.with_suffix(".svg").write_text(text.getvalue())
    return text.getvalue()


def grid_of(panels: int) -> tuple[int, int]:
    """Rows and columns: three panels a row, but two where four make a square."""
    columns = 2 if panels == 4 else min(3, panels)
    return -(-panels // columns), columns


def draw_legend(axis: Axes, source: Axes, title: str) -> None:
    axis.set_axis_off()
    handles, labels = source.get_legend_handles_labels()
    names = [shown(label) for label in labels]
    axis.legend(handles, names, loc="center", title=title, frameon=False, fontsize=10)
