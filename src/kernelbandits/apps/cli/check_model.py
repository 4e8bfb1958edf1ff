"""`study check`: can the model be trusted?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from kernelbandits.apps.cli import progress
from kernelbandits.apps.cli.arguments import Force, Place, Quiet
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import open_study, print_answer, print_line, retypable_place
from kernelbandits.apps.cli.render import cell, command, number, table
from kernelbandits.codec import to_json_value
from kernelbandits.formatting import format_count, format_fixed, format_near
from kernelbandits.study.words import name_cells

if TYPE_CHECKING:
    from kernelbandits.study.model_check import Check

CHECK = """Check whether the model can be trusted.

Each measured candidate is predicted from the results of all others. The answer says how well that
works, whether the 95 % intervals hold, which results are far from their prediction and should be
checked, which columns or variables the estimates depend on and how, and what is known of the noise.
A lengthscale is a share of the range of its column, or, where (log) stands beside it, of the range
of its logarithms. The partial dependence on a column is the estimate at each of its values,
averaged over the others; its 95 % interval is that of the average, not of one candidate and not of
a new measurement. The command changes nothing.

JSON: verdict (good, useful, poor, unknown), sentences, skill (share of the variance explained, 0 or
less if no better than the mean), coverage, noise, held_out (row, trials, measured, predicted, sd,
low, high, residual, outlier), outliers, columns (column, share, low, high, alone, lengthscale,
log), dependence (name, values, mean, low, high, is_number, log) of the nine most relevant columns.

Examples:

    kernelbandits study check films.db

    kernelbandits study check films.db --plot check.png

    kernelbandits study check films.db --format json
"""
SHOWN = 5
"""How many results, the worst predicted ones, are listed as text."""


def check(
    place: Place,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw a figure too: FILE.png, .svg, .pdf or .html."),
    ] = None,
    force: Force = False,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with open_study(place, quiet, writable=False) as study:
        model_check = study.check()
        if plot is not None:
            from kernelbandits.report.studies import draw_check

            with progress.show_task("drawing", quiet):
                draw_check(study, plot, model_check, force=force)
    document = to_json_value(model_check) | {"plot": None if plot is None else str(plot)}
    print_answer(
        form,
        document,
        lambda console: print_check(console, model_check, retypable_place(place), plot),
    )


def print_check(console: Console, model_check: Check, place: str, plot: Path | None) -> None:
    """Print the sentences, the columns, the worst predictions and what to type next."""
    for sentence in model_check.sentences:
        print_line(console, cell(sentence))
    if model_check.columns:
        print_columns(console, model_check)
    if model_check.dependence and model_check.verdict != "poor":
        print_dependence(console, model_check)
    if model_check.held_out:
        print_worst(console, model_check)
    for one in model_check.outliers[:SHOWN]:
        print_line(console, f"If it is wrong:  {command('correct', place, one.trial)} VALUE")
    if plot is None and model_check.held_out:
        print_line(console, f"As a figure:  {command('check', place, '--plot', 'check.png')}")
    if plot is not None:
        print_line(console, f"Written to {plot}")


def print_columns(console: Console, model_check: Check) -> None:
    noun = model_check.noun
    headings = (noun, "share of variance", "among the fits", "alone", "lengthscale")
    shown = table(headings, left=(noun,))
    for one in model_check.columns:
        share, low, high, alone = (
            format_fixed(100 * value, 0) for value in (one.share, one.low, one.high, one.alone)
        )
        length = "–" if one.lengthscale is None else f"{one.lengthscale:.2g}"
        length += " (log)" if one.log else ""
        texts = (cell(one.column), f"{share} %", f"{low} to {high} %", f"{alone} %", length)
        shown.add_row(*map(escape, texts))
    console.print(shown)


def print_dependence(console: Console, model_check: Check) -> None:
    """Print where the average over the other columns is lowest and highest, for each column."""
    # Imported here, because commands that need no model import no policies.
    from kernelbandits.insight.dependence import BAND

    shown = table((model_check.noun, "lowest average", "highest average"), left=(model_check.noun,))
    for one in model_check.dependence:
        texts = (cell(one.name), one.describe(one.least), one.describe(one.greatest))
        shown.add_row(*map(escape, map(cell, texts)))
    console.print(shown)
    print_line(
        console,
        f"The estimate of {cell(model_check.target)}, averaged over the other "
        f"{model_check.noun}s, with {BAND}.",
    )


def print_worst(console: Console, model_check: Check) -> None:
    """Print the results farthest from their prediction."""
    worst = sorted(model_check.held_out, key=lambda one: -abs(one.residual))[:SHOWN]
    called = [name_cells(one.row, one.label) for one in worst]
    names = list(called[0])
    shown = table((*names, "trial", "measured", "predicted", "95 % interval", "residual (sd)"))
    for who, one in zip(called, worst, strict=True):
        low, predicted, high = (
            format_near(value, one.sd) for value in (one.low, one.predicted, one.high)
        )
        trials = ", ".join(map(str, one.trials))
        residual = format_fixed(one.residual, 1)
        texts = (
            *map(cell, who.values()),
            trials,
            number(one.result),
            predicted,
            f"[{low}, {high}]",
            residual,
        )
        shown.add_row(*map(escape, texts))
    console.print(shown)
    print_line(
        console,
        f"The {format_count(len(worst), 'result')} farthest from what the others predict, of "
        f"{len(model_check.held_out)}.{' Rows are counted from 0.' if names == ['row'] else ''}",
    )
