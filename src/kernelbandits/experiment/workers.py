"""Work on cells in several processes, which end when their parent does."""

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
    """A `mapper` that spreads cells over `workers` processes, each on one BLAS thread.

    With one worker the cells are played in this process.

    >>> with process_mapper(1) as mapper:
    ...     list(mapper(abs, [-1, -2]))
    [1, 2]
    """
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
    """Work on the cell, write the result to a file and return the path of the file.

    A worker that is killed in the middle of a long message would leave its parent waiting for the
    rest. A path is so short that the pipe sends it at once.
    """
    result = work(cell)
    handle, path = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        pickle.dump(result, file, protocol=pickle.HIGHEST_PROTOCOL)
    return path


def fetch_result(path: str) -> Any:
    """Read the result that a worker has written, and remove its file."""
    with open(path, "rb") as file:
        result = pickle.load(file)
    os.unlink(path)
    return result


def process_context() -> BaseContext:
    """How workers are started: forked from one clean process with all imports done.

    They are spawned where the system cannot fork.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "kernelbandits.experiment.preload"])
    return context


@contextmanager
def ignore_interrupts() -> Iterator[None]:
    """Start processes inside that ignore Ctrl-C from their first line on: the parent handles it."""
    # Signal handlers can be set in the main thread only.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def start_worker(open_end: connection.Connection) -> None:
    """Ignore Ctrl-C, and end when the parent dies or closes its end of the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    ends = [open_end, *([parent.sentinel] if parent else [])]
    threading.Thread(target=exit_when_closed, args=(ends,), daemon=True).start()


def exit_when_closed(ends: list[Any]) -> None:
    connection.wait(ends)
    # sys.exit would end this thread only, and the worker may be in the middle of a long cell.
    os._exit(1)


def check_sendable(cells: Sequence[Any]) -> Sequence[Any]:
    """The cells, if they can be sent to another process."""
    try:
        pickle.dumps(cells)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            "several workers need functions, classes, laws and schedules that are defined at "
            f"module level, got {error}"
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
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
