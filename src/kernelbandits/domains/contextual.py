"""A domain with a context: coordinates that are given in every round and not chosen."""

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
    """A domain, and a context of `size` numbers that is given with every ask.

    Ask with `policy.ask(t, rng, context=...)`. Kernels see rows (x, context), the chosen point
    followed by the context.

    >>> from kernelbandits import Box, Contextual
    >>> domain = Contextual(Box((0.0, 0.0), (1.0, 1.0)), size=1)
    >>> domain.dimension
    3
    >>> domain.encode((0.2, 0.4), context=0.7)
    array([0.2, 0.4, 0.7])
    """

    domain: Any
    """Arms, a Box, a MixedBox; or a number of coordinates, if arms are given with every ask."""
    size: int
    """How many numbers a context has."""

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
        """The number of coordinates of what is chosen."""
        return self.domain if checks.is_whole(self.domain) else int(self.domain.dimension)

    @property
    def dimension(self) -> int:
        """The number of coordinates that kernels see."""
        return self.coordinates + self.size

    def check_context(self, values: Any) -> Array:
        """Return the context of a round as a read-only array, checked.

        None is accepted if a context has no coordinates, and a plain number if it has one.
        """
        needed = f"a context of size {self.size}, all finite numbers"
        if values is None and self.size == 0:
            return np.empty(0)
        if self.size == 1 and checks.is_number(values):
            values = [values]
        good = not isinstance(values, str) and is_flat(values) and len(values) == self.size
        checks.needs(
            good and all(checks.is_number(value) for value in values), "Contextual", needed, values
        )
        return read_only(np.array(values, dtype=np.float64))

    def check_arms(self, rows: Any) -> Array:
        """Return the arms of a round as a read-only array, checked."""
        given = checks.points("ask", rows)
        checks.needs(
            given.shape[1] == self.coordinates,
            "ask",
            f"arms of {self.coordinates} coordinates",
            given.shape,
        )
        return read_only(given)

    def encode(self, x: Any, context: Any) -> Array:
        """Return the row (x, context) that a kernel sees."""
        return np.concatenate([self._encode_choice(x), self.check_context(context)])

    def _encode_choice(self, x: Any) -> Array:
        if isinstance(self.domain, (Box, MixedBox)):
            return np.asarray(self.domain.encode(x))
        point: Array = checks.points("tell", [x])[0]
        known = len(point) == self.coordinates
        if isinstance(self.domain, Arms):
            known = known and bool((self.domain.points == point).all(1).any())
            checks.needs(known, "tell", "a choice among the arms", x)
        checks.needs(known, "tell", f"a point of {self.coordinates} coordinates", x)
        return point


def read_only(array: Array) -> Array:
    """Return the same array, which can no longer be written to."""
    array.flags.writeable = False
    return array
