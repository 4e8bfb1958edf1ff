"""The log of a study: what is written is read, in SQLite and in PostgreSQL alike."""

from __future__ import annotations

import errno
import gc
import math
import multiprocessing
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
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
    StorageFull,
    StorageReadOnly,
    StudyExists,
    salvage,
    statements,
)
from kernelbandits.storage.mounts import network_mount
from kernelbandits.storage.places import FilePlace, ServerPlace, find
from kernelbandits.storage.sqlite import SqliteBackend
from wire import append, execute, tell, write

fork = multiprocessing.get_context("fork")

CREATED = Draft(kind="created", body={"seed": 7})
TABLE = {"Cs": [0.1, 0.2, 0.3], "T (°C)": ["20", "ä;\n\"'", ""]}


@pytest.fixture
def log(where: str) -> Log:
    return Log.create(where, CREATED, TABLE)


def test_a_study_that_is_opened_has_what_it_was_created_with(where, log):
    again = Log.open(where)
    assert again.names == log.names == tuple(TABLE)
    assert again.columns() == log.columns() == TABLE
    assert again.fingerprint == log.fingerprint
    assert [event.body for event in again.events()] == [{"seed": 7}]


def test_what_append_returns_is_what_everybody_reads(where, log):
    body = {
        "x": (1, 2.5),
        "n": np.int64(3),
        "v": np.array([0.1, 0.2]),
        "b": np.bool_(True),
        "text": "ä\0\ud800",
    }
    event = tell(log, 17, 0.1 + 0.2, key="k", worker="w", body=body)
    assert event == log.events()[-1] == Log.open(where).events()[-1]
    assert (event.seq, event.kind, event.trial, event.row, event.value) == (
        2,
        "told",
        17,
        0,
        0.1 + 0.2,
    )
    assert event.body == {"x": [1, 2.5], "n": 3, "v": [0.1, 0.2], "b": True, "text": "ä\0\ud800"}


@pytest.mark.parametrize(
    "value", [5e-324, -1.7976931348623157e308, 1e-300, math.pi, 3, np.float32(0.1), np.int8(-3)]
)
def test_numbers_come_back_to_the_last_bit(log, value):
    tell(log, value=value)
    read = log.events()[-1].value
    assert type(read) is float
    assert read == float(value)


def test_minus_zero_is_stored_as_zero(log):
    assert math.copysign(1.0, tell(log, value=-0.0).value) == 1.0
    assert math.copysign(1.0, log.events()[-1].value) == 1.0


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


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, {1, 2}, object(), np.array([math.nan]), 1j, b"bytes"]
)
def test_a_body_that_json_has_not_is_refused_and_nothing_is_written(log, bad):
    with pytest.raises(ValueError, match="an event needs a body of finite numbers and text"):
        tell(log, body={"note": bad})
    assert len(log.events()) == 1


def test_nothing_is_written_if_the_work_raises(log):
    def work(turn: Any) -> None:
        append(turn, Draft(kind="told", trial=1, row=0, value=1.0))
        raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError, match="changed my mind"):
        write(log, work)
    assert len(log.events()) == 1
    assert tell(log).seq == 2


def test_events_are_numbered_without_gaps_whoever_writes(where, log):
    other = Log.open(where)
    for trial in range(5):
        tell(log, trial)
        tell(other, trial)
    assert [event.seq for event in log.events()] == list(range(1, 12))
    assert log.events() == other.events()


def test_later_events_are_those_after_the_one_given(log):
    written = [log.events()[0], *(tell(log, trial) for trial in range(4))]
    for number, event in enumerate(written):
        assert log.events(event) == written[number + 1 :]


def test_a_turn_sees_all_that_is_stored_and_all_that_it_appended(where, log):
    last = log.events()[-1]
    write(Log.open(where), lambda turn: append(turn, Draft(kind="asked", trial=1, row=2)))

    def work(turn: Any) -> list[Event]:
        first = append(turn, Draft(kind="told", trial=1, row=2, value=0.1))
        append(turn, Draft(kind="failed", trial=2, row=2))
        assert [event.kind for event in turn.events(first)] == ["failed"]
        assert [event.kind for event in turn.events()] == ["created", "asked", "told", "failed"]
        return turn.events(last)

    assert [event.seq for event in write(log, work)] == [2, 3, 4]
    assert [event.kind for event in log.events(last)] == ["asked", "told", "failed"]


