"""Functions that worker processes call; the module imports little, so that they start fast."""

from __future__ import annotations

import os
import threading
import time
from decimal import Decimal


def dose_response(x):
    return -((x["dose"] - 0.3) ** 2) - (0.2 if x["salt"] else 0.0)


def fragile(x):
    if x["dose"] > 0.6:
        raise KeyError("no such dose")
    return dose_response(x)


def deadly(x):
    if x["dose"] > 0.6:
        os._exit(3)
    return dose_response(x)


def endless(x):
    threading.Event().wait(60)


def training(x, trial):
    """The loss falls by 1/epoch to that of the place; it is stopped where others were better."""
    for epoch in range(1, 10):
        loss = (x[0] - 0.3) ** 2 + (x[1] - 0.7) ** 2 + 1 / epoch
        trial.report(loss, epoch)
        if trial.should_stop():
            break
    return loss


def decimal_response(x):
    return Decimal(dose_response(x))


def worded_response(x):
    return str(dose_response(x))


def rest(seconds):
    time.sleep(seconds)
    return seconds


def append_line(path, item):
    with open(path, "a") as file:
        print(item, file=file)


def fall(code):
    """End the process with this exit code, or by the signal -code; None lets it live."""
    if code is not None and code < 0:
        os.kill(os.getpid(), -code)
    if code is not None:
        os._exit(code)


class Unreadable(Exception):
    """Can be written by pickle, and not be read."""

    def __init__(self, first, second):
        super().__init__(first, second)
        self.args = (first,)

    def __repr__(self):
        return "Unreadable('a', 'b')"


def raise_unreadable(item):
    raise Unreadable("a", "b")


def count_reads(path):
    """What a process gets as its work; it notes that it has read it."""
    append_line(path, "read")
    return abs
