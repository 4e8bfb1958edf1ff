"""The log of a study: events are appended, and nothing else is ever changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

from kernelbandits.storage import backups, creation, health, statements
from kernelbandits.storage.backend import Backend
from kernelbandits.storage.checksums import DIGITS, BrokenChain, build_row, verify_chain
from kernelbandits.storage.columns import Column, split_columns
from kernelbandits.storage.errors import StorageError, StorageReadOnly
from kernelbandits.storage.event import Draft, Event, build_events, check_time
from kernelbandits.storage.header import Header, refuse_other_version
from kernelbandits.storage.places import FilePlace, Place, ServerPlace, find
from kernelbandits.storage.session import Session, Transaction
from kernelbandits.storage.sqlite import SqliteBackend
from kernelbandits.storage.statements import Connection, Row, fetch, fetch_one

Where = str | os.PathLike[str]


def backend_for(place: Place, mode: str, patience: float | None = None) -> Backend:
    """Return the backend of a place.

    `mode` is "read", "write", or "create", `patience` how many seconds to wait for others who
    hold the study.
    """
    found: Backend
    if isinstance(place, FilePlace):
        found = SqliteBackend(place.path, mode)
    else:
        from kernelbandits.storage.postgres import PostgresBackend

        found = PostgresBackend(place, mode)
    found.patience = patience
    return found


PUT_BACK = "(was a backup put back? Then open the study again)"
"""What a process that knows later events is told."""


class Reading(NamedTuple):
    """Events, and the time of the database when they were read."""

    events: list[Event]
    now: float


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
    """

    def __init__(self, session: Session, header: Header) -> None:
        self._session = session
        self._backend = session.backend
        self._header = header

    @classmethod
    def create(cls, where: Where, first: Draft, columns: Mapping[str, Column]) -> Log:
        """Create a study. If several processes do so at once, one succeeds.

        The others get StudyExists.
        """
        creation.create(Session(backend_for(find(where), "create")), first, columns)
        return cls.open(where)

    @classmethod
    def open(cls, where: Where, *, writable: bool = True, patience: float | None = None) -> Log:
        return cls.at(find(where), "write" if writable else "read", patience)

    @classmethod
    def at(cls, place: Place, mode: str, patience: float | None = None) -> Log:
        session = Session(backend_for(place, mode, patience))
        return cls(
            session, session.read(lambda connection: Header.read(connection, session.backend))
        )

    @property
    def place(self) -> str:
        """Where the study is, without passwords."""
        return self._backend.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the candidate table."""
        return self._header.names

    @property
    def fingerprint(self) -> str:
        """What the checksums of the events start with."""
        return self._header.fingerprint

    def columns(self) -> dict[str, list[Any]]:
        """Return the candidate table by column, checked against its checksum."""
        rows = self._session.read(
            lambda connection: fetch(connection, self._backend.statements.candidates)
        )
        found = self._header.verify_columns(rows)
        if found is None:
            raise self._backend.damage_error(
                "the table of candidates is not the one that was written"
            )
        return found

    def read(self, after: Event | None = None) -> Reading:
        """Return all events later than `after`, verified, and the time."""
        head, rows = self._session.read(lambda connection: self._read_log(connection, after))
        return Reading(build_events(rows), head.now)

    def events(self, after: Event | None = None) -> list[Event]:
        """Return all events later than `after`, verified."""
        return self.read(after).events

    def turns(self) -> Iterator[Turn]:
        """Yield turns to write, until one of them has written or its body raises; see the class."""
        if self._backend.mode == "read":
            raise StorageReadOnly(f"{self.place} was opened for reading only")
        for transaction in self._session.transactions(of_events=True):
            yield Turn(self, transaction)

    def now(self) -> float:
        """Return the time by the clock of the database."""
        time = self._backend.statements.time
        return float(self._session.read(lambda connection: fetch_one(connection, time)))

    def backup(self, target: Where, *, force: bool = False) -> None:
        """Write a verified copy of the study into a new SQLite file.

        With `force` it takes the place of another file, but never of a study.
        """
        _, rows = self._session.read(lambda connection: self._read_log(connection, None))
        backups.write_file(target, self._header, split_columns(self.columns()), rows, force)

    def health(self) -> list[health.Finding]:
        """Check the study and return the results of all checks."""

        def list_candidates() -> list[Any]:
            return next(iter(self.columns().values()), [])

        looks: list[health.Look] = [("events", self.events), ("candidates", list_candidates)]
        return health.examine(self._session, looks)

    def summary(self) -> tuple[int, int, float]:
        """Return the number of rows and of events now, and the time of the first event."""
        texts = self._backend.statements
        head = self._session.read(self._read_head)
        since = self._session.read(lambda connection: fetch_one(connection, texts.created))
        added = self._session.read(lambda connection: fetch(connection, texts.additions))
        try:
            rows = self._header.rows + count_added_rows(added)
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self._backend.damage_error("its added rows cannot be read") from None
        return rows, head.seq, since

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Log({self.place!r})"

    def _read_log(self, connection: Connection, after: Event | None) -> tuple[Head, list[Row]]:
        head = self._read_head(connection)
        return head, self._read_later(connection, after, head)

    def _read_head(self, connection: Connection) -> Head:
        """Return the head; it needs the checksum of the last event, and tables of this version."""
        rows = fetch(connection, self._backend.statements.head)
        seq, check, last, version, now = rows[0] if len(rows) == 1 else (None,) * 5
        if not isinstance(seq, int) or check is None or check != last:
            raise self._backend.damage_error("head and last event do not fit each other")
        if not isinstance(version, int):
            raise self._backend.damage_error("its header is missing")
        refuse_other_version(self._backend, version)
        # SQLite has no time beyond the year 9999.
        return Head(seq, check, check_time(now) if now is None else now)

    def _read_later(self, connection: Connection, after: Event | None, head: Head) -> list[Row]:
        """Return the rows after `after` up to the head, if their checksums form a chain."""
        seen, check = (0, self.fingerprint[:DIGITS]) if after is None else (after.seq, after.check)
        if seen > head.seq:
            raise self._backend.damage_error(
                f"it ends with event {head.seq} but had {seen} before {PUT_BACK}"
            )
        rows: list[Row] = []
        if seen < head.seq:
            rows = fetch(connection, self._backend.statements.later, seen, head.seq)
        try:
            verify_chain(rows, (seen, check), (head.seq, head.check))
        except BrokenChain as broken:
            if after is not None and int(str(broken)) <= seen + 1:
                raise self._backend.damage_error(
                    f"event {seen} is not the one that was read before {PUT_BACK}"
                ) from None
            raise self._backend.damage_error(
                f"event {broken} is not the one that was written"
            ) from None
        return rows


class Turn:
    """One write transaction: read events, and append new ones."""

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
        connection, texts = self._transaction.connection, self._log._backend.statements
        statements.send(connection, texts.add_event, *rows)
        statements.send(connection, texts.move_head, (seq, check, before.seq))
        self._head = Head(seq, check, now)
        self._verify_written(before)
        return build_events(rows)

    def _verify_written(self, before: Head) -> None:
        """Read what was written after `before`: nothing else may be acknowledged."""
        log, connection = self._log, self._transaction.connection
        stored = fetch(connection, log._backend.statements.later, before.seq, self.head.seq)
        try:
            verify_chain(stored, before[:2], self.head[:2])
        except BrokenChain as broken:
            raise log._backend.damage_error(
                f"event {broken} was changed while it was written; nothing was written"
            ) from None
        if log._read_head(connection)[:2] != self.head[:2]:
            raise log._backend.damage_error("its head cannot be moved")


def count_added_rows(events: Iterable[tuple[int, str, str]]) -> int:
    """Return how many rows were added to a table, from number, kind and body of its events.

    Additions that were undone do not count, nor do points off the table.
    """
    read = [(seq, kind, json.loads(body)) for seq, kind, body in events]
    undone = {body["of"] for _, kind, body in read if kind == "undone"}
    added = [body for seq, kind, body in read if kind == "added" and seq not in undone]
    return sum(
        len(next(iter(body["columns"].values()))) for body in added if not body.get("off_table")
    )


@dataclass(frozen=True)
class Listed:
    """A study in a list of studies; of a damaged one only its name and place are known."""

    name: str
    place: str
    rows: int | None = None
    events: int | None = None
    since: float | None = None


def studies(where: Where, patience: float | None = None) -> list[Listed]:
    """Return the studies of a database, ordered by name, or the one in a file.

    `patience` is how many seconds to wait for others who hold it.
    """
    place = find(where)
    if isinstance(place, FilePlace):
        with Log.at(place, "read", patience) as log:
            return [Listed(str(place), str(place), *log.summary())]
    backend: Any = backend_for(place, "read", patience)
    with closing(Session(backend)) as session:
        names = session.read(backend.studies)
    return [describe_study(ServerPlace(place.url, name)) for name in names]


def describe_study(place: ServerPlace) -> Listed:
    try:
        with Log.at(place, "read") as log:
            return Listed(place.study, str(place), *log.summary())
    except StorageError:
        return Listed(place.study, str(place))
