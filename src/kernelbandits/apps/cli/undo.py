"""`study release` and `study undo`: reverse an ask, a result or a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelbandits import checks
from kernelbandits.apps.cli.arguments import Place, Quiet, read_whole_number
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import open_study, print_sentence
from kernelbandits.formatting import format_count

if TYPE_CHECKING:
    from kernelbandits.storage import Event
    from kernelbandits.study import Study

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
FEWEST_SUMMARISED = 3
"""Undone events of one kind that are told in one sentence."""
MANY = {
    "told": ("result", "The trials have no result now."),
    "failed": ("failure", "The trials have no result now."),
    "corrected": ("correction", "Their results before apply again."),
    "asked": ("ask", "Their candidates can be suggested again."),
}
"""How many events of one kind are named, and what holds when they are undone."""
Trials = Annotated[
    list[str] | None, typer.Argument(metavar="TRIAL...", help="Trials, or ranges such as 14-213.")
]


def release(
    place: Place,
    trials: Trials = None,
    every: Annotated[bool, typer.Option("--all", help="All pending trials.")] = False,
    worker: Annotated[
        str | None, typer.Option(help="With --all: only trials that this worker asked for.")
    ] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    given = trials or []
    checks.needs(bool(given) != every, "release", "trials or --all", "both" if every else "neither")
    checks.needs(every or worker is None, "release", "--worker only with --all", worker)
    spans = [read_span(text) for text in given]
    with open_study(place, quiet) as study:
        events = study.release_all(None if every else spans, worker=worker)
    numbers = [event.trial or 0 for event in events]
    noun = "point" if events and events[0].row is None else "row"
    sentence = describe_release(numbers, noun)
    print_sentence(form, events[0] if is_single_trial(spans) else events, sentence)


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


def describe_release(numbers: Sequence[int], noun: str) -> str:
    if len(numbers) == 1:
        return f"Trial {numbers[0]} is released. Its {noun} can be suggested again."
    if not numbers:
        return "No trial is pending, so none was released."
    return f"{format_count(len(numbers), 'trial')} are released: {', '.join(map(str, numbers))}."


def undo(
    place: Place,
    n: Annotated[
        int | None,
        typer.Option("--n", "-n", min=1, help="Number of commands to undo, the last one first."),
    ] = None,
    event: Annotated[
        int | None,
        typer.Option(min=1, help="Only if this event (see study history) is of the last command."),
    ] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with open_study(place, quiet) as study:
        events = study.undo_all(n or 1, event=event)
        text = "\n".join(describe_undos(study, events))
    print_sentence(form, events[0] if n is None and len(events) == 1 else events, text)


def describe_undos(study: Study, events: Sequence[Event]) -> list[str]:
    history = {event.seq: event for event in study.history()}
    sentences: list[str] = []
    for kind, group in groupby(events, key=lambda event: str(event.body["kind"])):
        alike = [*group]
        if kind in MANY and len(alike) >= FEWEST_SUMMARISED:
            trials = sorted({event.trial or 0 for event in alike})
            what, now = MANY[kind]
            count = format_count(len(alike), what)
            sentences.append(f"Undone: {count} (trials {describe_numbers(trials)}). {now}")
        else:
            sentences += [describe_undo(history, event.body) for event in alike]
    return sentences


def describe_numbers(numbers: Sequence[int]) -> str:
    """Write numbers in increasing order, 3, 5, 6, 7 as 3, 5-7."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    texts = [f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts]
    return ", ".join(texts)


def name_rows(body: Mapping[str, Any]) -> str:
    return f"rows {', '.join(map(str, body.get('rows', ())))}"


def describe_undo(history: Mapping[int, Event], body: Any) -> str:
    """Say what was undone, and what holds now."""
    event = history[body["of"]]
    before = event.body.get("was")
    restored = (
        "It counts as failed again." if before is None else f"Its result is {before!r} again."
    )
    value = "failed" if event.value is None else repr(event.value)
    left = "The trial has no result now."
    if event.body.get("values"):
        value = ", ".join(f"{name} {one!r}" for name, one in event.body["values"].items())
        restored = "Its values before apply again."
        left = "The trial has only those of its values that were told before."
    again = "Its point" if event.row is None else f"Its row {event.row}"
    sentences = {
        "told": f"the result {value} of trial {event.trial}. {left}",
        "missing": f"that the value of trial {event.trial} is missing. It is pending again.",
        "failed": f"the failure of trial {event.trial}. The trial has no result now.",
        "corrected": f"the correction of trial {event.trial} to {value}. {restored}",
        "withdrawn": f"the withdrawal of trial {event.trial}. {restored}",
        "asked": f"the ask of trial {event.trial}. {again} can be suggested again.",
        "settings": "the change of settings. The settings before it apply again.",
        "added": "the rows that were added. They are not in the table any more.",
        "forbidden": f"that {name_rows(event.body)} were forbidden. They can be suggested again.",
        "allowed": f"that {name_rows(event.body)} were allowed. They are not suggested any more.",
    }
    return f"Undone: {sentences[event.kind]}"
