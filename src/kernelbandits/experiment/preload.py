"""What a worker imports before its first cell: the code of experiments, and the compiled loops.

The processes of a pool are forked from one that has imported this module, and share the result.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

from kernelbandits.experiment import cells
from kernelbandits.experiment.engines import load_loops, resolve_engine

__all__ = ["cells", "lock_machine"]


@contextmanager
def lock_machine(folder: Path) -> Iterator[None]:
    """Let one process of this machine at a time in; a process that is killed leaves no lock."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    # Home folders are often shared by all machines of a cluster.
    with (folder / f"compile-{platform.node()}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if resolve_engine("auto") == "numba":
    # The first process of a machine compiles; the others load what it wrote to numba's cache.
    with lock_machine(user_cache_path("kernelbandits")):
        load_loops()
