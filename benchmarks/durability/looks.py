"""What a process makes of a study that may be damaged."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

from benchmarks.durability import records
from kernelbandits.storage import Event, StorageError
from kernelbandits.study import Study


def content(event: Event) -> tuple[Any, ...]:
    """All but the time and the checksum."""
    return (
        event.seq,
        event.kind,
        event.trial,
        event.row,
        event.value,
        event.key,
        event.worker,
        sorted(event.body.items(), key=str),
    )


def digest(events: list[Event]) -> str:
    return hashlib.sha256(repr([content(event) for event in events]).encode()).hexdigest()


def look(place: str, out: str) -> None:
    """Read it, ask, read it again; a typed error at any of these stages is the end."""
    stage = "open"
    try:
        with Study.open(place) as study:
            stage = "history"
            history = study.history()
            events = digest(history)
            cells = repr(study.candidates.rows)
            stage = "ask"
            (suggestion,) = study.ask(worker="looker")
        stage = "later"
        with Study.open(place) as study:
            study.tell(suggestion.trial, 0.5)
        with Study.open(place) as study:
            # Asking and telling have added events, a fit perhaps among them.
            seen = [content(event)[:6] for event in study.history()[: len(history)]]
            best = study.best()
        table = hashlib.sha256(cells.encode()).hexdigest()
        later = hashlib.sha256(repr(seen).encode()).hexdigest()
        records.append(
            out,
            events=events,
            table=table,
            trial=suggestion.trial,
            row=suggestion.row,
            later=later,
            best=repr(best),
        )
    except StorageError as error:
        sentence = str(error)
        records.append(
            out,
            error=type(error).__name__,
            stage=stage,
            sentence=sentence,
            stored="\n" not in sentence,
        )
    except Exception as error:
        records.append(
            out, error=type(error).__name__, stage=stage, sentence=str(error), stored=False
        )


def command(arguments: list[str]) -> None:
    from kernelbandits.apps.cli import main

    sys.argv = ["kernelbandits", *arguments]
    main()


def rescue(place: str, target: str, original: str, out: str) -> None:
    """Salvage into a new study, which must open; the events that came back as they were."""
    from kernelbandits.storage import salvage

    with Study.open(original, writable=False) as study:
        true = {repr(content(event)[1:]): event.seq for event in study.history()}
    try:
        salvage(place, target)
        with Study.open(target, writable=False) as study:
            found = [true.get(repr(content(event)[1:])) for event in study.history()]
    except StorageError as error:
        records.append(out, saved=[], error=f"{type(error).__name__}: {error}")
        return
    records.append(out, saved=[seq for seq in found if seq is not None])
