"""A new study, written in one transaction: it is complete or does not exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelbandits import checks
from kernelbandits.storage import statements
from kernelbandits.storage.backend import Backend
from kernelbandits.storage.checksums import DIGITS, build_row
from kernelbandits.storage.columns import Column, count_rows, split_columns
from kernelbandits.storage.errors import NoStudy, StorageError, StudyExists
from kernelbandits.storage.event import Draft
from kernelbandits.storage.header import Header
from kernelbandits.storage.session import Session
from kernelbandits.storage.statements import VERSION, Connection, Row, fetch_one


def create(session: Session, first: Draft, columns: Mapping[str, Column]) -> None:
    """Create a study with this first event and this table of candidates."""
    checks.needs(
        first.kind == "created", "a new study", 'a first event of kind "created"', first.kind
    )
    tabular = bool(columns) or "space" in first.body
    checks.needs(tabular, "a study", "names of columns, or a space", tuple(columns))
    segments = split_columns(columns)
    header = Header.of(first, segments, rows=count_rows(columns))
    backend = session.backend
    try:
        for transaction in session.transactions():
            with transaction:
                connection = transaction.connection
                backend.lock_schema(connection)
                refuse_existing(connection, backend)
                backend.create_schema(connection)
                now = fetch_one(connection, backend.statements.time)
                event = build_row(first, 1, now, header.fingerprint[:DIGITS])
                fill(connection, backend, header, segments, [event])
    finally:
        session.close()


def refuse_existing(connection: Connection, backend: Backend) -> None:
    try:
        backend.version(connection)
    except NoStudy:
        if backend.tables(connection):
            raise StorageError(
                f"{backend.name} holds tables of another program; they were left as they are"
            ) from None
    else:
        raise StudyExists(f"there is a study at {backend.name} already")


def fill(
    connection: Connection,
    backend: Backend,
    header: Header,
    segments: Sequence[Row],
    events: Sequence[Row],
) -> None:
    """Create and fill all tables of a study, inside a transaction."""
    texts = backend.statements
    for statement in texts.create:
        statements.send(connection, statement)
    statements.send(connection, texts.add_event, *events)
    statements.send(connection, texts.add_head, (events[-1][0], events[-1][-1]))
    statements.send(connection, texts.add_study, header.row)
    statements.send(connection, texts.add_candidates, *segments)
    backend.write_mark(connection, VERSION)
