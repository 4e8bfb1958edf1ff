"""Salvage: everything that the database can still read of a damaged study goes to a new file.

Each event can be verified by itself. Events keep their numbers, because they refer to each other by
them: a lost event is replaced by one of kind `noted`, and a last event notes what was done. The
first event is stored twice; candidates that are lost must be given again.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kernelbandits.outputs import read_apart, sqlite_address
from kernelbandits.storage import backups
from kernelbandits.storage.checksums import DIGITS, add_check, build_row, is_intact
from kernelbandits.storage.columns import (
    Column,
    count_rows,
    fingerprint_segments,
    join_columns,
    split_columns,
)
from kernelbandits.storage.errors import Damaged, NoStudy, StorageBusy, StorageError
from kernelbandits.storage.event import Draft
from kernelbandits.storage.header import Header
from kernelbandits.storage.log import backend_for
from kernelbandits.storage.places import FilePlace, ServerPlace, find
from kernelbandits.storage.session import Session
from kernelbandits.storage.sqlite import SqliteBackend, code_of
from kernelbandits.storage.statements import NAMES, Row, fetch

LEAST_ROW = 50
"""The smallest number of bytes of an event."""
MOST_LOST = 100_000
"""How many events in a row may be lost on a server; a file is not larger than what it held."""

Tables = Mapping[str, Sequence[Row]]
"""Name of a table -> the rows that can be read of it."""
ReadAgain = Callable[[Mapping[str, Any]], Mapping[str, Column]]
"""The body of the event that created a study -> its candidates by column."""


@dataclass(frozen=True)
class Salvaged:
    """The result of a salvage."""

    events: int
    """The number of events that were kept."""
    lost: tuple[int, ...]
    """The numbers of the events that were lost."""
    replaced: tuple[int, ...]
    """The numbers under which the log names another event than the one that was kept."""
    end_known: bool
    """Whether the head of the log was found: otherwise later events may be lost, too."""
    sentence: str


@dataclass(frozen=True)
class Remains:
    """What can be read of a damaged study, each row verified by its own checksum."""

    events: Mapping[int, Row]
    """Number of an event -> its row."""
    segments: Sequence[Row]
    """Rows of the table of candidates."""
    header: Header | None
    head: tuple[int, str] | None
    """Number and checksum of the last event, as the head of the log has them."""

    @classmethod
    def of(cls, tables: Tables, most_lost: int) -> Remains:
        """Keep the rows that are intact.

        The head has no checksum. It is believed if it names the last event that was found, or one
        that is not more than `most_lost` numbers later.
        """
        events = {row[0]: row for row in tables["events"] if is_intact(row)}
        last, head = max(events, default=0), None
        for row in tables["head"]:
            if last and row[2] == events[last][-1]:
                head = last, row[2]
            elif isinstance(row[1], int) and last <= row[1] <= last + most_lost:
                head = row[1], row[2]
        headers = [Header.of_row(row) for row in tables["study"] if is_intact(row)]
        segments = [row for row in tables["candidates"] if is_intact(row)]
        return cls(events, segments, headers[0] if headers else None, head)

    @property
    def last(self) -> int:
        """The number of the last event, found or lost."""
        return max(self.events, default=0) if self.head is None else self.head[0]

    @property
    def lost(self) -> tuple[int, ...]:
        """The numbers of the events that are missing."""
        return tuple(seq for seq in range(1, self.last + 1) if seq not in self.events)

    @property
    def replaced(self) -> tuple[int, ...]:
        """The numbers of events that are not the ones that were written.

        Each event names the checksum of the one before it, and the head that of the last one.
        """
        named = {seq - 1: row[9] for seq, row in self.events.items()}
        if self.head is not None:
            named[self.head[0]] = self.head[1]
        written = {seq: self.events[seq][10] for seq in sorted(self.events)}
        return tuple(seq for seq, check in written.items() if named.get(seq, check) != check)

    @property
    def first(self) -> Draft | None:
        """The event that created the study, or its copy in the header; None if both are lost."""
        if 1 in self.events:
            return draft_of_row(self.events[1])
        if self.header is None:
            return None
        return Draft(kind="created", body=json.loads(self.header.header))

    def table(self, given: Mapping[str, Column] | None) -> dict[str, list[Any]] | None:
        """Return the candidates by column, stored or given; None if they are not those created."""
        rows = self.segments if given is None else split_columns(given)
        start = None
        if self.header is not None:
            start = self.header.fingerprint[:DIGITS]
        elif 1 in self.events:
            start = self.events[1][9]
        return join_columns(rows) if fingerprint_segments(rows)[:DIGITS] == start else None


def salvage(
    where: str | os.PathLike[str],
    target: str | os.PathLike[str],
    read_again: ReadAgain | None = None,
    *,
    force: bool = False,
) -> Salvaged:
    """Write a new file with everything that can be read and is intact.

    `read_again` returns the candidates, if they were lost. With `force` the file takes the place of
    another one, but never of a study.
    """
    place = find(where)
    backups.refuse_existing(Path(target), force)
    remains = read_file_remains(place) if isinstance(place, FilePlace) else read_server(place)
    return rebuild(remains, str(place), target, read_again, force)


def read_file_remains(place: FilePlace) -> Remains:
    """Return what SQLite can read of a file; the file itself is not changed."""
    if not place.path.is_file():
        raise NoStudy(f"there is no file {place}")
    most = place.path.stat().st_size // LEAST_ROW
    with open_copy(place.path) as connection:
        return Remains.of({name: read_rows(connection, name, most) for name in NAMES}, most)


@contextmanager
def open_copy(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a copy of a file, in which SQLite rolls back a write that was interrupted."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        with hold_still(path):
            for end in ("", "-journal", "-wal"):
                if os.path.exists(f"{path}{end}"):
                    Path(f"{copy}{end}").write_bytes(read_bytes(Path(f"{path}{end}")))
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            # SQLite then reads the tables it knows of a schema that is damaged in another place.
            connection.execute("PRAGMA writable_schema = ON")
            yield connection


def read_rows(connection: sqlite3.Connection, name: str, most: int) -> list[Row]:
    """Return the rows of a table that SQLite can read, in the order of their numbers.

    It reads from the first row and from the last one. Where damaged pages stop it both times, the
    numbers between are looked up one by one, up to `most`.
    """
    found, ends = dict[int, Row](), list[int | None]()
    for order in ("ASC", "DESC"):
        number = None
        try:
            for row in connection.execute(f"SELECT * FROM {name} ORDER BY 1 {order}"):
                number = row[0]
                found[number] = row
        except SqliteBackend.errors:
            ends.append(number)
        else:
            return [found[number] for number in sorted(found)]
    first, last = ends
    select = f"SELECT * FROM {name} WHERE rowid = ?"
    for number in range(0 if first is None else first + 1, most if last is None else last):
        with suppress(*SqliteBackend.errors):
            found |= {row[0]: row for row in connection.execute(select, [number])}
    return [found[number] for number in sorted(found)]


@contextmanager
def hold_still(path: Path) -> Iterator[None]:
    """Keep others from committing, with a lock for reading; what SQLite cannot read is not locked.

    Otherwise a copy that was made during a commit would lack events.
    """
    address = sqlite_address(path, mode="ro")
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except SqliteBackend.errors as error:
            if code_of(error) == sqlite3.SQLITE_BUSY:
                raise StorageBusy(f"{path} is being written; try again later") from None
        yield


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, read without freeing the locks of this process on it."""
    try:
        return read_apart(path)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from None


