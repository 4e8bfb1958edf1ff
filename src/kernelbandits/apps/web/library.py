"""The studies that a server offers: those of a file, a folder, or a PostgreSQL database.

A study is known by its name. A name is looked up in the list of what is there, and never becomes a
path; only a new study gets a file, named by letters, digits, - and _.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from kernelbandits import checks
from kernelbandits.checks import StudyConflict
from kernelbandits.outputs import is_study
from kernelbandits.storage import NoStudy, StorageError, StudyExists, studies
from kernelbandits.storage.places import FilePlace, ServerPlace, find
from kernelbandits.study import Study

FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}
)
"""Names that Windows takes for devices."""
SUFFIX = ".db"


@dataclass(frozen=True)
class Entry:
    """A study in a list; of one that cannot be read only its name and the reason are known."""

    name: str
    rows: int | None = None
    events: int | None = None
    since: float | None = None
    problem: str = ""


class Shelf(Protocol):
    """Where studies are: a file, a folder or a database."""

    @property
    def title(self) -> str:
        """What the page calls it; never a password, and no path."""

    @property
    def fixed_name(self) -> str | None:
        """The name that a new study has to have; None where it can be chosen."""

    def names(self) -> dict[str, str | Path]:
        """Name -> place of each study that is there."""

    def new_place(self, name: str) -> str | Path:
        """Where a new study of this name is stored; an error if the name is not fit."""


class FileShelf:
    """One study in one file, which may still have to be created."""

    def __init__(self, path: Path) -> None:
        self.path, self.title, self.fixed_name = path, path.stem, path.stem

    def names(self) -> dict[str, str | Path]:
        return {self.path.stem: self.path} if self.path.exists() else {}

    def new_place(self, name: str) -> Path:
        checks.needs(name == self.fixed_name, "a study", f"the name {self.fixed_name!r}", name)
        return self.path


class FolderShelf:
    """All studies that are files of one folder."""

    fixed_name = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.title = self.folder.name or "studies"

    def names(self) -> dict[str, str | Path]:
        """Links that lead out of the folder, and files that are no studies, are left out."""
        found = sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: path.name.casefold())
        inside = [path for path in found if path.resolve().parent == self.folder]
        return {path.stem: path for path in inside if is_study(path)}

    def new_place(self, name: str) -> Path:
        check_file_name(name)
        path = self.folder / f"{name}{SUFFIX}"
        if os.path.lexists(path):
            raise StudyExists(f"a new study needs another name, got {name!r}, which is there")
        return path


class DatabaseShelf:
    """All studies of a PostgreSQL database, or the one that its address names."""

    def __init__(self, address: str, place: ServerPlace) -> None:
        self._address = address
        self.fixed_name = place.study if re.search(r"[?&]study=", address) else None
        self.title = self.fixed_name or place.url.database or "studies"

    def names(self) -> dict[str, str | Path]:
        there = [one.name for one in studies(self._address)]
        return {name: self._place(name) for name in there if self.fixed_name in (None, name)}

    def new_place(self, name: str) -> str:
        fits = SCHEMA_NAME.fullmatch(name) and not name.startswith("pg_")
        needed = "a name of small letters, digits and _ (at most 63)"
        checks.needs(bool(fits), "a study", needed, name)
        wanted = self.fixed_name in (None, name)
        checks.needs(wanted, "a study", f"the name {self.fixed_name!r}", name)
        if name in self.names():
            raise StudyExists(f"a new study needs another name, got {name!r}, which is there")
        return self._place(name)

    def _place(self, name: str) -> str:
        if self.fixed_name is not None:
            return self._address
        return f"{self._address}{'&' if '?' in self._address else '?'}study={name}"


def check_file_name(name: str) -> None:
    fits = bool(FILE_NAME.fullmatch(name)) and name.lower() not in RESERVED
    needed = "a name of letters, digits, - and _, which begins with a letter or a digit"
    checks.needs(fits, "a study", needed, name)


def find_shelf(where: str) -> Shelf:
    """The shelf at a place: a folder, a file, a postgresql:// address, or env:NAME."""
    if not where.startswith("env:") and Path(where).is_dir():
        return FolderShelf(Path(where))
    place = find(where)
    if isinstance(place, FilePlace):
        folder = place.path.absolute().parent
        checks.needs(folder.is_dir(), "lab", "a folder that exists", str(place.path.parent))
        return FileShelf(place.path)
    address = os.environ[where.removeprefix("env:")] if where.startswith("env:") else where
    return DatabaseShelf(address, place)


class Library:
    """The open studies of a shelf, each opened when it is first needed.

    A study is opened up to three times: for what is written and listed (`study`), for suggestions
    (`asker`) and for the answers of its model (`reader`). A `Study` lets one thread in at a time,
    so a result is stored at once also while a suggestion or an answer is computed. Each of them
    reads from the log what the others wrote, and keeps what it has learnt in memory.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._open: dict[tuple[str, str], Study] = {}
        self._lock = Lock()

    def entries(self) -> list[Entry]:
        return [describe_place(name, place) for name, place in self.shelf.names().items()]

    def study(self, name: str) -> Study:
        """The study of this name, to write and to list; NoStudy if it is not in the list."""
        return self._find(name, "study")

    def asker(self, name: str) -> Study:
        """The same study, for suggestions."""
        return self._find(name, "asker")

    def reader(self, name: str) -> Study:
        """The same study, for the answers of its model; nothing is written by it."""
        return self._find(name, "reader")

    def _find(self, name: str, purpose: str) -> Study:
        with self._lock:
            known = self._open.get((name, purpose))
        if known is not None:
            return known
        place = self.shelf.names().get(name)
        if place is None:
            raise NoStudy(f"there is no study {name[:80]!r} here")
        with self._lock:
            if (name, purpose) not in self._open:
                self._open[name, purpose] = Study.open(place, writable=purpose != "reader")
            return self._open[name, purpose]

    def create(self, name: str, candidates: Any, **settings: Any) -> Study:
        """A new study under a name that nobody has taken."""
        place = self.shelf.new_place(name)
        if name in self.shelf.names():
            raise StudyConflict(f"a new study needs another name, got {name!r}, which is there")
        study = Study.create(place, candidates, **settings)
        with self._lock:
            self._open[name, "study"] = study
        return study

    def close(self) -> None:
        with self._lock:
            for study in self._open.values():
                study.close()
            self._open.clear()


def describe_place(name: str, place: str | Path) -> Entry:
    try:
        [found] = [one for one in studies(place) if isinstance(place, Path) or one.name == name]
    except (StorageError, ValueError) as error:
        return Entry(name, problem=str(error).replace(str(place), name))
    return Entry(name, found.rows, found.events, found.since)
