"""A verified copy of a study in a new SQLite file, whatever it was stored in."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from kernelbandits.outputs import check_path, is_study, sync_folder
from kernelbandits.storage.creation import fill
from kernelbandits.storage.errors import StorageError, StorageFull, StorageReadOnly, StudyExists
from kernelbandits.storage.header import Header
from kernelbandits.storage.session import Session
from kernelbandits.storage.sqlite import SqliteBackend
from kernelbandits.storage.statements import Row

RESERVED = "a backup is being written here\n"
KINDS: dict[int, type[StorageError]] = {errno.ENOSPC: StorageFull, errno.EDQUOT: StorageFull}
KINDS |= dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), StorageReadOnly)


def write_file(
    target: str | os.PathLike[str],
    header: Header,
    segments: Sequence[Row],
    events: Sequence[Row],
    force: bool = False,
) -> None:
    """Write a new file with these rows; in the end it is complete on the disk or does not exist.

    With `force` it takes the place of another file, but never of a study.
    """
    check_path("a backup", target)
    path = Path(os.path.realpath(target) if force else target)
    refuse_existing(path, force)
    with temporary_draft(path) as draft:
        session = Session(SqliteBackend(draft, "create"))
        for transaction in session.transactions():
            with transaction:
                fill(transaction.connection, session.backend, header, segments, events)
        session.close()
        publish(draft, path, force)


def refuse_existing(path: Path, force: bool = False) -> None:
    if not path.absolute().parent.is_dir():
        raise StorageError(f"there is no directory {path.absolute().parent} for {path}")
    if is_study(Path(os.path.realpath(path))):
        raise StudyExists(f"{path} exists already and holds a study; no output replaces a study")
    if not force and (path.exists() or path.is_symlink()):
        raise existing_file_error(path)
    if path.exists() and not path.is_file():
        raise StorageError(f"{path} is not a file, and was left as it is")


def existing_file_error(path: Path) -> StudyExists:
    return StudyExists(
        f"{path} exists already, and was left as it is; --force (force=True) replaces it"
    )


@contextmanager
def temporary_draft(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside the target; every file of that name is deleted at the end."""
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield draft
    finally:
        for end in ("", "-journal", "-wal", "-shm"):
            draft.with_name(draft.name + end).unlink(missing_ok=True)


def publish(draft: Path, path: Path, force: bool = False) -> None:
    """Give the draft its final name, unless another process has used that name meanwhile.

    A hard link does this in one step and never overwrites. Not all file systems have hard links.
    """
    try:
        if force and path.exists():
            refuse_existing(path, force)
            os.replace(draft, path)
        elif not try_link(draft, path):
            replace_reserved(draft, path)
        sync_folder(path.absolute().parent)
    except FileExistsError:
        raise existing_file_error(path) from None
    except OSError as error:
        raise write_error(path, error) from error


def try_link(draft: Path, path: Path) -> bool:
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def replace_reserved(draft: Path, path: Path) -> None:
    """Reserve the name by creating the file, which fails if it exists; then replace the file.

    In between the file holds one line of text, which no command takes for a study.
    """
    with path.open("x") as file:
        file.write(RESERVED)
    try:
        os.replace(draft, path)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def write_error(path: Path, error: OSError) -> StorageError:
    kind = KINDS.get(error.errno or 0, StorageError)
    return kind(f"{path} cannot be written: {error.strerror or error}")
