"""Figures of the theory: regrets with their bounds, log-determinants, a law's bounds against T."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.canvas import (
    PALETTE,
    Margins,
    draw_panels,
    marker_of,
    names_across,
    plain_ticks,
    save,
    shorten_label,
    style_of,
)
from kernelbandits.checks import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernelbandits.analysis.calculation import Calculation
    from kernelbandits.analysis.guarantees import Guarantee
    from kernelbandits.theory import InformationGain, PlayedBound, RegretBound

FAR = 20.0
"""Bounds that exceed the least regret by this factor are drawn on a logarithmic axis."""
TRIVIAL: dict[str, Any] = {"color": "#999999", "lw": 1.0}
CEILING: dict[str, Any] = {
    "color": "#222222",
    "lw": 1.2,
    "ls": (0, (6, 2, 1, 2)),
    "marker": ".",
    "ms": 5,
}
DOTTED = (0, (1, 1.5))
CERTIFICATE: dict[str, Any] = {"lw": 1.2, "ls": (0, (7, 2, 1, 2, 1, 2))}
DASHED: dict[str, Any] = {"color": "#222222", "lw": 1.2, "ls": (0, (4, 3))}
DASH, LINE, LETTERS = 4.0, 0.21, 9.5
"""Points of a dash; inches of a line of the legend, and points of its letters."""
LEGEND = 0.35
"""The share of the panel of bounds below which its legend stands."""
BOUNDS: Mapping[str, dict[str, Any]] = {
    "printed": {"color": "#999999", "lw": 1.2, "ls": (0, (4, 3))},
    "repaired": {"color": PALETTE[1], "lw": 1.6},
    "tight": {"color": PALETTE[0], "lw": 1.6},
    "trivial": {"color": "#222222", "lw": 1.2, "ls": (0, (1, 2))},
}
"""How each bound is drawn."""
AS_PLAYED: dict[str, Any] = {"color": PALETTE[2], "lw": 2.0}


def guarantee_figure(
    panels: Mapping[str, Sequence[Guarantee]], labels: Sequence[str], path: Path
) -> str:
    """Draw for each problem the regrets with their bounds, and below them the log-determinants."""
    columns = min(3, len(panels))
    blocks, across = -(-len(panels) // columns), names_across(labels, 4.4 * columns, LETTERS)
    lower = any(item.least is not None for found in panels.values() for item in found)
    policies, lines = policy_handles(labels), line_handles(lower)
    margins = Margins(
        left=0.75,
        below=0.55,
        above=0.4,
        head=0.05 + LINE * (-(-len(policies) // across) + len(lines)),
    )
    size = 4.4 * columns, 6.2 * blocks + margins.head
    with draw_panels(2 * blocks, columns, size, margins) as (figure, grid):
        for axis in grid.flat:
            axis.set_axis_off()
        for place, (title, found) in enumerate(panels.items()):
            row, column = divmod(place, columns)
            drawn = [item for item in found if item.policy in labels]
            draw_regrets(grid[2 * row, column], drawn, labels)
            draw_log_dets(grid[2 * row + 1, column], drawn, labels)
            grid[2 * row, column].set_title(title)
        top: Any = {
            "loc": "upper left",
            "frameon": False,
            "fontsize": LETTERS,
            "borderaxespad": 0.2,
        }
        figure.legend(handles=policies, ncols=across, bbox_to_anchor=(0, 1), **top)
        below = 1 - LINE * -(-len(policies) // across) / size[1]
        figure.legend(handles=lines, bbox_to_anchor=(0, below), **top)
        return save(figure, path)


def solid_style(labels: Sequence[str], label: str) -> dict[str, Any]:
    """Return colour and marker of a policy; its line is solid: other strokes are for bounds."""
    look = {"color": style_of(labels, label)["color"], "marker": marker_of(labels, label)}
    return look | {"lw": 1.6, "ms": 4.5, "markevery": (0.03 * (labels.index(label) % 5), 0.15)}


def draw_regrets(axis: Axes, found: Sequence[Guarantee], labels: Sequence[str]) -> None:
    """Draw means of the regret, and the bounds up to 2 D T; dashes of equal bounds alternate."""
    axis.set_axis_on()
    for item in found:
        axis.plot(item.rounds, item.regret, **solid_style(labels, item.policy))
        if item.least is not None:
            draw_least(axis, item, item.least, style_of(labels, item.policy)["color"])
        if item.certified is not None:
            colour = style_of(labels, item.policy)["color"]
            axis.plot(item.horizons, item.certified[0], color=colour, **CERTIFICATE)
    bounded = {
        item.policy: (item, item.proved) for item in found if not isinstance(item.proved, str)
    }
    vacuous = [label for label, (_, proved) in bounded.items() if proved.share >= 1]
    for label, (item, proved) in bounded.items():
        dashes = alternating_dashes(vacuous, label) if label in vacuous else DASHED["ls"]
        axis.plot(item.horizons, proved.trivial, **TRIVIAL, zorder=1)
        axis.plot(
            item.horizons, proved.value, color=style_of(labels, label)["color"], lw=1.6, ls=dashes
        )
    if len(vacuous) == len(bounded) > 0:
        text = how_vacuous([proved.share for _, proved in bounded.values()])
        axis.text(0.04, 0.86, text, transform=axis.transAxes, fontsize=9, color="#555555")
    tops = [float(proved.value[-1]) for _, proved in bounded.values()]
    scale_regrets(axis, [item.regret for item in found], max(tops, default=0.0))
    axis.set_xlabel("round t")
    axis.set_ylabel("cumulative regret")


def draw_least(axis: Axes, item: Guarantee, least: float, colour: str) -> None:
    """Draw the lower bound of the regret at T, from where the regret has passed it."""
    passed = item.rounds[item.regret >= least]
    axis.plot(
        [passed[0] if len(passed) else 1, item.rounds[-1]],
        [least] * 2,
        color=colour,
        lw=1.6,
        ls=DOTTED,
    )


def alternating_dashes(labels: Sequence[str], label: str) -> tuple[float, tuple[float, float]]:
    """Return dashes that leave room for those of the other lines at the same place."""
    return labels.index(label) * DASH, (DASH, DASH * max(1, len(labels) - 1))


def how_vacuous(shares: Sequence[float]) -> str:
    low, high = f"{min(shares):.2g}", f"{max(shares):.2g}"
    return f"all bounds are vacuous:\n{low if low == high else f'{low} to {high}'} times 2DT"


def scale_regrets(axis: Axes, regrets: Sequence[Array], top: float) -> None:
    """Make the axes logarithmic where the regrets would be too small to see on linear ones."""
    least = min((float(regret[-1]) for regret in regrets), default=0.0)
    if top > FAR * least > 0:
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(
            min(float(regret[regret > 0].min(initial=top)) for regret in regrets) / 1.5, 1.5 * top
        )
    else:
        axis.set_xlim(0, None)
        axis.set_ylim(0, None)


def draw_log_dets(axis: Axes, found: Sequence[Guarantee], labels: Sequence[str]) -> None:
    axis.set_axis_on()
    known = [item for item in found if np.isfinite(item.log_det).all()]
    for item in known:
        axis.plot(item.rounds, item.log_det, **solid_style(labels, item.policy))
    # Policies with one ridge and one kernel have the same ceiling.
    for item in {(item.ridge, *item.gain): item for item in known}.values():
        axis.plot(item.horizons, 2 * item.gain, **CEILING)
    axis.set_xscale("log")
    axis.set_ylim(0, None)
    axis.set_xlabel("round t")
    axis.set_ylabel("L = log det(I + K/ridge)")


def policy_handles(labels: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [], [], label=shorten_label(label), **solid_style(labels, label) | {"markevery": None}
        )
        for label in labels
    ]


def line_handles(lower: bool) -> list[Any]:
    from matplotlib.lines import Line2D

    bound = Line2D([], [], **DASHED, label="above: min(bound, 2DT), in the policy's colour")
    trivial = Line2D([], [], **TRIVIAL, label="above: 2DT, which no regret exceeds")
    certificate = Line2D(
        [], [], color=DASHED["color"], **CERTIFICATE, label="above: certified regret"
    )
    least = Line2D(
        [],
        [],
        color=DASHED["color"],
        lw=1.6,
        ls=DOTTED,
        label="above: least regret at T that is proved",
    )
    ceiling = Line2D([], [], **CEILING, label="below: 2γ, which no policy exceeds")
    return [bound, certificate, trivial, *([least] if lower else []), ceiling]


def calculation_figure(found: Calculation, path: Path) -> str:
    """Draw against T: the bounds and 2 D T, the enclosure of gamma, C2 and C3."""
    margins = Margins(left=0.75, below=0.55, above=0.45, head=0.35)
    with draw_panels(1, 3, (13.5, 4.5), margins) as (figure, grid):
        gains, bounds, played = zip(*found.against_horizon, strict=True)
        horizons = np.array([gain.horizon for gain in gains])
        draw_bounds(grid[0, 0], horizons, bounds, played, found.labels)
        mark_horizon(grid[0, 0], horizons, found.horizon)
        draw_gain(grid[0, 1], horizons, gains)
        draw_constants(grid[0, 2], horizons, bounds)
        for axis in grid.flat:
            axis.set_xscale("log")
            axis.set_xlim(horizons[0], horizons[-1])
            axis.set_xlabel("horizon T")
        told = f"R = {found.noise_scale:g}, D = {found.norm_bound:g}, ridge {found.ridge:g}"
        figure.suptitle(f"{found.law}; {found.kernel} on {found.place}; {told}", fontsize=10.5)
        return save(figure, path)


def draw_bounds(
    axis: Axes,
    horizons: Array,
    bounds: Sequence[RegretBound],
    played: Sequence[PlayedBound],
    labels: Mapping[str, str],
) -> None:
    """Draw the bounds with 2 D T, and shade where none of those proved is below it."""
    values = {name: np.array([getattr(bound, name) for bound in bounds]) for name in BOUNDS}
    for name, look in BOUNDS.items():
        axis.plot(
            horizons,
            values[name],
            label=labels[name].replace(" from ridge", "\nfrom ridge"),
            **look,
        )
    least = np.array([min(bound.as_played, bound.mean_square) for bound in played])
    axis.plot(horizons, least, label="as played", **AS_PLAYED)
    proved = [
        min(b.tight, b.repaired, own) / b.trivial for b, own in zip(bounds, least, strict=True)
    ]
    shade_vacuous(axis, horizons, np.log(proved))
    axis.set_yscale("log")
    axis.set_title("bounds of the expected regret")
    axis.legend(fontsize=8.5, frameon=False, loc="lower right")


def mark_horizon(axis: Axes, horizons: Array, asked: int) -> None:
    """Draw a line at T between legend and words, its name on the side that has more room."""
    late = asked > np.sqrt(horizons[0] * horizons[-1])
    axis.axvline(asked, ymin=LEGEND, ymax=0.9, color="#222222", lw=0.8)
    axis.annotate(
        "T asked",
        (asked, LEGEND),
        xycoords=axis.get_xaxis_transform(),
        xytext=(-4 if late else 4, 1),
        textcoords="offset points",
        ha="right" if late else "left",
        fontsize=8.5,
        color="#222222",
    )


def shade_vacuous(axis: Axes, horizons: Array, shares: Array) -> None:
    """Shade where the logarithm of the share of 2 D T, drawn as a line, is not below zero."""
    fine = np.geomspace(horizons[0], horizons[-1], 1000)
    where = np.interp(np.log(fine), np.log(horizons), shares) >= 0
    axis.fill_between(
        fine,
        0,
        1,
        where=where,
        transform=axis.get_xaxis_transform(),
        color="#EEEEEE",
        lw=0,
        zorder=0,
    )
    if where.any():
        axis.text(
            0.03, 0.94, "vacuous where grey", transform=axis.transAxes, fontsize=9, color="#555555"
        )


def draw_gain(axis: Axes, horizons: Array, gains: Sequence[InformationGain]) -> None:
    lower, upper = (
        np.array([getattr(gain, name) for gain in gains]) for name in ("lower", "upper")
    )
    axis.fill_between(
        horizons, lower, upper, color=PALETTE[0], alpha=0.25, lw=0, label="between the certificates"
    )
    axis.plot(horizons, upper, color=PALETTE[0], lw=1.6, label="upper bound (certified)")
    axis.plot(
        horizons, lower, color=PALETTE[0], lw=1.2, ls=(0, (4, 3)), label="lower bound (reached)"
    )
    if lower.min() > 0:
        ticks = plain_ticks(float(lower.min()) / 1.5, 1.5 * float(upper.max()))
        axis.set_yscale("log")
        axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_yticks([], minor=True)
        axis.set_ylim(float(lower.min()) / 1.1, 1.5 * float(upper.max()))
    axis.set_title("maximum information gain γ")
    axis.legend(fontsize=8.5, frameon=False, loc="upper left")


def draw_constants(axis: Axes, horizons: Array, bounds: Sequence[RegretBound]) -> None:
    looks = {"c2": ("C2", 3.0, "-"), "c3": ("C3", 1.6, "-"), "c3_tight": ("C3′", 1.6, DASHED["ls"])}
    for place, (name, (letter, width, stroke)) in enumerate(looks.items()):
        values = [getattr(bound.constants, name) for bound in bounds]
        axis.plot(horizons, values, color=PALETTE[place], lw=width, ls=stroke, label=letter)
    axis.set_ylim(0, None)
    axis.set_title("constants of the law")
    axis.legend(fontsize=8.5, frameon=False, loc="best")
