"""SQLite: one file, one writer at a time; a commit is on the disk before it is acknowledged."""

from __future__ import annotations

import os
import random
import sqlite3
import time
import weakref
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelbandits import checks
from kernelbandits.outputs import read_apart, sqlite_address
from kernelbandits.runtime import descriptor_limit, has_free_descriptor
from kernelbandits.storage import statements
from kernelbandits.storage.backend import Backend
from kernelbandits.storage.errors import (
    Damaged,
    NoStudy,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
)
from kernelbandits.storage.mounts import warn_of_network
from kernelbandits.storage.statements import (
    MARK,
    NAMES,
    SQLITE,
    VERSION,
    Connection,
    fetch_one,
)

BUSY_SECONDS = 60.0
OPENING_NAP = 0.25
"""Seconds that SQLite itself waits for a lock while a file is opened or closed."""
NAP = 0.033
"""Seconds that it waits otherwise, in pauses of 1, 2, 5, 10 and 15 ms. Python would spend several
times as much of the processor on each, but handles a signal only after them."""
LONGEST_PAUSE = 0.004
"""Seconds before SQLite waits again; each pause is a random part of them."""
OLDEST = (3, 37, 0)
"""The first version with strict tables."""
UNDER_WAY = 8
"""More than the number of statements that are ever open at the same time."""
DAMAGE = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_MISMATCH,
}
DAMAGE |= {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_FORMAT}


class SqliteConnection(sqlite3.Connection):
    """A connection whose `close` also closes its statements.

    Otherwise an interrupted statement would keep the file and its lock until Python deletes it.
    """

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.cursors: deque[weakref.ref[sqlite3.Cursor]] = deque(maxlen=UNDER_WAY)
        self.file: tuple[int, int] | None = None
        """Device and number of the file that was opened."""

    def cursor(self, *given: Any) -> Any:
        made = super().cursor(*given)
        self.cursors.append(weakref.ref(made))
        return made

    def close(self) -> None:
        self.file = None
        for cursor in filter(None, [known() for known in self.cursors]):
            cursor.close()
        super().close()


