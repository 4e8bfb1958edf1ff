"""Variables that are there only when others have certain values.

A variable without its condition is *inactive*. It has no value in a point, and in a row its neutral
coordinates, those of its middle value: what it would have been never matters. A condition on an
inactive variable does not hold, so that conditions form chains.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains.constraints import (
    OPPOSITE,
    RELATIONS,
    AtMost,
    Comparison,
    Condition,
    Constraint,
    Forbidden,
    LinearConstraint,
    OneOf,
    parse_conditions,
)
from kernelbandits.domains.values import is_same_value
from kernelbandits.domains.variables import EnumeratedVariable, Integer, Number, Variable
from kernelbandits.formatting import format_names

Mask = npt.NDArray[np.bool_]

MOST_LEVELS = 1000
"""A condition asks for values of a variable with at most so many."""


class Link(NamedTuple):
    """What a variable needs of another one: which of its values."""

    parent: int
    """The number of the other variable."""
    allowed: Mask
    """For each of its values, in order, whether the variable may be there."""


@dataclass(frozen=True, eq=False)
class Activity:
    """Which variables of a space are there at a point."""

    variables: tuple[Variable, ...]
    links: tuple[tuple[Link, ...], ...]
    """What each variable needs of others; nothing if it is always there."""
    order: tuple[int, ...]
    """The numbers of the variables, each after those it depends on."""
    texts: tuple[str | None, ...]
    """The conditions as they are written."""

    @classmethod
    def of(cls, variables: Sequence[Variable], labels: Sequence[str]) -> Activity | None:
        """Return the compiled conditions of variables; None if all are always there."""
        if all(variable.when is None for variable in variables):
            return None
        places = {unicodedata.normalize("NFKC", name): i for i, name in enumerate(labels)}
        links, texts = [], []
        for label, variable in zip(labels, variables, strict=True):
            try:
                read = () if variable.when is None else parse_conditions(variable.when, labels)
                links.append(tuple(find_link(variables, labels, places, one) for one in read))
            except ValueError as error:
                raise ValueError(f"variable {label!r}: {error}") from None
            texts.append(" and ".join(map(str, read)) or None)
        graph = {i: [link.parent for link in needed] for i, needed in enumerate(links)}
        try:
            order = tuple(TopologicalSorter(graph).static_order())
        except CycleError as error:
            circle = [labels[number] for number in error.args[1]]
            needed = "conditions that do not lead back to their own variable"
            raise ValueError(f"MixedBox needs {needed}, got {' <- '.join(circle)}") from None
        activity = cls(tuple(variables), tuple(links), order, tuple(texts))
        for label, own, text in zip(labels, links, texts, strict=True):
            # A variable that is fixed at one value may leave others out for good.
            varied = [link for link in own if variables[link.parent].levels > 1]
            possible = all(link.allowed.any() for link in varied)
            checks.needs(possible, f"variable {label!r}", "a condition that can hold", text)
        return activity

    def decides(self, number: int) -> bool:
        """Tell whether a condition of another variable asks for values of this one."""
        return any(link.parent == number for links in self.links for link in links)

    def find_active(self, rows: Array) -> Mask:
        """Tell for each row which variables are there."""
        places = self._slices
        active = np.ones((len(rows), len(self.variables)), dtype=bool)
        for number in self.order:
            for parent, allowed in self.links[number]:
                at = level_numbers(self.variables[parent], rows[:, places[parent]])
                active[:, number] &= active[:, parent] & allowed[at]
        return active

    def find_active_values(self, values: Sequence[Any]) -> list[bool]:
        """Tell which variables are there at a point, from its values in order.

        A value that its variable cannot take satisfies no condition.
        """
        active = [True] * len(self.variables)
        for number in self.order:
            for parent, allowed in self.links[number]:
                place = level_number(self.variables[parent], values[parent])
                active[number] &= active[parent] and place >= 0 and bool(allowed[place])
        return active

    def neutralise(self, rows: Array) -> Array:
        """Return the rows with the neutral coordinates of what is inactive."""
        neutral = self._neutral_row
        return np.where(self.find_inactive_coordinates(rows), neutral, rows)

    def find_inactive_coordinates(self, rows: Array) -> Mask:
        """Tell for each row which coordinates belong to inactive variables."""
        return np.repeat(~self.find_active(rows), self._widths, axis=1)

    def list_rows(self) -> Array:
        """Return the rows of all points of finite variables, by enlarging points one by one."""
        rows, places = self._neutral_row[None], self._slices
        for number in self.order:
            active = self.find_active(rows)[:, number]
            levels = self.variables[number].all_coordinates()
            times = np.where(active, len(levels), 1)
            which = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
            there, rows = np.repeat(active, times), np.repeat(rows, times, axis=0)
            rows[:, places[number]] = np.where(
                there[:, None], levels[which], rows[:, places[number]]
            )
        return rows

    def count_points(self) -> float:
        """Return how many different points there are; infinitely many with real numbers.

        Values of a variable that satisfy the same conditions count together.
        """
        parents = {link.parent for links in self.links for link in links}
        states: list[dict[int, int | None]] = [{}]
        counts_of: list[float] = [1]
        for number in self.order:
            fresh, fresh_counts = [], []
            groups = self._group_levels(number) if number in parents else {}
            for state, count in zip(states, counts_of, strict=True):
                there = all(
                    (place := state[parent]) is not None and allowed[place]
                    for parent, allowed in self.links[number]
                )
                if number not in parents:
                    fresh.append(state)
                    fresh_counts.append(count * (self.variables[number].levels if there else 1))
                elif not there:
                    fresh.append({**state, number: None})
                    fresh_counts.append(count)
                else:
                    for place, size in groups.items():
                        fresh.append({**state, number: place})
                        fresh_counts.append(count * size)
            states, counts_of = fresh, fresh_counts
        return sum(counts_of)

    def _group_levels(self, number: int) -> dict[int, int]:
        """Return one value for each set of conditions that values satisfy, and how many do."""
        masks = [link.allowed for links in self.links for link in links if link.parent == number]
        _, first, sizes = np.unique(np.array(masks), axis=1, return_index=True, return_counts=True)
        return dict(zip(first.tolist(), sizes.tolist(), strict=True))

    def impose(self, constraint: Constraint, find: Any, labels: Sequence[str]) -> Constraint:
        """Return a constraint that is imposed only where all variables that it names are there.

        An inequality of a variable that is there only with `kernel == 'rbf'` forbids its opposite
        together with this value. A forbidden combination is joined by the conditions of its
        variables.
        """
        conditions: list[Condition] = []
        numbers = [find(name) for name in constraint.names]
        while numbers:
            number = numbers.pop()
            for link in self.links[number]:
                conditions += self._as_conditions(link, labels[link.parent], str(constraint))
                numbers.append(link.parent)
        if not conditions or isinstance(constraint, AtMost):
            return constraint
        if isinstance(constraint, LinearConstraint):
            if constraint.relation == "==":
                names = [name for name in constraint.names if self.links[find(name)]]
                needed = "no == between variables that are there only under a condition"
                raise ValueError(f"a constraint needs {needed}, got {format_names(names)}")
            opposite = Comparison(
                constraint.coefficients, OPPOSITE[constraint.relation], constraint.bound
            )
            return Forbidden((opposite, *dict.fromkeys(conditions)))
        return Forbidden((*constraint.conditions, *dict.fromkeys(conditions)))

    def _as_conditions(self, link: Link, label: str, constraint: str) -> list[Condition]:
        """Return a link as conditions of a forbidden combination."""
        variable = self.variables[link.parent]
        values, places = variable.grid_values(None), np.flatnonzero(link.allowed)
        if len(places) == len(values):
            return []
        if isinstance(variable, EnumeratedVariable):
            return [OneOf(label, tuple(values[place] for place in places))]
        first, last = int(places[0]), int(places[-1])
        needed = f"a range of {label!r} under which its variables are there"
        checks.needs(len(places) == last - first + 1, "a constraint", needed, constraint)
        low = [Comparison({label: 1.0}, ">=", values[first])] if first > 0 else []
        high = [Comparison({label: 1.0}, "<=", values[last])] if last < len(values) - 1 else []
        return [*low, *high]

    @cached_property
    def _widths(self) -> list[int]:
        return [len(variable.lower) for variable in self.variables]

    @cached_property
    def _slices(self) -> list[slice]:
        ends = np.cumsum(self._widths).tolist()
        return [slice(end - n, end) for end, n in zip(ends, self._widths, strict=True)]

    @cached_property
    def _neutral_row(self) -> Array:
        return np.concatenate([variable.neutral for variable in self.variables])


def find_link(
    variables: Sequence[Variable],
    labels: Sequence[str],
    places: dict[str, int],
    condition: Condition,
) -> Link:
    """Return which values of a variable satisfy a condition."""
    owner, text = "a condition", str(condition)
    checks.needs(len(condition.names) == 1, owner, "one variable in each comparison", text)
    name = condition.names[0]
    parent = places.get(unicodedata.normalize("NFKC", name))
    if parent is None:
        raise ValueError(f"{owner} needs names among {format_names(labels)}, got {name!r}")
    variable = variables[parent]
    plain = isinstance(variable, (EnumeratedVariable, Integer))
    checks.needs(plain, owner, "choices or whole numbers, which are met exactly", text)
    few = variable.levels <= MOST_LEVELS
    checks.needs(few, owner, f"a variable with at most {MOST_LEVELS} values", text)
    values = variable.grid_values(None)
    if isinstance(condition, OneOf):
        for value in condition.values if variable.levels > 1 else ():
            needed = f"{variable.requirement} for {name!r}"
            checks.needs(any(is_same_value(one, value) for one in values), owner, needed, value)
        return Link(parent, np.array([condition.holds(value) for value in values]))
    numbers = all(checks.is_number(value) for value in values)
    checks.needs(numbers, owner, f"== or in for the choice {name!r}", text)
    factor, holds = condition.coefficients[0][1], RELATIONS[condition.relation]
    return Link(parent, np.array([holds(factor * value, condition.bound) for value in values]))


def level_numbers(variable: Variable, columns: Array) -> Indices:
    """Return the number of the value nearest to coordinates, one for each row."""
    if not columns.shape[1]:
        return np.zeros(len(columns), dtype=np.int64)
    if isinstance(variable, Number):
        values = variable.from_coordinate(columns[:, 0])
        return np.asarray(variable.grid_number(values), dtype=np.int64)
    if columns.shape[1] == 1:
        return np.clip(np.rint(columns[:, 0]), 0, variable.levels - 1).astype(np.int64)
    return np.asarray(columns.argmax(1), dtype=np.int64)


def level_number(variable: Variable, value: Any) -> int:
    """Return the number of a value; -1 if the variable cannot take it."""
    if not variable.holds(value):
        return -1
    if isinstance(variable, EnumeratedVariable):
        return variable.position(value)
    return int(variable.grid_number(np.array([float(value)]))[0])  # type: ignore[attr-defined]


def write_conditions(variables: Sequence[Variable], activity: Activity) -> tuple[Variable, ...]:
    """Return the variables with their conditions as texts that can be read without their names."""
    return tuple(
        variable if variable.when == text else replace(variable, when=text)
        for variable, text in zip(variables, activity.texts, strict=True)
    )
