"""The studies that a server offers: those of a file, a folder, or a PostgreSQL database.

A study is known by its name. A name is looked up in the list of what is there, and never becomes a
path; only a new study gets a file, named by letters, digits, - and _.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from kernelbandits import checks
from kernelbandits.checks import StudyConflict
from kernelbandits.outputs import is_study
from kernelbandits.runtime import descriptor_limit, has_free_descriptor
from kernelbandits.storage import NoStudy, StorageBusy, StorageError, StudyExists, studies
from kernelbandits.storage.places import FilePlace, ServerPlace, find
from kernelbandits.study import Study
from kernelbandits.study.settings import LEARN_FROM

FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}
)
"""Names that Windows takes for devices."""
SUFFIX = ".db"
STUDY, ASKER, READER = "study", "asker", "reader"
"""The purposes for which a study is open."""
PATIENCE = 5.0
"""Seconds to wait for a study that another process holds; then the visitor may try again."""
SAME_HOLD = 1.0
"""Seconds for which a study that could not be opened counts as held by the same process."""
LISTING_PATIENCE = 1.0
"""Seconds for which a list of studies waits for those that others hold."""
MOST_OPEN = 64
"""Studies that are open at the same time, each with its table, policy and model in memory."""
DESCRIPTORS = 16
"""A study that is open takes up to six descriptors: its file and its journal, three times. The
others are for the connections of visitors."""
TOO_MANY_FILES = "the server has as many files open as it may; try again in a moment"
CONNECTIONS = 16
"""Studies of a database that are open, each with three connections; PostgreSQL allows 100."""


@dataclass(frozen=True)
class Entry:
    """A study in a list; of one that cannot be read only its name and the reason are known."""

    name: str
    rows: int | None = None
    events: int | None = None
    since: float | None = None
    problem: str = ""


class Shelf(Protocol):
    """A place of studies: a file, a folder or a database."""

    @property
    def title(self) -> str:
        """The name of the shelf on the page; never a password, and no path."""

    @property
    def fixed_name(self) -> str | None:
        """The name that a new study has to have; None where it can be chosen."""

    @property
    def most_open(self) -> int:
        """The number of its studies that may be open at the same time."""

    def names(self) -> dict[str, str | Path]:
        """Return the place of each study on the shelf, by name."""

    def new_place(self, name: str) -> str | Path:
        """Return where to store a new study of this name; refuse a name that is not fit."""


class FileShelf:
    """One study in one file, which may still have to be created."""

    def __init__(self, path: Path) -> None:
        self.path, self.title, self.fixed_name = path, path.stem, path.stem
        self.most_open = 1

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
        self.most_open = max(min(MOST_OPEN, descriptor_limit() // DESCRIPTORS), 1)

    def names(self) -> dict[str, str | Path]:
        """Return the studies of the folder.

        Links that lead out of it, and files that are no studies, are left out.
        """
        found = sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: path.name.casefold())
        inside = [path for path in found if path.resolve().parent == self.folder]
        return {write_name(path): path for path in inside if is_study(path)}

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
        self.title = self.fixed_name or place.database or "studies"
        self.most_open = CONNECTIONS

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


def write_name(path: Path) -> str:
    r"""Return the name of a study in a file; bytes that are no UTF-8 are written as \xff.

    >>> write_name(Path("studies/films.db")), write_name(Path(os.fsdecode(b"\xff.db")))
    ('films', '\\xff')
    """
    return os.fsencode(path.stem).decode("utf-8", "backslashreplace")


def check_file_name(name: str) -> None:
    fits = bool(FILE_NAME.fullmatch(name)) and name.lower() not in RESERVED
    needed = "a name of letters, digits, - and _, which begins with a letter or a digit"
    checks.needs(fits, "a study", needed, name)


def find_shelf(where: str) -> Shelf:
    """Return the shelf at a place: a folder, a file, a postgresql:// address, or env:NAME."""
    if not where.startswith("env:") and Path(where).is_dir():
        return FolderShelf(Path(where))
    place = find(where)
    if isinstance(place, FilePlace):
        folder = place.path.absolute().parent
        checks.needs(folder.is_dir(), "lab", "a folder that exists", str(place.path.parent))
        return FileShelf(place.path)
    address = os.environ[where.removeprefix("env:")] if where.startswith("env:") else where
    return DatabaseShelf(address, place)


