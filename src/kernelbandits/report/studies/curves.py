"""Curves over trials: results, regret if the true values are known, exploration weights."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import PALETTE, Margins
from kernelbandits.censored import ABOVE, BELOW
from kernelbandits.checks import Array, StudyConflict
from kernelbandits.report.studies.sheets import (
    QUIET,
    Drawing,
    empty_drawing,
    legend_above,
    shorten,
    write_message,
    write_plain_ticks,
)
from kernelbandits.report.studies.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, PINK, SKY, BLACK = PALETTE[:6]
CROWD, MANY = 200, 2000
"""Above CROWD marks they are small; above MANY they are stored as an image to keep files small."""
INTERVAL = "the 95 % interval of the estimate, not of a new measurement"
OVER_TRIALS = Margins(left=1.1, below=0.5, above=0.25, right=0.2, head=0.25)


def progress(view: View) -> list[Drawing]:
    if not len(view.trials):
        return [empty_drawing("Results over time", "No trial yet.")]
    best = "highest" if view.sign > 0 else "lowest"
    caption = (
        f"Results of {view.target} by trial. The line is the {best} average of one {view.noun} up "
        "to that trial. Noise favours it, so it need not be the likely best. The bar at the right "
        f"is the current estimate of the likely best, with {INTERVAL}. Pending trials are drawn "
        f"at the estimate of their {view.noun}, with the same interval. Failed trials are drawn at "
        "the bottom. Withdrawn trials are not drawn."
    )
    draw = partial(draw_progress, view)
    return [Drawing("Results over time", caption, 3.9, draw, margins=OVER_TRIALS)]


def draw_progress(view: View, part: Any, grid: Any) -> None:
    axis = grid[0, 0]
    draw_results(view, axis)
    draw_pending(view, axis)
    draw_best(view, axis)
    mark_trial(axis, view)
    draw_failed(view, axis)
    set_trial_axis(view, axis)
    axis.set_ylabel(shorten(view.target))
    if (view.trials.has_result | view.trials.has_state("pending")).any():
        write_plain_ticks(axis.yaxis)
    legend_above(part, [axis], 6)


def draw_results(view: View, axis: Axes) -> None:
    told = view.trials.has_result
    if told.any():
        x = view.trials.number[told]
        sides = view.trials.beyond[told]
        draw_values(axis, x, view.trials.value[told], sides, "result", color=BLUE)
        axis.step(
            x, best_average(view), where="post", color=ORANGE, lw=1.6, label="best average so far"
        )


def draw_pending(view: View, axis: Axes) -> None:
    waiting = view.trials.has_state("pending")
    estimates = view.estimates
    if waiting.any():
        places = estimates.member[view.trials.row[waiting]]
        look: Any = {
            "ms": 5,
            "mfc": "white",
            "color": GREEN,
            "elinewidth": 1,
            "label": "pending (estimate)",
        }
        axis.errorbar(
            view.trials.number[waiting],
            estimates.mean[places],
            yerr=estimates.bars(places),
            fmt="D",
            **look,
        )


def draw_failed(view: View, axis: Axes) -> None:
    """Draw failed trials on the lower edge; without other values the axis has no ticks."""
    failed = view.trials.number[view.trials.has_state("failed")]
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
    if not (view.trials.has_result | view.trials.has_state("pending")).any():
        axis.set_yticks([])


def draw_best(view: View, axis: Axes) -> None:
    """Draw the likely best at the right of the last trial."""
    best = view.status.best
    if best is not None:
        bars = [[best.mean - best.low], [best.high - best.mean]]
        # A flat mark: a star would cover a short interval.
        look: Any = {
            "ms": 13,
            "mew": 2,
            "color": BLACK,
            "elinewidth": 1.6,
            "capsize": 4,
            "label": "likely best now, 95 % interval",
        }
        axis.errorbar([end_position(view)], [best.mean], yerr=bars, fmt="_", **look)


def end_position(view: View) -> float:
    """Return a position at the right of all trials; without a likely best, the last trial."""
    first, last = int(view.trials.number[0]), int(view.trials.number[-1])
    return last + max(0.7, 0.03 * (last - first)) if view.status.best else last


def mark_trial(axis: Axes, view: View) -> None:
    """Draw a vertical line at the trial to explain."""
    if view.explanation is not None:
        axis.axvline(
            view.explanation.trial,
            color=QUIET,
            lw=1,
            ls=(0, (4, 3)),
            label=f"trial {view.explanation.trial}",
            zorder=1,
        )


def set_trial_axis(view: View, axis: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_xlabel("trial")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    newest = int(view.trials.number[-1])
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}" if value <= newest else "")
    first, last = int(view.trials.number[0]), end_position(view)
    space = max(0.5, 0.02 * (last - first))
    axis.set_xlim(first - space, last + space)


def draw_dots(axis: Axes, x: Any, y: Any, label: str | None, color: str) -> None:
    size = 26 if len(x) <= CROWD else 8
    axis.scatter(
        x, y, s=size, color=color, label=label, rasterized=len(x) > MANY, zorder=3, linewidths=0
    )


def draw_values(axis: Axes, x: Any, y: Any, sides: Any, label: str | None, color: str) -> None:
    """Draw results as dots, and limits of results as heads of arrows to where the results are."""
    plain = sides == ""
    if plain.any():
        draw_dots(axis, x[plain], y[plain], label, color)
    named: str | None = "result is below or above (limit)"
    for side, arrow in ARROWS.items():
        limited = sides == side
        if limited.any():
            look: Any = {"ms": 7, "color": color, "zorder": 3, "ls": "none", "label": named}
            axis.plot(x[limited], y[limited], marker=arrow, **look)
            named = None


ARROWS = {BELOW: "v", ABOVE: "^"}
"""The mark of a limit: from it, the result lies where the arrow points."""


def best_average(view: View) -> Array:
    """Return the best average of one candidate after each result."""
    trials, member = view.trials, view.estimates.member
    count, average = np.zeros(len(view.estimates)), np.full(len(view.estimates), -np.inf)
    best = []
    for place, value in zip(
        member[trials.row[trials.has_result]],
        view.sign * trials.value[trials.has_result],
        strict=True,
    ):
        count[place] += 1
        average[place] = (
            value if count[place] == 1 else average[place] + (value - average[place]) / count[place]
        )
        best.append(average.max())
    return view.sign * np.array(best)


def regret(view: View) -> list[Drawing]:
    if not view.trials.has_result.any():
        return [empty_drawing("Regret", "No result yet.")]
    caption = (
        f"Computed from the true values of {view.target}, in its units. The regret of a candidate "
        "is its distance to the best allowed candidate. Left: the sum over the trials with a "
        "result. Right: the candidate with the best estimate when each trial was asked, and the "
        "likely best now."
    )
    return [
        Drawing("Regret", caption, 3.5, partial(draw_regret, view), columns=2, margins=OVER_TRIALS)
    ]


def gaps(view: View) -> Array:
    """Return the regret of each row: its distance to the best allowed row."""
    assert view.truth is not None
    allowed = view.candidates.allowed_rows
    worth = view.sign * view.truth
    return np.asarray(worth[allowed].max() - worth, dtype=np.float64)


def draw_regret(view: View, part: Any, grid: Any) -> None:
    lost = gaps(view)
    trials = view.trials
    told = trials.has_result
    left, right = grid[0]
    draw_steps(left, trials.number[told], np.cumsum(lost[trials.row[told]]), color=BLUE)
    draw_simple_regret(view, right, lost)
    for axis, name in ((left, "cumulative regret"), (right, "simple regret")):
        set_trial_axis(view, axis)
        mark_trial(axis, view)
        axis.set_ylabel(name)
        write_plain_ticks(axis.yaxis)
        axis.set_ylim(min(0.0, lost.min(where=np.isfinite(lost), initial=0.0)), None)
    legend_above(part, [left, right])


def draw_simple_regret(view: View, axis: Axes, lost: Array) -> None:
    known = view.trials.top_estimate >= 0
    if known.any():
        x, y = view.trials.number[known], lost[view.trials.top_estimate[known]]
        draw_steps(axis, x, y, color=ORANGE, label="best estimate when asked")
    if view.status.best is not None:
        axis.plot(
            end_position(view),
            lost[view.status.best.row],
            "D",
            mec=BLACK,
            mfc="none",
            ms=7,
            mew=1.6,
            label="likely best now",
            clip_on=False,
        )


def draw_steps(axis: Axes, x: Any, y: Any, **style: Any) -> None:
    marker = "o" if len(x) <= CROWD else ""
    axis.step(x, y, where="post", lw=1.8, marker=marker, ms=3.5, clip_on=False, zorder=3, **style)


def weights(view: View) -> list[Drawing]:
    if not view.trials.has_weights:
        raise StudyConflict(
            "the exploration weights need trials that were asked of a rule that draws them, "
            f"got none in {view.name}"
        )
    caption = (
        "Left: the exploration weight w of each trial that was asked. A choice with w of at least "
        "1 (dotted line) is optimistic. Right: the bonus added to the estimate, "
        f"weight × width × sd, in units of {view.target}."
    )
    return [
        Drawing(
            "Exploration weights",
            caption,
            3.5,
            partial(draw_weights, view),
            columns=2,
            margins=OVER_TRIALS,
        )
    ]


def draw_weights(view: View, part: Any, grid: Any) -> None:
    trials = view.trials
    left, right = grid[0]
    for axis, values, name in (
        (left, trials.weight, "weight w"),
        (right, trials.weight * trials.width * trials.sd, f"bonus, {shorten(view.target, 18)}"),
    ):
        draw_stems(axis, view, values)
        set_trial_axis(view, axis)
        mark_trial(axis, view)
        axis.set_ylabel(name)
        if np.isfinite(values).any():
            write_plain_ticks(axis.yaxis)
    left.axhline(1, color=QUIET, lw=1, ls=(0, (1, 2)), label="w = 1")
    legend_above(part, [left])


def draw_stems(axis: Axes, view: View, values: Array) -> None:
    """Draw a line from zero to each value; only dots if there are many."""
    known = np.isfinite(values)
    x, y = view.trials.number[known], values[known]
    if not known.any():
        write_message(axis, "Not recorded by this rule.")
        return
    axis.axhline(0, color=QUIET, lw=0.8)
    if len(x) <= CROWD:
        axis.vlines(x, 0, y, color=SKY, lw=1)
    draw_dots(axis, x, y, None, color=BLUE)
