"""The final regret of a sweep over the values of one setting: a panel for each problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.canvas import marker_of, style_of
from kernelbandits.experiment.curves import KINDS
from kernelbandits.experiment.layout import FigureShape, draw_figure
from kernelbandits.experiment.summary import IntervalEstimate, estimate_regret
from kernelbandits.experiment.sweeps import describe_value, describe_values
from kernelbandits.formatting import format_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kernelbandits.experiment.results import Results

WIDE = 8
"""Values whose largest is so many times their smallest get a logarithmic axis."""

Line = Mapping[Any, str]
"""value -> the label that has it; None -> the label of a policy that was not swept"""


def swept_settings(results: Results) -> tuple[str, ...]:
    """Return the settings that were swept."""
    names = (name for cell in results.cells for name in cell.contender.swept)
    return tuple(dict.fromkeys(names))


@contextmanager
def sweep_figure(
    results: Results, labels: Sequence[str], setting: str, kind: str, shape: FigureShape
) -> Iterator[Figure]:
    """Yield a figure with the final regret of policies over the values of a setting."""
    checks.one_of("a figure", "kind", kind, KINDS)
    swept = swept_settings(results)
    checks.needs(bool(swept), "plot", "results of a sweep to draw them over a setting", setting)
    checks.one_of("plot", "over", setting, swept)
    lines = lines_of(results, labels, setting)
    values = list(
        dict.fromkeys(value for line in lines.values() for value in line if value is not None)
    )
    places = places_of(values)
    problems = results.problems

    def draw(axis: Axes, place: int, scale: float, letters: float) -> None:
        name = problems[place].name
        for label, line in lines.items():
            ends = {
                value: estimate_regret(getattr(results[name, one], kind)[:, -1])
                for value, one in line.items()
            }
            draw_ends(axis, list(lines), label, ends, places, scale)
        set_ticks(axis, places)
        axis.set_xlabel(setting)
        axis.set_ylabel(f"{KINDS[kind]}, {results.cells[0].horizon} rounds")
        axis.set_ylim(0, None)

    seeds = format_count(len(results.cells[0].seeds), "seed")
    heading = f"mean and 95 % interval\n{seeds}"
    titles = [problem.title for problem in problems]
    with draw_figure(titles, list(lines), heading, draw, shape) as figure:
        yield figure


def lines_of(results: Results, labels: Sequence[str], setting: str) -> dict[str, Line]:
    """Return the name of each line, and the labels along it."""
    contenders = {cell.contender.label: cell.contender for cell in results.cells}
    lines: dict[str, dict[Any, str]] = {}
    for label in labels:
        one = contenders[label]
        rest = {name: value for name, value in one.swept.items() if name != setting}
        name = ", ".join(filter(None, [one.entrant or label, describe_values(rest)]))
        lines.setdefault(name, {})[one.swept.get(setting)] = label
    return dict(lines)


def places_of(values: Sequence[Any]) -> dict[Any, float]:
    """Return where each value stands on the axis: numbers at themselves, others one by one."""
    if all(checks.is_number(value) for value in values):
        return {value: float(value) for value in sorted(values)}
    return {value: float(place) for place, value in enumerate(values)}


def set_ticks(axis: Axes, places: Mapping[Any, float]) -> None:
    """Mark every value; numbers over a wide range stand on a logarithmic axis."""
    ends = list(places.values())
    numbers = all(checks.is_number(value) for value in places)
    if numbers and min(ends) > 0 and max(ends) >= WIDE * min(ends):
        axis.set_xscale("log")
    axis.minorticks_off()
    axis.set_xticks(ends, [describe_value(value) for value in places])


def draw_ends(
    axis: Axes,
    names: Sequence[str],
    name: str,
    ends: Mapping[Any, IntervalEstimate],
    places: Mapping[Any, float],
    scale: float,
) -> None:
    """Draw the means along a line with their intervals; a policy that was not swept is level."""
    style: dict[str, Any] = {**style_of(names, name), "lw": 1.6 * scale}
    if None in ends:
        axis.axhline(ends[None].value, label=name, **style)
        if np.isfinite(ends[None].high):
            axis.axhspan(ends[None].low, ends[None].high, color=style["color"], alpha=0.1, lw=0)
        return
    kept = [value for value in places if value in ends]
    x = [places[value] for value in kept]
    found = [ends[value] for value in kept]
    style |= {"marker": marker_of(names, name), "ms": 4.5 * scale}
    axis.plot(x, [one.value for one in found], label=name, **style)
    if all(np.isfinite(one.high) for one in found):
        low, high = [one.low for one in found], [one.high for one in found]
        axis.fill_between(x, low, high, color=style["color"], alpha=0.18, lw=0)