class OpenStudy:
    """A study of a shelf that is open, once for each purpose that it was needed for."""

    def __init__(self, place: str | Path, patience: float) -> None:
        self.place, self.patience = place, patience
        self._opened: dict[str, Future[Study]] = {}
        self._lock = Lock()
        self._held = -math.inf, ""
        """When it was last held by others for too long to be opened, and how that was said."""

    def find(self, purpose: str) -> Study:
        """Return the study for a purpose: the first thread opens it, and the others wait for that.

        Those who come right after it could not be opened do not wait for as long again.
        """
        with self._lock:
            is_first, (held_at, sentence) = purpose not in self._opened, self._held
            if is_first and time.monotonic() - held_at < SAME_HOLD:
                raise StorageBusy(sentence)
            found = self._opened.setdefault(purpose, Future())
        if is_first:
            writable = purpose != READER
            try:
                found.set_result(Study.open(self.place, writable=writable, patience=self.patience))
            except BaseException as error:
                if isinstance(error, StorageBusy):
                    self._held = time.monotonic(), str(error)
                # Those who wait get the same error; whoever comes later tries again.
                with self._lock:
                    self._opened.pop(purpose, None)
                found.set_exception(error)
        return found.result()

    @property
    def is_closed(self) -> bool:
        return not self._opened

    def close(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, {}
        for one in opened.values():
            if one.done() and one.exception() is None:
                one.result().close()


class Library:
    """The open studies of a shelf, each opened when it is first needed.

    A study is opened up to three times: for what is written and listed (`study`), for suggestions
    (`asker`) and for the answers of its model (`reader`). A `Study` lets one thread in at a time,
    so a result is stored at once also while a suggestion or an answer is computed. Each of them
    reads from the log what the others wrote, and keeps what it has learnt in memory.

    Parameters
    ----------
    shelf
        Where the studies are.
    patience
        Seconds to wait for a study that another process holds. The lock of the library is never
        held meanwhile, so the other studies answer.
    most
        How many studies may be open; those not used for longest are closed first, and one that a
        request uses is not closed. By default as many as `shelf.most_open`.
    """

    def __init__(self, shelf: Shelf, patience: float = PATIENCE, most: int | None = None) -> None:
        self.shelf, self.patience = shelf, patience
        self.most = shelf.most_open if most is None else most
        self._open: OrderedDict[str, OpenStudy] = OrderedDict()
        """The study used last is the last."""
        self._users: Counter[str] = Counter()
        self._lock = Lock()

    def entries(self) -> list[Entry]:
        """List all studies; wait a moment, for all together, for those that others hold."""
        end = time.monotonic() + min(self.patience, LISTING_PATIENCE)
        return [
            describe_place(name, place, max(end - time.monotonic(), 0.0))
            for name, place in self.shelf.names().items()
        ]

    def study(self, name: str) -> Study:
        """Return the study of this name, to write and to list; raise NoStudy if there is none."""
        return self._find(name, STUDY)

    def asker(self, name: str) -> Study:
        """Return the study of this name, for suggestions."""
        return self._find(name, ASKER)

    def reader(self, name: str) -> Study:
        """Return the study of this name, for the answers of its model; nothing is written by it."""
        return self._find(name, READER)

    @contextmanager
    def use(self, name: str) -> Iterator[None]:
        """Keep a study open, if it is, while a request uses it."""
        with self._lock:
            self._users[name] += 1
        try:
            yield
        finally:
            with self._lock:
                self._users[name] -= 1
                self._users += Counter()  # Names that nobody uses are dropped.

    def _find(self, name: str, purpose: str) -> Study:
        with self._lock:
            known = self._open.get(name)
            if known is not None:
                self._open.move_to_end(name)
        if known is None:
            known = self._add(name, self._look_up(name))
        try:
            return known.find(purpose)
        except StorageBusy:
            raise
        except StorageError:
            if known.is_closed:
                self.forget(name)
            raise

    def _look_up(self, name: str) -> str | Path:
        place = self.shelf.names().get(name)
        if place is None:
            # Without a free descriptor no file looks like a study.
            if not has_free_descriptor():
                raise StorageBusy(TOO_MANY_FILES)
            raise NoStudy(f"there is no study {name[:80]!r} here")
        return place

    def _add(self, name: str, place: str | Path) -> OpenStudy:
        """Make room for a study, which is opened when it is used."""
        self._close_idle(self.most - 1)
        with self._lock:
            return self._open.setdefault(name, OpenStudy(place, self.patience))

    def create(self, name: str, candidates: Any, **settings: Any) -> Study:
        """Create a study under a name that nobody has taken."""
        place = self.shelf.new_place(name)
        if name in self.shelf.names():
            raise StudyConflict(f"a new study needs another name, got {name!r}, which is there")
        settings |= self.find_sources(settings)
        # It is opened again, with the patience of the library.
        Study.create(place, candidates, **settings).close()
        return self._add(name, place).find(STUDY)

    def find_sources(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return where the studies to learn from are; they are named as this page names them."""
        wanted, there = settings.get(LEARN_FROM) or (), self.shelf.names()
        for name in wanted:
            checks.needs(name in there, LEARN_FROM, "names of studies that are here", name)
        return {LEARN_FROM: [there[name] for name in wanted]} if wanted else {}

    def has_open(self, name: str) -> bool:
        return name in self._open

    def forget(self, name: str) -> None:
        """Close a study; it is looked up and opened again when it is next needed."""
        with self._lock:
            known = self._open.pop(name, None)
        if known is not None:
            known.close()

    def close_idle(self) -> None:
        """Close all studies that no request uses."""
        self._close_idle(0)

    def _close_idle(self, most: int) -> None:
        """Close those that were not used for longest, until at most so many are open."""
        with self._lock:
            idle = [name for name in self._open if name not in self._users]
            surplus = max(len(self._open) - most, 0)
            closed = [self._open.pop(name) for name in idle[:surplus]]
        for one in closed:
            one.close()

    def close(self) -> None:
        with self._lock:
            closed = list(self._open.values())
            self._open.clear()
        for one in closed:
            one.close()


def describe_place(name: str, place: str | Path, patience: float) -> Entry:
    try:
        listed = studies(place, patience)
        [found] = [one for one in listed if isinstance(place, Path) or one.name == name]
    except (StorageError, ValueError) as error:
        return Entry(name, problem=str(error).replace(str(place), name))
    return Entry(name, found.rows, found.events, found.since)
