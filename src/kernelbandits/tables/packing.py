"""Coordinates of candidates as texts, which a log keeps as a column: exact, and half as long.

A row of float64 numbers, little-endian, is written in base 64. No number is rounded, so whoever
reads the study sees the same bits.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np

from kernelbandits.checks import Array

NUMBER = np.dtype("<f8")


def pack_rows(points: Array) -> tuple[str, ...]:
    """Write each row of an (n, r) array as a text.

    >>> import numpy as np
    >>> texts = pack_rows(np.array([[0.5, 1.0], [0.1, 0.2]]))
    >>> unpack_rows(texts).tolist()
    [[0.5, 1.0], [0.1, 0.2]]
    """
    rows = np.ascontiguousarray(points, dtype=NUMBER)
    return tuple(base64.b64encode(row.tobytes()).decode("ascii") for row in rows)


def unpack_rows(texts: Sequence[str]) -> Array:
    """Read an (n, r) array from its rows as texts."""
    raw = b"".join(map(base64.b64decode, texts))
    return np.frombuffer(raw, dtype=NUMBER).reshape(len(texts), -1).astype(np.float64)


def count_packed(text: str) -> int:
    """Count the numbers in the text of one row, without reading the other rows."""
    return len(base64.b64decode(text)) // NUMBER.itemsize
