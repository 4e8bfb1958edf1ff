"""Which rows of a matrix are equal, and where a row stands: for a million rows in half a second."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from kernelbandits.checks import Array, Indices

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number, 2^64 divided by the golden ratio: multiplying by it spreads bits."""
HALF = np.uint64(32)


class RowIndex:
    """The rows of an (n, d) array of finite numbers, found by their values.

    Rows are sorted by hashes of 64 bits. Rows of one hash are compared with each other, so the
    answers are exact; -0.0 and 0.0 are equal.

    >>> index = RowIndex(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    >>> index.first.tolist(), index.distinct
    ([0, 1, 0], 2)
    >>> index.find(np.array([[3.0, 4.0], [5.0, 6.0]])).tolist()
    [1, -1]
    """

    def __init__(self, rows: Array) -> None:
        self.rows = rows
        hashes = hash_rows(rows)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    @cached_property
    def _starts(self) -> npt.NDArray[np.bool_]:
        """For each row in the order of the hashes, whether it is the first of equal rows."""
        starts = np.ones(len(self.rows), dtype=bool)
        starts[1:] = self._hashes[1:] != self._hashes[:-1]
        return starts

    @cached_property
    def first(self) -> Indices:
        """For each row the first row that is equal to it: often the row itself."""
        if self._starts.all():
            return np.arange(len(self.rows))
        followers = np.flatnonzero(~self._starts)
        same = self.rows[self._order[followers]] == self.rows[self._order[followers - 1]]
        if not same.all():
            return first_equal_rows(self.rows)
        groups = np.cumsum(self._starts) - 1
        first: Indices = np.empty(len(self.rows), dtype=np.int64)
        # The sort is stable: the first row of a group has the lowest number.
        first[self._order] = self._order[self._starts][groups]
        return first

    @property
    def distinct(self) -> int:
        """How many different rows there are."""
        if self._starts.all():
            return len(self.rows)
        return int((self.first == np.arange(len(self.rows))).sum())

    def find(self, wanted: Array) -> Indices:
        """Return the number of the first row that equals each of some rows; -1 if none does."""
        hashes = hash_rows(wanted)
        start = np.searchsorted(self._hashes, hashes, "left")
        stop = np.searchsorted(self._hashes, hashes, "right")
        found = np.full(len(wanted), -1, dtype=np.int64)
        hits = np.flatnonzero(stop > start)
        nearest = self._order[start[hits]]
        # The sort is stable: if the first row of a hash is equal, no equal one comes before it.
        same = (self.rows[nearest] == wanted[hits]).all(axis=1)
        found[hits[same]] = nearest[same]
        for i in hits[~same]:
            near = self._order[start[i] : stop[i]]
            equal = near[(self.rows[near] == wanted[i]).all(axis=1)]
            if len(equal):
                found[i] = equal[0]
        return found


def hash_rows(rows: Array) -> npt.NDArray[np.uint64]:
    """Return 64 bits for each row, equal for equal rows and most likely different for others."""
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        # Adding 0.0 turns -0.0 into 0.0, which has other bits but is the same number.
        hashes ^= (column + 0.0).view(np.uint64)
        hashes *= MULTIPLIER
        hashes ^= hashes >> HALF
    return hashes


def first_equal_rows(rows: Array) -> Indices:
    """Return what `RowIndex.first` has, without hashes, for rows whose hashes collide."""
    places: dict[bytes, int] = {}
    return np.array([places.setdefault(row.tobytes(), i) for i, row in enumerate(rows + 0.0)])
