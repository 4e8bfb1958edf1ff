"""What to do next, in words: what to measure, the likely best, and whether to stop."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from kernelbandits.canvas import Margins
from kernelbandits.formatting import format_interval
from kernelbandits.report.studies.sheets import QUIET, Drawing, make_printable, shorten
from kernelbandits.report.studies.view import View
from kernelbandits.study.words import describe_waiting

TITLE = "What to measure next"
LETTERS, LINE, GAP = 100, 0.19, 0.1
"""Letters in a line, its height, and the space between two paragraphs, in inches."""
HEADING = 1.25
"""Width of the headings, in inches."""
MOST_PENDING = 3
"""The most pending trials that are described in a figure."""
MOST_LETTERS = 600
"""The most letters of one paragraph."""


def next_steps(view: View) -> list[Drawing]:
    """Return the answers of the study as a figure of text."""
    paragraphs = [
        (heading, wrap(shorten(text, MOST_LETTERS), LETTERS))
        for heading, text in describe_next(view)
    ]
    height = sum(LINE * len(lines) + GAP for _, lines in paragraphs) + 0.15

    def draw(part: Any, grid: Any) -> None:
        axis, top = grid[0, 0], height - 0.1
        axis.set_axis_off()
        axis.set_xlim(0, 1)
        axis.set_ylim(0, height)
        look: Any = {"va": "top", "ha": "left", "fontsize": 10, "linespacing": 1.3}
        for heading, lines in paragraphs:
            axis.text(0.0, top, heading, color=QUIET, **look)
            axis.text(HEADING / 9.3, top, "\n".join(lines), **look)
            top -= LINE * len(lines) + GAP

    margins = Margins(0.15, 0.0, 0.0, 0.15)
    return [Drawing(TITLE, "", height, draw, margins=margins)]


def describe_next(view: View) -> list[tuple[str, str]]:
    """Return headings and sentences: pending trials, the likely best, may I stop?"""
    steps = describe_pending(view)
    best = view.status.best
    likely = "not known yet: there is no result" if best is None else best.sentence
    found = [("measure next", text) for text in steps[:1]] + [("", text) for text in steps[1:]]
    found.append(("likely best", make_printable(likely)))
    found.append(("may I stop?", make_printable(view.status.stop.sentence)))
    return found


def describe_pending(view: View) -> list[str]:
    """Return a sentence for each of the first pending trials."""
    waiting = view.status.waiting
    if not waiting:
        return [f"nothing is pending: ask the study for the next {view.noun}"]
    sentences = []
    for one in waiting[:MOST_PENDING]:
        place = view.place_of(one.row, one.x)
        estimates = view.estimates
        known = estimates.mean[place], estimates.low[place], estimates.high[place]
        text = describe_waiting(one, view.label(one.row))
        if view.estimates.results.any():
            text += f"; estimate {format_interval(*known, label=', 95 % interval')}"
        sentences.append(make_printable(text))
    more = len(waiting) - MOST_PENDING
    return [*sentences, f"... and {more} more"] if more > 0 else sentences
