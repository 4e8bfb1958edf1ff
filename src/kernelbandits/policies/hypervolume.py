"""Fronts and hypervolumes: what no place dominates, and how much of the space is dominated.

Values are (n, k) arrays: a row for each place, a column for each of k objectives, all maximised. A
place dominates another if it is at least as good in all objectives and better in one. The
hypervolume is the volume of what the places dominate, above a reference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelbandits.checks import Array, Indices

MARGIN = 0.1
"""How far below the worst value the reference is, as a share of the range."""


class FreeCells(NamedTuple):
    """Boxes without overlap that fill the region no place dominates, above the reference."""

    lower: Array
    """(c, k): the lower corners."""
    upper: Array
    """(c, k): the upper corners; infinity where a box has no end."""


def find_front(values: Array) -> Indices:
    """Return the positions of the places that no other place dominates, in order.

    >>> import numpy as np
    >>> from kernelbandits.policies.hypervolume import find_front
    >>> find_front(np.array([[1.0, 3.0], [2.0, 2.0], [1.0, 2.0], [3.0, 0.0]]))
    array([0, 1, 3])
    """
    as_good = (values[:, None] >= values[None]).all(2)
    better = as_good & ~as_good.T
    return np.flatnonzero(~better.any(0))


def choose_reference(values: Array, wide: bool = True) -> Array:
    """Return the worst value of each objective, less a tenth of its range.

    It is the worst of all places, or with `wide=False` that of the front, if this has more than one
    value of each objective.

    >>> import numpy as np
    >>> from kernelbandits.policies.hypervolume import choose_reference
    >>> values = np.array([[0.0, 10.0], [5.0, 5.0], [10.0, 0.0], [-10.0, 0.0]])
    >>> choose_reference(values), choose_reference(values, wide=False)
    (array([-12.,  -1.]), array([-1., -1.]))
    """
    front = values[find_front(values)]
    if wide or not np.ptp(front, axis=0).all():
        front = values
    span = np.ptp(front, axis=0)
    return np.asarray(front.min(0) - MARGIN * np.where(span > 0, span, 1.0))


def cut_above(values: Array, reference: Array) -> FreeCells:
    """Cut the region above the reference that no place dominates into cells.

    The first cell is everything above the reference. A place p takes from each cell the box below
    p, and what is left of the cell is at most k cells: the i-th has coordinates below p before i,
    above p in i, and any after it.
    """
    k = len(reference)
    lower, upper = reference[None].astype(float), np.full((1, k), np.inf)
    front = values[find_front(values)]
    for place in front[np.argsort(-front[:, -1], kind="stable")]:
        cut = (lower < place).all(1)
        low, high = lower[cut], upper[cut]
        pieces = []
        for i in range(k):
            left, right = low.copy(), high.copy()
            right[:, :i] = np.minimum(right[:, :i], place[:i])
            left[:, i] = place[i]
            some = left[:, i] < right[:, i]
            pieces.append((left[some], right[some]))
        lower = np.vstack([lower[~cut], *(left for left, _ in pieces)])
        upper = np.vstack([upper[~cut], *(right for _, right in pieces)])
    return FreeCells(lower, upper)


def add_to_front(value: Array, cells: FreeCells) -> float:
    """Return by how much one place with these values raises the hypervolume.

    The cells are those above the other places.
    """
    inside = np.maximum(np.minimum(value, cells.upper) - cells.lower, 0.0)
    return float(inside.prod(1).sum())


def hypervolume(values: Array, reference: Array) -> float:
    """Return the volume of what the places dominate above the reference.

    >>> import numpy as np
    >>> from kernelbandits.policies.hypervolume import hypervolume
    >>> hypervolume(np.array([[1.0, 3.0], [2.0, 2.0]]), np.zeros(2))
    5.0
    """
    values = values[(values > reference).all(1)]
    if not len(values):
        return 0.0
    ideal = values.max(0)
    return float((ideal - reference).prod()) - add_to_front(ideal, cut_above(values, reference))


def hypervolume_share(values: Array, reference: Array, ideal: Array) -> float:
    """Return the hypervolume as a share of the box between the reference and the ideal.

    >>> import numpy as np
    >>> from kernelbandits.policies.hypervolume import hypervolume_share
    >>> values = np.array([[1.0, 3.0], [2.0, 2.0]])
    >>> round(hypervolume_share(values, np.zeros(2), values.max(0)), 3)
    0.833
    """
    span = ideal - reference
    scaled = np.minimum((values - reference) / span, 1.0)
    return hypervolume(scaled, np.zeros(len(reference)))
