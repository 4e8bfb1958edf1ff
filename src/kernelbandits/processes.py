"""Worker processes: one pool, whose processes end with their parent and die one at a time.

The pools of the standard library share queues between their processes. If one of these is killed,
the whole pool is lost, and sometimes the loss is not noticed. Here each process has a pipe of its
own, and all that happens in this process happens in the thread that takes the results.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import reprlib
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, Self

from kernelbandits import checks
from kernelbandits.runtime import MOST_WORKERS

Mapper = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""`map`, or anything that maps like it in the same order, such as the map of a process pool."""
Supply = Callable[[], tuple[int, Any] | None]
"""Returns the next item with its number; None if there is none, or none before results come."""

MOST_STARTS = 4
"""So many processes that are killed while they start mean that none can be started."""
LONGEST_WAIT = 1e6
"""Seconds; waits of a year are too long for the system's timers."""
FORK_SERVER_LOST = 255
"""What multiprocessing says of the exit code of a process whose fork server was killed."""

STARTED, DONE, RAISED = "started", "done", "raised"
"""What a process tells of itself: it is up, it has a result, its work has raised an exception."""

GUARD = (
    "several workers need a script that every worker can import: it starts them under "
    "`if __name__ == '__main__':`"
)


class WorkersLost(OSError):
    """Work could not be done: its worker processes were killed again and again."""


@dataclass(frozen=True)
class Death:
    """What comes in place of a result: the process that worked on the item has ended."""

    exit_code: int | None = None
    """Below 0 for a process that was killed; None if it is unknown."""


def check_workers(owner: str, workers: Any) -> int:
    """Return a number of processes, if it is one that a machine may have.

    >>> check_workers("an experiment", 2)
    2
    """
    count = checks.whole(owner, "workers", workers)
    checks.needs(count <= MOST_WORKERS, owner, f"workers <= {MOST_WORKERS}", workers)
    return count


def put_in_order(
    results: Iterable[tuple[int, Any]], flush_at: tuple[type[BaseException], ...] = ()
) -> Iterator[tuple[int, Any]]:
    """Hold each numbered result back until those of all smaller numbers have come.

    So what follows does not depend on which worker is faster.

    Parameters
    ----------
    results
        The numbers 0, 1, 2, ... with their results, in any order.
    flush_at
        Exceptions that end the results early: those that were held back come before them.

    >>> list(put_in_order([(1, "b"), (0, "a"), (2, "c")]))
    [(0, 'a'), (1, 'b'), (2, 'c')]
    """
    held: dict[int, Any] = {}
    passed_on = 0
    try:
        for number, result in results:
            held[number] = result
            while passed_on in held:
                yield passed_on, held.pop(passed_on)
                passed_on += 1
    except flush_at:
        yield from sorted(held.items())
        raise


