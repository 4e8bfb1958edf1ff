"""Files that are written: completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from kernelbandits import checks
from kernelbandits.checks import StorageError, StorageFull, StorageReadOnly

DRAFT = ".kernelbandits-{}.part"
STALE = 3600.0
"""Seconds after which nobody can still be writing a draft."""


def replace_file(path: Path, content: bytes) -> None:
    """The file has the new content, or, whatever happens in between, still the old one."""
    target = Path(os.path.realpath(path))
    checks.needs(target.parent.is_dir(), "an export", "a folder that exists", str(path))
    checks.needs(
        target.is_file() or not target.exists(), "an export", "a path of a file", str(path)
    )
    try:
        _replace(target, content)
    except OSError as error:
        raise storage_error(error, path) from None


def _replace(target: Path, content: bytes) -> None:
    draft = target.with_name(DRAFT.format(secrets.token_hex(8)))
    sweep(target.parent)
    try:
        write_through(draft, content, mode_of(target))
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    settle(target.parent)


def mode_of(target: Path) -> int:
    """Who may read and write the file that is replaced, if there is one."""
    if not target.exists():
        return 0o666
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target.stat().st_mode & 0o777


def write_through(draft: Path, content: bytes, mode: int) -> None:
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def settle(folder: Path) -> None:
    """The new name, too, is on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(folder: Path) -> None:
    """Drafts whose writers were stopped are removed."""
    for draft in folder.glob(DRAFT.format("*")):
        with suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > STALE:
                draft.unlink()


def storage_error(error: OSError, path: Path) -> StorageError:
    """The same in one sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"an export needs space, got none left for {str(path)!r}")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageReadOnly(f"an export needs a place that can be written, got {str(path)!r}")
    return StorageError(
        f"an export needs a place that can be written, got {str(path)!r}: {error.strerror}"
    )
