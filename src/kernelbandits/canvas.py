"""What all figures share: panels with space for their labels, colours, line styles, and files."""

from __future__ import annotations

import colorsys
import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.outputs import replace_file
from kernelbandits.runtime import is_installed, require

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

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
"""Okabe and Ito's colours, which colour-blind readers can distinguish, then others; no grey."""
STROKES = ("-", "-", "-", "-", "--", "--", "-.", "-.", ":", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p", "d", "H", "8")
FORMATS = ("png", "svg", "pdf")
LONGEST = 36
"""Characters of a name that are shown."""
LINE_HEIGHT = 1.7
"""The height of a line of a legend, in heights of its letters."""
HANDLE, LETTER = 5.7, 0.61
"""What a name of a legend takes for its stroke, and for each letter, in heights of its letters."""
PLAIN_TICKS = [digit * 10.0**power for power in range(-6, 7) for digit in (1, 2, 5)]
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""No dates: the same figure is the same file."""


def available() -> bool:
    """Tell whether figures can be drawn: they need matplotlib, from the extra `experiments`."""
    return is_installed("matplotlib")


@dataclass(frozen=True)
class Margins:
    """Inches around a panel, for labels and title; the last three are beside the whole figure."""

    left: float = 0.65
    below: float = 0.5
    above: float = 0.4
    right: float = 0.15
    head: float = 0.0
    foot: float = 0.0
    side: float = 0.0

    def scale(self, factor: float) -> Margins:
        return Margins(*(factor * inches for inches in vars(self).values()))

    def shares(self, size: tuple[float, float], rows: int, columns: int) -> dict[str, float]:
        """Return the margins as shares of a figure of that size, as matplotlib wants them."""
        width, height = size
        across, between = self.left + self.right, self.above + self.below
        return {
            "left": self.left / width,
            "right": 1 - (self.right + self.side) / width,
            "bottom": (self.below + self.foot) / height,
            "top": 1 - (self.above + self.head) / height,
            "wspace": across / ((width - self.side) / columns - across),
            "hspace": between / ((height - self.head - self.foot) / rows - between),
        }


PANEL = Margins()


@contextmanager
def styled_figure(size: tuple[float, float], font_size: float = 10.0) -> Iterator[Figure]:
    """Yield a figure on the file back end, and leave the caller's matplotlib settings untouched."""
    require("matplotlib", extra="experiments", owner="a figure")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style: Any = {
        "font.size": font_size,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#E6E6E6",
        "svg.hashsalt": "kernelbandits",
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=size)
        FigureCanvasAgg(figure)
        yield figure


@contextmanager
def draw_panels(
    rows: int,
    columns: int,
    size: tuple[float, float],
    margins: Margins = PANEL,
    font_size: float = 10.0,
) -> Iterator[tuple[Figure, Any]]:
    """Yield a styled figure, and its panels in rows and columns."""
    with styled_figure(size, font_size) as figure:
        spec = margins.shares(size, rows, columns)
        yield figure, figure.subplots(rows, columns, squeeze=False, gridspec_kw=spec)


def style_of(labels: Sequence[str], label: str) -> dict[str, Any]:
    place = labels.index(label)
    return {"color": PALETTE[place % len(PALETTE)], "linestyle": STROKES[place % len(STROKES)]}


def marker_of(labels: Sequence[str], label: str) -> str:
    return MARKERS[labels.index(label) % len(MARKERS)]


def shorten_label(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def plain_ticks(low: float, high: float, most: int = 12) -> list[float]:
    """Return ticks of a logarithmic axis that read as plain numbers.

    These are 1, 2 and 5 of each decade, or 1 only where those would be more than `most`.
    """
    ticks = [tick for tick in PLAIN_TICKS if low <= tick <= high]
    return ticks if len(ticks) <= most else [tick for tick in ticks if f"{tick:e}".startswith("1")]


def save(figure: Figure, path: Path, formats: Sequence[str] = ("png", "svg")) -> str:
    """Write one file for each format, `path` with its suffix; return the text of the SVG."""
    svg = ""
    for name in formats:
        checks.one_of("a figure", "format", name, FORMATS)
        file = io.BytesIO()
        figure.savefig(file, format=name, dpi=140, metadata=METADATA.get(name))
        replace_file(path.with_suffix(f".{name}"), file.getvalue(), "a figure", force=True)
        if name == "svg":
            svg = file.getvalue().decode()
    return svg


COLOUR = re.compile(r"\b(fill|stroke): #([0-9a-f]{6})\b")
"""A colour in the style of an element of an SVG, as matplotlib writes it."""
DARK_PAGE, DARK_TEXT = (0x14, 0x18, 0x1D), (0xE3, 0xE8, 0xEE)
"""What white and black become in the dark: the colours of style.css."""


def follow_colour_scheme(svg: str) -> str:
    """Return an SVG that is light on dark where the reader has chosen a dark screen.

    Each colour becomes the one of its hue on the other side of grey. Maps are images inside the
    SVG and keep their colours.

    >>> follow_colour_scheme('<svg><path style="fill: #ffffff"/></svg>').count("#14181d")
    1
    """
    found = sorted(set(COLOUR.findall(svg)))
    rules = [f'[style*="{part}: #{hue}"]{{{part}:{darken(hue)}!important}}' for part, hue in found]
    style = f"@media (prefers-color-scheme: dark){{svg{{fill:{darken('000000')}}}{''.join(rules)}}}"
    start = svg.index(">", svg.index("<svg")) + 1
    return f"{svg[:start]}<style>{style}</style>{svg[start:]}"


def darken(colour: str) -> str:
    """Return the colour that stands on a dark page for one on white.

    >>> darken("ffffff"), darken("000000")
    ('#14181d', '#e3e8ee')
    """
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4))
    hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    turned = colorsys.hls_to_rgb(hue, 1 - light, saturation)
    ends = zip(DARK_PAGE, DARK_TEXT, turned, strict=True)
    parts = [round(page + (text - page) * share) for page, text, share in ends]
    return "#" + "".join(f"{part:02x}" for part in parts)


