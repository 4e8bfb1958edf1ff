"""Regret curves with intervals; where there are too many to tell apart, a few in colour before the others in grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.experiment import Results
from kernelbandits.experiment.summary import half_width
from kernelbandits.report.figures.canvas import (
    draw_legend,
    drawing,
    grid_of,
    marker_of,
    save,
    style_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 120
"""How many rounds of a curve are drawn."""
GREY = "#C4C4C4"


def regret_figure(
    results: Results,
    labels: Sequence[str],
    path: Path,
    kind: str = "regret",
    others: Sequence[str] = (),
) -> str:
    """A panel for each problem: mean curves with their 95 % intervals over the seeds, the others' means in grey.

    Simple regrets of many policies are drawn without intervals, which would hide them.
    """
    problems, banded = results.problems, kind == "regret" or not others
    rows, columns = grid_of(len(problems) + 1)
    with drawing(rows, columns, (4.2 * columns, 3.3 * rows)) as (figure, grid):
        axes = list(grid.flat)
        for axis, problem in zip(axes, problems, strict=False):
            curves = {
                label: getattr(results[problem.name, label], kind) for label in (*labels, *others)
            }
            draw_curves(axis, {label: curves[label] for label in labels}, labels, banded)
            draw_others(axis, [curves[label] for label in others])
            name_axes(axis, problem.title, kind)
        means = "mean and 95 % interval" if banded else "mean"
        draw_legend(axes[len(problems)], axes[0], f"{means}, {len(results.cells[0].seeds)} seeds")
        for axis in axes[len(problems) + 1 :]:
            axis.set_axis_off()
        return save(figure, path)


def draw_curves(
    axis: Axes, curves: Mapping[str, Array], labels: Sequence[str], banded: bool = True
) -> None:
    for label, curve in curves.items():
        horizon = curve.shape[1]
        kept = drawn_rounds(horizon)
        mean, half = curve.mean(0)[kept], half_width(curve)[kept]
        style = style_of(labels, label)
        axis.plot(
            kept + 1,
            mean,
            label=label,
            lw=1.6,
            marker=marker_of(labels, label),
            markevery=max(1, len(kept) // 6),
            ms=4.5,
            **style,
        )
        if banded and np.isfinite(half).all():
            axis.fill_between(
                kept + 1, mean - half, mean + half, color=style["color"], alpha=0.18, lw=0
            )


def draw_others(axis: Axes, curves: Sequence[Array]) -> None:
    """Means only, behind the rest, with one line in the legend."""
    for number, curve in enumerate(curves):
        kept = drawn_rounds(curve.shape[1])
        name = None if number else f"the other {len(curves)}"
        axis.plot(kept + 1, curve.mean(0)[kept], color=GREY, lw=0.8, zorder=1, label=name)


def name_axes(axis: Axes, title: str, kind: str) -> None:
    """From zero on; simple regret against the logarithm of the round."""
    axis.set_title(title)
    axis.set_xlabel("round t")
    axis.set_ylabel({"regret": "cumulative regret", "simple": "simple regret"}[kind])
    axis.set_xlim(0, None)
    axis.set_ylim(0, None)
    if kind == "simple":
        axis.set_xscale("log")
        axis.minorticks_off()
        axis.set_xlim(1, None)


def drawn_rounds(horizon: int) -> Indices:
    """Evenly spaced rounds, and the first ones, which a logarithmic axis shows."""
    return np.union1d(
        np.arange(min(20, horizon)),
        np.linspace(0, horizon - 1, min(POINTS, horizon)).astype(np.int64),
    )
