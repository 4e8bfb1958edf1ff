"""SQLite: one file, one writer at a time; a commit is on the disk before it is acknowledged."""

from __future__ import annotations

import os
import random
import re
import sqlite3
import time
import warnings
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import DataNotice, StorageError, StorageFull, StorageReadOnly
from kernelbandits.outputs import STUDY_MARK, sqlite_address
from kernelbandits.runtime import descriptor_limit, has_free_descriptor
from kernelbandits.storage import statements
from kernelbandits.storage.database import Check, Damaged, Database, NoStudy, StorageBusy
from kernelbandits.storage.statements import TABLES, Connection, Dialect, fetch_one

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
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_FORMAT,
}
NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "ceph"}
NETWORK |= {"fuse.sshfs", "fuse.glusterfs"}
MOUNTS = Path("/proc/mounts")

SQLITE = Dialect(
    sign="?",
    integer="INTEGER",
    real="REAL",
    text="TEXT",
    now="round((julianday('now') - 2440587.5) * 86400.0, 3)",
    begin="BEGIN IMMEDIATE",
    tables="SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1",
    # SQLite itself makes tables and indexes whose names begin with sqlite_, and nobody else can.
    foreign=f"""SELECT type, name FROM sqlite_schema
        WHERE NOT (type = 'table' AND name IN {TABLES})
        AND NOT (type IN ('table', 'index') AND substr(name, 1, 7) = 'sqlite_')""",
    table_end=" STRICT",
    mark=f"PRAGMA application_id = {STUDY_MARK}",
)


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
        for cursor in filter(None, [reference() for reference in self.cursors]):
            cursor.close()
        super().close()


class SqliteDatabase(Database):
    # Damaged text is no UTF-8: then Python cannot even read what SQLite says of it.
    errors = (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError)

    def __init__(self, path: Path, mode: str, patience: float | None = None) -> None:
        super().__init__(str(path), SQLITE, mode, patience)
        self.path = path
        checks.needs(
            sqlite3.sqlite_version_info >= OLDEST,
            "a study in a file",
            "SQLite {}.{}.{} or newer".format(*OLDEST),
            sqlite3.sqlite_version,
        )

    def connect(self) -> Connection:
        self.check_path()
        kind = network_mount(self.path)
        if kind is not None:
            advice = "locks there are not safe with several writers; use PostgreSQL for that"
            message = f"{self.name} is on a network file system ({kind}): {advice}"
            warnings.warn(message, DataNotice, stacklevel=4)
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

    def check_path(self) -> None:
        """Check what can be checked before SQLite opens the file."""
        if self.path.is_dir():
            raise NoStudy(f"{self.name} is a directory, not a study")
        folder = self.path.absolute().parent
        if self.mode == "create" and not folder.is_dir():
            raise StorageError(f"there is no directory {folder} for {self.name}")
        if self.mode != "create" and not self.path.exists():
            raise NoStudy(f"there is no study {self.name}")

    def open_file(self) -> SqliteConnection:
        # A reader opens the file for writing if it can, because it may have to roll back the write
        # of a process that was killed.
        needed = (self.path, self.path.absolute().parent)
        writable = all(os.access(path, os.W_OK) for path in needed)
        mode = "ro" if self.reads_only and not writable else "rw"
        opened: SqliteConnection = sqlite3.connect(
            sqlite_address(self.path, mode="rwc" if self.mode == "create" else mode),
            uri=True,
            timeout=OPENING_NAP,
            isolation_level=None,
            check_same_thread=False,
            factory=SqliteConnection,
        )
        opened.file = identify(self.path)
        return opened

    def prepare(self, connection: Connection) -> None:
        """Check the owner of the file, and let every commit survive a power failure.

        EXTRA also writes to the disk that the journal is no longer valid; with FULL a power failure
        could roll a commit back. PERSIST overwrites the beginning of the journal instead of
        deleting the file, which takes a seventh less time. A reader leaves the journal as it is. A
        write-ahead log is never used: a copy of the database file without the log would lack
        acknowledged commits, and nothing would show that.
        """
        if self.mode == "salvage":
            # SQLite then reads what it can of a file that is too short or has a damaged schema.
            statements.send(connection, "PRAGMA writable_schema = ON")
        # SQLite is asked for the owner. To open the file with Python and close it again would free
        # all locks that this process has on it.
        owner = fetch_one(connection, "PRAGMA application_id")
        if self.mode == "create" and owner not in (0, STUDY_MARK):
            raise self.existing_file_error()
        if self.reads_only:
            statements.send(connection, "PRAGMA query_only = ON")
        elif owner == STUDY_MARK and os.access(self.path, os.W_OK):
            try:
                statements.send(connection, "PRAGMA journal_mode = PERSIST")
            except sqlite3.OperationalError:
                if fetch_one(connection, "PRAGMA journal_mode") != "wal":
                    raise
                raise StorageBusy(
                    f"{self.name} is open in another program, which switched on a write-ahead log; "
                    "close it there first"
                ) from None
        statements.send(connection, "PRAGMA synchronous = EXTRA")
        statements.send(connection, "PRAGMA mmap_size = 0")

    def is_usable(self, connection: Connection) -> bool:
        """Tell whether the file that is open is still the one under the path.

        A restored backup may be another file of the same name. What is written to the old one would
        be lost.
        """
        opened: Any = connection
        return opened.file is not None and opened.file == identify(self.path)

    def require_study(self, connection: Connection) -> None:
        if fetch_one(connection, "PRAGMA application_id") == STUDY_MARK:
            return
        names = set(self.tables(connection))
        if names >= set(TABLES):
            raise self.damage_error("its application_id is not that of a study")
        if names:
            raise NoStudy(f"{self.name} is an SQLite file of another program, not a study")
        raise NoStudy(f"{self.name} is empty, not a study")

    def clean_up(self, connection: Connection) -> None:
        """Delete the journal, unless another process is writing."""
        journal = fetch_one(connection, "PRAGMA journal_mode")
        if not self.reads_only and journal == "persist":
            set_patience(connection, OPENING_NAP)
            statements.send(connection, "PRAGMA journal_mode = DELETE")

    def pauses(self, since: float) -> Iterator[float]:
        """Yield short pauses, because SQLite itself has waited already."""
        end = since + self.busy_seconds
        while time.monotonic() < end:
            yield LONGEST_PAUSE * random.random()

    def is_held(self, error: Exception) -> bool:
        return code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

    is_temporary = is_held

    def translate_error(self, error: Exception) -> StorageError:
        code = code_of(error)
        if code == sqlite3.SQLITE_CANTOPEN and not has_free_descriptor():
            return StorageBusy(
                f"{self.name} cannot be opened now: this process has as many files open as it may "
                f"({descriptor_limit()}; ulimit -n); nothing was written"
            )
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            for path in (self.path, self.path.absolute().parent):
                if path.exists() and not os.access(path, os.W_OK):
                    return StorageReadOnly(f"{path} is not writable; {self.name} can be read only")
        if self.is_held(error):
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
        if code == sqlite3.SQLITE_NOTADB and self.mode == "create":
            return self.existing_file_error()
        if code == sqlite3.SQLITE_NOTADB:
            return Damaged(
                f"{self.name} is not a study and not an SQLite file at all; if it was one, put its "
                "last backup back"
            )
        if code in DAMAGE:
            return self.damage_error(f"SQLite says {str(error)!r}")
        return StorageError(f"{self.name} cannot be read or written: SQLite says {str(error)!r}")

    def existing_file_error(self) -> StorageError:
        return StorageError(f"{self.name} exists already and is not a study; it was left as it is")

    def reached_size_limit(self) -> bool:
        """Tell whether the next page would make the file or its journal larger than allowed."""
        limit = size_limit()
        files = (self.path, self.path.with_name(f"{self.path.name}-journal"))
        largest = max((path.stat().st_size for path in files if path.exists()), default=0)
        return limit is not None and largest + 2**16 >= limit

    def health_checks(self) -> Sequence[Check]:
        return (
            ("integrity", check_integrity),
            ("journal", check_journal),
            ("space", measure_space),
            ("sqlite", lambda connection: (True, f"SQLite {sqlite3.sqlite_version}")),
            ("disk", lambda connection: check_disk(self.path)),
        )


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


