"""The adapters of `python -m benchmarks search`, one small file a package.

`make(instance, **settings)` returns a `Searcher`. A move is the number of a row, or a point of the
box in its own units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Searcher(Protocol):
    def ask(self, t: int, pending: Sequence[Any]) -> Any:
        """The move of measurement t, with those of the same batch that have no result yet."""
        ...

    def tell(self, move: Any, result: float) -> None: ...

    def recommend(self) -> Any:
        """The move it would name as the best."""
        ...
