"""`study ask`, and why: `explain` and `replay`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from kernelbandits.apps.cli import render
from kernelbandits.apps.cli.arguments import (
    Label,
    Lease,
    OptionalTrial,
    Place,
    Quiet,
    read_duration,
    read_whole_number,
)
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import (
    open_study,
    print_answer,
    print_line,
    retypable_place,
)

ASK = """Ask which row to measure next, and why.

The row is reserved for you until its lease ends; others who ask get other rows. A worker who asks
again under the same name, before telling the results, gets the same rows again. JSON: a list of
objects with trial, row, x (column to value), why, note (estimates of the policy), greedy (the row
with the best estimate), until, worker, again, label (name of the row in the table), revision (of
the policy) and notices. In a study over a space row and greedy are null, and x is the point.

Examples:

    kernelbandits study ask films.db

    kernelbandits study ask films.db --n 4 --worker robot-2 --lease 2h

    kernelbandits study ask films.db --format json
"""
EXPLAIN = """Explain why a row was suggested, by the results known at that time.

The answer shows the estimate and standard deviation of the row, why it was preferred, and the row
with the best estimate at that time. The reason is the expected improvement (goal find), what the
result was expected to teach for later rounds (goal earn), or the exploration weight and confidence
width. A row chosen by another revision of auto is explained by what was stored with it.

Examples:

    kernelbandits study explain films.db 17

    kernelbandits study explain films.db --label A7

    kernelbandits study explain films.db 17 --format json
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


def ask(
    place: Place,
    n: Annotated[int, typer.Option("--n", "-n", help="Number of rows.")] = 1,
    worker: Annotated[
        str | None, typer.Option(help="Who asks. The same name gets its pending rows again.")
    ] = None,
    lease: Lease = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    seconds = read_duration("--lease", lease)
    with open_study(place, quiet) as study:
        found = study.ask(n, worker=worker, lease=seconds)
        candidates = study.candidates if study.space is None else None
        targets = [one["name"] for one in study.settings.get("targets", ())]
    print_answer(
        form,
        found,
        lambda console: render.print_suggestions(
            console, found, candidates, retypable_place(place), targets
        ),
    )


def explain(
    place: Place,
    trial: OptionalTrial = None,
    label: Label = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    number = None if trial is None else read_whole_number("TRIAL", trial, 1)
    with open_study(place, quiet, writable=False) as study:
        found = study.explain(number, label=label)
    print_answer(form, found, lambda console: render.print_explanation(console, found))


def replay(
    place: Place,
    at: Annotated[int, typer.Option("--at", min=1, help="Number of the trial.")],
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with open_study(place, quiet, writable=False) as study:
        found = study.replay(at)

    def show(console: Console) -> None:
        print_line(console, found.sentence)
        render.print_explanation(console, found.explained)

    print_answer(form, found, show)
    if found.same is False:
        raise typer.Exit(1)
