"""`study tell`, `study correct` and `study withdraw`: results and their corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelbandits import checks
from kernelbandits.apps.cli.arguments import (
    Given,
    Place,
    Quiet,
    options,
    read_assignments,
    read_value,
    read_whole_number,
)
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import open_study, print_answer, print_sentence
from kernelbandits.study import operations
from kernelbandits.study.arguments import Argument
from kernelbandits.study.words import (
    describe_correction,
    describe_results,
    describe_withdrawal,
)

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
With a trial, --at says what was really set, where that is not what was asked for: the result is
learnt there, and the ask stays in the history.

--sem is the standard error of the value, by which the policy auto weighs it. --value, repeated,
tells replicates: the first is the result of the trial, each further one gets a trial of its own.
With several targets each value is named: --value stability=0.83 --value efficiency=12.1, and so
are standard errors. A tell may bring some of them; the trial counts for the policy when all are
there. --value efficiency=missing says that a value will not come.

A result of which only a limit is known is "<0.5" or ">99", in quotes, because the shell takes < and
> for files; "n.d." is below the lower limit of the target (--limits). The policy auto learns that
the result is beyond the limit.

--failed says that the measurement gave no value, a bad sign for the candidate. --missing ends the
trial without a value and without a failure, for example because a sample was lost. --note and --by
stand in the history.

JSON: trial, row, value (the stored one), accepted, key, seq, settles (the pending trial that a row
settled), waiting (trials of the same candidate that stay pending), x (the candidate), asked (what
was asked for, where other conditions were really set), label (what the table calls it), sem,
replicates (trials of the further values), values and needs (of several targets those that have
come, and those to come), missing, failed, corrected (whether the value replaced another one) and
was (that other value); with --file a list of these.

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

    kernelbandits study tell brew.db 17 0.83 --at temperature=36.3

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
MISSING = "missing"
"""What stands in place of the value of a target that will not come."""
FORMS = (
    "TRIAL VALUE, TRIAL VALUE --at NAME=VALUE, TRIAL --failed, TRIAL --missing, --row ROW VALUE, "
    "--row ROW --failed, --label NAME VALUE, --line LINE VALUE, --at NAME=VALUE ... VALUE, --file "
    "FILE or --sheet FILE; with several targets --value NAME=VALUE in place of VALUE"
)


def without_trial(operation: operations.Operation) -> list[Argument]:
    """Return the options of a command that reads TRIAL and VALUE itself: one may stand alone."""
    return [one for one in operation.options if one.name != "trial"]


@options(given=without_trial(operations.TELL), files=operations.TELL_ALL.options)
def tell(
    place: Place,
    trial: Annotated[
        str | None,
        typer.Argument(metavar="TRIAL", help=operations.TELL.arguments[0].description),
    ] = None,
    result: Annotated[
        str | None,
        typer.Argument(metavar="VALUE", help="The result, such as 0.83, 0,83 or -0.5."),
    ] = None,
    *,
    given: Given,
    files: Given,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.study import AlreadyTold

    words = [text for text in (trial, result) if text is not None]
    call = {name: given.pop(name) for name in ("key", "worker") if name in given}
    check_form(bool(words) or any(given.values()), "key" in call, files)
    file, sheet = files.pop("file", None), files.pop("sheet", None)
    told: Told | list[Told]
    single = {} if file or sheet else read_result(words, given)
    with open_study(place, quiet) as study:
        if "x" in given:
            x = read_assignments("tell", "--at", given["x"])
            # Of a trial the conditions that are not named are as asked for.
            single["x"] = x if "trial" in single else study.read_point(x)
        try:
            if sheet is not None:
                del files["off_table"]
                told = study.tell_sheet(sheet, **files, **call)
            elif file is not None:
                if "cells" in files:
                    files["cells"] = read_assignments("tell", "--cell", files["cells"])
                told = study.tell_all(file, **files, **call)
            else:
                told = study.tell(**single, **call)
        except AlreadyTold as late:
            print_stored_result(form, late)
            raise
    print_sentence(form, told, describe_results(told) if isinstance(told, list) else told.sentence)


def check_form(of_one: bool, has_key: bool, files: Given) -> None:
    """Refuse options that do not go together: of one result, of a file, and of a sheet."""
    file, sheet = "file" in files, "sheet" in files
    worksheet = any(name in files for name in ("worksheet", "header_row", "cells"))
    checks.needs(not (file and of_one), "tell", f"one of {FORMS}", "--file and more")
    alone = not (of_one or file or has_key or worksheet)
    checks.needs(not sheet or alone, "tell", f"one of {FORMS}", "--sheet and more")
    checks.needs(
        file or not worksheet,
        "tell",
        "--file FILE with --worksheet, --header-row or --cell",
        "none",
    )
    repeats = files["corrected"] or files["replicates"]
    needed = "--file or --sheet with --corrected or --replicates"
    checks.needs(file or sheet or not repeats, "tell", needed, "none")
    checks.needs(file or not files["off_table"], "tell", "--file FILE with --off-table", "none")


def read_result(words: Sequence[str], given: Given) -> dict[str, Any]:
    """Read which trial or row is told, and its value; a point is read when the space is known."""
    named = [name for name in ("row", "label", "line") if name in given]
    flags = [name for name in ("failed", "missing", "value") if given.get(name)]
    at = given.get("x", [])
    of_trial = not named and (not at or len(words) + len(flags) > 1)
    wanted = of_trial + (not flags)
    if len(words) != wanted or len(named) + bool(at) > 1 or len(flags) > 1:
        typed = [*words, *(f"--{name} {given[name]}" for name in named)]
        typed += [*(["--at", *at] if at else []), *(f"--{name}" for name in flags)]
        raise ValueError(f"tell needs one of {FORMS}, got {' '.join(typed) or 'nothing'}")
    told = {name: given[name] for name in (*named, "note", "by") if name in given}
    if of_trial:
        told["trial"] = read_whole_number("TRIAL", words[0], 1)
    if "sem" in given:
        told["sem"] = read_sem("tell", given["sem"])
    if not flags:
        return told | {"value": read_value("tell", words[-1])}
    if "value" in given:
        return told | read_values("tell", given["value"])
    return told | {flags[0]: True}


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


@options(given=without_trial(operations.CORRECT))
def correct(
    place: Place,
    trial: Annotated[
        str | None, typer.Argument(metavar="TRIAL", help=operations.TRIAL.description)
    ] = None,
    result: Annotated[str | None, typer.Argument(metavar="VALUE", help="The right result.")] = None,
    *,
    given: Given,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    words = [text for text in (trial, result) if text is not None]
    label, values = given.get("label"), given.get("value", [])
    wanted = (label is None) + (not given["failed"] and not values)
    forms = (
        "TRIAL VALUE, TRIAL --failed, --label NAME VALUE, --label NAME --failed, or "
        "--value NAME=VALUE with several targets"
    )
    checks.needs(len(words) == wanted, "correct", forms, " ".join(words) or "nothing")
    if label is None:
        given["trial"] = read_whole_number("TRIAL", words[0], 1)
    right: Any = None
    if values:
        right = read_values("correct", values)["value"]
        named = isinstance(right, dict)
        checks.needs(named, "correct", "--value NAME=VALUE", " ".join(values))
    elif not given["failed"]:
        right = read_value("correct", words[-1])
    if "sem" in given:
        given["sem"] = read_sem("correct", given["sem"])
    with open_study(place, quiet) as study:
        count = len(study.history())
        event = study.correct(**given | {"value": right})
    sentence = f"{describe_correction(event.trial, right, label)} (event {event.seq})"
    sentence = f"{sentence}. `undo` reverses the correction."
    # Events are numbered from 1 without gaps.
    print_sentence(form, event, sentence if event.seq > count else "Nothing was changed.")


@options(given=operations.WITHDRAW.options)
def withdraw(place: Place, given: Given, form: Form = Format.text, quiet: Quiet = False) -> None:
    with open_study(place, quiet) as study:
        event = study.withdraw(**given)
    sentence = f"{describe_withdrawal(event.trial, given.get('label'))} (event {event.seq})"
    print_sentence(form, event, f"{sentence}. `undo` reverses the withdrawal.")
