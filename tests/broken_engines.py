"""Ways to break the engine that the tests of all judges share."""

from __future__ import annotations

from collections.abc import Callable

from kernelbandits import widths
from kernelbandits.widths import Width


def times(a: float, b: float, c: float) -> Callable[..., Width]:
    """self_normalised with its three numbers multiplied."""
    sound = widths.self_normalised

    def broken(*given: float) -> Width:
        terms = sound(*given).terms
        return Width("broken", lambda t: tuple(f * term for f, term in zip((a, b, c), terms(t), strict=True)))

    return broken
