"""Salvage: everything that is intact in a damaged study is written to a new file.

Each event can be verified by itself. Events keep their numbers, because they refer to each other by
them: a lost event is replaced by one of kind `noted`, and a last event notes what was done. The
first event and the candidates are stored twice, on different pages; candidates that are lost in
both places must be given again.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from kernelbandits.storage import backups
from kernelbandits.storage.checksums import DIGITS, add_check, build_row, fingerprint, is_intact
from kernelbandits.storage.columns import (
    Column,
    checksum_segments,
    count_rows,
    join_columns,
    read_lines,
    split_columns,
    write_lines,
)
from kernelbandits.storage.errors import Damaged, NoStudy
from kernelbandits.storage.event import Draft
from kernelbandits.storage.header import Header
from kernelbandits.storage.leaves import Found, rows_in
from kernelbandits.storage.log import backend_for
from kernelbandits.storage.places import FilePlace, ServerPlace, find
from kernelbandits.storage.session import Session, without_connections
from kernelbandits.storage.statements import NAMES, Row, fetch

LEAST_ROW = 50
"""The smallest number of bytes of an event."""


@dataclass(frozen=True)
class Salvaged:
    """The result of a salvage."""

    events: int
    """The number of events that were kept."""
    lost: tuple[int, ...]
    """The numbers of the events that were lost."""
    sentence: str


@dataclass
class Remains:
    """What was found in a damaged study, each row verified by itself."""

    events: dict[int, Row] = field(default_factory=dict)
    segments: dict[int, Row] = field(default_factory=dict)
    """Rows of the candidates by column."""
    lines: dict[int, str] = field(default_factory=dict)
    """Rows of the candidates as version 1 stored them."""
    header: Header | None = None
    last: int = 0
    """The number of the last event, as stored in the head."""
    given: Mapping[str, Column] | None = None
    """Candidates that the user gave again."""

    def collect(self, found: Iterable[Found]) -> None:
        takers = {
            11: self.take_event,
            9: self.take_header,
            8: self.take_header,
            5: self.take_segment,
            3: self.take_short,
        }
        for rowid, values in found:
            takers.get(len(values), ignore)((rowid, *values[1:]))

    def take_event(self, row: Row) -> None:
        """Keep an event if it is intact."""
        # SQLite stores a real number without a fraction as a whole number; the checksum is that of
        # the real number.
        exact = (*row[:4], as_real(row[4]), *row[5:7], as_real(row[7]), *row[8:])
        if is_intact(exact):
            self.events.setdefault(row[0], exact)

    def take_header(self, row: Row) -> None:
        """Keep the header; a migration leaves that of the older version on a free page."""
        if is_intact(row):
            header = Header.of_row(row)
            if self.header is None or header.version >= self.header.version:
                self.header = header

    def take_segment(self, row: Row) -> None:
        if is_intact(row):
            self.segments.setdefault(row[0], row)

    def take_short(self, row: Row) -> None:
        """Keep a candidate of version 1, or the number in the head."""
        if is_intact(row):
            self.lines[row[0]] = row[1]
        elif row[0] == 1 and isinstance(row[1], int):
            self.last = max(self.last, row[1])

    @property
    def last_number(self) -> int:
        return max(self.last, max(self.events, default=0))

    @property
    def lost(self) -> tuple[int, ...]:
        return tuple(seq for seq in range(1, self.last_number + 1) if seq not in self.events)

    @property
    def start(self) -> str | None:
        """The beginning of the table's fingerprint, with which the checksums of events start."""
        if self.header is not None:
            return self.header.fingerprint[:DIGITS]
        return self.events[1][9] if 1 in self.events else None

    @property
    def table(self) -> dict[str, Any] | None:
        """The candidates by column, if they are unchanged and complete; else None."""
        start = self.start or ""
        stored = (self._stored_segments, self._stored_lines)
        for columns in stored if self.given is None else (self.given,):
            if columns is not None and start in possible_starts(columns):
                return dict(columns)
        if self.given is not None:
            return None
        # The checksum of the columns is not the start of the chain in a study of version 1.
        found = self._stored_segments
        rows = [self.segments[i] for i in sorted(self.segments)]
        if found is not None and self.header and checksum_segments(rows) == self.header.checksum:
            return found
        return None

    @property
    def _stored_segments(self) -> dict[str, Any] | None:
        return join_columns([self.segments[i] for i in sorted(self.segments)])

    @property
    def _stored_lines(self) -> dict[str, Any] | None:
        lines = [self.lines[row] for row in sorted(self.lines)]
        return read_lines(lines) if lines else None

    @property
    def is_whole(self) -> bool:
        return self.header is not None and self.table is not None and not self.lost

    @property
    def first(self) -> Draft | None:
        """The event that created the study, or its copy in the header; None if both are lost."""
        if 1 in self.events:
            return draft_of_row(self.events[1])
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
    if not remains.is_whole:
        remains.collect(rows_in(content, everywhere=True))
    remains.last = min(remains.last, max(remains.events, default=0) + len(content) // LEAST_ROW)
    return remains


def read_rolled_back(path: Path) -> bytes:
    """The content of the file without the last write, if that was interrupted.

    SQLite rolls the write back in a copy; the file itself is not changed.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        with without_connections(path):
            for end in ("", "-journal", "-wal"):
                with suppress(FileNotFoundError):
                    shutil.copyfile(f"{path}{end}", f"{copy}{end}")
        with suppress(sqlite3.Error), closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA wal_checkpoint")
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        return copy.read_bytes()


def server_remains(place: ServerPlace) -> Remains:
    session, remains = Session(backend_for(place, "read")), Remains()
    session.read(session.backend.version)
    for name in NAMES:
        select = f'SELECT * FROM "{place.study}"."{name}"'
        rows = session.read(partial(fetch, text=select))
        remains.collect((row[0], tuple(row)) for row in rows)
    session.close()
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
    lost = remains.lost
    sentence = describe_salvage(name, len(remains.events), lost)
    note = Draft(kind="noted", body={"salvaged": sentence})
    segments = split_columns(columns)
    header = Header.of(first, segments, rows=count_rows(columns))
    rows = chain(remains, first, header.fingerprint[:DIGITS], note)
    backups.write_file(target, header, segments, rows, force)
    return Salvaged(len(remains.events), lost, sentence)


def chain(remains: Remains, first: Draft, check: str, note: Draft) -> list[Row]:
    """All events with new checksums; each lost event is replaced by a note."""
    rows: list[Row] = []
    at = min((row[7] for row in remains.events.values()), default=0.0)
    for seq in range(1, remains.last_number + 1):
        kept = remains.events.get(seq)
        at = at if kept is None else kept[7]
        missing = first if seq == 1 else Draft(kind="noted", body={"lost": seq})
        row = build_row(missing, seq, at, check) if kept is None else add_check((*kept[:9], check))
        rows.append(row)
        check = row[-1]
    return [*rows, build_row(note, len(rows) + 1, round(time.time(), 3), check)]


def describe_salvage(name: str, kept: int, lost: tuple[int, ...]) -> str:
    missing = (
        "none was lost"
        if not lost
        else f"lost: {', '.join(map(str, lost[:20]))}{', ...' if lost[20:] else ''}"
    )
    return f"{kept} events of {name} were kept, {missing}"


def possible_starts(columns: Mapping[str, Column]) -> Iterator[str]:
    """With what the checksums of events may start: the fingerprint by column, or that by row."""
    yield checksum_segments(split_columns(columns))[:DIGITS]
    if all(isinstance(cell, str) for cells in columns.values() for cell in cells):
        yield fingerprint(write_lines(columns))[:DIGITS]  # type: ignore[arg-type]


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
    """A row that belongs to no table of a study."""
