"""Candidates that are known by their similarity only: a Gram matrix as points."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice

LEAST_SHARE = 1e-13
"""Eigenvalues below this share of the largest are rounding."""
SAME = 1e-6
"""By how much the mean of the diagonal may differ from 1 without a word."""
MOST_CANDIDATES = 5000
"""The eigenvalues of a larger matrix take minutes."""


def factorise_gram(owner: str, matrix: Any) -> Array:
    """Return P with P P' = K / mean(diagonal of K), an (n, r) array with r the rank of K.

    The columns are eigenvectors of K times the roots of their eigenvalues. Candidates with equal
    rows of K have equal rows of P.

    >>> import numpy as np
    >>> factorise_gram("a pool", [[2.0, 1.0], [1.0, 2.0]]).shape
    (2, 2)
    """
    gram = checks.points(owner, matrix)
    square = gram.shape[0] == gram.shape[1]
    checks.needs(square, owner, "an (n, n) matrix of similarities", gram.shape)
    small = len(gram) <= MOST_CANDIDATES
    checks.needs(small, owner, f"at most {MOST_CANDIDATES} candidates", len(gram))
    check_symmetry(owner, gram)
    size = float(gram.diagonal().mean())
    checks.needs(size > 0, owner, "similarities of candidates with themselves > 0", size)
    values, vectors = np.linalg.eigh((gram + gram.T) / (2 * size))
    # Rounding of the matrix itself, computed by somebody else, is allowed for as well.
    least = -max(8 * len(gram) * np.finfo(float).eps, 1e-10) * values[-1]
    needed = "a matrix without negative eigenvalues"
    checks.needs(bool(values[0] >= least), owner, needed, f"the eigenvalue {values[0]:.3g}")
    if abs(size - 1) > SAME:
        text = f"the similarity of a candidate with itself is {size:g} on average, not 1"
        warnings.warn(f"{owner}: {text}; the matrix was divided by it", DataNotice, stacklevel=3)
    kept = values > LEAST_SHARE * values[-1]
    points = vectors[:, kept] * np.sqrt(values[kept])
    _, first, group = np.unique(gram, axis=0, return_index=True, return_inverse=True)
    return np.asarray(points[first][group.reshape(-1)])


def check_symmetry(owner: str, matrix: Array) -> None:
    """Raise an error if two entries that must be equal differ by more than rounding."""
    gap = np.abs(matrix - matrix.T)
    row, column = np.unravel_index(int(gap.argmax()), gap.shape)
    pair = f"{matrix[row, column]:g} and {matrix[column, row]:g} for {row} and {column}"
    even = gap[row, column] <= 1e-9 * max(float(np.abs(matrix).max()), 1e-300)
    if not even:
        raise ValueError(f"{owner} needs a symmetric matrix, got {pair}")
