"""Tables that were uploaded or pasted, kept until a study is created from them.

Each is a file in a folder with a random name. Of the name that the file had only letters, digits
and a few marks are kept.
"""

from __future__ import annotations

import errno
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernelbandits import checks
from kernelbandits.checks import StorageFull
from kernelbandits.storage import NoStudy

KEPT = 86400.0
"""Seconds after which an upload is removed."""
NUMBER = re.compile(r"[0-9a-f]{32}")
ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".npy")
LONGEST_NAME = 80
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True)
class Upload:
    """A table that somebody brought."""

    number: str
    path: Path


class Uploads:
    """All uploads of a server, in one folder of the user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def add(self, content: bytes, shown: str) -> Upload:
        checks.needs(bool(content.strip()), "a new study", "a table with a header", "an empty one")
        self._sweep()
        number = secrets.token_hex(16)
        own = self.folder / number
        with refuse_full_disk():
            own.mkdir(mode=0o700)
        try:
            with refuse_full_disk():
                (own / safe_name(shown)).write_bytes(content)
        except OSError:
            # No half of a table stays.
            shutil.rmtree(own, ignore_errors=True)
            raise
        return self.find(number)

    def find(self, number: str) -> Upload:
        """Return the upload of this number; raise NoStudy if there is none."""
        there = [path.name for path in self.folder.iterdir()] if NUMBER.fullmatch(number) else []
        if number not in there:
            raise NoStudy("this table is not here any more; upload it again")
        [path] = (self.folder / number).iterdir()
        return Upload(number, path)

    def remove(self, upload: Upload) -> None:
        shutil.rmtree(self.folder / upload.number, ignore_errors=True)

    def _sweep(self) -> None:
        """Remove what nobody has made a study of."""
        for own in self.folder.iterdir():
            if time.time() - own.stat().st_mtime > KEPT:
                shutil.rmtree(own, ignore_errors=True)


@contextmanager
def refuse_full_disk() -> Iterator[None]:
    """Say in a sentence that the disk is full, as a study does for its own file."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        sentence = "no space is left on the disk of the server; nothing was written"
        raise StorageFull(sentence) from None


def safe_name(shown: str) -> str:
    """Return a name for the file of an upload: the last part of its own, without unsafe letters.

    >>> safe_name("../../etc/my films.csv"), safe_name("C:\\\\data\\\\.x.xlsx"), safe_name("")
    ('my films.csv', 'x.xlsx', 'table.csv')
    """
    last = shown.replace("\\", "/").rpartition("/")[2]
    stem, dot, suffix = re.sub(r"[^A-Za-z0-9_. -]", "_", last).strip(". ").rpartition(".")
    ending = f".{suffix.lower()}" if dot else ""
    if ending not in ENDINGS:
        stem, ending = f"{stem}{dot}{suffix}", ".csv"
    return f"{stem[-LONGEST_NAME:].strip('. ') or 'table'}{ending}"
