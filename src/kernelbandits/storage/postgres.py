"""PostgreSQL: each study is a schema, and the row of the table `head` is the write lock."""

from __future__ import annotations

import logging
import re
import time
import warnings
from collections.abc import Sequence
from typing import Any

from kernelbandits.checks import DataNotice, StorageError, StorageReadOnly
from kernelbandits.runtime import require
from kernelbandits.storage import statements
from kernelbandits.storage.database import Check, Database, NoStudy, StorageBusy
from kernelbandits.storage.places import NAME, ServerPlace
from kernelbandits.storage.statements import TABLES, Connection, Dialect, fetch, fetch_one

CONNECTING = {
    "connect_timeout": 10,
    "application_name": "kernelbandits",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""Settings of a connection, unless the address has others."""
TIMEOUTS = {"statement_timeout": 120, "idle_in_transaction_session_timeout": 120}
"""In seconds. The server disconnects a client that hangs in a transaction and frees its lock."""

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


def dialect_of(schema: str) -> Dialect:
    """Return the dialect of PostgreSQL for the tables of one schema."""
    return Dialect(
        sign="%s",
        integer="bigint",
        real="double precision",
        text="text",
        now="round(extract(epoch from clock_timestamp()), 3)::float8",
        begin="BEGIN ISOLATION LEVEL READ COMMITTED",
        tables=f"""SELECT table_name FROM information_schema.tables
            WHERE table_schema = '{schema}' ORDER BY 1""",
        # Views and further tables of a schema change nothing in those of the study.
        foreign=f"""WITH own AS (SELECT oid, relname, relkind FROM pg_class
            WHERE relnamespace = '"{schema}"'::regnamespace AND relname IN {TABLES})
            SELECT 'trigger', tgname FROM pg_trigger JOIN own ON own.oid = tgrelid
            WHERE NOT tgisinternal
            UNION ALL SELECT 'rule', rulename FROM pg_rewrite JOIN own ON own.oid = ev_class
            UNION ALL SELECT 'view', relname FROM own WHERE relkind <> 'r'""",
        schema=f'"{schema}".',
        row_lock="FOR UPDATE",
    )


class PostgresDatabase(Database):
    def __init__(self, place: ServerPlace, mode: str, patience: float | None = None) -> None:
        super().__init__(str(place), dialect_of(place.study), mode, patience)
        self.place = place
        require("psycopg", extra="postgres", owner="a study in PostgreSQL")
        import psycopg

        self._psycopg = psycopg
        self.errors = (psycopg.Error,)
        self._waiting: float | None = None
        # The driver reports a lost connection twice: as an error, which is handled, and as a line
        # of its logger, which Python would print on standard error if nobody asked for it.
        logging.getLogger("psycopg").addHandler(logging.NullHandler())

    def connect(self) -> Connection:
        given: dict[str, Any] = CONNECTING | self.place.parameters
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
        if self.reads_only:
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
        opened: Any = connection
        return not opened.closed

    def require_study(self, connection: Connection) -> None:
        if set(self.tables(connection)) & set(TABLES):
            return
        names = self.studies(connection)
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        others = f"; there are: {', '.join(names[:MOST_NAMED])}{more}" if names else ""
        raise NoStudy(f"there is no study {self.name}{others}")

    def studies(self, connection: Connection) -> list[str]:
        """Return the schemas that are studies, ordered by name."""
        rows = fetch(connection, STUDIES, list(TABLES), len(TABLES))
        return [name for (name,) in rows if NAME.fullmatch(name)]

    def begin_creation(self, connection: Connection) -> None:
        schema = self.place.study
        key = f"kernelbandits {schema}"
        fetch(connection, "SELECT pg_advisory_xact_lock(hashtext(%s))", key)
        # IF NOT EXISTS would need the right to create schemas, also where there is one already.
        if not fetch(connection, "SELECT 1 FROM pg_namespace WHERE nspname = %s", schema):
            statements.send(connection, f'CREATE SCHEMA "{schema}"')

    def is_held(self, error: Exception) -> bool:
        return sqlstate(error) == HELD

    def is_temporary(self, error: Exception) -> bool:
        state = sqlstate(error)
        if state:
            return state.startswith(PASSING)
        lost = isinstance(error, (self._psycopg.OperationalError, self._psycopg.InterfaceError))
        text = str(error)
        return lost and bool(CROWDED.search(text) or not REFUSED.search(text))

    def translate_error(self, error: Exception) -> StorageError:
        state, text = sqlstate(error), self.describe_error(error)
        if self.is_temporary(error) or state.startswith(BUSY):
            return StorageBusy(f"{self.name} does not answer, or is held by others: {text}")
        if state == FULL:
            return self.full_error()
        if state.startswith(FORBIDDEN):
            return StorageReadOnly(f"{self.name} does not allow this: {text}")
        if state.startswith(DAMAGE):
            return self.damage_error(f"PostgreSQL says {text!r}")
        return StorageError(f"{self.name} cannot be used: {text}")

    def describe_error(self, error: Exception) -> str:
        """Return the first line of the message of the server or the driver, without passwords."""
        diagnosis = getattr(getattr(error, "diag", None), "message_primary", None)
        text = str(diagnosis or str(error) or type(error).__name__)
        understood = self._psycopg.pq.Conninfo.get_defaults()
        names = set(self.place.options) - {option.keyword.decode() for option in understood}
        for secret in [*self.place.secrets, *names]:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
        return text.strip().splitlines()[0]

    def health_checks(self) -> Sequence[Check]:
        return (("server", check_server),)


def sqlstate(error: Exception) -> str:
    return getattr(error, "sqlstate", None) or ""


def check_server(connection: Connection) -> tuple[bool, str]:
    commits = fetch_one(connection, "SHOW synchronous_commit")
    safe = commits != "off" and fetch_one(connection, "SHOW fsync") == "on"
    state = "each commit is on its disk"
    if not safe:
        state = "set not to wait for its disk: a power cut may lose results"
    return safe, f"PostgreSQL {fetch_one(connection, 'SHOW server_version')}, {state}"
