"""Tables that were uploaded or pasted, kept until a study is created from them.

Each is a folder with a random name. The name that the file had is only shown: it never becomes part
of a path, except for its ending, which says what kind of file it is.
"""

from __future__ import annotations

import re
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from kernelbandits import checks
from kernelbandits.storage import NoStudy

KEPT = 86400.0
"""Seconds after which an upload is removed."""
NUMBER = re.compile(r"[0-9a-f]{32}")
ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".npy")
LONGEST_NAME = 80


@dataclass(frozen=True)
class Upload:
    """A table that somebody brought."""

    number: str
    path: Path
    shown: str
    """The name of the file, as its owner knows it."""


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
        own.mkdir(mode=0o700)
        name = re.sub(r"[^\w. -]", "_", shown.replace("\\", "/").rpartition("/")[2])[-LONGEST_NAME:]
        (own / "name").write_text(name or "table.csv", encoding="utf-8")
        (own / f"table{ending_of(name)}").write_bytes(content)
        return self.find(number)

    def find(self, number: str) -> Upload:
        """The upload of this number; NoStudy if there is none."""
        there = [path.name for path in self.folder.iterdir()] if NUMBER.fullmatch(number) else []
        if number not in there:
            raise NoStudy("this table is not here any more; upload it again")
        own = self.folder / number
        [path] = own.glob("table.*")
        return Upload(number, path, (own / "name").read_text(encoding="utf-8"))

    def remove(self, upload: Upload) -> None:
        shutil.rmtree(self.folder / upload.number, ignore_errors=True)

    def _sweep(self) -> None:
        """Remove what nobody has made a study of."""
        for own in self.folder.iterdir():
            if time.time() - own.stat().st_mtime > KEPT:
                shutil.rmtree(own, ignore_errors=True)


def ending_of(name: str) -> str:
    """The ending of a name, if it is one of a table; .csv otherwise."""
    suffix = Path(name).suffix.lower()
    return suffix if suffix in ENDINGS else ".csv"
