"""Events, places, and what is particular to a file and to PostgreSQL; tests/contracts/test_storages.py has what they share."""

from __future__ import annotations

import gc
import math
import os
import re
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest

import kernelbandits as kb
from kernelbandits.storage import (
    KINDS,
    Draft,
    Event,
    Log,
    NoStudy,
    StorageBusy,
    StorageError,
    check_health,
    statements,
)
from kernelbandits.storage.places import FilePlace, ServerPlace, find
from kernelbandits.storage.sqlite import SqliteDatabase, network_mount
from wire import append, tell, write

CREATED = Draft(kind="created", body={"seed": 7})
TABLE = {"Cs": [0.1, 0.2, 0.3], "T (°C)": ["20", "ä;\n\"'", ""]}


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, True, np.bool_(False), "1.5", 1j, [1.0], 10**400]
)
def test_what_is_not_a_finite_number_is_no_value(value):
    with pytest.raises(ValueError, match="an event needs a finite number value, got"):
        Draft(kind="told", value=value)


@pytest.mark.parametrize("field", ["trial", "row"])
@pytest.mark.parametrize("value", [-1, 1.0, True, "1", 2**63, np.float64(2)])
def test_trials_and_rows_are_whole_numbers_that_a_column_holds(field, value):
    with pytest.raises(ValueError, match=f"an event needs a whole number {field} >= 0, got"):
        Draft(kind="told", **{field: value})


@pytest.mark.parametrize("field", ["key", "worker"])
@pytest.mark.parametrize("value", ["a\0b", "\ud800", b"bytes", 3])
def test_keys_and_workers_are_text_that_every_database_holds(field, value):
    with pytest.raises(ValueError, match=f"an event needs plain text as {field}, got"):
        Draft(kind="told", **{field: value})


def test_an_event_has_a_known_kind_and_a_mapping_as_body():
    assert [Draft(kind=kind).kind for kind in KINDS] == list(KINDS)
    with pytest.raises(ValueError, match="an event needs kind in"):
        Draft(kind="dropped")
    with pytest.raises(ValueError, match="an event needs a mapping as body, got"):
        Draft(kind="told", body=[1])


# Places


@pytest.mark.parametrize("text", ["films.db", "sqlite:///films.db", Path("films.db")])
def test_a_path_is_a_file(text):
    assert find(text) == FilePlace(Path("films.db"))


def test_a_file_may_have_any_name(tmp_path):
    assert find("sqlite:////data/films.db") == FilePlace(Path("/data/films.db"))
    for name in ("a b?mode=ro#x.db", "100%25.db", "ä&study=x", "-journal"):
        Log.create(tmp_path / name, CREATED, TABLE)
        assert (tmp_path / name).is_file()
        assert len(Log.open(tmp_path / name, writable=False).events()) == 1


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_an_address_is_a_schema_of_a_database_and_shows_no_password(scheme):
    place = find(f"{scheme}://ada:s3cret@db.lab:5433/studies?study=films&sslmode=require")
    assert isinstance(place, ServerPlace)
    assert (place.study, place.password, place.host, place.port) == (
        "films",
        "s3cret",
        "db.lab",
        5433,
    )
    assert str(place) == "postgresql://ada:***@db.lab:5433/studies?study=films"
    assert "s3cret" not in repr(place)
    assert "study" not in place.options


def test_a_password_among_the_options_is_not_shown_either():
    place = find("postgresql://ada@db.lab/studies?password=s3cret&sslpassword=t0p")
    assert place.study == "kernelbandits"
    assert place.password == "s3cret"
    assert not re.search("s3cret|t0p", f"{place} {place!r}")


@pytest.mark.parametrize(
    "name", ["Films", "1films", "a-b", "a b", "x" * 64, "pg_films", "films;drop", "ä"]
)
def test_the_name_of_a_study_in_postgresql_is_plain(name):
    with pytest.raises(ValueError, match="a study needs a name of small letters, digits and _"):
        find(f"postgresql://host/db?study={name}&x=")


