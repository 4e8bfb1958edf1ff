"""One BLAS thread: on small matrices threads that wait for each other cost ten times what they save."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
T = TypeVar("T")


@cache
def libraries() -> ThreadpoolController:
    """The BLAS libraries loaded, looked up once."""
    return ThreadpoolController()


def let_anybody_set() -> None:
    """Threadpoolctl lets only the Python thread that set a limit set the next one; here others may."""
    for library in libraries().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


class Limit:
    """One BLAS thread for the whole process while anybody is inside: the first to come limits, the last restores."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limited: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                let_anybody_set()
                self._limited = libraries().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                let_anybody_set()
                self._limited.restore_original_limits()
                let_anybody_set()


ONE_THREAD = Limit()


def single_threaded(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, during whose calls BLAS has one thread."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with ONE_THREAD:
            return function(*args, **kwargs)

    return call
