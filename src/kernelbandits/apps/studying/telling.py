"""`study tell`, and what sets it right: `correct` and `withdraw`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelbandits import checks
from kernelbandits.apps.options import Form, Format
from kernelbandits.apps.studying.arguments import Place, Quiet, Reason, Trial, counted, measured
from kernelbandits.apps.studying.door import answer, opened, said
from kernelbandits.formatting import format_count

if TYPE_CHECKING:
    from kernelbandits.study.values import AlreadyTold, Told

TELL = """Tell a result.

A trial takes one result: of two that come at once one is stored, and the other is told which (exit code 1). A retry
with the same --key is a success and counts once. A row that nobody asked for, or that is measured again, is told by
--row. A late result counts. JSON: trial, value (the one stored), accepted, and a list of them for --csv.

A CSV file of results says in each line its trial, its row or its candidate by the columns, and the value in a column
named like the target. All lines are told, or none; what was told before is left alone, so a file may grow.

Examples:

    kernelbandits study tell films.db 17 0.83

    kernelbandits study tell films.db 18 -0.5 --key run-2026-05-04-a

    kernelbandits study tell films.db 19 --failed

    kernelbandits study tell films.db --row 42 0.79

    kernelbandits study tell films.db --csv results.csv
"""
CORRECT = """Correct the value of a trial, or say that it failed; the history keeps the old value.

Examples:

    kernelbandits study correct films.db 17 0.38 --reason "digits swapped"

    kernelbandits study correct films.db 17 --failed
"""
WITHDRAW = """Withdraw a trial: its result no longer counts, and the history keeps it.

Examples:

    kernelbandits study withdraw films.db 17 --reason "sample was contaminated"
"""
FORMS = "TRIAL VALUE, TRIAL --failed, --row ROW VALUE, --row ROW --failed or --csv FILE"


def tell(
    place: Place,
    trial: Annotated[
        str | None, typer.Argument(metavar="TRIAL", help="As ask printed it; not with --row.")
    ] = None,
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="With a decimal point; -0.5 is fine.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="It could not be measured.")] = False,
    row: Annotated[
        str | None, typer.Option(metavar="ROW", help="A row, from 0 on, in place of a trial.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Results from a file, all or none.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: the same result told twice counts once.")
    ] = None,
    worker: Annotated[str | None, typer.Option(help="Who measured it.")] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.study import AlreadyTold

    given = [text for text in (trial, value) if text is not None]
    alone = not given and row is None and not failed
    checks.needs(csv is None or alone, "tell", f"one of {FORMS}", "--csv with more beside it")
    single = {} if csv else result(given, row, failed)
    with opened(place, quiet) as study:
        try:
            told = (
                study.tell_all(csv, key=key, worker=worker)
                if csv
                else study.tell(**single, key=key, worker=worker)
            )
        except AlreadyTold as late:
            refused(form, late)
            raise
    said(form, told, recorded_all(told) if isinstance(told, list) else recorded(told))


def result(given: Sequence[str], row: str | None, failed: bool) -> dict[str, Any]:
    """Which trial or row, and its value."""
    wanted = (row is None) + (not failed)
    if len(given) != wanted:
        beside = " ".join(
            [
                *given,
                *(["--row", row] if row is not None else []),
                *(["--failed"] if failed else []),
            ]
        )
        raise ValueError(f"tell needs one of {FORMS}, got {beside or 'nothing'}")
    which = (
        {"trial": counted("TRIAL", given[0], 1)}
        if row is None
        else {"row": counted("--row", row, 0)}
    )
    return which | ({"failed": True} if failed else {"value": measured("tell", given[-1])})


def refused(form: Format, late: AlreadyTold) -> None:
    """Scripts learn of the value that stands; the sentence follows on standard error."""
    found = {"trial": late.trial, "value": late.value, "accepted": False}
    answer(form, found, lambda console: None)


def recorded(told: Told) -> str:
    what = "recorded as failed" if told.value is None else f"{told.value!r} recorded"
    return f"Trial {told.trial}, row {told.row}: {what}."


def recorded_all(told: Sequence[Told]) -> str:
    fresh = sum(one.accepted for one in told)
    known = len(told) - fresh
    return f"{format_count(fresh, 'result')} recorded" + (
        f", {known} known before." if known else "."
    )


def correct(
    place: Place,
    trial: Trial,
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="What it should have been; -0.5 is fine.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="It could not be measured.")] = False,
    reason: Reason = "",
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    number = counted("TRIAL", trial, 1)
    given = "both" if failed else "neither"
    checks.needs((value is None) == failed, "correct", "TRIAL VALUE or TRIAL --failed", given)
    right = None if value is None else measured("correct", value)
    with opened(place, quiet) as study:
        event = study.correct(number, right, failed=failed, reason=reason)
    shown = "failed" if right is None else repr(right)
    said(
        form, event, f"Trial {number}: {shown} from now on (event {event.seq}); undo takes it back."
    )


def withdraw(
    place: Place, trial: Trial, reason: Reason = "", form: Form = Format.text, quiet: Quiet = False
) -> None:
    number = counted("TRIAL", trial, 1)
    with opened(place, quiet) as study:
        event = study.withdraw(number, reason=reason)
    said(
        form,
        event,
        f"Trial {number} is withdrawn and counts no more (event {event.seq}); undo takes it back.",
    )
