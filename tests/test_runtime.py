"""BLAS threads, the garbage collector and optional packages of the running process."""

from __future__ import annotations

import doctest
import gc
import importlib.metadata
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from kernelbandits import runtime
from kernelbandits.runtime import gc_paused, is_installed, require, single_threaded
from kernelbandits.study.candidates import Candidates


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        yield


def test_inside_there_is_one_thread_and_outside_as_many_as_before(two_threads):
    assert single_threaded(blas_threads)() == {1}
    assert blas_threads() == {2}


def test_the_inner_of_two_calls_leaves_the_outer_one_limited(two_threads):
    @single_threaded
    def outer():
        return single_threaded(blas_threads)(), blas_threads()

    assert outer() == ({1}, {1})
    assert blas_threads() == {2}


def test_an_error_inside_restores_the_threads(two_threads):
    with pytest.raises(ZeroDivisionError):
        single_threaded(lambda: 1 / 0)()
    assert blas_threads() == {2}


def test_calls_that_overlap_are_limited_to_the_end_of_the_last_one(two_threads):
    """The call that began first ends first: it must not restore the threads of the other."""
    both, first_left = Barrier(2), Event()

    @single_threaded
    def first():
        both.wait(10)

    @single_threaded
    def second():
        both.wait(10)
        first_left.wait(10)
        return blas_threads()

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.submit(first), pool.submit(second)
        one.result()
        first_left.set()
        assert other.result() == {1}
    assert blas_threads() == {2}


def test_many_workers_leave_the_threads_as_they_were(two_threads):
    @single_threaded
    def work(_):
        return blas_threads()

    with ThreadPoolExecutor(4) as pool:
        assert all(threads == {1} for threads in pool.map(work, range(40)))
    assert blas_threads() == {2}


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_rests_until_the_outer_block_ends_and_is_then_as_it_was(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with gc_paused:
            with pytest.raises(ZeroDivisionError), gc_paused:
                assert 1 // 0
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert not is_installed("psycopg")
    with pytest.raises(
        ValueError, match=r"a study needs psycopg.*pip install \"\.\[postgres\]\" in"
    ):
        require("psycopg", extra="postgres", owner="a study")


def test_the_examples_of_the_docstrings_run():
    assert doctest.testmod(runtime).failed == 0


@pytest.mark.thorough
def test_a_library_that_is_loaded_later_is_limited_too():
    """scipy has a BLAS of its own, which is loaded when it is first needed."""
    code = """
import numpy
from threadpoolctl import threadpool_info
from kernelbandits.runtime import one_blas_thread

with one_blas_thread:
    pass
import scipy.linalg
with one_blas_thread:
    print({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})
"""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout == "{1}\n"


FORKED = """
import gc, os, threading
from kernelbandits.runtime import gc_paused

inside, done = threading.Event(), threading.Event()

def other():
    with gc_paused:
        inside.set()
        done.wait(10)

thread = threading.Thread(target=other)
thread.start()
inside.wait(10)
with {block}:
    child = os.fork()
    if not child:
        within = gc.isenabled()
if not child:
    with gc_paused:
        paused = not gc.isenabled()
    os._exit(within + 2 * paused + 4 * gc.isenabled())
done.set()
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), gc.isenabled())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("block", "within"), [("__import__('contextlib').nullcontext()", 1), ("gc_paused", 0)]
)
def test_a_forked_process_does_not_keep_the_setting_of_other_threads(block, within):
    """They do not exist there, and would never restore it; a block of its own goes on."""
    code = FORKED.format(block=block)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert ran.stdout.split() == [str(within + 2 + 4), "True"], ran.stderr


@pytest.mark.parametrize(("found", "safe"), [("14.0.0", False), ("14.0.1", True), ("26.0.1", True)])
def test_a_version_that_runs_code_of_files_is_refused(monkeypatch, found, safe):
    monkeypatch.setattr(importlib.metadata, "version", lambda package: found)
    if safe:
        require("pyarrow", extra="parquet", owner="a.parquet")
    else:
        with pytest.raises(ImportError, match=r"needs pyarrow 14\.0\.1 or newer, got 14\.0\.0, "):
            require("pyarrow", extra="parquet", owner="a.parquet")


def test_no_version_that_is_refused_may_be_installed():
    stated = Path(__file__).parents[1].joinpath("pyproject.toml").read_text()
    assert all(f'"{package}>={oldest}"' in stated for package, oldest in runtime.SAFE.items())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_reads_a_property_that_another_thread_was_computing(monkeypatch):
    """Up to Python 3.11 cached properties have locks, which the thread of the parent held."""
    entered, leave = threading.Event(), threading.Event()

    def compute(place):
        if threading.current_thread() is not threading.main_thread():
            entered.set()
            leave.wait(20)
        return 7

    monkeypatch.setattr(Candidates.first_rows, "func", compute)
    first, second = (object.__new__(Candidates) for _ in range(2))
    thread = threading.Thread(target=lambda: first.first_rows)
    thread.start()
    entered.wait(20)
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os._exit(0 if second.first_rows == 7 else 1)
    code = os.waitpid(child, 0)[1]
    leave.set()
    thread.join()
    assert code == 0
