"""Workers by fork from one process that has imported what they need.

They end when whoever asked for them ends.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
PRELOADED = (
    "benchmarks.durability.tasks",
    "benchmarks.durability.looks",
    "kernelbandits.apps.cli",
    "kernelbandits.study.driver",
    "scipy.optimize",
)
"""With the policy and the optimiser of its fits, which a study imports when it is first asked: they
take 0.4 s of the processor, and each of 16 workers would import them anew."""
FAILED = 70
"""Exit code of a worker whose task raised."""
PAUSE = 0.002


class Nursery:
    """Starts workers, and knows how they ended."""

    def __init__(self, folder: Path, imports: Iterable[str] = PRELOADED) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.durability.nursery", str(folder), *imports]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, start_new_session=True
        )
        self.statuses: dict[int, int] = {}

    def start(self, task: str, **arguments: Any) -> int:
        """Call "module:function" in a new process; its pid."""
        return int(self.asked({"start": task, "arguments": arguments}))

    def ended(self, pid: int) -> int | None:
        """The exit code, minus the signal for one that was killed, None while it runs."""
        if pid not in self.statuses:
            status = self.asked({"look": pid})
            if status is None:
                return None
            self.statuses[pid] = int(status)
        return self.statuses[pid]

    def wait(self, pid: int) -> int:
        """Asked again and again: who waits for a worker would not hear that its asker is gone."""
        while (status := self.ended(pid)) is None:
            time.sleep(PAUSE)
        return status

    def kill(self, pid: int) -> int:
        """Kill -9. A worker that has ended stays a zombie until it was looked at, so this hits no
        one else."""
        if self.ended(pid) is None:
            os.kill(pid, signal.SIGKILL)
        return self.wait(pid)

    def said(self, pid: int) -> str:
        return said_file(self.folder, pid).read_text()

    def asked(self, request: dict[str, Any]) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """End all workers; the end of its standard input is what the process waits for."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self) -> Nursery:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()


def said_file(folder: Path, pid: int) -> Path:
    return folder / f"{pid}.txt"


def serve(folder: Path) -> None:
    """Do what each line of standard input asks for; at its end kill all workers that are left."""
    living: set[int] = set()
    try:
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line), living, folder)), flush=True)
    finally:
        for pid in living:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def answer(request: dict[str, Any], living: set[int], folder: Path) -> int | None:
    if "start" in request:
        pid = os.fork() or work(request["start"], request["arguments"], folder)
        living.add(pid)
        return pid
    pid = request["look"]
    found, status = os.waitpid(pid, os.WNOHANG)
    if not found:
        return None
    living.discard(pid)
    return os.waitstatus_to_exitcode(status)


def work(task: str, arguments: dict[str, Any], folder: Path) -> NoReturn:
    """In the new process: what it says goes to a file of its own, and nothing of the parent's is
    run at its end."""
    code = FAILED
    try:
        redirect(folder)
        module, _, name = task.partition(":")
        getattr(importlib.import_module(module), name)(**arguments)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILED
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def redirect(folder: Path) -> None:
    file = os.open(said_file(folder, os.getpid()), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(file, 1)
    os.dup2(file, 2)


def until(condition: Any, seconds: float = 60.0) -> None:
    """Wait for something to become true; a minute is taken for never."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"what was waited for did not happen in {seconds:g} s")
        time.sleep(0.005)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        importlib.import_module(name)
    serve(Path(sys.argv[1]))
