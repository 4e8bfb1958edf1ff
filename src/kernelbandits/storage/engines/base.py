"""What a back end must know."""

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
"""Seconds in which what may pass is tried again."""


class Engine(ABC):
    """One place in one mode ("read", "write" or "create"); `name` is the place as it may be printed."""

    name: str
    mode: str
    begin: str
    """Starts a transaction that writes."""
    clock: str
    """The time now, in seconds since 1970, to the millisecond."""

    @cached_property
    @abstractmethod
    def tables(self) -> Tables: ...

    @cached_property
    @abstractmethod
    def core(self) -> sa.Engine: ...

    @abstractmethod
    def connect(self) -> sa.Connection:
        """A new connection, in which each statement is a transaction unless `begin` was said."""

    @abstractmethod
    def lock_schema(self, connection: sa.Connection) -> None:
        """Inside a transaction: nobody else creates or migrates this study now."""

    @abstractmethod
    def create_schema(self, connection: sa.Connection) -> None:
        """Inside a transaction: what must be there before tables can be."""

    @abstractmethod
    def write_mark(self, connection: sa.Connection, version: int) -> None:
        """Inside a transaction: this is a study, with tables of this version."""

    @abstractmethod
    def version(self, connection: sa.Connection) -> int:
        """Of the tables that are there; NoStudy if there are none."""

    @abstractmethod
    def copy_tables(self, connection: sa.Connection, version: int) -> str:
        """Inside a transaction: a copy of all tables as they are; returns its name."""

    @abstractmethod
    def lock_head(self, connection: sa.Connection) -> None:
        """Inside a transaction: nobody else writes until it ends. What is read after this is the newest."""

    def pauses(self) -> Iterator[float]:
        """Pauses that double from 20 ms to 2 s, each shortened at random, until patience ends."""
        end, pause = time.monotonic() + PATIENCE, 0.02
        while time.monotonic() < end:
            yield pause * (0.5 + random.random() / 2)
            pause = min(2 * pause, 2.0)

    def uses_file(self, path: Path) -> bool:
        """Whether the study is in this file."""
        return False

    def is_locked(self, error: Exception) -> bool:
        """Whether the connection is sound and somebody else is at work."""
        return False

    @abstractmethod
    def clean_up(self, connection: sa.Connection) -> None:
        """Before an orderly end: what only served the work is put away."""

    @abstractmethod
    def is_temporary(self, error: Exception) -> bool:
        """Whether it is worth trying again: the same may succeed on a new connection, or a moment later."""

    @abstractmethod
    def translate_error(self, error: Exception) -> StorageError:
        """What an error of the driver means."""

    @cached_property
    def errors(self) -> tuple[type[Exception], ...]:
        """Those of SQLAlchemy, and those that the driver raises while rows are fetched."""
        return (sa.exc.SQLAlchemyError, self.core.dialect.loaded_dbapi.Error)

    @cached_property
    def head_and_time(self) -> sa.Select[Any]:
        """The last event and the time."""
        return self.tables.last.add_columns(self.time)

    @cached_property
    def time(self) -> sa.ColumnElement[float]:
        return sa.literal_column(self.clock, sa.Float)

    def stored_version(self, connection: sa.Connection) -> int:
        """As the table `study` has it."""
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
