"""PostgreSQL: each study is a schema, and the row of the table `head` is the write lock."""

from __future__ import annotations

import logging
import re
import time
import warnings
from typing import Any

from kernelbandits.checks import DataNotice
from kernelbandits.runtime import require
from kernelbandits.storage import statements
from kernelbandits.storage.backend import Backend
from kernelbandits.storage.errors import NoStudy, StorageBusy, StorageError, StorageReadOnly
from kernelbandits.storage.places import NAME, ServerPlace
from kernelbandits.storage.statements import (
    NAMES,
    Connection,
    fetch,
    postgres_statements,
)

CONNECT_SECONDS = 10
TIMEOUTS = {
    "lock_timeout": 60,
    "statement_timeout": 120,
    "idle_in_transaction_session_timeout": 120,
}
"""In seconds. The server disconnects a client that hangs in a transaction and frees its lock."""
KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}

PASSING = ("40001", "40P01", "53300", "57P01", "57P02", "57P03", "57P05", "25P03", "08")
"""Serialization failure, deadlock, too many connections, server stopping or starting, idle for too
long, connection lost."""
HELD = "55P03"
BUSY = (HELD, "57014")
FORBIDDEN = ("25006", "42501")
FULL = "53100"
DAMAGE = ("42P01", "42703", "XX", "23", "3F000")
CROWDED = re.compile(
    "too many|connection slots|starting up|shutting down|recovery mode", re.IGNORECASE
)
REFUSED = re.compile("FATAL|invalid|not known|does not exist|certificate|SSL|password")
"""Errors while connecting have no code, so they are recognised by their text. A crowded server may
answer later; one that refuses the address will refuse it again. Others do not answer."""
LONG_WAIT = 1.0
"""Seconds after which a notice says that the server does not answer."""
MOST_NAMED = 10
STUDIES = """SELECT table_schema FROM information_schema.tables WHERE table_name = ANY(%s)
    GROUP BY table_schema HAVING count(*) = %s ORDER BY table_schema"""


class PostgresBackend(Backend):
    def __init__(self, place: ServerPlace, mode: str) -> None:
        self.place, self.mode, self.name = place, mode, str(place)
        self.statements = postgres_statements(place.study)
        require("psycopg", extra="postgres", owner="a study in PostgreSQL")
        import psycopg

        self._psycopg = psycopg
        self.errors = (psycopg.Error,)
        self._waiting: float | None = None
        # The driver reports a lost connection twice: as an error, which is handled, and as a line
        # of its logger, which Python would print on standard error if nobody asked for it.
        logging.getLogger("psycopg").addHandler(logging.NullHandler())

    def connect(self) -> Connection:
        settings = {
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "kernelbandits",
        }
        given: dict[str, Any] = settings | KEEPALIVE | self.place.url.parameters
        try:
            connection: Connection = self._psycopg.connect(
                **given, autocommit=True, prepare_threshold=None
            )
        except self.errors as error:
            self.notice_waiting(error)
            raise
        self._waiting = None
        for name, seconds in (TIMEOUTS | {"lock_timeout": self.busy_seconds}).items():
            statements.send(connection, f"SET {name} = '{1000 * seconds:.0f}ms'")
        statements.send(connection, "SET synchronous_commit = on")
        if self.mode == "read":
            statements.send(connection, "SET default_transaction_read_only = on")
        return connection

    def notice_waiting(self, error: Exception) -> None:
        """Say once that the server does not answer, if it has not answered for a second."""
        if not self.is_temporary(error):
            return
        if self._waiting is None:
            self._waiting = time.monotonic()
        elif 0 < self._waiting < time.monotonic() - LONG_WAIT:
            self._waiting = 0.0
            warnings.warn(
                f"{self.name} does not answer ({self.describe_error(error)}); trying again",
                DataNotice,
                stacklevel=2,
            )

    def is_usable(self, connection: Connection) -> bool:
        known: Any = connection
        return not known.closed

    def lock_schema(self, connection: Connection) -> None:
        key = f"kernelbandits {self.place.study}"
        fetch(connection, "SELECT pg_advisory_xact_lock(hashtext(%s))", key)

    def create_schema(self, connection: Connection) -> None:
        if not self.has_schema(connection, self.place.study):
            statements.send(connection, f'CREATE SCHEMA "{self.place.study}"')

    def has_schema(self, connection: Connection, name: str) -> bool:
        return bool(fetch(connection, "SELECT 1 FROM pg_namespace WHERE nspname = %s", name))

    def write_mark(self, connection: Connection, version: int) -> None:
        """Do nothing: the version is in the table `study`."""

    def version(self, connection: Connection) -> int:
        if not set(self.tables(connection)) & set(NAMES):
            raise NoStudy(f"there is no study {self.name}{list_studies(self.studies(connection))}")
        return self.stored_version(connection)

    def studies(self, connection: Connection) -> list[str]:
        """Return the schemas that are studies, ordered by name."""
        found = [name for (name,) in fetch(connection, STUDIES, list(NAMES), len(NAMES))]
        return [name for name in found if NAME.fullmatch(name)]

    def clean_up(self, connection: Connection) -> None:
        """Do nothing: a server needs no cleaning up."""

    @property
    def busy_seconds(self) -> float:
        return TIMEOUTS["lock_timeout"] if self.patience is None else self.patience

    def is_held(self, error: Exception) -> bool:
        return sqlstate(error) == HELD

    def is_temporary(self, error: Exception) -> bool:
        state = sqlstate(error)
        if state:
            return state.startswith(PASSING)
        lost = isinstance(error, (self._psycopg.OperationalError, self._psycopg.InterfaceError))
        said = str(error)
        return lost and bool(CROWDED.search(said) or not REFUSED.search(said))

    def translate_error(self, error: Exception) -> StorageError:
        state, said = sqlstate(error), self.describe_error(error)
        if self.is_temporary(error) or state.startswith(BUSY):
            return StorageBusy(f"{self.name} does not answer, or is held by others: {said}")
        if state == FULL:
            return self.full_error()
        if state.startswith(FORBIDDEN):
            return StorageReadOnly(f"{self.name} does not allow this: {said}")
        if state.startswith(DAMAGE):
            return self.damage_error(f"PostgreSQL says {said!r}")
        return StorageError(f"{self.name} cannot be used: {said}")

    def describe_error(self, error: Exception) -> str:
        """Return the first line of the message of the server or the driver, without passwords."""
        diagnosis = getattr(getattr(error, "diag", None), "message_primary", None)
        text = str(diagnosis or str(error) or type(error).__name__)
        address, understood = self.place.url, self._psycopg.pq.Conninfo.get_defaults()
        names = set(address.query) - {option.keyword.decode() for option in understood}
        for secret in [*address.secrets, *names]:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
        return text.strip().splitlines()[0]


def list_studies(studies: list[str]) -> str:
    """Return the names of the existing studies, for the end of a sentence."""
    more = len(studies) - MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return f"; there are: {', '.join(studies[:MOST_NAMED])}{rest}" if studies else ""


def sqlstate(error: Exception) -> str:
    return getattr(error, "sqlstate", None) or ""
