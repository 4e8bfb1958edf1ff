"""The figure of a run of `optimize`: its results, the best so far, and what it recommends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import PALETTE, Margins, draw_panels
from kernelbandits.checks import Array, Indices
from kernelbandits.formatting import HALF_INTERVAL

if TYPE_CHECKING:
    from kernelbandits.canvas import Axes, Figure

BLUE, ORANGE, _, PINK, _, BLACK = PALETTE[:6]
SIZE = 7.0, 4.0
"""Inches."""
MARGINS = Margins(left=0.85, below=0.5, above=0.6, right=0.2)
LEGEND: Any = {"fontsize": 9, "columnspacing": 1.4, "handlelength": 1.6, "handletextpad": 0.5}
DECADES = 2.0
"""Positive results over so many powers of ten are drawn on a logarithmic axis."""


def draw_outcome(
    numbers: Sequence[int],
    rewards: Sequence[float | None],
    predicted: Sequence[float | None],
    sign: float,
    mean: float,
    sd: float,
) -> Figure:
    """Draw the results of trials by their numbers, and the estimate of the recommended point.

    Of trials that were stopped their ends are predicted.
    """
    with draw_panels(1, 1, SIZE, MARGINS) as (figure, grid):
        axis = grid[0, 0]
        trials = np.array(numbers, dtype=np.int64)
        values, ends = (
            np.array([np.nan if reward is None else reward for reward in some])
            for some in (rewards, predicted)
        )
        told, stopped = np.isfinite(values), np.isfinite(ends)
        results = values[told]
        best: Array = sign * np.maximum.accumulate(sign * results)
        axis.plot(trials[told], results, "o", ms=4, color=BLUE, alpha=0.7, label="result")
        until = np.append(trials[told], trials[-1])
        label = f"{'highest' if sign > 0 else 'lowest'} so far"
        axis.step(until, np.append(best, best[-1]), where="post", color=ORANGE, lw=1.6, label=label)
        if spans_decades(results) and mean > 0:
            axis.set_yscale("log")
        draw_estimate(axis, trials, mean, sd, lowest=float(results.min()))
        if stopped.any():
            label = "stopped, end predicted"
            axis.plot(
                trials[stopped], ends[stopped], "o", ms=4, color=BLUE, mfc="none", label=label
            )
        if not (told | stopped).all():
            failed = trials[~told & ~stopped]
            places = np.full(len(failed), 0.025)
            edge: Any = axis.get_xaxis_transform()
            axis.plot(
                failed, places, "x", transform=edge, color=PINK, ms=6, mew=1.8, label="failed"
            )
        axis.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        axis.set_xlabel("trial")
        axis.set_ylabel("result")
        axis.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False, **LEGEND)
        return figure


def draw_estimate(axis: Axes, trials: Indices, mean: float, sd: float, lowest: float) -> None:
    """Draw the estimate with its 95 % interval at the right of the last trial.

    On a logarithmic axis an interval that reaches below zero ends beneath the lowest result.
    """
    reach = HALF_INTERVAL * sd
    below = reach
    if axis.get_yscale() == "log" and mean - reach <= 0:
        below = mean - min(lowest, mean) / 2
    right = trials[-1] + max(0.7, 0.03 * (trials[-1] - trials[0]))
    look: Any = {"ms": 13, "mew": 2, "color": BLACK, "elinewidth": 1.6, "capsize": 4}
    label = "recommended point, 95 % interval"
    axis.errorbar([right], [mean], yerr=[[below], [reach]], fmt="_", label=label, **look)


def spans_decades(results: Array) -> bool:
    """Tell whether results are positive and spread over powers of ten.

    >>> spans_decades(np.array([0.01, 0.5, 3.0])), spans_decades(np.array([-1.0, 500.0]))
    (True, False)
    """
    least, most = float(results.min()), float(results.max())
    return least > 0 and most >= 10**DECADES * least