@pytest.mark.parametrize(
    "bad",
    [
        "mysql://ada:s3cret@host/db",
        "postgresql://ada:s3cret@host:port/db",
        "http://x/?password=s3cret",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_password(bad):
    with pytest.raises(ValueError, match=r"a study needs .*postgresql://") as refusal:
        find(bad)
    assert "s3cret" not in str(refusal.value)
    assert refusal.value.__cause__ is None


@pytest.mark.parametrize("bad", ["", ":memory:", "a\0b", "sqlite://", 3, None])
def test_what_is_no_place_is_refused(bad):
    with pytest.raises(ValueError, match="a study needs"):
        find(bad)


def test_a_place_may_stand_in_the_environment(monkeypatch):
    monkeypatch.setenv("STUDY", "postgresql://ada:s3cret@host/db")
    assert find("env:STUDY") == find("postgresql://ada:s3cret@host/db")
    monkeypatch.setenv("STUDY", "env:STUDY")
    with pytest.raises(ValueError, match="env:STUDY needs a file or a postgresql:// address"):
        find("env:STUDY")
    with pytest.raises(
        ValueError, match="env:NOTHING needs a place in the environment variable NOTHING"
    ):
        find("env:NOTHING")


def test_without_its_driver_postgresql_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ValueError, match=r'pip install "\.\[postgres\]"'):
        Log.open("postgresql://host/db")


def test_a_server_that_is_not_there_is_one_sentence_without_a_password(monkeypatch):
    monkeypatch.setattr("kernelbandits.storage.database.PATIENCE", 0.05)
    with pytest.raises(StorageError) as error:
        Log.open("postgresql://ada:s3cret@127.0.0.1:1/db")
    assert "s3cret" not in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_log_and_place_are_printed_without_password(postgres):
    log = Log.create(
        postgres.replace("postgres:@", "postgres:s3cret@") + "&study=printed",
        CREATED,
        TABLE,
    )
    assert "s3cret" not in f"{log!r} {log.place} {check_health(log)}"
    assert "study=printed" in log.place


# Files


def test_a_file_of_somebody_else_is_refused_and_left_as_it_is(tmp_path):
    picture, other, marked = tmp_path / "films.png", tmp_path / "other.db", tmp_path / "marked.db"
    with closing(sqlite3.connect(marked)) as connection:
        connection.execute("PRAGMA application_id = 7")
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE events (x)")
    for path in (picture, other, marked):
        before = path.read_bytes()
        with pytest.raises(StorageError, match=r"left as (it is|they are)"):
            Log.create(path, CREATED, TABLE)
        with pytest.raises(StorageError, match=r"backup|another program|is empty"):
            Log.open(path)
        assert path.read_bytes() == before


def test_a_file_that_is_no_study_is_closed_again(tmp_path, monkeypatch):
    closed: list[Any] = []
    gc.collect()
    monkeypatch.setattr(
        "kernelbandits.storage.sqlite.SqliteConnection.close", lambda one: closed.append(id(one))
    )
    (tmp_path / "films.png").write_bytes(bytes(range(256)) * 20)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        SqliteDatabase(tmp_path / "films.png", "read").connect()
    assert len(closed) == 1


def test_tables_of_somebody_else_are_refused_and_left_as_they_are(postgres):
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA foreign_one; CREATE TABLE foreign_one.x (y int)")
    with pytest.raises(StorageError, match="holds tables of another program"):
        Log.create(f"{postgres}&study=foreign_one", CREATED, TABLE)
    with pytest.raises(NoStudy):
        Log.open(f"{postgres}&study=foreign_one")


def test_a_schema_that_is_there_and_empty_is_used(postgres):
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA empty_one")
    assert len(Log.create(f"{postgres}&study=empty_one", CREATED, TABLE).events()) == 1


def test_an_empty_file_is_no_study_yet_and_becomes_one(tmp_path):
    path = tmp_path / "films.db"
    path.touch()
    with pytest.raises(NoStudy, match="is empty, not a study"):
        Log.open(path)
    assert len(Log.create(path, CREATED, TABLE).events()) == 1


def test_a_directory_is_no_study(tmp_path):
    for use in (Log.open, lambda where: Log.create(where, CREATED, TABLE)):
        with pytest.raises(NoStudy, match="is a directory, not a study"):
            use(tmp_path)
    with pytest.raises(StorageError, match=r"there is no directory .*nowhere"):
        Log.create(tmp_path / "nowhere" / "films.db", CREATED, TABLE)


def as_nobody(work: Any) -> str:
    """What the work says when a user without rights does it: root may write everywhere."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            os.write(writing, str(work()).encode())
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.wait()
    with os.fdopen(reading) as pipe:
        return pipe.read()


@pytest.mark.thorough
@pytest.mark.parametrize("part", ["file", "directory"])
def test_what_is_not_writable_can_be_read_and_says_which_path_it_is(part):
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name, "films.db")
        Log.create(path, CREATED, TABLE).close()
        folder.chmod(0o555 if part == "directory" else 0o777)
        path.chmod(0o444 if part == "file" else 0o666)
        blocked = path if part == "file" else folder
        for writable in (True, False):
            log = Log.open(path, writable=writable)
            assert as_nobody(lambda log=log: (len(log.events()), len(log.columns()))) == "(1, 2)"
        assert as_nobody(lambda: tell(Log.open(path))).startswith(
            f"StorageReadOnly: {blocked} is not writable"
        )
        told = as_nobody(lambda: Log.create(folder / "new.db", CREATED, TABLE))
        assert part == "file" or told.startswith(f"StorageReadOnly: {folder} is not writable")
        assert len(Log.open(path).events()) == 1


def test_sqlite_is_set_to_lose_nothing(tmp_path):
    log = Log.create(tmp_path / "films.db", CREATED, TABLE)
    settings = ("journal_mode", "synchronous", "mmap_size", "application_id")
    read = log.database.read(
        lambda connection: [statements.fetch_one(connection, f"PRAGMA {x}") for x in settings]
    )
    assert read == ["persist", 3, 0, 0x6B624C67]


def test_who_is_kept_from_writing_by_a_write_ahead_log_is_told_at_once(tmp_path):
    path = tmp_path / "films.db"
    Log.create(path, CREATED, TABLE).close()
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute("PRAGMA journal_mode = WAL")
        foreign.execute("SELECT * FROM head").fetchall()
        with pytest.raises(
            StorageBusy, match="open in another program, which switched on a write-ahead log"
        ):
            Log.open(path)
        with Log.open(path, writable=False) as reader:
            (journal,) = (one for one in check_health(reader) if one.what == "journal")
        assert not journal.ok
        assert journal.sentence.endswith("the next write switches it off")
    assert tell(Log.open(path)).seq == 2


def test_a_write_ahead_log_that_somebody_began_is_ended(tmp_path):
    path = tmp_path / "films.db"
    tell(Log.create(path, CREATED, TABLE))
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute("PRAGMA journal_mode = WAL")
    log = Log.open(path)
    tell(log, 1)
    assert not path.with_name("films.db-wal").exists()
    log.close()
    assert [one.name for one in tmp_path.iterdir()] == ["films.db"]


@pytest.fixture
def careless(postgres: str) -> Iterator[str]:
    """A place in a database whose own settings would lose what is acknowledged, and refuse who writes second."""
    name = f"careless_{uuid4().hex}"
    settings = ("synchronous_commit TO off", "default_transaction_isolation TO 'serializable'")
    with closing(psycopg.connect(postgres, autocommit=True)) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        for setting in settings:
            connection.execute(f"ALTER DATABASE {name} SET {setting}")
        yield postgres.replace("/postgres?", f"/{name}?")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_postgresql_is_set_to_lose_nothing_whatever_the_database_is_set_to(careless):
    log = Log.create(careless, CREATED, TABLE)
    shown = ("synchronous_commit", "transaction_isolation")
    for transaction in log.database.transactions():
        with transaction:
            read = [statements.fetch_one(transaction.connection, f"SHOW {x}") for x in shown]
    assert read == ["on", "read committed"]
    assert [finding.sentence for finding in check_health(log) if not finding.ok] == []


@pytest.mark.thorough
def test_who_writes_second_sees_what_the_first_wrote_whatever_the_database_is_set_to(careless):
    log, runs = Log.create(careless, CREATED, TABLE), []
    inside = threading.Event()

    def first(turn: Any) -> None:
        inside.set()
        time.sleep(0.2)
        append(turn, Draft(kind="told", trial=1))

    def second(turn: Any) -> list[Event]:
        runs.append(turn)
        return turn.events()

    thread = threading.Thread(target=lambda: write(Log.open(careless), first))
    thread.start()
    assert inside.wait(30)
    assert [event.trial for event in write(log, second)] == [None, 1]
    thread.join()
    assert len(runs) == 1


def test_columns_are_strict(tmp_path):
    log = Log.create(tmp_path / "films.db", CREATED, TABLE)
    log.close()
    with (
        sqlite3.connect(tmp_path / "films.db") as connection,
        pytest.raises(sqlite3.IntegrityError, match="cannot store"),
    ):
        connection.execute("UPDATE events SET value = 'high'")


MOUNTS = """/dev/vda / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/vdb /home/local ext4 rw 0 0
//lab/share /mnt/lab\\040share cifs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/films.db", None),
        ("/home/ada/films.db", "nfs4"),
        ("/home/local/films.db", None),
        ("/homes/films.db", None),
        ("/mnt/lab share/films.db", "cifs"),
    ],
)
def test_a_network_file_system_is_recognised_by_the_table_of_mounts(
    path, kind, tmp_path, monkeypatch
):
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr("kernelbandits.storage.sqlite.MOUNTS", tmp_path / "mounts")
    assert network_mount(Path(path)) == kind


def test_a_file_on_a_network_file_system_is_warned_of(monkeypatch, tmp_path):
    (tmp_path / "mounts").write_text("server:/ / nfs rw 0 0\n")
    monkeypatch.setattr("kernelbandits.storage.sqlite.MOUNTS", tmp_path / "mounts")
    with pytest.warns(kb.DataNotice, match=r"films\.db is on a network file system \(nfs\)"):
        log = Log.create(tmp_path / "films.db", CREATED, TABLE)
    assert [finding.what for finding in check_health(log) if not finding.ok] == ["disk"]


def test_a_file_that_is_held_too_long_is_busy(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelbandits.storage.database.BUSY_SECONDS", 0.05)
    path = tmp_path / "films.db"
    log = Log.create(path, CREATED, TABLE)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageBusy, match="was held by others"):
            tell(log)
        assert len(log.events()) == 1
        other.execute("ROLLBACK")
    assert tell(log).seq == 2


def test_who_closes_in_order_leaves_one_file(tmp_path):
    log = Log.create(tmp_path / "films.db", Draft(kind="created"), {"Cs": [0.1]})
    write(log, lambda turn: append(turn, Draft(kind="noted")))
    log.close()
    assert [path.name for path in tmp_path.iterdir()] == ["films.db"]
