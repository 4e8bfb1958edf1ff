"""Batches whose rows share a value, such as the temperature of the oven that they are in.

The first row of such a batch is the policy's own choice, the maximiser of its acquisition, among
the values that enough free candidates have. Its value is that of the batch: each further row is the
policy's choice among the free rows with this value, with the rows before it pending.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Indices, StudyConflict
from kernelbandits.study.values import describe_candidate
from kernelbandits.tables.headers import find_column

if TYPE_CHECKING:
    from kernelbandits.study.places import Place
    from kernelbandits.tables.candidates import Candidates

SAME = "same"
"""In the body of an ask: what its batch shares."""


@dataclass(frozen=True)
class Shared:
    """The columns in which the rows of a batch are equal."""

    columns: tuple[str, ...]
    rows: int
    """How many different candidates the batch needs."""
    values: Mapping[str, Any] | None = None
    """The value in each column; None as long as no row is chosen."""

    @property
    def body(self) -> dict[str, Any]:
        """What the event of an ask has of it."""
        values = None if self.values is None else dict(self.values)
        return {"columns": list(self.columns), "rows": self.rows, "values": values}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Shared | None:
        """What the batch of a stored ask shares; None if it shares nothing."""
        given = body.get(SAME)
        return given and cls(tuple(given["columns"]), given["rows"], given["values"])

    @property
    def sentence(self) -> str:
        """What it means for a choice, in words; "" before the value is chosen."""
        if self.values is None:
            return f"All {self.rows} of the batch share its {' and '.join(self.columns)}."
        return f"The batch shares {describe_candidate(self.values)}."

    def with_values_of(self, rows: Sequence[int], place: Place) -> Shared:
        """The same, with the values of the rows that the batch has so far."""
        if not rows:
            return self
        values = [values_of(place, row, self.columns) for row in rows]
        for other in values:
            if other != values[0]:
                raise StudyConflict(
                    f"ask needs pending {place.noun}s of this worker that share "
                    f"{', '.join(self.columns)}, got {describe_candidate(values[0])} and "
                    f"{describe_candidate(other)}; tell their results or release them first"
                )
        return replace(self, values=values[0])

    def find_arms(self, arms: Indices, rows: Indices, table: Candidates) -> Indices:
        """Of some free arms, which are these rows of a table, those that the batch may have."""
        if self.values is None:
            return self._find_frequent(arms, rows, table)
        fits = np.ones(len(rows), dtype=np.bool_)
        for name, value in self.values.items():
            fits &= cells_of(table, name, rows) == value
        if not fits.any():
            raise StudyConflict(
                f"ask needs {self.rows} free rows with {describe_candidate(self.values)}, got "
                "fewer. No row was asked for"
            )
        return arms[fits]

    def _find_frequent(self, arms: Indices, rows: Indices, table: Candidates) -> Indices:
        """The arms with values that enough different candidates have."""
        codes = np.zeros(len(rows), dtype=np.int64)
        for name in self.columns:
            own = np.unique(cells_of(table, name, rows), return_inverse=True)[1]
            codes = np.unique(codes * len(rows) + own.reshape(-1), return_inverse=True)[1]
        codes = codes.reshape(-1)
        # Rows that describe the same candidate count as one.
        first = np.unique(np.stack([codes, table.first_rows[rows]]), axis=1)[0]
        counts = np.bincount(first)
        enough: npt.NDArray[np.bool_] = counts[codes] >= self.rows
        if not enough.any():
            most = int(counts.argmax())
            example = values_of(table, int(rows[int((codes == most).argmax())]), self.columns)
            raise StudyConflict(
                f"ask needs {self.rows} free rows that share {', '.join(self.columns)}, got at "
                f"most {counts[most]}, with {describe_candidate(example)}. No row was asked for"
            )
        return arms[enough]


def check_shared(names: str | Iterable[str] | None, n: int, place: Place) -> Shared | None:
    """The columns of a table, or the variables of a space, that a batch of n is to share."""
    given = [names] if isinstance(names, str) else list(names or ())
    if not given:
        return None
    known = tuple(place.columns)
    columns = tuple(find_column(known, name, "ask", "same") for name in given)
    checks.needs(len(set(columns)) == len(columns), "ask", "each column once in same", given)
    if place.space is not None:
        some = set(columns) < set(known)
        checks.needs(some, "ask", "a variable that is not in same", given)
    return Shared(columns, n)


def cells_of(table: Candidates, name: str, rows: Indices) -> npt.NDArray[Any]:
    """The cells of some rows in one column."""
    cells = table.columns[name]
    if isinstance(cells, np.ndarray):
        return cells[rows]
    return np.array([cells[row] for row in rows.tolist()], dtype=object)


def values_of(place: Place, row: int, columns: Sequence[str]) -> dict[str, Any]:
    """The values of a row, or of a point, in some columns."""
    if place.space is not None:
        x = place.x(row)
        return {name: x[name] for name in columns}
    cells = {name: place.columns[name][row] for name in columns}
    return {
        name: value if isinstance(value, str) else float(value) for name, value in cells.items()
    }
