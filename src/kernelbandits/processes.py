"""Worker processes: started so that Ctrl-C and the end of the parent leave none behind."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any


def serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    """What a worker process does: work on the items that come, and send the results back.

    An answer is a pair: (True, result), or (False, the exception that `work` raised).
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=exit_with_parent, daemon=True).start()
    while True:
        try:
            item = pipe.recv()
        except (EOFError, OSError):
            # The parent has closed its end, or has died.
            return
        try:
            answer = (True, work(item))
        except BaseException as error:
            error.add_note(f"In a worker process:\n{traceback.format_exc()}")
            answer = (False, error)
        send_answer(pipe, answer)


def send_answer(pipe: Connection, answer: tuple[bool, Any]) -> None:
    """Send a result or an error; one that cannot be sent is described by an error that can."""
    try:
        pipe.send(answer)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        text = f"several workers need results that can be sent, got {answer[1]!r}: {error}"
        pipe.send((False, ValueError(text)))


def exit_with_parent() -> None:
    """Wait for the end of the parent process, then end this one."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # sys.exit would end this thread only, and the worker may be in the middle of a long item.
        os._exit(1)


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
