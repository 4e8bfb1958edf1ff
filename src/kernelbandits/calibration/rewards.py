"""The rewards told so far, by distinct point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelbandits.checks import Array


class Rewards:
    """Counts, sums and sums of squares of the rewards at each distinct point.

    Sums and squares are of differences from the first reward, the `origin`: squares of rewards that are large against
    their spread would keep none of its digits.
    """

    def __init__(self) -> None:
        self.events = 0
        self.origin = 0.0
        self._rows: list[Array] = []
        self._slot: dict[bytes, int] = {}
        self._counts: list[int] = []
        self._sums: list[float] = []
        self._squares: list[float] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: Array, reward: float) -> None:
        """One reward at a point."""
        self.origin = self.origin if self.events else reward
        difference = reward - self.origin
        slot = self._slot.setdefault((row + 0.0).tobytes(), len(self))
        if slot == len(self):
            self._open(row)
        self._counts[slot] += 1
        self._sums[slot] += difference
        self._squares[slot] += difference**2
        self.events += 1

    def _open(self, row: Array) -> None:
        self._rows.append(row + 0.0)
        self._counts.append(0)
        self._sums.append(0.0)
        self._squares.append(0.0)

    def unmatched(self, rows: Sequence[Array]) -> list[int]:
        """The numbers of those of some rows that are beyond as many as there are rewards at their point."""
        left = {key: self._counts[slot] for key, slot in self._slot.items()}
        numbers = []
        for number, row in enumerate(rows):
            key = (row + 0.0).tobytes()
            left[key] = left.get(key, 0) - 1
            if left[key] < 0:
                numbers.append(number)
        return numbers

    @property
    def points(self) -> Array:
        """(m, d), in the order of their first reward"""
        return np.array(self._rows)

    @property
    def counts(self) -> Array:
        return np.array(self._counts, dtype=np.float64)

    @property
    def sums(self) -> Array:
        """Of differences from the origin."""
        return np.array(self._sums)

    @property
    def squares(self) -> Array:
        """Of differences from the origin."""
        return np.array(self._squares)
