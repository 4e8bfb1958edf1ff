"""`study list`, `status`, `history`, `estimates` and `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelbandits.apps import progress, screen
from kernelbandits.apps.options import Form, Format
from kernelbandits.apps.studying import pages
from kernelbandits.apps.studying.arguments import Place, Quiet
from kernelbandits.apps.studying.door import answer, notes, opened, said, typed
from kernelbandits.apps.studying.keeping import records

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.study import Study
    from kernelbandits.study.candidates import Candidates

STATUS = """Show where a study stands: progress, the likely best, whether one may stop, and who waits since when.

The likely best is the measured row of the best estimate, not of the luckiest measurement; its
probability is that of being the best of all allowed. A row with a better estimate that was never
measured is named beside it. JSON: told, pending, failed, best (row, mean, low, high, probability,
untested, or null), and more.

Examples:

    kernelbandits study status films.db

    kernelbandits study status films.db --format json
"""
HISTORY = """Show all that happened, in order: nothing is ever taken out of it.

Examples:

    kernelbandits study history films.db --limit 20

    kernelbandits study history films.db --format json
"""
ESTIMATES = """Show what is believed of each candidate, the best estimate first.

The interval is that of the estimate, 95 %, in the target's own units.

Examples:

    kernelbandits study estimates films.db --top 10

    kernelbandits study estimates films.db --format json
"""
PLOT = """Draw a study: its observations, estimates, exploration weights, and regret if the truth is known.

Examples:

    kernelbandits study plot films.db films.png

    kernelbandits study plot films.db films.html --truth truth.csv

    kernelbandits study plot films.db why.svg --what posterior --trial 17
"""
LIST = """List the studies of a PostgreSQL database, or the one in a file.

JSON: a list of objects with name, place, rows, events and since (seconds since 1970); of a damaged study only its name
and place are known.

Examples:

    kernelbandits study list films.db

    kernelbandits study list "postgresql://ann@lab/studies"
"""
TOP = 20
WHAT = "all, progress (results as they came), regret (with --truth), posterior (estimates) or weights (exploration)."


def status(place: Place, form: Form = Format.text, quiet: Quiet = False) -> None:
    with opened(place, quiet, writable=False) as study:
        found, label = study.status(), study.candidates.label
    notes(found.notices, quiet or form is Format.json)
    answer(form, found, lambda console: pages.status(console, found, label, typed(place)))


def list_(place: Place, form: Form = Format.text, quiet: Quiet = False) -> None:
    from kernelbandits import storage

    screen.listen(quiet)
    found = storage.studies(place)
    answer(form, found, lambda console: pages.studies(console, found))


def history(
    place: Place,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only so many, the last. Default: all.")
    ] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with opened(place, quiet, writable=False) as study:
        events = study.history()
    shown = events[-limit:] if limit else events
    answer(form, shown, lambda console: pages.history(console, shown, len(events) - len(shown)))


def estimates(
    place: Place,
    top: Annotated[
        int | None, typer.Option(min=1, help=f"So many. Default: {TOP}, and all in JSON.")
    ] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with opened(place, quiet, writable=False) as study:
        frame = best_first(study)
    shown = frame.head(top or (len(frame) if form is Format.json else TOP))
    answer(form, records(shown), lambda console: pages.estimates(console, shown, len(frame)))


def best_first(study: Study) -> pd.DataFrame:
    found = named(study.estimates(), study.candidates)
    return found.sort_values("mean", ascending=study.direction == "minimize", kind="stable")


def named(frame: pd.DataFrame, candidates: Candidates) -> pd.DataFrame:
    """With what the table calls each row right after the row."""
    for name in reversed(candidates.labels):
        if name not in frame.columns:
            frame.insert(1, name, [candidates.label(row)[name] for row in frame["row"]])
    return frame


def plot(
    place: Place,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="OUT.png, OUT.svg or OUT.html.")],
    what: Annotated[str, typer.Option(help=WHAT)] = "all",
    truth: Annotated[
        Path | None, typer.Option(help="CSV with the true value of each row, for the regret.")
    ] = None,
    trial: Annotated[int | None, typer.Option(min=1, help="A trial to mark and explain.")] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.report.studies import draw_study

    there = out.exists()
    with opened(place, quiet, writable=False) as study, progress.waiting("drawing", quiet):
        draw_study(study, out, what=what, truth=truth, trial=trial)
    document = {"path": str(out), "what": what, "replaced": there}
    said(form, document, f"Written to {out}" + (", replaced" if there else ""))
