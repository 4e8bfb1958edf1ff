"""Several targets: the results of each one over time, and the trade-off between them."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernelbandits.canvas import Margins
from kernelbandits.checks import Array, StudyConflict
from kernelbandits.policies.hypervolume import choose_reference, hypervolume_share
from kernelbandits.report.studies.curves import (
    BLACK,
    BLUE,
    INTERVAL,
    ORANGE,
    draw_dots,
    draw_failed,
    end_position,
    mark_trial,
    set_trial_axis,
)
from kernelbandits.report.studies.sheets import (
    Drawing,
    empty_drawing,
    legend_above,
    shorten,
    write_plain_ticks,
)
from kernelbandits.report.studies.view import TargetSeries, View
from kernelbandits.study.targets import MAXIMIZE, MINIMIZE
from kernelbandits.study.words import describe_candidate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes


MOST_PAIRS = 3
"""The most pairs of targets that are drawn against each other."""
NAMED = 6
"""The most candidates on the front that a caption names."""
STACKED = Margins(left=1.1, below=0.5, above=0.25, right=0.2, head=0.25)
BESIDE = Margins(left=0.95, below=0.6, above=0.25, right=0.25, head=0.3)


def targets(view: View) -> Iterator[Drawing]:
    """Yield the results of each target over time, and the trade-off between pairs of them."""
    if len(view.targets) < 2:
        raise StudyConflict(
            f"a figure of the targets needs several of them, got one in {view.name}"
        )
    yield over_time(view)
    yield trade_off(view)


def over_time(view: View) -> Drawing:
    title, count = "Each target over time", len(view.targets)
    if not any(np.isfinite(one.values).any() for one in view.targets):
        return empty_drawing(title, "No value yet.")
    limits = any(one.target.is_limit for one in view.targets)
    among = " among those that meet the limits" if limits else ""
    dashes = " Dashes are limits that the answer has to meet." if limits else ""
    caption = (
        "The values of each target by trial. Rings are values of trials that wait for another "
        "target, or have a value that will not come. The line is the best single value up to that "
        f"trial{among}.{dashes} The bar at the right is the estimate of the target at the likely "
        f"best {view.noun}, by a model of its own, with {INTERVAL}."
    )
    draw = partial(draw_over_time, view)
    return Drawing(title, caption, 0.9 + 2.0 * count, draw, rows=count, margins=STACKED)


def draw_over_time(view: View, part: Any, grid: Any) -> None:
    for axis, one in zip(grid[:, 0], view.targets, strict=True):
        values, number = one.values, view.trials.number
        known, complete = np.isfinite(values), view.trials.has_result
        draw_dots(axis, number[known & complete], values[known & complete], "value", color=BLUE)
        waiting = known & ~complete
        if waiting.any():
            look: Any = {"mfc": "white", "mec": BLUE, "ms": 5.5, "label": "value, others lacking"}
            axis.plot(number[waiting], values[waiting], "o", **look)
        for end in one.target.ends if one.target.is_limit else ():
            if np.isfinite(end):
                axis.axhline(end, color=ORANGE, lw=1.2, ls="--", label="limit")
        if (known & meet_limits(view)).any() and not one.target.is_limit:
            counts = known & meet_limits(view)
            best = best_so_far(values[counts], one)
            look = {"where": "post", "color": ORANGE, "lw": 1.6, "label": "best value so far"}
            axis.step(number[counts], best, **look)
        draw_estimate(axis, view, one)
        mark_trial(axis, view)
        draw_failed(view, axis)
        set_trial_axis(view, axis)
        axis.set_ylabel(shorten(one.name, 24))
        if known.any():
            write_plain_ticks(axis.yaxis)
        if axis is not grid[-1, 0]:
            axis.set_xlabel("")
    legend_above(part, list(grid[:, 0]), 6)


def meet_limits(view: View) -> npt.NDArray[np.bool_]:
    """Tell which trials meet all limits on outcomes; all do where there are none."""
    met = np.ones(len(view.trials), dtype=np.bool_)
    for one in view.targets:
        if one.target.is_limit:
            low, high = one.target.ends
            met &= (one.values >= low) & (one.values <= high)
    return met


def best_so_far(values: Array, one: TargetSeries) -> Array:
    """Return the best value up to each one, in the sense of its target."""
    best = np.maximum.accumulate(one.target.quality(values) + 0.0)
    if one.target.aim is None:
        return np.asarray(best if one.target.direction == "maximize" else -best)
    # The value itself, and not its distance from the aim.
    qualities = one.target.quality(values)
    return np.array([values[np.argmax(qualities[: i + 1])] for i in range(len(values))])


def draw_estimate(axis: Axes, view: View, one: TargetSeries) -> None:
    if one.estimate is None:
        return
    mean, low, high = one.estimate
    bars = [[max(mean - low, 0.0)], [max(high - mean, 0.0)]]
    look: Any = {
        "ms": 13,
        "mew": 2,
        "color": BLACK,
        "elinewidth": 1.6,
        "capsize": 4,
        "label": "likely best now, 95 % interval",
    }
    axis.errorbar([end_position(view)], [mean], yerr=bars, fmt="_", **look)


# ---------------------------------------------------------------------- the front over time


def front_over_time(view: View) -> Iterator[Drawing]:
    """Yield the hypervolume of the front of what was measured up to each trial."""
    if view.objectives < 2:
        raise StudyConflict(
            f"the hypervolume of a front needs several targets with a direction, got one in "
            f"{view.name}"
        )
    title = "Hypervolume of the front"
    told = view.trials.has_result
    if not told.any():
        yield empty_drawing(title, "No trial has the values of all targets yet.")
        return
    numbers, shares = view.trials.number[told], list_shares(view)
    last = len(shares) // 5
    gain = ""
    if last:
        most = f"{100 * (shares[-1] - shares[-1 - last]):.2g}"
        gain = f" The last {last} results have added {most} % of the box."
    caption = (
        "The volume of all values that some result reaches or exceeds in every target, by trial. "
        "It is a share of the box between the worst value of each target, less a tenth of its "
        f"range, and the best one so far; at the end it is {100 * shares[-1]:.3g} %.{gain}"
    )

    def draw(part: Any, grid: Any) -> None:
        axis = grid[0, 0]
        axis.step(numbers, 100 * shares, where="post", color=BLUE, lw=1.8)
        axis.set_ylabel("hypervolume (% of the box)")
        draw_failed(view, axis)
        set_trial_axis(view, axis)

    yield Drawing(title, caption, 3.0, draw, margins=STACKED)


def list_shares(view: View) -> Array:
    """Return the hypervolume after each result, as a share of the box of all results."""
    told = view.trials.has_result
    values = np.column_stack([one.target.quality(one.values[told]) for one in view.targets])
    limited = np.array([one.target.is_limit for one in view.targets])
    met = np.asarray((values[:, limited] >= 0).all(axis=1))
    values = values[:, ~limited]
    reference, ideal = choose_reference(values), values.max(0)
    ideal = np.where(ideal > reference, ideal, reference + 1)
    return np.array(
        [
            hypervolume_share(values[:end][met[:end]], reference, ideal)
            for end in range(1, len(values) + 1)
        ]
    )


# ---------------------------------------------------------------------- the trade-off


def trade_off(view: View) -> Drawing:
    title = "Trade-off of the targets"
    front = view.status.front
    if not view.trials.has_result.any():
        return empty_drawing(title, "No trial has the values of all targets yet.")
    names = [one.name for one in view.targets]
    pairs = list(combinations(names, 2))[:MOST_PAIRS]
    listed = "; ".join(describe_candidate(one.row, one.label, one.x) for one in front[:NAMED])
    more = f"; and {len(front) - NAMED} more" if len(front) > NAMED else ""
    line = " The line bounds what they exceed." if len(names) == 2 else ""
    left_out = "" if len(names) <= MOST_PAIRS else f" The first {MOST_PAIRS} pairs are drawn."
    limits = any(one.target.is_limit for one in view.targets)
    on_front = (
        " Those on the Pareto front are exceeded by no other one in all targets"
        f"{' among those that meet the limits' if limits else ''}.{line}"
    )
    dashes = " Dashes are limits that the answer has to meet." if limits else ""
    caption = (
        f"The measured {view.noun}s, each with the mean of its values.{on_front if front else ''}"
        f"{dashes} The cross is the likely best, by the estimates of each target, with {INTERVAL}."
        f"{f' On the front, the most desirable first: {listed}{more}.' if front else ''}{left_out}"
    )
    draw = partial(draw_trade_off, view, pairs)
    return Drawing(title, caption, 4.0, draw, columns=len(pairs), margins=BESIDE)


def draw_trade_off(view: View, pairs: list[tuple[str, str]], part: Any, grid: Any) -> None:
    known = {one.name: one for one in view.targets}
    measured = candidate_means(view)
    for axis, (across, up) in zip(grid[0], pairs, strict=True):
        draw_dots(axis, measured[across], measured[up], "measured", color=BLUE)
        draw_limits(axis, known[across], known[up])
        draw_front(axis, view, known[across], known[up])
        draw_best_estimate(axis, known[across], known[up])
        axis.set_xlabel(name_target(known[across], 60 // len(pairs)))
        axis.set_ylabel(name_target(known[up], 32))
        axis.margins(0.08)
        write_plain_ticks(axis.xaxis, axis.yaxis)
    legend_above(part, list(grid[0]), 4)


def candidate_means(view: View) -> dict[str, Array]:
    """Return the mean of the values of each measured candidate, by target."""
    told = view.trials.has_result
    places = view.estimates.member[view.trials.row[told]]
    each = np.unique(places)
    return {
        one.name: np.array([one.values[told][places == place].mean() for place in each])
        for one in view.targets
    }


def draw_limits(axis: Axes, across: TargetSeries, up: TargetSeries) -> None:
    """Draw the limits of targets that only have to meet them."""
    look: Any = {"color": ORANGE, "lw": 1.2, "ls": "--", "label": "limit"}
    for one, draw in ((across, axis.axvline), (up, axis.axhline)):
        for end in one.target.ends if one.target.is_limit else ():
            if np.isfinite(end):
                draw(end, **look)


def draw_front(axis: Axes, view: View, across: TargetSeries, up: TargetSeries) -> None:
    if not view.status.front:
        return
    points = [(one.values[across.name], one.values[up.name]) for one in view.status.front]
    x, y = np.array(points).T
    look: Any = {"mfc": ORANGE, "mec": "white", "ms": 9, "mew": 0.8, "zorder": 4}
    axis.plot(x, y, "o", label="Pareto front", **look)
    plain = all(one.target.direction in (MAXIMIZE, MINIMIZE) for one in (across, up))
    if len(view.targets) == 2 and plain:
        order = np.argsort(x)
        # From the left, a front holds its height as long as the target across gets better.
        where: Any = "pre" if across.target.direction == "maximize" else "post"
        axis.step(x[order], y[order], where=where, color=ORANGE, lw=1.4, zorder=2)


def draw_best_estimate(axis: Axes, across: TargetSeries, up: TargetSeries) -> None:
    if across.estimate is None or up.estimate is None:
        return
    (x, left, right), (y, low, high) = across.estimate, up.estimate
    look: Any = {"color": BLACK, "elinewidth": 1.3, "capsize": 3, "zorder": 5}
    axis.errorbar(
        [x],
        [y],
        xerr=[[max(x - left, 0.0)], [max(right - x, 0.0)]],
        yerr=[[max(y - low, 0.0)], [max(high - y, 0.0)]],
        fmt="none",
        label="likely best, 95 % intervals",
        **look,
    )


def name_target(one: TargetSeries, letters: int) -> str:
    wanted = one.target.direction if one.target.aim is None else f"aim at {one.target.aim:g}"
    wanted = one.target.sentence if one.target.is_limit else wanted
    return f"{shorten(one.name, max(letters - len(wanted) - 3, 8))} ({wanted})"
