"""A verified copy of a study in a new SQLite file, whatever it was stored in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from kernelbandits.storage.creation import fill
from kernelbandits.storage.engines.sqlite import SqliteEngine, flush
from kernelbandits.storage.errors import StudyExists
from kernelbandits.storage.header import Header
from kernelbandits.storage.rows import Row
from kernelbandits.storage.session import Session


def write_file(target: str | os.PathLike[str], header: Header, lines: Sequence[str], events: Sequence[Row]) -> None:
    """A new file with these rows: it is there as a whole, on the disk, or not at all."""
    path = Path(target)
    refuse_existing(path)
    with draft_of(path) as draft:
        session = Session(SqliteEngine(draft, "create"))
        session.write(lambda connection: fill(connection, session.engine, header, lines, events))
        session.close()
        put(draft, path)


def refuse_existing(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise StudyExists(f"{path} is there already, and was left as it is")


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A name beside the target, of which nothing is left in the end."""
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield draft
    finally:
        for end in ("", "-journal", "-wal", "-shm"):
            draft.with_name(draft.name + end).unlink(missing_ok=True)


def put(draft: Path, path: Path) -> None:
    """Give the draft its name, unless somebody else took it meanwhile; not all disks have a second name for a file."""
    try:
        os.link(draft, path)
    except OSError:
        refuse_existing(path)
        os.rename(draft, path)
    flush(path.absolute().parent)
