"""Salvage: everything that is intact in a damaged study is written to a new file.

Each event can be verified by itself. Events keep their numbers, because they refer to each other by
them: a lost event is replaced by one of kind `noted`, and a last event notes what was done. The
first event and the candidates are stored twice, on different pages; candidates that are lost in
both places must be given again.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
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
from kernelbandits.storage.leaves import Found, rows_in
from kernelbandits.storage.log import backend_for
from kernelbandits.storage.places import FilePlace, ServerPlace, find
from kernelbandits.storage.session import Session
from kernelbandits.storage.sqlite import SqliteBackend, code_of
from kernelbandits.storage.statements import NAMES, Row, fetch

LEAST_ROW = 50
"""The smallest number of bytes of an event."""
MOST_LOST = 100_000
"""How many events in a row may be lost on a server; a file is not larger than what it held."""


@dataclass(frozen=True)
class Salvaged:
    """The result of a salvage."""

    events: int
    """The number of events that were kept."""
    lost: tuple[int, ...]
    """The numbers of the events that were lost."""
    replaced: tuple[int, ...]
    """The numbers under which another event was written, too; one of them was kept."""
    end_known: bool
    """Whether the head of the log was found: otherwise later events may be lost, too."""
    sentence: str


@dataclass
class Remains:
    """What was found in a damaged study, each row verified by itself."""

    versions: dict[int, dict[str, Row]] = field(default_factory=dict)
    """Number of an event -> checksum -> row. Two processes may have written one number."""
    segments: dict[int, Row] = field(default_factory=dict)
    """Rows of the candidates by column."""
    header: Header | None = None
    head: tuple[int, str] | None = None
    """Number and checksum of the last event, as stored in the head."""
    last: int = 0
    """The number of the last event, also by what may be an older copy of the head."""
    given: Mapping[str, Column] | None = None
    """Candidates that the user gave again."""

    def collect(self, found: Iterable[Found], certain: bool = True) -> None:
        """Keep what is intact; `certain` unless it was found where no page points to."""
        takers: dict[int, Callable[[Row], None]] = {
            11: self.take_event,
            8: self.take_header,
            5: self.take_segment,
            3: partial(self.take_head, certain=certain),
        }
        for rowid, values in found:
            takers.get(len(values), ignore)((rowid, *values[1:]))

    def take_event(self, row: Row) -> None:
        """Keep an event if it is intact."""
        # SQLite stores a real number without a fraction as a whole number; the checksum is that of
        # the real number.
        exact = (*row[:4], as_real(row[4]), *row[5:7], as_real(row[7]), *row[8:])
        if is_intact(exact):
            self.versions.setdefault(row[0], {}).setdefault(row[10], exact)

    def take_header(self, row: Row) -> None:
        """Keep the header if it is intact."""
        if is_intact(row):
            self.header = Header.of_row(row)

    def take_segment(self, row: Row) -> None:
        if is_intact(row):
            self.segments.setdefault(row[0], row)

    def take_head(self, row: Row, certain: bool) -> None:
        """Keep the head, which has no checksum of its own."""
        if row[0] == 1 and isinstance(row[1], int):
            self.last = max(self.last, row[1])
            if certain and isinstance(row[2], str) and row[1] == self.last:
                self.head = row[1], row[2]

    def settle(self, most_lost: int) -> None:
        """Leave out numbers that no event can have: after a gap of more than so many."""
        end = 0
        for seq in sorted(self.versions):
            if 0 < seq <= end + 1 + most_lost:
                end = seq
            else:
                del self.versions[seq]
        if self.head is not None and self.head[1] in self.versions.get(end, ()):
            # The head names the last event that was found, whatever its own number says.
            self.head, self.last = (end, self.head[1]), end
        self.last = min(self.last, end + most_lost)

    @property
    def last_number(self) -> int:
        return max(self.last, max(self.versions, default=0))

    @property
    def end_known(self) -> bool:
        return self.head is not None and self.head[0] == self.last_number

    @property
    def lost(self) -> tuple[int, ...]:
        return tuple(seq for seq in range(1, self.last_number + 1) if seq not in self.versions)

    def follow_chain(self) -> tuple[dict[int, Row], tuple[int, ...]]:
        """Return the events to keep, and the numbers under which others were written, too.

        Each event names the checksum of the one before it, and the head that of the last one. An
        event that has another checksum has taken the place of the one that is named.
        """
        kept: dict[int, Row] = {}
        replaced: list[int] = []
        named: list[str] = []
        for seq in range(self.last_number, 0, -1):
            versions = self.versions.get(seq, {})
            if self.head is not None and self.head[0] == seq:
                named.append(self.head[1])
            fitting = [check for check in named if check in versions]
            if versions and (len(versions) > 1 or len(fitting) < len(named)):
                replaced.append(seq)
            for check in [*fitting, *versions][:1]:
                kept[seq] = versions[check]
            named = [kept[seq][9]] if seq in kept else []
        return kept, tuple(sorted(replaced))

    @property
    def start(self) -> str | None:
        """The beginning of the table's fingerprint, with which the checksums of events start."""
        if self.header is not None:
            return self.header.fingerprint[:DIGITS]
        return next((row[9] for row in self.versions.get(1, {}).values()), None)

    @property
    def table(self) -> dict[str, Any] | None:
        """The candidates by column, if they are unchanged and complete; else None."""
        if self.given is None:
            rows = [self.segments[i] for i in sorted(self.segments)]
        else:
            rows = split_columns(self.given)
        intact = fingerprint_segments(rows)[:DIGITS] == self.start
        return join_columns(rows) if intact else None

    @property
    def is_whole(self) -> bool:
        known = self.header is not None and self.table is not None and self.end_known
        return known and not self.lost and not self.follow_chain()[1]

    @property
    def first(self) -> Draft | None:
        """The event that created the study, or its copy in the header; None if both are lost."""
        for row in self.versions.get(1, {}).values():
            return draft_of_row(row)
        if self.header is None:
            return None
        return Draft(kind="created", body=json.loads(self.header.header))


