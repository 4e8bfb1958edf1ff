"""`study release` and `study undo`: what was asked or told is taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelbandits import checks
from kernelbandits.apps.options import Form, Format
from kernelbandits.apps.studying.arguments import Place, Quiet, counted
from kernelbandits.apps.studying.door import opened, said
from kernelbandits.checks import StudyConflict
from kernelbandits.formatting import format_count

if TYPE_CHECKING:
    from kernelbandits.storage import Event
    from kernelbandits.study import Study

RELEASE = """Give back rows that were asked for and will not be measured; the next asker may be offered them.

A range such as 14-213, and --all, release what is pending of it. JSON: an event for one TRIAL, else a list of events.

Examples:

    kernelbandits study release films.db 18

    kernelbandits study release films.db 3 5 7-9

    kernelbandits study release films.db --all --worker robot-2
"""
UNDO = """Undo the last event that is not undone; the history keeps both.

What can be undone: told, failed, corrected, withdrawn, settings (a change), and asked while the trial is pending.
JSON: an event, or a list of events with --n.

Examples:

    kernelbandits study undo films.db

    kernelbandits study undo films.db --n 3
"""
Trials = Annotated[
    list[str] | None, typer.Argument(metavar="TRIAL...", help="Trials, or ranges such as 14-213.")
]


def release(
    place: Place,
    trials: Trials = None,
    every: Annotated[bool, typer.Option("--all", help="All that are pending.")] = False,
    worker: Annotated[
        str | None, typer.Option(help="With --all: only those that this worker asked for.")
    ] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    given = trials or []
    checks.needs(bool(given) != every, "release", "trials or --all", "both" if every else "neither")
    checks.needs(every or worker is None, "release", "--worker only with --all", worker)
    spans = [span(text) for text in given]
    with opened(place, quiet) as study:
        numbers = [*spans[0]] if one_trial(spans) else pending(study, spans, every, worker)
        events = [study.release(number) for number in numbers]
    said(form, events[0] if one_trial(spans) else events, released(numbers))


def span(text: str) -> range:
    """The trials of 17 or 14-213."""
    low, dash, high = text.partition("-")
    if not (dash and low):
        number = counted("TRIAL", text, 1)
        return range(number, number + 1)
    least = counted("TRIAL", low, 1)
    return range(least, counted(f"the end of {text}", high, least) + 1)


def one_trial(spans: Sequence[range]) -> bool:
    return len(spans) == 1 and len(spans[0]) == 1


def pending(study: Study, spans: Sequence[range], every: bool, worker: str | None) -> list[int]:
    """Which of them are pending, in order; a trial that is named by itself must be."""
    waiting = {one.trial: one.worker for one in study.status().waiting}
    if every:
        return sorted(trial for trial, who in waiting.items() if worker in (None, who))
    missing = [named[0] for named in spans if not any(trial in named for trial in waiting)]
    if missing:
        raise StudyConflict(
            f"release needs trials that are pending, got trial {missing[0]}; nothing was released"
        )
    return sorted(trial for trial in waiting if any(trial in named for named in spans))


def released(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"Trial {numbers[0]} is given back; its row may be offered to the next who asks."
    if not numbers:
        return "Nothing is pending, nothing was given back."
    return f"{format_count(len(numbers), 'trial')} are given back ({', '.join(map(str, numbers))})."


def undo(
    place: Place,
    n: Annotated[
        int | None, typer.Option("--n", "-n", min=1, help="So many events, the last first.")
    ] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with opened(place, quiet) as study:
        events = study.undo_all(n or 1)
        text = "\n".join(sentences(study, events))
    said(form, events[0] if n is None else events, text)


def sentences(study: Study, events: Sequence[Event]) -> list[str]:
    there = {event.seq: event for event in study.history()}
    return [sentence(there, event.body) for event in events]


def sentence(there: Mapping[int, Event], body: Any) -> str:
    """Which event was undone, by its number in the history."""
    event = there[body["of"]]
    about = "" if event.trial is None else f" of trial {event.trial}"
    value = "" if event.value is None else f", {event.value!r}"
    return f"Undone: event {event.seq}, {event.kind}{about}{value}. The history keeps both."
