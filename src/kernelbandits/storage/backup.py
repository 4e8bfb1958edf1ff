"""Copies of a study, what can be saved of a damaged one, and checks of its health.

Salvage writes every event that the database can still read to a new file. Events keep their
numbers, because they refer to each other by them: a lost event is replaced by one of kind `noted`,
and a last event notes what was done. The first event is stored twice; candidates that are lost must
be given again.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernelbandits.checks import StorageError
from kernelbandits.outputs import check_output, replace_file
from kernelbandits.storage.database import Damaged, Database, Finding
from kernelbandits.storage.event import DIGITS, LARGEST, Draft, add_check, build_row, is_intact
from kernelbandits.storage.log import (
    Column,
    Header,
    Log,
    count_rows,
    fingerprint_parts,
    join_columns,
    open_database,
    split_columns,
    write_tables,
)
from kernelbandits.storage.places import find
from kernelbandits.storage.sqlite import SQLITE
from kernelbandits.storage.statements import VERSION, Connection, Row, fetch, fetch_one, send

Where = str | os.PathLike[str]
ReadAgain = Callable[[Mapping[str, Any]], Mapping[str, Column]]
"""The body of the event that created a study -> its candidates by column."""

MOST_LOST = 100_000
"""How many events in a row may be lost; a head that names a later one is damaged itself."""


def write_backup(log: Log, target: Where, *, force: bool = False) -> None:
    """Write a verified copy of a study, whatever it is stored in, into a new SQLite file.

    `log` is the open study, and `target` the path of the file. With `force` it takes the place of
    another file, but never of a study.

    >>> from kernelbandits.storage import Draft, Log, write_backup
    >>> with Log.create("original.db", Draft(kind="created"), {"heat": [20.0, 90.0]}) as log:
    ...     write_backup(log, "copy.db")
    >>> with Log.open("copy.db") as copy:
    ...     len(copy.events()), copy.columns()
    (1, {'heat': [20.0, 90.0]})
    """
    check_output("a backup", target, force)
    _, events = log.read_rows()
    write_file("a backup", target, log.header, log.parts(), events, force)


def write_file(
    owner: str,
    target: Where,
    header: Header,
    parts: Sequence[Row],
    events: Sequence[Row],
    force: bool,
) -> None:
    """Write a new file with these rows; in the end it is complete on the disk or does not exist."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        send(connection, "BEGIN")
        write_tables(connection, SQLITE, header, parts, events)
        send(connection, "COMMIT")
        content = connection.serialize()
    replace_file(target, content, owner, force)


# Health


def check_health(log: Log) -> list[Finding]:
    """Return the results of all checks of a study, also if the first one finds damage.

    >>> from kernelbandits.storage import Draft, Log, check_health
    >>> with Log.create("checked.db", Draft(kind="created"), {"heat": [20.0, 90.0]}) as log:
    ...     findings = check_health(log)
    >>> [(finding.what, finding.ok) for finding in findings[:3]]
    [('events', True), ('candidates', True), ('version', True)]
    """
    database, intact = log.database, "all checksums hold"

    def check_version(connection: Connection) -> tuple[bool, str]:
        version = fetch_one(connection, database.dialect.version)
        sentence = f"tables of version {version}, this release writes {VERSION}"
        return version == VERSION, sentence

    checks: dict[str, Callable[[], tuple[bool, str]]] = {
        "events": lambda: (True, f"{len(log.events())} events, {intact}"),
        "candidates": lambda: (True, f"{count_rows(log.columns())} candidates, {intact}"),
    }
    for what, check in (("version", check_version), *database.health_checks()):
        checks[what] = partial(database.read, check)
    return [try_check(what, check) for what, check in checks.items()]


def try_check(what: str, check: Callable[[], tuple[bool, str]]) -> Finding:
    try:
        ok, sentence = check()
    except StorageError as error:
        ok, sentence = False, str(error)
    return Finding(ok, what, sentence)


# Salvage


@dataclass(frozen=True)
class Salvaged:
    """The result of a salvage.

    `salvage` returns it.

    >>> from kernelbandits.storage import Draft, Log, salvage
    >>> Log.create("whole.db", Draft(kind="created"), {"heat": [20.0, 90.0]}).close()
    >>> saved = salvage("whole.db", "saved.db")
    >>> saved.events, saved.lost, saved.end_known
    (1, (), True)
    """

    events: int
    """The number of events that were kept."""
    lost: tuple[int, ...]
    """The numbers of the events that were lost."""
    end_known: bool
    """Whether the last event is known: otherwise later events may be lost, too."""
    sentence: str
    """The same in words."""


@dataclass(frozen=True)
class Remains:
    """What can be read of a damaged study and is intact."""

    events: Mapping[int, Row]
    """Number of an event -> its row."""
    parts: Sequence[Row]
    """Those of the table of candidates, which are not verified yet."""
    header: Header | None
    end: int | None
    """The number of the last event, found or lost; None if it is not known."""

    @property
    def lost(self) -> tuple[int, ...]:
        """The numbers of the events that are missing."""
        # Every study has a first event.
        last = max(self.events, default=1) if self.end is None else self.end
        return tuple(seq for seq in range(1, last + 1) if seq not in self.events)

    @property
    def creation(self) -> str | None:
        """The body of the first event, or its copy in the header; None if both are lost."""
        if 1 in self.events:
            return str(self.events[1][8])
        return None if self.header is None else self.header.created

    @property
    def start(self) -> str | None:
        """The first digits of the fingerprint of the candidates."""
        if self.header is not None:
            return self.header.fingerprint[:DIGITS]
        return str(self.events[1][9]) if 1 in self.events else None


