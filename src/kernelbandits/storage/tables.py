"""The tables of a study, the same in SQLite and PostgreSQL.

events      what happened, one row for each event, only ever added to
head        number and checksum of the last event; a writer locks this row
candidates  the table of candidates, one JSON list of texts for each row; row -1 is its header
spare       a copy of the candidates, in case a page of the file is damaged
study       one row: version of these tables, header and fingerprint of the candidates, first event
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sqlalchemy as sa

VERSION = 1
"""The version of the tables; each entry of `migrations.STEPS` raises it by one."""
MARK = 0x6B624C67
"""The application_id of our SQLite files."""
NAMES = frozenset({"events", "head", "candidates", "spare", "study"})

WHOLE: sa.types.TypeEngine[int] = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")


def whole_column(name: str, **settings: Any) -> sa.Column[int]:
    return sa.Column(name, WHOLE, autoincrement=False, **settings)


def real_column(name: str, **settings: Any) -> sa.Column[float]:
    return sa.Column(name, REAL, **settings)


def text_column(name: str, **settings: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text, **settings)


@dataclass(frozen=True)
class Tables:
    """The five tables and the statements on them, in a PostgreSQL schema or in a file."""

    schema: str | None = None

    def table(self, name: str, *columns: sa.Column[Any]) -> sa.Table:
        return sa.Table(name, self.metadata, *columns, sqlite_strict=True)

    @cached_property
    def metadata(self) -> sa.MetaData:
        return sa.MetaData(schema=self.schema)

    @cached_property
    def events(self) -> sa.Table:
        what = (
            whole_column("seq", primary_key=True),
            text_column("kind", nullable=False),
            whole_column("trial"),
            whole_column("row"),
        )
        who = (
            real_column("value"),
            text_column("key"),
            text_column("worker"),
            real_column("at", nullable=False),
        )
        checks = (text_column(name, nullable=False) for name in ("body", "before", "check"))
        return self.table("events", *what, *who, *checks)

    @cached_property
    def head(self) -> sa.Table:
        key, seq = whole_column("id", primary_key=True), whole_column("seq", nullable=False)
        return self.table("head", key, seq, text_column("check", nullable=False))

    @cached_property
    def candidates(self) -> sa.Table:
        return self.lines("candidates")

    @cached_property
    def spare(self) -> sa.Table:
        return self.lines("spare")

    def lines(self, name: str) -> sa.Table:
        cells, check = (text_column(column, nullable=False) for column in ("cells", "check"))
        return self.table(name, whole_column("row", primary_key=True), cells, check)

    @cached_property
    def study(self) -> sa.Table:
        numbers = [
            whole_column("id", primary_key=True),
            whole_column("version", nullable=False),
            whole_column("rows", nullable=False),
        ]
        texts = [
            text_column(name, nullable=False)
            for name in ("columns", "fingerprint", "header", "release", "check")
        ]
        return self.table("study", *numbers, *texts)

    @cached_property
    def all(self) -> tuple[sa.Table, ...]:
        return (self.study, self.head, self.candidates, self.events, self.spare)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.events.columns)

    def name_values(self, row: tuple[Any, ...]) -> dict[str, Any]:
        """The values of a row by the names of their columns, for an insertion."""
        return dict(zip(self.columns, row, strict=True))

    @cached_property
    def later(self) -> sa.Select[Any]:
        """Events above `after` up to `last`, in order."""
        seq = self.events.c.seq
        return (
            sa.select(self.events)
            .where(seq > sa.bindparam("after"), seq <= sa.bindparam("last"))
            .order_by(seq)
        )

    @cached_property
    def rows(self) -> sa.Select[Any]:
        return sa.select(self.candidates).order_by(self.candidates.c.row)

    @cached_property
    def lock(self) -> sa.Select[Any]:
        return sa.select(self.head.c.id).with_for_update()

    @cached_property
    def last(self) -> sa.Select[Any]:
        """Number and checksum in the head, checksum of its event, and version of the tables."""
        head, events, study = self.head, self.events, self.study
        joined = head.outerjoin(events, events.c.seq == head.c.seq).outerjoin(
            study, study.c.id == head.c.id
        )
        return sa.select(head.c.seq, head.c.check, events.c.check, study.c.version).select_from(
            joined
        )

    @cached_property
    def add(self) -> sa.Insert:
        return sa.insert(self.events)

    @cached_property
    def move(self) -> sa.Update:
        """Move the head, if it is still where the writer read it."""
        seen = self.head.c.seq == sa.bindparam("seen")
        return (
            sa.update(self.head)
            .where(seen)
            .values(seq=sa.bindparam("to"), check=sa.bindparam("sum"))
        )
