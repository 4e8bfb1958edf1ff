"""The health of a study: a list of checks with their results."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sqlalchemy as sa

from kernelbandits.storage.engines import Engine, SqliteEngine
from kernelbandits.storage.engines.sqlite import pragma
from kernelbandits.storage.errors import StorageError
from kernelbandits.storage.mounts import network_mount
from kernelbandits.storage.session import Session
from kernelbandits.storage.tables import VERSION


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    ok: bool
    what: str
    sentence: str


Look = tuple[str, Callable[[], Sequence[Any]]]


def examine(session: Session, contents: Sequence[Look]) -> list[Finding]:
    """Run all checks, also if the first one finds damage."""
    found = [check_content(what, look) for what, look in contents]
    found.append(
        try_check(
            "version",
            lambda: session.read(lambda connection: check_version(connection, session.engine)),
        )
    )
    if isinstance(session.engine, SqliteEngine):
        found += check_file(session, session.engine)
    else:
        found.append(try_check("server", lambda: session.read(check_server)))
    return found


def try_check(what: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except StorageError as error:
        return Finding(False, what, str(error))


def check_content(what: str, look: Callable[[], Sequence[Any]]) -> Finding:
    return try_check(what, lambda: Finding(True, what, f"{len(look())} {what}, all checksums hold"))


def check_version(connection: sa.Connection, engine: Engine) -> Finding:
    found = engine.version(connection)
    return Finding(
        found == VERSION, "version", f"tables of version {found}, this release writes {VERSION}"
    )


def check_file(session: Session, engine: SqliteEngine) -> list[Finding]:
    looks = (("integrity", check_integrity), ("journal", check_journal), ("space", check_space))
    found = [try_check(what, partial(session.read, look)) for what, look in looks]
    return [*found, report_sqlite(), check_mount(engine)]


def check_integrity(connection: sa.Connection) -> Finding:
    said = str(pragma(connection, "integrity_check"))
    return Finding(said == "ok", "integrity", f"SQLite's integrity_check says {said!r}")


def check_journal(connection: sa.Connection) -> Finding:
    mode, sync = str(pragma(connection, "journal_mode")), int(pragma(connection, "synchronous"))
    advice = (
        "; another program switched it on, and the next write switches it off"
        if mode == "wal"
        else ""
    )
    return Finding(mode != "wal", "journal", f"journal mode {mode}, synchronous {sync}{advice}")


def check_space(connection: sa.Connection) -> Finding:
    pages, size = int(pragma(connection, "page_count")), int(pragma(connection, "page_size"))
    return Finding(True, "space", f"{pages * size} bytes")


def report_sqlite() -> Finding:
    return Finding(True, "sqlite", f"SQLite {sqlite3.sqlite_version}")


def check_mount(engine: SqliteEngine) -> Finding:
    kind = network_mount(engine.path)
    told = (
        f"the file is on a network file system ({kind}), whose locks are not safe"
        if kind
        else "the file is on a local disk"
    )
    return Finding(kind is None, "disk", told)


def check_server(connection: sa.Connection) -> Finding:
    version = connection.exec_driver_sql("SHOW server_version").scalar_one()
    safe = connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() != "off"
    safe = safe and connection.exec_driver_sql("SHOW fsync").scalar_one() == "on"
    told = (
        "each commit is on its disk"
        if safe
        else "set not to wait for its disk: a power cut may lose results"
    )
    return Finding(safe, "server", f"PostgreSQL {version}, {told}")
