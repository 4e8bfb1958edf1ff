"""A ternary map: the estimate over the shares of three components that make up a mixture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import Margins
from kernelbandits.checks import Array
from kernelbandits.report.studies.columns import mark_measured
from kernelbandits.report.studies.sheets import (
    QUIET,
    SURE,
    Drawing,
    colours_of_estimates,
    legend_above,
    shorten,
    write_plain_ticks,
)
from kernelbandits.report.studies.view import View
from kernelbandits.study.dependence import EstimateMap
from kernelbandits.study.mixtures import describe_sums
from kernelbandits.study.words import describe_point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = math.sqrt(3) / 2
"""Height of a triangle whose sides have length 1."""
TICKS = (0.2, 0.4, 0.6, 0.8)
CORNER = 16
"""The most letters of the name at a corner."""
PANELS = Margins(left=0.25, below=0.2, above=0.3, right=0.65, head=0.35)


@dataclass(frozen=True)
class Corners:
    """The components at the corners of the triangle."""

    right: str
    top: str
    left: str
    total: float

    @classmethod
    def of(cls, found: EstimateMap) -> Corners:
        assert found.total is not None
        return cls(found.across, found.up, found.shared[0], found.total)

    def place(self, right: Any, top: Any) -> tuple[Array, Array]:
        """Return the position of a mixture in a triangle with sides of length 1."""
        a, b = np.asarray(right) / self.total, np.asarray(top) / self.total
        return a + b / 2, HEIGHT * b


def ternary_map(view: View, found: EstimateMap) -> Drawing:
    """Return the ternary map of the estimate, and beside it that of its standard deviation."""
    names = f"{found.across}, {found.up} and {found.shared[0]}"
    fixed = f", at {describe_point(found.fixed)} (the values of the likely best)"
    caption = (
        f"Estimate of {view.target} (left) and its standard deviation (right) over the shares of "
        f"{names}, which sum to {found.total:g}{describe_sums(found.sums)}"
        f"{fixed if found.fixed else ''}. At a corner there is only the component named there; "
        f"shares of {found.across} are written below, those of {found.up} at the right and those "
        f"of {found.shared[0]} at the left. What is outside the ranges is left blank. "
        f"Bright estimates are good. Black rings are measured {view.noun}s."
    )
    draw = partial(draw_ternary, view, found)
    return Drawing("Map of the estimate", caption, 4.6, draw, columns=2, margins=PANELS)


def draw_ternary(view: View, found: EstimateMap, part: Any, grid: Any) -> None:
    axes = list(grid.flat)
    corners = Corners.of(found)
    for axis, values, title, colours in (
        (
            axes[0],
            found.mean,
            f"{shorten(view.target, 18)}, estimate",
            colours_of_estimates(view.sign),
        ),
        (axes[1], found.sd, "its uncertainty (±)", SURE),
    ):
        shown = draw_shares(axis, found, corners, values, colours)
        bar = part.colorbar(shown, ax=axis, fraction=0.045, pad=0.02, shrink=0.8)
        bar.outline.set_visible(False)
        write_plain_ticks(bar.ax.yaxis)
        draw_frame(axis, corners)
        place = corners.place(view.numbers(corners.right), view.numbers(corners.top))
        mark_measured(axis, view, *place)
        axis.set_title(title, fontsize=10, loc="left")
    legend_above(part, axes, 6)


def draw_shares(
    axis: Axes, found: EstimateMap, corners: Corners, values: Array, colours: str
) -> Any:
    """Draw the values, interpolated between those of neighbouring mixtures."""
    from matplotlib.tri import Triangulation

    across, up = np.meshgrid(found.across_values, found.up_values)
    inside = np.isfinite(values)
    x, y = corners.place(across[inside], up[inside])
    mesh = Triangulation(x, y, triangles_between(inside))
    return axis.tripcolor(mesh, values[inside], shading="gouraud", cmap=colours, rasterized=True)


def triangles_between(inside: Any) -> Any:
    """Return triangles of neighbours in a grid that all have a value, by their numbers."""
    number = np.where(inside, np.cumsum(inside).reshape(inside.shape) - 1, -1)
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]
    halves = [np.stack(corners, axis=-1).reshape(-1, 3) for corners in ((a, b, c), (b, d, c))]
    triangles = np.concatenate(halves)
    return triangles[(triangles >= 0).all(1)]


def draw_frame(axis: Axes, corners: Corners) -> None:
    """Draw the sides of the triangle, lines of equal shares, and the names of the corners."""
    axis.set_axis_off()
    axis.set_aspect("equal")
    axis.set(xlim=(-0.14, 1.14), ylim=(-0.14, HEIGHT + 0.1))
    axis.plot([0, 1, 0.5, 0], [0, 0, HEIGHT, 0], color="black", lw=1.2, zorder=3, clip_on=False)
    line: Any = {"color": "white", "lw": 0.6, "alpha": 0.7, "zorder": 2}
    text: Any = {"fontsize": 8, "color": QUIET}
    for share in TICKS:
        rest, label = 1 - share, f"{share * corners.total:g}"
        axis.plot([share, share + rest / 2], [0, HEIGHT * rest], **line)
        axis.plot([rest / 2, rest], [HEIGHT * rest, 0], **line)
        axis.plot([share / 2, 1 - share / 2], [HEIGHT * share] * 2, **line)
        # Each component is read at the side where its share grows towards its corner.
        axis.text(share, -0.025, label, ha="center", va="top", **text)
        axis.text(1 - share / 2 + 0.02, HEIGHT * share, label, ha="left", va="center", **text)
        axis.text(rest / 2 - 0.02, HEIGHT * rest, label, ha="right", va="center", **text)
    name: Any = {"fontsize": 10, "weight": "bold"}
    axis.text(1.08, -0.07, shorten(corners.right, CORNER), ha="right", va="top", **name)
    axis.text(-0.08, -0.07, shorten(corners.left, CORNER), ha="left", va="top", **name)
    axis.text(0.5, HEIGHT + 0.02, shorten(corners.top, CORNER), ha="center", va="bottom", **name)
