"""What tests of the storage share: writing in one turn, and hearing what is said to a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelbandits.storage import Draft, Event, Log, statements

BEFORE, AFTER = "before", "after"
EARS: list[tuple[str, Callable[..., Any]]] = []
send = statements.send


def write(log: Log, work: Callable[[Any], Any]) -> Any:
    """Do some work in a turn of the log."""
    for turn in log.turns():
        with turn:
            found = work(turn)
    return found


def append(turn: Any, draft: Draft) -> Event:
    """Append one event in a turn."""
    (event,) = turn.append([draft])
    return event


def tell(log: Log, trial: int = 1, value: float = 0.5, **more: Any) -> Event:
    """Append a result."""
    draft = Draft(kind="told", trial=trial, row=0, value=value, **more)
    return write(log, lambda turn: append(turn, draft))


def execute(log: Log, *texts: str) -> None:
    """Send statements behind the back of a study, in which {} is the schema."""
    place = getattr(log.database, "place", None)
    schema = f"{place.study}." if place else ""
    for transaction in log.database.transactions():
        with transaction:
            for text in texts:
                statements.send(transaction.connection, text.format(schema))


def listen(moment: str, hear: Callable[[str, Any], Any]) -> Callable[[], None]:
    """Hear each statement and its values before or after it is sent, until what is returned is called."""
    ear = (moment, hear)
    EARS.append(ear)
    statements.send = overheard

    def stop() -> None:
        EARS.remove(ear)
        if not EARS:
            statements.send = send

    return stop


def overheard(connection: Any, text: str, *values: Any) -> Any:
    given = list(values) if len(values) > 1 else values[0] if values else ()
    pass_on(BEFORE, text, given)
    cursor = send(connection, text, *values)
    pass_on(AFTER, text, given)
    return cursor


def pass_on(moment: str, text: str, values: Any) -> None:
    for wanted, hear in list(EARS):
        if wanted == moment:
            hear(text, values)
