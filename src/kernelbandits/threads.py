"""One BLAS thread: on small matrices threads that wait for each other cost ten times what they save."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
T = TypeVar("T")


@cache
def libraries() -> ThreadpoolController:
    """The BLAS libraries loaded, looked up once."""
    return ThreadpoolController()


def single_threaded(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, during whose calls BLAS has one thread."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with libraries().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return call
