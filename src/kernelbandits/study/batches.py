"""What the rows of a batch have to do with each other: a value that they share, their distance.

The first row of a batch that shares a value is the policy's own choice among the values that
enough free candidates have; it may be one that `auto` draws at random. Its value is that of the
batch: each further row is the policy's choice among the free rows with this value, with the rows
before it pending. The rows of a batch that is spread are chosen in the same way, each among the
rows that are far enough from those before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, StudyConflict
from kernelbandits.study.words import describe_point
from kernelbandits.tables.headers import find_column

if TYPE_CHECKING:
    from kernelbandits.study.place import Place

BATCH = "batch"
"""In the body of an ask: what was demanded of its batch."""


@dataclass(frozen=True)
class Batch:
    """What is demanded of the rows of a batch."""

    rows: int
    """How many different candidates it has."""
    columns: tuple[str, ...] = ()
    """The columns in which they are equal."""
    values: Mapping[str, Any] | None = None
    """The value in each of these columns; None as long as no row is chosen."""
    spread: bool = False
    """Whether they are far apart."""
    before: int = 0
    """How many rows of it were chosen before: the last ones of those that are pending."""

    @property
    def body(self) -> dict[str, Any]:
        """What the event of an ask has of it."""
        values = None if self.values is None else dict(self.values)
        known = {"columns": list(self.columns), "values": values, "spread": self.spread}
        return {"rows": self.rows, "before": self.before, **known}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Batch | None:
        """Return what was demanded of the batch of a stored ask; None if nothing was."""
        given = body.get(BATCH)
        return given and cls(**{**given, "columns": tuple(given["columns"])})

    @property
    def sentence(self) -> str:
        """What it means for a choice, in words."""
        said = []
        if self.columns and self.values is None:
            said.append(f"All {self.rows} of the batch share its {' and '.join(self.columns)}.")
        elif self.values is not None:
            said.append(f"The batch shares {describe_point(self.values)}.")
        if self.spread and self.before:
            said.append("It is far from the other rows of the batch.")
        return " ".join(said)

    def after(self, held: Sequence[int], chosen: Sequence[int], place: Place) -> Batch:
        """Return the demands on the next row, after rows that a worker holds and those chosen."""
        rows = [*held, *chosen]
        if not self.columns or not rows:
            return replace(self, before=len(chosen))
        values = [place.values(row, self.columns) for row in rows]
        for other in values:
            if other != values[0]:
                raise StudyConflict(
                    f"ask needs pending {place.noun}s of this worker that share "
                    f"{', '.join(self.columns)}, got {describe_point(values[0])} and "
                    f"{describe_point(other)}; tell their results or release them first"
                )
        return replace(self, values=values[0], before=len(chosen))

    def find_arms(
        self, arms: Indices, rows: Indices, table: Place, pending: Sequence[int]
    ) -> Indices:
        """Return those of the free arms that the batch may have; `rows` are their rows."""
        fits = self._find_equal(rows, table)
        if self.spread and self.before:
            fits &= self._find_far(rows, fits, table.points, pending[-self.before :])
        return arms[fits]

    def _find_equal(self, rows: Indices, table: Place) -> npt.NDArray[np.bool_]:
        """Tell which rows have the values of the batch or, while it has none, frequent values."""
        fits = np.ones(len(rows), dtype=np.bool_)
        if not self.columns:
            return fits
        if self.values is None:
            return self._find_frequent(rows, table)
        for name, value in self.values.items():
            fits &= cells_of(table, name, rows) == value
        if not fits.any():
            raise StudyConflict(
                f"ask needs {self.rows} free rows with {describe_point(self.values)}, got "
                "fewer. No row was asked for"
            )
        return fits

    def _find_frequent(self, rows: Indices, table: Place) -> npt.NDArray[np.bool_]:
        """Tell which rows have values that enough different candidates have."""
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
            example = table.values(int(rows[int((codes == most).argmax())]), self.columns)
            raise StudyConflict(
                f"ask needs {self.rows} free rows that share {', '.join(self.columns)}, got at "
                f"most {counts[most]}, with {describe_point(example)}. No row was asked for"
            )
        return enough

    def _find_far(
        self,
        rows: Indices,
        fits: npt.NDArray[np.bool_],
        points: Array,
        chosen: Sequence[int],
    ) -> npt.NDArray[np.bool_]:
        """Tell which rows are at least half as far from those chosen as n rows can be apart.

        There is always one: of n rows that far apart, each row chosen is near to one at most.
        """
        there = points[[*chosen, *rows[fits].tolist()]]
        least = farthest_distance(there, self.rows) / 2
        squares = ((points[rows][:, None] - points[list(chosen)][None]) ** 2).sum(2)
        far: npt.NDArray[np.bool_] = squares.min(1) >= least**2
        # Too few rows for a batch of this size, or rounding: the batch is not spread further.
        return far if (far & fits).any() else np.ones(len(rows), dtype=np.bool_)


def farthest_distance(points: Array, n: int) -> float:
    """Return how far apart n of the points can be, taking the farthest point again and again.

    The first point is taken first. All n are at least so far from each other; no n points are
    more than twice as far.
    """
    if len(points) < n:
        return 0.0
    nearest = ((points - points[0]) ** 2).sum(1)
    least = 0.0
    for _ in range(n - 1):
        place = int(nearest.argmax())
        least = float(nearest[place])
        nearest = np.minimum(nearest, ((points - points[place]) ** 2).sum(1))
    return float(np.sqrt(least))


def check_batch(
    names: str | Iterable[str] | None, spread: Any, n: int, place: Place
) -> Batch | None:
    """Check and return what is demanded of a batch of n; None if nothing is.

    That is which columns or variables it shares, and whether it spreads.
    """
    checks.needs(isinstance(spread, bool), "ask", "spread true or false", spread)
    given = [names] if isinstance(names, str) else list(names or ())
    if not given and not spread:
        return None
    known = tuple(place.columns)
    columns = tuple(find_column(known, name, "ask", "same") for name in given)
    checks.needs(len(set(columns)) == len(columns), "ask", "each column once in same", given)
    place.check_batch(columns, spread)
    return Batch(n, columns, spread=spread)


def cells_of(table: Place, name: str, rows: Indices) -> npt.NDArray[Any]:
    """Return the cells of some rows in one column."""
    cells = table.columns[name]
    if isinstance(cells, np.ndarray):
        return cells[rows]
    return np.array([cells[row] for row in rows.tolist()], dtype=object)
