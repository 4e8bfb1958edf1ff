"""The header of a study: one row beside its events, with a checksum."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from kernelbandits import checks
from kernelbandits.storage.checksums import add_check, fingerprint, format_line, is_intact
from kernelbandits.storage.engines import Engine
from kernelbandits.storage.event import Draft, is_storable
from kernelbandits.storage.rows import Row, write_body
from kernelbandits.storage.tables import VERSION


@dataclass(frozen=True)
class Header:
    """The row of the table `study`, in its order."""

    id: int
    version: int
    rows: int
    """The number of candidates."""
    columns: str
    """The header of the candidate table, as JSON."""
    fingerprint: str
    header: str
    """A copy of the body of the first event, in case that event is lost."""
    release: str
    """The version of the package that wrote it."""

    @classmethod
    def of(cls, draft: Draft, lines: Sequence[str]) -> Header:
        """The header of a study with this first event and these lines of its candidate table."""
        return cls(
            1,
            VERSION,
            len(lines) - 1,
            lines[0],
            fingerprint(lines),
            write_body(draft.body),
            release(),
        )

    @classmethod
    def read(cls, connection: sa.Connection, engine: Engine) -> Header:
        rows = connection.execute(sa.select(engine.tables.study)).cursor.fetchall()
        if len(rows) != 1 or not is_intact(tuple(rows[0])):
            raise engine.damage_error("its header is not the one that was written")
        return cls(*rows[0][:-1])

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(json.loads(self.columns))

    @property
    def values(self) -> dict[str, Any]:
        names = [field.name for field in fields(self)]
        return dict(zip([*names, "check"], add_check(astuple(self)), strict=True))

    def fits(self, rows: Sequence[Row]) -> bool:
        """Whether these rows are the header and all candidates, in order, with unchanged text."""
        numbered = [row[0] for row in rows] == list(range(-1, self.rows))
        return numbered and fingerprint(str(row[1]) for row in rows) == self.fingerprint


def table_lines(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Header and rows of the candidates as they are stored, after a check of their form."""
    checks.needs(
        len(columns) > 0 and all(is_text(name) for name in columns),
        "a study",
        "names of columns",
        columns,
    )
    for number, row in enumerate(cells):
        fits = len(row) == len(columns) and all(is_text(cell) for cell in row)
        checks.needs(fits, f"row {number}", f"{len(columns)} cells of plain text", row)
    return [format_line(row) for row in (columns, *cells)]


def is_text(cell: Any) -> bool:
    return isinstance(cell, str) and is_storable(cell)


def release() -> str:
    from kernelbandits import __version__

    return __version__