class SqliteBackend(Backend):
    statements = SQLITE
    # Damaged text is no UTF-8: then Python cannot even read what SQLite says of it.
    errors = (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError)

    def __init__(self, path: Path, mode: str) -> None:
        self.path, self.mode, self.name = path, mode, str(path)
        needed = "SQLite {}.{}.{} or newer".format(*OLDEST)
        checks.needs(
            sqlite3.sqlite_version_info >= OLDEST,
            "a study in a file",
            needed,
            sqlite3.sqlite_version,
        )

    def open_file(self) -> SqliteConnection:
        wanted = {"read": "rw" if self.writable() else "ro", "write": "rw", "create": "rwc"}[
            self.mode
        ]
        opened: SqliteConnection = sqlite3.connect(
            sqlite_address(self.path, mode=wanted),
            uri=True,
            timeout=OPENING_NAP,
            isolation_level=None,
            check_same_thread=False,
            factory=SqliteConnection,
        )
        opened.file = identify(self.path)
        return opened

    def writable(self) -> bool:
        """Tell whether file and folder are writable.

        A reader opens the file for writing if it can, because it may have to roll back the write of
        a process that was killed.
        """
        return all(os.access(path, os.W_OK) for path in (self.path, self.path.absolute().parent))

    def connect(self) -> Connection:
        self.check_path()
        warn_of_network(self.path)
        connection = self.open_file()
        try:
            self.prepare(connection)
            # SQLite pauses longer the longer it has waited, so that those who come later are
            # served first: of 16 workers some waited for seconds. Short waits are fair.
            set_patience(connection, NAP)
        except BaseException:
            connection.close()
            raise
        return connection

    def is_usable(self, connection: Connection) -> bool:
        """Tell whether the file that is open is still the one under the path.

        A restored backup may be another file of the same name. What is written to the old one would
        be lost.
        """
        known: Any = connection
        return known.file is not None and known.file == identify(self.path)

    def prepare(self, connection: Connection) -> None:
        """Check the owner of the file and set the journal."""
        # SQLite is asked for the owner. To open the file with Python and close it again would free
        # all locks that this process has on it.
        owner = pragma(connection, "application_id")
        if self.mode == "create" and owner not in (0, MARK):
            raise self.existing_file_error()
        if self.mode == "read":
            statements.send(connection, "PRAGMA query_only = ON")
        try:
            set_journal(
                connection, owner == MARK, self.mode != "read" and os.access(self.path, os.W_OK)
            )
        except sqlite3.OperationalError:
            if pragma(connection, "journal_mode") == "wal":
                raise StorageBusy(self.describe_foreign_journal()) from None
            raise

    def describe_foreign_journal(self) -> str:
        return (
            f"{self.name} is open in another program, which switched on a write-ahead log; "
            "close it there first"
        )

    def check_path(self) -> None:
        """Check what can be checked before SQLite opens the file."""
        if self.path.is_dir():
            raise NoStudy(f"{self.name} is a directory, not a study")
        folder = self.path.absolute().parent
        if self.mode == "create" and not folder.is_dir():
            raise StorageError(f"there is no directory {folder} for {self.name}")
        if self.mode != "create" and not self.path.exists():
            raise NoStudy(f"there is no study {self.name}")

    def existing_file_error(self) -> StorageError:
        return StorageError(f"{self.name} exists already and is not a study; it was left as it is")

    def lock_schema(self, connection: Connection) -> None:
        """Do nothing: BEGIN IMMEDIATE has locked the file."""

    def create_schema(self, connection: Connection) -> None:
        """Do nothing: a file needs no schema."""

    def write_mark(self, connection: Connection, version: int) -> None:
        statements.send(connection, f"PRAGMA application_id = {MARK}")
        statements.send(connection, f"PRAGMA user_version = {version}")

    def version(self, connection: Connection) -> int:
        names = set(self.tables(connection))
        if pragma(connection, "application_id") == MARK:
            return self.agreed_version(connection)
        if names >= set(NAMES):
            raise self.damage_error("its application_id is not that of a study")
        if names:
            raise NoStudy(f"{self.name} is an SQLite file of another program, not a study")
        raise NoStudy(f"{self.name} is empty, not a study")

    def agreed_version(self, connection: Connection) -> int:
        found = int(pragma(connection, "user_version"))
        if found <= VERSION and self.stored_version(connection) != found:
            raise self.damage_error("its user_version is not that of its tables")
        return found

    def clean_up(self, connection: Connection) -> None:
        """Delete the journal, unless another process is writing."""
        if self.mode != "read" and pragma(connection, "journal_mode") == "persist":
            set_patience(connection, OPENING_NAP)
            statements.send(connection, "PRAGMA journal_mode = DELETE")

    @property
    def busy_seconds(self) -> float:
        return BUSY_SECONDS if self.patience is None else self.patience

    def pauses(self, since: float) -> Iterator[float]:
        """Yield short pauses, because SQLite itself has waited already."""
        end = since + self.busy_seconds
        while time.monotonic() < end:
            yield LONGEST_PAUSE * random.random()

    def is_temporary(self, error: Exception) -> bool:
        return code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

    is_locked = is_temporary

    def translate_error(self, error: Exception) -> StorageError:
        code = code_of(error)
        if code == sqlite3.SQLITE_CANTOPEN and not has_free_descriptor():
            return StorageBusy(
                f"{self.name} cannot be opened now: this process has as many files open as it may "
                f"({descriptor_limit()}; ulimit -n); nothing was written"
            )
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return self.permission_error(str(error))
        if self.is_temporary(error):
            return StorageBusy(
                f"{self.name} was held by others for {self.busy_seconds:g} s; nothing was written"
            )
        if code == sqlite3.SQLITE_FULL:
            return self.full_error()
        if code == sqlite3.SQLITE_IOERR and self.reached_size_limit():
            return StorageFull(
                f"{self.name} may not grow further: files of this process may have at most "
                f"{size_limit()} bytes (ulimit -f); nothing was written, and what was there is safe"
            )
        if code == sqlite3.SQLITE_NOTADB and read_beginning(self.path).strip(b"\0"):
            return (
                self.existing_file_error() if self.mode == "create" else self.foreign_file_error()
            )
        if code in DAMAGE:
            return self.damage_error(f"SQLite says {str(error)!r}")
        return StorageError(f"{self.name} cannot be read or written: SQLite says {str(error)!r}")

    def reached_size_limit(self) -> bool:
        """Tell whether the next page would make the file or its journal larger than allowed."""
        limit = size_limit()
        files = (self.path, self.path.with_name(f"{self.path.name}-journal"))
        largest = max((path.stat().st_size for path in files if path.exists()), default=0)
        return limit is not None and largest + 2**16 >= limit

    def foreign_file_error(self) -> Damaged:
        """Return the error for a file that is not SQLite's.

        A text file was never a study. Other bytes may have been one before they were overwritten.
        """
        advice = ""
        if b"\0" in read_beginning(self.path):
            advice = "; if it was one, put its last backup back"
        return Damaged(f"{self.name} is not a study and not an SQLite file at all{advice}")

    def permission_error(self, said: str) -> StorageError:
        for path in (self.path, self.path.absolute().parent):
            if path.exists() and not os.access(path, os.W_OK):
                return StorageReadOnly(f"{path} is not writable; {self.name} can be read only")
        return StorageError(f"{self.name} cannot be opened: SQLite says {said!r}")


def code_of(error: Exception) -> int:
    """Return SQLite's primary result code of an error.

    Errors without a code are taken for damage, except those of a misused connection.
    """
    misused = isinstance(error, sqlite3.ProgrammingError) or str(error).endswith(
        ("within a transaction", "no transaction is active")
    )
    if misused:
        return sqlite3.SQLITE_MISUSE
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)) & 0xFF


def set_journal(connection: Connection, ours: bool, writable: bool) -> None:
    """Set the journal mode so that every acknowledged commit survives a power failure.

    EXTRA also writes to the disk that the journal is no longer valid; with FULL a power failure
    could roll a commit back. PERSIST overwrites the beginning of the journal instead of deleting
    the file, which takes a seventh less time. A reader has the same settings but leaves the journal
    as it is. A write-ahead log is never used: a copy of the database file without the log would
    lack acknowledged commits, and nothing would show that.
    """
    if ours and writable:
        statements.send(connection, "PRAGMA journal_mode = PERSIST")
    statements.send(connection, "PRAGMA synchronous = EXTRA")
    statements.send(connection, "PRAGMA mmap_size = 0")


def set_patience(connection: Connection, seconds: float) -> None:
    """Set how long SQLite itself waits for a lock. Python handles no signal meanwhile."""
    statements.send(connection, f"PRAGMA busy_timeout = {1000 * seconds:.0f}")


def pragma(connection: Connection, name: str) -> Any:
    return fetch_one(connection, f"PRAGMA {name}")


def identify(path: Path) -> tuple[int, int] | None:
    """Return device and number of a file; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def size_limit() -> int | None:
    """Return the largest size of a file that this process may write; None if there is no limit."""
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def read_beginning(path: Path) -> bytes:
    """Return the first bytes of a file, if it can be read."""
    try:
        return read_apart(path, 100)
    except OSError:
        return b""
