"""`study release` and `study undo`: reverse an ask, a result or a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from kernelbandits import checks
from kernelbandits.apps.cli.arguments import Given, Place, Quiet, options, read_whole_number
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import open_study, print_sentence
from kernelbandits.study import operations
from kernelbandits.study.words import describe_release, describe_undos

RELEASE = """Release rows that will not be measured, so that they can be suggested again.

A range such as 14-213 releases the pending trials in it, and --all releases all pending trials.
Either all are released or, if one of those named is not pending, none.
JSON: an event for one TRIAL, else a list of events.

Examples:

    kernelbandits study release films.db 18

    kernelbandits study release films.db 3 5 7-9

    kernelbandits study release films.db --all --worker robot-2
"""
UNDO = """Undo the last command, or the last ones; the history keeps them and their undoing.

What one command wrote is undone together: all rows of ask --n 4, all lines of tell --file.
Results, failures, corrections, withdrawals and changes of settings or of the table can be undone,
and an ask while its trial is pending. Rows that were added can be taken away while nobody has used
them. --n counts commands; either all of them are undone or none. What others do meanwhile is not
undone. With --event nothing is undone if the last command is not the one that wrote this event, so
of two people who undo the same step only one does. JSON: an event, or a list of events with --n or
where the command wrote several.

Examples:

    kernelbandits study undo films.db

    kernelbandits study undo films.db --n 3

    kernelbandits study undo films.db --event 23
"""
Trials = Annotated[
    list[str] | None, typer.Argument(metavar="TRIAL...", help="Trials, or ranges such as 14-213.")
]


@options(given=operations.RELEASE.options)
def release(
    place: Place,
    trials: Trials = None,
    every: Annotated[bool, typer.Option("--all", help="All pending trials.")] = False,
    *,
    given: Given,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    typed, worker = trials or [], given.get("worker")
    checks.needs(bool(typed) != every, "release", "trials or --all", "both" if every else "neither")
    checks.needs(every or worker is None, "release", "--worker only with --all", worker)
    spans = [read_span(text) for text in typed]
    with open_study(place, quiet) as study:
        events = study.release_all(None if every else spans, **given)
    numbers = [event.trial or 0 for event in events]
    answer = events[0] if is_single_trial(spans) else events
    print_sentence(form, answer, describe_release(numbers, worker))


def read_span(text: str) -> range:
    """Read the trials in 17 or 14-213."""
    low, dash, high = text.partition("-")
    if not (dash and low):
        number = read_whole_number("TRIAL", text, 1)
        return range(number, number + 1)
    least = read_whole_number("TRIAL", low, 1)
    return range(least, read_whole_number(f"the end of {text}", high, least) + 1)


def is_single_trial(spans: Sequence[range]) -> bool:
    return len(spans) == 1 and len(spans[0]) == 1


@options(given=operations.UNDO.options)
def undo(place: Place, given: Given, form: Form = Format.text, quiet: Quiet = False) -> None:
    with open_study(place, quiet) as study:
        events = study.undo_all(**given)
        history = {one.seq: one for one in study.history()}
        name = study.candidates.name
    text = "\n".join(describe_undos([history[one.body["of"]] for one in events], name))
    print_sentence(form, events[0] if "n" not in given and len(events) == 1 else events, text)
