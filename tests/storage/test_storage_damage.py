"""Flipped bits, lost pages, power cuts: what is damaged is seen, what is intact is saved, what was written stays."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from kernelbandits.storage import (
    Damaged,
    Draft,
    Event,
    Log,
    NoStudy,
    StorageError,
    salvage,
    write_backup,
)
from kernelbandits.storage.backup import find_end
from kernelbandits.storage.event import build_row
from kernelbandits.storage.sqlite import SqliteDatabase
from kernelbandits.storage.statements import send
from wire import BEFORE, execute, listen, tell

CREATED = Draft(kind="created", body={"seed": 7})
PAGE, ON_A_PAGE = 4096, 40
"""The bytes of a page, and more events than fit on one."""
TABLE = {"Cs": [row / 94 for row in range(94)], "FA": [str(1 - row / 94) for row in range(94)]}


@pytest.fixture
def log(where: str) -> Log:
    return Log.create(where, CREATED, TABLE)


def ended_by(work: Callable[[], Any]) -> int:
    """The signal that ended a child process which does the work, or 0."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


@pytest.fixture(scope="module")
def sample(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, list[Event], list[tuple[str, ...]]]:
    path = tmp_path_factory.mktemp("sample") / "films.db"
    log = Log.create(path, CREATED, TABLE)
    for trial in range(60):
        tell(log, trial, value=trial * 0.25, body={"note": "x" * (5000 if trial == 30 else trial)})
    log.close()
    return path, log.events(), log.columns()


def complaint(path: Path, events: list[Event], cells: list[Any]) -> str:
    """What is said of damage; if nothing is, nothing may be different."""
    try:
        with Log.open(path) as log:
            assert log.events() == events
            assert log.columns() == cells
    except StorageError as error:
        return str(error)
    return ""


def seen(path: Path, events: list[Event], cells: list[Any]) -> bool:
    """Whether damage is noticed, and said with the name of the file."""
    said = complaint(path, events, cells)
    assert not said or str(path) in said
    assert "is damaged" not in said or f"`kernelbandits study salvage {path} <new file>`" in said
    return bool(said)


