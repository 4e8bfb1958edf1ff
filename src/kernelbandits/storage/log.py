"""The log of a study: events are appended, and nothing else is ever changed.

A study also has a table of candidates, which is written when it is created, and a header with the
fingerprint of that table, with which the chain of checksums begins.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple

from kernelbandits import checks
from kernelbandits.checks import StorageError, StorageReadOnly
from kernelbandits.codec import write_compact
from kernelbandits.storage import statements
from kernelbandits.storage.database import Database, NoStudy, StudyExists, Transaction
from kernelbandits.storage.event import (
    DIGITS,
    BrokenChain,
    Draft,
    Event,
    add_check,
    build_events,
    build_row,
    check_time,
    is_intact,
    is_storable,
    verify_chain,
    write_body,
)
from kernelbandits.storage.places import FilePlace, Place, find
from kernelbandits.storage.sqlite import SqliteDatabase
from kernelbandits.storage.statements import VERSION, Connection, Dialect, Row, fetch, fetch_one

Where = str | os.PathLike[str]
Column = Sequence[float] | Sequence[str]

SEGMENT_ROWS = 8192
"""The most cells that are stored as one text: a million in one JSON list would be slow to read."""
ESCAPED = re.compile(r"\\u(0000|d[89a-f])")
"""What the JSON of a text has, if the text may hold a NUL character or half a surrogate pair."""
PUT_BACK = "(was a backup put back? Then open the study again)"
"""What a process that knows later events is told."""


# The table of candidates


def split_columns(columns: Mapping[str, Column]) -> list[Row]:
    """Return a table of candidates as it is stored: number and JSON list of each part.

    The first part has the names of the columns. Then come the cells: for each segment of rows one
    part for each column. A study over a space has no columns, and so only the first part.
    """
    named = all(isinstance(name, str) and is_storable(name) for name in columns)
    checks.needs(named, "a study", "names of columns", tuple(columns))
    lengths = {len(cells) for cells in columns.values()} or {0}
    checks.needs(len(lengths) == 1, "a study", "columns of the same length", sorted(lengths))
    for name, cells in columns.items():
        check_cells(name, cells)
    texts = [write_compact(list(columns))]
    for start in range(0, lengths.pop(), SEGMENT_ROWS):
        for name, cells in columns.items():
            texts.append(write_cells(name, cells[start : start + SEGMENT_ROWS], start))
    return list(enumerate(texts))


def check_cells(name: str, cells: Column) -> None:
    if set(map(type, cells)) <= {str, float}:
        return
    for number, cell in enumerate(cells):
        if not isinstance(cell, (str, float)):
            checks.needs(False, f"row {number}", f"a number or text as {name!r}", cell)


def write_cells(name: str, cells: Column, start: int) -> str:
    """Return a part of a column as JSON; numbers are written so that the same numbers are read."""
    try:
        text = write_compact(list(cells))
    except ValueError:
        raise ValueError(f"column {name!r} needs finite numbers, got others") from None
    if ESCAPED.search(text):
        for number, cell in enumerate(cells, start):
            plain = not isinstance(cell, str) or is_storable(cell)
            checks.needs(plain, f"row {number}", f"plain text as {name!r}", cell)
    return text


def join_columns(parts: Sequence[Row]) -> dict[str, list[Any]]:
    """Return each column with all its cells, from parts whose fingerprint is right."""
    names = json.loads(parts[0][1])
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for number, text in parts[1:]:
        columns[names[(number - 1) % len(names)]] += json.loads(text)
    return columns


def count_rows(columns: Mapping[str, Column]) -> int:
    """Return the number of rows of a table; a study over a space has none."""
    return len(next(iter(columns.values()), ()))


def fingerprint_parts(parts: Sequence[Row]) -> str:
    """Return the fingerprint of a table: sha256 of names and cells in their order."""
    digest = sha256()
    for number, (_, text) in enumerate(parts):
        # Piece by piece: the table of a million candidates is 100 MB of text.
        digest.update((f"\n{text}" if number else str(text)).encode())
    return digest.hexdigest()


# The header


@dataclass(frozen=True)
class Header:
    """What the table `study` says of a study."""

    rows: int
    """The number of candidates."""
    fingerprint: str
    """That of the candidates; with its first digits the checksums of events begin."""
    created: str
    """A copy of the body of the first event, as JSON, in case that event is lost."""
    version: int = VERSION

    @classmethod
    def of(cls, created: str, columns: Mapping[str, Column], parts: Sequence[Row]) -> Header:
        """Return the header of a study with these candidates, as columns and as parts."""
        return cls(count_rows(columns), fingerprint_parts(parts), created)

    @classmethod
    def of_row(cls, row: Row) -> Header | None:
        """Return the header that a row of the table is; None if it is not intact."""
        _, version, rows, fingerprint, created, _ = row
        return cls(rows, fingerprint, created, version) if is_intact(row) else None

    @property
    def row(self) -> Row:
        """As it is stored."""
        return add_check((1, self.version, self.rows, self.fingerprint, self.created))


def read_header(connection: Connection, database: Database) -> Header:
    """Return the header of a study, which is refused if this release cannot read it."""
    database.require_study(connection)
    database.refuse_version(fetch_one(connection, database.dialect.version))
    # Triggers and the like would change what is written.
    for kind, name in fetch(connection, database.dialect.foreign):
        raise database.damage_error(f"it has the {kind} {name!r}, which no study has")
    headers = [Header.of_row(row) for row in fetch(connection, database.dialect.study)]
    if len(headers) != 1 or headers[0] is None:
        raise database.damage_error("its header is not the one that was written")
    return headers[0]


# Creation


def open_database(place: Place, mode: str, patience: float | None = None) -> Database:
    """Return the database at a place.

    `mode` is "read", "write", "create" or "salvage", and `patience` how many seconds to wait for
    others who hold the study.
    """
    if isinstance(place, FilePlace):
        return SqliteDatabase(place.path, mode, patience)
    from kernelbandits.storage.postgres import PostgresDatabase

    return PostgresDatabase(place, mode, patience)


def create_study(
    database: Database, first: Draft, columns: Mapping[str, Column], more: Sequence[Draft] = ()
) -> None:
    """Create a study in one transaction: it is complete or does not exist."""
    checks.needs(
        first.kind == "created", "a new study", 'a first event of kind "created"', first.kind
    )
    tabular = bool(columns) or "space" in first.body
    checks.needs(tabular, "a study", "names of columns, or a space", tuple(columns))
    parts = split_columns(columns)
    header = Header.of(write_body(first.body), columns, parts)
    for transaction in database.transactions():
        with transaction:
            connection = transaction.connection
            database.begin_creation(connection)
            refuse_existing(connection, database)
            now = fetch_one(connection, database.dialect.time)
            rows = [build_row(first, 1, now, header.fingerprint[:DIGITS])]
            for draft in more:
                rows.append(build_row(draft, len(rows) + 1, now, rows[-1][-1]))
            write_tables(connection, database.dialect, header, parts, rows)


def refuse_existing(connection: Connection, database: Database) -> None:
    try:
        database.require_study(connection)
    except NoStudy:
        if database.tables(connection):
            raise StorageError(
                f"{database.name} holds tables of another program; they were left as they are"
            ) from None
    else:
        raise StudyExists(f"there is a study at {database.name} already")


def write_tables(
    connection: Connection,
    dialect: Dialect,
    header: Header,
    parts: Sequence[Row],
    events: Sequence[Row],
) -> None:
    """Create and fill all tables of a study, inside a transaction."""
    for statement in dialect.create:
        statements.send(connection, statement)
    seq, check = events[-1][0], events[-1][-1]
    contents = {"events": events, "head": [(1, seq, check)], "study": [header.row]}
    for table, rows in (contents | {"candidates": parts}).items():
        statements.send(connection, dialect.insert(table, len(rows[0])), *rows)


# The events


class Reading(NamedTuple):
    """Events, and the time of the database when they were read.

    >>> from kernelbandits.storage import Draft, Log
    >>> with Log.create("read.db", Draft(kind="created"), {"heat": [20.0, 90.0]}) as log:
    ...     reading = log.read()
    >>> len(reading.events), reading.now >= reading.events[0].at
    (1, True)
    """

    events: list[Event]
    """In the order in which they were written."""
    now: float
    """In seconds since 1970."""


class Head(NamedTuple):
    """The last event."""

    seq: int
    check: str
    now: float
    """The time of the database when it was read."""


class Log:
    """The events of an open study. `Log.create` and `Log.open` return one.

    Events are written in turns:

        for turn in log.turns():
            with turn:
                events = turn.events(last)
                ...
                turn.append(drafts)

    When the loop ends, everything appended is stored. If the body raises, nothing is. If the
    connection is lost or the server asks for a retry, the body runs again, in a new turn.

    >>> from kernelbandits.storage import Draft, Log
    >>> log = Log.create("events.db", Draft(kind="created"), {"heat": [20.0, 90.0]})
    >>> for turn in log.turns():
    ...     with turn:
    ...         written = turn.append([Draft(kind="asked", trial=1, row=0)])
    >>> [(event.seq, event.kind) for event in log.events()], log.columns()
    ([(1, 'created'), (2, 'asked')], {'heat': [20.0, 90.0]})
    >>> log.close()
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.header = database.read(lambda connection: read_header(connection, database))

    @classmethod
    def create(
        cls,
        where: Where,
        first: Draft,
        columns: Mapping[str, Column],
        more: Sequence[Draft] = (),
    ) -> Log:
        """Create a study, with events that it begins with. All of it is written, or nothing.

        If several processes do so at once, one succeeds. The others get StudyExists.
        """
        with closing(open_database(find(where), "create")) as database:
            create_study(database, first, columns, more)
        return cls.open(where)

    @classmethod
    def open(cls, where: Where, *, writable: bool = True, patience: float | None = None) -> Log:
        return cls(open_database(find(where), "write" if writable else "read", patience))

    @property
    def place(self) -> str:
        """Where the study is, without passwords."""
        return self.database.name

    def columns(self) -> dict[str, list[Any]]:
        """Return the candidate table by column, checked against its fingerprint."""
        return join_columns(self.parts())

    def parts(self) -> list[Row]:
        """Return the candidate table as it is stored, checked against its fingerprint."""
        text = self.database.dialect.candidates
        parts = self.database.read(lambda connection: fetch(connection, text))
        if fingerprint_parts(parts) != self.header.fingerprint:
            raise self.database.damage_error(
                "the table of candidates is not the one that was written"
            )
        return parts

    def read(self, after: Event | None = None) -> Reading:
        """Return all events later than `after`, verified, and the time."""
        head, rows = self.read_rows(after)
        return Reading(build_events(rows), head.now)

    def events(self, after: Event | None = None) -> list[Event]:
        """Return all events later than `after`, verified."""
        return self.read(after).events

    def read_rows(self, after: Event | None = None) -> tuple[Head, list[Row]]:
        """Return the last event, and all events later than `after` as they are stored, verified."""

        def work(connection: Connection) -> tuple[Head, list[Row]]:
            head = self._read_head(connection)
            return head, self._read_later(connection, after, head)

        return self.database.read(work)

    def turns(self) -> Iterator[Turn]:
        """Yield turns to write, until one of them has written or its body raises; see the class."""
        if self.database.reads_only:
            raise StorageReadOnly(f"{self.place} was opened for reading only")
        for transaction in self.database.transactions(of_events=True):
            yield Turn(self, transaction)

    def now(self) -> float:
        """Return the time by the clock of the database."""
        text = self.database.dialect.time
        return float(self.database.read(lambda connection: fetch_one(connection, text)))

    def summary(self) -> tuple[int, int, float]:
        """Return the number of rows and of events now, and the time of the first event."""
        head = self.database.read(self._read_head)
        text = self.database.dialect.table_events
        events = self.database.read(lambda connection: fetch(connection, text))
        try:
            return self.header.rows + count_added_rows(events), head.seq, float(events[0][2])
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self.database.damage_error("its added rows cannot be read") from None

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Log({self.place!r})"

    def _read_head(self, connection: Connection) -> Head:
        """Return the head; it needs the checksum of the last event, and tables of this version."""
        rows = fetch(connection, self.database.dialect.head)
        seq, check, last, version, now = rows[0] if len(rows) == 1 else (None,) * 5
        if not isinstance(seq, int) or check is None or check != last:
            raise self.database.damage_error("head and last event do not fit each other")
        self.database.refuse_version(version)
        # SQLite has no time beyond the year 9999.
        return Head(seq, check, check_time(now) if now is None else now)

    def _read_later(self, connection: Connection, after: Event | None, head: Head) -> list[Row]:
        """Return the rows after `after` up to the head, if their checksums form a chain."""
        damage_error = self.database.damage_error
        seen, check = 0, self.header.fingerprint[:DIGITS]
        if after is not None:
            seen, check = after.seq, after.check
        if seen > head.seq:
            raise damage_error(f"it ends with event {head.seq} but had {seen} before {PUT_BACK}")
        rows: list[Row] = []
        if seen < head.seq:
            rows = fetch(connection, self.database.dialect.events, seen + 1, head.seq)
        try:
            verify_chain(rows, (seen, check), (head.seq, head.check))
        except BrokenChain as broken:
            if after is not None and int(str(broken)) <= seen + 1:
                raise damage_error(
                    f"event {seen} is not the one that was read before {PUT_BACK}"
                ) from None
            raise damage_error(f"event {broken} is not the one that was written") from None
        return rows


