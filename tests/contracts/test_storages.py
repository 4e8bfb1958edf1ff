"""One suite for every storage of studies: a new kind of place is tested without being asked."""

from __future__ import annotations

import errno
import math
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import kernelbandits as kb
from conftest import EMPTY_PLACES
from kernelbandits.storage import (
    Draft,
    Event,
    Log,
    NoStudy,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StudyExists,
    check_health,
    salvage,
    write_backup,
)
from kernelbandits.storage.places import Place
from wire import append, execute, tell, write

fork = multiprocessing.get_context("fork")

CREATED = Draft(kind="created", body={"seed": 7})
TABLE = {"Cs": [0.1, 0.2, 0.3], "T (°C)": ["20", "ä;\n\"'", ""]}


@pytest.fixture
def log(where: str) -> Log:
    return Log.create(where, CREATED, TABLE)


def test_the_suite_covers_every_kind_of_place():
    assert {kind for kind, _ in EMPTY_PLACES.values()} == set(get_args(Place))


def test_a_study_that_is_opened_has_what_it_was_created_with(where, log):
    again = Log.open(where)
    assert again.columns() == log.columns() == TABLE
    assert again.header == log.header
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


def test_a_clock_that_goes_backwards_orders_nothing(where, log):
    tell(log, 1)
    other = Log.open(where)
    clock = "12.5::float8" if where.startswith("postgresql") else "12.5"
    other.database.dialect = replace(other.database.dialect, now=clock)
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


@pytest.mark.thorough
def test_a_child_that_ends_in_order_leaves_the_connection_of_its_parent_alone(where, log, tmp_path):
    code = (
        "import os, sys\nfrom kernelbandits.storage import Draft, Log\n"
        "log = Log.open(sys.argv[1]); connection = log.database._open()\n"
        "if os.fork() == 0:\n    log.events(); log.close(); sys.exit(0)\n"
        "os.wait()\nfor turn in log.turns():\n    with turn: turn.append([Draft(kind='told', trial=1)])\n"
        "assert log.database._open() is connection\n"
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


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_of_sixteen_who_create_a_study_at_once_one_does(where):
    winners = [me for me in outcomes(found, 16, where) if me is not None]
    assert [event.body["by"] for event in Log.open(where).events()] == winners


def test_a_backup_is_the_same_study_in_a_file_of_its_own(log, tmp_path):
    for trial in range(20):
        tell(log, trial, value=trial / 7, body={"note": "ä" * trial})
    write_backup(log, tmp_path / "copy.db")
    copy = Log.open(tmp_path / "copy.db")
    assert copy.events() == log.events()
    assert copy.columns() == log.columns()
    assert tell(copy).seq == 22
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_backup_may_go_to_a_disk_without_hard_links(log, tmp_path, monkeypatch):
    def refuse(source: Any, target: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_backup(log, tmp_path / "copy.db")
    assert Log.open(tmp_path / "copy.db").events() == log.events()
    (tmp_path / "taken.db").touch()
    with pytest.raises(kb.StudyConflict):
        write_backup(log, tmp_path / "taken.db")
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
    with pytest.raises(kb.StudyConflict, match=r"copy\.db, which exists"):
        write_backup(log, tmp_path / "copy.db")
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
    write_backup(log, tmp_path / "copy.db")
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
        StorageError, match=r"a backup needs .* got .*copy\.db|got none left"
    ) as error:
        write_backup(log, tmp_path / "copy.db")
    assert type(error.value) is kind
    assert {path.name for path in tmp_path.iterdir()} <= {"films.db"}


def test_a_backup_refuses_what_is_there_and_leaves_nothing_half_written(log, tmp_path):
    target = tmp_path / "copy.db"
    target.write_text("mine")
    with pytest.raises(kb.StudyConflict, match=r"copy\.db, which exists"):
        write_backup(log, target)
    with pytest.raises(kb.StudyConflict, match=r"copy\.db, which exists"):
        salvage(tmp_path / "films.db", target)
    with pytest.raises(ValueError, match="a backup needs a folder that exists"):
        write_backup(log, tmp_path / "nowhere" / "copy.db")
    assert target.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} <= {"copy.db", "films.db"}


def test_a_sound_study_has_a_clean_bill_of_health(where, log):
    tell(log)
    findings = check_health(log)
    assert [finding.sentence for finding in findings if not finding.ok] == []
    assert "2 events, all checksums hold" in [finding.sentence for finding in findings]
    assert "3 candidates, all checksums hold" in [finding.sentence for finding in findings]
    assert {finding.what for finding in findings} >= {"events", "candidates", "version"}
    assert [finding.what for finding in check_health(Log.open(where, writable=False))] == [
        one.what for one in findings
    ]


def test_a_sick_study_is_told_apart(where, log, tmp_path):
    tell(log)
    write(log, lambda turn: None)
    execute(log, "UPDATE {}events SET worker = 'x'")
    broken = [finding for finding in check_health(log) if not finding.ok]
    assert [finding.what for finding in broken] == ["events"]
    assert "salvage" in broken[0].sentence