@pytest.mark.thorough
def test_a_flipped_bit_is_seen_or_harmless_and_costs_one_page_at_most(sample, tmp_path):
    source, events, cells = sample
    original, rng, lost = source.read_bytes(), random.Random(3), []
    for flip in range(60):
        path = tmp_path / f"{flip}.db"
        damaged = bytearray(original)
        # The first page has the list of the tables: without it SQLite reads nothing.
        damaged[rng.randrange(PAGE, len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        if seen(path, events, cells):
            lost.append(count_lost(path, tmp_path / f"{flip}-saved.db", events, cells))
    assert len(lost) > 10
    assert max(lost) <= ON_A_PAGE


@pytest.mark.thorough
def test_a_page_that_is_gone_costs_what_was_on_it_or_all_that_it_leads_to(sample, tmp_path):
    source, events, cells = sample
    original, lost = source.read_bytes(), []
    for start in range(PAGE, len(original), PAGE):
        for gone in (bytes(8), os.urandom(PAGE)):
            path = tmp_path / f"{start}-{len(gone)}.db"
            path.write_bytes(original[:start] + gone + original[start + len(gone) :])
            if seen(path, events, cells):
                target = tmp_path / f"{start}-{len(gone)}-saved.db"
                lost.append(count_lost(path, target, events, cells))
    # One page leads to all pages of events, and another holds the header.
    assert sum(one > ON_A_PAGE for one in lost) <= 2
    assert len(lost) > 6


@pytest.mark.thorough
def test_damage_of_the_first_page_is_seen_and_saved_or_said(sample, tmp_path):
    source, events, cells = sample
    original = source.read_bytes()
    for offset in range(0, 100, 3):
        path = tmp_path / f"{offset}.db"
        path.write_bytes(
            original[:offset] + bytes([original[offset] ^ 0x11]) + original[offset + 1 :]
        )
        if seen(path, events, cells):
            count_lost(path, tmp_path / f"{offset}-saved.db", events, cells)


@pytest.mark.thorough
def test_pages_in_each_others_place_are_seen_and_said_in_one_sentence(sample, tmp_path):
    source, events, cells = sample
    original, noticed = source.read_bytes(), 0
    pages = [original[start : start + 4096] for start in range(0, len(original), 4096)]
    for number, (a, b) in enumerate(itertools.permutations(range(len(pages)), 2)):
        path = tmp_path / f"{number}.db"
        changed = [*pages]
        changed[b] = pages[a]
        path.write_bytes(b"".join(changed))
        noticed += seen(path, events, cells)
    assert noticed > 40


@pytest.mark.thorough
def test_names_of_tables_that_are_no_text_are_seen_and_said_in_one_sentence(sample, tmp_path):
    source, events, cells = sample
    original, path = source.read_bytes(), tmp_path / "films.db"
    for name in (b"events", b"study", b"head", b"cells", b"CREATE"):
        path.write_bytes(original.replace(name, b"\xd9" * len(name)))
        assert seen(path, events, cells)
        with suppress(StorageError):
            salvage(path, tmp_path / f"{name!r}.db")


def count_lost(path: Path, target: Path, events: list[Event], cells: dict[str, Any]) -> int:
    """How many events a salvage does not recover; each one that it writes is true."""
    try:
        saved = salvage(path, target, lambda created: cells)
    except Damaged:
        return len(events)
    log = Log.open(target)
    assert log.columns() == cells
    old, new = {event.seq: event for event in events}, log.events()
    assert saved.events + len(saved.lost) == len(events) or not saved.end_known
    for event in new[:-1]:
        if event.seq not in saved.lost or event.seq == 1:
            assert (event.kind, event.value, event.body) == (
                old[event.seq].kind,
                old[event.seq].value,
                old[event.seq].body,
            )
        else:
            assert (event.kind, event.body) == ("noted", {"lost": event.seq})
    assert (new[-1].kind, new[-1].body) == ("noted", {"salvaged": saved.sentence})
    assert tell(log).seq == len(new) + 1
    return len(events) - saved.events


def test_a_file_that_was_cut_off_is_seen(sample, tmp_path):
    source, events, cells = sample
    original, rng = source.read_bytes(), random.Random(4)
    for cut_off in range(40):
        path = tmp_path / f"{cut_off}.db"
        path.write_bytes(original[: rng.randrange(len(original))])
        assert seen(path, events, cells)
    path.write_bytes(original[: len(original) - PAGE])
    assert count_lost(path, tmp_path / "saved.db", events, cells) <= ON_A_PAGE


def test_what_cannot_be_saved_is_said(sample, tmp_path):
    source, _, _ = sample
    (tmp_path / "noise.db").write_bytes(random.Random(1).randbytes(50_000))
    with pytest.raises(
        Damaged, match="not an SQLite file at all; if it was one, put its last backup back"
    ):
        salvage(tmp_path / "noise.db", tmp_path / "saved.db")
    with pytest.raises(Damaged, match="needs its table of candidates again"):
        salvage(source, tmp_path / "saved.db", lambda created: {"Cs": [0.5], "FA": ["0"]})
    with pytest.raises(NoStudy, match="there is no study"):
        salvage(tmp_path / "nothing.db", tmp_path / "saved.db")
    assert not (tmp_path / "saved.db").exists()


CHANGES = [
    "UPDATE {}events SET value = 9.5 WHERE seq = 3",
    "UPDATE {}events SET at = at + 1 WHERE seq = 3",
    "UPDATE {}events SET body = '[]' WHERE seq = 3",
    "UPDATE {}events SET worker = 'x' WHERE seq = 3",
    "DELETE FROM {}events WHERE seq = 3",
    "DELETE FROM {}events WHERE seq = 5",
    "DELETE FROM {}events",
    "UPDATE {}events SET seq = 6 WHERE seq = 5",
    "UPDATE {}head SET seq = 4",
    "UPDATE {}head SET seq = 6",
    "UPDATE {}head SET \"check\" = '0123456789abcdef'",
    "DELETE FROM {}head",
    "UPDATE {}candidates SET cells = '[0.5]' WHERE id = 1",
    "DELETE FROM {}candidates WHERE id = 2",
    "UPDATE {}study SET fingerprint = 'x'",
    "UPDATE {}study SET rows = 7",
    "DELETE FROM {}study",
    "DROP TABLE {}events",
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_behind_our_back_is_seen(where, log, change):
    for trial in range(4):
        tell(log, trial)
    execute(log, change)
    log.close()
    with pytest.raises(Damaged, match="salvage"):
        read_all(where)


def read_all(where: str) -> None:
    with Log.open(where) as log:
        log.events()
        log.columns()


AFTER_INSERT = "CREATE TRIGGER greedy AFTER INSERT ON events BEGIN {} END"
TRIGGERS = {
    "delete": AFTER_INSERT.format("DELETE FROM events WHERE seq = new.seq;"),
    "update": AFTER_INSERT.format("UPDATE events SET value = 99 WHERE seq = new.seq;"),
    "ignore": "CREATE TRIGGER greedy BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END",
    "head": "CREATE TRIGGER greedy AFTER UPDATE ON head BEGIN UPDATE head SET seq = 1; END",
}
SERVER_TRIGGERS = {
    "delete": ("AFTER", "DELETE FROM {0}events WHERE seq = new.seq; RETURN new"),
    "update": ("BEFORE", "new.value = 99; RETURN new"),
    "ignore": ("BEFORE", "RETURN NULL"),
}


def plant_trigger(log: Log, what: str) -> None:
    """Put a trigger into a study, as another program could."""
    if isinstance(log.database, SqliteDatabase):
        execute(log, TRIGGERS[what])
        return
    when, body = SERVER_TRIGGERS[what]
    execute(
        log,
        f"CREATE FUNCTION {{0}}meddle() RETURNS trigger LANGUAGE plpgsql AS $$ "
        f"BEGIN {body}; END $$",
        f"CREATE TRIGGER greedy {when} INSERT ON {{0}}events FOR EACH ROW "
        "EXECUTE FUNCTION {0}meddle()",
    )


@pytest.mark.parametrize("what", ["delete", "update", "ignore"])
def test_a_study_with_a_trigger_is_refused_and_salvaged_without_it(where, log, tmp_path, what):
    tell(log)
    plant_trigger(log, what)
    log.close()
    for writable in (True, False):
        with pytest.raises(Damaged, match="it has the trigger 'greedy', which no study has"):
            Log.open(where, writable=writable)
    assert salvage(where, tmp_path / "saved.db").sentence.endswith("were kept, none was lost")
    assert tell(Log.open(tmp_path / "saved.db")).seq == 4


@pytest.mark.parametrize("what", ["delete", "update", "ignore"])
def test_what_a_trigger_changes_while_a_study_is_open_is_not_acknowledged(where, log, what):
    tell(log)
    events = log.events()
    plant_trigger(log, what)
    with pytest.raises(Damaged, match="was changed while it was written; nothing was written"):
        tell(log)
    assert log.events() == events


def test_a_head_that_a_trigger_moves_back_is_not_acknowledged(tmp_path):
    log = Log.create(tmp_path / "films.db", CREATED, TABLE)
    tell(log)
    plant_trigger(log, "head")
    with pytest.raises(Damaged, match="was changed while it was written"):
        tell(log)
    assert len(log.events()) == 2


def test_what_was_written_is_read_again_by_one_statement(tmp_path, monkeypatch):
    sent = []

    def note(connection, text, *values):
        sent.append(text.split()[0])
        return send(connection, text, *values)

    log = Log.create(tmp_path / "films.db", CREATED, TABLE)
    monkeypatch.setattr("kernelbandits.storage.statements.send", note)
    tell(log)
    assert [one for one in sent if one != "PRAGMA"][-4:] == ["INSERT", "UPDATE", "SELECT", "COMMIT"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CREATE VIEW extra AS SELECT * FROM events", "view"),
        ("CREATE TABLE extra (x)", "table"),
        ("CREATE INDEX extra ON events (value)", "index"),
        ("CREATE VIRTUAL TABLE extra USING fts5 (x)", "table"),
    ],
)
def test_a_file_with_what_no_study_has_is_refused(tmp_path, text, kind):
    path = tmp_path / "films.db"
    log = Log.create(path, CREATED, TABLE)
    execute(log, text)
    log.close()
    with pytest.raises(Damaged, match=f"it has the {kind} 'extra"):
        Log.open(path)


def test_the_statistics_that_sqlite_keeps_are_of_no_other_program(tmp_path):
    log = Log.create(tmp_path / "films.db", CREATED, TABLE)
    execute(log, "ANALYZE")
    log.close()
    assert len(Log.open(tmp_path / "films.db").events()) == 1


def test_a_rule_on_a_server_is_refused(database, tmp_path):
    where = f"{database}&study=ruled"
    log = Log.create(where, CREATED, TABLE)
    execute(log, "CREATE RULE quiet AS ON INSERT TO {}events DO INSTEAD NOTHING")
    with pytest.raises(Damaged, match="was changed while it was written"):
        tell(log)
    with pytest.raises(Damaged, match="it has the rule 'quiet', which no study has"):
        Log.open(where)


def test_a_view_beside_the_tables_of_a_server_is_none_of_our_business(database):
    where = f"{database}&study=viewed"
    log = Log.create(where, CREATED, TABLE)
    execute(log, "CREATE VIEW {0}best AS SELECT max(value) FROM {0}events")
    assert tell(Log.open(where)).seq == 2


def test_nobody_writes_onto_a_damaged_end(where, log):
    tell(log)
    execute(log, "UPDATE {}head SET seq = 1")
    with pytest.raises(Damaged, match="head and last event do not fit"):
        tell(log)


def test_events_of_a_damaged_server_are_saved_to_a_file(where, log, tmp_path):
    for trial in range(10):
        tell(log, trial)
    execute(log, "UPDATE {}events SET value = 9.0 WHERE seq = 4")
    saved = salvage(where, tmp_path / "saved.db")
    assert (saved.events, saved.lost) == (10, (4,))
    assert saved.sentence.endswith("were kept, 1 lost: 4")
    assert [event.trial for event in Log.open(tmp_path / "saved.db").events()][4:11] == list(
        range(3, 10)
    )


def test_an_event_that_took_the_place_of_another_is_not_called_whole(where, log, tmp_path):
    for trial in range(6):
        tell(log, trial)
    third = log.events()[2]
    row = build_row(Draft(kind="told", trial=9, row=1, value=9.0), 4, third.at, third.check)
    execute(log, "DELETE FROM {}events WHERE seq = 4", insert_event(row))
    saved = salvage(where, tmp_path / "saved.db")
    assert (saved.events, saved.lost) == (6, (4,))
    assert saved.sentence.endswith("were kept, 1 lost: 4")


def test_a_last_event_that_the_head_does_not_name_is_not_called_whole(where, log, tmp_path):
    tell(log, 1)
    before = log.events()[0]
    row = build_row(Draft(kind="told", trial=9, row=1, value=9.0), 2, before.at, before.check)
    execute(log, "DELETE FROM {}events WHERE seq = 2", insert_event(row))
    saved = salvage(where, tmp_path / "saved.db")
    assert (saved.events, saved.lost, saved.end_known) == (2, (), False)
    assert "none was lost" not in saved.sentence


def insert_event(row: tuple[Any, ...]) -> str:
    values = ", ".join("NULL" if value is None else repr(value) for value in row)
    return "INSERT INTO {}events VALUES (" + values.replace("{}", "{{}}") + ")"


def test_a_log_whose_head_is_lost_is_not_called_whole(where, log, tmp_path):
    for trial in range(6):
        tell(log, trial)
    execute(log, "DELETE FROM {}events WHERE seq > 5", "DELETE FROM {}head")
    saved = salvage(where, tmp_path / "saved.db")
    assert "none was lost" not in saved.sentence
    assert saved.sentence.endswith("later ones may be lost, because the head of the log is")
    assert not saved.end_known


def test_a_study_of_which_only_the_header_is_left_can_be_used(where, log, tmp_path):
    tell(log)
    execute(log, "DELETE FROM {}events", "DELETE FROM {}head")
    saved = salvage(where, tmp_path / "saved.db")
    assert (saved.events, saved.lost, saved.end_known) == (0, (1,), False)
    events = Log.open(tmp_path / "saved.db").events()
    assert [(event.kind, event.body) for event in events] == [
        ("created", CREATED.body),
        ("noted", {"salvaged": saved.sentence}),
    ]


def test_a_head_far_beyond_all_events_is_not_believed():
    first = build_row(CREATED, 1, 1.5, "0" * 16)
    assert find_end([(10**17, "f" * 16)], {1: first}) is None
    assert find_end([(40, "f" * 16)], {1: first}) == 40
    assert find_end([(40, first[-1])], {1: first}) == 1


def test_a_backup_that_was_put_back_is_seen_by_who_knows_more(tmp_path):
    path, copy = tmp_path / "films.db", tmp_path / "copy.db"
    log = Log.create(path, CREATED, TABLE)
    tell(log, 1)
    write_backup(log, copy)
    later = tell(log, 2)
    log.close()
    os.replace(copy, path)
    with pytest.raises(Damaged, match="was a backup put back"):
        log.events(later)
    other = tell(log, 3)
    assert other.seq == later.seq
    for trial in (4, 5):
        with pytest.raises(Damaged, match="was a backup put back"):
            log.events(later)
        tell(log, trial)


def test_a_file_without_its_journal_is_seen(tmp_path):
    """Somebody copied the file in the middle of a large write, or removed the journal after a crash."""
    path, kept = tmp_path / "films.db", tmp_path / "kept.db"
    log = Log.create(path, CREATED, TABLE)
    for trial in range(20):
        tell(log, trial)
    events, cells = log.events(), log.columns()
    with pytest.raises(ZeroDivisionError):
        spill(log, lambda: (copy_now(path, kept), 1 / 0))
    assert seen(kept, events, cells)
    assert log.events() == events


def spill(log: Log, then: Callable[[], Any]) -> None:
    """Make more changes than the cache holds, so that some reach the file before the commit."""
    changes = [
        f"UPDATE {table} SET {column} = printf('%.3000c', 'x')"
        for table, column in (("events", "worker"), ("candidates", "cells"), ("study", "created"))
    ]
    for transaction in log.database.transactions():
        with transaction:
            for text in ("PRAGMA cache_size = 2", *changes):
                send(transaction.connection, text)
            then()


def copy_now(path: Path, kept: Path) -> None:
    shutil.copy(path, kept)
    assert path.with_name(path.name + "-journal").exists()


def crash(log: Log) -> None:
    """Somebody is killed in the middle of a commit."""

    def work() -> None:
        spill(log, lambda: os.kill(os.getpid(), signal.SIGKILL))

    assert ended_by(work) == signal.SIGKILL


def test_a_journal_that_was_left_by_a_crash_is_used(tmp_path):
    path = tmp_path / "films.db"
    log = Log.create(path, CREATED, TABLE)
    tell(log)
    events = log.events()
    crash(log)
    saved = salvage(path, tmp_path / "saved.db")
    assert (saved.events, saved.lost) == (2, ())
    assert Log.open(path).events() == events


def test_a_reader_ends_what_was_begun_by_who_was_killed(tmp_path):
    path = tmp_path / "films.db"
    log = Log.create(path, CREATED, TABLE)
    tell(log)
    events = log.events()
    log.close()
    crash(log)
    assert Log.open(path, writable=False).events() == events
    assert tell(log).seq == 3


def test_who_reads_writes_nothing(tmp_path):
    log = Log.create(tmp_path / "films.db", CREATED, TABLE)
    reader = Log.open(tmp_path / "films.db", writable=False)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        send(reader.database._open(), "DELETE FROM events")
    assert reader.events() == log.events()


# Power


class Disk:
    """Files as they are, and as a power cut would leave them.

    What was not synced is gone, and what was deleted without a sync of the directory is back.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytearray] = {}
        self.safe: dict[str, bytes] = {}
        self.images: list[dict[str, bytes]] = []

    def touched(self) -> None:
        self.images.append(dict(self.safe))


class DiskFile:
    def __init__(self, disk: Disk, name: str) -> None:
        self.disk, self.name = disk, name
        self.data = disk.files.setdefault(name, bytearray())

    def xRead(self, amount: int, offset: int) -> bytes:
        return bytes(self.data[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        self.data.extend(bytes(max(0, offset + len(data) - len(self.data))))
        self.data[offset : offset + len(data)] = data
        self.disk.touched()

    def xTruncate(self, size: int) -> None:
        del self.data[size:]
        self.disk.touched()

    def xSync(self, flags: int) -> None:
        self.disk.safe[self.name] = bytes(self.data)
        self.disk.touched()

    def xFileSize(self) -> int:
        return len(self.data)

    def xClose(self) -> None: ...

    def xLock(self, level: int) -> None: ...

    def xUnlock(self, level: int) -> None: ...

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, operation: int, pointer: int) -> bool:
        return False

    def xSectorSize(self) -> int:
        return 512

    def xDeviceCharacteristics(self) -> int:
        return 0


class DiskVFS(apsw.VFS):
    def __init__(self, name: str, disk: Disk) -> None:
        self.disk = disk
        super().__init__(name, "")

    def xFullPathname(self, name: str) -> str:
        return name

    def xOpen(self, name: Any, flags: list[int]) -> DiskFile:
        flags[1] = flags[0]
        return DiskFile(
            self.disk,
            name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary",
        )

    def xAccess(self, name: str, flags: int) -> bool:
        return name in self.disk.files

    def xDelete(self, name: str, sync: bool) -> None:
        if name not in self.disk.files:
            raise apsw.IOError("no such file")
        del self.disk.files[name]
        if sync:
            self.disk.safe.pop(name, None)
        self.disk.touched()

    def xRandomness(self, amount: int) -> bytes:
        return random.Random(amount).randbytes(amount)

    def xSleep(self, microseconds: int) -> int:
        return microseconds

    def xCurrentTime(self) -> float:
        return 2460000.5

    def xGetLastError(self) -> tuple[int, str]:
        return 0, ""


@pytest.fixture(scope="module")
def statements(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Any]]:
    """What our engine says to SQLite while a study is created, opened and told ten results."""
    said: list[tuple[str, Any]] = []

    deafen = listen(BEFORE, lambda statement, values: said.append((statement, values)))
    log = Log.create(tmp_path_factory.mktemp("power") / "films.db", CREATED, TABLE)
    for trial in range(10):
        tell(log, trial, body={"note": "x" * 1000})
    deafen()
    return said


def acknowledged_and_kept(
    said: list[tuple[str, Any]], synchronous: str | None
) -> Iterator[tuple[int, int]]:
    """For a power cut after each step of the disk: how many events were acknowledged by then, and how many are left."""
    disk, marks = Disk(), []
    vfs = DiskVFS("power", disk)
    connection = apsw.Connection("films.db", vfs="power")
    commits = 0
    for statement, parameters in said:
        if synchronous and statement.startswith("PRAGMA synchronous"):
            statement = f"PRAGMA synchronous = {synchronous}"
        many = isinstance(parameters, list)
        (connection.executemany if many else connection.execute)(
            statement, parameters or None if not many else parameters
        )
        marks += [commits] * (len(disk.images) - len(marks))
        commits += statement == "COMMIT"
        disk.touched()
        marks.append(commits)
    connection.close()
    del vfs
    for number, (image, acknowledged) in enumerate(zip(disk.images, marks, strict=True)):
        yield acknowledged, events_after(image, number)


def events_after(image: dict[str, bytes], number: int) -> int:
    disk = Disk()
    disk.files = {name: bytearray(data) for name, data in image.items()}
    vfs = DiskVFS(f"after{number}", disk)
    connection = apsw.Connection("films.db", vfs=f"after{number}")
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'head'").fetchall():
            return 0
        seq = connection.execute("SELECT seq FROM head").fetchall()[0][0]
        assert connection.execute("SELECT count(*) FROM events").fetchall() == [(seq,)]
        return int(seq)
    finally:
        connection.close()
        del vfs


def test_what_was_acknowledged_survives_a_power_cut_at_any_moment(statements):
    outcomes = list(acknowledged_and_kept(statements, None))
    assert outcomes[-1] == (11, 11)
    assert len(outcomes) > 100
    assert all(acknowledged <= kept for acknowledged, kept in outcomes)


@pytest.mark.parametrize("synchronous", ["OFF", "NORMAL", "FULL"])
def test_with_a_laxer_setting_a_power_cut_takes_what_was_acknowledged(statements, synchronous):
    """So the test above can fail, and EXTRA is needed."""
    try:
        outcomes = list(acknowledged_and_kept(statements, synchronous))
    except (AssertionError, apsw.CorruptError):
        return
    assert any(acknowledged > kept for acknowledged, kept in outcomes)
