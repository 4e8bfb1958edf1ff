"""Over trials: the results, the regret where the truth is known, the exploration weights."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import PALETTE, Margins
from kernelbandits.checks import Array, StudyConflict
from kernelbandits.report.studies.sheets import QUIET, Drawing, brief, legend_above, nothing, say
from kernelbandits.report.studies.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, PINK, SKY, BLACK = PALETTE[:6]
CROWD, MANY = 200, 2000
"""Marks from which they are small, and from which a drawing holds them as an image."""
INTERVAL = "the 95 % interval of the estimate, not of a new measurement"
OVER_TRIALS = Margins(left=0.95, below=0.5, above=0.25, right=0.2, head=0.25)


def progress(view: View) -> Drawing:
    if not len(view.trials):
        return nothing("Results over time", "No trial yet.")
    best = "highest" if view.sign > 0 else "lowest"
    caption = (
        f"Results of {view.target} by trial. The step is the {best} average of one candidate up to that trial: the "
        f"luckiest so far, not the likely best. The star at the right is the estimate of the likely best now with "
        f"{INTERVAL}. Failed trials stand at the bottom, pending ones at the estimate of their candidate, with the "
        "same interval; withdrawn ones are left out."
    )
    draw = partial(draw_progress, view)
    return Drawing("Results over time", caption, 3.9, draw, margins=OVER_TRIALS)


def draw_progress(view: View, part: Any, grid: Any) -> None:
    axis = grid[0, 0]
    draw_results(view, axis)
    draw_pending(view, axis)
    draw_best(view, axis)
    mark(axis, view)
    draw_failed(view, axis)
    over_trials(view, axis)
    axis.set_ylabel(brief(view.target))
    legend_above(part, [axis], 6)


def draw_results(view: View, axis: Axes) -> None:
    told = view.trials.stand
    if told.any():
        x = view.trials.number[told]
        dots(axis, x, view.trials.value[told], "result", color=BLUE)
        axis.step(
            x, best_average(view), where="post", color=ORANGE, lw=1.6, label="best average so far"
        )


def draw_pending(view: View, axis: Axes) -> None:
    waiting, held = view.trials.are("pending"), view.beliefs
    if waiting.any():
        places = held.member[view.trials.row[waiting]]
        look: Any = {
            "ms": 5,
            "mfc": "white",
            "color": GREEN,
            "elinewidth": 1,
            "label": "pending, as estimated",
        }
        axis.errorbar(
            view.trials.number[waiting], held.mean[places], yerr=held.bars(places), fmt="D", **look
        )


def draw_failed(view: View, axis: Axes) -> None:
    """On the lower edge, whatever the scale; without any scale where nothing else is known."""
    failed = view.trials.number[view.trials.are("failed")]
    look: Any = {
        "color": PINK,
        "ms": 7,
        "mew": 2,
        "zorder": 3,
        "label": "failed",
        "rasterized": len(failed) > MANY,
    }
    if len(failed):
        axis.plot(
            failed, np.full(len(failed), 0.025), "x", transform=axis.get_xaxis_transform(), **look
        )
    if not (view.trials.stand | view.trials.are("pending")).any():
        axis.set_yticks([])


def draw_best(view: View, axis: Axes) -> None:
    """Beyond the last trial."""
    best = view.status.best
    if best is not None:
        bars = [[best.mean - best.low], [best.high - best.mean]]
        look: Any = {
            "ms": 13,
            "color": BLACK,
            "elinewidth": 2,
            "capsize": 4,
            "label": "likely best now, 95 % interval",
        }
        axis.errorbar([after(view)], [best.mean], yerr=bars, fmt="*", **look)


def after(view: View) -> float:
    """A place at the right of all trials, if something stands there."""
    first, last = int(view.trials.number[0]), int(view.trials.number[-1])
    return last + max(0.7, 0.03 * (last - first)) if view.status.best else last


def mark(axis: Axes, view: View) -> None:
    """The trial that somebody asked about."""
    if view.marked is not None:
        axis.axvline(
            view.marked.trial,
            color=QUIET,
            lw=1,
            ls=(0, (4, 3)),
            label=f"trial {view.marked.trial}",
            zorder=1,
        )


def over_trials(view: View, axis: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_xlabel("trial")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    first, last = int(view.trials.number[0]), after(view)
    room = max(0.5, 0.02 * (last - first))
    axis.set_xlim(first - room, last + room)


def dots(axis: Axes, x: Any, y: Any, label: str | None, color: str) -> None:
    size = 26 if len(x) <= CROWD else 8
    axis.scatter(
        x, y, s=size, color=color, label=label, rasterized=len(x) > MANY, zorder=3, linewidths=0
    )


def best_average(view: View) -> Array:
    """After each result that stands, the best average of one candidate."""
    trials, member = view.trials, view.beliefs.member
    count, average = np.zeros(len(view.beliefs)), np.full(len(view.beliefs), -np.inf)
    best = []
    for place, value in zip(
        member[trials.row[trials.stand]], view.sign * trials.value[trials.stand], strict=True
    ):
        count[place] += 1
        average[place] = (
            value if count[place] == 1 else average[place] + (value - average[place]) / count[place]
        )
        best.append(average.max())
    return view.sign * np.array(best)


def regret(view: View) -> Drawing:
    if not view.trials.stand.any():
        return nothing("Regret", "No result yet.")
    caption = (
        f"By the true values of {view.target}, in its units. Left: what the candidates with a result lose against the "
        "best one allowed, summed over trials. Right: what the candidate of the best estimate loses, as known when "
        "each trial was asked, and the likely best now."
    )
    return Drawing(
        "Regret", caption, 3.5, partial(draw_regret, view), columns=2, margins=OVER_TRIALS
    )


def gaps(view: View) -> Array:
    """What each row loses against the best one allowed."""
    assert view.truth is not None
    allowed = view.candidates.allowed_rows
    worth = view.sign * view.truth
    return np.asarray(worth[allowed].max() - worth, dtype=np.float64)


def draw_regret(view: View, part: Any, grid: Any) -> None:
    lost, trials, (left, right) = gaps(view), view.trials, grid[0]
    told = trials.stand
    steps(left, trials.number[told], np.cumsum(lost[trials.row[told]]), color=BLUE)
    draw_simple(view, right, lost)
    for axis, name in ((left, "cumulative regret"), (right, "simple regret")):
        over_trials(view, axis)
        mark(axis, view)
        axis.set_ylabel(name)
        axis.set_ylim(min(0.0, lost.min(where=np.isfinite(lost), initial=0.0)), None)
    legend_above(part, [left, right])


def draw_simple(view: View, axis: Axes, lost: Array) -> None:
    known = view.trials.greedy >= 0
    if known.any():
        x, y = view.trials.number[known], lost[view.trials.greedy[known]]
        steps(axis, x, y, color=ORANGE, label="best estimate when asked")
    if view.status.best is not None:
        axis.plot(
            after(view),
            lost[view.status.best.row],
            "*",
            color=BLACK,
            ms=13,
            label="likely best now",
            clip_on=False,
        )


def steps(axis: Axes, x: Any, y: Any, **style: Any) -> None:
    marker = "o" if len(x) <= CROWD else ""
    axis.step(x, y, where="post", lw=1.8, marker=marker, ms=3.5, clip_on=False, zorder=3, **style)


def weights(view: View) -> Drawing:
    if not np.isfinite(view.trials.weight).any():
        raise StudyConflict(
            f"the exploration weights need trials that were asked of a rule that draws them, got none in {view.name}"
        )
    caption = (
        "Left: the exploration weights w drawn, one for each trial asked; from the dotted line at 1 on a choice is "
        "optimistic. Right: how far that moved the estimate to the better, weight × width × sd, in units of "
        f"{view.target}."
    )
    return Drawing(
        "Exploration weights",
        caption,
        3.5,
        partial(draw_weights, view),
        columns=2,
        margins=OVER_TRIALS,
    )


def draw_weights(view: View, part: Any, grid: Any) -> None:
    trials, (left, right) = view.trials, grid[0]
    for axis, values, name in (
        (left, trials.weight, "weight w"),
        (right, trials.weight * trials.width * trials.sd, f"bonus, {brief(view.target, 18)}"),
    ):
        stems(axis, view, values)
        over_trials(view, axis)
        mark(axis, view)
        axis.set_ylabel(name)
    left.axhline(1, color=QUIET, lw=1, ls=(0, (1, 2)), label="w = 1")
    legend_above(part, [left])


def stems(axis: Axes, view: View, values: Array) -> None:
    """A line from zero to each; dots only where they are many."""
    known = np.isfinite(values)
    x, y = view.trials.number[known], values[known]
    if not known.any():
        say(axis, "Not recorded by this rule.")
        return
    axis.axhline(0, color=QUIET, lw=0.8)
    if len(x) <= CROWD:
        axis.vlines(x, 0, y, color=SKY, lw=1)
    dots(axis, x, y, None, color=BLUE)
