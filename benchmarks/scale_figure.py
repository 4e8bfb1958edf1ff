"""Two panels of results/scale.json: time a round against the arms and against the rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kernelbandits import canvas

MARGINS = canvas.Margins(left=0.75, below=0.55, above=0.35)
SIZE = (9.0, 3.8)
Series = dict[float, float]


def draw(kept: dict[str, Any], path: Path) -> None:
    """Draw what the sections have, as SVG with its letters as shapes."""
    import matplotlib as mpl

    with canvas.draw_panels(1, 2, SIZE, MARGINS) as (figure, panels):
        mpl.rcParams["svg.fonttype"] = "path"
        left, right = panels.flat
        draw_lines(left, arms_series(kept))
        draw_lines(right, rounds_series(kept))
        for axis, size, place in ((left, "arms", "lower right"), (right, "rounds", "upper right")):
            axis.set_xlabel(size)
            axis.set_ylabel("microseconds a round")
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.legend(fontsize=8.5, frameon=False, loc=place)
        left.set_title("one round against the number of arms", fontsize=11)
        right.set_title("one round against the number of rounds", fontsize=11)
        right.set_ylim(0.3, 300)
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def draw_lines(axis: Any, series: dict[str, Series]) -> None:
    names = list(series)
    for name, points in series.items():
        style = canvas.style_of(names, name) | {"marker": canvas.marker_of(names, name)}
        axis.plot(list(points), list(points.values()), label=name, markersize=4.5, **style)


def rows_of(kept: dict[str, Any], section: str) -> Iterator[dict[str, Any]]:
    rows: Iterable[dict[str, Any]] = kept.get(section, {"rows": ()})["rows"]
    return iter(rows)


def arms_series(kept: dict[str, Any]) -> dict[str, Series]:
    """SimpleUCB, C, reading the rows once, Thompson sampling, scikit-learn and BoTorch."""
    series: dict[str, Series] = {"SimpleUCB": {}, "the same in C": {}, "reading the rows": {}}
    speed = next((row["value"] for row in rows_of(kept, "bandwidth")), None)
    for row in rows_of(kept, "arms"):
        found = row["details"]
        if not found or "c_us" not in found:
            continue
        series["SimpleUCB"][found["arms"]] = found["us"]
        series["the same in C"][found["arms"]] = found["c_us"]
        if speed:
            # On average half of the rows are there.
            size = 8e-9 * found["arms"] * found["distinct"] / 2
            series["reading the rows"][found["arms"]] = 1e6 * size / speed
    for row in rows_of(kept, "policies"):
        if row["what"].startswith("gp-ts"):
            found = row["details"]
            line = series.setdefault("GP-TS", {})
            line[found["arms"]] = 1e6 * row["value"] / found["rounds"]
    for section, name in (("sklearn", "scikit-learn, refit"), ("botorch", "BoTorch, refit")):
        for row in rows_of(kept, section):
            if row["value"] is not None:
                arms = float(row["what"].split()[1])
                series.setdefault(name, {})[arms] = row["value"]
    return {name: points for name, points in series.items() if points}


def rounds_series(kept: dict[str, Any]) -> dict[str, Series]:
    """One line for each policy and number of arms."""
    series: dict[str, Series] = {}
    names = {"simple-ucb": "SimpleUCB", "gp-ts": "GP-TS"}
    for row in rows_of(kept, "rounds"):
        found = row["details"]
        if found:
            name = f"{names[row['what'].split(',')[0]]}, {found['arms']} arms"
            series.setdefault(name, {})[found["rounds"]] = row["value"]
    return series
