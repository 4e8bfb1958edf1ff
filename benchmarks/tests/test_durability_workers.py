"""Several processes on one study, and processes that are interrupted: what each of them may rely on."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import kernelbandits as kb
from benchmarks.durability import records, tasks
from benchmarks.durability.films import simplex
from benchmarks.durability.judge import Verdict, compared
from benchmarks.durability.nursery import Nursery, until
from benchmarks.durability.places import restart, scratch, server
from benchmarks.durability.races import together
from benchmarks.durability.tasks import Gate, measured
from kernelbandits.storage import StorageFull
from kernelbandits.storage.sqlite import SqliteDatabase

TABLE = simplex(20)
POINTS = np.array(TABLE.cells)
HERE = f"benchmarks.tests.{Path(__file__).stem}"
TASKS = "benchmarks.durability.tasks"
IMPORTED = (
    TASKS,
    "scipy.optimize",
    "threadpoolctl",
    "psycopg",
    "kernelbandits.study.driver",
    "kernelbandits.study.explaining",
    "kernelbandits.study.points",
    "kernelbandits.study.summary",
    "kernelbandits.study.checkup",
)
"""Also what a study imports when first asked: else each worker spends most of its time on that."""


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with Nursery(tmp_path_factory.mktemp("nursery"), (*IMPORTED, HERE)) as one:
        yield one


def played(study: kb.Study, trials: int) -> list[int]:
    """So many trials, one after the other; their rows."""
    rows = []
    for _ in range(trials):
        (suggestion,) = study.ask()
        study.tell(suggestion.trial, measured(suggestion.row, suggestion.trial))
        rows.append(suggestion.row)
    return rows


def aim(where: str, folder: Path, worker: str = "w", count: int = 1) -> dict[str, Any]:
    return {
        "where": where,
        "count": count,
        "pause": 0.0,
        "path": str(folder / "kills"),
        "worker": worker,
    }


# Several askers


def ask_some(place: str, barrier: str, side: int, sides: int, out: str) -> None:
    study, gate = kb.Study.open(place), Gate(barrier, side, sides)
    gate.meet()
    for _ in range(3):
        (suggestion,) = study.ask()
        records.append(out, trial=suggestion.trial, row=suggestion.row)


def test_askers_at_the_same_time_get_different_rows(nursery, where, tmp_path):
    with kb.Study.create(where, POINTS, seed=1) as study:
        played(study, 6)
    gate, out = Gate.build(tmp_path / "gate", 4), tmp_path / "asked"
    given = {"place": where, "barrier": gate, "sides": 4, "out": str(out)}
    together(nursery, [nursery.start(f"{HERE}:ask_some", side=side, **given) for side in range(4)])
    asked = records.read(out)
    assert sorted(one["trial"] for one in asked) == list(range(7, 19))
    assert len({one["row"] for one in asked}) == 12


def test_of_sixteen_who_create_a_study_one_does(nursery, where, tmp_path):
    out, given = (
        str(tmp_path / "created"),
        {"table": TABLE.cells, "settings": {"seed": 1}, "aim": aim("", tmp_path)},
    )
    pids = [nursery.start(f"{TASKS}:create", place=where, out=out, **given) for _ in range(16)]
    assert [nursery.wait(pid) for pid in pids] == [0] * 16
    assert Counter(one["created"] for one in records.read(out)) == {True: 1, False: 15}
    with kb.Study.open(where) as study:
        assert [event.kind for event in study.history()] == ["created"]


def test_two_hundred_pending_asks_of_thirty_rows_are_spread_over_them(tmp_path):
    chosen = {"policy": "simple-gaussian", "settings": {"noise_scale": 0.3, "norm_bound": 2.0}}
    with kb.Study.create(tmp_path / "a.db", np.array(simplex(30).cells), seed=1, **chosen) as study:
        played(study, 6)
        asked = study.ask(200)
        assert [suggestion.trial for suggestion in asked] == list(range(7, 207))
        assert len({suggestion.row for suggestion in asked[:30]}) == 30
        assert study.status().pending == 200
        told = [{"trial": one.trial, "value": measured(one.row, one.trial)} for one in asked[::-1]]
        assert all(one.accepted for one in study.tell_all(told))
        assert (study.status().pending, study.status().told) == (0, 206)
        assert len(study.ask()) == 1


@pytest.mark.parametrize(
    ("where", "policy"), [("sqlite", "auto"), ("postgresql", "simple-gaussian")], indirect=["where"]
)
def test_processes_that_take_turns_ask_what_one_process_asks(nursery, where, tmp_path, policy):
    chosen = (
        {}
        if policy == "auto"
        else {"policy": policy, "settings": {"noise_scale": 0.3, "norm_bound": 2.0}}
    )
    with kb.Study.create(tmp_path / "alone.db", POINTS, seed=5, **chosen) as study:
        alone = played(study, 18)
    kb.Study.create(where, POINTS, seed=5, **chosen).close()
    gate, out = Gate.build(tmp_path / "gate", 3), str(tmp_path / "rows")
    given = {"place": where, "barrier": gate, "sides": 3, "trials": 18, "out": out}
    together(nursery, [nursery.start(f"{TASKS}:turns", side=side, **given) for side in range(3)])
    assert [one["row"] for one in sorted(records.read(out), key=lambda one: one["trial"])] == alone


# Killed


def test_a_killed_worker_gets_its_pending_trial_back_by_its_name(nursery, where, tmp_path):
    kb.Study.create(where, POINTS, seed=1).close()
    place = aim("between ask and tell", tmp_path, count=2)
    pid = nursery.start(
        f"{TASKS}:play", place=where, folder=str(tmp_path), name="w", life=1, aim=place
    )
    assert nursery.wait(pid) == -9
    with kb.Study.open(where) as study:
        (left,) = study.status().waiting
        assert study.ask(worker="another")[0].trial != left.trial
        (again,) = study.ask(worker="w")
        assert (again.trial, again.row) == (left.trial, left.row)
        assert study.tell(again.trial, 0.5, worker="w").accepted


@pytest.mark.parametrize("stage", ["locked", "written"])
def test_the_lock_of_a_killed_process_is_free(nursery, where, tmp_path, stage):
    with kb.Study.create(where, POINTS, seed=1) as study:
        played(study, 3)
        pid = nursery.start(f"{TASKS}:hold", place=where, aim=aim(f"ask: {stage}", tmp_path))
        assert nursery.wait(pid) == -9
        assert [event.kind for event in study.history()].count("asked") == 3
        assert study.ask()[0].trial == 4


# Forked


def ask_in_a_child(place: str, out: str) -> None:
    """Open a study, fork with it, and use it on both sides."""
    with kb.Study.open(place) as study:
        study.ask()
        child = os.fork()
        (suggestion,) = study.ask()
        told = study.tell(suggestion.trial, 0.5)
        records.append(out, child=child == 0, trial=suggestion.trial, accepted=told.accepted)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        records.append(out, told=study.status().told)


def test_a_study_may_be_used_on_both_sides_of_a_fork(nursery, where, tmp_path):
    kb.Study.create(where, POINTS, seed=1).close()
    assert (
        nursery.wait(
            nursery.start(f"{HERE}:ask_in_a_child", place=where, out=str(tmp_path / "out"))
        )
        == 0
    )
    *sides, last = records.read(tmp_path / "out")
    assert sorted((one["trial"], one["accepted"]) for one in sides) == [(2, True), (3, True)]
    assert {one["child"] for one in sides} == {False, True}
    assert last["told"] == 2


def test_a_study_may_be_used_by_several_threads(where):
    with kb.Study.create(where, POINTS, seed=1) as study:
        threads = [threading.Thread(target=played, args=(study, 5)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (study.status().told, study.status().pending) == (20, 0)


# Interrupted


@contextmanager
def locked(place: str) -> Iterator[None]:
    """Somebody else holds the write lock of a file."""
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_interrupted_writes_nothing_and_shows_no_traceback(tmp_path, sent, code):
    place = str(tmp_path / "a.db")
    with kb.Study.create(place, POINTS, seed=1) as study:
        before = len(study.history())
        with locked(place):
            script = "from kernelbandits.apps.cli import main; main()"
            command = [sys.executable, "-c", script, "study", "ask", place]
            waiting = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            try:
                until(lambda: waiting.poll() is not None or holds(waiting.pid, place))
                time.sleep(0.3)
                waiting.send_signal(sent)
                said = waiting.communicate(timeout=30)
            finally:
                waiting.kill()
        assert waiting.returncode in (code, -sent)
        assert "Traceback" not in "".join(said)
        assert len(study.history()) == before
        assert study.ask()[0].trial == 1


def holds(pid: int, place: str) -> bool:
    """Whether a process has a file open."""
    for file in Path(f"/proc/{pid}/fd").iterdir():
        # A file that the process closes between the listing and this line is not the one.
        with suppress(FileNotFoundError):
            if os.readlink(file) == os.path.realpath(place):
                return True
    return False


# Without space


def test_a_full_disk_is_said_and_all_goes_on_when_there_is_space(tmp_path):
    place = tmp_path / "a.db"
    with kb.Study.create(place, POINTS, seed=1) as study:
        played(study, 6)
    told = 6
    with full(place), kb.Study.open(place) as study:
        told += until_full(lambda: study.tell(row=1, value=0.5))
        assert study.status().told == told
        until_full(study.ask)
        assert study.best() is not None
    with kb.Study.open(place) as study:
        assert study.status().told == told
        study.tell(row=2, value=0.75)
        assert study.status().told == told + 1
        assert all(finding.ok for finding in study.doctor())


def until_full(call: Callable[[], object]) -> int:
    """How often it could be called."""
    for number in range(1000):
        try:
            call()
        except StorageFull:
            return number
    raise AssertionError("the disk was never full")


@contextmanager
def full(place: Path) -> Iterator[None]:
    """The file may not grow beyond its size now."""

    open_file = SqliteDatabase.open_file

    def limited(backend: SqliteDatabase) -> Any:
        connection = open_file(backend)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    with mock.patch.object(SqliteDatabase, "open_file", limited):
        yield


# Without memory


class Memory:
    """The n-th array of some size cannot be had."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, least: int = 100) -> None:
        self.left, self.least = 0, least
        for name in (
            "array",
            "empty",
            "zeros",
            "ones",
            "full",
            "asarray",
            "concatenate",
            "exp",
            "sqrt",
        ):
            monkeypatch.setattr(np, name, self.watched(getattr(np, name)))

    def watched(self, function: Any) -> Any:
        def allocated(*given: Any, **named: Any) -> Any:
            found = function(*given, **named)
            if self.left and getattr(found, "nbytes", 0) >= self.least:
                self.left -= 1
                if self.left == 0:
                    raise MemoryError("Unable to allocate an array")
            return found

        return allocated


