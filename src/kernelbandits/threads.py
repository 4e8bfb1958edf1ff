"""One BLAS thread: on small matrices threads that wait for each other cost ten times what they save."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
T = TypeVar("T")

Threads = list[tuple[Any, int]]
"""Libraries, and threads of each."""


@cache
def libraries() -> ThreadpoolController:
    """The BLAS libraries loaded, looked up once."""
    return ThreadpoolController()


def threaded() -> Threads:
    """The BLAS libraries that have more than one thread, and how many."""
    blas = [library for library in libraries().lib_controllers if library.user_api == "blas"]
    return [
        (library, threads) for library in blas if (threads := library.get_num_threads() or 1) > 1
    ]


def set_threads(threads: Threads) -> None:
    """Threadpoolctl lets only the Python thread that set a limit set the next one; here others may."""
    for library, number in threads:
        release = getattr(library, "clear_controlling_thread", no_owner)
        release(force=True)
        library.set_num_threads(number)
        release(force=True)


def no_owner(force: bool) -> None:
    """Of a library that anybody may set."""


class Limit:
    """One BLAS thread for the whole process while anybody is inside: the first to come limits, the last restores."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limited: Threads = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limited = threaded()
                set_threads([(library, 1) for library, _ in self._limited])
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                set_threads(self._limited)


ONE_THREAD = Limit()


def single_threaded(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, during whose calls BLAS has one thread."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with ONE_THREAD:
            return function(*args, **kwargs)

    return call
