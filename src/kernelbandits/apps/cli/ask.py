"""`study ask` and its `sheet`, and why: `explain` and `replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kernelbandits.apps.cli import render
from kernelbandits.apps.cli.arguments import (
    Force,
    Given,
    Place,
    Quiet,
    options,
)
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import (
    announce_estimates,
    open_study,
    print_answer,
    print_line,
    print_sentence,
    retypable_place,
)
from kernelbandits.apps.cli.undo import read_span
from kernelbandits.formatting import format_count
from kernelbandits.study import operations

ASK = """Ask which row to measure next, and why.

The row is reserved for you until its lease ends; others who ask get other rows. A worker who asks
again under the same name, before telling the results, gets the same rows again. JSON: a list of
objects with trial, row, x (column to value), why, note (estimates of the policy), greedy (the row
with the best estimate), until, worker, again, label (name of the row in the table), revision (of
the policy), notices and sheet. In a study over a space row and greedy are null, and x is the point.

With --same all rows of a batch have the same value in a column, such as the temperature of the oven
that they share. The first row is the policy's own choice, among the values that enough rows have;
the others are its choices among the rows with the same value. With --spread the rows are far apart:
each is the policy's choice among the rows that are at least half as far from those before it as the
rows of such a batch can be from each other.

With --sheet the rows are also written to a sheet: a workbook (.xlsx) or CSV file to fill in, or a
page (.html) to print. `tell --sheet` tells it back. A sheet that cannot be written is refused
before any row is asked for. If writing fails all the same, as on a full disk, the rows are pending,
the error says so, and `sheet` writes it again.

Examples:

    kernelbandits study ask films.db

    kernelbandits study ask films.db --n 4 --worker robot-2 --lease 2h

    kernelbandits study ask films.db --n 3 --same solvent

    kernelbandits study ask films.db --n 8 --spread --sheet plate.xlsx

    kernelbandits study ask films.db --format json
"""
EXPLAIN = """Explain why a row was suggested, by the results known at that time.

The answer shows the estimate and standard deviation of the row, why it was preferred, and the row
with the best estimate at that time. The reason is the expected improvement (goal find), what the
result was expected to teach for later rounds (goal earn), or the exploration weight and confidence
width. A row chosen by another revision of auto is explained by what was stored with it. With a
named policy whose noise_scale, norm_bound, centre and spread were given, the answer also says what
the results before it lost at most.

Examples:

    kernelbandits study explain films.db 17

    kernelbandits study explain films.db --label A7

    kernelbandits study explain films.db 17 --format json
"""
COMPARE = """Compare a row with the likely best: why is this one not recommended, or not suggested?

The answer has the estimate of the row and its probability of being the best, those of the likely
best, and the reason if the row cannot be suggested now: it is forbidden, pending, or measured where
rows are not measured again. ROW is a name, the number of a row counted from 0, or "line 5".

Examples:

    kernelbandits study compare films.db A7

    kernelbandits study compare films.db "line 5" --format json
"""
SHEET = """Write a sheet of pending trials, to fill in or to print.

A workbook (.xlsx) or a CSV file has a line for each trial, with two columns to fill in: the target,
and failed (yes or no). `tell --sheet` tells it back. A page (.html) is to print. Without --trials
the sheet has all pending trials. An existing file is only replaced with --force, and a study never.
JSON: path and trials.

Examples:

    kernelbandits study sheet films.db plate.xlsx

    kernelbandits study sheet films.db plate.html --trials 1-8 --trials 12
"""
REPLAY = """Recompute a past suggestion from the events before it, and explain it.

The exit code is 0 if the result is the same row, and 1 if not. Rows chosen by another revision of
auto are shown as stored and not recomputed (exit code 0). JSON: trial, row, recomputed and same
(null where nothing was recomputed), revision, explained and sentence. In a study over a space,
recomputed is a point, and x the one that was suggested; a point is the same if all its numbers are
the same to the last digit, which another type of machine may not reach.

Examples:

    kernelbandits study replay films.db --at 17
"""


@options(given=operations.ASK.options)
def ask(place: Place, given: Given, form: Form = Format.text, quiet: Quiet = False) -> None:
    from kernelbandits.study import SheetNotWritten

    failure = None
    with open_study(place, quiet) as study:
        announce_estimates(study, quiet or form is Format.json)
        try:
            found = study.ask(**given)
        except SheetNotWritten as error:
            # The rows are pending: they are shown before the error is.
            found, failure = error.suggestions, error
        candidates = study.candidates
        targets = [one.name for one in study.targets] if study.several else []
    print_answer(
        form,
        found,
        lambda console: render.print_suggestions(
            console, found, candidates, retypable_place(place), targets
        ),
    )
    if failure is not None:
        raise failure


def sheet(
    place: Place,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="FILE.xlsx, FILE.csv or FILE.html.")],
    trials: Annotated[
        list[str] | None,
        typer.Option(metavar="TRIALS", help="A trial, or a range such as 1-8. May be repeated."),
    ] = None,
    force: Force = False,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    spans = [read_span(text) for text in trials or ()]
    wanted = [number for span in spans for number in span] or None
    with open_study(place, quiet, writable=False) as study:
        found = study.write_sheet(path, wanted, force=force)
    document = {"path": str(path), "trials": found}
    print_sentence(form, document, f"{format_count(len(found), 'trial')} written to {path}")


@options(given=operations.EXPLAIN.options)
def explain(place: Place, given: Given, form: Form = Format.text, quiet: Quiet = False) -> None:
    with open_study(place, quiet, writable=False) as study:
        announce_estimates(study, quiet or form is Format.json)
        found, candidates = study.explain(**given), study.candidates
    print_answer(form, found, lambda console: render.print_explanation(console, found, candidates))


@options(given=operations.COMPARE.options)
def compare(place: Place, given: Given, form: Form = Format.text, quiet: Quiet = False) -> None:
    with open_study(place, quiet, writable=False) as study:
        announce_estimates(study, quiet or form is Format.json)
        found = study.compare(**given)
    print_sentence(form, found, found.sentence)


def replay(
    place: Place,
    at: Annotated[int, typer.Option("--at", min=1, help="Number of the trial.")],
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with open_study(place, quiet, writable=False) as study:
        found, candidates = study.replay(at), study.candidates

    def show(console: Console) -> None:
        print_line(console, found.sentence)
        render.print_explanation(console, found.explained, candidates)

    print_answer(form, found, show)
    if found.same is False:
        raise typer.Exit(1)
