"""Files that are written: completely or not at all, and never in place of a study."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from kernelbandits import checks
from kernelbandits.checks import StorageError, StorageFull, StorageReadOnly, StudyConflict

SQLITE = b"SQLite format 3\0"
STUDY_MARK = 0x6B624C67
"""The application_id of our SQLite files."""
SCHEMA = (b"CREATE TABLE", b"events", b"candidates")
"""Words at the beginning of a study whose mark is damaged."""
COMPANIONS = ("-wal", "-journal", "-shm")
"""Ends of names of the files that SQLite keeps beside a database; they hold results too."""
DRAFT = ".kernelbandits-{}.part"
STALE = 3600.0
"""Seconds after which nobody can still be writing a draft."""
READER = """
import sys
try:
    with open(sys.argv[1], "rb") as file:
        sys.stdout.buffer.write(file.read(int(sys.argv[2])))
except OSError as error:
    sys.exit(error.errno)
"""
"""A program that prints the beginning of a file."""


def check_output(owner: str, path: str | os.PathLike[str], force: bool = False) -> Path:
    """Return the file that a path leads to, if it may be written.

    A study is never replaced, and any other file that exists only with `force`.
    """
    check_path(owner, path)
    target = Path(os.path.realpath(path))
    checks.needs(target.parent.is_dir(), owner, "a folder that exists", str(path))
    checks.needs(target.is_file() or not target.exists(), owner, "a path of a file", str(path))
    if is_study(target):
        raise StudyConflict(
            f"{owner} needs another file, got {path}, which holds a study; no output replaces a "
            "study"
        )
    if target.exists() and not force:
        raise existing_file_error(owner, path)
    return target


def existing_file_error(owner: str, path: str | os.PathLike[str]) -> StudyConflict:
    return StudyConflict(
        f"{owner} needs a new file, got {path}, which exists; --force (force=True) replaces it"
    )


def check_path(owner: str, path: str | os.PathLike[str]) -> None:
    """Refuse a name that no file can have: too long, with a NUL, or a link that leads to itself."""
    try:
        os.stat(path)
    except ValueError:
        raise ValueError(f"{owner} needs the name of a file, got {os.fspath(path)!r}") from None
    except OSError as error:
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            raise ValueError(
                f"{owner} needs the name of a file, got {str(path)!r}: {error.strerror}"
            ) from None


def is_study(path: Path) -> bool:
    """Tell whether a file is a study, by its content, or one that SQLite keeps beside a study."""
    for end in COMPANIONS:
        if path.name.endswith(end) and is_study(path.with_name(path.name.removesuffix(end))):
            return True
    try:
        about = path.stat()
    except (OSError, ValueError):
        return False
    if not stat.S_ISREG(about.st_mode) or about.st_size == 0:
        return False
    state = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)
    try:
        return has_mark(path) or looks_like_study(path, state)
    except OSError:
        return False


def has_mark(path: Path) -> bool:
    """Tell whether SQLite reads our mark in a file.

    Closing any handle of a file frees all POSIX locks that this process has on it, and another
    process may then write at the same time. SQLite keeps its handles open while it has locks, so
    a file that may be a study is opened by SQLite only. `immutable` reads without a lock and
    without waiting for those who have one.
    """
    if not path.is_file():
        return False
    address = sqlite_address(path, mode="ro", immutable="1")
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            (mark,) = connection.execute("PRAGMA application_id").fetchone()
    except sqlite3.Error:
        return False
    return bool(mark == STUDY_MARK)


@lru_cache(maxsize=1024)
def looks_like_study(path: Path, state: tuple[int, ...]) -> bool:
    """Tell whether the beginning of a file is that of a study that SQLite does not recognise.

    `state` changes with the file: its device, number, size and time.
    """
    head = read_apart(path, 65536)
    marked = head.startswith(SQLITE) and int.from_bytes(head[68:72], "big") == STUDY_MARK
    return marked or all(word in head for word in SCHEMA)


def sqlite_address(path: Path, **options: str) -> str:
    """Return the address under which SQLite opens a file, with options such as mode="ro"."""
    given = "&".join(f"{name}={value}" for name, value in options.items())
    return f"file:{quote(os.fsencode(path.absolute()))}?{given}"


def read_apart(path: Path, most: int = -1) -> bytes:
    """Return the bytes of a file, read by another process; at most so many from its beginning.

    This process keeps the locks that SQLite has on the file; see `has_mark`.
    """
    command = [sys.executable, "-I", "-S", "-c", READER, str(path.absolute()), str(most)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        number = done.returncode if done.returncode > 0 else errno.EIO
        raise OSError(number, os.strerror(number), str(path))
    return done.stdout


def replace_file(
    path: str | os.PathLike[str], content: bytes, owner: str = "an export", force: bool = False
) -> None:
    """Give the file new content; whatever happens in between, it has the old content or the new."""
    target = check_output(owner, path, force)
    try:
        publish(owner, target, force, lambda draft: write_through(draft, content, mode_of(target)))
    except OSError as error:
        raise storage_error(owner, error, path) from None


def publish(owner: str, target: Path, force: bool, write: Callable[[Path], None]) -> None:
    """Write a draft beside the target and give it the name of the target."""
    draft = target.with_name(DRAFT.format(secrets.token_hex(8)))
    sweep(target.parent)
    try:
        write(draft)
        # Somebody may have created a study there meanwhile.
        check_output(owner, target, force)
        if target.exists():
            os.replace(draft, target)
        else:
            give_new_name(draft, target)
    except FileExistsError:
        raise existing_file_error(owner, target) from None
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(target.parent)


def give_new_name(draft: Path, target: Path) -> None:
    """Give a file a name that no other file has, not even one that was created just now.

    A hard link does this in one step. On file systems that have none, the name is reserved by
    creating the file. For a moment it then holds a line of text, which nobody takes for a study.
    """
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:
        with target.open("x") as file:
            file.write("a file is being written here\n")
        try:
            os.replace(draft, target)
        except OSError:
            target.unlink(missing_ok=True)
            raise


def mode_of(target: Path) -> int:
    """Return who may read and write the file that is replaced, as a mode; 0o666 for a new file."""
    if not target.exists():
        return 0o666
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target.stat().st_mode & 0o777


def write_through(draft: Path, content: bytes, mode: int) -> None:
    # Without O_BINARY, which only Windows has, it would write two characters for each line end.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(draft, flags, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Write a folder to the disk, so that the new name of a file in it is stored too."""
    if os.name != "posix":
        # Windows cannot open a folder; its file systems store names by themselves.
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(folder: Path) -> None:
    """Remove drafts whose writers were stopped."""
    for draft in folder.glob(DRAFT.format("*")):
        with suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > STALE:
                draft.unlink()


def storage_error(owner: str, error: OSError, path: str | os.PathLike[str]) -> StorageError:
    """Turn an error of the operating system into one sentence about the place."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"{owner} needs space, got none left for {str(path)!r}")
    needed = f"{owner} needs a place that can be written, got {str(path)!r}"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageReadOnly(needed)
    return StorageError(f"{needed}: {error.strerror}")
