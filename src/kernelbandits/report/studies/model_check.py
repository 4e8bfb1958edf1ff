"""The figure of `study.check`: held-out results against predictions, and which columns matter."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.canvas import PALETTE, Margins
from kernelbandits.censored import ABOVE, BELOW
from kernelbandits.formatting import format_fixed, format_near, format_number
from kernelbandits.insight.dependence import BAND
from kernelbandits.outputs import check_output, replace_file
from kernelbandits.report.pages import render
from kernelbandits.report.studies.page import columns_table, curve_table, table
from kernelbandits.report.studies.sheets import (
    QUIET,
    Drawing,
    empty_drawing,
    render_svg,
    sheet,
    shorten,
    write_plain_ticks,
)
from kernelbandits.report.studies.view import study_name
from kernelbandits.runtime import require
from kernelbandits.study.model_check import describe_columns
from kernelbandits.study.words import name_cells, name_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernelbandits.report.studies.view import View
    from kernelbandits.study import Check, Study
    from kernelbandits.study.model_check import HeldOut

SUFFIXES = (".png", ".svg", ".pdf", ".html")
BLUE, ORANGE, SKY = PALETTE[0], PALETTE[1], PALETTE[4]
TITLE = "Predicted against measured"
PREDICTIONS = (
    "Each measured candidate, predicted from the results of all others, with the 95 % interval of "
    "a new mean of as many results. On the dashed line prediction and measurement agree. The "
    "scales and the noise stay those of the last fit."
)
MARKS = {"": "o", BELOW: "<", ABOVE: ">"}
"""The mark of a result; from that of a limit, the result lies where the arrow points."""
COLUMNS = (
    "the share of the variance of the estimates that a {noun} takes part in, and in the dark part "
    "explains by itself. The lines span the fits that are averaged. Shares may add up to more "
    "than 100 %, because what two {noun}s do together counts for both."
)
CAPTION = f"Left: {PREDICTIONS[0].lower()}{PREDICTIONS[1:]} Right: {COLUMNS}"
HEIGHT, COLUMN = 3.9, 0.36
"""The height of the drawing, and that of one column at the right, in inches."""
MOST_COLUMNS = 16
LETTERS = 40
"""The most letters of a column's name."""
MARGINS = Margins(left=1.1, below=0.55, above=0.3, right=0.3)


def draw_check(
    study: Study,
    path: str | os.PathLike[str],
    check: Check | None = None,
    *,
    force: bool = False,
) -> Path:
    """Draw whether the model of a study can be trusted into one file, and return its path.

    Parameters
    ----------
    study
        An open study.
    path
        The file to write: .png, .svg, .pdf, or .html for a page with the sentences and tables too.
    check
        What `study.check()` has found, if it was called already.
    force
        Whether an existing file may be replaced. A study is never replaced.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import kernelbandits as kb
    >>> folder = Path(mkdtemp())
    >>> study = kb.Study.create(folder / "films.db", [[float(x)] for x in range(8)])
    >>> for row in range(6):
    ...     _ = study.tell(row=row, value=(row - 3) ** 2)
    >>> draw_check(study, folder / "check.svg").name
    'check.svg'
    """
    target = Path(path)
    known = target.suffix.lower() in SUFFIXES
    checks.needs(known, "a figure of check", "a name in .png, .svg, .pdf or .html", str(path))
    there = target.parent.is_dir()
    checks.needs(there, "a figure of check", "a folder that exists", str(target.parent))
    check_output("a figure of check", target, force)
    kind = target.suffix.lower().removeprefix(".")
    require("matplotlib", extra="experiments", owner="a figure")
    if kind == "html":
        require("jinja2", extra="experiments", owner="a page")
    found = study.check() if check is None else check
    title = f"{study_name(study.place)}: can the model be trusted?"
    drawing = check_drawing(found)
    if kind == "html":
        content = check_page(title, found, drawing).encode()
    else:
        content = sheet(title, [drawing], kind)
    replace_file(target, content, "a figure of check", force)
    return target


def predictions(view: View) -> list[Drawing]:
    """Return the figure of the check of a study."""
    return [check_drawing(view.check)]


def check_drawing(check: Check) -> Drawing:
    """Return both panels, or the reason why there is nothing to draw."""
    if not check.held_out or check.skill is None:
        return empty_drawing(TITLE, check.sentences[0])
    height = max(HEIGHT, COLUMN * min(len(check.columns), MOST_COLUMNS) + 1.0)
    findings = (check.sentences[0], *(one.sentence for one in check.outliers[:1]))
    drawing = Drawing(
        TITLE,
        PREDICTIONS,
        height,
        partial(draw_panels, check),
        margins=MARGINS,
        findings=findings,
    )
    if not tells_columns(check):
        why = describe_columns(check.verdict, check.columns, check.noun)
        return replace(drawing, findings=(*findings, *([why] if why else [])))
    title = f"{TITLE}, and which {check.noun}s matter"
    return replace(drawing, title=title, caption=CAPTION.format(noun=check.noun), columns=2)


def tells_columns(check: Check) -> bool:
    """Tell whether it is known which columns matter; if not, `check.sentences` say why."""
    return bool(check.columns) and not check.by_similarity and check.verdict != "poor"


def draw_panels(check: Check, part: Any, grid: Any) -> None:
    draw_predictions(check, grid[0, 0])
    if tells_columns(check):
        draw_columns(check, grid[0, 1])


