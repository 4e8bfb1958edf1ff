"""`study ask`, and why: `explain` and `replay`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from kernelbandits.apps.options import Form, Format
from kernelbandits.apps.studying import pages
from kernelbandits.apps.studying.arguments import Lease, Place, Quiet, Trial, counted, duration
from kernelbandits.apps.studying.door import answer, line, notes, opened, typed
from kernelbandits.formatting import format_count

if TYPE_CHECKING:
    from kernelbandits.study.values import Suggestion

ASK = """Ask which row to measure next, and why.

The row is yours until its lease runs out: others who ask get other rows. A worker who asks again
under the same name before telling gets the same rows. JSON: a list of objects with trial, row, x
(column to value), why, note (what the policy knew), greedy (the row of the best estimate), until,
worker, again, label (what the table calls the row), revision (of the policy) and notices.

Examples:

    kernelbandits study ask films.db

    kernelbandits study ask films.db --n 4 --worker robot-2 --lease 2h

    kernelbandits study ask films.db --format json
"""
EXPLAIN = """Explain why a row was suggested, with what was known when it was asked for.

Shown are estimate and sd of the row, the weight drawn, the width, and the greedy alternative: the
row of the best estimate at that time. A row that another revision of auto chose is explained by
what was stored with it.

Examples:

    kernelbandits study explain films.db 17

    kernelbandits study explain films.db 17 --format json
"""
REPLAY = """Recompute a past suggestion from the events before it, and explain it.

Exit code 0 if the same row comes out, 1 if not. Rows that another revision of auto chose are shown
as they were stored and not recomputed (exit code 0). JSON: trial, row, recomputed and same (null
where nothing was recomputed), revision, explained and sentence.

Examples:

    kernelbandits study replay films.db --at 17
"""


def ask(
    place: Place,
    n: Annotated[int, typer.Option("--n", "-n", help="How many rows.")] = 1,
    worker: Annotated[
        str | None, typer.Option(help="Who asks; the same name gets its pending rows back.")
    ] = None,
    lease: Lease = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    seconds = duration("--lease", lease)
    with opened(place, quiet) as study:
        found, candidates = study.ask(n, worker=worker, lease=seconds), study.candidates
    notes(repeated(found), quiet)
    answer(form, found, lambda console: pages.suggestions(console, found, candidates, typed(place)))


def repeated(found: Sequence[Suggestion]) -> list[str]:
    """A note if there were not enough free candidates."""
    kinds = len({tuple(one.x.items()) for one in found})
    free = f"only {format_count(kinds, 'different candidate')} could be offered"
    return (
        [f"{len(found)} rows were asked for and {free}, so that rows come twice"]
        if kinds < len(found)
        else []
    )


def explain(place: Place, trial: Trial, form: Form = Format.text, quiet: Quiet = False) -> None:
    number = counted("TRIAL", trial, 1)
    with opened(place, quiet, writable=False) as study:
        found = study.explain(number)
    answer(form, found, lambda console: pages.explained(console, found))


def replay(
    place: Place,
    at: Annotated[int, typer.Option("--at", min=1, help="The trial.")],
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with opened(place, quiet, writable=False) as study:
        found = study.replay(at)

    def show(console: Console) -> None:
        line(console, found.sentence)
        pages.explained(console, found.explained)

    answer(form, found, show)
    if found.same is False:
        raise typer.Exit(1)
