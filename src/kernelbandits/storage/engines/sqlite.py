"""SQLite: one file, one writer at a time, each commit on the disk before it is acknowledged."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from kernelbandits import checks
from kernelbandits.storage.engines.base import Engine
from kernelbandits.storage.errors import NoStudy, StorageBusy, StorageError, StorageReadOnly
from kernelbandits.storage.mounts import warn_of_network
from kernelbandits.storage.tables import MARK, NAMES, VERSION, Tables

BUSY_SECONDS = 60.0
NAP = 0.1
"""Seconds that SQLite itself waits for a lock: signals are heard between naps, not in them."""
OLDEST = (3, 37, 0)
"""The first with strict tables."""
SOUND_WAL = (3, 51, 3)
"""Before it, a write-ahead log with several writers may be reset at the wrong moment."""
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH}
DAMAGE |= {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_FORMAT}


class SqliteEngine(Engine):
    begin = "BEGIN IMMEDIATE"
    clock = "round((julianday('now') - 2440587.5) * 86400.0, 3)"

    def __init__(self, path: Path, mode: str) -> None:
        self.path, self.mode, self.name = path, mode, str(path)
        needed = "SQLite {}.{}.{} or newer".format(*OLDEST)
        checks.needs(sqlite3.sqlite_version_info >= OLDEST, "a study in a file", needed, sqlite3.sqlite_version)

    @cached_property
    def tables(self) -> Tables:
        return Tables()

    @cached_property
    def core(self) -> sa.Engine:
        return sa.create_engine("sqlite://", creator=self.driver, poolclass=NullPool)

    def driver(self) -> sqlite3.Connection:
        wanted = {"read": "ro", "write": "rw", "create": "rwc"}[self.mode]
        uri = f"file:{quote(str(self.path.absolute()))}?mode={wanted}"
        return sqlite3.connect(uri, uri=True, timeout=NAP, isolation_level=None, check_same_thread=False)

    def connect(self) -> sa.Connection:
        self.look()
        warn_of_network(self.path)
        connection = self.core.connect()
        if self.mode != "read" and os.access(self.path, os.W_OK):
            prepare(connection, ours=owner(self.path) == MARK)
        return connection

    def look(self) -> None:
        """What can be said before SQLite opens the file."""
        if self.path.is_dir():
            raise NoStudy(f"{self.name} is a directory, not a study")
        if self.mode == "create":
            self.look_around()
        elif not self.path.exists():
            raise NoStudy(f"there is no study {self.name}")

    def look_around(self) -> None:
        folder = self.path.absolute().parent
        if not folder.is_dir():
            raise StorageError(f"there is no directory {folder} for {self.name}")
        if owner(self.path) not in (0, MARK):
            raise StorageError(f"{self.name} is there already and is not a study; it was left as it is")

    def lock_schema(self, connection: sa.Connection) -> None:
        """BEGIN IMMEDIATE did."""

    def make_room(self, connection: sa.Connection) -> None:
        """A file needs nothing."""

    def mark(self, connection: sa.Connection, version: int) -> None:
        connection.exec_driver_sql(f"PRAGMA application_id = {MARK}")
        connection.exec_driver_sql(f"PRAGMA user_version = {version}")

    def version(self, connection: sa.Connection) -> int:
        names = set(sa.inspect(connection).get_table_names())
        if pragma(connection, "application_id") == MARK:
            return self.agreed_version(connection)
        if names >= NAMES:
            raise self.damaged("its application_id is not that of a study")
        if names:
            raise NoStudy(f"{self.name} is an SQLite file of another program, not a study")
        raise NoStudy(f"{self.name} is empty, not a study")

    def agreed_version(self, connection: sa.Connection) -> int:
        found = int(pragma(connection, "user_version"))
        if found <= VERSION and self.stored_version(connection) != found:
            raise self.damaged("its user_version is not that of its tables")
        return found

    def keep(self, connection: sa.Connection, version: int) -> str:
        """A copy of the file beside it; others may read meanwhile, but not write."""
        copy = self.path.with_name(f"{self.path.name}.v{version}-backup")
        draft = self.path.with_name(f".{copy.name}.{os.getpid()}")
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(draft)) as target:
            target.execute("PRAGMA synchronous = EXTRA")
            source.backup(target)
        os.replace(draft, copy)
        flush(copy.absolute().parent)
        return str(copy)

    def lock_head(self, connection: sa.Connection) -> None:
        """BEGIN IMMEDIATE did."""

    def pauses(self) -> Iterator[float]:
        """SQLite has waited already."""
        end = time.monotonic() + BUSY_SECONDS
        while time.monotonic() < end:
            yield 0.002 * random.random()

    def passes(self, error: Exception) -> bool:
        return code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

    waits = passes

    def problem(self, error: Exception) -> StorageError:
        cause, code = getattr(error, "orig", error), code_of(error)
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return self.forbidden(str(cause))
        if self.passes(error):
            return StorageBusy(f"{self.name} was held by others for {BUSY_SECONDS:g} s; nothing was written")
        if code == sqlite3.SQLITE_FULL:
            return self.full()
        if code in DAMAGE:
            return self.damaged(f"SQLite says {str(cause)!r}")
        return StorageError(f"{self.name} cannot be read or written: SQLite says {str(cause)!r}")

    def forbidden(self, said: str) -> StorageError:
        for path in (self.path, self.path.absolute().parent):
            if path.exists() and not os.access(path, os.W_OK):
                return StorageReadOnly(f"{path} is not writable; {self.name} can be read only")
        return StorageError(f"{self.name} cannot be opened: SQLite says {said!r}")


def code_of(error: Exception) -> int:
    """SQLite's primary result code."""
    return int(getattr(getattr(error, "orig", error), "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)) & 0xFF


def prepare(connection: sa.Connection, ours: bool) -> None:
    """The journal: every commit is on the disk, and its deletion too, before it is acknowledged."""
    wal = ours and sqlite3.sqlite_version_info >= SOUND_WAL
    if ours:
        connection.exec_driver_sql(f"PRAGMA journal_mode = {'WAL' if wal else 'DELETE'}")
    connection.exec_driver_sql(f"PRAGMA synchronous = {'FULL' if wal else 'EXTRA'}")
    connection.exec_driver_sql("PRAGMA mmap_size = 0")


def pragma(connection: sa.Connection, name: str) -> Any:
    return connection.exec_driver_sql(f"PRAGMA {name}").scalar()


def owner(path: Path) -> int | None:
    """The application_id in the first bytes of a file, 0 if there is nothing yet, None if it is not SQLite's."""
    start = beginning(path)
    if not start.strip(b"\0"):
        return 0
    return int.from_bytes(start[68:72], "big") if start.startswith(b"SQLite format 3\0") else None


def beginning(path: Path) -> bytes:
    if not path.exists():
        return b""
    with path.open("rb") as file:
        return file.read(100)


def flush(folder: Path) -> None:
    """The name is on the disk too."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
