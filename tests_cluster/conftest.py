"""A real Dask cluster: a scheduler and two worker processes on the loopback address."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from distributed import Client

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from kernelbandits.experiment import cluster  # noqa: E402


def pytest_configure(config: pytest.Config) -> None:
    for category in ("TheoryWarning", "NumericsWarning", "DataNotice"):
        config.addinivalue_line("filterwarnings", f"ignore::kernelbandits.{category}")


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    """A client of two worker processes; each that is killed is started again."""
    with cluster.quiet_logs(), cluster.connect("local", 2) as found:
        yield found


@contextmanager
def dask_process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler or a worker in a process of its own."""
    paths = os.pathsep.join([str(HERE), *sys.path])
    command = [sys.executable, "-m", *words, "--no-dashboard"]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        command, env=os.environ | {"PYTHONPATH": paths}, stdout=quiet, stderr=quiet
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()


@contextmanager
def scheduler(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A scheduler and its address."""
    file = folder / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
    with dask_process("distributed.cli.dask_scheduler", *options) as process:
        # A client waits until the scheduler has written where it is.
        with Client(scheduler_file=str(file), timeout=60) as client:
            address = client.scheduler.address
        yield process, address


@contextmanager
def worker(address: str) -> Iterator[subprocess.Popen[bytes]]:
    # Without the process that would start it again.
    options = ("--nthreads", "1", "--no-nanny")
    with dask_process("distributed.cli.dask_worker", address, *options) as process:
        yield process
