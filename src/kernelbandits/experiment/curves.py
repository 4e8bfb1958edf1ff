"""The regret curves of an experiment as a figure: a panel for each problem, a line for each policy.

Both kinds of regret are drawn as means with 95 % intervals, simple regret on logarithmic axes. Many
seeds may end at a simple regret of 0, and the mean is then that of a few seeds. So a column beside
each panel shows how many seeds end above 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.canvas import (
    LegendAbove,
    Margins,
    draw_legend,
    draw_panels,
    grid_of,
    legend_goes_above,
    line_height,
    marker_of,
    plain_ticks,
    save,
    style_of,
)
from kernelbandits.checks import Array, Indices
from kernelbandits.experiment.summary import half_width
from kernelbandits.formatting import format_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernelbandits.experiment.results import Results

KINDS = {"regret": "cumulative regret", "simple": "simple regret"}
POINTS = 120
"""How many rounds of a curve are drawn."""
GREY, STRIP = "#C4C4C4", "#F0F0F0"
PANEL_SIZE = 4.2, 3.3
"""Inches of a panel if no size is asked for; many policies make it higher (`panel_height`)."""
MARGINS = Margins(left=0.85, below=0.6, above=0.45)
LETTERS = 10.0
"""Points of the letters, before they shrink with the panels."""
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
    above = legend_goes_above(len(problems))
    rows, columns = grid_of(len(problems) + (not above))
    title = legend_title(kind, len(results.cells[0].seeds))
    named = [*labels, name_others(len(others))] if others else labels
    lines = 0 if above else len(title.splitlines()) + len(named)

    def legend_above(width: float, scale: float) -> LegendAbove | None:
        return LegendAbove(named, title, width, LETTERS * scale) if above else None

    natural_width, panel = PANEL_SIZE[0] * columns, panel_height(len(labels), lines)
    natural = natural_width, panel * rows + head_of(legend_above(natural_width, 1.0))
    least = least_panel(kind, len(labels))
    least_head = head_of(legend_above(least[0] * columns, LEAST_SCALE))
    width, height = natural if size is None else check_size(size, rows, columns, least, least_head)
    scale = min(1.0, max(LEAST_SCALE, min(width / natural[0], height / natural[1])))
    legend = legend_above(width, scale)
    margins, letters = replace(MARGINS.scale(scale), head=head_of(legend)), 0.0
    panel = (height - margins.head) / rows
    if kind == "simple":
        letters = column_letters(margins, (width / columns, panel), len(labels), scale)
        margins = replace(margins, right=margins.right + column_width(letters))
    with draw_panels(rows, columns, (width, height), margins, LETTERS * scale) as (figure, grid):
        axes = list(grid.flat)
        for axis, problem in zip(axes, problems, strict=False):
            curves = {label: getattr(results[problem.name, label], kind) for label in labels}
            grey = [getattr(results[problem.name, label], kind) for label in others]
            (draw_regret if kind == "regret" else draw_simple)(axis, curves, grey, scale)
            axis.set_title(problem.title)
            axis.set_xlabel("round t")
            axis.set_ylabel(KINDS[kind])
            if kind == "simple":
                draw_seeds_above_zero(axis, curves, letters)
        if legend:
            legend.draw(figure, axes[0])
        else:
            fitting = panel / line_height(1.0) / lines
            draw_legend(axes[len(problems)], axes[0], title, min(LETTERS * scale, fitting))
        for axis in axes[len(problems) + 1 :]:
            axis.set_axis_off()
        return save(figure, path, formats)


def head_of(legend: LegendAbove | None) -> float:
    """Return the inches above the panels."""
    return legend.height if legend else 0.0


def check_size(
    size: tuple[float, float], rows: int, columns: int, panel: tuple[float, float], head: float
) -> tuple[float, float]:
    """Return width and height in inches, if each panel and the legend above have the space."""
    numbers = len(size) == 2 and all(checks.is_number(inches) for inches in size)
    checks.needs(numbers, "a figure", "a size of two numbers, width and height in inches", size)
    needed = panel[0] * columns, panel[1] * rows + head
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


def least_panel(kind: str, policies: int) -> tuple[float, float]:
    """Return the least width and height of a panel, in inches, for its labels and its column."""
    if kind == "regret":
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


def legend_title(kind: str, seeds: int) -> str:
    title = f"mean and 95 % interval\n{format_count(seeds, 'seed')}"
    if kind == "regret":
        return title
    return f"{title}\nshaded strip: exactly 0\nright: seeds that end above 0"


def draw_regret(
    axis: Axes, curves: Mapping[str, Array], others: Sequence[Array], scale: float
) -> None:
    """Draw means with their 95 % intervals, cut at zero; the means of the others in grey."""
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
    """Draw means with their 95 % intervals on logarithmic axes; the means of the others in grey.

    A logarithmic axis has no zero, and simple regret often is exactly zero. A mean of zero, which
    says that every seed is there, is drawn in a strip below the axis, each policy at a height of
    its own so that none hides another. An interval that reaches zero ends at the bottom of it.
    """
    horizon = next(iter(curves.values())).shape[1]
    kept = log_spaced_rounds(horizon, POINTS) - 1
    means = [curve.mean(0)[kept] for curve in curves.values()]
    halves = [half_width(curve)[kept] for curve in curves.values()]
    grey = [curve.mean(0)[kept] for curve in others]
    lows = [mean - half for mean, half in zip(means, halves, strict=True)]
    highs = [mean + half for mean, half in zip(means, halves, strict=True)]
    drawn = np.concatenate([*means, *grey])
    low, high = value_range(drawn, np.concatenate([*lows, *highs]))
    reach_zero = (np.concatenate([drawn, *lows]) <= 0).any()
    strip = STRIP_SHARE * math.log10(high / low) if reach_zero else 0.0
    bottom = low * 10**-strip
    for place, label in enumerate(curves):
        height = low * 10 ** (-strip * (place + 1) / (len(means) + 1))
        mean, half = means[place], halves[place]
        draw_line(axis, list(curves), label, kept, np.where(mean > 0, mean, height), scale)
        if np.isfinite(half).all():
            least = np.where(lows[place] > 0, low, bottom)
            ends = np.maximum(lows[place], least), np.maximum(highs[place], least)
            colour = style_of(list(curves), label)["color"]
            axis.fill_between(kept + 1, *ends, where=half > 0, color=colour, alpha=0.12, lw=0)
    for place, mean in enumerate(grey):
        line = np.where(mean > 0, mean, bottom)
        axis.plot(kept + 1, line, **grey_style(place, len(grey)))
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


def value_range(values: Array, ends: Array) -> tuple[float, float]:
    """Return the whole decades around the positive values and the ends of their intervals.

    A lower end may be as near to zero as it likes: below a tenth of the least value it is left out.
    """
    positive = values[values > 0]
    if not len(positive):
        return 0.1, 1.0
    near = np.isfinite(ends) & (ends >= positive.min() / 10)
    shown = np.concatenate([positive, ends[near]])
    least, most = math.floor(np.log10(shown.min())), math.ceil(np.log10(shown.max()))
    return 10.0**least, 10.0 ** max(most, least + 1)


def draw_seeds_above_zero(axis: Axes, curves: Mapping[str, Array], letters: float) -> None:
    """Write beside a panel how many seeds of each policy end above 0, such as 8/20."""
    handles, labels = axis.get_legend_handles_labels()
    lines = dict(zip(labels, handles, strict=True))
    counts = {
        label: f"{np.count_nonzero(curve[:, -1] > 0)}/{len(curve)}"
        for label, curve in curves.items()
    }
    axis.legend(
        [lines[label] for label in counts],
        list(counts.values()),
        title="seeds > 0",
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        fontsize=letters,
        title_fontsize=letters,
        handlelength=1.2,
        handletextpad=0.4,
        labelspacing=0.4,
        borderpad=0.2,
        borderaxespad=0.2,
        frameon=False,
    )


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


def name_others(count: int) -> str:
    """Return the name of all grey lines in the legend."""
    return f"the other {count}"


def grey_style(place: int, count: int) -> dict[str, Any]:
    """Return the style of a thin grey line; the first of them stands for all in the legend."""
    label = None if place else name_others(count)
    return {"color": GREY, "lw": 0.8, "zorder": 1, "label": label}


def log_spaced_rounds(horizon: int, count: int) -> Indices:
    """Return at most `count` rounds from 1 to T, evenly spaced on a logarithmic axis."""
    return np.unique(np.geomspace(1, horizon, count).round().astype(np.int64))
