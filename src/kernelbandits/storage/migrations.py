"""Migrations: tables of an older version are changed to this version, after a backup.

A migration is one transaction. The backup of films.db with tables of version 1 is the file
films.db.v1-backup; that of the PostgreSQL schema films is the schema films_v1_backup.

Version 1 (release 0.1) stored the candidates by row. The fingerprint of these rows stays in the
header, because the checksums of the events start with it; a checksum of the columns is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelbandits.storage import statements
from kernelbandits.storage.backend import Backend
from kernelbandits.storage.columns import checksum_segments, split_columns
from kernelbandits.storage.creation import fill_candidates
from kernelbandits.storage.errors import OtherVersion
from kernelbandits.storage.header import Header
from kernelbandits.storage.session import Session
from kernelbandits.storage.statements import OLDEST, VERSION, Connection, Row, fetch


def upgrade_tables(session: Session) -> None:
    """Change tables of an older version; a reader reads them as they are."""
    found = session.read(session.backend.version)
    refuse_unknown(session.backend, found)
    if found < VERSION and session.backend.mode != "read":
        for transaction in session.transactions():
            with transaction:
                session.backend.lock_schema(transaction.connection)
                if session.backend.version(transaction.connection) < VERSION:
                    rewrite_candidates(transaction.connection, session.backend)


def refuse_unknown(backend: Backend, found: int) -> None:
    """Raise an error if the tables are of a version that this release does not know."""
    if found > VERSION or found < OLDEST:
        newer = "was written by a newer release" if found > VERSION else "is not of this release"
        raise OtherVersion(
            f"{backend.name} {newer}: it has tables of version {found}, and this release knows "
            f"{OLDEST} to {VERSION}"
        )


def rewrite_candidates(connection: Connection, backend: Backend) -> None:
    """Replace the candidates by row, of version 1, by candidates by column."""
    backend.copy_tables(connection, OLDEST)
    before = Header.read(connection, backend)
    columns = before.verify_columns(fetch(connection, backend.statements.candidates))
    if columns is None:
        raise backend.damage_error("the table of candidates is not the one that was written")
    segments = split_columns(columns)
    texts = backend.statements
    for statement in (*texts.drop_candidates, *texts.create_candidates):
        statements.send(connection, statement)
    fill_candidates(connection, backend, upgrade_header(before, segments), segments)


def upgrade_header(header: Header, segments: Sequence[Row]) -> Header:
    """The header of this version; the fingerprint stays."""
    return replace(header, version=VERSION, checksum=checksum_segments(segments))