def test_times_are_those_of_the_database(log):
    before = time.time()
    event = write(log, lambda turn: (append(turn, Draft(kind="told", trial=1)), turn.now))
    assert event[0].at == event[1]
    assert before - 1 <= event[1] <= log.now() + 0.001 <= time.time() + 1


def test_a_clock_that_goes_backwards_orders_nothing(where, log, monkeypatch):
    tell(log, 1)
    other = Log.open(where)
    head = other._backend.statements.head
    for clock in (statements.SQLITE_TIME, statements.POSTGRES_TIME):
        head = head.replace(clock, "12.5::float8" if "::" in clock else "12.5")
    monkeypatch.setattr(other._backend, "statements", replace(other._backend.statements, head=head))
    late = tell(other, 2)
    assert (late.seq, late.at) == (3, 12.5)
    assert [event.trial for event in log.events()] == [None, 1, 2]


def test_a_second_study_at_the_same_place_is_refused_and_the_first_stays(where, log):
    tell(log)
    with pytest.raises(StudyExists, match=r"there is a study at .* already") as refusal:
        Log.create(where, CREATED, TABLE)
    assert isinstance(refusal.value, kb.checks.StudyConflict)
    assert len(log.events()) == 2


def test_there_is_no_study_where_none_was_created(where):
    for writable in (True, False):
        with pytest.raises(NoStudy, match="there is no study"):
            Log.open(where, writable=writable)
    assert not Path(where).exists()


def test_a_study_begins_with_its_creation_and_a_table_of_text(where):
    with pytest.raises(ValueError, match='a new study needs a first event of kind "created", got'):
        Log.create(where, Draft(kind="told"), TABLE)
    for bad in ("\0", "\ud800", "\udc00\ud800"):
        with pytest.raises(ValueError, match="row 1 needs plain text as 'x', got"):
            Log.create(where, CREATED, {"x": ["\\u0000 \U0001f600", bad]})
    with pytest.raises(ValueError, match="a study needs columns of the same length, got"):
        Log.create(where, CREATED, {"x": [1.0], "y": [1.0, 2.0]})
    with pytest.raises(ValueError, match="row 0 needs a number or text as 'x', got 1"):
        Log.create(where, CREATED, {"x": [1]})
    with pytest.raises(ValueError, match="column 'x' needs finite numbers, got others"):
        Log.create(where, CREATED, {"x": [math.nan]})
    with pytest.raises(ValueError, match="a study needs names of columns, or a space, got"):
        Log.create(where, CREATED, {})
    with pytest.raises(NoStudy):
        Log.open(where)


def test_whatever_the_text_it_is_data_and_never_sql(where):
    nasty = [
        "'; DROP TABLE events; --",
        '"; DELETE FROM head; --',
        "%s %(after)s :after ?",
        "$$",
        "\\",
        "{}",
        "名\u202e",
    ]
    log = Log.create(
        where,
        Draft(kind="created", body={text: text for text in nasty}),
        {text: [text, text[::-1], "😀"] for text in nasty},
    )
    for text in nasty:
        tell(log, key=text, worker=text, body={"text": text})
    again = Log.open(where)
    assert again.names == tuple(nasty)
    assert again.columns() == {text: [text, text[::-1], "😀"] for text in nasty}
    assert [(event.key, event.worker, event.body["text"]) for event in again.events()[1:]] == [
        (t, t, t) for t in nasty
    ]


def test_a_reader_may_not_write(where, log):
    reader = Log.open(where, writable=False)
    with pytest.raises(StorageReadOnly, match="was opened for reading only"):
        tell(reader)
    tell(log)
    assert reader.events() == log.events()
    assert reader.now() > 0


def test_a_log_closes_and_opens_again_when_it_is_needed(log):
    with log as same:
        tell(same)
    assert len(log.events()) == 2