class Turn:
    """One write transaction: read events, and append new ones.

    >>> from kernelbandits.storage import Draft, Log
    >>> log = Log.create("turns.db", Draft(kind="created"), {"heat": [20.0, 90.0]})
    >>> for turn in log.turns():
    ...     with turn:
    ...         (event,) = turn.append([Draft(kind="noted", body={"text": "new column"})])
    ...         print(turn.head.seq, len(turn.events(after=event)))
    2 0
    >>> log.close()
    """

    def __init__(self, log: Log, transaction: Transaction) -> None:
        self._log, self._transaction = log, transaction
        self._head: Head | None = None

    def __enter__(self) -> Turn:
        self._transaction.__enter__()
        return self

    def __exit__(self, *error: Any) -> bool:
        return self._transaction.__exit__(*error)

    @property
    def head(self) -> Head:
        """The last event that is stored, or was appended in this turn."""
        if self._head is None:
            self._head = self._log._read_head(self._transaction.connection)
        return self._head

    @property
    def now(self) -> float:
        """The time of the database."""
        return self.head.now

    def events(self, after: Event | None = None) -> list[Event]:
        """Return all events after `after`, verified, including those appended in this turn."""
        return build_events(self._log._read_later(self._transaction.connection, after, self.head))

    def append(self, drafts: Iterable[Draft]) -> list[Event]:
        """Append events; they are stored when the turn ends without an error."""
        before, rows = self.head, list[Row]()
        seq, check, now = before
        for draft in drafts:
            rows.append(build_row(draft, seq + 1, now, check))
            seq, check = rows[-1][0], rows[-1][-1]
        if not rows:
            return []
        connection, database = self._transaction.connection, self._log.database
        statements.send(connection, database.dialect.insert("events", len(rows[0])), *rows)
        statements.send(connection, database.dialect.move_head, (seq, check, before.seq))
        # What is stored is read again: nothing else may be acknowledged.
        stored = fetch(connection, database.dialect.written, before.seq + 1, seq)
        if stored != [(*row, seq, check) for row in rows]:
            raise database.damage_error(
                f"what follows event {before.seq} was changed while it was written; "
                "nothing was written"
            )
        self._head = Head(seq, check, now)
        return build_events(rows)


