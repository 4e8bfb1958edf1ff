"""Migrations: tables of an older version are changed to this version, after a backup.

A migration is one transaction. The backup of films.db with tables of version 1 is the file
films.db.v1-backup; that of the PostgreSQL schema films is the schema films_v1_backup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from kernelbandits.storage.checksums import add_check, is_intact
from kernelbandits.storage.engines import Engine
from kernelbandits.storage.errors import OtherVersion
from kernelbandits.storage.session import Session
from kernelbandits.storage.tables import VERSION

Steps = Mapping[int, Sequence[str]]

STEPS: Steps = {}
"""For each older version the SQL statements that lead to the next one, valid in both databases."""


def upgrade_tables(session: Session, steps: Steps = STEPS) -> None:
    found = session.read(session.engine.version)
    if found != VERSION:
        refuse_unknown(session.engine, found, steps)
        session.write(lambda connection: apply_steps(connection, session.engine, steps))


def refuse_unknown(engine: Engine, found: int, steps: Steps) -> None:
    if not all(version in steps for version in range(found, VERSION)) or found > VERSION:
        refuse_other(engine, found)
    if engine.mode == "read":
        raise OtherVersion(
            f"{engine.name} has tables of version {found}; "
            "open it once for writing to bring them up to date"
        )


def refuse_other(engine: Engine, found: int) -> None:
    if found != VERSION:
        newer = (
            "was written by a newer release: it"
            if found > VERSION
            else "is not of this release: it"
        )
        raise OtherVersion(
            f"{engine.name} {newer} has tables of version {found}, and this release knows {VERSION}"
        )


def apply_steps(connection: sa.Connection, engine: Engine, steps: Steps) -> None:
    engine.lock_schema(connection)
    found = engine.version(connection)
    if found < VERSION:
        engine.copy_tables(connection, found)
        for version in range(found, VERSION):
            for statement in steps[version]:
                connection.exec_driver_sql(statement)
        write_version(connection, engine)


def write_version(connection: sa.Connection, engine: Engine) -> None:
    study = engine.tables.study
    row = connection.execute(sa.select(study)).one()
    if not is_intact(tuple(row)):
        raise engine.damage_error("its header is not the one that was written")
    values = row._asdict() | {"version": VERSION}
    values.pop("check")
    connection.execute(
        sa.update(study).values(**values, check=add_check(tuple(values.values()))[-1])
    )
    engine.write_mark(connection, VERSION)