def test_several_threads_share_one_log(log):
    threads = [
        threading.Thread(target=lambda: [tell(log, trial) for trial in range(10)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(log.events()) == 41


def test_a_child_process_opens_a_connection_of_its_own(log):
    tell(log, 1)
    child = os.fork()
    if child == 0:
        try:
            tell(log, 2)
            log.events()
        finally:
            os._exit(0)
    tell(log, 3)
    assert os.waitpid(child, 0)[1] == 0
    assert sorted(event.trial for event in log.events()[1:]) == [1, 2, 3]
    tell(log, 4)


def test_a_child_that_ends_in_order_leaves_the_connection_of_its_parent_alone(where, log, tmp_path):
    code = (
        "import os, sys\nfrom kernelbandits.storage import Draft, Log\n"
        "log = Log.open(sys.argv[1]); connection = log._session._open()\n"
        "if os.fork() == 0:\n    log.events(); log.close(); sys.exit(0)\n"
        "os.wait()\nfor turn in log.turns():\n    with turn: turn.append([Draft(kind='told', trial=1)])\n"
        "assert log._session._open() is connection\n"
    )
    subprocess.run([sys.executable, "-c", code, where], check=True)
    assert len(log.events()) == 2


def compete(me: int, where: str, rounds: int) -> list[tuple[int, float]]:
    """Tell each trial unless somebody did; returns what was told."""
    log, told = Log.open(where), []
    for trial in range(1, rounds + 1):

        def work(turn: Any, trial: int = trial) -> bool:
            taken = any(event.trial == trial for event in turn.events())
            if not taken:
                append(turn, Draft(kind="told", trial=trial, row=0, value=float(me)))
            return not taken

        if write(log, work):
            told.append((trial, float(me)))
    return told


def outcomes(target: Any, crowd: int, *given: Any) -> list[Any]:
    """What each of a crowd of processes says, all at once."""
    with fork.Pool(crowd) as pool:
        return pool.starmap(target, [(me, *given) for me in range(crowd)], chunksize=1)


def test_of_two_processes_that_tell_one_trial_exactly_one_wins(where, log):
    rounds = 40
    claims = [claim for told in outcomes(compete, 2, where, rounds) for claim in told]
    assert sorted(trial for trial, _ in claims) == list(range(1, rounds + 1))
    assert sorted(claims) == sorted((event.trial, event.value) for event in log.events()[1:])


def found(me: int, where: str) -> int | None:
    try:
        Log.create(where, Draft(kind="created", body={"by": me}), TABLE)
    except StudyExists:
        return None
    return me


def test_of_sixteen_who_create_a_study_at_once_one_does(where):
    winners = [me for me in outcomes(found, 16, where) if me is not None]
    assert [event.body["by"] for event in Log.open(where).events()] == winners


def test_a_backup_is_the_same_study_in_a_file_of_its_own(log, tmp_path):
    for trial in range(20):
        tell(log, trial, value=trial / 7, body={"note": "ä" * trial})
    log.backup(tmp_path / "copy.db")
    copy = Log.open(tmp_path / "copy.db")
    assert copy.events() == log.events()
    assert copy.columns() == log.columns()
    assert tell(copy).seq == 22
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_backup_may_go_to_a_disk_without_hard_links(log, tmp_path, monkeypatch):
    def refuse(source: Any, target: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    log.backup(tmp_path / "copy.db")
    assert Log.open(tmp_path / "copy.db").events() == log.events()
    (tmp_path / "taken.db").touch()
    with pytest.raises(StudyExists):
        log.backup(tmp_path / "taken.db")
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def no_links(meanwhile: Any) -> Any:
    """os.link on a disk that has none."""

    def link(source: Any, target: Any) -> None:
        meanwhile(Path(target))
        raise PermissionError(errno.EPERM, "Operation not permitted")

    return link


def test_a_name_that_is_taken_while_a_backup_is_written_is_left_as_it_is(
    log, tmp_path, monkeypatch
):
    def other(target: Path) -> None:
        target.write_text("mine")

    monkeypatch.setattr(os, "link", no_links(other))
    with pytest.raises(StudyExists, match=r"copy\.db exists already"):
        log.backup(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "mine"


def test_nobody_begins_a_study_under_the_name_of_a_backup_that_is_put_in_its_place(
    log, tmp_path, monkeypatch
):
    replace, heard = os.replace, []

    def late(source: Any, target: Any) -> None:
        with pytest.raises(StorageError, match="left as it is") as error:
            Log.create(target, CREATED, TABLE)
        heard.append(error.value)
        replace(source, target)

    monkeypatch.setattr(os, "link", no_links(lambda target: None))
    monkeypatch.setattr(os, "replace", late)
    log.backup(tmp_path / "copy.db")
    assert len(heard) == 1
    assert Log.open(tmp_path / "copy.db").events() == log.events()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EROFS, StorageReadOnly),
        (errno.EACCES, StorageReadOnly),
        (5, StorageError),
    ],
)
def test_a_backup_that_cannot_be_put_in_its_place_is_one_sentence_and_leaves_nothing(
    log, tmp_path, monkeypatch, code, kind
):
    def refuse(source: Any, target: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(
        StorageError, match=rf"copy\.db cannot be written: {os.strerror(code)}$"
    ) as error:
        log.backup(tmp_path / "copy.db")
    assert type(error.value) is kind
    assert {path.name for path in tmp_path.iterdir()} <= {"films.db"}


def test_a_backup_refuses_what_is_there_and_leaves_nothing_half_written(log, tmp_path):
    target = tmp_path / "copy.db"
    target.write_text("mine")
    with pytest.raises(StudyExists, match=r"copy\.db exists already"):
        log.backup(target)
    with pytest.raises(StudyExists, match=r"copy\.db exists already"):
        salvage(tmp_path / "films.db", target)
    with pytest.raises(StorageError, match="there is no directory"):
        log.backup(tmp_path / "nowhere" / "copy.db")
    assert target.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} <= {"copy.db", "films.db"}


def test_a_sound_study_has_a_clean_bill_of_health(where, log):
    tell(log)
    findings = log.health()
    assert [finding.sentence for finding in findings if not finding.ok] == []
    assert "2 events, all checksums hold" in [finding.sentence for finding in findings]
    assert "3 candidates, all checksums hold" in [finding.sentence for finding in findings]
    assert {finding.what for finding in findings} >= {"events", "candidates", "version"}
    assert [finding.what for finding in Log.open(where, writable=False).health()] == [
        one.what for one in findings
    ]


def test_a_sick_study_is_told_apart(where, log, tmp_path):
    tell(log)
    write(log, lambda turn: None)
    execute(log, "UPDATE {}events SET worker = 'x'")
    broken = [finding for finding in log.health() if not finding.ok]
    assert [finding.what for finding in broken] == ["events"]
    assert "salvage" in broken[0].sentence


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
    assert (place.study, place.url.password, place.url.host, place.url.port) == (
        "films",
        "s3cret",
        "db.lab",
        5433,
    )
    assert str(place) == "postgresql://ada:***@db.lab:5433/studies?study=films"
    assert "s3cret" not in repr(place)
    assert "study" not in place.url.query


def test_a_password_among_the_options_is_not_shown_either():
    place = find("postgresql://ada@db.lab/studies?password=s3cret&sslpassword=t0p")
    assert place.study == "kernelbandits"
    assert place.url.password == "s3cret"
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
    monkeypatch.setattr("kernelbandits.storage.backend.PATIENCE", 0.05)
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
    assert "s3cret" not in f"{log!r} {log.place} {log.health()}"
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
        SqliteBackend(tmp_path / "films.png", "read").connect()
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
    settings = ("journal_mode", "synchronous", "mmap_size", "application_id", "user_version")
    read = log._session.read(
        lambda connection: [statements.fetch_one(connection, f"PRAGMA {x}") for x in settings]
    )
    assert read == ["persist", 3, 0, 0x6B624C67, statements.VERSION]


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
            (journal,) = (one for one in reader.health() if one.what == "journal")
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
    for transaction in log._session.transactions():
        with transaction:
            read = [statements.fetch_one(transaction.connection, f"SHOW {x}") for x in shown]
    assert read == ["on", "read committed"]
    assert [finding.sentence for finding in log.health() if not finding.ok] == []


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
    monkeypatch.setattr("kernelbandits.storage.mounts.MOUNTS", tmp_path / "mounts")
    assert network_mount(Path(path)) == kind


def test_a_file_on_a_network_file_system_is_warned_of(monkeypatch, tmp_path):
    (tmp_path / "mounts").write_text("server:/ / nfs rw 0 0\n")
    monkeypatch.setattr("kernelbandits.storage.mounts.MOUNTS", tmp_path / "mounts")
    with pytest.warns(kb.DataNotice, match=r"films\.db is on a network file system \(nfs\)"):
        log = Log.create(tmp_path / "films.db", CREATED, TABLE)
    assert [finding.what for finding in log.health() if not finding.ok] == ["disk"]


def test_a_file_that_is_held_too_long_is_busy(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelbandits.storage.sqlite.BUSY_SECONDS", 0.05)
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
