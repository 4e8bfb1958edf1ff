"""The log of a study: events are appended, and nothing else is ever changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from kernelbandits.storage import backups, creation, health, migrations
from kernelbandits.storage.checksums import DIGITS, BrokenChain, build_row, verify_chain
from kernelbandits.storage.driver import fetch, run
from kernelbandits.storage.engines import PostgresEngine, engine_for
from kernelbandits.storage.errors import StorageError, StorageReadOnly
from kernelbandits.storage.event import Draft, Event
from kernelbandits.storage.header import Header
from kernelbandits.storage.places import FilePlace, Place, ServerPlace, find
from kernelbandits.storage.rows import Row, build_events
from kernelbandits.storage.session import Session

T = TypeVar("T")
Where = str | os.PathLike[str]


class Log:
    """The events of an open study. `Log.create` and `Log.open` return one."""

    def __init__(self, session: Session, header: Header) -> None:
        self._session = session
        self._engine = session.engine
        self._header = header

    @classmethod
    def create(
        cls, where: Where, header: Draft, columns: Sequence[str], cells: Sequence[Sequence[str]]
    ) -> Log:
        """Create a study. If several processes do so at once, one succeeds.

        The others get StudyExists.
        """
        creation.create(Session(engine_for(find(where), "create")), header, columns, cells)
        return cls.open(where)

    @classmethod
    def open(cls, where: Where, *, writable: bool = True) -> Log:
        return cls.at(find(where), "write" if writable else "read")

    @classmethod
    def at(cls, place: Place, mode: str) -> Log:
        session = Session(engine_for(place, mode))
        migrations.upgrade_tables(session)
        return cls(
            session, session.read(lambda connection: Header.read(connection, session.engine))
        )

    @property
    def place(self) -> str:
        """Where the study is, without passwords."""
        return self._engine.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self._header.names

    @property
    def fingerprint(self) -> str:
        """sha256 of the candidate table."""
        return self._header.fingerprint

    def cells(self) -> list[tuple[str, ...]]:
        """The candidate table, checked against its fingerprint."""
        return [tuple(json.loads(text)) for text in self._read_lines()[1:]]

    def events(self, after: Event | None = None) -> list[Event]:
        """All events later than `after`, verified."""
        return build_events(
            self._session.read(
                lambda connection: self._read_later(connection, after, self._read_head(connection))
            )
        )

    def write(self, work: Callable[[Turn], T]) -> T:
        """Run the work in a transaction that may write.

        When this returns, everything the work appended is stored; if it raises, nothing is. If the
        connection is lost or the server asks for a retry, the work runs again from the start.
        """
        if self._engine.mode == "read":
            raise StorageReadOnly(f"{self.place} was opened for reading only")
        return self._session.write(lambda connection: self._run_turn(connection, work))

    def now(self) -> float:
        """The time by the clock of the database."""
        return self._session.read(
            lambda connection: connection.execute(sa.select(self._engine.time)).scalar_one()
        )

    def backup(self, target: Where) -> None:
        """Write a verified copy of the study into a new SQLite file."""
        rows = self._session.read(
            lambda connection: self._read_later(connection, None, self._read_head(connection))
        )
        backups.write_file(target, self._header, self._read_lines(), rows)

    def health(self) -> list[health.Finding]:
        """Check the study and return the results of all checks."""
        return health.examine(self._session, [("events", self.events), ("candidates", self.cells)])

    def summary(self) -> tuple[int, int, float]:
        """The number of rows and of events, and the time of the first event."""
        events = self._engine.tables.events.c
        first = sa.select(events.at).where(events.seq == 1)
        last, _ = self._session.read(self._read_head)
        return (
            self._header.rows,
            last,
            self._session.read(lambda connection: connection.execute(first).scalar_one()),
        )

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Log({self.place!r})"

    def _read_lines(self) -> list[str]:
        """Header and rows of the candidate table."""
        found = self._session.read(lambda connection: fetch(connection, self._engine.tables.rows))
        if not self._header.fits(found):
            raise self._engine.damage_error(
                "the table of candidates is not the one that was written"
            )
        return [row[1] for row in found]

    def _run_turn(self, connection: sa.Connection, work: Callable[[Turn], T]) -> T:
        self._engine.lock_head(connection)
        seq, check, now = self._check_head(fetch(connection, self._engine.head_and_time))
        turn = Turn(
            lambda after: self._read_later(connection, after, (seq, check)), seq, check, now
        )
        result = work(turn)
        if turn.rows:
            self._add_rows(connection, seq, turn.rows)
        return result

    def _add_rows(self, connection: sa.Connection, seen: int, rows: list[Row]) -> None:
        tables = self._engine.tables
        run(connection, tables.add, *map(tables.name_values, rows))
        moved = run(connection, tables.move, {"seen": seen, "to": rows[-1][0], "sum": rows[-1][-1]})
        if moved.rowcount != 1:
            raise self._engine.damage_error("its head cannot be moved")

    def _read_head(self, connection: sa.Connection) -> tuple[int, str]:
        seq, check = self._check_head(fetch(connection, self._engine.tables.last))
        return seq, check

    def _check_head(self, rows: list[Row]) -> Any:
        """The head, if it has the checksum of the last event and the tables have this version."""
        if len(rows) != 1 or rows[0][1] != rows[0][2]:
            raise self._engine.damage_error("head and last event do not fit each other")
        seq, check, _, version, *now = rows[0]
        if version is None:
            raise self._engine.damage_error("its header is missing")
        migrations.refuse_other(self._engine, version)
        return seq, check, *now

    def _read_later(
        self, connection: sa.Connection, after: Event | None, last: tuple[int, str]
    ) -> list[Row]:
        """The rows after `after` up to the head, if their checksums form a chain."""
        seen, check = (0, self.fingerprint[:DIGITS]) if after is None else (after.seq, after.check)
        if seen > last[0]:
            raise self._engine.damage_error(
                f"it ends with event {last[0]} but had {seen} before; was a backup put back?"
            )
        rows = (
            fetch(connection, self._engine.tables.later, after=seen, last=last[0])
            if seen < last[0]
            else []
        )
        try:
            verify_chain(rows, (seen, check), last)
        except BrokenChain as broken:
            raise self._engine.damage_error(
                f"event {broken} is not the one that was written"
            ) from None
        return rows


@dataclass(frozen=True)
class Listed:
    """A study in a list of studies; of a damaged one only its name and place are known."""

    name: str
    place: str
    rows: int | None = None
    events: int | None = None
    since: float | None = None


def studies(where: Where) -> list[Listed]:
    """The studies of a database, ordered by name, or the one in a file."""
    place = find(where)
    if isinstance(place, FilePlace):
        with Log.at(place, "read") as log:
            return [Listed(str(place), str(place), *log.summary())]
    engine = PostgresEngine(place, "read")
    with closing(Session(engine)) as session:
        names = session.read(engine.studies)
    return [describe_study(ServerPlace(place.url, name)) for name in names]


def describe_study(place: ServerPlace) -> Listed:
    try:
        with Log.at(place, "read") as log:
            return Listed(place.study, str(place), *log.summary())
    except StorageError:
        return Listed(place.study, str(place))


class Turn:
    """What the work of one `log.write` may do: read events and append new ones."""

    def __init__(
        self, later: Callable[[Event | None], list[Row]], seq: int, check: str, now: float
    ) -> None:
        self._stored = later
        self._seq, self._check = seq, check
        self.now = now
        self.rows: list[Row] = []
        """The appended events, as they will be stored."""

    def events(self, after: Event | None = None) -> list[Event]:
        """All events after `after`, verified, including those appended in this turn."""
        stored = [] if after is not None and after.seq > self._seq else self._stored(after)
        own = [row for row in self.rows if after is None or row[0] > after.seq]
        return build_events([*stored, *own])

    def append(self, draft: Draft) -> Event:
        seq, before = (
            (self.rows[-1][0], self.rows[-1][-1]) if self.rows else (self._seq, self._check)
        )
        self.rows.append(build_row(draft, seq + 1, self.now, before))
        return build_events(self.rows[-1:])[0]