# Lists of studies


@dataclass(frozen=True)
class Listed:
    """A study in a list of studies; of a damaged one only its name and place are known.

    `studies` returns them.

    >>> from kernelbandits.storage import Draft, Log, studies
    >>> Log.create("listed.db", Draft(kind="created"), {"heat": [20.0, 90.0]}).close()
    >>> (listed,) = studies("listed.db")
    >>> listed.name, listed.rows, listed.events
    ('listed.db', 2, 1)
    """

    name: str
    """Of a study in a file the path of the file."""
    place: str
    """Where it is stored, without passwords."""
    rows: int | None = None
    """How many candidates it has."""
    events: int | None = None
    """How many events it has."""
    since: float | None = None
    """When it was created, in seconds since 1970."""


def studies(where: Where, patience: float | None = None) -> list[Listed]:
    """Return the studies of a database, ordered by name, or the one in a file.

    `where` is the path of the file or the address of the database, and `patience` how many seconds
    to wait for others who hold it.

    >>> from kernelbandits.storage import Draft, Log, studies
    >>> Log.create("alone.db", Draft(kind="created"), {"heat": [20.0, 90.0]}).close()
    >>> [study.name for study in studies("alone.db")]
    ['alone.db']
    """
    place = find(where)
    database: Any = open_database(place, "read", patience)
    with closing(database):
        if isinstance(place, FilePlace):
            return [Listed(str(place), str(place), *Log(database).summary())]
        names = database.read(database.studies)
    return [list_study(replace(place, study=name), name) for name in names]


def list_study(place: Place, name: str) -> Listed:
    try:
        with Log(open_database(place, "read")) as log:
            return Listed(name, str(place), *log.summary())
    except StorageError:
        return Listed(name, str(place))


def count_added_rows(events: Iterable[Row]) -> int:
    """Return how many rows were added to a table, from number, kind, time and body of its events.

    Additions that were undone do not count, nor do points off the table.
    """
    read = [(seq, kind, json.loads(body)) for seq, kind, _, body in events]
    undone = {body["of"] for _, kind, body in read if kind == "undone"}
    added = [body for seq, kind, body in read if kind == "added" and seq not in undone]
    return sum(
        len(next(iter(body["columns"].values()))) for body in added if not body.get("off_table")
    )
