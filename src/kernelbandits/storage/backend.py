"""What a database must provide: how to connect, how to lock, what an error means."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator

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
    patience: float | None = None
    """Seconds to wait for others who hold the study; None for those of the kind of database."""

    @abstractmethod
    def connect(self) -> Connection:
        """Return a new connection; each statement is its own transaction unless one was begun."""

    @abstractmethod
    def is_usable(self, connection: Connection) -> bool:
        """Tell whether the connection is open and leads to the study that is at the place now."""

    @abstractmethod
    def lock_schema(self, connection: Connection) -> None:
        """Prevent others from creating this study; called inside a transaction."""

    @abstractmethod
    def create_schema(self, connection: Connection) -> None:
        """Create what must exist before tables can be created; called inside a transaction."""

    @abstractmethod
    def write_mark(self, connection: Connection, version: int) -> None:
        """Mark this as a study with tables of this version; called inside a transaction."""

    @abstractmethod
    def version(self, connection: Connection) -> int:
        """Return the version of the tables, or raise NoStudy if there are none."""

    @abstractmethod
    def clean_up(self, connection: Connection) -> None:
        """Delete files that are only needed while the study is open."""

    @property
    @abstractmethod
    def busy_seconds(self) -> float:
        """How long to wait for others who hold the study."""

    @abstractmethod
    def is_temporary(self, error: Exception) -> bool:
        """Tell whether the same work may succeed later or on a new connection."""

    @abstractmethod
    def translate_error(self, error: Exception) -> StorageError:
        """Return the storage error that an error of the driver stands for."""

    def pauses(self, since: float) -> Iterator[float]:
        """Yield pauses between retries: they double from 20 ms to 2 s, until the patience is over.

        It begins at the time `since`. Each pause is shortened at random, so that several waiting
        processes do not retry in step.
        """
        end, pause = since + (PATIENCE if self.patience is None else self.patience), 0.02
        while time.monotonic() < end:
            yield pause * (0.5 + random.random() / 2)
            pause = min(2 * pause, 2.0)

    def is_locked(self, error: Exception) -> bool:
        """Tell whether another process has the lock, and the connection itself is usable."""
        return False

    def is_held(self, error: Exception) -> bool:
        """Tell whether others hold the study."""
        return self.is_locked(error)

    def tables(self, connection: Connection) -> list[str]:
        """Return the names of all tables at this place."""
        return [name for (name,) in fetch(connection, self.statements.tables)]

    def refuse_foreign(self, connection: Connection) -> None:
        """Refuse triggers and the like, which would change what is written behind our back."""
        for kind, name in fetch(connection, self.statements.foreign):
            raise self.damage_error(f"it has the {kind} {name!r}, which no study has")

    def stored_version(self, connection: Connection) -> int:
        """Return the version in the table `study`."""
        found = fetch(connection, self.statements.version)
        if len(found) != 1 or not isinstance(found[0][0], int):
            raise self.damage_error("its header is missing")
        return int(found[0][0])

    def damage_error(self, what: str) -> Damaged:
        advice = f"`kernelbandits study salvage {self.name} <new file>` saves what is intact"
        return Damaged(f"{self.name} is damaged: {what}; {advice}")

    def full_error(self) -> StorageFull:
        return StorageFull(
            f"no space is left for {self.name}; nothing was written, and what was there is safe"
        )
