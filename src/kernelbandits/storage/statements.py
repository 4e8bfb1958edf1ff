"""The tables of a study and the statements on them, in the dialect of each database.

study       one row: version of these tables, number and fingerprint of the candidates, a copy of
            the body of the first event
head        number and checksum of the last event; in PostgreSQL a writer locks this row
events      what happened, one row for each event, only ever added to
candidates  the table of candidates: the names of its columns, then its cells by column
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

VERSION = 1
"""The version of the tables: raised when their form changes. No other version is read."""
TABLES = ("candidates", "events", "head", "study")

Row = tuple[Any, ...]


class Connection(Protocol):
    """What the connections of both drivers have."""

    def cursor(self) -> Any: ...

    def close(self) -> None: ...


def send(connection: Connection, text: str, *values: Sequence[Any]) -> Any:
    """Execute a statement with its values, or once for each of several; return the cursor."""
    cursor = connection.cursor()
    if len(values) > 1:
        cursor.executemany(text, values)
    elif values:
        cursor.execute(text, values[0])
    else:
        cursor.execute(text)
    return cursor


def fetch(connection: Connection, text: str, *values: Any) -> list[Row]:
    """Return the rows of a selection."""
    return list(send(connection, text, *([values] if values else [])).fetchall())


def fetch_one(connection: Connection, text: str, *values: Any) -> Any:
    """Return the first value of the first row of a selection, or None."""
    rows = fetch(connection, text, *values)
    return rows[0][0] if rows else None


@dataclass(frozen=True)
class Dialect:
    """What one database writes in its own way, and the statements that follow from it."""

    sign: str
    """Stands for a value."""
    integer: str
    real: str
    text: str
    """Names of types."""
    now: str
    """The time of the database, in seconds since 1970."""
    begin: str
    tables: str
    """Selects the names of all tables."""
    foreign: str
    """Selects kind and name of what could change what a study writes, and is not of a study."""
    schema: str = ""
    """What stands before the name of a table."""
    table_end: str = ""
    """What stands after the columns of a table."""
    row_lock: str = ""
    """What locks the row that is selected; "" where `begin` locks everything."""
    mark: str = ""
    """Marks the database as a study, after its tables were created."""

    @cached_property
    def lock(self) -> str:
        """Locks the head, or "". What is read after it is the newest state."""
        return f"SELECT id FROM {self.schema}head {self.row_lock}" if self.row_lock else ""

    @cached_property
    def head(self) -> str:
        """Number and checksum of the head, checksum of its event, version of the tables, time."""
        return f"""SELECT h.seq, h."check", e."check", s.version, {self.now}
            FROM {self.schema}head h LEFT JOIN {self.schema}events e ON e.seq = h.seq
            LEFT JOIN {self.schema}study s ON s.id = h.id"""

    @cached_property
    def end(self) -> str:
        """Number and checksum of the head alone."""
        return f'SELECT seq, "check" FROM {self.schema}head'

    @cached_property
    def events(self) -> str:
        """Events from one number to another, in order."""
        return f"""SELECT seq, kind, trial, "row", value, "key", worker, "at", body, before, "check"
            FROM {self.schema}events WHERE seq >= {self.sign} AND seq <= {self.sign} ORDER BY seq"""

    @cached_property
    def written(self) -> str:
        """Events from one number to another, in order, each with number and checksum of the head.

        It is the events and the head in one statement: a writer reads both after each write.
        """
        return f"""SELECT e.seq, kind, trial, "row", value, "key", worker, "at", body, before,
            e."check", h.seq, h."check" FROM {self.schema}events e CROSS JOIN {self.schema}head h
            WHERE e.seq >= {self.sign} AND e.seq <= {self.sign} ORDER BY e.seq"""

    @cached_property
    def table_events(self) -> str:
        """Number, kind, time and body of the events that decide how many rows a study has."""
        return f"""SELECT seq, kind, "at", body FROM {self.schema}events
            WHERE kind IN ('created', 'added', 'undone') ORDER BY seq"""

    @cached_property
    def move_head(self) -> str:
        """New number and checksum, if the head is still where the writer read it."""
        return f"""UPDATE {self.schema}head SET seq = {self.sign}, "check" = {self.sign}
            WHERE seq = {self.sign}"""

    @cached_property
    def time(self) -> str:
        return f"SELECT {self.now}"

    @cached_property
    def version(self) -> str:
        return f"SELECT version FROM {self.schema}study"

    @cached_property
    def study(self) -> str:
        return f'SELECT id, version, rows, fingerprint, created, "check" FROM {self.schema}study'

    @cached_property
    def candidates(self) -> str:
        return f"SELECT id, cells FROM {self.schema}candidates ORDER BY id"

    def insert(self, table: str, columns: int) -> str:
        """Return the statement that adds a row to a table of so many columns."""
        signs = ", ".join([self.sign] * columns)
        return f"INSERT INTO {self.schema}{table} VALUES ({signs})"

    @property
    def create(self) -> tuple[str, ...]:
        """Statements that create all tables, one after the other."""
        integer, real, text = self.integer, self.real, self.text
        tables = {
            "head": f'id {integer} PRIMARY KEY, seq {integer} NOT NULL, "check" {text} NOT NULL',
            "events": f"""seq {integer} PRIMARY KEY, kind {text} NOT NULL, trial {integer},
                "row" {integer}, value {real}, "key" {text}, worker {text}, "at" {real} NOT NULL,
                body {text} NOT NULL, before {text} NOT NULL, "check" {text} NOT NULL""",
            "study": f"""id {integer} PRIMARY KEY, version {integer} NOT NULL,
                rows {integer} NOT NULL, fingerprint {text} NOT NULL, created {text} NOT NULL,
                "check" {text} NOT NULL""",
            "candidates": f"id {integer} PRIMARY KEY, cells {text} NOT NULL",
        }
        created = [
            f"CREATE TABLE {self.schema}{name} ({columns}){self.table_end}"
            for name, columns in tables.items()
        ]
        return (*created, self.mark) if self.mark else tuple(created)
