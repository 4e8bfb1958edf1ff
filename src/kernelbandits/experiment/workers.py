"""Cells spread over processes that share nothing, and leave when they are no longer wanted."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import connection
from multiprocessing.context import BaseContext
from tempfile import TemporaryDirectory
from typing import Any

from kernelbandits import checks

Mapper = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""`map`, or anything that maps like it in the same order: a process pool's map, or Dask's."""


@contextmanager
def process_mapper(workers: int) -> Iterator[Mapper]:
    """A `mapper` over fresh processes, each on one BLAS thread; one worker is this process itself."""
    if checks.whole("an experiment", "workers", workers) == 1:
        yield map
        return
    context = process_context()
    open_end, hold = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=start_worker, initargs=(open_end,)
    )
    with TemporaryDirectory(prefix="kernelbandits-") as folder:
        try:
            with one_thread(), ignore_interrupts():
                pool.submit(int)
            yield lambda work, cells: map(
                fetch_result, pool.map(partial(store_result, folder, work), check_sendable(cells))
            )
        except BaseException:
            hold.close()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def store_result(folder: str, work: Callable[[Any], Any], cell: Any) -> str:
    """Work on the cell and leave the result in a file: its name is too short to be cut in two in the pipe.

    A worker that goes in the middle of a longer message would leave its parent waiting for the rest.
    """
    result = work(cell)
    handle, path = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        pickle.dump(result, file, protocol=pickle.HIGHEST_PROTOCOL)
    return path


def fetch_result(path: str) -> Any:
    """The result another process has left, taken away."""
    with open(path, "rb") as file:
        result = pickle.load(file)
    os.unlink(path)
    return result


def process_context() -> BaseContext:
    """Workers forked from one clean process that has all they need, or spawned where the system cannot fork."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "kernelbandits.experiment.preload"])
    return context


@contextmanager
def ignore_interrupts() -> Iterator[None]:
    """Processes started inside leave Ctrl-C to the one that started them, from their first line on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def start_worker(open_end: connection.Connection) -> None:
    """A worker leaves Ctrl-C to its parent, and goes when the parent dies or lets go of its end of the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    ends = [open_end, *([parent.sentinel] if parent else [])]
    threading.Thread(target=exit_when_closed, args=(ends,), daemon=True).start()


def exit_when_closed(ends: list[Any]) -> None:
    connection.wait(ends)
    os._exit(1)


def check_sendable(cells: Sequence[Any]) -> Sequence[Any]:
    """The cells, if another process can be sent them."""
    try:
        pickle.dumps(cells)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            "several workers need functions, classes, laws and schedules that are defined at module "
            f"level, got {error}"
        ) from None
    return cells


@contextmanager
def one_thread() -> Iterator[None]:
    """Processes started inside have one BLAS thread from their first import on."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
