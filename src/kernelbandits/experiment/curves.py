"""The regret curves of an experiment as a figure: a panel for each problem, a line for each policy.

Cumulative regret is drawn as means with 95 % intervals. Simple regret is drawn as medians on
logarithmic axes and without intervals: those of several policies would cover each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.canvas import (
    Margins,
    draw_legend,
    drawing,
    grid_of,
    marker_of,
    plain_ticks,
    save,
    style_of,
)
from kernelbandits.checks import Array, Indices
from kernelbandits.experiment.summary import half_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernelbandits.experiment.results import Results

KINDS = {"regret": "cumulative regret", "simple": "simple regret"}
POINTS = 120
"""How many rounds of a curve are drawn."""
GREY, STRIP = "#C4C4C4", "#F0F0F0"
PANEL_SIZE = 4.2, 3.3
"""Inches of a panel if no size is asked for."""
MARGINS = Margins(left=0.85, below=0.6, above=0.45)
LEAST_SCALE = 0.7
"""Letters and lines shrink with the panels, down to this share of 10 points."""
LEAST_PANEL = 1.2
"""Inches below which a panel has no space for its labels."""
STRIP_SHARE = 0.22
"""Height of the strip for zeros, as a share of the logarithmic axis above it."""


def regret_figure(
    results: Results,
    labels: Sequence[str],
    path: Path,
    kind: str = "regret",
    others: Sequence[str] = (),
    size: tuple[float, float] | None = None,
    formats: Sequence[str] = ("png", "svg"),
) -> str:
    """Draw the curves of `labels` in colour, those of `others` in grey; return the text of the SVG.

    `size` is the width and height in inches; smaller figures get smaller letters.
    """
    checks.one_of("a figure", "kind", kind, KINDS)
    problems = results.problems
    rows, columns = grid_of(len(problems) + 1)
    natural = PANEL_SIZE[0] * columns, PANEL_SIZE[1] * rows
    width, height = natural if size is None else check_size(size, rows, columns)
    scale = min(1.0, max(LEAST_SCALE, min(width / natural[0], height / natural[1])))
    margins = MARGINS.scale(scale)
    with drawing(rows, columns, (width, height), margins, 10 * scale) as (figure, grid):
        axes = list(grid.flat)
        for axis, problem in zip(axes, problems, strict=False):
            curves = {label: getattr(results[problem.name, label], kind) for label in labels}
            grey = [getattr(results[problem.name, label], kind) for label in others]
            (draw_regret if kind == "regret" else draw_simple)(axis, curves, grey, scale)
            axis.set_title(problem.title)
            axis.set_xlabel("round t")
            axis.set_ylabel(KINDS[kind])
        draw_legend(axes[len(problems)], axes[0], legend_title(kind, len(results.cells[0].seeds)))
        for axis in axes[len(problems) + 1 :]:
            axis.set_axis_off()
        return save(figure, path, formats)


def check_size(size: tuple[float, float], rows: int, columns: int) -> tuple[float, float]:
    """Width and height in inches, with enough space for the panels."""
    numbers = len(size) == 2 and all(checks.is_number(inches) for inches in size)
    checks.needs(numbers, "a figure", "a size of two numbers, width and height in inches", size)
    least = LEAST_PANEL * columns, LEAST_PANEL * rows
    fits = all(least[side] <= size[side] < math.inf for side in (0, 1))
    needed = f"a size of at least {least[0]:g} x {least[1]:g} inches for its {rows} x {columns}"
    checks.needs(fits, "a figure", f"{needed} panels", f"{size[0]:g} x {size[1]:g}")
    return size


def legend_title(kind: str, seeds: int) -> str:
    if kind == "regret":
        return f"mean and 95 % interval\n{seeds} seeds"
    return f"median, {seeds} seeds\nshaded strip: exactly 0"


def draw_regret(
    axis: Axes, curves: Mapping[str, Array], others: Sequence[Array], scale: float
) -> None:
    """Means with their 95 % intervals, cut at zero; the means of the others in grey."""
    for label, curve in curves.items():
        kept = np.linspace(0, curve.shape[1] - 1, min(POINTS, curve.shape[1])).astype(np.int64)
        mean, half = curve.mean(0)[kept], half_width(curve)[kept]
        draw_line(axis, list(curves), label, kept, mean, scale)
        if np.isfinite(half).all():
            low, colour = np.maximum(mean - half, 0.0), style_of(list(curves), label)["color"]
            axis.fill_between(kept + 1, low, mean + half, color=colour, alpha=0.18, lw=0)
    for place, curve in enumerate(others):
        axis.plot(1 + np.arange(curve.shape[1]), curve.mean(0), **grey_style(place, len(others)))
    axis.set_xlim(0, None)
    axis.set_ylim(0, None)


def draw_simple(
    axis: Axes, curves: Mapping[str, Array], others: Sequence[Array], scale: float
) -> None:
    """Medians on logarithmic axes.

    A logarithmic axis has no zero, and simple regret often is exactly zero. Zeros are drawn in a
    strip below the axis, each policy at a height of its own so that none hides another.
    """
    horizon = next(iter(curves.values())).shape[1]
    kept = log_spaced_rounds(horizon, POINTS) - 1
    medians = [np.median(curve, axis=0)[kept] for curve in curves.values()]
    grey = [np.median(curve, axis=0)[kept] for curve in others]
    values = np.concatenate(medians + grey)
    low, high = value_range(values)
    strip = STRIP_SHARE * math.log10(high / low) if (values == 0).any() else 0.0
    for place, (label, median) in enumerate(zip(curves, medians, strict=True)):
        height = low * 10 ** (-strip * (place + 1) / (len(medians) + 1))
        drawn = np.where(median > 0, median, height)
        draw_line(axis, list(curves), label, kept, drawn, scale)
    bottom = low * 10**-strip
    for place, median in enumerate(grey):
        drawn = np.where(median > 0, median, bottom)
        axis.plot(kept + 1, drawn, **grey_style(place, len(grey)))
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.minorticks_off()
    axis.set_xlim(1, max(horizon, 2))
    ticks = {tick: f"{tick:g}" for tick in plain_ticks(low, high, most=6)}
    if strip:
        axis.axhspan(bottom, low, color=STRIP, lw=0, zorder=0)
        ticks[low * 10 ** (-strip / 2)] = "0"
    axis.set_yticks(list(ticks), list(ticks.values()))
    axis.set_ylim(bottom, high)


def value_range(values: Array) -> tuple[float, float]:
    """The whole decades around the positive values."""
    positive = values[values > 0]
    if not len(positive):
        return 0.1, 1.0
    least, most = math.floor(np.log10(positive.min())), math.ceil(np.log10(positive.max()))
    return 10.0**least, 10.0 ** max(most, least + 1)


def draw_line(
    axis: Axes, labels: Sequence[str], label: str, kept: Indices, values: Array, scale: float
) -> None:
    axis.plot(
        kept + 1,
        values,
        label=label,
        lw=1.6 * scale,
        marker=marker_of(labels, label),
        markevery=max(1, len(kept) // 6),
        ms=4.5 * scale,
        **style_of(labels, label),
    )


def grey_style(place: int, count: int) -> dict[str, Any]:
    """A thin grey line; the first of them stands for all in the legend."""
    label = None if place else f"the other {count}"
    return {"color": GREY, "lw": 0.8, "zorder": 1, "label": label}


def log_spaced_rounds(horizon: int, count: int) -> Indices:
    """At most `count` rounds from 1 to T that are evenly spaced on a logarithmic axis."""
    return np.unique(np.geomspace(1, horizon, count).round().astype(np.int64))
