"""The sensitivity map, and the effects of R and of the ridge apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.analysis.sensitivity import RIDGE_ONE, ByRidge, Effects
from kernelbandits.canvas import (
    LegendAbove,
    Margins,
    draw_legend,
    draw_panels,
    grid_of,
    legend_goes_above,
    marker_of,
    plain_ticks,
    save,
    style_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERDICT_COLOURS = {
    "holds": "#4CAF7D",
    "fails": "#D9604C",
    "not resolved": "#E8C664",
    "not tested": "#DDDDDD",
}
WIDE, NARROW, MANY_COLUMNS = 0.5, 0.34, 20
"""The width of a column in inches, if there are few or many of them."""
MAP_MARGINS = Margins(left=3.2, below=1.35, above=0.75)
READING_MARGINS = Margins(left=1.8, below=1.6, above=0.75)
"""Readings have longer names than settings, and claims without problems shorter ones."""
RIDGES = "solid: ridge 1, dotted: ridge R²\nIGP-UCB, GP-TS: ridge 1 + 2/T"
VERDICT_SIGNS = {"holds": "✓", "fails": "✗", "not resolved": "?", "not tested": "–"}


def map_figure(
    rows: Mapping[str, Sequence[str]],
    columns: Sequence[tuple[str, str]],
    path: Path,
    margins: Margins = MAP_MARGINS,
) -> str:
    """Draw a row for each claim and problem, and a column (group, name) for each setting."""
    from matplotlib.patches import Patch

    across = WIDE if len(columns) <= MANY_COLUMNS else NARROW
    size = (
        across * len(columns) + margins.left + 0.3,
        0.34 * len(rows) + margins.above + margins.below,
    )
    with draw_panels(1, 1, size, margins) as (figure, grid):
        axis = grid[0, 0]
        for y, verdicts in enumerate(rows.values()):
            for x, verdict in enumerate(verdicts):
                axis.add_patch(field_of(x, y, verdict))
                axis.text(
                    x,
                    y,
                    VERDICT_SIGNS[verdict],
                    ha="center",
                    va="center",
                    color="#222222",
                    fontsize=10,
                )
        draw_groups(axis, [group for group, _ in columns])
        axis.set_xlim(-0.5, len(columns) - 0.5)
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.set_xticks(range(len(columns)), [name for _, name in columns], rotation=90)
        axis.set_yticks(range(len(rows)), list(rows))
        axis.tick_params(length=0)
        axis.grid(False)
        axis.spines[:].set_visible(False)
        handles = [Patch(color=colour, label=name) for name, colour in VERDICT_COLOURS.items()]
        figure.legend(handles=handles, loc="upper center", ncols=4, frameon=False)
        return save(figure, path)


def draw_groups(axis: Axes, groups: Sequence[str]) -> None:
    """Write the name of each run of columns above it, and draw a line between two runs."""
    for group in dict.fromkeys(groups):
        first, size = groups.index(group), groups.count(group)
        axis.text(first + (size - 1) / 2, -0.75, group, ha="center", va="bottom", fontweight="bold")
        if first:
            axis.axvline(first - 0.5, color="#222222", lw=2)


def field_of(x: int, y: int, verdict: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.47, y - 0.47), 0.94, 0.94, color=VERDICT_COLOURS[verdict])


def effects_figure(effects: Effects, noise_scales: Sequence[float], path: Path) -> str:
    """Draw regret against R, solid at ridge 1 and dotted at ridge R^2, to separate two effects."""
    above = legend_goes_above(len(effects))
    rows, columns = grid_of(len(effects) + (not above))
    names = [label for policies in effects.values() for label in policies]
    legend = LegendAbove(list(dict.fromkeys(names)), RIDGES, 4.2 * columns, 10.0)
    margins = Margins(head=legend.height if above else 0.0)
    size = 4.2 * columns, 3.3 * rows + margins.head
    with draw_panels(rows, columns, size, margins) as (figure, grid):
        axes = list(grid.flat)
        for axis, (title, policies) in zip(axes, effects.items(), strict=False):
            draw_effects(axis, policies, noise_scales)
            axis.set_title(title)
            axis.set_xlabel("noise scale R given to the policies")
            axis.set_ylabel("mean regret at T")
        if above:
            legend.draw(figure, axes[0])
        else:
            draw_legend(axes[len(effects)], axes[0], RIDGES)
        for axis in axes[len(effects) + 1 :]:
            axis.set_axis_off()
        return save(figure, path)


def draw_effects(
    axis: Axes, policies: Mapping[str, ByRidge], noise_scales: Sequence[float]
) -> None:
    labels = list(policies)
    for label, by_ridge in policies.items():
        for ridge, estimates in by_ridge.items():
            means, low, high = np.array(estimates).T
            solid = ridge == RIDGE_ONE
            bars = np.where(np.isfinite(high), [means - low, high - means], 0.0)
            axis.errorbar(
                noise_scales,
                means,
                yerr=bars,
                color=style_of(labels, label)["color"],
                marker=marker_of(labels, label),
                ms=5,
                lw=1.5,
                elinewidth=0.8,
                ls="-" if solid else ":",
                mfc=None if solid else "white",
                label=label if solid else None,
            )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(noise_scales, [f"{r:g}" for r in noise_scales])
    # An interval that reaches zero has no end on a logarithmic axis: the means decide the limits.
    drawn = [
        one.value for by_ridge in policies.values() for row in by_ridge.values() for one in row
    ]
    low, high = min(drawn) / 1.6, max(drawn) * 1.6
    axis.set_ylim(low, high)
    axis.set_yticks(plain_ticks(low, high))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