def draw_predictions(check: Check, axis: Axes) -> None:
    """Draw predictions with their intervals against what was measured."""
    target = shorten(check.target, LETTERS)
    for outlier, color, label in ((False, BLUE, "held-out result"), (True, ORANGE, "check this")):
        chosen = [one for one in check.held_out if one.outlier is outlier]
        if not chosen:
            continue
        measured = np.array([one.measured for one in chosen])
        predicted = np.array([one.predicted for one in chosen])
        ends = np.array([(one.low, one.high) for one in chosen]).T
        # Where results are transformed, an interval is longer on one side.
        reach = np.maximum([predicted - ends[0], ends[1] - predicted], 0.0)
        sides = np.array([one.beyond for one in chosen])
        for side, mark in MARKS.items():
            own = sides == side
            if own.any():
                look: Any = {"ms": 4.5, "elinewidth": 0.9, "color": color, "label": label}
                axis.errorbar(measured[own], predicted[own], yerr=reach[:, own], fmt=mark, **look)
                label = "_"
    low = np.nanmin([(one.measured, one.predicted) for one in check.held_out])
    high = np.nanmax([(one.measured, one.predicted) for one in check.held_out])
    axis.plot([low, high], [low, high], "--", color=QUIET, lw=1.2, zorder=1)
    for one in check.held_out:
        if one.outlier:
            middle = one.measured > (low + high) / 2
            axis.annotate(
                f"check {name_held_out(one)}",
                (one.measured, one.predicted),
                xytext=(-6 if middle else 6, 5),
                textcoords="offset points",
                ha="right" if middle else "left",
                fontsize=9,
                color=ORANGE,
            )
    write_plain_ticks(axis.xaxis, axis.yaxis)
    axis.set_xlabel(f"measured {target}")
    axis.set_ylabel("predicted from the others")
    axis.set_title(describe_skill(check.skill), fontsize=10, loc="left")


def name_held_out(one: HeldOut) -> str:
    """Name what was held out: by its row, or in a study over a space by its trials."""
    if one.row is not None:
        return name_row(one.row, one.label)
    return f"trial {', '.join(map(str, one.trials))}"


def describe_skill(skill: float | None) -> str:
    """Return how well held-out results are predicted, as a title."""
    if skill is not None and skill <= 0:
        return "no better than the mean of the others"
    return "" if skill is None else f"variance explained: {100 * skill:.0f} %"


def draw_columns(check: Check, axis: Axes) -> None:
    """Draw a bar for each column, the most relevant at the top, with its name above the bar."""
    shown = check.columns[:MOST_COLUMNS]
    places = np.arange(len(shown), dtype=float)
    share = np.array([100 * one.share for one in shown])
    span = 100 * np.array([(one.share - one.low, one.high - one.share) for one in shown]).T
    alone = [100 * one.alone for one in shown]
    axis.barh(places, share, height=0.36, color=SKY, alpha=0.55, label="with others")
    axis.barh(places, alone, height=0.36, color=BLUE, label="alone")
    look: Any = {"fmt": "none", "ecolor": QUIET, "elinewidth": 1.0, "capsize": 2}
    axis.errorbar(share, places, xerr=np.maximum(span, 0.0), **look)
    for place, one in zip(places, shown, strict=True):
        axis.text(
            0.0,
            place - 0.24,
            f"{shorten(one.column, LETTERS)}  {100 * one.share:.0f} %",
            ha="left",
            va="bottom",
            fontsize=9,
        )
    more = len(check.columns) - len(shown)
    axis.set_title(
        "what the estimates depend on" + (f" ({more} more {check.noun}s)" if more else ""),
        fontsize=10,
        loc="left",
    )
    # The first bar is at the top, with space for its name above it and for the legend below all.
    axis.set_ylim(max(len(shown), 3) + 0.1, -0.85)
    axis.set_xlim(0, 100)
    axis.set_yticks([])
    axis.grid(False, axis="y")
    axis.set_xlabel("share of the variance of the estimates (%)")
    axis.legend(loc="lower right", fontsize=9, frameon=False, ncols=2)


def check_page(title: str, check: Check, drawing: Drawing) -> str:
    """Return a page with the sentences, the figure and both tables."""
    figure = None if not check.held_out else (render_svg(drawing), drawing.caption)
    return render(
        "check.html",
        title=title,
        lead=f"The model of {check.target}, checked by the results.",
        sentences=check.sentences,
        figure_of_check=figure,
        noun=check.noun,
        columns=columns_table(check),
        curves=[curve_table(one) for one in check.dependence],
        band_meaning=BAND,
        held_out=held_out_table(check),
    )


def held_out_table(check: Check) -> dict[str, Any]:
    rows = [
        (
            *name_cells(one.row, one.label).values(),
            ", ".join(map(str, one.trials)),
            format_number(one.result, 6, thousands=False),
            format_near(one.predicted, one.sd),
            f"[{format_near(one.low, one.sd)}, {format_near(one.high, one.sd)}]",
            format_fixed(one.residual, 1),
            "check this" if one.outlier else "",
        )
        for one in check.held_out
    ]
    names = [*name_cells(one.row, one.label)] if (one := next(iter(check.held_out), None)) else []
    headings = (*names, "trial", "measured", "predicted", "95 % interval", "residual (sd)", "")
    return table(headings, rows, text=(len(headings) - 1,))
