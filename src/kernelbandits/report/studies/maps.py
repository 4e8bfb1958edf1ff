"""Maps of the estimates and their sd over two columns or two principal components."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import Margins
from kernelbandits.checks import Array, Indices
from kernelbandits.report.studies.columns import (
    is_long,
    label_x_axis,
    label_y_axis,
    markers,
    positions,
)
from kernelbandits.report.studies.curves import CROWD, MANY
from kernelbandits.report.studies.sheets import Drawing, legend_above, make_printable, shorten
from kernelbandits.report.studies.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAPS = Margins(left=0.85, below=0.6, above=0.3, right=0.55, head=0.35)
RINGS = "Black rings are measured candidates."
HALF, FINEST = 0.5 - 1e-9, 6
"""The least share of variance and of distinct places, and the digits that make places distinct."""
LOADINGS = 4
"""The most columns that are written for one component."""


def describe_maps(view: View) -> str:
    return f"Estimate of {view.target} (left) and its standard deviation (right)"


def two_columns(view: View, across: str, up: str) -> Drawing:
    caption = f"{describe_maps(view)} at every candidate, over {across} and {up}. {RINGS}"
    return column_map(view, "Posterior", caption, across, up, np.arange(len(view.estimates)))


def slice_map(view: View, across: str, up: str) -> Drawing:
    """Draw a map over two columns of numbers, at the categories of the likely best."""
    centre = int(view.ranking[0]) if view.best is None else view.best
    others = {name: view.texts(name) for name in view.columns if name not in (across, up)}
    same = [
        all(texts[place] == texts[centre] for texts in others.values())
        for place in range(len(view.estimates))
    ]
    where = ", ".join(f"{name} = {texts[centre]}" for name, texts in others.items())
    whose = "the first candidate" if view.best is None else "the likely best"
    caption = (
        f"{describe_maps(view)} over {across} and {up}, at the candidates with the categories of "
        f"{whose}: {where}. {RINGS}"
    )
    return column_map(
        view, "Posterior at fixed categories", caption, across, up, np.flatnonzero(same)
    )


def column_map(
    view: View, title: str, caption: str, across: str, up: str, places: Indices
) -> Drawing:
    """Draw a map over two columns, which are numbers or categories."""
    flat = np.column_stack([positions(view, across), positions(view, up)])

    def draw(part: Any, grid: Any) -> None:
        draw_maps(view, flat, (shorten(across, 44), shorten(up, 34)), places, part, grid)
        for axis in grid.flat:
            label_x_axis(axis, view, across)
            label_y_axis(axis, view, up)

    left = 1.6 if view.candidates.kinds[up] == "category" else MAPS.left
    below = 1.15 if is_long(view, across) else MAPS.below
    return Drawing(
        title, caption, 4.3, draw, columns=2, margins=replace(MAPS, left=left, below=below)
    )


def principal_map(view: View) -> Drawing:
    flat, shares, loadings = principal_components(view.candidates.points[view.estimates.row])
    names = [
        f"component {number + 1} ({100 * share:.0f} % of the variance)"
        for number, share in enumerate(shares)
    ]
    spelled = "; ".join(
        f"component {i + 1} = {spell_loading(view, one)}" for i, one in enumerate(loadings)
    )
    caption = (
        f"{describe_maps(view)} at every candidate, over the first two principal components of "
        f"the columns as the model uses them (numbers scaled to [0, 1]): {spelled}. {RINGS}"
    )
    draw = partial(draw_maps, view, flat, (names[0], names[1]), np.arange(len(view.estimates)))
    return Drawing("Posterior by principal components", caption, 4.3, draw, columns=2, margins=MAPS)


def is_informative(view: View) -> bool:
    """Whether two components hold half of the variance and separate most candidates."""
    flat, shares, _ = principal_components(view.candidates.points[view.estimates.row])
    apart = len(np.unique(flat.round(FINEST), axis=0))
    return bool(shares.sum() > HALF and apart > HALF * len(flat))


def principal_components(points: Array) -> tuple[Array, Array, Array]:
    """Return coordinates, shares of the variance and loadings of the first two components.

    An eigenvector has no sign of its own. The largest loading is made positive, so that the same
    points always give the same map.
    """
    centred = points - points.mean(0)
    spread, axes = np.linalg.eigh(centred.T @ centred)
    shares, loadings = spread[::-1] / max(spread.sum(), np.finfo(float).tiny), axes.T[::-1]
    loadings *= np.sign(np.take_along_axis(loadings, np.abs(loadings).argmax(1)[:, None], 1))
    return centred @ loadings[:2].T, shares[:2], loadings[:2]


def spell_loading(view: View, loading: Array) -> str:
    """Write a component as a sum of columns, the largest loading first: 0.71 Cs - 0.71 FA."""
    names = coordinates(view)
    order = np.argsort(-np.abs(loading), kind="stable")[:LOADINGS]
    terms = [
        f"{'-' if loading[i] < 0 else '+'} {abs(loading[i]):.2f} {names[i]}"
        for i in order
        if abs(loading[i]) >= 0.005
    ]
    return " ".join(terms).removeprefix("+ ") + (" + …" if len(names) > LOADINGS else "")


def coordinates(view: View) -> list[str]:
    """Name the coordinates of the points: a number column, or one value of a category."""
    names: list[str] = []
    for column in view.columns:
        if view.candidates.kinds[column] == "number":
            name = f"log10({column})" if column in view.candidates.log else column
            names.append(make_printable(name))
        else:
            names += [
                make_printable(f"[{column} = {value}]")
                for value in dict.fromkeys(view.texts(column))
            ]
    return names


def draw_maps(
    view: View, flat: Array, names: tuple[str, str], places: Indices, part: Any, grid: Any
) -> None:
    """Draw the mean and the sd of the candidates at these places."""
    from matplotlib.ticker import MaxNLocator

    estimates = view.estimates
    axes = list(grid.flat)
    for axis, values, title, colours in (
        (axes[0], estimates.mean, f"{shorten(view.target, 18)}, estimate", "viridis"),
        (axes[1], estimates.sd, "its standard deviation", "cividis"),
    ):
        bar = part.colorbar(
            draw_map(axis, flat[places], values[places], colours), ax=axis, fraction=0.05, pad=0.02
        )
        bar.outline.set_visible(False)
        bar.locator = MaxNLocator(5)
        bar.formatter.set_powerlimits((-3, 4))
        bar.update_ticks()
        mark_candidates(axis, view, flat, places)
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_xlabel(names[0])
    axes[0].set_ylabel(names[1])
    legend_above(part, axes, 6)


def draw_map(axis: Axes, flat: Array, values: Array, colours: str) -> Any:
    size = float(np.clip(60_000 / len(flat), 5, 70))
    axis.margins(0.06)
    look: Any = {
        "s": size,
        "cmap": colours,
        "linewidths": 0,
        "rasterized": len(flat) > MANY,
        "zorder": 2,
    }
    return axis.scatter(flat[:, 0], flat[:, 1], c=values, **look)


def mark_candidates(axis: Axes, view: View, flat: Array, places: Indices) -> None:
    measured = np.intersect1d(np.flatnonzero(view.estimates.results), places)
    if len(measured):
        size = 9 if len(measured) <= CROWD else 4
        look: Any = {
            "ms": size,
            "mfc": "none",
            "mec": "black",
            "mew": 1.1,
            "label": "measured",
            "zorder": 4,
        }
        axis.plot(*flat[measured].T, "o", rasterized=len(measured) > MANY, **look)
    for marks, style in markers(view):
        axis.plot(*flat[np.intersect1d(marks, places)].T, ls="none", **style)