class ProcessPool:
    """Processes that work on items; they are ended with the block that uses the pool.

    Parameters
    ----------
    workers
        How many processes there are at most. They are started when there is work for them.
    needs
        How an error begins that names what cannot be sent: "optimize with workers needs an
        objective".
    preload
        A module that imports what the work needs. The processes are then forked from one process
        that has imported it, with one BLAS thread each. Without it each process starts afresh and
        in the environment of this one, with as many threads: so code of the user finds what it
        finds here, and computes the same bits. (A graphics card, for one, does not survive a fork.)

    Examples
    --------
    >>> with ProcessPool(2, "several workers need functions and classes") as pool:
    ...     sorted(pool.run(abs, [-1, -2]))
    [(0, 1), (1, 2)]
    """

    def __init__(self, workers: int, needs: str, preload: str | None = None) -> None:
        self.count, self.needs, self.preload = workers, needs, preload
        self._workers: list[Worker] = []
        self._work: Any = None
        self._packed = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, also in the middle of an item."""
        while self._workers:
            self._workers.pop().stop()

    def run(
        self, work: Callable[[Any], Any], items: Sequence[Any], deadline: float = math.inf
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number of each item with its result when that is ready.

        The first items are begun at once, before a result is taken. If the process of an item ends
        before it has a result, a `Death` comes in its place. An exception of the work is raised
        here, with its traceback as a note. No result comes after the deadline, a time of
        `time.monotonic`. Processes that are still busy at the end, whatever the reason, are ended.
        """
        self._pack(items)
        waiting = deque(enumerate(items))
        return self.run_supply(work, lambda: waiting.popleft() if waiting else None, deadline)

    def run_supply(
        self, work: Callable[[Any], Any], supply: Supply, deadline: float = math.inf
    ) -> Iterator[tuple[int, Any]]:
        """Yield the results of items that may depend on earlier results, as `run` does of a list.

        `supply` is asked for an item as soon as a process is free, and again when the results that
        have come were taken. All is over when it has none and no process is busy.

        >>> items = iter([(0, -1), (1, -2), (2, -3)])
        >>> with ProcessPool(2, "several workers need functions and classes") as pool:
        ...     sorted(pool.run_supply(abs, lambda: next(items, None)))
        [(0, 1), (1, 2), (2, 3)]
        """
        needed = "a pool whose earlier results were all taken"
        checks.needs(not self._find_busy(), "ProcessPool.run", needed, "one that is busy")
        self.pack_work(work)
        try:
            self._hand_out(supply)
        except BaseException:
            self._end_busy()
            raise
        return self._take_results(supply, deadline)

    def pack_work(self, work: Callable[[Any], Any]) -> None:
        """Prepare work for the processes, each of which gets it once; refuse what cannot be sent.

        Work may hold a large table, as an objective can.
        """
        if work is not self._work:
            self._work, self._packed = work, self._pack(work)

    def _pack(self, value: Any) -> bytes:
        try:
            return pickle.dumps(value)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"{self.needs} that can be sent to other processes, so defined at module level, "
                f"got {error}"
            ) from None

    def _find_busy(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.number is not None]

    def _hand_out(self, supply: Supply) -> None:
        """Give each idle process an item, and start processes while there are items."""
        idle = [worker for worker in self._workers if worker.number is None]
        while idle or len(self._workers) < self.count:
            given = supply()
            if given is None:
                return
            number, item = given
            packed = self._pack(item)
            worker = idle.pop() if idle else self._start()
            worker.begin(number, packed, self._packed)

    def _take_results(self, supply: Supply, deadline: float) -> Iterator[tuple[int, Any]]:
        try:
            while busy := {worker.pipe: worker for worker in self._find_busy()}:
                left = deadline - time.monotonic()
                if left <= 0:
                    return
                ready = connection.wait(list(busy), timeout=min(left, LONGEST_WAIT))
                workers = [busy[pipe] for pipe in ready]  # type: ignore[index]
                results, errors = self._receive(workers)
                if not errors:
                    # The processes work on while the caller handles these results.
                    self._hand_out(supply)
                yield from results
                if errors:
                    raise errors[0]
                # There may be items that had to wait for these results.
                self._hand_out(supply)
        finally:
            self._end_busy()

    def _end_busy(self) -> None:
        for worker in self._find_busy():
            self._workers.remove(worker)
            worker.stop()

    def _receive(
        self, workers: Sequence[Worker]
    ) -> tuple[list[tuple[int, Any]], list[BaseException]]:
        """Return what processes that are ready have: results by the numbers of items, and errors.

        A process that has only told that it is up has neither, and stays busy.
        """
        results, errors = [], []
        for worker in workers:
            number = worker.number
            assert number is not None
            try:
                event, value = worker.receive()
            except (EOFError, OSError):
                results.append((number, self._bury(worker)))
                continue
            if event == DONE:
                results.append((number, value))
            elif event == RAISED:
                errors.append(value)
        return results, errors

    def _bury(self, worker: Worker) -> Death:
        """Return how a process has ended; raise an error if it could not even start."""
        self._workers.remove(worker)
        # A process that has closed its pipe is about to end, and its exit code says why.
        worker.process.join(timeout=1)
        worker.stop()
        code = worker.process.exitcode
        if not worker.started and code is not None and 0 <= code < FORK_SERVER_LOST:
            # It was not killed: it ended by itself while it imported the script.
            raise ValueError(f"{GUARD}; the message of the worker stands above") from None
        return Death(code)

    def _start(self) -> Worker:
        context = spawning_context() if self.preload is None else forking_context(self.preload)
        for _ in range(MOST_STARTS):
            here, there = context.Pipe()
            process = context.Process(  # type: ignore[attr-defined]
                target=serve, args=(there, self.needs), daemon=True
            )
            try:
                with one_thread() if self.preload else nullcontext(), ignore_interrupts():
                    process.start()
            except (EOFError, ConnectionError):
                # The process from which workers are forked was killed; the next start renews it.
                here.close()
                continue
            except RuntimeError:
                here.close()
                # A worker imports the script that started it, and is about to start workers too.
                if getattr(multiprocessing.current_process(), "_inheriting", False):
                    raise ValueError(f"{GUARD}, got one that starts them on import") from None
                raise
            finally:
                there.close()
            worker = Worker(process, here)
            self._workers.append(worker)
            return worker
        raise WorkersLost("no worker process can be started: each was killed at its start")


