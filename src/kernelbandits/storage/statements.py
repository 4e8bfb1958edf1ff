"""The tables of a study and the statements on them, once for each dialect.

study       one row: version of these tables, header and checksum of the candidates, first event
head        number and checksum of the last event; in PostgreSQL a writer locks this row
events      what happened, one row for each event, only ever added to
candidates  the table of candidates by column, one JSON list for each segment and column
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kernelbandits.outputs import STUDY_MARK

VERSION = 1
"""The version of the tables: raised when their form changes. No other version is read."""
MARK = STUDY_MARK
"""The application_id of our SQLite files."""
NAMES = ("candidates", "events", "head", "study")

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
class Statements:
    """The statements of one dialect."""

    begin: str
    lock: str
    """Locks the head; "" where `begin` does. What is read after it is the newest state."""
    head: str
    """Number and checksum of the head, checksum of its event, version of the tables, time."""
    later: str
    """Events above one number, up to another, in order."""
    add_event: str
    move_head: str
    """New number and checksum, if the head is still where the writer read it."""
    time: str
    created: str
    """The time of the first event."""
    additions: str
    """Number, kind and body of the events that added rows, and of those that undid any event."""
    version: str
    study: str
    candidates: str
    add_study: str
    add_head: str
    add_candidates: str
    create: tuple[str, ...]
    """Creates all tables, one after the other."""
    tables: str
    """The names of all tables."""
    foreign: str
    """Kind and name of what could change what a study writes, and is not of a study."""


SQLITE_TIME = "round((julianday('now') - 2440587.5) * 86400.0, 3)"

SQLITE = Statements(
    begin="BEGIN IMMEDIATE",
    lock="",
    head=f"""SELECT head.seq, head."check", events."check", study.version, {SQLITE_TIME}
        FROM head LEFT JOIN events ON events.seq = head.seq LEFT JOIN study ON study.id = head.id
    """,
    later="SELECT * FROM events WHERE seq > ? AND seq <= ? ORDER BY seq",
    add_event="INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    move_head='UPDATE head SET seq = ?, "check" = ? WHERE seq = ?',
    time=f"SELECT {SQLITE_TIME}",
    created='SELECT "at" FROM events WHERE seq = 1',
    additions="SELECT seq, kind, body FROM events WHERE kind IN ('added', 'undone')",
    version="SELECT version FROM study",
    study="SELECT * FROM study",
    candidates="SELECT * FROM candidates ORDER BY 1",
    add_study="INSERT INTO study VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    add_head="INSERT INTO head VALUES (1, ?, ?)",
    add_candidates="INSERT INTO candidates VALUES (?, ?, ?, ?, ?)",
    create=(
        """CREATE TABLE head (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL,
            "check" TEXT NOT NULL) STRICT""",
        """CREATE TABLE events (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, trial INTEGER,
            "row" INTEGER, value REAL, "key" TEXT, worker TEXT, "at" REAL NOT NULL,
            body TEXT NOT NULL, before TEXT NOT NULL, "check" TEXT NOT NULL) STRICT""",
        """CREATE TABLE study (id INTEGER PRIMARY KEY, version INTEGER NOT NULL,
            rows INTEGER NOT NULL, columns TEXT NOT NULL, fingerprint TEXT NOT NULL,
            header TEXT NOT NULL, release TEXT NOT NULL, "check" TEXT NOT NULL) STRICT""",
        """CREATE TABLE candidates (id INTEGER PRIMARY KEY, segment INTEGER NOT NULL,
            "column" INTEGER NOT NULL, cells TEXT NOT NULL, "check" TEXT NOT NULL) STRICT""",
    ),
    tables="SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1",
    # SQLite itself makes tables and indexes whose names begin with sqlite_, and nobody else can.
    foreign=f"""SELECT type, name FROM sqlite_schema
        WHERE NOT (type = 'table' AND name IN {NAMES})
        AND NOT (type IN ('table', 'index') AND substr(name, 1, 7) = 'sqlite_')""",
)

POSTGRES_TIME = "round(extract(epoch from clock_timestamp()), 3)::float8"


def postgres_statements(schema: str) -> Statements:
    """Return the statements on the tables of one schema."""
    s = f'"{schema}".'
    return Statements(
        begin="BEGIN ISOLATION LEVEL READ COMMITTED",
        lock=f"SELECT id FROM {s}head FOR UPDATE",
        head=f"""SELECT h.seq, h."check", e."check", s.version, {POSTGRES_TIME}
            FROM {s}head h LEFT JOIN {s}events e ON e.seq = h.seq
            LEFT JOIN {s}study s ON s.id = h.id""",
        later=f"SELECT * FROM {s}events WHERE seq > %s AND seq <= %s ORDER BY seq",
        add_event=f"INSERT INTO {s}events VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        move_head=f'UPDATE {s}head SET seq = %s, "check" = %s WHERE seq = %s',
        time=f"SELECT {POSTGRES_TIME}",
        created=f'SELECT "at" FROM {s}events WHERE seq = 1',
        additions=f"SELECT seq, kind, body FROM {s}events WHERE kind IN ('added', 'undone')",
        version=f"SELECT version FROM {s}study",
        study=f"SELECT * FROM {s}study",
        candidates=f"SELECT * FROM {s}candidates ORDER BY 1",
        add_study=f"INSERT INTO {s}study VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        add_head=f"INSERT INTO {s}head VALUES (1, %s, %s)",
        add_candidates=f"INSERT INTO {s}candidates VALUES (%s, %s, %s, %s, %s)",
        create=(
            f"""CREATE TABLE {s}head (id bigint PRIMARY KEY, seq bigint NOT NULL,
                "check" text NOT NULL)""",
            f"""CREATE TABLE {s}events (seq bigint PRIMARY KEY, kind text NOT NULL, trial bigint,
                "row" bigint, value double precision, "key" text, worker text,
                "at" double precision NOT NULL, body text NOT NULL, before text NOT NULL,
                "check" text NOT NULL)""",
            f"""CREATE TABLE {s}study (id bigint PRIMARY KEY, version bigint NOT NULL,
                rows bigint NOT NULL, columns text NOT NULL, fingerprint text NOT NULL,
                header text NOT NULL, release text NOT NULL, "check" text NOT NULL)""",
            f"""CREATE TABLE {s}candidates (id bigint PRIMARY KEY, segment bigint NOT NULL,
                "column" bigint NOT NULL, cells text NOT NULL, "check" text NOT NULL)""",
        ),
        tables=f"""SELECT table_name FROM information_schema.tables
            WHERE table_schema = '{schema}' ORDER BY 1""",
        # Views and further tables of a schema change nothing in those of the study.
        foreign=f"""WITH own AS (SELECT oid, relname, relkind FROM pg_class
            WHERE relnamespace = '"{schema}"'::regnamespace AND relname IN {NAMES})
            SELECT 'trigger', tgname FROM pg_trigger JOIN own ON own.oid = tgrelid
            WHERE NOT tgisinternal
            UNION ALL SELECT 'rule', rulename FROM pg_rewrite JOIN own ON own.oid = ev_class
            UNION ALL SELECT 'view', relname FROM own WHERE relkind <> 'r'""",
    )
