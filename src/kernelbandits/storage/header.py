"""The header of a study: one row beside its events, with a checksum."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

from kernelbandits.storage.backend import Backend
from kernelbandits.storage.checksums import add_check, fingerprint, is_intact
from kernelbandits.storage.columns import checksum_segments, join_columns, read_lines
from kernelbandits.storage.event import Draft, write_body
from kernelbandits.storage.statements import VERSION, Connection, Row, fetch

NO_CHECKSUM = ""
"""The checksum of the columns in a header of version 1, which had a fingerprint of rows only."""


@dataclass(frozen=True)
class Header:
    """The row of the table `study`, in its order."""

    id: int
    version: int
    rows: int
    """The number of candidates."""
    columns: str
    """The names of the columns, as JSON."""
    fingerprint: str
    """With its first digits the checksums of events start; it never changes."""
    checksum: str
    """sha256 of the candidates by column."""
    header: str
    """A copy of the body of the first event, in case that event is lost."""
    release: str
    """The version of the package that wrote it."""

    @classmethod
    def of(cls, first: Draft, segments: Sequence[Row], rows: int) -> Header:
        """The header of a new study with this first event and these candidates."""
        names, checksum = segments[0][3], checksum_segments(segments)
        return cls(1, VERSION, rows, names, checksum, checksum, write_body(first.body), release())

    @classmethod
    def read(cls, connection: Connection, backend: Backend) -> Header:
        rows = fetch(connection, backend.statements.study)
        if len(rows) != 1 or not is_intact(tuple(rows[0])):
            raise backend.damage_error("its header is not the one that was written")
        return cls.of_row(rows[0])

    @classmethod
    def of_row(cls, row: Row) -> Header:
        """From a row of this version, or of version 1."""
        values = [*row[:-1]]
        if len(values) == 7:
            values.insert(5, NO_CHECKSUM)
        return cls(*values)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(json.loads(self.columns))

    @property
    def row(self) -> Row:
        """As it is stored."""
        return add_check(astuple(self))

    def verify_columns(self, rows: Sequence[Row]) -> dict[str, list[Any]] | None:
        """The columns in these rows of the table `candidates`; None if they were changed."""
        if self.version == 1:
            numbered = [row[0] for row in rows] == list(range(-1, self.rows))
            lines = [str(row[1]) for row in rows]
            intact = numbered and fingerprint(lines) == self.fingerprint
            return dict(read_lines(lines)) if intact else None
        found = join_columns(rows) if checksum_segments(rows) == self.checksum else None
        sizes = {len(cells) for cells in (found or {}).values()} or {0}
        return found if sizes == {self.rows} else None


def release() -> str:
    from kernelbandits import __version__

    return __version__
