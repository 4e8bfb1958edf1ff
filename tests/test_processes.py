"""The pool of processes: results as they come, deaths, deadlines, and errors of one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kernelbandits.experiment.workers import SpreadMapper
from kernelbandits.processes import Death, ProcessPool, check_workers, put_in_order
from measured_functions import Unreadable, append_line, count_reads, fall, raise_unreadable, rest

NEEDS = "a test needs work"


@pytest.fixture
def pool():
    with ProcessPool(2, NEEDS) as opened:
        yield opened


@pytest.mark.thorough
def test_results_come_when_they_are_ready_with_the_numbers_of_their_items(pool):
    assert dict(pool.run(abs, [-3, 2, -1, 0])) == {0: 3, 1: 2, 2: 1, 3: 0}
    *early, last = pool.run(rest, [1.0, 0.0, 0.01])
    assert sorted(early) == [(1, 0.0), (2, 0.01)]
    assert last == (0, 1.0)


@pytest.mark.thorough
def test_the_first_items_are_begun_before_a_result_is_taken(pool, tmp_path):
    results = pool.run(partial(append_line, tmp_path / "begun"), [1, 2, 3])
    deadline = time.monotonic() + 60
    while count_lines(tmp_path / "begun") < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert count_lines(tmp_path / "begun") == 2
    with pytest.raises(ValueError, match="needs a pool whose earlier results were all taken"):
        pool.run(abs, [1])
    assert len(list(results)) == count_lines(tmp_path / "begun") == 3


def count_lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.thorough
@pytest.mark.parametrize("code", [0, 1, 3, -signal.SIGKILL])
def test_a_process_that_ends_at_its_first_item_is_a_death_and_the_others_go_on(pool, code):
    assert dict(pool.run(fall, [code, None, None])) == {0: Death(code), 1: None, 2: None}


@pytest.mark.thorough
def test_a_deadline_ends_processes_in_the_middle_and_the_pool_can_be_used_again(pool):
    # So that starting the processes does not count.
    assert len(list(pool.run(abs, [-1, -2]))) == 2
    started = time.monotonic()
    assert list(pool.run(rest, [60.0, 0.0], started + 2)) == [(1, 0.0)]
    assert time.monotonic() - started < 30
    assert list(pool.run(rest, [0.0], time.monotonic() - 1)) == []
    assert dict(pool.run(abs, [-1])) == {0: 1}


@pytest.mark.thorough
def test_an_error_comes_after_the_results_that_are_there_and_the_pool_can_be_used_again(pool):
    results, found = pool.run(partial(divmod, 1), [1, 0]), []
    with pytest.raises(ZeroDivisionError) as caught:
        found.extend(results)
    assert "In a worker process" in caught.value.__notes__[0]
    assert found in ([], [(0, (1, 0))])
    assert dict(pool.run(abs, [-1, -2])) == {0: 1, 1: 2}


def test_an_error_that_cannot_be_read_is_described(pool):
    with pytest.raises(ValueError, match=r"results that can be sent, got Unreadable\('a', 'b'\)"):
        list(pool.run(raise_unreadable, [1]))
    with pytest.raises(TypeError):
        Unreadable("a")


def test_work_is_sent_to_each_process_once(tmp_path):
    class Counted:
        def __reduce__(self):
            return count_reads, (str(tmp_path / "reads"),)

    work = Counted()
    with ProcessPool(2, NEEDS) as pool:
        for _ in range(3):
            assert sorted(pool.run(work, [1, 2, 3])) == [(0, 1), (1, 2), (2, 3)]
    assert count_lines(tmp_path / "reads") <= 2


def test_work_that_a_process_could_not_read_is_sent_again(pool, tmp_path):
    class Late:
        def __reduce__(self):
            return Path.read_text, (tmp_path / "late",)

    work, needed = Late(), "a test needs work that other processes can import, so from a module"
    with pytest.raises(ValueError, match=f"^{needed}.* got FileNotFoundError"):
        list(pool.run(work, [1]))
    (tmp_path / "late").write_text("no function")
    with pytest.raises(TypeError, match="'str' object is not callable"):
        list(pool.run(work, [1]))


def test_what_cannot_be_sent_is_refused_before_a_process_is_started(pool):
    needed = "^a test needs work that can be sent to other processes, so defined at module level, "
    for work, items in ((lambda item: item, [1]), (abs, [1, lambda: 2])):
        with pytest.raises(ValueError, match=needed):
            pool.run(work, items)
    assert pool._workers == []


def test_no_process_is_left_when_the_pool_is_closed():
    with ProcessPool(2, NEEDS) as pool:
        results = pool.run(os.getpgid, [0, 0])
        pids = [worker.process.pid for worker in pool._workers]
        list(results)
        pool.run(rest, [60.0])
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_preloaded_processes_have_one_thread_and_others_the_environment_of_this_one(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for preload, threads in ((None, "3"), ("kernelbandits.experiment.preload", "1")):
        with ProcessPool(1, NEEDS, preload) as pool:
            assert dict(pool.run(os.getenv, ["OMP_NUM_THREADS"])) == {0: threads}
    assert os.environ["OMP_NUM_THREADS"] == "3"


UNGUARDED = """
import kernelbandits as kb

def f(x):
    return x[0]

kb.optimize(f, [(0, 1)], 4, workers=2)
"""


@pytest.mark.thorough
def test_a_script_that_optimizes_on_import_is_told_so_in_a_sentence(tmp_path):
    (tmp_path / "script.py").write_text(UNGUARDED)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "it starts them under `if __name__ == '__main__':`" in done.stderr.splitlines()[-1]


def test_a_number_of_processes_is_whole_and_not_too_large():
    assert check_workers("a run", 3) == 3
    for bad in (0, 1.5, "2", None, 10**6):
        with pytest.raises(ValueError, match=r"a run needs .*workers"):
            check_workers("a run", bad)


def interrupted() -> Iterator[tuple[int, str]]:
    yield 2, "c"
    yield 0, "a"
    raise KeyboardInterrupt


def take_until_interrupt(results: Iterable[Any]) -> list[Any]:
    taken = []
    try:
        for one in results:
            taken.append(one)
    except KeyboardInterrupt:
        return taken
    raise AssertionError("nothing was interrupted")


def test_results_that_were_held_back_come_before_the_interrupt_that_flushes_them():
    flushed = put_in_order(interrupted(), (KeyboardInterrupt,))
    assert take_until_interrupt(flushed) == [(0, "a"), (2, "c")]
    assert take_until_interrupt(put_in_order(interrupted())) == [(0, "a")]


def test_a_mapper_gives_no_item_the_result_of_another_at_an_interrupt():
    mapper = SpreadMapper(lambda work, items: interrupted())
    assert take_until_interrupt(mapper(str, "xyz")) == ["a"]