def set_patience(connection: Connection, seconds: float) -> None:
    """Set how long SQLite itself waits for a lock. Python handles no signal meanwhile."""
    statements.send(connection, f"PRAGMA busy_timeout = {1000 * seconds:.0f}")


def identify(path: Path) -> tuple[int, int] | None:
    """Return device and number of a file; None if there is none."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


def size_limit() -> int | None:
    """Return the largest size of a file that this process may write; None if there is no limit."""
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def network_mount(path: Path) -> str | None:
    """Return the network file system of a path, by the table of mounts; None if it is local."""
    real, depth, holder, table = Path(os.path.realpath(path)), 0, "", ""
    # What is not known here is only a warning less; opening the study says what is wrong.
    with suppress(OSError):
        table = MOUNTS.read_text(errors="replace")
    for _, escaped, kind, *_ in map(str.split, table.splitlines()):
        point = Path(re.sub(r"\\([0-7]{3})", lambda digits: chr(int(digits[1], 8)), escaped))
        # The deepest mount point holds the file; of equal ones the last hides the others.
        if real.is_relative_to(point) and len(point.parts) >= depth:
            depth, holder = len(point.parts), kind
    return holder if holder in NETWORK else None


def check_integrity(connection: Connection) -> tuple[bool, str]:
    answer = str(fetch_one(connection, "PRAGMA integrity_check"))
    return answer == "ok", f"SQLite's integrity_check says {answer!r}"


def check_journal(connection: Connection) -> tuple[bool, str]:
    mode = str(fetch_one(connection, "PRAGMA journal_mode"))
    sentence = f"journal mode {mode}, synchronous {fetch_one(connection, 'PRAGMA synchronous')}"
    if mode == "wal":
        sentence += "; another program switched it on, and the next write switches it off"
    return mode != "wal", sentence


def measure_space(connection: Connection) -> tuple[bool, str]:
    pages = int(fetch_one(connection, "PRAGMA page_count"))
    return True, f"{pages * int(fetch_one(connection, 'PRAGMA page_size'))} bytes"


def check_disk(path: Path) -> tuple[bool, str]:
    kind = network_mount(path)
    if kind is None:
        return True, "the file is on a local disk"
    return False, f"the file is on a network file system ({kind}), whose locks are not safe"
