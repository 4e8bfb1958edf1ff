"""PostgreSQL: each study is a schema, and the row of the table `head` is the write lock."""

from __future__ import annotations

import re
from functools import cached_property

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from kernelbandits.runtime import require
from kernelbandits.storage.driver import fetch
from kernelbandits.storage.engines.base import Engine
from kernelbandits.storage.errors import NoStudy, StorageBusy, StorageError, StorageReadOnly
from kernelbandits.storage.places import NAME, ServerPlace
from kernelbandits.storage.tables import NAMES, Tables

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
BUSY = ("55P03", "57014")
FORBIDDEN = ("25006", "42501")
FULL = "53100"
DAMAGE = ("42P01", "42703", "XX", "23", "3F000")
CROWDED = re.compile(
    "too many|connection slots|starting up|shutting down|recovery mode", re.IGNORECASE
)
"""Errors while connecting have no code, so they are recognised by their text."""
MOST_NAMED = 10
STUDIES = sa.text(
    "SELECT table_schema FROM information_schema.tables WHERE table_name IN :names "
    "GROUP BY table_schema HAVING count(*) = :all ORDER BY table_schema"
).bindparams(sa.bindparam("names", sorted(NAMES), expanding=True), all=len(NAMES))


class PostgresEngine(Engine):
    begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
    clock = "round(extract(epoch from clock_timestamp()), 3)::float8"

    def __init__(self, place: ServerPlace, mode: str) -> None:
        self.place, self.mode, self.name = place, mode, str(place)
        self.reached = False
        require("psycopg", extra="postgres", owner="a study in PostgreSQL")

    @cached_property
    def tables(self) -> Tables:
        return Tables(self.place.study)

    @cached_property
    def core(self) -> sa.Engine:
        settings = {
            "connect_timeout": CONNECT_SECONDS,
            "prepare_threshold": None,
            "application_name": "kernelbandits",
        }
        given = {
            name: value
            for name, value in (settings | KEEPALIVE).items()
            if name not in self.place.url.query
        }
        return sa.create_engine(
            self.place.url, connect_args=given, poolclass=NullPool, isolation_level="AUTOCOMMIT"
        )

    def connect(self) -> sa.Connection:
        connection = self.core.connect()
        connection.exec_driver_sql(
            "; ".join(f"SET {name} = '{seconds}s'" for name, seconds in TIMEOUTS.items())
        )
        connection.exec_driver_sql("SET synchronous_commit = on")
        if self.mode == "read":
            connection.exec_driver_sql("SET default_transaction_read_only = on")
        self.reached = True
        return connection

    def lock_schema(self, connection: sa.Connection) -> None:
        key = sa.func.hashtext(f"kernelbandits {self.place.study}")
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(key)))

    def create_schema(self, connection: sa.Connection) -> None:
        if not sa.inspect(connection).has_schema(self.place.study):
            connection.execute(sa.schema.CreateSchema(self.place.study))

    def write_mark(self, connection: sa.Connection, version: int) -> None:
        """Nothing to do: the version is in the table `study`."""

    def version(self, connection: sa.Connection) -> int:
        names = set(sa.inspect(connection).get_table_names(schema=self.place.study))
        if not names & NAMES:
            raise NoStudy(f"there is no study {self.name}{list_studies(self.studies(connection))}")
        return self.stored_version(connection)

    def studies(self, connection: sa.Connection) -> list[str]:
        """The schemas that are studies, ordered by name, without backups of migrations."""
        found = connection.execute(STUDIES).scalars()
        return [
            name
            for name in found
            if NAME.fullmatch(name) and not re.search("_v[0-9]+_backup$", name)
        ]

    def copy_tables(self, connection: sa.Connection, version: int) -> str:
        """Copy the schema to another one, in the same transaction."""
        study, copy = self.place.study, f"{self.place.study[:46]}_v{version}_backup"
        inspector = sa.inspect(connection)
        if inspector.has_schema(copy):
            raise StorageError(
                f"{self.name} needs a backup before its tables are changed, "
                f"but the schema {copy} exists already"
            )
        connection.execute(sa.schema.CreateSchema(copy))
        for name in inspector.get_table_names(schema=study):
            connection.exec_driver_sql(
                f'CREATE TABLE "{copy}"."{name}" AS TABLE "{study}"."{name}"'
            )
        connection.exec_driver_sql(f'SET LOCAL search_path TO "{study}"')
        return copy

    def clean_up(self, connection: sa.Connection) -> None:
        """Nothing to do for a server."""

    def lock_head(self, connection: sa.Connection) -> None:
        # This must be a statement of its own. A statement that waits for the lock and also reads
        # the events sees them as they were before the wait.
        fetch(connection, self.tables.lock)

    def is_temporary(self, error: Exception) -> bool:
        state = sqlstate(error)
        if state:
            return state.startswith(PASSING)
        return is_operational(error) and (self.reached or bool(CROWDED.search(str(error))))

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
        """The first line of the message of the server or the driver, without the password."""
        found = cause(error)
        text = (
            getattr(getattr(found, "diag", None), "message_primary", None)
            or str(found)
            or type(found).__name__
        )
        password = self.place.url.password
        return (text.replace(str(password), "***") if password else text).strip().splitlines()[0]


def list_studies(studies: list[str]) -> str:
    """The names of the existing studies, for the end of a sentence."""
    more = len(studies) - MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return f"; there are: {', '.join(studies[:MOST_NAMED])}{rest}" if studies else ""


def sqlstate(error: Exception) -> str:
    return getattr(cause(error), "sqlstate", None) or ""


def cause(error: Exception) -> BaseException:
    """The error that the driver raised."""
    return getattr(error, "orig", None) or error


def is_operational(error: Exception) -> bool:
    """Whether the connection was lost, refused or timed out."""
    return type(error).__name__ in ("OperationalError", "InterfaceError", "PendingRollbackError")
