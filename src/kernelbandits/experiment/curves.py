"""The regret curves of an experiment as a figure: a panel for each problem, a line for each policy.

Both kinds of regret are drawn as means with 95 % intervals, simple regret on logarithmic axes. Many
seeds may end at a simple regret of 0, and the mean is then that of a few seeds. So a column beside
each panel shows how many seeds end above 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kernelbandits import checks
from kernelbandits.canvas import marker_of, plain_ticks, style_of
from kernelbandits.checks import Array, Indices
from kernelbandits.experiment.layout import FigureShape, draw_figure
from kernelbandits.experiment.summary import half_width
from kernelbandits.formatting import format_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kernelbandits.experiment.results import Results

AS_IT_COMES = FigureShape()
BOUND = "proved bound"
KINDS = {"regret": "cumulative regret", "simple": "simple regret"}
POINTS = 120
"""How many rounds of a curve are drawn."""
GREY, STRIP = "#C4C4C4", "#F0F0F0"
STRIP_SHARE = 0.22
"""Height of the strip for zeros, as a share of the logarithmic axis above it."""


class Bounded(Protocol):
    """What a figure reads of a guarantee (`kernelbandits.analysis.guarantees`)."""

    @property
    def policy(self) -> str: ...
    @property
    def horizons(self) -> Indices: ...
    @property
    def proved(self) -> Any:
        """Bounds with a `value` at each horizon, or the sentence why there are none."""
        ...


Bounds = Mapping[str, Sequence[Bounded]]
"""problem -> the guarantees of its policies"""


@contextmanager
def regret_figure(
    results: Results,
    labels: Sequence[str],
    kind: str = "regret",
    others: Sequence[str] = (),
    shape: FigureShape = AS_IT_COMES,
    bounds: Bounds | None = None,
) -> Iterator[Figure]:
    """Yield a figure with the curves of `labels` in colour, and those of `others` in grey."""
    checks.one_of("a figure", "kind", kind, KINDS)
    problems = results.problems
    drawn = bounds_of(bounds, labels, kind) if bounds is not None else {}
    title = legend_title(kind, len(results.cells[0].seeds))
    named = [*labels, *([name_others(len(others))] if others else []), *([BOUND] if drawn else [])]

    def draw(axis: Axes, place: int, scale: float, letters: float) -> None:
        name = problems[place].name
        curves = {label: getattr(results[name, label], kind) for label in labels}
        grey = [getattr(results[name, label], kind) for label in others]
        (draw_regret if kind == "regret" else draw_simple)(axis, curves, grey, scale)
        if drawn:
            draw_bounds(axis, labels, drawn.get(name, {}), scale)
        axis.set_xlabel("round t")
        axis.set_ylabel(KINDS[kind])
        if kind == "simple":
            draw_seeds_above_zero(axis, curves, letters)

    titles = [problem.title for problem in problems]
    column = len(labels) if kind == "simple" else 0
    with draw_figure(titles, named, title, draw, shape, column) as figure:
        yield figure


def bounds_of(
    bounds: Bounds, labels: Sequence[str], kind: str
) -> dict[str, dict[str, tuple[Indices, Array]]]:
    """Return problem -> policy -> (rounds, proved bound there), of the policies that are drawn."""
    checks.needs(kind == "regret", "a figure", 'kind "regret" for bounds', kind)
    found = {
        problem: {
            row.policy: (row.horizons, row.proved.value)
            for row in rows
            if row.policy in labels and not isinstance(row.proved, str)
        }
        for problem, rows in bounds.items()
    }
    some = any(found.values())
    checks.needs(some, "a figure", "a policy whose regret bound is proved", list(labels))
    return found


def draw_bounds(
    axis: Axes, labels: Sequence[str], bounds: Mapping[str, tuple[Indices, Array]], scale: float
) -> None:
    """Draw proved bounds as dashed lines in the colours of their policies, on logarithmic axes."""
    for label, (rounds, values) in bounds.items():
        colour = style_of(labels, label)["color"]
        axis.plot(rounds, values, color=colour, ls=(0, (4, 2)), lw=1.0 * scale)
    axis.plot([], [], color="black", ls=(0, (4, 2)), lw=1.0 * scale, label=BOUND)
    tops = [values.max() for _, values in bounds.values()]
    lines = [line.get_ydata() for line in axis.get_lines()]
    positive = np.concatenate([np.asarray(y, dtype=np.float64).ravel() for y in lines])
    low = positive[positive > 0].min()
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.minorticks_off()
    axis.set_xlim(1, None)
    axis.set_ylim(low, 1.5 * max([*tops, positive.max()]))


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
