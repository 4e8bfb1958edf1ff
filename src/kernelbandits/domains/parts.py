"""A part of a mixed box: the points at which some variables have given values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains.mixed import MixedBox


@dataclass(frozen=True)
class Part:
    """The points of a mixed box at which some variables have given values.

    >>> from kernelbandits import Category, MixedBox, Real
    >>> from kernelbandits.domains import Part
    >>> whole = MixedBox({"heat": Real(20, 90), "acid": Category(("a", "b"))})
    >>> part = Part(whole, {"acid": "b"})
    >>> part.box.decode([35.0])
    {'heat': 35.0, 'acid': 'b'}
    >>> part.expand([[35.0]]).round(3)
    array([[35.   ,  0.   ,  0.707]])
    >>> {"heat": 35.0, "acid": "a"} in part
    False
    """

    whole: MixedBox
    values: Mapping[str, Any]
    """Name -> value of each variable that is fixed."""

    def __post_init__(self) -> None:
        variables = dict(zip(self.whole.names, self.whole.variables, strict=True))
        for name, value in self.values.items():
            checks.needs(name in variables, "Part", f"names among {self.whole.names}", name)
            holds = variables[name].holds(value)
            checks.needs(holds, "Part", f"{variables[name].requirement} for {name!r}", value)

    @cached_property
    def box(self) -> MixedBox:
        """The same space with a single value of each fixed variable, which has no coordinate."""
        return self.whole.hold(self.values)

    @cached_property
    def columns(self) -> Indices:
        """Which coordinates of the whole box are those of the variables that are left."""
        slices = zip(self.whole.names, self.whole.blocks, strict=True)
        free = [range(at.start, at.stop) for name, (_, at) in slices if name not in self.values]
        return np.array([column for columns in free for column in columns], dtype=np.int64)

    @cached_property
    def _fixed_row(self) -> Array:
        row = np.zeros(self.whole.dimension)
        for name, (variable, at) in zip(self.whole.names, self.whole.blocks, strict=True):
            if name in self.values:
                row[at] = variable.encode(self.values[name])
        return row

    def expand(self, rows: Any) -> Array:
        """Return rows of the variables that are left as rows of the whole box."""
        whole: Array = np.tile(self._fixed_row, (len(rows), 1))
        whole[:, self.columns] = rows
        return self.whole.neutralise(whole)

    def __contains__(self, x: Any) -> bool:
        return x in self.whole and self.whole.canonical(x) in self.box
