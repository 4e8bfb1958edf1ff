"""A session keeps one connection for each process, runs transactions and retries them."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from kernelbandits.storage import driver
from kernelbandits.storage.engines import Engine

T = TypeVar("T")
Work = Callable[[sa.Connection], T]

FORK_PATIENCE = 10.0

alive: weakref.WeakSet[Session]
abandoned: list[sa.Connection] = []
"""Connections of the parent process. A child must not close them, so it keeps references."""


class Session:
    """Runs work on a connection, one thread at a time.

    After a fork the child opens a connection of its own.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.lock = threading.RLock()
        self._connection: sa.Connection | None = None
        alive.add(self)

    def read(self, work: Work[T]) -> T:
        return self._retry(work)

    def write(self, work: Work[T]) -> T:
        """Run the work in one transaction; if it raises, nothing is written."""
        return self._retry(lambda connection: self._transaction(connection, work))

    def close(self) -> None:
        with self.lock:
            if self._connection is not None:
                with suppress(*self.engine.errors):
                    self.engine.clean_up(self._connection)
            self._drop()

    def forget(self) -> None:
        """Forget the connection, in a child process: it belongs to the parent."""
        if self._connection is not None:
            abandoned.append(self._connection)
        self._connection = None
        self.lock = threading.RLock()

    def _transaction(self, connection: sa.Connection, work: Work[T]) -> T:
        driver.send(connection, self.engine.begin)
        try:
            result = work(connection)
            driver.send(connection, "COMMIT")
        except Exception:
            self._roll_back(connection)
            raise
        return result

    def _roll_back(self, connection: sa.Connection) -> None:
        try:
            connection.exec_driver_sql("ROLLBACK")
        except self.engine.errors:
            self._drop()

    def _retry(self, work: Work[T]) -> T:
        pauses = self.engine.pauses()
        while True:
            try:
                with self.lock:
                    return self._run_once(work)
            except self.engine.errors as error:
                problem = self._handle_error(error)
                pause = next(pauses, None) if self.engine.is_temporary(error) else None
            if pause is None:
                raise problem from None
            time.sleep(pause)

    def _run_once(self, work: Work[T]) -> T:
        """Run the work once."""
        # An interrupt may leave the connection inside a transaction that holds a lock, so the
        # connection is given up.
        try:
            return work(self._open())
        except Exception:
            raise
        except BaseException:
            self._drop()
            raise

    def _handle_error(self, error: Exception) -> Exception:
        if not self.engine.is_locked(error):
            with self.lock:
                self._drop()
        return self.engine.translate_error(error)

    def _open(self) -> sa.Connection:
        if self._connection is not None and self._connection.invalidated:
            self._drop()
        if self._connection is None:
            self._connection = self.engine.connect()
        return self._connection

    def _drop(self) -> None:
        """Close the connection without sending anything more."""
        # It is forgotten only after it is closed, so that an interrupted close is repeated.
        if self._connection is not None:
            with suppress(*self.engine.errors):
                self._connection.invalidate()
                self._connection.close()
        self._connection = None


alive = weakref.WeakSet()


@contextmanager
def without_connections(path: Path) -> Iterator[None]:
    """Close all connections of this process to a file, for code that reads the file itself.

    Closing any handle of a file frees all POSIX locks that this process has on it, also SQLite's.
    """
    with ExitStack() as held:
        for session in [session for session in list(alive) if session.engine.uses_file(path)]:
            held.enter_context(session.lock)
            session.close()
        yield


def before_fork() -> None:
    """Wait until no thread is inside a transaction.

    Otherwise the child would inherit a connection that records locks.
    """
    for session in list(alive):
        session.lock.acquire(timeout=FORK_PATIENCE)


def in_parent() -> None:
    for session in list(alive):
        with suppress(RuntimeError):
            session.lock.release()


def in_child() -> None:
    for session in list(alive):
        session.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before_fork, after_in_parent=in_parent, after_in_child=in_child)
