"""Regret against certified regret, a point for each policy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.leaderboard.scores import OWN, Board, Standing, family_of
from kernelbandits import canvas
from kernelbandits.policies.about import FAMILIES

SIZE = (11.0, 9.6)
MARGINS = canvas.Margins(left=0.75, below=0.6, above=0.1, right=0.2, head=1.0)
MOST_TICKS = 14
FINE_TICKS = [
    digit * 10.0**power
    for power in range(-4, 3)
    for digit in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
]
"""Ticks of an axis of about a decade; a longer one has `canvas.plain_ticks`."""
LETTERS, LETTER_WIDTH = 7.0, 0.61
"""Points of a label's letters, and the width of one in heights."""
RADII = (6.0, 9.0, 14.0, 20.0, 27.0, 35.0, 44.0, 55.0, 67.0, 80.0, 95.0, 112.0, 130.0)
DIRECTIONS = 24
"""A label is tried at so many places around its point, in these distances in points."""
DOT, REACH = 3.2, 7.0
"""Half of what a point takes, in points; labels of others stay so far away from it, so that none is
taken for its own."""


def write(board: Board | None, path: Path) -> str:
    """Draw the policies that have played all problems of a board; say what was done."""
    if board is None or not board.complete:
        return f"{path.name} is left as it is: no horizon is complete"
    try:
        draw(board, path)
    except ImportError:
        return f"{path.name} is left as it is: matplotlib is not installed"
    return f"{path.name} is drawn"


def draw(board: Board, path: Path) -> None:
    shown = board.complete
    with canvas.draw_panels(1, 1, SIZE, MARGINS) as (figure, panels):
        axis = panels[0, 0]
        families = [name for name in (*FAMILIES, OWN) if any_of(shown, name)]
        for name in families:
            members = [one for one in shown if family_of(one.policy) == name]
            axis.plot(
                [one.regret for one in members],
                [one.certified for one in members],
                color=canvas.style_of((*FAMILIES, OWN), name)["color"],
                marker=canvas.marker_of((*FAMILIES, OWN), name),
                linestyle="none",
                markersize=5.5,
                label=name,
                zorder=3,
            )
        set_axes(axis, board)
        figure.canvas.draw()
        draw_labels(axis, shown)
        figure.legend(
            *axis.get_legend_handles_labels(),
            loc="upper center",
            ncols=4,
            frameon=False,
            fontsize=8.5,
        )
        canvas.save(figure, path, ("svg",))


def any_of(shown: Sequence[Standing], family: str) -> bool:
    return any(family_of(one.policy) == family for one in shown)


def set_axes(axis: Any, board: Board) -> None:
    """Set logarithmic axes, and draw the limit: no certificate is less than the regret."""
    axis.set_xscale("log")
    axis.set_yscale("log")
    for values, limit in (
        ([one.regret for one in board.complete], axis.set_xlim),
        ([one.certified for one in board.complete], axis.set_ylim),
    ):
        spread = (max(values) / min(values)) ** 0.08
        limit(min(values) / max(spread, 1.02), max(values) * max(spread, 1.02))
    ends = axis.get_xlim()
    height = axis.get_ylim()
    axis.plot(ends, ends, color="#888888", linewidth=1, label="certified = lost", zorder=1)
    axis.set_ylim(height)
    for name in ("x", "y"):
        low, high = getattr(axis, f"get_{name}lim")()
        fine = [tick for tick in FINE_TICKS if low <= tick <= high]
        ticks = fine if len(fine) <= MOST_TICKS else canvas.plain_ticks(low, high)
        getattr(axis, f"set_{name}ticks")(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    problems = len(board.problems)
    what = f"share of uniform random play, mean of {problems} problems, T = {board.horizon}"
    axis.set_xlabel(f"regret, {what}")
    axis.set_ylabel(f"certified regret, {what}")


# The labels


@dataclass(frozen=True)
class Rectangle:
    """What a label or a point takes on the page, in points."""

    left: float
    below: float
    right: float
    above: float

    def meets(self, other: Rectangle) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.below < other.above
            and other.below < self.above
        )

    def holds(self, other: Rectangle) -> bool:
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.below <= other.below
            and other.above <= self.above
        )


def draw_labels(axis: Any, shown: Sequence[Standing]) -> None:
    """Write each name beside its point, with a line to it."""
    to_points = 72 / axis.figure.dpi
    pixels = axis.transData.transform([(one.regret, one.certified) for one in shown])
    spots = [(to_points * x, to_points * y) for x, y in pixels]
    window = axis.get_window_extent()
    page = Rectangle(*(to_points * end for end in (window.x0, window.y0, window.x1, window.y1)))
    names = [canvas.shorten_label(one.title) for one in shown]
    for one, name, (x, y), place in zip(
        shown, names, spots, place_labels(names, spots, page), strict=True
    ):
        axis.annotate(
            name,
            (one.regret, one.certified),
            ((place.left + place.right) / 2 - x, (place.below + place.above) / 2 - y),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=LETTERS,
            arrowprops={"arrowstyle": "-", "color": "#777777", "linewidth": 0.5, "shrinkB": 2},
            zorder=4,
        )


def place_labels(
    names: Sequence[str], spots: Sequence[tuple[float, float]], page: Rectangle
) -> list[Rectangle]:
    """Return the nearest free place of each label; the nearest of all where none is free."""
    chosen: list[Rectangle] = []
    for name, (x, y) in zip(names, spots, strict=True):
        places = list(list_places(x, y, name))
        taken = [square(spot, DOT if spot == (x, y) else REACH) for spot in spots]
        free = (
            place
            for place in places
            if page.holds(place) and not any(place.meets(other) for other in (*taken, *chosen))
        )
        chosen.append(next(free, places[0]))
    return chosen


def square(spot: tuple[float, float], half: float) -> Rectangle:
    x, y = spot
    return Rectangle(x - half, y - half, x + half, y + half)


def list_places(x: float, y: float, text: str) -> Iterator[Rectangle]:
    """Yield places for a label, the nearest first."""
    width, height = LETTER_WIDTH * LETTERS * len(text), 1.15 * LETTERS
    for radius, step in itertools.product(RADII, range(DIRECTIONS)):
        angle = 2 * math.pi * step / DIRECTIONS
        # The nearer edge of the label, not its middle, has this distance.
        centre_x = x + math.cos(angle) * (radius + width / 2)
        centre_y = y + math.sin(angle) * (radius + height / 2)
        yield Rectangle(
            centre_x - width / 2, centre_y - height / 2, centre_x + width / 2, centre_y + height / 2
        )
