"""A database that holds a study: one connection for each process, and transactions with retries."""

from __future__ import annotations

import os
import random
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from types import TracebackType
from typing import NamedTuple, TypeVar

from kernelbandits.checks import StorageError, StorageFull, StudyConflict
from kernelbandits.storage import statements
from kernelbandits.storage.statements import VERSION, Connection, Dialect, fetch

T = TypeVar("T")

BUSY_SECONDS = 60.0
"""How long to wait for others who hold the study."""
PATIENCE = 30.0
"""Other temporary errors are retried for this many seconds."""
FORK_PATIENCE = 10.0
SAME_HOLD = 1.0
"""Seconds after which a study that was held by others, and is again, is held by somebody else."""
NOT_HELD = (-inf, -inf)


class StorageBusy(StorageError):
    """Other processes locked the study for too long, or its server does not answer.

    >>> import sqlite3
    >>> from kernelbandits.storage import Draft, Log, StorageBusy
    >>> Log.create("held.db", Draft(kind="created"), {"heat": [20.0, 90.0]}).close()
    >>> other = sqlite3.connect("held.db", isolation_level=None)
    >>> held = other.execute("BEGIN EXCLUSIVE")
    >>> try:
    ...     Log.open("held.db", patience=0.01)
    ... except StorageBusy as error:
    ...     print(type(error).__name__)
    StorageBusy
    >>> other.close()
    """


class Damaged(StorageError):
    """What is stored is not what was written.

    `salvage` saves what can still be read.

    >>> import sqlite3
    >>> from kernelbandits.storage import Damaged, Draft, Log
    >>> Log.create("altered.db", Draft(kind="created"), {"heat": [20.0, 90.0]}).close()
    >>> other = sqlite3.connect("altered.db", isolation_level=None)
    >>> changed = other.execute("UPDATE events SET at = at + 1")
    >>> other.close()
    >>> with Log.open("altered.db") as log:
    ...     try:
    ...         log.events()
    ...     except Damaged as error:
    ...         print("event 1 is not the one that was written" in str(error))
    True
    """


class OtherVersion(StorageError):
    """The study was written by a newer or an older release.

    >>> import sqlite3
    >>> from kernelbandits.storage import Draft, Log, OtherVersion
    >>> Log.create("later.db", Draft(kind="created"), {"heat": [20.0, 90.0]}).close()
    >>> other = sqlite3.connect("later.db", isolation_level=None)
    >>> changed = other.execute("UPDATE study SET version = 999")
    >>> other.close()
    >>> try:
    ...     Log.open("later.db")
    ... except OtherVersion as error:
    ...     print(type(error).__name__)
    OtherVersion
    """


class NoStudy(StorageError):
    """There is no study at this place.

    >>> from kernelbandits.storage import Log, NoStudy
    >>> try:
    ...     Log.open("none.db")
    ... except NoStudy as error:
    ...     print(error)
    there is no study none.db
    """


class StudyExists(StudyConflict):
    """There is a study at this place already.

    >>> from kernelbandits.storage import Draft, Log, StudyExists
    >>> Log.create("twice.db", Draft(kind="created"), {"heat": [20.0, 90.0]}).close()
    >>> try:
    ...     Log.create("twice.db", Draft(kind="created"), {"heat": [20.0, 90.0]})
    ... except StudyExists as error:
    ...     print(type(error).__name__)
    StudyExists
    """


@dataclass(frozen=True)
class Finding:
    """The result of one check of a study.

    `check_health` returns them.

    >>> from kernelbandits.storage import Draft, Log, check_health
    >>> with Log.create("well.db", Draft(kind="created"), {"heat": [20.0, 90.0]}) as log:
    ...     finding = check_health(log)[0]
    >>> finding.ok, finding.what, finding.sentence
    (True, 'events', '1 events, all checksums hold')
    """

    ok: bool
    """Whether the check found nothing wrong."""
    what: str
    """What was checked: "events", "candidates", ..."""
    sentence: str
    """What was found."""


Check = tuple[str, Callable[[Connection], tuple[bool, str]]]
"""What is checked, and how: whether it is well, and a sentence about it."""


class Wait(NamedTuple):
    """The attempts of one call: when the wait for others began, and the pauses between attempts."""

    since: float
    pauses: Iterator[float]


