"""A domain beside a context: coordinates that are given in every round and not chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains.arms import Arms
from kernelbandits.domains.box import Box, is_flat
from kernelbandits.domains.mixed import MixedBox


@dataclass(frozen=True)
class Contextual:
    """What may be chosen, and `size` context coordinates that come with every ask; kernels see rows (x, context).

    `domain` is Arms, a Box or a MixedBox, or a number d of coordinates: then the arms come with every ask as well.
    """

    domain: Any
    size: int

    def __post_init__(self) -> None:
        if checks.is_whole(self.domain):
            checks.whole("Contextual", "of coordinates", self.domain)
        else:
            known = isinstance(self.domain, (Arms, Box, MixedBox))
            checks.needs(
                known,
                "Contextual",
                "Arms, a Box, a MixedBox or a number of coordinates",
                self.domain,
            )
        checks.whole("Contextual", "size", self.size, least=0)

    @property
    def coordinates(self) -> int:
        """Of what is chosen."""
        return self.domain if checks.is_whole(self.domain) else int(self.domain.dimension)

    @property
    def dimension(self) -> int:
        """Of what kernels see."""
        return self.coordinates + self.size

    def context(self, values: Any) -> Array:
        """The context of a round, checked; nothing need be said where it has no coordinates."""
        needed = f"a context of size {self.size}, all finite numbers"
        if values is None and self.size == 0:
            return np.empty(0)
        if self.size == 1 and checks.is_number(values):
            values = [values]
        good = not isinstance(values, str) and is_flat(values) and len(values) == self.size
        checks.needs(
            good and all(checks.is_number(value) for value in values), "Contextual", needed, values
        )
        return frozen(np.array(values, dtype=np.float64))

    def arms(self, rows: Any) -> Array:
        """The arms of a round, checked."""
        given = checks.points("ask", rows)
        checks.needs(
            given.shape[1] == self.coordinates,
            "ask",
            f"arms of {self.coordinates} coordinates",
            given.shape,
        )
        return frozen(given)

    def encode(self, x: Any, context: Any) -> Array:
        """The row (x, context) that a kernel sees."""
        return np.concatenate([self._chosen(x), self.context(context)])

    def _chosen(self, x: Any) -> Array:
        if isinstance(self.domain, (Box, MixedBox)):
            return np.asarray(self.domain.encode(x))
        point: Array = checks.points("tell", [x])[0]
        known = len(point) == self.coordinates
        if isinstance(self.domain, Arms):
            known = known and bool((self.domain.points == point).all(1).any())
            checks.needs(known, "tell", "a choice among the arms", x)
        checks.needs(known, "tell", f"a point of {self.coordinates} coordinates", x)
        return point


def frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
