"""The header of a study: one row beside its events, with a checksum."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

from kernelbandits.storage.backend import Backend
from kernelbandits.storage.checksums import add_check, is_intact
from kernelbandits.storage.columns import fingerprint_segments, join_columns
from kernelbandits.storage.errors import OtherVersion
from kernelbandits.storage.event import Draft, write_body
from kernelbandits.storage.statements import VERSION, Connection, Row, fetch


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
    """sha256 of the candidates by column; with its first digits the checksums of events start."""
    header: str
    """A copy of the body of the first event, in case that event is lost."""
    release: str
    """The version of the package that wrote it."""

    @classmethod
    def of(cls, first: Draft, segments: Sequence[Row], rows: int) -> Header:
        """Return the header of a new study with this first event and these candidates."""
        names, content = segments[0][3], fingerprint_segments(segments)
        return cls(1, VERSION, rows, names, content, write_body(first.body), release())

    @classmethod
    def read(cls, connection: Connection, backend: Backend) -> Header:
        """Return the header of a study, which is refused if this release cannot read it."""
        refuse_other_version(backend, backend.version(connection))
        backend.refuse_foreign(connection)
        rows = fetch(connection, backend.statements.study)
        if len(rows) != 1 or not is_intact(tuple(rows[0])):
            raise backend.damage_error("its header is not the one that was written")
        return cls.of_row(rows[0])

    @classmethod
    def of_row(cls, row: Row) -> Header:
        """Return the header that a row of the table is, without its checksum."""
        return cls(*row[:-1])

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(json.loads(self.columns))

    @property
    def row(self) -> Row:
        """As it is stored."""
        return add_check(astuple(self))

    def verify_columns(self, rows: Sequence[Row]) -> dict[str, list[Any]] | None:
        """Return the columns in these rows of the table `candidates`; None if they were changed."""
        whole = all(len(row) == 5 for row in rows)
        intact = whole and fingerprint_segments(rows) == self.fingerprint
        found = join_columns(rows) if intact else None
        sizes = {len(cells) for cells in (found or {}).values()} or {0}
        return found if sizes == {self.rows} else None


def refuse_other_version(backend: Backend, version: int) -> None:
    """Refuse tables of another version than this release writes: their form is another one."""
    if version != VERSION:
        age = "a newer" if version > VERSION else "an older"
        raise OtherVersion(
            f"{backend.name} was written by {age} release: its tables have version {version}, and "
            f"this release reads version {VERSION}; open it with {age} release of kernelbandits"
        )


def release() -> str:
    from kernelbandits import __version__

    return __version__