def read_server(place: ServerPlace) -> Remains:
    """Return what a server can read of a study."""
    with closing(Session(backend_for(place, "read"))) as session:
        session.read(session.backend.version)
        selections = {name: f'SELECT * FROM "{place.study}"."{name}"' for name in NAMES}
        tables = {
            name: session.read(partial(fetch, text=select)) for name, select in selections.items()
        }
    return Remains.of(tables, MOST_LOST)


def rebuild(
    remains: Remains,
    name: str,
    target: str | os.PathLike[str],
    read_again: ReadAgain | None,
    force: bool,
) -> Salvaged:
    """Write what remains of a study to a new file, and say what is lost."""
    first = remains.first
    if first is None:
        raise Damaged(
            f"{name} cannot be saved: the event that created it is lost, and so is its copy; put "
            "the last backup back"
        )
    columns = remains.table(None if read_again is None else read_again(first.body))
    if columns is None:
        raise Damaged(
            f"{name} needs its table of candidates again, which is lost or was given differently; "
            "salvage --candidates takes the file that the study was created from"
        )
    sentence = describe_salvage(name, remains)
    note = Draft(kind="noted", body={"salvaged": sentence})
    segments = split_columns(columns)
    header = Header.of(first, segments, rows=count_rows(columns))
    rows = chain(remains, first, header.fingerprint[:DIGITS], note)
    backups.write_file(target, header, segments, rows, force)
    known = remains.head is not None
    return Salvaged(len(remains.events), remains.lost, remains.replaced, known, sentence)


def chain(remains: Remains, first: Draft, check: str, note: Draft) -> list[Row]:
    """Return all events with new checksums; each lost event is replaced by a note."""
    rows: list[Row] = []
    at = min((row[7] for row in remains.events.values()), default=0.0)
    for seq in range(1, remains.last + 1):
        kept = remains.events.get(seq)
        at = at if kept is None else kept[7]
        missing = first if seq == 1 else Draft(kind="noted", body={"lost": seq})
        row = build_row(missing, seq, at, check) if kept is None else add_check((*kept[:9], check))
        rows.append(row)
        check = row[-1]
    return [*rows, build_row(note, len(rows) + 1, round(time.time(), 3), check)]


def describe_salvage(name: str, remains: Remains) -> str:
    """Say what was lost, and what may have been."""
    doubts = []
    if remains.replaced:
        doubts.append(f"in place of others, which are lost, stand {list_numbers(remains.replaced)}")
    if remains.head is None:
        doubts.append("later ones may be lost, because the head of the log is")
    lost = remains.lost
    missing = f"{len(lost)} lost: {list_numbers(lost)}" if lost else "none was lost"
    if doubts and not lost:
        missing = f"none up to number {remains.last} is missing"
    return "; ".join([f"{len(remains.events)} events of {name} were kept, {missing}", *doubts])


def list_numbers(numbers: Sequence[int]) -> str:
    """Return the first 20 numbers, separated by commas."""
    return f"{', '.join(map(str, numbers[:20]))}{', ...' if numbers[20:] else ''}"


def draft_of_row(row: Row) -> Draft:
    """Return the event of a row as it was before it was written."""
    _, kind, trial, place, value, key, worker, _, body, _, _ = row
    return Draft(
        kind=kind,
        trial=trial,
        row=place,
        value=value,
        key=key,
        worker=worker,
        body=json.loads(body),
    )
