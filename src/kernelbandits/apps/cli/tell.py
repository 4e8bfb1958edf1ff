"""`study tell`, `study correct` and `study withdraw`: results and their corrections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelbandits import checks
from kernelbandits.apps.cli.arguments import (
    Place,
    Quiet,
    Reason,
    Trial,
    Worksheet,
    read_value,
    read_whole_number,
)
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import open_study, print_answer, print_sentence
from kernelbandits.formatting import format_count

if TYPE_CHECKING:
    from kernelbandits.study.values import AlreadyTold, Told

TELL = """Tell a result.

A trial has one result. If it has one already, the new one is refused and the stored one is shown
(exit code 1); `correct` replaces a wrong result. With --key a command can be repeated safely: the
result is stored once. Use --row for a row that nobody asked for, or that was measured again; if a
trial of the same candidate is pending without a worker, the result is taken for it, and the answer
says so. A result that comes after the end of the lease counts too. In a study over a space, --at
gives the value of a variable, once for each variable: a point that nobody asked for; one that lies
outside the ranges or breaks a constraint is refused. JSON: trial, row, value (the
stored one), accepted, key, seq, settles (the pending trial that a row settled) and waiting (trials
of the same candidate that stay pending), x (the point of a space, null for a table), corrected
(whether the value replaced another one) and was (that other value); with --file a list of these.

A file of results (--file, or --csv as in earlier releases) is a CSV file, a workbook (.xlsx) or a
Parquet file, such as an export of this or of another study. Each line names its trial, its row or
the values of all columns, and has the result in a column named like the target. Either all lines
are stored or none. Lines that were told before are skipped, so you can add lines to the file and
tell it again. If a line has another value than the one that is stored, nothing is stored and both
values are listed: then --corrected replaces the stored values, and --replicates takes the new ones
as further measurements.

A sheet that `ask --sheet` or `sheet` wrote is told back by --sheet: the lines that are filled in,
all of them or none. It may be told again when more is filled in. A sheet of another study, or one
that was changed where it identifies its trials, is refused.

Examples:

    kernelbandits study tell films.db 17 0.83

    kernelbandits study tell films.db 18 -0.5 --key run-2026-05-04-a

    kernelbandits study tell films.db 19 --failed

    kernelbandits study tell films.db --row 42 0.79

    kernelbandits study tell brew.db --at temperature=30 --at solvent=DMF 0.83

    kernelbandits study tell films.db --file results.csv

    kernelbandits study tell films.db --file results.xlsx --worksheet May

    kernelbandits study tell films.db --file results.csv --corrected

    kernelbandits study tell films.db --sheet plate.xlsx
"""
CORRECT = """Replace the result of a trial; the history keeps the old one.

Examples:

    kernelbandits study correct films.db 17 0.38 --reason "digits swapped"

    kernelbandits study correct films.db 17 --failed
"""
WITHDRAW = """Withdraw the result of a trial: it no longer counts, but stays in the history.

Examples:

    kernelbandits study withdraw films.db 17 --reason "sample was contaminated"
"""
LISTED = 5
"""How many corrections an answer lists."""
FORMS = (
    "TRIAL VALUE, TRIAL --failed, --row ROW VALUE, --row ROW --failed, --at NAME=VALUE ... VALUE, "
    "--file FILE or --sheet FILE"
)


def tell(
    place: Place,
    trial: Annotated[
        str | None,
        typer.Argument(metavar="TRIAL", help="Number that `ask` printed; leave it out with --row."),
    ] = None,
    value: Annotated[
        str | None,
        typer.Argument(
            metavar="VALUE", help="The result, with a decimal point, such as 0.83 or -0.5."
        ),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="The measurement failed: there is no value.")
    ] = False,
    row: Annotated[
        str | None,
        typer.Option(metavar="ROW", help="Row of the table, counted from 0, instead of a trial."),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Value of a variable, in a study over a space; once for each variable.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", "--csv", help="CSV file, workbook (.xlsx) or Parquet file with results."
        ),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Sheet of `ask --sheet` that was filled in."),
    ] = None,
    worksheet: Worksheet = None,
    key: Annotated[
        str | None,
        typer.Option(help="Name of this result: told twice with the same key, it counts once."),
    ] = None,
    worker: Annotated[str | None, typer.Option(help="Who measured it.")] = None,
    corrected: Annotated[
        bool,
        typer.Option(
            "--corrected", help="With --file or --sheet: other values replace the stored ones."
        ),
    ] = False,
    replicates: Annotated[
        bool,
        typer.Option(
            "--replicates", help="With --file or --sheet: other values are further measurements."
        ),
    ] = False,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.study import AlreadyTold

    given = [text for text in (trial, value) if text is not None]
    alone = not given and row is None and not failed and not at
    checks.needs(file is None or alone, "tell", f"one of {FORMS}", "--file and more")
    alone = alone and file is None and key is None and worksheet is None
    checks.needs(sheet is None or alone, "tell", f"one of {FORMS}", "--sheet and more")
    checks.needs(file is not None or not worksheet, "tell", "--file FILE with --worksheet", "none")
    checks.needs(
        bool(file or sheet) or not (corrected or replicates),
        "tell",
        "--file or --sheet with --corrected or --replicates",
        "none",
    )
    single = {} if file or sheet else read_result(given, row, failed, at)
    with open_study(place, quiet) as study:
        if at:
            single["x"] = study.read_point(read_assignments(at))
        try:
            repeats = {"corrected": corrected, "replicates": replicates}
            told: Told | list[Told]
            if sheet is not None:
                told = study.tell_sheet(sheet, worker=worker, **repeats)
            elif file is not None:
                told = study.tell_all(file, key=key, worker=worker, worksheet=worksheet, **repeats)
            else:
                told = study.tell(**single, key=key, worker=worker)
        except AlreadyTold as late:
            print_stored_result(form, late)
            raise
    print_sentence(form, told, describe_results(told) if isinstance(told, list) else told.sentence)


def read_assignments(texts: Sequence[str]) -> dict[str, str]:
    """Read NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        checks.needs(bool(equals and name), "tell", "--at NAME=VALUE", text)
        checks.needs(name not in found, "tell", "--at once for each variable", name)
        found[name] = value
    return found


