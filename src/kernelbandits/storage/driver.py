"""Statements of SQLAlchemy, sent by the driver: in every ask and tell, wrapping took longer than SQLite's own work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from kernelbandits.storage.rows import Row

Statement = sa.Select[Any] | sa.Insert | sa.Update


TEXTS: WeakKeyDictionary[Statement, tuple[str, Sequence[str] | None]] = WeakKeyDictionary()
"""A statement belongs to the tables of one engine, and its text goes with it."""


def compile_statement(
    statement: Statement, dialect: sa.Dialect
) -> tuple[str, Sequence[str] | None]:
    """The text, and the names of its values in their order where the driver counts them."""
    known = TEXTS.get(statement)
    if known is None:
        made: Any = statement.compile(dialect=dialect)
        known = TEXTS[statement] = str(made), made.positiontup
    return known


def send(connection: sa.Connection, text: str, *values: Any) -> Any:
    """The driver's cursor after a statement, with its values or with each of many."""
    cursor = connection.connection.cursor()
    if len(values) > 1:
        cursor.executemany(text, values)
    else:
        cursor.execute(text, *values)
    return cursor


def run(connection: sa.Connection, statement: Statement, *values: Mapping[str, Any]) -> Any:
    """The same for one of SQLAlchemy's."""
    text, names = compile_statement(statement, connection.dialect)
    given = values if names is None else [tuple(one[name] for name in names) for one in values]
    return send(connection, text, *given)


def fetch(connection: sa.Connection, statement: sa.Select[Any], **values: Any) -> list[Row]:
    """Rows as the driver gives them."""
    return list(run(connection, statement, values).fetchall())
