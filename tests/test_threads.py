"""One BLAS thread inside, the usual number outside: nested, beside other threads, after an error; and LocalPosterior."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import kernelbandits as kb
from kernelbandits.policies.index import LocalPosterior
from kernelbandits.threads import single_threaded


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        yield


def test_inside_there_is_one_thread_and_outside_as_many_as_before():
    assert single_threaded(blas_threads)() == {1}
    assert blas_threads() == {2}


def test_the_inner_of_two_calls_leaves_the_outer_one_limited():
    @single_threaded
    def outer():
        return single_threaded(blas_threads)(), blas_threads()

    assert outer() == ({1}, {1})
    assert blas_threads() == {2}


def test_an_error_inside_restores_the_threads():
    with pytest.raises(ZeroDivisionError):
        single_threaded(lambda: 1 / 0)()
    assert blas_threads() == {2}


def test_calls_that_overlap_are_limited_to_the_end_of_the_last_one():
    """The first to come leaves first, which restored too early, and the second restored what it had found: one."""
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


def test_many_workers_leave_the_threads_as_they_were():
    @single_threaded
    def work(_):
        return blas_threads()

    with ThreadPoolExecutor(4) as pool:
        assert all(threads == {1} for threads in pool.map(work, range(40)))
    assert blas_threads() == {2}


def surveyed():
    posterior = kb.PointPosterior(kb.RBF(0.3), 2, 0.1)
    posterior.update([0.2, 0.4], 1.0)
    return LocalPosterior(posterior, np.random.default_rng(0).random((4, 2)))


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda view: pickle.loads(pickle.dumps(view))]
)
def test_a_view_of_a_posterior_can_be_copied(again):
    view, other = surveyed(), again(surveyed())
    np.testing.assert_array_equal(other.mean, view.mean)
    assert (other.events, other.log_det) == (view.events, view.log_det)


def test_a_view_without_its_posterior_has_no_attributes_and_says_so():
    with pytest.raises(AttributeError, match="LocalPosterior has no _posterior"):
        _ = object.__new__(LocalPosterior).events