def salvage(
    where: str | os.PathLike[str],
    target: str | os.PathLike[str],
    table: Mapping[str, Column] | None = None,
    *,
    force: bool = False,
) -> Salvaged:
    """Write a new file with everything that is intact.

    `table`, the candidates by column, replaces those that were lost. With `force` the file takes
    the place of another one, but never of a study.
    """
    place = find(where)
    backups.refuse_existing(Path(target), force)
    remains = file_remains(place) if isinstance(place, FilePlace) else server_remains(place)
    remains.given = table
    return rebuild(remains, str(place), target, force)


def file_remains(place: FilePlace) -> Remains:
    if not place.path.is_file():
        raise NoStudy(f"there is no file {place}")
    content, remains = read_rolled_back(place.path), Remains()
    remains.collect(rows_in(content))
    remains.settle(len(content) // LEAST_ROW)
    if not remains.is_whole:
        remains.collect(rows_in(content, everywhere=True), certain=False)
        remains.settle(len(content) // LEAST_ROW)
    return remains


def read_rolled_back(path: Path) -> bytes:
    """Return the content of the file without the last write, if that was interrupted.

    SQLite rolls the write back in a copy; the file itself is not changed.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        with hold_still(path):
            for end in ("", "-journal", "-wal"):
                if os.path.exists(f"{path}{end}"):
                    Path(f"{copy}{end}").write_bytes(read_file(Path(f"{path}{end}")))
        with suppress(*SqliteBackend.errors), closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA wal_checkpoint")
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        return copy.read_bytes()


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


def read_file(path: Path) -> bytes:
    try:
        return read_apart(path)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from None


def server_remains(place: ServerPlace) -> Remains:
    session, remains = Session(backend_for(place, "read")), Remains()
    session.read(session.backend.version)
    for name in NAMES:
        select = f'SELECT * FROM "{place.study}"."{name}"'
        rows = session.read(partial(fetch, text=select))
        remains.collect((row[0], tuple(row)) for row in rows)
    session.close()
    remains.settle(MOST_LOST)
    return remains


def rebuild(
    remains: Remains, name: str, target: str | os.PathLike[str], force: bool = False
) -> Salvaged:
    first, columns = remains.first, remains.table
    if first is None:
        raise Damaged(
            f"{name} cannot be saved: the event that created it is lost, and so is its copy"
        )
    if columns is None:
        raise Damaged(
            f"{name} needs its table of candidates again, which is lost or was given differently"
        )
    events, replaced = remains.follow_chain()
    sentence = describe_salvage(name, remains, len(events), replaced)
    note = Draft(kind="noted", body={"salvaged": sentence})
    segments = split_columns(columns)
    header = Header.of(first, segments, rows=count_rows(columns))
    last = remains.last_number
    rows = chain(events, last, first, header.fingerprint[:DIGITS], note)
    backups.write_file(target, header, segments, rows, force)
    return Salvaged(len(events), remains.lost, replaced, remains.end_known, sentence)


def chain(events: Mapping[int, Row], last: int, first: Draft, check: str, note: Draft) -> list[Row]:
    """Return all events with new checksums; each lost event is replaced by a note."""
    rows: list[Row] = []
    at = min((row[7] for row in events.values()), default=0.0)
    for seq in range(1, last + 1):
        kept = events.get(seq)
        at = at if kept is None else kept[7]
        missing = first if seq == 1 else Draft(kind="noted", body={"lost": seq})
        row = build_row(missing, seq, at, check) if kept is None else add_check((*kept[:9], check))
        rows.append(row)
        check = row[-1]
    return [*rows, build_row(note, len(rows) + 1, round(time.time(), 3), check)]


def describe_salvage(name: str, remains: Remains, kept: int, replaced: Sequence[int]) -> str:
    """Say what was lost, and what may have been."""
    doubts = []
    if replaced:
        doubts.append(f"in place of others, which are lost, stand {list_numbers(replaced)}")
    if not remains.end_known:
        doubts.append("later ones may be lost, because the head of the log is")
    lost = remains.lost
    missing = f"lost: {list_numbers(lost)}" if lost else "none was lost"
    if doubts and not lost:
        missing = f"none up to number {remains.last_number} is missing"
    return "; ".join([f"{kept} events of {name} were kept, {missing}", *doubts])


def list_numbers(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:20]))}{', ...' if numbers[20:] else ''}"


def draft_of_row(row: Row) -> Draft:
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


def as_real(value: Any) -> Any:
    return float(value) if isinstance(value, int) else value


def ignore(row: Row) -> None:
    """Do nothing: the row belongs to no table of a study."""