class Database(ABC):
    """The database at one place, opened in the mode "read", "write", "create" or "salvage".

    A salvage reads too, also what is damaged. The connection is given to one thread at a time.
    After a fork the child opens a connection of its own.
    """

    errors: tuple[type[Exception], ...]
    """The errors of the driver."""

    def __init__(self, name: str, dialect: Dialect, mode: str, patience: float | None) -> None:
        self.name, self.dialect, self.mode = name, dialect, mode
        self.patience = patience
        """Seconds to wait for others who hold the study; None for the usual ones."""
        self.lock = threading.RLock()
        self._connection: Connection | None = None
        self._held = NOT_HELD
        """Since when attempts found the study held by others, and the time of the last one."""
        alive.add(self)

    # What each database does in its own way

    @abstractmethod
    def connect(self) -> Connection:
        """Return a new connection; each statement is its own transaction unless one was begun."""

    @abstractmethod
    def is_usable(self, connection: Connection) -> bool:
        """Tell whether the connection is open and leads to the study that is at the place now."""

    @abstractmethod
    def require_study(self, connection: Connection) -> None:
        """Raise NoStudy if there is none."""

    @abstractmethod
    def is_held(self, error: Exception) -> bool:
        """Tell whether others hold the study; the connection itself is usable."""

    @abstractmethod
    def is_temporary(self, error: Exception) -> bool:
        """Tell whether the same work may succeed later or on a new connection."""

    @abstractmethod
    def translate_error(self, error: Exception) -> StorageError:
        """Return the storage error that an error of the driver stands for."""

    @abstractmethod
    def health_checks(self) -> Sequence[Check]:
        """Return the checks of what is particular to this kind of database."""

    def begin_creation(self, connection: Connection) -> None:  # noqa: B027
        """Prevent others from creating this study, inside a transaction."""

    def clean_up(self, connection: Connection) -> None:  # noqa: B027
        """Delete files that are only needed while the study is open."""

    def pauses(self, since: float) -> Iterator[float]:
        """Yield pauses between retries: they double from 20 ms to 2 s, until the patience is over.

        It begins at the time `since`. Each pause is shortened at random, so that several waiting
        processes do not retry in step.
        """
        end, pause = since + (PATIENCE if self.patience is None else self.patience), 0.02
        while time.monotonic() < end:
            yield pause * (0.5 + random.random() / 2)
            pause = min(2 * pause, 2.0)

    # What is the same for all

    @property
    def reads_only(self) -> bool:
        return self.mode in ("read", "salvage")

    @property
    def busy_seconds(self) -> float:
        """How long to wait for others who hold the study."""
        return BUSY_SECONDS if self.patience is None else self.patience

    def tables(self, connection: Connection) -> list[str]:
        """Return the names of all tables at this place."""
        return [name for (name,) in fetch(connection, self.dialect.tables)]

    def refuse_version(self, version: object) -> None:
        """Refuse tables of another version than this release writes: their form is another one."""
        if not isinstance(version, int):
            raise self.damage_error("its header is missing")
        if version != VERSION:
            age = "a newer" if version > VERSION else "an older"
            raise OtherVersion(
                f"{self.name} was written by {age} release: its tables have version {version}, "
                f"and this release reads version {VERSION}; open it with {age} release of "
                "kernelbandits"
            )

    def damage_error(self, what: str) -> Damaged:
        advice = f"`kernelbandits study salvage {self.name} <new file>` saves what is intact"
        return Damaged(f"{self.name} is damaged: {what}; {advice}")

    def full_error(self) -> StorageFull:
        return StorageFull(
            f"no space is left for {self.name}; nothing was written, and what was there is safe"
        )

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return the answer of some selections; they are sent again if the connection is lost."""
        wait = self._begin_wait()
        while True:
            with self.lock:
                try:
                    return work(self._open())
                except self.errors as error:
                    pause = self._pause_after(error, wait)
                except Exception:
                    raise
                except BaseException:
                    self._drop()
                    raise
            time.sleep(pause)

    def transactions(self, *, of_events: bool = False) -> Iterator[Transaction]:
        """Yield transactions that write, until one of them is committed or its body raises.

        Use it as `for transaction in database.transactions(): with transaction: ...`. The body runs
        again if the connection is lost or the database asks for a retry. It must not return or
        break: what follows the loop runs when the commit has succeeded. With `of_events` nobody
        else writes events meanwhile; a study that is being created has none to lock.
        """
        wait = self._begin_wait()
        while True:
            transaction = Transaction(self, wait, of_events)
            yield transaction
            if transaction.pause is None:
                return
            time.sleep(transaction.pause)

    def close(self) -> None:
        with self.lock:
            try:
                if self._connection is not None:
                    with suppress(*self.errors):
                        self.clean_up(self._connection)
            finally:
                self._drop()

    def forget(self) -> None:
        """Forget the connection, in a child process: it belongs to the parent."""
        if self._connection is not None:
            abandoned.append(self._connection)
        self._connection = None
        self.lock = threading.RLock()

    def _begin_wait(self) -> Wait:
        """Wait for others who hold the study from now, or from an earlier call that waited in vain.

        Threads wait one after the other. If each of them waited for the whole time, the last one
        would wait for many times as long.
        """
        now, (since, last) = time.monotonic(), self._held
        began = since if now - last < SAME_HOLD else now
        return Wait(began, self.pauses(began))

    def _pause_after(self, error: Exception, wait: Wait) -> float:
        """Return the seconds to wait before another attempt; raise if there is to be none."""
        if self.is_held(error):
            self._held = wait.since, time.monotonic()
        else:
            self._drop()
        pause = next(wait.pauses, None) if self.is_temporary(error) else None
        if pause is None:
            raise self.translate_error(error) from None
        return pause

    def _open(self) -> Connection:
        if self._connection is not None and not self.is_usable(self._connection):
            self._drop()
        if self._connection is None:
            self._connection = self.connect()
        return self._connection

    def _drop(self) -> None:
        """Close the connection without sending anything more."""
        # It is forgotten only after it is closed, so that an interrupted close is repeated.
        if self._connection is not None:
            with suppress(*self.errors):
                self._connection.close()
        self._connection = None


class Transaction:
    """One transaction: everything written in the body of its `with` is stored, or nothing."""

    connection: Connection

    def __init__(self, database: Database, wait: Wait, of_events: bool) -> None:
        self._database, self._wait, self._of_events = database, wait, of_events
        self.pause: float | None = None
        """Seconds to wait before the body is to run again; None if it is done."""

    def __enter__(self) -> Transaction:
        """Begin. Temporary errors are retried here, because the body cannot be left out."""
        database = self._database
        database.lock.acquire()
        try:
            while True:
                try:
                    self._begin()
                    database._held = NOT_HELD
                    return self
                except database.errors as error:
                    pause = database._pause_after(error, self._wait)
                # Other threads of this process may go first.
                database.lock.release()
                try:
                    time.sleep(pause)
                finally:
                    database.lock.acquire()
        except BaseException as error:
            if not isinstance(error, Exception):
                database._drop()
            database.lock.release()
            raise

    def _begin(self) -> None:
        database = self._database
        self.connection = database._open()
        statements.send(self.connection, database.dialect.begin)
        lock = database.dialect.lock
        if lock and self._of_events:
            # This must be a statement of its own. A statement that waits for the lock and also
            # reads the events sees them as they were before the wait.
            patient = time.monotonic() - self._wait.since < database.busy_seconds
            try:
                fetch(self.connection, lock if patient else f"{lock} NOWAIT")
            except database.errors:
                self._roll_back()
                raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        database = self._database
        try:
            if error is None:
                error = self._commit()
            elif isinstance(error, Exception):
                self._roll_back()
            else:
                # An interrupt may leave the connection inside a transaction that holds a lock, so
                # the connection is given up.
                database._drop()
            if isinstance(error, database.errors):
                self.pause = database._pause_after(error, self._wait)
                return True
            return False
        finally:
            database.lock.release()

    def _commit(self) -> Exception | None:
        """Commit; return an error of the driver, if there was one."""
        try:
            statements.send(self.connection, "COMMIT")
        except self._database.errors as error:
            self._roll_back()
            return error
        except BaseException:
            self._database._drop()
            raise
        return None

    def _roll_back(self) -> None:
        try:
            statements.send(self.connection, "ROLLBACK")
        except self._database.errors:
            self._database._drop()
        except BaseException:
            self._database._drop()
            raise


alive: weakref.WeakSet[Database] = weakref.WeakSet()
abandoned: list[Connection] = []
"""Connections of the parent process. A child must not close them, so it keeps references."""


def before_fork() -> None:
    """Wait until no thread is inside a transaction.

    Otherwise the child would inherit a connection that records locks.
    """
    for database in list(alive):
        database.lock.acquire(timeout=FORK_PATIENCE)


def in_parent() -> None:
    for database in list(alive):
        with suppress(RuntimeError):
            database.lock.release()


def in_child() -> None:
    for database in list(alive):
        database.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before_fork, after_in_parent=in_parent, after_in_child=in_child)
