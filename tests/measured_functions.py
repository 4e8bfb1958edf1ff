"""Functions that worker processes measure; the module imports little, so that they start fast."""

from __future__ import annotations

import os
import threading


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