@dataclass
class Worker:
    """A process of a pool, and this process's end of the pipe to it."""

    process: BaseProcess
    pipe: Connection
    number: int | None = None
    """The item that it works on, unless it is idle."""
    started: bool = False
    """Whether it has told that it is up."""
    packed: bytes = b""
    """The work that it was sent last."""

    def begin(self, number: int, item: bytes, packed: bytes) -> None:
        """Let the process work on a packed item."""
        self.number = number
        message = pickle.dumps((None if packed == self.packed else packed, item))
        self.packed = packed
        # A process that has ended has closed its end of the pipe: `receive` finds that out.
        with suppress(OSError):
            self.pipe.send_bytes(message)

    def receive(self) -> tuple[str, Any]:
        """Return what the process tells; EOFError or OSError if it has ended."""
        event, value = pickle.loads(self.pipe.recv_bytes())
        if event == STARTED:
            self.started = True
        else:
            self.number = None
        if event == RAISED:
            # Perhaps it could not read its work: so that is sent again with the next item.
            self.packed = b""
        return event, value

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def serve(pipe: Connection, needs: str) -> None:
    """Work on the items that come, and send the results back: this is what a worker process does.

    A message is a pair: packed work, or None for the work that came last, and a packed item.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=exit_with_parent, daemon=True).start()
    pipe.send_bytes(pack_event(STARTED, None))
    work: Any = None
    while True:
        try:
            message = pipe.recv_bytes()
        except (EOFError, OSError):
            # The parent has closed its end, or has died.
            return
        try:
            packed, packed_item = pickle.loads(message)
            work = work if packed is None else pickle.loads(packed)
            item = pickle.loads(packed_item)
        except Exception as error:
            answer = pack_event(RAISED, explain_unreadable(error, needs))
        else:
            answer = work_on(work, item)
        pipe.send_bytes(answer)


def work_on(work: Callable[[Any], Any], item: Any) -> bytes:
    """Return the result of work on an item, or what it raised, as a message."""
    try:
        return pack_event(DONE, work(item))
    except BaseException as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return pack_event(RAISED, error)


def pack_event(event: str, value: Any) -> bytes:
    """Return a message; a value that cannot be sent is described by an error that can."""
    try:
        message = pickle.dumps((event, value))
        if event == RAISED:
            # Some exceptions can be written and not read.
            pickle.loads(message)
    except Exception as error:
        text = f"several workers need results that can be sent, got {reprlib.repr(value)}: {error}"
        return pickle.dumps((RAISED, ValueError(text)))
    return message


def explain_unreadable(error: Exception, needs: str) -> ValueError:
    """Return the error of a process that cannot import what it is to work on."""
    return ValueError(
        f"{needs} that other processes can import, so from a module or script and not from an "
        f"interactive session, got {type(error).__name__}: {error}"
    )


def exit_with_parent() -> None:
    """Wait for the end of the parent process, then end this one."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # sys.exit would end this thread only, and the worker may be in the middle of a long item.
        os._exit(1)


def spawning_context() -> BaseContext:
    """Return the way to start each process afresh."""
    return multiprocessing.get_context("spawn")


def forking_context(preload: str) -> BaseContext:
    """Return the way to fork processes from a clean one that has imported a module.

    Where the system cannot fork, they are started afresh.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return spawning_context()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([preload])
    return context


@contextmanager
def one_thread() -> Iterator[None]:
    """Start processes inside that have one BLAS thread from their first import on."""
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
