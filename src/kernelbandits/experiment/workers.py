"""Work on cells in several processes, which end when their parent does."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import as_completed as wait_for_each
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any

from kernelbandits import checks
from kernelbandits.processes import ignore_interrupts, serve
from kernelbandits.runtime import MOST_WORKERS

Mapper = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""`map`, or anything that maps like it in the same order: a process pool's map, or Dask's.

One that has a method `as_completed(work, items)` yields (item, result) when each is ready.
"""

MOST_DEATHS = 4
"""A cell is given up when so many worker processes were killed while they played it."""


class WorkersLost(OSError):
    """Cells could not be played: their worker processes were killed again and again."""


@contextmanager
def process_mapper(workers: int) -> Iterator[Mapper]:
    """A `mapper` that spreads cells over `workers` processes, each on one BLAS thread.

    With one worker the cells are played in this process. If a worker is killed, as systems do when
    memory is short, a new one plays its cell, three times at most.

    >>> with process_mapper(1) as mapper:
    ...     list(mapper(abs, [-1, -2]))
    [1, 2]
    """
    count = checks.whole("an experiment", "workers", workers)
    checks.needs(count <= MOST_WORKERS, "an experiment", f"workers <= {MOST_WORKERS}", workers)
    if count == 1:
        yield map
        return
    pool = WorkerPool(count)
    try:
        yield pool
    except BaseException:
        pool.abort()
        raise
    finally:
        pool.shutdown()


def yields_as_completed(mapper: Mapper) -> bool:
    """Whether the mapper hands over each result when it is ready."""
    return mapper is map or hasattr(mapper, "as_completed")


def map_as_completed(
    mapper: Mapper, work: Callable[[Any], Any], items: Sequence[Any]
) -> Iterator[tuple[Any, Any]]:
    """Yield (item, result) as soon as each is ready, or in order if the mapper cannot say when.

    >>> list(map_as_completed(map, abs, [-1, -2]))
    [(-1, 1), (-2, 2)]
    """
    if hasattr(mapper, "as_completed"):
        yield from mapper.as_completed(work, items)
    else:
        yield from zip(items, mapper(work, items), strict=True)


@dataclass(frozen=True)
class Worker:
    """A process, and this process's end of the pipe to it."""

    process: BaseProcess
    pipe: Connection

    def run(self, work: Callable[[Any], Any], item: Any) -> Any:
        """Let the process work on the item; EOFError if it dies before it has a result."""
        try:
            self.pipe.send((work, item))
            done, result = self.pipe.recv()
        except OSError as error:
            raise EOFError from error
        if not done:
            raise result
        return result

    def stop(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


class WorkerPool:
    """Processes that work on items, each watched by a thread that replaces it if it is killed.

    The pools of the standard library share queues between their processes. If one of these is
    killed the whole pool is lost, and sometimes the loss is not noticed. Here each process has a
    pipe of its own.
    """

    def __init__(self, workers: int) -> None:
        self.context = process_context()
        self.threads = ThreadPoolExecutor(workers)
        self.lock = threading.Lock()
        self.aborted = False
        self.started: list[Worker] = []
        self.idle = [self.start()]

    def start(self) -> Worker:
        """Start a process; there are never more than threads."""
        for _ in range(MOST_DEATHS):
            here, there = self.context.Pipe()
            process = self.context.Process(  # type: ignore[attr-defined]
                target=serve, args=(there, work_on), daemon=True
            )
            try:
                with one_thread(), ignore_interrupts():
                    process.start()
            except (EOFError, ConnectionError):
                # The process from which workers are forked was killed; the next start renews it.
                here.close()
                continue
            finally:
                there.close()
            worker = Worker(process, here)
            self.started.append(worker)
            return worker
        raise WorkersLost("no worker process can be started: each was killed at its start")

    def __call__(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Start the work on all items at once; the results come in the order of the items."""
        futures = self.submit(work, items)
        return (take_result(future, items, futures) for future in futures)

    def as_completed(
        self, work: Callable[[Any], Any], items: Sequence[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """The same, but each item comes with its result when that is ready."""
        futures = self.submit(work, items)
        places = dict(zip(futures, items, strict=True))
        lost = []
        for future in wait_for_each(futures):
            if isinstance(future.exception(), WorkersLost):
                lost.append(future)
            else:
                yield places[future], future.result()
        for future in lost:
            take_result(future, items, futures)

    def submit(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Future[Any]]:
        check_sendable(items)
        return [self.threads.submit(self.run, work, item) for item in items]

    def run(self, work: Callable[[Any], Any], item: Any) -> Any:
        for death in range(1, MOST_DEATHS + 1):
            worker = self.take()
            try:
                result = worker.run(work, item)
            except EOFError:
                self.discard(worker)
                if death < MOST_DEATHS and not self.aborted:
                    name = describe_cell(item)
                    warnings.warn(
                        f"a worker process was killed; another begins {name} again", stacklevel=2
                    )
            except BaseException:
                self.idle.append(worker)
                raise
            else:
                self.idle.append(worker)
                return result
        raise WorkersLost(describe_cell(item))

    def take(self) -> Worker:
        """A process that has nothing to do."""
        with self.lock:
            if self.aborted:
                raise WorkersLost("the workers were stopped")
            return self.idle.pop() if self.idle else self.start()

    def discard(self, worker: Worker) -> None:
        with self.lock:
            self.started.remove(worker)
        worker.stop()

    def abort(self) -> None:
        """End the processes in the middle of what they do."""
        with self.lock:
            self.aborted = True
            for worker in self.started:
                worker.process.kill()

    def shutdown(self) -> None:
        self.threads.shutdown(wait=True, cancel_futures=True)
        for worker in self.started:
            worker.stop()


def take_result(future: Future[Any], items: Sequence[Any], futures: Sequence[Future[Any]]) -> Any:
    """The result of one item; where some items were lost, all others are finished first."""
    if isinstance(future.exception(), WorkersLost):
        lost = [
            item
            for item, other in zip(items, futures, strict=True)
            if isinstance(other.exception(), WorkersLost)
        ]
        raise name_lost(lost, len(items))
    return future.result()


def name_lost(lost: Sequence[Any], total: int) -> WorkersLost:
    """The error that names what could not be played."""
    names = ", ".join(map(describe_cell, lost))
    return WorkersLost(
        f"{len(lost)} of {total} could not be played, because the worker process was "
        f"killed {MOST_DEATHS} times: {names}. Perhaps memory is short; fewer workers need less"
    )


def describe_cell(cell: Any) -> str:
    """A cell by its policy and problem, anything else by its text."""
    name = getattr(cell, "name", cell)
    return f"{name[1]} on {name[0]}" if isinstance(name, tuple) else str(name)


def work_on(pair: tuple[Callable[[Any], Any], Any]) -> Any:
    """The result of work on an item."""
    work, item = pair
    return work(item)


def start_method() -> str:
    """How processes are started: forked from a clean one, or spawned where none can fork."""
    known = multiprocessing.get_all_start_methods()
    return "forkserver" if "forkserver" in known else "spawn"


def process_context(*more: str) -> BaseContext:
    """How workers are started: forked from one clean process with all imports done.

    They are spawned where the system cannot fork. `more` are modules to import besides.
    """
    context = multiprocessing.get_context(start_method())
    if start_method() == "forkserver":
        context.set_forkserver_preload(["__main__", "kernelbandits.experiment.preload", *more])
    return context


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
