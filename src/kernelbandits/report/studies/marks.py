"""Where the marks of a figure are, and what each of them is: shown under the pointer on a page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.formatting import format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MOST_MARKS = 20_000
"""Figures with more marks have no texts under the pointer: 20 000 of them are 1.2 MB."""


class Mark(NamedTuple):
    """A point of a figure that has a text."""

    x: float
    """The share of the width at its left, and ..."""
    y: float
    """... the share of the height above it."""
    text: str


def find_marks(figure: Figure) -> list[Mark]:
    """Return the marks of a figure that was drawn, and the cells of its maps.

    Marks come first: where one lies on a cell, it is the one that is meant.
    """
    # The bars of colours beside maps have no names.
    panels = [axis for axis in figure.axes if axis.get_xlabel()]
    named = [mark for axis in panels for mark in marks_of(figure, axis)]
    cells = [mark for axis in panels for mark in cells_of(figure, axis)]
    found = named if len(named) + len(cells) > MOST_MARKS else [*named, *cells]
    return found if len(found) <= MOST_MARKS else []


def marks_of(figure: Figure, axis: Axes) -> list[Mark]:
    """Return the points of a panel with a name in its legend: marks, marks with bars, curves."""
    found = []
    for what, points in list_points(axis):
        if not what.startswith("_"):
            texts = [f"{what}: {describe_place(axis, x, y)}" for x, y in points]
            found += place_marks(figure, axis, points, texts)
    return found


def list_points(axis: Axes) -> Iterator[tuple[str, Array]]:
    """Yield the name of each series of a panel, and its points.

    Dots and other marks come before curves, which pass through them.
    """
    from matplotlib.collections import PathCollection
    from matplotlib.container import ErrorbarContainer

    for dots in axis.collections:
        if isinstance(dots, PathCollection):
            yield str(dots.get_label()), np.asarray(dots.get_offsets(), dtype=float)
    bars = [one for one in axis.containers if isinstance(one, ErrorbarContainer)]
    names = {id(one.lines[0]): str(one.get_label()) for one in bars}
    for line in sorted(axis.lines, key=lambda one: one.get_marker() in ("", "None", None)):
        # Lines over the whole panel, and ticks at its foot, have other units.
        if line.get_transform() == axis.transData:
            points = np.asarray(line.get_xydata(), dtype=float)
            yield names.get(id(line), str(line.get_label())), points


def cells_of(figure: Figure, axis: Axes) -> list[Mark]:
    """Return the cells of a map, each with its value."""
    from matplotlib.collections import QuadMesh

    found = []
    for mesh in axis.collections:
        if isinstance(mesh, QuadMesh):
            corners = np.asarray(mesh.get_coordinates(), dtype=float)
            middle = (corners[:-1, :-1] + corners[1:, 1:]) / 2
            values = np.ma.asarray(mesh.get_array()).reshape(middle.shape[:2])
            there = ~np.ma.getmaskarray(values)
            what = axis.get_title(loc="left")
            texts = [
                f"{what} {format_number(float(value))}: {describe_place(axis, x, y)}"
                for value, (x, y) in zip(values[there], middle[there], strict=True)
            ]
            found += place_marks(figure, axis, middle[there], texts)
    return found


def place_marks(figure: Figure, axis: Axes, points: Any, texts: list[str]) -> list[Mark]:
    if not len(points):
        return []
    shares = axis.transData.transform(points) / (figure.bbox.width, figure.bbox.height)
    return [
        Mark(round(float(x), 4), round(1 - float(y), 4), text)
        for (x, y), text in zip(shares, texts, strict=True)
        if math.isfinite(x) and math.isfinite(y)
    ]


def describe_place(axis: Axes, x: float, y: float) -> str:
    """Say where a point is: its two coordinates, with the names of their axes."""
    sides = [(axis.xaxis, axis.get_xlabel(), x), (axis.yaxis, name_upwards(axis), y)]
    if axis.get_xlabel() == "trial" and not x.is_integer():
        # What is known now stands at the right of the last trial, and belongs to none.
        del sides[0]
    return ", ".join(f"{name} {format_on_axis(side, at)}".strip() for side, name, at in sides)


def name_upwards(axis: Axes) -> str:
    """Return the name of the y axis; of panels beside each other only the first has it."""
    figure = axis.get_figure()
    beside = [] if figure is None else figure.axes[: figure.axes.index(axis) + 1]
    return next((one.get_ylabel() for one in reversed(beside) if one.get_ylabel()), "")


def format_on_axis(side: Axis, value: float) -> str:
    """Write a number; or the name at its place, where an axis has names."""
    from matplotlib.ticker import FixedLocator

    locator = side.get_major_locator()
    if isinstance(locator, FixedLocator):
        places = np.asarray(locator())
        names = side.get_major_formatter().format_ticks(list(places))
        return names[int(np.abs(places - value).argmin())] if len(names) else ""
    return format_number(value)
