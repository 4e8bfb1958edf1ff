"""The health of a study: a list of checks with their results."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernelbandits.storage.backend import Backend
from kernelbandits.storage.errors import StorageError
from kernelbandits.storage.mounts import network_mount
from kernelbandits.storage.session import Session
from kernelbandits.storage.sqlite import SqliteBackend, pragma
from kernelbandits.storage.statements import VERSION, Connection, fetch_one


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
            lambda: session.read(lambda connection: check_version(connection, session.backend)),
        )
    )
    if isinstance(session.backend, SqliteBackend):
        found += check_file(session, session.backend)
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


def check_version(connection: Connection, backend: Backend) -> Finding:
    found = backend.version(connection)
    return Finding(
        found == VERSION, "version", f"tables of version {found}, this release writes {VERSION}"
    )


def check_file(session: Session, backend: SqliteBackend) -> list[Finding]:
    looks = (("integrity", check_integrity), ("journal", check_journal), ("space", check_space))
    found = [try_check(what, partial(session.read, look)) for what, look in looks]
    return [*found, report_sqlite(), check_mount(backend)]


def check_integrity(connection: Connection) -> Finding:
    said = str(pragma(connection, "integrity_check"))
    return Finding(said == "ok", "integrity", f"SQLite's integrity_check says {said!r}")


def check_journal(connection: Connection) -> Finding:
    mode, sync = str(pragma(connection, "journal_mode")), int(pragma(connection, "synchronous"))
    advice = (
        "; another program switched it on, and the next write switches it off"
        if mode == "wal"
        else ""
    )
    return Finding(mode != "wal", "journal", f"journal mode {mode}, synchronous {sync}{advice}")


def check_space(connection: Connection) -> Finding:
    pages, size = int(pragma(connection, "page_count")), int(pragma(connection, "page_size"))
    return Finding(True, "space", f"{pages * size} bytes")


def report_sqlite() -> Finding:
    return Finding(True, "sqlite", f"SQLite {sqlite3.sqlite_version}")


def check_mount(backend: SqliteBackend) -> Finding:
    kind = network_mount(backend.path)
    told = (
        f"the file is on a network file system ({kind}), whose locks are not safe"
        if kind
        else "the file is on a local disk"
    )
    return Finding(kind is None, "disk", told)


def check_server(connection: Connection) -> Finding:
    version = fetch_one(connection, "SHOW server_version")
    safe = fetch_one(connection, "SHOW synchronous_commit") != "off"
    safe = safe and fetch_one(connection, "SHOW fsync") == "on"
    told = (
        "each commit is on its disk"
        if safe
        else "set not to wait for its disk: a power cut may lose results"
    )
    return Finding(safe, "server", f"PostgreSQL {version}, {told}")
