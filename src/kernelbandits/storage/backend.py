"""What a database must provide: how to connect, how to lock, what an error means."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from kernelbandits.storage.errors import Damaged, StorageError, StorageFull
from kernelbandits.storage.statements import Connection, Statements, fetch

PATIENCE = 30.0
"""Temporary errors are retried for this many seconds."""


class Backend(ABC):
    """One place, opened in the mode "read", "write" or "create"."""

    name: str
    """The place without passwords."""
    mode: str
    statements: Statements
    errors: tuple[type[Exception], ...]
    """The errors of the driver."""

    @abstractmethod
    def connect(self) -> Connection:
        """A new connection; each statement is a transaction of its own unless one was begun."""

    @abstractmethod
    def is_usable(self, connection: Connection) -> bool:
        """Whether the connection is open and leads to the study that is at the place now."""

    @abstractmethod
    def lock_schema(self, connection: Connection) -> None:
        """Inside a transaction: prevent others from creating or migrating this study."""

    @abstractmethod
    def create_schema(self, connection: Connection) -> None:
        """Inside a transaction: create what must exist before tables can be created."""

    @abstractmethod
    def write_mark(self, connection: Connection, version: int) -> None:
        """Inside a transaction: mark this as a study with tables of this version."""

    @abstractmethod
    def version(self, connection: Connection) -> int:
        """The version of the tables; raises NoStudy if there are none."""

    @abstractmethod
    def copy_tables(self, connection: Connection, version: int) -> str:
        """Inside a transaction: copy all tables, and return the name of the copy."""

    @abstractmethod
    def clean_up(self, connection: Connection) -> None:
        """Delete files that are only needed while the study is open."""

    @abstractmethod
    def is_temporary(self, error: Exception) -> bool:
        """Whether the same work may succeed later or on a new connection."""

    @abstractmethod
    def translate_error(self, error: Exception) -> StorageError:
        """The storage error that an error of the driver stands for."""

    def pauses(self) -> Iterator[float]:
        """Pauses between retries: they double from 20 ms to 2 s, until PATIENCE is over.

        Each is shortened at random, so that several waiting processes do not retry in step.
        """
        end, pause = time.monotonic() + PATIENCE, 0.02
        while time.monotonic() < end:
            yield pause * (0.5 + random.random() / 2)
            pause = min(2 * pause, 2.0)

    def uses_file(self, path: Path) -> bool:
        """Whether the study is in this file."""
        return False

    def is_locked(self, error: Exception) -> bool:
        """Whether another process has the lock, and the connection itself is usable."""
        return False

    def tables(self, connection: Connection) -> list[str]:
        """The names of all tables at this place."""
        return [name for (name,) in fetch(connection, self.statements.tables)]

    def stored_version(self, connection: Connection) -> int:
        """The version in the table `study`."""
        found = fetch(connection, self.statements.version)
        if len(found) != 1:
            raise self.damage_error("its header is missing")
        return int(found[0][0])

    def damage_error(self, what: str) -> Damaged:
        advice = f"`kernelbandits study salvage {self.name} <new file>` saves what is intact"
        return Damaged(f"{self.name} is damaged: {what}; {advice}")

    def full_error(self) -> StorageFull:
        return StorageFull(
            f"no space is left for {self.name}; nothing was written, and what was there is safe"
        )
