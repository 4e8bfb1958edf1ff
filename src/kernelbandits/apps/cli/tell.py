"""`study tell`, `study correct` and `study withdraw`: results and their corrections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelbandits import checks
from kernelbandits.apps.cli.arguments import (
    Label,
    OptionalTrial,
    Place,
    Quiet,
    Reason,
    Worksheet,
    read_assignments,
    read_value,
    read_whole_number,
)
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import open_study, print_answer, print_sentence
from kernelbandits.formatting import format_count
from kernelbandits.study.words import describe_correction, describe_withdrawal

if TYPE_CHECKING:
    from kernelbandits.study.values import AlreadyTold, Told

TELL = """Tell a result.

A trial has one result. If it has one already, the new one is refused and the stored one is shown
(exit code 1); `correct` replaces a wrong result. With --key a command can be repeated safely: the
result is stored once, and another result with the same key is refused. A result that comes after
the end of the lease counts too.

Use --label, --row or --line for a row that nobody asked for, or that was measured again: the name
of the row, its number counted from 0, or the line of the file of candidates in which it stood. If a
trial of the same candidate is pending without a worker, the result is taken for it, and the answer
says so. Rows with different labels are different samples, also if they describe the same candidate:
the result of one is never taken for another. The answer names the candidate that was recorded.

--at gives a candidate by its values, once for each column or variable. If no row of the table has
them, the result is learnt as a point off the table, which is never suggested, and a note says so.
In a study over a space, a point outside the ranges, or one that breaks a constraint, is refused.

--sem is the standard error of the value, by which the policy auto weighs it. --value, repeated,
tells replicates: the first is the result of the trial, each further one gets a trial of its own.
With several targets each value is named: --value stability=0.83 --value efficiency=12.1, and so
are standard errors. A tell may bring some of them; the trial counts for the policy when all are
there. --value efficiency=missing says that a value will not come.

--failed says that the measurement gave no value, a bad sign for the candidate. --missing ends the
trial without a value and without a failure, for example because a sample was lost. --note and --by
stand in the history.

JSON: trial, row, value (the stored one), accepted, key, seq, settles (the pending trial that a row
settled), waiting (trials of the same candidate that stay pending), x (the candidate), label (what
the table calls it), sem, replicates (trials of the further values), values and needs (of several
targets those that have come, and those to come), missing, corrected (whether the value replaced
another one) and was (that other value); with --file a list of these.

A file of results (--file, or --csv, which means the same) is a CSV file, a workbook (.xlsx) or a
Parquet file, such as an export of this or of another study. Each line names its trial, its row or
the values of all columns, and has the result in a column named like the target. Either all lines
are stored or none. Lines that were told before are skipped, so you can add lines to the file and
tell it again. If a line has another value than the one that is stored, nothing is stored and both
values are listed: then --corrected replaces the stored values, and --replicates takes the new ones
as further measurements. Columns sem, note and by are optional. A line that describes a candidate
which is not in the table is refused, unless --off-table says that it is learnt as a point.

A sheet that `ask --sheet` or `sheet` wrote is told back by --sheet: the lines that are filled in,
all of them or none. It may be told again when more is filled in. A sheet of another study, or one
that was changed where it identifies its trials, is refused.

Examples:

    kernelbandits study tell films.db 17 0.83

    kernelbandits study tell films.db 18 -0.5 --key run-2026-05-04-a

    kernelbandits study tell films.db 19 --failed

    kernelbandits study tell films.db 19 --missing --note "sample lost"

    kernelbandits study tell films.db 17 0.83 --sem 0.02 --note "second batch" --by AB

    kernelbandits study tell films.db 17 --value 0.81 --value 0.84 --value 0.86

    kernelbandits study tell solar.db --label A7 --value stability=0.83 --sem stability=0.02

    kernelbandits study tell films.db --label A7 0.83

    kernelbandits study tell films.db --row 42 0.79

    kernelbandits study tell films.db --line 44 0.79

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

    kernelbandits study correct films.db --label A7 0.38

    kernelbandits study correct solar.db 1 --value stability=0.38
"""
WITHDRAW = """Withdraw the result of a trial: it no longer counts, but stays in the history.

Examples:

    kernelbandits study withdraw films.db 17 --reason "sample was contaminated"

    kernelbandits study withdraw films.db --label A7
