"""The points of a mixed box with at most k of n numbers above 0: a part of the box for each choice.

A *support* is a choice of the numbers that may be above 0. With the others held at 0 the points are
those of a smaller box with the other constraints, in which real numbers move and grids are
met as in any box. What is searched is the union of these parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from math import comb, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains.bfgs import Ascent, Function, projected_bfgs
from kernelbandits.domains.constraints import AtMost, Constraint
from kernelbandits.domains.coordinates import Mask
from kernelbandits.domains.feasible import FeasibleSet
from kernelbandits.domains.listing import MOST_LISTED
from kernelbandits.domains.variables import Number

if TYPE_CHECKING:
    from kernelbandits.domains.mixed import MixedBox

MOST_SUPPORTS = 1000
"""More choices of what is above 0 are refused."""


@dataclass(frozen=True, eq=False)
class Support:
    """The points of a box with some numbers at 0."""

    whole: MixedBox
    box: MixedBox
    """The same box, with these numbers as single values without coordinates."""
    held: tuple[int, ...]
    """The coordinates of the whole that are 0."""

    @cached_property
    def columns(self) -> Indices:
        """Which coordinates of the whole box are left."""
        return np.setdiff1d(np.arange(self.whole.dimension), self.held)

    def expand(self, rows: Array) -> Array:
        """Return rows of what is left as rows of the whole box."""
        whole = np.zeros((len(rows), self.whole.dimension))
        whole[:, self.columns] = rows
        return whole


class SupportSet:
    """What constraints leave of a box of which at most some numbers are above 0.

    It has the methods of `FeasibleSet` that a search needs.
    """

    def __init__(self, box: MixedBox, linear: FeasibleSet) -> None:
        self.box, self.linear = box, linear
        self.rules = [one for one in box.constraints if isinstance(one, AtMost)]
        self.columns = [self._find_columns(one) for one in self.rules]
        self.sides = np.maximum(np.subtract(box.upper, box.lower), 1e-300)
        count = prod(comb(len(one.names), one.count) for one in self.rules)
        needed = f"at most {MOST_SUPPORTS} choices of what is above 0"
        checks.needs(count <= MOST_SUPPORTS, "at_most", needed, count)
        self._parts: dict[frozenset[str], Support | None] = {}
        if next(self._walk_parts(), None) is None:
            texts = " and ".join(f"'{one}'" for one in box.constraints)
            needed = "constraints that leave points to choose from"
            raise ValueError(
                f"MixedBox needs {needed}; within the ranges no point satisfies {texts}"
            )

    def _find_columns(self, rule: AtMost) -> list[int]:
        """Return the coordinates of the numbers of a rule."""
        columns = []
        for name in rule.names:
            number = self.linear.coordinates.number_of(name)
            variable = self.box.variables[number]
            good = isinstance(variable, Number) and variable.low == 0 and not variable.single
            checks.needs(good and variable.when is None, "at_most", "ranges from 0 on", name)
            columns.append(self.box.blocks[number][1].start)
        return columns

    @cached_property
    def supports(self) -> list[frozenset[str]]:
        """All choices of the numbers that are held at 0."""
        ways = (combinations(one.names, len(one.names) - one.count) for one in self.rules)
        return sorted({frozenset().union(*held) for held in product(*ways)}, key=sorted)

    def _make(self, zeros: frozenset[str]) -> Support | None:
        """Return the part of the box with some numbers at 0; None if it has no point."""
        if zeros not in self._parts:
            numbers = [self.linear.coordinates.number_of(name) for name in zeros]
            held = [self.box.blocks[number][1].start for number in numbers]
            labels = [self.linear.coordinates.labels[number] for number in numbers]
            try:
                part = Support(self.box, self._named.hold(dict.fromkeys(labels, 0)), tuple(held))
            except ValueError:
                self._parts[zeros] = None
            else:
                self._parts[zeros] = part
        return self._parts[zeros]

    @cached_property
    def _named(self) -> MixedBox:
        """The box with names, by which its parts are made."""
        box = self.box
        return box if box.names else replace(box, names=tuple(self.linear.coordinates.labels))

    def _walk_parts(self) -> Iterator[Support]:
        for zeros in self.supports:
            if (part := self._make(zeros)) is not None:
                yield part

    @cached_property
    def parts(self) -> list[Support]:
        """All parts that have points."""
        return list(self._walk_parts())

    # ------------------------------------------------------------------ membership

    def holds(self, rows: Array, tolerance: float = 1e-9) -> Mask:
        """Tell which rows satisfy all constraints."""
        good = self.linear.holds(rows, tolerance)
        for rule, columns in zip(self.rules, self.columns, strict=True):
            good &= (rows[:, columns] > 0).sum(1) <= rule.count
        return good

    def broken_constraint(self, row: Array) -> Constraint | None:
        """Return the first constraint that a row does not satisfy, or None."""
        for rule, columns in zip(self.rules, self.columns, strict=True):
            if (row[columns] > 0).sum() > rule.count:
                return rule
        return self.linear.broken_constraint(row)

    def _nearest_parts(self, rows: Array) -> Indices:
        """Return for each row the number of the part that sets least of it to 0."""
        lost = np.zeros((len(rows), len(self.parts)))
        for number, part in enumerate(self.parts):
            held = list(part.held)
            lost[:, number] = np.square(np.maximum(rows[:, held], 0) / self.sides[held]).sum(1)
        return np.asarray(lost.argmin(1), dtype=np.int64)

    def _by_part(self, rows: Array) -> Iterator[tuple[Support, Indices]]:
        """Yield each part with the numbers of the rows that are nearest to it."""
        nearest = self._nearest_parts(rows)
        for number in np.unique(nearest).tolist():
            yield self.parts[number], np.flatnonzero(nearest == number)

    # ------------------------------------------------------------------ rows

    def replace(self, rows: Array, bad: Mask, rng: np.random.Generator) -> None:
        """Replace the numbers and choices of bad rows that constraints name by random ones."""
        tied, lines = self.linear.coordinates.is_tied, np.flatnonzero(bad)
        drawn = rng.integers(len(self.parts), size=len(lines))
        for number in np.unique(drawn).tolist():
            part, own = self.parts[number], lines[drawn == number]
            found = part.expand(part.box.from_unit(rng.random((len(own), part.box.sides))))
            rows[np.ix_(own, tied)] = found[:, tied]

    def all_rows(self) -> Array | None:
        """Return the rows of all points of a finite set, or None if they are too many."""
        found: list[Array] = []
        for part in self.parts:
            if part.box.count > MOST_LISTED:
                return None
            found.append(part.expand(part.box.all_rows()))
        rows = np.unique(np.vstack(found) + 0.0, axis=0)
        return rows if len(rows) <= MOST_LISTED else None

    def settle(self, rows: Array) -> Array:
        """Return the rows with all constraints met, those that are nearest to 0 set to it."""
        settled = rows.copy()
        for part, own in self._by_part(rows):
            settled[own] = part.expand(part.box.nearest(rows[np.ix_(own, part.columns)]))
        return settled

    def pull_inside(self, rows: Array) -> Array:
        """Return the rows moved inside, without those that stay outside."""
        if not len(rows):
            return rows
        found = []
        for part, own in self._by_part(rows):
            inner = rows[np.ix_(own, part.columns)]
            linear = part.box.constrained
            inner = part.box.feasible.pull_inside(inner) if linear else part.box.nearest(inner)
            found.append(part.expand(inner))
        return np.vstack(found)

    def write_briefly(self, row: Array) -> Array:
        """Return a row whose numbers have few digits, if it satisfies the constraints."""
        [(part, _)] = self._by_part(row[None])
        if not part.box.constrained:
            return row
        brief: Array = part.expand(part.box.feasible.write_briefly(row[part.columns])[None])[0]
        return brief

    def neighbours(self, row: Array) -> Array:
        """Return rows that differ in few values, also with other numbers above 0."""
        [(part, _)] = self._by_part(row[None])
        tried = [part.expand(part.box.neighbours(row[part.columns]))]
        for columns in self.columns:
            present = [j for j in columns if row[j] > 0]
            for out, into in product(present, [j for j in columns if row[j] <= 0]):
                swapped = row.copy()
                swapped[[out, into]] = swapped[[into, out]]
                tried.append(self.settle(swapped[None]))
        found: Array = np.unique(np.vstack(tried), axis=0)
        kept: Array = found[self.holds(found) & (found != row).any(1)]
        return kept

    # ------------------------------------------------------------------ moves

    def ascend(
        self, function: Function, rows: Array, moving: Mask, scale: Array, **known: Any
    ) -> Ascent:
        """Ascend to local maxima, each start within its own part."""
        ends, values, evaluations = rows.copy(), np.full(len(rows), -np.inf), 0
        for part, own in self._by_part(rows):
            columns, box = part.columns, part.box

            def inner(
                places: Array, part: Support = part, columns: Any = columns
            ) -> tuple[Array, Array]:
                heights, slopes = function(part.expand(places))
                return heights, slopes[:, columns]

            starts, free = rows[np.ix_(own, columns)], moving[columns]
            if box.constrained:
                found = box.feasible.ascend(inner, starts, free, scale[columns], **known)
            else:
                lower = np.where(free, np.array(box.lower), starts)
                upper = np.where(free, np.array(box.upper), starts)
                found = projected_bfgs(inner, starts, lower, upper, scale[columns], **known)
            ends[own], values[own] = part.expand(found.rows), found.values
            evaluations += found.evaluations
        return Ascent(ends, values, evaluations)
