"""A session keeps one connection for each process, and gives out transactions, with retries."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import inf
from types import TracebackType
from typing import NamedTuple, TypeVar

from kernelbandits.storage import statements
from kernelbandits.storage.backend import Backend
from kernelbandits.storage.statements import Connection

T = TypeVar("T")

FORK_PATIENCE = 10.0
SAME_HOLD = 1.0
"""Seconds after which a study that was held by others, and is again, is held by somebody else."""
NOT_HELD = (-inf, -inf)

alive: weakref.WeakSet[Session]
abandoned: list[Connection] = []
"""Connections of the parent process. A child must not close them, so it keeps references."""


class Wait(NamedTuple):
    """The attempts of one call: when the wait for others began, and the pauses between attempts."""

    since: float
    pauses: Iterator[float]


class Session:
    """Gives out transactions on a connection, to one thread at a time.

    After a fork the child opens a connection of its own.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.lock = threading.RLock()
        self._connection: Connection | None = None
        self._held = NOT_HELD
        """Since when attempts found the study held by others, and the time of the last one."""
        alive.add(self)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return the answer of some selections; they are sent again if the connection is lost."""
        wait = self._begin_wait()
        while True:
            with self.lock:
                try:
                    return work(self._open())
                except self.backend.errors as error:
                    pause = self._pause_after(error, wait)
                except Exception:
                    raise
                except BaseException:
                    self._drop()
                    raise
            time.sleep(pause)

    def transactions(self, *, of_events: bool = False) -> Iterator[Transaction]:
        """Yield transactions that write, until one of them is committed or its body raises.

        Use it as `for transaction in session.transactions(): with transaction: ...`. The body runs
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

    def _begin_wait(self) -> Wait:
        """Wait for others who hold the study from now, or from an earlier call that waited in vain.

        Threads wait one after the other. If each of them waited for the whole time, the last one
        would wait for many times as long.
        """
        now, (since, last) = time.monotonic(), self._held
        began = since if now - last < SAME_HOLD else now
        return Wait(began, self.backend.pauses(began))

    def close(self) -> None:
        with self.lock:
            try:
                if self._connection is not None:
                    with suppress(*self.backend.errors):
                        self.backend.clean_up(self._connection)
            finally:
                self._drop()

    def forget(self) -> None:
        """Forget the connection, in a child process: it belongs to the parent."""
        if self._connection is not None:
            abandoned.append(self._connection)
        self._connection = None
        self.lock = threading.RLock()

    def _pause_after(self, error: Exception, wait: Wait) -> float:
        """Return the seconds to wait before another attempt; raise if there is to be none."""
        if self.backend.is_held(error):
            self._held = wait.since, time.monotonic()
        if not self.backend.is_locked(error):
            self._drop()
        pause = next(wait.pauses, None) if self.backend.is_temporary(error) else None
        if pause is None:
            raise self.backend.translate_error(error) from None
        return pause

    def _open(self) -> Connection:
        if self._connection is not None and not self.backend.is_usable(self._connection):
            self._drop()
        if self._connection is None:
            self._connection = self.backend.connect()
        return self._connection

    def _drop(self) -> None:
        """Close the connection without sending anything more."""
        # It is forgotten only after it is closed, so that an interrupted close is repeated.
        if self._connection is not None:
            with suppress(*self.backend.errors):
                self._connection.close()
        self._connection = None


class Transaction:
    """One transaction: everything written in the body of its `with` is stored, or nothing."""

    connection: Connection

    def __init__(self, session: Session, wait: Wait, of_events: bool) -> None:
        self._session, self._wait, self._of_events = session, wait, of_events
        self.pause: float | None = None
        """Seconds to wait before the body is to run again; None if it is done."""

    def __enter__(self) -> Transaction:
        """Begin. Temporary errors are retried here, because the body cannot be left out."""
        session = self._session
        session.lock.acquire()
        try:
            while True:
                try:
                    self._begin()
                    session._held = NOT_HELD
                    return self
                except session.backend.errors as error:
                    pause = session._pause_after(error, self._wait)
                # Other threads of this process may go first.
                session.lock.release()
                try:
                    time.sleep(pause)
                finally:
                    session.lock.acquire()
        except BaseException as error:
            if not isinstance(error, Exception):
                session._drop()
            session.lock.release()
            raise

    def _begin(self) -> None:
        self.connection = self._session._open()
        texts = self._session.backend.statements
        statements.send(self.connection, texts.begin)
        if texts.lock and self._of_events:
            # This must be a statement of its own. A statement that waits for the lock and also
            # reads the events sees them as they were before the wait.
            waited = time.monotonic() - self._wait.since
            patient = waited < self._session.backend.busy_seconds
            try:
                statements.fetch(self.connection, texts.lock + ("" if patient else " NOWAIT"))
            except self._session.backend.errors:
                self._roll_back()
                raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        session = self._session
        try:
            if error is None:
                error = self._commit()
            elif isinstance(error, Exception):
                self._roll_back()
            else:
                # An interrupt may leave the connection inside a transaction that holds a lock, so
                # the connection is given up.
                session._drop()
            if isinstance(error, session.backend.errors):
                self.pause = session._pause_after(error, self._wait)
                return True
            return False
        finally:
            session.lock.release()

    def _commit(self) -> Exception | None:
        """Commit; return an error of the driver, if there was one."""
        try:
            statements.send(self.connection, "COMMIT")
        except self._session.backend.errors as error:
            self._roll_back()
            return error
        except BaseException:
            self._session._drop()
            raise
        return None

    def _roll_back(self) -> None:
        try:
            statements.send(self.connection, "ROLLBACK")
        except self._session.backend.errors:
            self._session._drop()
        except BaseException:
            self._session._drop()
            raise


alive = weakref.WeakSet()


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
