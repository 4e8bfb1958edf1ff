"""Fresh processes: how long they take, and how much memory they and their children hold
together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
INTERVAL = 0.05
"""Seconds between two looks at the memory."""


@dataclass(frozen=True)
class Run:
    code: int
    seconds: float
    megabytes: float
    """The greatest sum over the process and its children, shared pages counted once.

    0 without /proc.
    """


def python(*arguments: str, executable: str = sys.executable) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([executable, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def watch_process(
    command: Sequence[str], environment: Mapping[str, str], timeout: float = 600
) -> Run:
    """Run a command in a session of its own and look at the session's memory as it runs."""
    start, peak = time.perf_counter(), 0.0
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(
        command, env=environment, start_new_session=True, stdout=quiet, stderr=quiet
    )
    try:
        while child.poll() is None and time.perf_counter() - start < timeout:
            peak = max(peak, sum(peak_memory(pid) for pid in session(child.pid)))
            time.sleep(INTERVAL)
        seconds = time.perf_counter() - start
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    return Run(child.wait(), seconds, peak / 1024)


def session(leader: int) -> Iterator[int]:
    """The processes of a session; none where there is no /proc."""
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                yield int(folder.name)


def peak_memory(pid: int) -> int:
    """Kilobytes of a process, shared pages divided among those who share them (Pss)."""
    with suppress(OSError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0
