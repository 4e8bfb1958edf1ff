"""Who listens to what is said to a database: by SQLAlchemy, and by the driver itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from kernelbandits.storage import driver

BEFORE, AFTER = "before_cursor_execute", "after_cursor_execute"
EARS: list[tuple[str, Callable[..., Any]]] = []
send = driver.send


def listen(moment: str, hear: Callable[[str, Any], Any]) -> Callable[[], None]:
    """Hear each statement and its values before or after it is sent, until what is returned is called."""

    def heard(connection: Any, cursor: Any, statement: str, values: Any, *rest: Any) -> None:
        hear(statement, values)

    ear = (moment, hear)
    EARS.append(ear)
    sa.event.listen(sa.Engine, moment, heard)
    driver.send = overheard

    def stop() -> None:
        EARS.remove(ear)
        sa.event.remove(sa.Engine, moment, heard)
        if not EARS:
            driver.send = send

    return stop


def overheard(connection: sa.Connection, text: str, *values: Any) -> Any:
    given = list(values) if len(values) > 1 else values[0] if values else ()
    tell(BEFORE, text, given)
    cursor = send(connection, text, *values)
    tell(AFTER, text, given)
    return cursor


def tell(moment: str, text: str, values: Any) -> None:
    for wanted, hear in list(EARS):
        if wanted == moment:
            hear(text, values)
