"""Figures: regret curves with intervals, the sensitivity map, the effects of R and of the ridge."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.experiment import Results
from kernelbandits.experiment.summary import half_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000", "#E69F00", "#999999")
"""Okabe and Ito's colours, which colour-blind readers tell apart."""
STROKES = ("-", "-", "-", "-", "--", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
VERDICT_COLOURS = {"holds": "#4CAF7D", "fails": "#D9604C", "not resolved": "#E8C664", "not judged": "#DDDDDD"}
VERDICT_SIGNS = {"holds": "✓", "fails": "✗", "not resolved": "?", "not judged": "–"}
PLAIN_TICKS = [digit * 10.0**power for power in range(-3, 6) for digit in (1, 2, 5)]
POINTS = 120
"""How many rounds of a curve are drawn."""


def available() -> bool:
    """Figures need matplotlib, which the extra `experiments` brings."""
    return find_spec("matplotlib") is not None


@dataclass(frozen=True)
class Margins:
    """Inches around a panel: tick and axis labels at the left and below, the title above."""

    left: float = 0.65
    below: float = 0.5
    above: float = 0.4
    right: float = 0.15

    def shares(self, size: tuple[float, float], rows: int, columns: int) -> dict[str, float]:
        """The same as shares of a figure of that size, as matplotlib wants them."""
        width, height = size
        across, between = self.left + self.right, self.above + self.below
        return {
            "left": self.left / width,
            "right": 1 - self.right / width,
            "bottom": self.below / height,
            "top": 1 - self.above / height,
            "wspace": across / (width / columns - across),
            "hspace": between / (height / rows - between),
        }


PANEL = Margins()


@contextmanager
def drawing(
    rows: int, columns: int, size: tuple[float, float], margins: Margins = PANEL
) -> Iterator[tuple[Figure, Any]]:
    """A figure on the file back end; the caller's own matplotlib settings stay untouched."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style: Any = {
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#E6E6E6",
        "svg.hashsalt": "kernelbandits",
        "svg.fonttype": "none",
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=size)
        FigureCanvasAgg(figure)
        yield (
            figure,
            figure.subplots(rows, columns, squeeze=False, gridspec_kw=margins.shares(size, rows, columns)),
        )


def style_of(labels: Sequence[str], label: str) -> dict[str, Any]:
    place = labels.index(label)
    return {"color": PALETTE[place % len(PALETTE)], "linestyle": STROKES[place % len(STROKES)]}


def marker_of(labels: Sequence[str], label: str) -> str:
    return MARKERS[labels.index(label) % len(MARKERS)]


def save(figure: Figure, path: Path) -> str:
    """PNG and SVG beside each other; the SVG's text."""
    figure.savefig(path.with_suffix(".png"), dpi=140)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    path.with_suffix(".svg").write_text(text.getvalue())
    return text.getvalue()


def regret_figure(results: Results, labels: Sequence[str], path: Path, kind: str = "regret") -> str:
    """A panel for each problem: the mean curve of each policy and its 95 % interval over the seeds."""
    problems = results.problems
    columns = min(3, len(problems) + 1)
    rows = -(-(len(problems) + 1) // columns)
    with drawing(rows, columns, (4.2 * columns, 3.3 * rows)) as (figure, grid):
        axes = list(grid.flat)
        for axis, problem in zip(axes, problems, strict=False):
            curves = {label: getattr(results[problem.name, label], kind) for label in labels}
            draw_curves(axis, curves, labels)
            axis.set_title(problem.title)
            axis.set_xlabel("round t")
            axis.set_ylabel({"regret": "cumulative regret", "simple": "simple regret"}[kind])
            if kind == "simple":
                axis.set_xscale("log")
                axis.minorticks_off()
                axis.set_xlim(1, None)
        draw_legend(axes[len(problems)], axes[0], f"mean and 95 % interval, {len(results.cells[0].seeds)} seeds")
        for axis in axes[len(problems) + 1 :]:
            axis.set_axis_off()
        return save(figure, path)


def draw_curves(axis: Axes, curves: Mapping[str, Array], labels: Sequence[str]) -> None:
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
        if np.isfinite(half).all():
            axis.fill_between(kept + 1, mean - half, mean + half, color=style["color"], alpha=0.18, lw=0)
    axis.set_xlim(0, None)
    axis.set_ylim(0, None)


def drawn_rounds(horizon: int) -> Indices:
    """Evenly spaced rounds, and the first ones, which a logarithmic axis shows."""
    return np.union1d(np.arange(min(20, horizon)), np.linspace(0, horizon - 1, min(POINTS, horizon)).astype(np.int64))


def draw_legend(axis: Axes, source: Axes, title: str) -> None:
    axis.set_axis_off()
    axis.legend(*source.get_legend_handles_labels(), loc="center", title=title, frameon=False, fontsize=10)


def map_figure(rows: Mapping[str, Sequence[str]], columns: Sequence[tuple[str, str]], path: Path) -> str:
    """A row for each claim and problem, a column for each setting (group and name), a verdict in each field."""
    from matplotlib.patches import Patch

    margins = Margins(left=3.2, below=1.35, above=0.75)
    size = 0.5 * len(columns) + margins.left + 0.3, 0.34 * len(rows) + margins.above + margins.below
    with drawing(1, 1, size, margins) as (figure, grid):
        axis = grid[0, 0]
        for y, verdicts in enumerate(rows.values()):
            for x, verdict in enumerate(verdicts):
                axis.add_patch(field_of(x, y, verdict))
                axis.text(x, y, VERDICT_SIGNS[verdict], ha="center", va="center", color="#222222", fontsize=10)
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
    """The name of each run of columns above it, and a line between two runs."""
    for group in dict.fromkeys(groups):
        first, size = groups.index(group), groups.count(group)
        axis.text(first + (size - 1) / 2, -0.75, group, ha="center", va="bottom", fontweight="bold")
        if first:
            axis.axvline(first - 0.5, color="#222222", lw=2)


def field_of(x: int, y: int, verdict: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.47, y - 0.47), 0.94, 0.94, color=VERDICT_COLOURS[verdict])


ByRidge = dict[str, list[tuple[float, float]]]
"""\"ridge 1\" or \"ridge R²\" -> mean regret and the half width of its interval at each R"""
Effects = Mapping[str, Mapping[str, ByRidge]]
"""problem title -> policy -> by ridge"""


def effects_figure(effects: Effects, noise_scales: Sequence[float], path: Path) -> str:
    """Regret against R; solid at ridge 1, dotted at ridge R^2, so that the two effects are seen apart."""
    columns = min(3, len(effects) + 1)
    rows = -(-(len(effects) + 1) // columns)
    with drawing(rows, columns, (4.2 * columns, 3.3 * rows)) as (figure, grid):
        axes = list(grid.flat)
        for axis, (title, policies) in zip(axes, effects.items(), strict=False):
            draw_effects(axis, policies, noise_scales)
            axis.set_title(title)
            axis.set_xlabel("noise scale R given to the policies")
            axis.set_ylabel("mean regret at T")
        draw_legend(axes[len(effects)], axes[0], "solid: ridge 1, dotted: ridge R²\n(IGP-UCB, GP-TS: 1 + 2/T)")
        for axis in axes[len(effects) + 1 :]:
            axis.set_axis_off()
        return save(figure, path)


def draw_effects(axis: Axes, policies: Mapping[str, ByRidge], noise_scales: Sequence[float]) -> None:
    labels = list(policies)
    for label, by_ridge in policies.items():
        for ridge, pairs in by_ridge.items():
            means, halves = (np.array(column) for column in zip(*pairs, strict=True))
            solid = ridge == "ridge 1"
            axis.errorbar(
                noise_scales,
                means,
                yerr=np.where(np.isfinite(halves), halves, 0.0),
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
    low, high = axis.get_ylim()
    axis.set_yticks([tick for tick in PLAIN_TICKS if low <= tick <= high])
    axis.yaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
