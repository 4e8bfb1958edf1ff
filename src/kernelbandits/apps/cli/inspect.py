"""`study list`, `status`, `history`, `estimates` and `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelbandits.apps.cli import progress, render, screen
from kernelbandits.apps.cli.arguments import Force, Place, Quiet
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import (
    announce_estimates,
    open_study,
    print_answer,
    print_notes,
    print_sentence,
    retypable_place,
)
from kernelbandits.report.studies.figures import ALL, STUDY_FIGURES

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.study import Study

STATUS = """Show the results so far, the likely best row, and what to do next.

The likely best is the measured row with the best estimate. One lucky measurement does not make a
row the best, because the estimate takes all results and the noise into account. The probability is
that of being the best of all allowed rows. If a row that was never measured has a better estimate,
it is named too, and where the model predicts no better than the mean of the results, that is said.
With a tolerance the answer to "may I stop?" is yes if the likely best is within the tolerance of
the best row with a probability of at least 95 %. If nothing is left to find, it is yes too.
Trials that wait for a result are listed with the time since they were asked for. --details adds
the policy, its fitted model and what theory guarantees. With a named policy whose noise_scale,
norm_bound, centre and spread were given, "regret so far" says what all results together lost at
most, compared with the best row every time.

JSON: told, pending, failed, best (row, mean, low, high, probability, comparison, may_be_luck,
untested, caution, or null), stop (may_stop, left, probability, sentence), regret_certificate (a
number, or null where nothing is proved), goal, noise, rounds, and more.

Examples:

    kernelbandits study status films.db

    kernelbandits study status films.db --details

    kernelbandits study status films.db --format json
"""
HISTORY = """Show everything that happened in a study, in order. Nothing is ever deleted from it.

Examples:

    kernelbandits study history films.db --limit 20

    kernelbandits study history films.db --format json
"""
ESTIMATES = """Show the estimate of each candidate, the best first.

The 95 % interval is that of the estimate, not of a new measurement. All numbers are in the units of
the target. A note says so where there are no results yet, and where the model predicts no better
than the mean of the results; in JSON every object has it as caution ("" where there is none).

Examples:

    kernelbandits study estimates films.db --top 10

    kernelbandits study estimates films.db --format json
"""
FIGURES = "\n\n".join(f"    {one.name}: {one.help}" for one in STUDY_FIGURES)
PLOT = f"""Draw what to measure next, the results, and what the estimates depend on.

The figures are, where there is something to draw:

{FIGURES}

An existing file is only replaced with --force, and a study never.

Examples:

    kernelbandits study plot films.db films.png

    kernelbandits study plot films.db films.html --truth truth.csv

    kernelbandits study plot films.db why.svg --what posterior --trial 17
"""
LIST = """List the studies of a PostgreSQL database, or the one in a file.

JSON: a list of objects with name, place, rows, events and since (seconds since 1970); for a damaged
study only name and place.

Examples:

    kernelbandits study list films.db

    kernelbandits study list "postgresql://ann@lab/studies"
"""
TOP = 20
WHAT = f"{ALL}, or one figure: {', '.join(one.name for one in STUDY_FIGURES)}."


def status(
    place: Place,
    details: Annotated[
        bool, typer.Option("--details", help="Show the policy, its model and its guarantee too.")
    ] = False,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with open_study(place, quiet, writable=False) as study:
        announce_estimates(study, quiet or form is Format.json)
        found, candidates = study.status(), study.candidates
    print_notes(found.notices, quiet or form is Format.json)
    shown = retypable_place(place)
    print_answer(
        form, found, lambda console: render.print_status(console, found, candidates, shown, details)
    )


def list_(place: Place, form: Form = Format.text, quiet: Quiet = False) -> None:
    from kernelbandits import storage

    screen.listen(quiet)
    found = storage.studies(place)
    print_answer(form, found, lambda console: render.print_studies(console, found))


def history(
    place: Place,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Number of events, the last ones. Default: all.")
    ] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with open_study(place, quiet, writable=False) as study:
        events, candidates = study.history(), study.candidates
    shown = events[-limit:] if limit else events
    print_answer(
        form,
        shown,
        lambda console: render.print_history(console, shown, len(events) - len(shown), candidates),
    )


def estimates(
    place: Place,
    top: Annotated[
        int | None,
        typer.Option(min=1, help=f"Number of candidates. Default: {TOP}, and all in JSON."),
    ] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.study.dataframes import list_records

    with open_study(place, quiet, writable=False) as study:
        announce_estimates(study, quiet or form is Format.json)
        frame, candidates = sort_estimates(study), study.candidates
    shown, caution = (
        frame.head(top or (len(frame) if form is Format.json else TOP)),
        frame.attrs["caution"],
    )
    print_notes([caution] if caution else [], quiet or form is Format.json)
    document = [{**one, "caution": caution} for one in list_records(shown)]
    print_answer(
        form,
        document,
        lambda console: render.print_estimates(console, shown, len(frame), candidates),
    )


def sort_estimates(study: Study) -> pd.DataFrame:
    from kernelbandits.study.dataframes import with_labels

    found = with_labels(study.estimates(), study.candidates)
    return found.sort_values("mean", ascending=study.direction == "minimize", kind="stable")


def plot(
    place: Place,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="OUT.png, .svg, .pdf or .html.")],
    what: Annotated[str, typer.Option(help=WHAT)] = ALL,
    truth: Annotated[
        Path | None, typer.Option(help="CSV file with the true value of each row, for the regret.")
    ] = None,
    trial: Annotated[int | None, typer.Option(min=1, help="Trial to mark and explain.")] = None,
    force: Force = False,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.report.studies import draw_study

    there = out.exists()
    with open_study(place, quiet, writable=False) as study, progress.show_task("drawing", quiet):
        draw_study(study, out, what=what, truth=truth, trial=trial, force=force)
    document = {"path": str(out), "what": what, "replaced": there}
    print_sentence(form, document, f"Written to {out}" + (" (replaced)" if there else ""))
