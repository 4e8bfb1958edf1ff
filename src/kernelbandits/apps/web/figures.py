"""Figures of a server: which one is meant, what was drawn of it, and those drawn last."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from kernelbandits.report.studies.marks import Mark

MAP = "map"
"""The kind of the figure whose two columns a visitor chooses."""
MOST_FIGURES = 200
MOST_BYTES = 64 * 2**20
"""How many figures a server keeps, and how many bytes of them: a visitor who may only read can ask
for a map of each pair of columns, and must not fill the memory by that."""
drawing_lock = Lock()
"""The settings of matplotlib belong to the whole process, so one thread draws at a time."""


@dataclass(frozen=True)
class FigureName:
    """The name of a figure: one of a kind by its place there, or the map of two columns.

    What does not belong to the kind does not count, so that a figure has one name.

    >>> FigureName("map", 7, "Cs", "FA") == FigureName("map", 0, "Cs", "FA")
    True
    """

    kind: str = ""
    place: int = 0
    across: str = ""
    up: str = ""
    narrow: bool = False
    """Whether it is drawn for the screen of a phone."""

    def __post_init__(self) -> None:
        unused = {"place": 0} if self.kind == MAP else {"across": "", "up": ""}
        for part, empty in unused.items():
            object.__setattr__(self, part, empty)


@dataclass(frozen=True)
class DrawnFigure:
    """A figure as it is sent."""

    svg: bytes
    marks: bytes
    """Place and text of each mark, as JSON."""

    @classmethod
    def of(cls, svg: str, marks: Sequence[Mark]) -> DrawnFigure:
        text = json.dumps(marks, ensure_ascii=False, separators=(",", ":"))
        return cls(svg.encode(), text.encode())

    @property
    def size(self) -> int:
        return len(self.svg) + len(self.marks)


class RecentFigures:
    """The values computed for figures and used last, up to a number of values and of bytes.

    Examples
    --------
    >>> recent = RecentFigures(most=2)
    >>> for name in ("a", "b", "a", "c"):
    ...     if recent.find(name) is None:
    ...         recent.keep(name, name.upper(), size=1)
    >>> [recent.find(name) for name in ("a", "b", "c")]
    ['A', None, 'C']
    """

    def __init__(self, most: int = MOST_FIGURES, most_bytes: int = MOST_BYTES) -> None:
        self.most, self.most_bytes = most, most_bytes
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def find(self, key: Hashable) -> Any:
        """Return the value that is kept under a key, or None; it is now the one used last."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: Hashable, value: Any, size: int) -> None:
        """Keep a value of so many bytes, and forget those that were not used for longest."""
        with self._lock:
            self._kept[key] = value, size
            self._kept.move_to_end(key)
            while len(self._kept) > self.most or self._count_bytes() > self.most_bytes:
                self._kept.popitem(last=False)

    def _count_bytes(self) -> int:
        return sum(size for _, size in self._kept.values())
