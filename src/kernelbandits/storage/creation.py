"""A new study, written in one transaction: it is complete or does not exist."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from kernelbandits import checks
from kernelbandits.storage.checksums import DIGITS, add_check, build_row
from kernelbandits.storage.engines import Engine
from kernelbandits.storage.errors import NoStudy, StorageError, StudyExists
from kernelbandits.storage.event import Draft
from kernelbandits.storage.header import Header, table_lines
from kernelbandits.storage.rows import Row
from kernelbandits.storage.session import Session
from kernelbandits.storage.tables import VERSION


def create(
    session: Session, first: Draft, columns: Sequence[str], cells: Sequence[Sequence[str]]
) -> None:
    """Create a study with this first event and this table of candidates."""
    checks.needs(
        first.kind == "created", "a new study", 'a first event of kind "created"', first.kind
    )
    lines = table_lines(columns, cells)
    header = Header.of(first, lines)
    try:
        session.write(
            lambda connection: write_study(connection, session.engine, header, lines, first)
        )
    finally:
        session.close()


def write_study(
    connection: sa.Connection, engine: Engine, header: Header, lines: Sequence[str], first: Draft
) -> None:
    engine.lock_schema(connection)
    refuse_existing(connection, engine)
    engine.create_schema(connection)
    now = connection.execute(sa.select(engine.time)).scalar_one()
    event = build_row(first, 1, now, header.fingerprint[:DIGITS])
    fill(connection, engine, header, lines, [event])


def refuse_existing(connection: sa.Connection, engine: Engine) -> None:
    try:
        engine.version(connection)
    except NoStudy:
        if sa.inspect(connection).get_table_names(schema=engine.tables.schema):
            raise StorageError(
                f"{engine.name} holds tables of another program; they were left as they are"
            ) from None
    else:
        raise StudyExists(f"there is a study at {engine.name} already")


def fill(
    connection: sa.Connection,
    engine: Engine,
    header: Header,
    lines: Sequence[str],
    events: Sequence[Row],
) -> None:
    """Create and fill all tables of a study, inside a transaction."""
    tables = engine.tables
    for table in tables.all:
        connection.execute(sa.schema.CreateTable(table))
    connection.execute(sa.insert(tables.study), header.values)
    numbered = [
        {"row": row, "cells": cells, "check": check}
        for row, cells, check in map(add_check, enumerate(lines, -1))
    ]
    connection.execute(sa.insert(tables.candidates), numbered)
    connection.execute(sa.insert(tables.spare), numbered)
    connection.execute(tables.add, [tables.name_values(row) for row in events])
    connection.execute(
        sa.insert(tables.head), {"id": 1, "seq": events[-1][0], "check": events[-1][-1]}
    )
    engine.write_mark(connection, VERSION)