def salvage(
    where: Where,
    target: Where,
    read_again: ReadAgain | None = None,
    *,
    force: bool = False,
) -> Salvaged:
    """Write a new file with everything that can be read and is intact.

    `where` is the damaged study, and `target` the path of the file. `read_again` returns the
    candidates, if they were lost. With `force` the file takes the place of another one, but never
    of a study.

    >>> import sqlite3
    >>> from contextlib import closing
    >>> from kernelbandits.storage import Draft, Log, salvage
    >>> with Log.create("torn.db", Draft(kind="created"), {"heat": [20.0, 90.0]}) as log:
    ...     for turn in log.turns():
    ...         with turn:
    ...             written = turn.append([Draft(kind="noted"), Draft(kind="noted")])
    >>> with closing(sqlite3.connect("torn.db", isolation_level=None)) as connection:
    ...     deleted = connection.execute("DELETE FROM events WHERE seq = 2")
    >>> salvage("torn.db", "mended.db").lost
    (2,)
    """
    check_output("a salvage", target, force)
    with closing(open_database(find(where), "salvage")) as database:
        with suppress(Damaged):
            database.read(database.require_study)
        remains = database.read(lambda connection: read_remains(connection, database))
    name, created = database.name, remains.creation
    if created is None:
        raise Damaged(
            f"{name} cannot be saved: the event that created it is lost, and so is its copy; put "
            "the last backup back"
        )
    parts = remains.parts
    if read_again is not None:
        parts = split_columns(read_again(json.loads(created)))
    if fingerprint_parts(parts)[:DIGITS] != remains.start:
        raise Damaged(
            f"{name} needs its table of candidates again, which is lost or was given differently; "
            "salvage --candidates takes the file that the study was created from"
        )
    header = Header.of(created, join_columns(parts), parts)
    sentence = describe_salvage(name, remains)
    write_file("a salvage", target, header, parts, chain_again(remains, header, sentence), force)
    return Salvaged(len(remains.events), remains.lost, remains.end is not None, sentence)


def read_remains(connection: Connection, database: Database) -> Remains:
    """Return the rows of a study that can be read and are verified."""
    dialect = database.dialect

    def read(text: str, *values: Any) -> list[Row] | None:
        """Return the rows of a selection; None if damage prevents it."""
        try:
            return fetch(connection, text, *values)
        except database.errors as error:
            if database.is_temporary(error):
                raise
            return None

    # The end comes first: who writes meanwhile adds events after it, which then are read too.
    ends, headers = read(dialect.end) or [], read(dialect.study) or []
    header = Header.of_row(headers[0]) if headers else None
    if header is not None:
        database.refuse_version(header.version)
    rows = read(dialect.events, 1, LARGEST)
    if rows is None:
        # A page is damaged: each number is looked up, so that those on other pages are read.
        last = ends[0][0] if ends and isinstance(ends[0][0], int) else LARGEST
        rows, number, latest = [], 0, 0
        while number < min(last, latest + MOST_LOST):
            number += 1
            for row in read(dialect.events, number, number) or ():
                rows.append(row)
                latest = number
    events = verify_events(rows)
    return Remains(events, read(dialect.candidates) or [], header, find_end(ends, events))


def verify_events(rows: Sequence[Row]) -> dict[int, Row]:
    """Return the events whose checksum is right, and that the next event does not contradict."""
    intact = {row[0]: row for row in rows if is_intact(row)}
    named = {seq - 1: row[9] for seq, row in intact.items()}
    return {seq: row for seq, row in intact.items() if named.get(seq, row[10]) == row[10]}


def find_end(ends: Sequence[Row], events: Mapping[int, Row]) -> int | None:
    """Return the number of the last event by the head of the log, which has no checksum.

    It is believed if it names the last event that was read, or a later one.
    """
    last = max(events, default=0)
    for seq, check in ends:
        if last and check == events[last][10]:
            return last
        if isinstance(seq, int) and last < seq <= last + MOST_LOST:
            return seq
    return None


def chain_again(remains: Remains, header: Header, sentence: str) -> list[Row]:
    """Return all events with new checksums; each lost event is replaced by a note."""
    rows: list[Row] = []
    check = header.fingerprint[:DIGITS]
    at = min((row[7] for row in remains.events.values()), default=0.0)
    created = Draft(kind="created", body=json.loads(header.created))
    for seq in range(1, len(remains.events) + len(remains.lost) + 1):
        kept = remains.events.get(seq)
        if kept is None:
            missing = created if seq == 1 else Draft(kind="noted", body={"lost": seq})
            rows.append(build_row(missing, seq, at, check))
        else:
            at = kept[7]
            rows.append(add_check((*kept[:9], check)))
        check = rows[-1][-1]
    note = Draft(kind="noted", body={"salvaged": sentence})
    return [*rows, build_row(note, len(rows) + 1, round(time.time(), 3), check)]


def describe_salvage(name: str, remains: Remains) -> str:
    """Say what was lost, and what may have been."""
    lost = remains.lost
    numbers = f"{', '.join(map(str, lost[:20]))}{', ...' if lost[20:] else ''}"
    missing = f"{len(lost)} lost: {numbers}" if lost else "none was lost"
    if remains.end is None:
        if not lost:
            missing = f"none up to number {max(remains.events)} is missing"
        missing += "; later ones may be lost, because the head of the log is"
    return f"{len(remains.events)} events of {name} were kept, {missing}"
