"""Flipped bits, lost pages, power cuts: what is damaged is seen, what is intact is saved, what was written stays."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from kernelbandits.storage import Damaged, Draft, Event, Log, NoStudy, StorageError, salvage
from kernelbandits.storage.statements import send
from wire import BEFORE, execute, listen, tell

CREATED = Draft(kind="created", body={"seed": 7})
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


def test_a_flipped_bit_is_seen_or_harmless_and_costs_one_event_at_most(sample, tmp_path):
    source, events, cells = sample
    original, rng, noticed = source.read_bytes(), random.Random(3), 0
    for flip in range(60):
        path = tmp_path / f"{flip}.db"
        damaged = bytearray(original)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        if seen(path, events, cells):
            noticed += 1
            assert_saved(path, tmp_path / f"{flip}-saved.db", events, cells, most=1)
    assert noticed > 10


def test_the_header_of_the_file_may_be_damaged_anywhere(sample, tmp_path):
    source, events, cells = sample
    original = source.read_bytes()
    for offset in range(0, 100, 3):
        path = tmp_path / f"{offset}.db"
        path.write_bytes(
            original[:offset] + bytes([original[offset] ^ 0x11]) + original[offset + 1 :]
        )
        if seen(path, events, cells):
            assert_saved(path, tmp_path / f"{offset}-saved.db", events, cells, most=0)


def test_a_page_whose_own_header_is_gone_costs_nothing(sample, tmp_path):
    source, events, cells = sample
    original, noticed = source.read_bytes(), 0
    for start in range(4096, len(original), 4096):
        path = tmp_path / f"{start}.db"
        path.write_bytes(original[:start] + bytes(8) + original[start + 8 :])
        if seen(path, events, cells):
            noticed += 1
            assert_saved(path, tmp_path / f"{start}-saved.db", events, cells, most=1)
    assert noticed > 3


def test_a_page_that_is_gone_costs_only_what_was_on_it(sample, tmp_path):
    source, events, cells = sample
    original = source.read_bytes()
    for page in range(len(original) // 4096):
        path = tmp_path / f"{page}.db"
        path.write_bytes(original[: 4096 * page] + os.urandom(4096) + original[4096 * (page + 1) :])
        if seen(path, events, cells):
            assert_saved(path, tmp_path / f"{page}-saved.db", events, cells, most=40)


def assert_saved(
    path: Path, target: Path, events: list[Event], cells: list[Any], most: int
) -> None:
    saved = salvage(path, target)
    log = Log.open(target)
    assert log.columns() == cells
    old, new = {event.seq: event for event in events}, log.events()
    assert len(saved.lost) <= most
    assert saved.events + len(saved.lost) == len(events)
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


def test_a_file_that_was_cut_off_is_seen(sample, tmp_path):
    source, events, cells = sample
    original, rng = source.read_bytes(), random.Random(4)
    for cut_off in range(40):
        path = tmp_path / f"{cut_off}.db"
        path.write_bytes(original[: rng.randrange(len(original))])
        assert seen(path, events, cells)
    path.write_bytes(original[: len(original) - 4096])
    saved = salvage(path, tmp_path / "saved.db", table=cells)
    assert saved.events + len(saved.lost) <= len(events)
    assert saved.events > 20
    assert Log.open(tmp_path / "saved.db").columns() == cells


def test_what_cannot_be_saved_is_said(sample, tmp_path):
    source, _, cells = sample
    (tmp_path / "noise.db").write_bytes(random.Random(1).randbytes(50_000))
    with pytest.raises(Damaged, match="cannot be saved: the event that created it is lost"):
        salvage(tmp_path / "noise.db", tmp_path / "saved.db")
    with pytest.raises(Damaged, match="needs its table of candidates again"):
        salvage(source, tmp_path / "saved.db", table={"Cs": cells["Cs"][1:], "FA": cells["FA"][1:]})
    with pytest.raises(NoStudy, match="there is no file"):
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
    "UPDATE {}study SET checksum = 'x'",
    "UPDATE {}study SET fingerprint = 'x'",
    'UPDATE {}study SET columns = \'["a","b"]\'',
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
    assert saved.sentence.endswith("were kept, lost: 4")
    assert [event.trial for event in Log.open(tmp_path / "saved.db").events()][4:11] == list(
        range(3, 10)
    )


def test_a_backup_that_was_put_back_is_seen_by_who_knows_more(tmp_path):
    path, copy = tmp_path / "films.db", tmp_path / "copy.db"
    log = Log.create(path, CREATED, TABLE)
    tell(log, 1)
    log.backup(copy)
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
        for table, column in (("events", "worker"), ("candidates", "cells"), ("spare", "cells"))
    ]
    for transaction in log._session.transactions():
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
        send(reader._session._open(), "DELETE FROM events")
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