"""
LISTED = 5
"""How many corrections an answer lists."""
MISSING = "missing"
"""What stands in place of the value of a target that will not come."""
FORMS = (
    "TRIAL VALUE, TRIAL --failed, TRIAL --missing, --row ROW VALUE, --row ROW --failed, "
    "--label NAME VALUE, --line LINE VALUE, --at NAME=VALUE ... VALUE, --file FILE or --sheet "
    "FILE; with several targets --value NAME=VALUE in place of VALUE"
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
    missing: Annotated[
        bool,
        typer.Option("--missing", help="There is no value, but the measurement did not fail."),
    ] = False,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--value",
            metavar="VALUE",
            help="One of several replicates; with several targets NAME=VALUE.",
        ),
    ] = None,
    sem: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER",
            help="Standard error of the value, in its units; with several targets NAME=NUMBER.",
        ),
    ] = None,
    note: Annotated[str, typer.Option(help="A remark about the measurement.")] = "",
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who measured it.")] = None,
    row: Annotated[
        str | None,
        typer.Option(metavar="ROW", help="Row of the table, counted from 0, instead of a trial."),
    ] = None,
    label: Label = None,
    line: Annotated[
        str | None,
        typer.Option(
            metavar="LINE",
            help="Line of the file of candidates, as a spreadsheet counts, instead of a trial.",
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Value of a column or variable of the candidate; once for each of them.",
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
    worker: Annotated[str | None, typer.Option(help="The worker who asked for it.")] = None,
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
    off_table: Annotated[
        bool,
        typer.Option(
            "--off-table", help="With --file: learn candidates that the table has not as points."
        ),
    ] = False,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.study import AlreadyTold

    given = [text for text in (trial, value) if text is not None]
    named = {"--row": row, "--label": label, "--line": line}
    result = {"failed": failed, "missing": missing, "values": values, "sem": sem}
    of_one = bool(given) or any([*named.values(), *result.values(), at, note, by])
    repeats = {"corrected": corrected, "replicates": replicates}
    check_form(of_one, file, sheet, worksheet, key, repeats=any(repeats.values()), new=off_table)
    single: dict[str, Any] = {}
    if not (file or sheet):
        single = read_result(given, named, result, at) | {"note": note, "by": by}
    with open_study(place, quiet) as study:
        if at:
            single["x"] = study.read_point(read_assignments("tell", "--at", at))
        try:
            told: Told | list[Told]
            if sheet is not None:
                told = study.tell_sheet(sheet, worker=worker, **repeats)
            elif file is not None:
                told = study.tell_all(
                    file,
                    key=key,
                    worker=worker,
                    worksheet=worksheet,
                    off_table=off_table,
                    **repeats,
                )
            else:
                told = study.tell(**single, key=key, worker=worker)
        except AlreadyTold as late:
            print_stored_result(form, late)
            raise
    print_sentence(form, told, describe_results(told) if isinstance(told, list) else told.sentence)


def check_form(
    of_one: bool,
    file: Path | None,
    sheet: Path | None,
    worksheet: str | None,
    key: str | None,
    repeats: bool,
    new: bool,
) -> None:
    """Refuse options that do not go together: of one result, of a file, and of a sheet.

    `repeats` and `new` say whether options are given for other values and for new candidates.
    """
    checks.needs(file is None or not of_one, "tell", f"one of {FORMS}", "--file and more")
    alone = not of_one and file is None and key is None and worksheet is None
    checks.needs(sheet is None or alone, "tell", f"one of {FORMS}", "--sheet and more")
    checks.needs(file is not None or not worksheet, "tell", "--file FILE with --worksheet", "none")
    checks.needs(
        bool(file or sheet) or not repeats,
        "tell",
        "--file or --sheet with --corrected or --replicates",
        "none",
    )
    checks.needs(bool(file) or not new, "tell", "--file FILE with --off-table", "none")


def read_result(
    given: Sequence[str],
    named: Mapping[str, str | None],
    result: Mapping[str, Any],
    at: Sequence[str] | None,
) -> dict[str, Any]:
    """Read which trial or row is told, and its value; a point is read when the space is known.

    named: --row, --label and --line, of which one may be given.
    result: what options say of the value: failed, missing, values, sem.
    """
    rows = [word for name, text in named.items() if text is not None for word in (name, text)]
    flags = [name for name in ("failed", "missing", "values") if result[name]]
    wanted = (not rows and not at) + (not flags)
    if len(given) != wanted or len(rows) + 2 * bool(at) > 2 or len(flags) > 1:
        options = [f"--{name.removesuffix('s')}" for name in flags]
        beside = " ".join([*given, *rows, *(["--at", *at] if at else []), *options])
        raise ValueError(f"tell needs one of {FORMS}, got {beside or 'nothing'}")
    which: dict[str, Any] = {}
    if rows:
        name, text = rows
        least = {"--row": 0, "--line": 1}
        row = text if name == "--label" else read_whole_number(name, text, least[name])
        which = {name.removeprefix("--"): row}
    elif not at:
        which = {"trial": read_whole_number("TRIAL", given[0], 1)}
    if result["sem"]:
        which["sem"] = read_sem("tell", result["sem"])
    if not flags:
        return which | {"value": read_value("tell", given[-1])}
    if result["values"]:
        return which | read_values("tell", result["values"])
    return which | {flags[0]: True}


def read_values(owner: str, texts: Sequence[str]) -> dict[str, Any]:
    """Read replicates, or values by the names of targets, of which some may be missing."""
    if not any("=" in text for text in texts):
        return {"value": [read_value(owner, text) for text in texts]}
    given = read_assignments(owner, "--value", texts)
    values = {name: read_value(owner, text) for name, text in given.items() if text != MISSING}
    missing = [name for name, text in given.items() if text == MISSING]
    return {"value": values} | ({"missing": missing} if missing else {})


def read_sem(owner: str, texts: Sequence[str]) -> float | dict[str, float]:
    """Read a standard error, or several by the names of targets."""
    if not any("=" in text for text in texts):
        checks.needs(len(texts) == 1, owner, "one --sem, or --sem NAME=NUMBER", texts)
        return read_value(owner, texts[0])
    given = read_assignments(owner, "--sem", texts)
    return {name: read_value(owner, text) for name, text in given.items()}


def print_stored_result(form: Format, late: AlreadyTold) -> None:
    """Print the stored value for scripts; the sentence follows on standard error."""
    found: dict[str, Any] = {"trial": late.trial, "value": late.value, "accepted": False}
    found |= {"values": late.stored} if isinstance(late.stored, Mapping) else {}
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
    """List old and new value of each trial that was corrected, as far as a line has room."""
    shown = [one.sentence.removesuffix(".") for one in corrections[:LISTED]]
    more = len(corrections) - len(shown)
    shown += [f"and {more} more, which `history` lists"] if more else []
    return f" {'; '.join(shown)}." if shown else ""


def list_trials(what: str, numbers: Iterable[int]) -> str:
    """Return a sentence that lists the trials, or nothing if there are none."""
    listed = ", ".join(map(str, sorted(numbers)))
    return f" {what}: {listed}." if listed else ""


def correct(
    place: Place,
    trial: OptionalTrial = None,
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="The right result, with a decimal point.")
    ] = None,
    label: Label = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="The measurement failed: there is no value.")
    ] = False,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--value", metavar="NAME=VALUE", help="The right value of one of several targets."
        ),
    ] = None,
    sem: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBER", help="Standard error of the value. Default: as it was."),
    ] = None,
    reason: Reason = "",
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    given = [text for text in (trial, value) if text is not None]
    wanted = (label is None) + (not failed and not values)
    forms = (
        "TRIAL VALUE, TRIAL --failed, --label NAME VALUE, --label NAME --failed, or "
        "--value NAME=VALUE with several targets"
    )
    checks.needs(len(given) == wanted, "correct", forms, " ".join(given) or "nothing")
    number = None if label is not None else read_whole_number("TRIAL", given[0], 1)
    right: Any = None if failed or values else read_value("correct", given[-1])
    if values:
        right = read_values("correct", values)["value"]
        named = isinstance(right, dict)
        checks.needs(named, "correct", "--value NAME=VALUE", " ".join(values))
    error = read_sem("correct", sem) if sem else None
    with open_study(place, quiet) as study:
        event = study.correct(number, right, label=label, failed=failed, sem=error, reason=reason)
    sentence = f"{describe_correction(event.trial, right, label)} (event {event.seq})"
    print_sentence(form, event, f"{sentence}. `undo` reverses the correction.")


def withdraw(
    place: Place,
    trial: OptionalTrial = None,
    label: Label = None,
    reason: Reason = "",
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    number = None if trial is None else read_whole_number("TRIAL", trial, 1)
    with open_study(place, quiet) as study:
        event = study.withdraw(number, label=label, reason=reason)
    sentence = f"{describe_withdrawal(event.trial, label)} (event {event.seq})"
    print_sentence(form, event, f"{sentence}. `undo` reverses the withdrawal.")