def read_result(
    given: Sequence[str], row: str | None, failed: bool, at: Sequence[str] | None
) -> dict[str, Any]:
    """Read which trial or row is told, and its value; a point is read when the space is known."""
    checks.needs(row is None or not at, "tell", f"one of {FORMS}", "--row and --at")
    wanted = (row is None and not at) + (not failed)
    if len(given) != wanted:
        beside = " ".join(
            [
                *given,
                *(["--row", row] if row is not None else []),
                *(["--at", *at] if at else []),
                *(["--failed"] if failed else []),
            ]
        )
        raise ValueError(f"tell needs one of {FORMS}, got {beside or 'nothing'}")
    which: dict[str, Any] = {}
    if row is not None:
        which = {"row": read_whole_number("--row", row, 0)}
    elif not at:
        which = {"trial": read_whole_number("TRIAL", given[0], 1)}
    return which | ({"failed": True} if failed else {"value": read_value("tell", given[-1])})


def print_stored_result(form: Format, late: AlreadyTold) -> None:
    """Print the stored value for scripts; the sentence follows on standard error."""
    found = {"trial": late.trial, "value": late.value, "accepted": False}
    print_answer(form, found, lambda console: None)


def describe_results(told: Sequence[Told]) -> str:
    """Count the results of a file, and name the trials that it corrects or that stay pending."""
    new = [one for one in told if one.accepted]
    corrections = [one for one in new if one.corrected]
    recorded, known = len(new) - len(corrections), len(told) - len(new)
    counted = [f"{format_count(len(corrections), 'result')} corrected"] if corrections else []
    if recorded or not corrections:
        counted.append(f"{format_count(recorded, 'result')} recorded")
    if known:
        counted.append(f"{known} already stored")
    settled = [one.settles for one in told if one.settles is not None]
    # A later line may have settled a trial that was pending when an earlier line was stored.
    done = {one.trial for one in told}
    waiting = {number for one in told for number in one.waiting} - done
    return (
        ", ".join(counted)
        + "."
        + list_corrections(corrections)
        + list_trials("Pending trials that got the result of a row", settled)
        + list_trials("Trials still pending for the candidate of such a row", waiting)
    )


def list_corrections(corrections: Sequence[Told]) -> str:
    """The old and the new value of each trial that was corrected, as far as a line has room."""
    shown = [one.sentence.removesuffix(".") for one in corrections[:LISTED]]
    more = len(corrections) - len(shown)
    shown += [f"and {more} more, which `history` lists"] if more else []
    return f" {'; '.join(shown)}." if shown else ""


def list_trials(what: str, numbers: Iterable[int]) -> str:
    """A sentence that lists the trials, if there are any."""
    listed = ", ".join(map(str, sorted(numbers)))
    return f" {what}: {listed}." if listed else ""


def correct(
    place: Place,
    trial: Trial,
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="The right result, with a decimal point.")
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="The measurement failed: there is no value.")
    ] = False,
    reason: Reason = "",
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    number = read_whole_number("TRIAL", trial, 1)
    given = "both" if failed else "neither"
    checks.needs((value is None) == failed, "correct", "TRIAL VALUE or TRIAL --failed", given)
    right = None if value is None else read_value("correct", value)
    with open_study(place, quiet) as study:
        event = study.correct(number, right, failed=failed, reason=reason)
    shown = "now counts as failed" if right is None else f"now has the result {right!r}"
    print_sentence(
        form,
        event,
        f"Trial {number} {shown} (event {event.seq}). `undo` reverses the correction.",
    )


def withdraw(
    place: Place, trial: Trial, reason: Reason = "", form: Form = Format.text, quiet: Quiet = False
) -> None:
    number = read_whole_number("TRIAL", trial, 1)
    with open_study(place, quiet) as study:
        event = study.withdraw(number, reason=reason)
    print_sentence(
        form,
        event,
        f"The result of trial {number} no longer counts (event {event.seq}). "
        "`undo` reverses the withdrawal.",
    )