def grid_of(panels: int) -> tuple[int, int]:
    """Return numbers of rows and columns: three panels a row, but two where four make a square."""
    columns = 2 if panels == 4 else min(3, panels)
    return -(-panels // columns), columns


def legend_goes_above(panels: int) -> bool:
    """Tell whether the panels fill the figure only if the legend does not stand among them."""
    rows, columns = grid_of(panels + 1)
    alone = grid_of(panels)
    return rows * columns > panels + 1 and alone[0] * alone[1] == panels


def line_height(letters: float) -> float:
    """Return the inches of a line of a legend with letters of so many points."""
    return LINE_HEIGHT * letters / 72


def names_across(labels: Sequence[str], width: float, letters: float) -> int:
    """Return how many names fit side by side into a legend of that many inches."""
    longest = max((len(shorten_label(label)) for label in labels), default=1)
    return max(1, int(width * 72 / letters / (HANDLE + LETTER * longest)))


@dataclass(frozen=True)
class LegendAbove:
    """A legend above or below all panels, as many names in a line as the figure's width takes."""

    labels: Sequence[str]
    title: str
    width: float
    """Inches."""
    letters: float
    """Points."""
    below: bool = False

    @property
    def across(self) -> int:
        return min(len(self.labels), names_across(self.labels, self.width, self.letters))

    @property
    def heading(self) -> str:
        """The title in lines of the figure's width."""
        letters = max(1, int(self.width * 72 / self.letters / LETTER))
        return textwrap.fill("; ".join(self.title.splitlines()), letters)

    @property
    def height(self) -> float:
        """The inches of all lines, with half a line around them."""
        lines = len(self.heading.splitlines()) + -(-len(self.labels) // self.across)
        return line_height(self.letters) * (lines + 0.5)

    def draw(self, figure: Figure, source: Axes) -> None:
        """Draw the names and strokes of a panel."""
        handles, labels = source.get_legend_handles_labels()
        figure.legend(
            handles,
            [shorten_label(label) for label in labels],
            title=self.heading,
            ncols=self.across,
            loc="lower center" if self.below else "upper center",
            frameon=False,
            fontsize=self.letters,
            title_fontsize=self.letters,
        )


@dataclass(frozen=True)
class LegendBeside:
    """A legend at the right of all panels, one name in a line."""

    labels: Sequence[str]
    title: str
    letters: float
    """Points."""

    @property
    def width(self) -> float:
        """The inches of the longest line."""
        names = [len(shorten_label(label)) * LETTER + HANDLE for label in self.labels]
        lines = [len(line) * LETTER for line in self.title.splitlines()]
        return max([*names, *lines]) * self.letters / 72 + 0.1

    @property
    def lines(self) -> int:
        return len(self.title.splitlines()) + len(self.labels)

    def draw(self, figure: Figure, source: Axes) -> None:
        """Draw the names and strokes of a panel."""
        handles, labels = source.get_legend_handles_labels()
        figure.legend(
            handles,
            [shorten_label(label) for label in labels],
            title=self.title,
            loc="center right",
            frameon=False,
            fontsize=self.letters,
            title_fontsize=self.letters,
        )


def draw_legend(axis: Axes, source: Axes, title: str, letters: float = 10.0) -> None:
    """Draw the legend of a panel in place of another one, with letters of so many points."""
    axis.set_axis_off()
    handles, labels = source.get_legend_handles_labels()
    names = [shorten_label(label) for label in labels]
    sizes = {"fontsize": letters, "title_fontsize": letters}
    axis.legend(handles, names, loc="center", title=title, frameon=False, **sizes)
