"""Four panels: probabilities and losses as stated against the truth, and coverage by table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibration import scores
from benchmarks.calibration.play import MARKS, TOP
from benchmarks.calibration.rows import RULE, IntervalQuality, JudgedStudy, Statements
from benchmarks.search import tables
from kernelbandits import canvas

SIZE = (13.0, 10.4)
MARGINS = canvas.Margins(left=0.9, below=1.3, above=0.45, right=0.2, head=0.45)
LEAST_SHOWN = 0.003
"""Losses below this share of the range are drawn here."""


def write(studies: Sequence[JudgedStudy], path: Path) -> str:
    """Draw it; what was done, in a sentence."""
    rule = scores.select(studies, None, RULE)
    if not rule:
        return f"{path.name} is left as it is: no study that chose its rows was judged"
    if not canvas.available():
        return f"{path.name} is left as it is: matplotlib is not installed"
    with canvas.draw_panels(2, 2, SIZE, MARGINS) as (drawn, axes):
        draw_reliability(axes[0, 0], rule)
        draw_losses(axes[0, 1], rule)
        draw_coverage(axes[1, 0], rule, lambda one: one.unmeasured, "all unmeasured rows")
        draw_coverage(axes[1, 1], rule, lambda one: one.top, f"the {TOP} most promising of them")
        # The panels of losses and coverage have the same symbols, explained once above all.
        handles, labels = axes[1, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="upper center", ncols=7, frameon=False, fontsize=10)
        drawn.savefig(path, metadata=canvas.METADATA["svg"])
    return f"{path.name} is drawn"


def draw_reliability(axis: Any, studies: Sequence[JudgedStudy]) -> None:
    """The share of right statements against the stated probability, bin by bin."""
    axis.plot([0, 1], [0, 1], color="#888888", linewidth=1, label="as stated")
    names = list(scores.PROBABILITIES)
    for place, name in enumerate(names):
        stated = scores.list_stated(studies, scores.PROBABILITIES[name])
        # A small shift keeps the bars of several statements apart.
        shift = 0.012 * (place - (len(names) - 1) / 2)
        draw_bins(axis, scores.bin_probabilities(stated), shift, names, name)
    axis.set_title("Probabilities", fontsize=11)
    axis.set_xlabel("stated probability, mean of a bin")
    axis.set_ylabel("share of statements that were right")
    axis.set_xlim(-0.03, 1.03)
    axis.set_ylim(-0.03, 1.03)
    axis.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)


def draw_bins(
    axis: Any, bins: Sequence[scores.Bin], shift: float, names: Sequence[str], name: str
) -> None:
    values = np.array([one.true.value for one in bins])
    lows, highs = (np.array([getattr(one.true, end) for one in bins]) for end in ("low", "high"))
    axis.errorbar(
        [one.stated + shift for one in bins],
        values,
        yerr=[np.maximum(values - lows, 0), np.maximum(highs - values, 0)],
        linewidth=1.4,
        elinewidth=0.9,
        markersize=5,
        color=canvas.style_of(names, name)["color"],
        marker=canvas.marker_of(names, name),
        label=name,
    )


def draw_losses(axis: Any, studies: Sequence[JudgedStudy]) -> None:
    """True against stated loss, a dot for each table, noise and number of results."""
    pairs = dict.fromkeys((one.noise, results) for results in MARKS for one in studies)
    names = [describe(*pair) for pair in sorted(pairs)]
    for (noise, results), name in zip(sorted(pairs), names, strict=True):
        some = scores.select(studies, noise, RULE)
        losses = scores.list_losses(some, results)
        by_table = {table: [one for one in losses if one[0] == table] for table, _, _ in losses}
        spots = [np.mean([one[1:] for one in many], axis=0) for many in by_table.values()]
        if spots:
            axis.plot(
                *np.maximum(np.array(spots), LEAST_SHOWN).T,
                linestyle="none",
                markersize=5,
                color=canvas.style_of(names, name)["color"],
                marker=canvas.marker_of(names, name),
                label=name,
            )
    axis.plot([LEAST_SHOWN, 1], [LEAST_SHOWN, 1], color="#888888", linewidth=1, label="as stated")
    axis.set_xscale("log")
    axis.set_yscale("log")
    ticks = canvas.plain_ticks(0.004, 1)
    labels = [f"≤ {LEAST_SHOWN:g}", *(f"{tick:g}" for tick in ticks)]
    axis.set_xticks([LEAST_SHOWN, *ticks], labels, rotation=45, ha="right")
    axis.set_yticks([LEAST_SHOWN, *ticks], labels)
    axis.minorticks_off()
    axis.set_title("Loss of stopping now, a dot for each table", fontsize=11)
    axis.set_xlabel("stated expected loss, share of the range")
    axis.set_ylabel("true loss, mean over seeds")


def draw_coverage(
    axis: Any,
    studies: Sequence[JudgedStudy],
    rows: Callable[[Statements], IntervalQuality],
    what: str,
) -> None:
    """The share of true values inside their 95 % interval, by table."""
    every = (*tables.NAMES, *tables.PERMUTED)
    present = [name for name in every if any(one.table == name for one in studies)]
    pairs = sorted(dict.fromkeys((one.noise, results) for results in MARKS for one in studies))
    names = [describe(*pair) for pair in pairs]
    axis.axhspan(0.9, 0.98, color="#DDEEDD", zorder=0, label="90 to 98 %")
    for place, ((noise, results), name) in enumerate(zip(pairs, names, strict=True)):
        some = scores.select(studies, noise, RULE)
        found = scores.table_means(some, results, lambda one: rows(one).coverage_95)
        shift = 0.6 * ((place + 0.5) / len(pairs) - 0.5)
        axis.plot(
            [spot + shift for spot, table in enumerate(present) if table in found],
            [found[table] for table in present if table in found],
            linestyle="none",
            markersize=5,
            color=canvas.style_of(names, name)["color"],
            marker=canvas.marker_of(names, name),
            label=name,
        )
    axis.set_xticks(range(len(present)), present, rotation=60, ha="right", fontsize=9)
    axis.set_ylim(top=1.01)
    axis.set_title(f"Coverage of 95 % intervals, {what}", fontsize=11)
    axis.set_ylabel("share of values inside")


def describe(noise: float, results: int) -> str:
    return f"noise {noise:g}, {results} results"
