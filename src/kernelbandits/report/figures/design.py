"""A designed law in pictures: the factor along its family, and the regret of each law against its factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbandits.experiment.designs import Comparison
from kernelbandits.report.figures.canvas import (
    PALETTE,
    Margins,
    draw_legend,
    drawing,
    grid_of,
    marker_of,
    plain_ticks,
    save,
    style_of,
)
from kernelbandits.theory.designer import FORMULAS, DesignedLaw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAPERS = {
    "bernoulli": ("paper: Ber(1/2), then Ber(1/4)", 0.375, " (at their mean)"),
    "gaussian": ("paper: N(0, 1)", 1.0, ""),
    "shifted-gaussian": ("paper: N(0, 1)", 1.0, ""),
    "categorical": ("paper: uniform on 1/4, ..., 1", 0.25, ""),
    "step": ("paper: Ber(1/2), then Ber(1/4)", 0.5, ""),
}
"""family -> the paper's choice, its place on the axis of the family, and what to say of the place"""
HIGHEST = 3.0
"""Factors so many times the least one that is marked are cut off."""
HEAD = 1.45
"""Room above the curve for the legend."""
WIDE = 5.0
"""Factors further apart than this are drawn on a logarithmic axis."""
UCB: dict[str, Any] = {"color": "#52606D", "lw": 1.0, "ls": (0, (4, 3))}


def design_figure(design: DesignedLaw, comparisons: Sequence[Comparison], path: Path) -> str:
    """The factor along the family; then for each problem played a panel of regret against factor, and a legend."""
    panels = 1 + (len(comparisons) + 1 if comparisons else 0)
    rows, columns = grid_of(panels)
    with drawing(rows, columns, (4.8 * columns, 3.9 * rows), Margins(left=0.75, below=0.6)) as (
        figure,
        grid,
    ):
        axes = list(grid.flat)
        draw_family(axes[0], design)
        for axis, comparison in zip(axes[1:], comparisons, strict=False):
            draw_comparison(axis, comparison)
        if comparisons:
            draw_legend(axes[panels - 1], axes[1], "mean regret, 95 % interval")
        for axis in axes[panels:]:
            axis.set_axis_off()
        return save(figure, path)


def draw_family(axis: Axes, design: DesignedLaw) -> None:
    """The curve with its least value, the paper's choice, and the level of UCB."""
    ucb, paper = design.alternatives[0].factor, papers_choice(design)
    marked = [design.factor, *([paper[1]] if paper else [])]
    top = max(HIGHEST * min(marked), 1.3 * max(marked))
    axis.plot(
        *zip(*(point for point in design.curve if point[1] <= top), strict=True),
        color=PALETTE[0],
        lw=1.8,
    )
    axis.axhline(ucb, label=f"UCB: {ucb:.4g}", **UCB)
    if paper:
        axis.plot(*paper[:2], "D", color=PALETTE[1], ms=6.5, ls="none", label=paper[2], zorder=3)
    least = f"least: {design.factor:.4g} at {design.parameter} = {design.value:.4g}"
    axis.plot(
        design.value,
        design.factor,
        "o",
        color=PALETTE[2],
        ms=8,
        ls="none",
        label=least,
        zorder=4,
        clip_on=False,
    )
    axis.set_ylim(0, HEAD * top)
    axis.set_xlabel(design.parameter)
    axis.set_ylabel(f"factor {FORMULAS[design.objective]}")
    limit = "" if design.budget is None else f", E|w| ≤ {design.budget:g}"
    axis.set_title(f"{design.family}, T = {design.horizon}{limit}")
    axis.legend(loc="upper center", frameon=False, fontsize=9)


def papers_choice(design: DesignedLaw) -> tuple[float, float, str] | None:
    """Its place on the axis of the family, its factor, and what to call it."""
    if design.family not in PAPERS:
        return None
    name, place, note = PAPERS[design.family]
    (row,) = (row for row in design.alternatives if row.name == name)
    beyond = (
        ", beyond the budget" if design.budget is not None and row.mean_abs > design.budget else ""
    )
    return place, row.factor, f"{name}{note}: {row.factor:.4g}{beyond}"


def draw_comparison(axis: Axes, comparison: Comparison) -> None:
    """A point for each law, its interval over the seeds as a bar."""
    names = [law.rated.name for law in comparison.laws]
    for law in comparison.laws:
        spread = law.regret.high - law.regret.mean
        style = {
            "color": style_of(names, law.rated.name)["color"],
            "marker": marker_of(names, law.rated.name),
        }
        bar = [spread] if math.isfinite(spread) else None
        place = [law.rated.factor], [law.regret.mean]
        axis.errorbar(*place, yerr=bar, ls="none", ms=7, capsize=3, label=law.rated.name, **style)
    factors = [law.rated.factor for law in comparison.laws]
    if max(factors) > WIDE * min(factors):
        low, high = min(factors) / 1.3, max(factors) * 1.3
        axis.set_xscale("log")
        axis.set_xticks(plain_ticks(low, high))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.minorticks_off()
        axis.set_xlim(low, high)
    axis.set_ylim(0, None)
    axis.set_xlabel("factor of the bound")
    axis.set_ylabel("cumulative regret")
    axis.set_title(
        f"{comparison.title}: rank correlation {comparison.correlation:+.2f}", fontsize=10.5
    )
