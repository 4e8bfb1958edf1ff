"""The points of a finite mixed box that a function of the user allows: a list of all of them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains.bfgs import Ascent, Function, evaluate
from kernelbandits.domains.conditions import level_numbers
from kernelbandits.domains.coordinates import Mask
from kernelbandits.domains.listing import MOST_LISTED
from kernelbandits.formatting import format_names

if TYPE_CHECKING:
    from kernelbandits.domains.mixed import MixedBox

NEIGHBOURS = 16
"""Where no change of one value is allowed, a search tries so many of the nearest points."""
WHOLE = "values that are allowed together"
"""What a point that is not allowed is not, as an error says it."""


class ListedSet:
    """The allowed points of a finite box, with the methods of `FeasibleSet` that a search needs."""

    def __init__(self, box: MixedBox, rows: Array) -> None:
        self.box, self.rows = box, rows
        self.sides = np.maximum(np.subtract(box.upper, box.lower), 1e-300)

    @cached_property
    def _known(self) -> set[bytes]:
        return {row.tobytes() for row in self._numbers(self.rows)}

    def _numbers(self, rows: Array) -> Any:
        """Return the number of the value that each variable has, which rounding leaves equal."""
        # What is inactive has its neutral value, so these numbers say which point it is.
        columns = [level_numbers(variable, rows[:, place]) for variable, place in self.box.blocks]
        return np.ascontiguousarray(np.column_stack(columns).astype(np.int64))

    def holds(self, rows: Array, tolerance: float = 0.0) -> Mask:
        """Tell which rows are allowed points."""
        return np.array([row.tobytes() in self._known for row in self._numbers(rows)], dtype=bool)

    def broken_constraint(self, row: Array) -> str | None:
        """Return what a row is not; None if it is allowed."""
        return None if self.holds(row[None])[0] else WHOLE

    def all_rows(self) -> Array:
        """Return the rows of all allowed points."""
        return self.rows

    def replace(self, rows: Array, bad: Mask, rng: np.random.Generator) -> None:
        """Replace the bad rows by random ones that are allowed."""
        rows[bad] = self.rows[rng.integers(len(self.rows), size=int(bad.sum()))]

    def settle(self, rows: Array) -> Array:
        """Return the allowed row nearest to each row."""
        return np.array([self._nearest(row, 1)[0] for row in rows])

    def _nearest(self, row: Array, count: int) -> Array:
        squares = np.square((self.rows - row) / self.sides).sum(1)
        nearest: Array = self.rows[np.argsort(squares, kind="stable")[:count]]
        return nearest

    def pull_inside(self, rows: Array) -> Array:
        """Return the rows that are allowed."""
        return rows[self.holds(rows)]

    def write_briefly(self, row: Array) -> Array:
        """Return the row: its values are those of the list."""
        return row

    def neighbours(self, row: Array) -> Array:
        """Return allowed rows that differ in one value; the nearest others, if there are none."""
        changes = list(self.box.without_constraints.changes(row))
        tried = self.box.neutralise(np.vstack(changes)) if changes else self.rows[:0]
        tried = tried[self.holds(tried) & (tried != row).any(1)]
        return tried if len(tried) else self._nearest(row, NEIGHBOURS)

    def ascend(self, function: Function, rows: Array, *given: Any, **known: Any) -> Ascent:
        """Return the values of the rows: nothing moves between separate values."""
        heights, _ = evaluate(function, rows)
        return Ascent(rows, heights, len(rows))


def read_allowed(box: MixedBox, allowed: Any) -> tuple[str, Array]:
    """Return which points of a finite box are allowed, as a text of bits, and their rows.

    `allowed` is a function of a point, or the text. The box is without it; the bits are in the
    order in which the box lists its points.
    """
    owner = "MixedBox"
    text = isinstance(allowed, str)
    needed = "allowed as a function of a point that returns True or False"
    checks.needs(callable(allowed) or text, owner, needed, allowed)
    labels = box.names or tuple(f"x{number}" for number in range(1, box.sides + 1))
    pairs = zip(labels, box.variables, strict=True)
    endless = [name for name, variable in pairs if not np.isfinite(variable.levels)]
    needed = (
        "separate values of every variable for a function of allowed points, which is asked about "
        "each of them; give a step, or write constraints in place of the function"
    )
    if endless:
        raise ValueError(f"{owner} needs {needed}, got any number of {format_names(endless)}")
    count = box.count
    many = f"at most {MOST_LISTED} points for a function of allowed points"
    checks.needs(count <= MOST_LISTED, owner, many, "more" if np.isinf(count) else int(count))
    rows = box.all_rows()
    kept = unpack(allowed, len(rows)) if text else ask_function(box, rows, allowed)
    several = int(kept.sum())
    checks.needs(several > 1, owner, "a function that allows several points", several)
    return pack(kept), rows[kept]


def ask_function(box: MixedBox, rows: Array, allowed: Callable[[Any], Any]) -> Mask:
    """Return what a function says of each point."""
    found = []
    for row in rows:
        # A row of the list has the values themselves, which need not be found.
        x = box.read_values(row)
        said = allowed(x)
        good = isinstance(said, (bool, np.bool_))
        checks.needs(good, "MixedBox", f"True or False from allowed({x!r})", said)
        found.append(bool(said))
    return np.array(found, dtype=bool)


def pack(kept: Mask) -> str:
    """Return truth values as a text.

    >>> pack(np.array([True, False, True]))
    '3:oA=='
    """
    return f"{len(kept)}:{base64.b64encode(np.packbits(kept).tobytes()).decode()}"


def unpack(text: str, count: int) -> Mask:
    """Return the truth values of a text that `pack` has written."""
    size, _, bits = text.partition(":")
    try:
        found = np.frombuffer(base64.b64decode(bits, validate=True), dtype=np.uint8)
        good = int(size) == count and len(found) == -(-count // 8)
    except ValueError:
        good = False
    checks.needs(good, "MixedBox", f"allowed as bits of {count} points", text[:40])
    return np.unpackbits(found, count=count).astype(bool)
