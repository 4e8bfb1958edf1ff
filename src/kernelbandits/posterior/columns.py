"""The columns of K that belong to the arms played, which is all that a fit from counts needs."""

from __future__ import annotations

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import Kernel


class Columns:
    """k(., x) of every arm x played, in the order of the first plays; each is computed once.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> columns = kb.posterior.Columns(kb.RBF(0.5), np.array([[0.0], [0.5], [1.0]]))
    >>> columns.add(2)
    >>> columns.arms, columns.cross.round(3)
    (array([2]), array([[0.135, 0.607, 1.   ]]))
    """

    def __init__(self, kernel: Kernel, points: Array) -> None:
        self._kernel, self._points = kernel, points
        self._rows: Array = np.empty((0, len(points)))
        self._slot: dict[int, int] = {}
        self.arms: Indices = np.empty(0, dtype=np.int64)
        self.matrix: Array = np.empty((0, 0))
        """k(x, z) of the arms played among themselves."""

    def add(self, arm: int) -> None:
        """Compute the column of an arm, unless it is there."""
        if arm in self._slot:
            return
        column, m = self._kernel(self._points[arm][None], self._points)[0], len(self._slot)
        # The buffer doubles, so that many first plays copy it only a few times.
        if m == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros((max(16, m), len(self._points)))])
        self._rows[m], self._slot[arm] = column, m
        self.arms = np.append(self.arms, arm)
        self.matrix = self._rows[: m + 1, self.arms]

    @property
    def cross(self) -> Array:
        """k(x, z) for all x and the arms z played, one row for each z."""
        return self._rows[: len(self._slot)]
