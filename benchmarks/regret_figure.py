"""A row for each pool, a dot for each rival.

Its mean regret relative to the default's, with its interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.opponents import CONTESTANTS, OURS
from benchmarks.pools import POOLS
from benchmarks.regret_pairs import Games, Pair, Ratio, pair
from kernelbandits import canvas

ALL = "all pools"
WIDTH, ROW_HEIGHT = 8.5, 0.73
MARGINS = canvas.Margins(left=1.5, below=0.6, above=0.15, right=0.2, head=0.6)
SHARE = 0.78
"""Of a row's height, what its dots fill."""


def write(games: Games, path: Path) -> str:
    """Draw it; what was done, in a sentence."""
    found = [
        one
        for name in CONTESTANTS
        if name != OURS and name in games and (one := pair_of(games, name))
    ]
    if not found:
        return f"{path.name} is left as it is: no games of kb.Auto and a rival in common"
    try:
        draw(found, path)
    except ImportError:
        return f"{path.name} is left as it is: matplotlib is not installed"
    return f"{path.name} is drawn"


def pair_of(games: Games, name: str) -> Pair | None:
    return pair(games, OURS, name) if OURS in games else None


def draw(found: Sequence[Pair], path: Path) -> None:
    rows = (ALL, *(pool for pool in POOLS if any(pool in one.by_pool for one in found)))
    height = MARGINS.head + MARGINS.above + MARGINS.below + ROW_HEIGHT * len(rows)
    with canvas.draw_panels(1, 1, (WIDTH, height), MARGINS) as (figure, panels):
        axis = panels[0, 0]
        background(axis, rows)
        names = [one.rival for one in found]
        for place, one in enumerate(found):
            dots(
                axis,
                one,
                rows,
                SHARE * ((place + 0.5) / len(found) - 0.5),
                canvas.style_of(names, one.rival),
            )
        axis.set_xscale("log")
        ticks = canvas.plain_ticks(*axis.get_xlim())
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_xticks([], minor=True)
        axis.set_xlabel(
            "mean regret after 100 rounds / that of kb.Auto  (right of 1: kb.Auto is better)"
        )
        figure.legend(
            *axis.get_legend_handles_labels(),
            loc="upper center",
            ncols=4,
            frameon=False,
            fontsize=9,
        )
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def background(axis: Any, rows: Sequence[str]) -> None:
    """A line at 1, every second row shaded, the rows named from above."""
    for row in range(0, len(rows), 2):
        axis.axhspan(row - 0.5, row + 0.5, color="#F4F4F4", zorder=0)
    axis.axvline(1.0, color="#444444", linewidth=1.2, zorder=1)
    axis.set_yticks(range(len(rows)), rows)
    axis.get_yticklabels()[0].set_fontweight("bold")
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.grid(False, axis="y")


def dots(axis: Any, one: Pair, places: Sequence[str], shift: float, style: dict[str, Any]) -> None:
    """theirs / ours is one over the ratio, so the interval's ends change places."""
    ratios = {ALL: one.ratio, **one.by_pool}
    rows = [row for row in places if row in ratios]
    heights = [places.index(row) + shift for row in rows]
    values = [1 / ratios[row].value for row in rows]
    errors = [[reach(ratios[row])[side] for row in rows] for side in (0, 1)]
    marker = canvas.marker_of(list(CONTESTANTS), one.rival)
    look = {
        "color": style["color"],
        "marker": marker,
        "linestyle": "none",
        "markersize": 4.5,
        "elinewidth": 1.1,
    }
    axis.errorbar(
        values, heights, xerr=errors, label=CONTESTANTS[one.rival].title, zorder=3, **look
    )


def reach(ratio: Ratio) -> tuple[float, float]:
    """From the dot to the lower and the upper end."""
    value = 1 / ratio.value
    return max(value - 1 / ratio.high, 0.0), max(1 / ratio.low - value, 0.0)
