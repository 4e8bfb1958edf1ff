"""What a database engine must provide."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from kernelbandits.storage.errors import Damaged, StorageError, StorageFull
from kernelbandits.storage.tables import Tables

PATIENCE = 30.0
"""Temporary errors are retried for this many seconds."""


class Engine(ABC):
    """One place, opened in the mode "read", "write" or "create".

    `name` is the place without passwords.
    """

    name: str
    mode: str
    begin: str
    """The statement that starts a transaction that writes."""
    clock: str
    """The SQL expression of the time now, in seconds since 1970, to the millisecond."""

    @cached_property
    @abstractmethod
    def tables(self) -> Tables: ...

    @cached_property
    @abstractmethod
    def core(self) -> sa.Engine: ...

    @abstractmethod
    def connect(self) -> sa.Connection:
        """A new connection; each statement is a transaction of its own unless `begin` was sent."""

    @abstractmethod
    def lock_schema(self, connection: sa.Connection) -> None:
        """Inside a transaction: prevent others from creating or migrating this study."""

    @abstractmethod
    def create_schema(self, connection: sa.Connection) -> None:
        """Inside a transaction: create what must exist before tables can be created."""

    @abstractmethod
    def write_mark(self, connection: sa.Connection, version: int) -> None:
        """Inside a transaction: mark this as a study with tables of this version."""

    @abstractmethod
    def version(self, connection: sa.Connection) -> int:
        """The version of the tables; raises NoStudy if there are none."""

    @abstractmethod
    def copy_tables(self, connection: sa.Connection, version: int) -> str:
        """Inside a transaction: copy all tables, and return the name of the copy."""

    @abstractmethod
    def lock_head(self, connection: sa.Connection) -> None:
        """Inside a transaction: prevent others from writing until it ends.

        What is read after this is the newest state.
        """

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

    @abstractmethod
    def clean_up(self, connection: sa.Connection) -> None:
        """Delete files that are only needed while the study is open."""

    @abstractmethod
    def is_temporary(self, error: Exception) -> bool:
        """Whether the same work may succeed later or on a new connection."""

    @abstractmethod
    def translate_error(self, error: Exception) -> StorageError:
        """The storage error that an error of the driver stands for."""

    @cached_property
    def errors(self) -> tuple[type[Exception], ...]:
        """Errors of SQLAlchemy, and errors that the driver raises while rows are fetched."""
        return (sa.exc.SQLAlchemyError, self.core.dialect.loaded_dbapi.Error)

    @cached_property
    def head_and_time(self) -> sa.Select[Any]:
        """The selection of the last event and the time."""
        return self.tables.last.add_columns(self.time)

    @cached_property
    def time(self) -> sa.ColumnElement[float]:
        return sa.literal_column(self.clock, sa.Float)

    def stored_version(self, connection: sa.Connection) -> int:
        """The version in the table `study`."""
        found = connection.execute(sa.select(self.tables.study.c.version)).scalars().all()
        if len(found) != 1:
            raise self.damage_error("its header is missing")
        return int(found[0])

    def damage_error(self, what: str) -> Damaged:
        advice = f"`kernelbandits study salvage {self.name} <new file>` saves what is intact"
        return Damaged(f"{self.name} is damaged: {what}; {advice}")

    def full_error(self) -> StorageFull:
        return StorageFull(
            f"no space is left for {self.name}; nothing was written, and what was there is safe"
        )