@pytest.mark.parametrize("call", ["ask", "tell", "estimates"])
def test_memory_that_runs_out_leaves_the_study_as_it_was(tmp_path, call, monkeypatch):
    place = tmp_path / "a.db"
    with kb.Study.create(place, POINTS, seed=1) as study:
        played(study, 7)
        memory, failures = Memory(monkeypatch), 0
        for number in range(1, 60):
            before = len(study.history())
            memory.left = number
            try:
                outcome = {
                    "ask": study.ask,
                    "tell": lambda: study.tell(row=3, value=0.5),
                    "estimates": study.estimates,
                }[call]()
                memory.left = 0
            except MemoryError:
                failures += 1
                assert len(study.history()) == before
                continue
            assert outcome is not None
            break
        memory.left = 0
        with kb.Study.open(place) as fresh:
            assert fresh.estimates().equals(study.estimates())
        study.ask()
        assert failures > 0 or call == "tell"


# A server that goes away


def test_a_server_that_restarts_costs_no_result(nursery, tmp_path):
    with scratch() as folder, server(folder / "server") as running:
        place = f"{running.get_uri()}&study=restarted"
        kb.Study.create(place, POINTS, seed=1).close()
        given = {
            "place": place,
            "folder": str(tmp_path),
            "life": 1,
            "aim": aim("anywhere", tmp_path),
        }
        pids = [nursery.start(f"{TASKS}:play", name=f"w{number}", **given) for number in range(3)]
        for _ in range(2):
            told = len(acknowledged(tmp_path))
            until(lambda told=told: len(acknowledged(tmp_path)) > told + 10)
            restart(running)
        told = len(acknowledged(tmp_path))
        until(lambda: len(acknowledged(tmp_path)) > told + 10)
        for pid in pids:
            assert nursery.kill(pid) == -9
        with kb.Study.open(place) as study:
            intents = [
                one for number in range(3) for one in records.read(tmp_path / f"intents-w{number}")
            ]
            assert compared(study.history(), acknowledged(tmp_path), intents) == Verdict()
    assert records.read(tmp_path / "errors") == []


def acknowledged(folder: Path) -> list[dict[str, Any]]:
    return [one for file in sorted(folder.glob("acks-*")) for one in records.read(file)]


def test_the_values_of_the_harness_tell_trials_apart():
    assert len({measured(row, trial) for row in range(5) for trial in range(200)}) == 1000
    assert tasks.measured(3, 4) == measured(3, 4)
