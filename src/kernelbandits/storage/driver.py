"""Statements of SQLAlchemy, compiled once and sent by the driver.

Executing them through SQLAlchemy took longer than the work of SQLite itself, in every ask and tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from kernelbandits.storage.rows import Row

Statement = sa.Select[Any] | sa.Insert | sa.Update


TEXTS: WeakKeyDictionary[Statement, tuple[str, Sequence[str] | None]] = WeakKeyDictionary()
"""Compiled texts; an entry disappears together with its statement."""


def compile_statement(
    statement: Statement, dialect: sa.Dialect
) -> tuple[str, Sequence[str] | None]:
    """The SQL text, and the names of its values in order if the driver takes them by position."""
    known = TEXTS.get(statement)
    if known is None:
        made: Any = statement.compile(dialect=dialect)
        known = TEXTS[statement] = str(made), made.positiontup
    return known


def send(connection: sa.Connection, text: str, *values: Any) -> Any:
    """Execute a statement with its values, or once for each of several, and return the cursor."""
    cursor = connection.connection.cursor()
    if len(values) > 1:
        cursor.executemany(text, values)
    else:
        cursor.execute(text, *values)
    return cursor


def run(connection: sa.Connection, statement: Statement, *values: Mapping[str, Any]) -> Any:
    """Execute a statement of SQLAlchemy and return the cursor."""
    text, names = compile_statement(statement, connection.dialect)
    given = values if names is None else [tuple(one[name] for name in names) for one in values]
    return send(connection, text, *given)


def fetch(connection: sa.Connection, statement: sa.Select[Any], **values: Any) -> list[Row]:
    """The rows of a selection, as the driver returns them."""
    return list(run(connection, statement, values).fetchall())
