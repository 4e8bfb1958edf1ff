"""A box of real and whole numbers, ordered and unordered categories, with constraints."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import product
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains.arms import Arms
from kernelbandits.domains.box import (
    COVER,
    as_row,
    as_rows,
    check_sides,
    draw_units,
    spread_points,
)
from kernelbandits.domains.conditions import Activity, write_conditions
from kernelbandits.domains.constraints import AtMost, as_constraints
from kernelbandits.domains.entries import as_variable, variable_from_dict
from kernelbandits.domains.feasible import FeasibleSet
from kernelbandits.domains.listed_set import ListedSet, read_allowed
from kernelbandits.domains.listing import MOST_LISTED
from kernelbandits.domains.support_set import SupportSet
from kernelbandits.domains.variables import ON_GRID, Integer, Number, Real, Variable
from kernelbandits.formatting import format_names
from kernelbandits.streams import Streams

DOUBLINGS = 6
"""How often the points of a cover are doubled to find enough different ones.

Rounding to separate values makes points equal, so a cover needs more points than it keeps.
"""


ABSENT = type("Absent", (), {"__repr__": lambda self: "nothing"})()
"""The value of a variable that a point does not name."""


class MeasuredPoint(dict[str, Any]):
    """The values of a point that was measured in a space.

    Ranges, steps and constraints say what may be suggested. A point that was measured may lie off
    the grid, miss a constraint, and be beyond the end of a range, by a tenth of it or because the
    range was changed since; the method `MixedBox.encode` then still has a row for it.

    >>> from kernelbandits import MixedBox, Real
    >>> MixedBox({"heat": Real(20, 90, step=0.5)}).encode(MeasuredPoint(heat=36.3))
    array([36.3])
    """


@dataclass(frozen=True, repr=False)
class MixedBox:
    """A space: every combination of the values of its variables that its constraints allow.

    A point x is a dict if the variables have names, and a tuple otherwise. Kernels see rows of
    numbers: `encode` turns a point into a row, and `decode` a row into a point.

    Examples
    --------
    >>> from kernelbandits import Category, Integer, MixedBox, Real
    >>> box = MixedBox({"heat": Real(20, 90), "stirs": Integer(1, 5), "acid": Category(("a", "b"))})
    >>> box.encode({"heat": 35.0, "stirs": 3, "acid": "b"}).round(3)
    array([35.   ,  3.   ,  0.   ,  0.707])
    >>> box.decode([36.2, 2.8, 0.1, 0.6])
    {'heat': 36.2, 'stirs': 3, 'acid': 'b'}
    >>> box.encode({"heat": 10.0, "stirs": 3, "acid": "b"})
    Traceback (most recent call last):
    ...
    ValueError: encode needs a number in [20.0, 90.0] for 'heat', got 10.0

    A mixture in steps of a tenth, and how many there are:

    >>> mixture = MixedBox(
    ...     {name: Real(0, 1, step=0.1) for name in "ABC"}, constraints=["A + B + C == 1"]
    ... )
    >>> mixture.count
    66
    >>> {"A": 0.5, "B": 0.3, "C": 0.2} in mixture, {"A": 0.5, "B": 0.3, "C": 0.3} in mixture
    (True, False)

    A variable that is there only with one value of another one:

    >>> gamma = Real(1e-4, 1, log=True, when={"kernel": "rbf"})
    >>> svm = MixedBox({"kernel": Category(("rbf", "linear")), "gamma": gamma})
    >>> svm.decode(svm.encode({"kernel": "linear"}))
    {'kernel': 'linear'}
    """

    variables: Any
    """Name -> variable, or a sequence of variables; kept as a tuple. A variable may be written as a
    range (20.0, 90.0), as a list of choices or as a short text, "integer 1:8"."""
    names: tuple[str, ...] = ()
    """Names of the variables, if they were given as a sequence."""
    constraints: Any = ()
    """What every point must satisfy: texts, `LinearConstraint` or `Forbidden` values, or dicts of
    forbidden values. In constraints, variables without names are called x1, x2, ..."""
    allowed: Any = None
    """Of a space of separate values: a function of a point that says whether it may be tried. It is
    asked about every point when the space is made; what it said is kept as a text of bits."""

    def __post_init__(self) -> None:
        given, named = self.variables, isinstance(self.variables, Mapping)
        checks.needs(
            named or isinstance(given, Sequence),
            "MixedBox",
            "a mapping or a sequence of variables",
            given,
        )
        checks.needs(
            isinstance(self.names, (tuple, list)), "MixedBox", "a sequence of names", self.names
        )
        pairs = given.items() if named else ((f"x{i}", one) for i, one in enumerate(given, 1))
        read = tuple(as_variable("MixedBox", name, one) for name, one in pairs)
        object.__setattr__(self, "variables", read)
        object.__setattr__(self, "names", tuple(given if named else self.names))
        self._check_variables()
        labels = self.names or tuple(f"x{number}" for number in range(1, len(read) + 1))
        constraints = as_constraints("MixedBox", self.constraints, labels)
        object.__setattr__(self, "constraints", constraints)
        if self.activity is not None:
            object.__setattr__(self, "variables", write_conditions(read, self.activity))
        if constraints:
            check_sides("MixedBox", self)
        if self.allowed is not None:
            # The function is asked now: a space that is stored does not have it.
            box = MixedBox(self.variables, self.names, constraints)
            bits, rows = read_allowed(box, self.allowed)
            object.__setattr__(self, "allowed", bits)
            vars(self)["feasible"] = ListedSet(self, rows)
        if constraints:
            # Built here, so that constraints that leave nothing are refused at once.
            _ = self.feasible

    def _check_variables(self) -> None:
        """Raise an error if there is nothing to vary, and for names that do not fit."""
        checks.needs(len(self.variables) > 0, "MixedBox", "at least one variable", self.variables)
        if self.names:
            text = all(isinstance(name, str) and name for name in self.names)
            fits = text and len(set(self.names)) == len(self.names) == len(self.variables)
            checks.needs(fits, "MixedBox", "a name of its own for each variable", self.names)
            for name in self.names:
                # A file of results or a command could not name it.
                plain = name == name.strip() and name.splitlines() == [name] and "\0" not in name
                needed = "names of one line without blanks at their ends"
                checks.needs(plain, "MixedBox", needed, name)
                checks.short_name("a variable", name)
        varies = any(variable.levels > 1 for variable in self.variables)
        needed = "at least one variable with more than one value"
        checks.needs(varies, "MixedBox", needed, self.variables)

    def __reduce__(self) -> tuple[Any, ...]:
        # What is computed from the variables and constraints is computed again where it is read.
        return MixedBox, (self.variables, self.names, self.constraints, self.allowed)

    def __deepcopy__(self, memo: Any) -> MixedBox:
        return self

    def __repr__(self) -> str:
        shown = f"variables={self.variables!r}, names={self.names!r}"
        if self.constraints:
            shown += f", constraints={tuple(str(one) for one in self.constraints)!r}"
        if self.allowed is not None:
            shown += f", allowed={shorten(self.allowed)!r}"
        return f"MixedBox({shown})"

    # ------------------------------------------------------------------ coordinates

    @cached_property
    def lower(self) -> tuple[float, ...]:
        """The smallest value of each coordinate of a row."""
        return tuple(bound for variable in self.variables for bound in variable.lower)

    @cached_property
    def upper(self) -> tuple[float, ...]:
        """The largest value of each coordinate of a row."""
        return tuple(bound for variable in self.variables for bound in variable.upper)

    @cached_property
    def discrete(self) -> tuple[bool, ...]:
        """Which coordinates of a row take separate values only."""
        return tuple(variable.discrete for variable in self.variables for _ in variable.lower)

    @cached_property
    def wide(self) -> tuple[bool, ...]:
        """Which coordinates are on grids of so many numbers that a search moves on them freely."""
        return tuple(variable.wide for variable in self.variables for _ in variable.lower)

    @property
    def dimension(self) -> int:
        """The number of coordinates of a row."""
        return len(self.lower)

    @property
    def sides(self) -> int:
        """How many numbers in [0, 1] determine a point: one for each variable."""
        return len(self.variables)

    @cached_property
    def count(self) -> float:
        """The number of points; infinite if a variable takes any real number.

        With constraints it is infinite also if there are more than 100 000 points: they are not
        counted then.
        """
        if not self.constrained and self.activity is not None:
            return self.activity.count_points()
        if not self.constrained:
            count: float = math.prod(variable.levels for variable in self.variables)
            return count
        return math.inf if self._allowed_rows is None else len(self._allowed_rows)

    @cached_property
    def _allowed_rows(self) -> Array | None:
        """The rows of all points that the constraints allow, if they are finite and not many."""
        finite = all(math.isfinite(variable.levels) for variable in self.variables)
        return self.feasible.all_rows() if finite else None

    @cached_property
    def blocks(self) -> tuple[tuple[Variable, slice], ...]:
        """Each variable with the part of a row that holds its coordinates."""
        ends = np.cumsum([len(variable.lower) for variable in self.variables]).tolist()
        places = [
            slice(end - len(variable.lower), end)
            for variable, end in zip(self.variables, ends, strict=True)
        ]
        return tuple(zip(self.variables, places, strict=True))

    @cached_property
    def activity(self) -> Activity | None:
        """Which variables are there at a point; None if all of them always are."""
        labels = self.names or tuple(f"x{number}" for number in range(1, self.sides + 1))
        return Activity.of(self.variables, labels)

    @property
    def constrained(self) -> bool:
        """Whether some points between the ends of its variables must not be tried."""
        return bool(self.constraints) or self.allowed is not None

    @cached_property
    def linear(self) -> FeasibleSet:
        """What the constraints leave, compiled for the search."""
        return FeasibleSet(self, self.constraints)

    @cached_property
    def feasible(self) -> FeasibleSet | ListedSet | SupportSet:
        """What the constraints leave, or what is allowed of it as a list."""
        chosen = any(isinstance(one, AtMost) for one in self.constraints)
        return SupportSet(self, self.linear) if chosen else self.linear

    @cached_property
    def without_constraints(self) -> MixedBox:
        """The same variables without constraints."""
        return MixedBox(self.variables, self.names) if self.constrained else self

    def hold(self, values: Mapping[str, Any]) -> MixedBox:
        """Return the space with a single value of some variables, which then have no coordinate."""
        named = zip(self.names, self.variables, strict=True)
        variables = {
            name: variable.fix(values[name]) if name in values else variable
            for name, variable in named
        }
        zeros = [name for name, value in values.items() if value == 0]
        left = [one.hold(zeros) if isinstance(one, AtMost) else one for one in self.constraints]
        # The whole knows which points are allowed; the part lists those it has.
        allowed = None if self.allowed is None else self.__contains__
        constraints = [one for one in left if one is not None]
        return MixedBox(variables, constraints=constraints, allowed=allowed)

    @cached_property
    def unconditional(self) -> MixedBox:
        """The same variables without constraints, all of them always there."""
        return MixedBox(tuple(replace(one, when=None) for one in self.variables), self.names)

    @cached_property
    def measurable(self) -> MixedBox:
        """What may be measured by hand: wider ranges without steps and constraints."""
        return MixedBox(tuple(one.as_measured() for one in self.variables), self.names)

    @cached_property
    def _learnable(self) -> tuple[Variable, ...]:
        """The variables with all values that results may have, beyond ranges that were changed."""
        return tuple(variable.as_learnt() for variable in self.variables)

    def with_ranges(self, ranges: Mapping[str, Any], owner: str = "with_ranges") -> MixedBox:
        """Return the space with other ends of some ranges; all else stays.

        A new low end of a grid is a value of the grid before, continued. A range on which the
        condition of another variable depends cannot be changed.

        >>> from kernelbandits import MixedBox, Real
        >>> space = MixedBox({"heat": Real(20, 90, step=0.5)})
        >>> space.with_ranges({"heat": (10, 120)}).variables
        (Real(low=10.0, high=120.0, step=0.5),)
        """
        checks.needs(bool(self.names), owner, "a space whose variables have names", self)
        given = isinstance(ranges, Mapping) and len(ranges) > 0
        checks.needs(given, owner, "ranges by name, such as {'heat': (20, 120)}", ranges)
        known = dict(zip(self.names, self.variables, strict=True))
        for name, ends in ranges.items():
            checks.needs(name in known, owner, f"names among {format_names(self.names)}", name)
            variable = known[name]
            pair = isinstance(ends, (tuple, list)) and len(ends) == 2
            pair = pair and all(map(checks.is_number, ends))
            checks.needs(pair, owner, f"two ends (low, high) for {name!r}", ends)
            needed = "a range of numbers, and no list or single value"
            number = isinstance(variable, (Real, Integer)) and not variable.single
            checks.needs(number, owner, needed, name)
            decides = self.activity is not None and self.activity.decides(self.names.index(name))
            needed = "a range on which no condition of another variable depends"
            checks.needs(not decides, owner, needed, name)
            known[name] = change_ends(owner, name, variable, ends)
        needed = "a space without a list of allowed points, which would not list the new ones"
        checks.needs(self.allowed is None, owner, needed, [*ranges])
        return MixedBox(known, constraints=self.constraints)

    # ------------------------------------------------------------------ points

    def encode(self, x: Any, owner: str = "encode") -> Array:
        """Return the row of a point; an error if it is not in the space."""
        row, reason = self._try_encode(x)
        if row is None:
            raise ValueError(f"{owner} needs {reason}")
        return row

    def why_not(self, x: Any) -> str | None:
        """Say in words why x is no point of the space; None if it is one.

        >>> from kernelbandits import MixedBox, Real
        >>> box = MixedBox({"A": Real(0, 1), "B": Real(0, 1)}, constraints=["A + B <= 1"])
        >>> box.why_not({"A": 0.9, "B": 0.3})
        "a point with A + B <= 1, got {'A': 0.9, 'B': 0.3}"
        >>> box.why_not({"A": 0.9, "B": 0.1}) is None
        True
        """
        return self._try_encode(x)[1]

    def __contains__(self, x: Any) -> bool:
        return self.why_not(x) is None

    def _try_encode(self, x: Any) -> tuple[Array | None, str | None]:
        """Return the row of x, or what is needed and what was given."""
        measured = isinstance(x, MeasuredPoint)
        variables = self._learnable if measured else self.variables
        values, reason = self._values(x)
        if reason:
            return None, reason
        active, order = self.find_active_values(values), range(self.sides)
        for number in order if self.activity is None else self.activity.order:
            variable, value = variables[number], values[number]
            if active[number] and not variable.holds(value):
                label = (self.names or order)[number]
                why = "" if variable.when is None else f", because {variable.when}"
                shown = "nothing" if value is ABSENT else repr(value)
                return None, f"{variable.requirement} for {label!r}{why}, got {shown}"
        row = np.array(
            [
                coordinate
                for variable, own, value, there in zip(
                    variables, self.variables, values, active, strict=True
                )
                for coordinate in (variable.encode(value) if there else own.neutral)
            ]
        )
        if self.constrained and not measured:
            broken = self.feasible.broken_constraint(row)
            if broken is not None:
                return None, f"a point with {broken}, got {x!r}"
        return row, None

    def _values(self, x: Any) -> tuple[tuple[Any, ...], str | None]:
        """Return the values of x in the order of the variables, or what is needed instead."""
        if self.names:
            given = isinstance(x, Mapping) and set(x) <= set(self.names)
            if given and self.activity is not None:
                always = zip(self.names, self.variables, strict=True)
                given = all(name in x for name, variable in always if variable.when is None)
            elif given:
                given = len(x) == self.sides
            if given:
                return tuple(x.get(name, ABSENT) for name in self.names), None
            needed = "a value for each of" if self.activity is None else "values of"
            return (), f"{needed} {format_names(self.names)}, got {x!r}"
        fits = (
            isinstance(x, (Sequence, np.ndarray))
            and not isinstance(x, str)
            and len(x) == len(self.variables)
        )
        if fits:
            return tuple(x), None
        return (), f"a sequence of {len(self.variables)} values, got {x!r}"

    def find_active_values(self, values: Sequence[Any]) -> list[bool]:
        """Tell which variables are there at a point with these values, in order."""
        if self.activity is None:
            return [True] * self.sides
        return self.activity.find_active_values(values)

    def decode(self, row: Any) -> dict[str, Any]:
        """Return the point nearest to a row."""
        nearest = self.nearest(as_row("decode", row, self.dimension)[None])[0]
        if self.constrained:
            nearest = self.feasible.write_briefly(nearest)
        return self.read_values(nearest)

    def read_values(self, row: Array) -> dict[str, Any]:
        """Return the point of a row that is one of the space."""
        values = [variable.decode(row[place]) for variable, place in self.blocks]
        point: dict[str, Any] = self._to_point(values)
        return point

    def canonical(self, x: Any, owner: str = "encode") -> Any:
        """Return a point as it is stored: 3.0 as 3 for a whole number, 0.1 + 0.2 as 0.3 on a grid.

        An error says why if x is no point of the space.
        """
        measured = isinstance(x, MeasuredPoint)
        variables = self._learnable if measured else self.variables
        values, _ = self._values(x)
        self.encode(x, owner)
        active = self.find_active_values(values)
        point = self._to_point(
            [
                variable.canonical(value) if there else ABSENT
                for variable, value, there in zip(variables, values, active, strict=True)
            ]
        )
        return MeasuredPoint(point) if measured else point

    def _to_point(self, values: Sequence[Any]) -> Any:
        """Return values as a point: a dict if the variables have names.

        What is inactive is not in a dict, and None in a tuple.
        """
        active = self.find_active_values(values)
        if self.names:
            known = zip(self.names, values, active, strict=True)
            return {name: value for name, value, there in known if there}
        return tuple(value if there else None for value, there in zip(values, active, strict=True))

    def write_point(self, x: Any) -> str:
        """Return a point as text (JSON). Two points are the same if and only if their texts are.

        >>> from kernelbandits import Category, MixedBox, Real
        >>> box = MixedBox({"A": Real(0, 1, step=0.1), "base": Category((None, "NaH"))})
        >>> box.write_point({"base": None, "A": 0.1 + 0.2})
        '{"A": 0.3, "base": null}'
        >>> box.read_point('{"A": 0.3, "base": null}')
        {'A': 0.3, 'base': None}
        """
        return json.dumps(self.canonical(x), ensure_ascii=False, allow_nan=False)

    def read_point(self, text: str) -> Any:
        """Return the point of a text that `write_point` has written."""
        try:
            given = json.loads(text)
        except (TypeError, ValueError):
            raise ValueError(f"read_point needs a point as JSON, got {text!r}") from None
        return self.canonical(given)

    # ------------------------------------------------------------------ the space as data

    def to_dict(self) -> dict[str, Any]:
        """Return the space as plain values for JSON; `from_dict` gives an equal space back.

        >>> from kernelbandits import MixedBox, Real
        >>> space = MixedBox({"rate": Real(1e-5, 0.1, log=True)})
        >>> space.to_dict()["variables"]
        [{'name': 'rate', 'type': 'real', 'low': 1e-05, 'high': 0.1, 'log': True}]
        >>> MixedBox.from_dict(space.to_dict()) == space
        True
        """
        names = self.names or (None,) * self.sides
        return {
            "variables": [
                ({} if name is None else {"name": name}) | variable.to_dict()
                for name, variable in zip(names, self.variables, strict=True)
            ],
            "constraints": [str(one) for one in self.constraints],
        } | ({} if self.allowed is None else {"allowed": self.allowed})

    @classmethod
    def from_dict(cls, described: Any) -> MixedBox:
        """Return the space that `to_dict` has described."""
        owner = "a space"
        given = isinstance(described, Mapping) and isinstance(described.get("variables"), list)
        checks.needs(given, owner, "a mapping with a list of variables", described)
        for key in described:
            known = key in ("variables", "constraints", "allowed")
            checks.needs(known, owner, "no other entries", key)
        variables, names = [], []
        for number, one in enumerate(described["variables"], 1):
            checks.needs(isinstance(one, Mapping), owner, "variables that are mappings", one)
            settings = dict(one)
            name = settings.pop("name", None)
            variables.append(variable_from_dict(name or f"x{number}", settings))
            names.append(name)
        unnamed = all(name is None for name in names)
        constraints = described.get("constraints", ())
        allowed = described.get("allowed")
        given = allowed is None or isinstance(allowed, str)
        checks.needs(given, owner, "allowed as the text that to_dict has written", allowed)
        return cls(tuple(variables), () if unnamed else tuple(names), constraints, allowed)

    # ------------------------------------------------------------------ rows

    def nearest(self, rows: Any) -> Array:
        """Return the row of the point nearest to each row, variable by variable.

        A row that does not satisfy the constraints is then moved to one that does.
        """
        given = as_rows("nearest", rows, self.dimension)
        found = np.hstack([variable.nearest(given[:, place]) for variable, place in self.blocks])
        if self.constrained:
            bad = ~self.feasible.holds(found)
            if bad.any():
                found[bad] = self.feasible.settle(found[bad])
        return self.neutralise(found)

    def neutralise(self, rows: Array) -> Array:
        """Return rows with the neutral coordinates of what is inactive in them."""
        return rows if self.activity is None else self.activity.neutralise(rows)

    def from_unit(self, unit: Array) -> Array:
        """Return the rows for u in [0, 1)^v, one number for each variable.

        A row that does not satisfy the constraints is replaced by a random one that does; the same
        numbers u give the same rows.
        """
        rows = np.hstack(
            [
                variable.from_unit(column)
                for variable, column in zip(self.variables, unit.T, strict=True)
            ]
        )
        if self.constrained:
            bad = ~self.feasible.holds(rows, tolerance=0.0)
            if bad.any():
                digest = blake2b(np.ascontiguousarray(unit).tobytes(), digest_size=8)
                rng = Streams(int.from_bytes(digest.digest())).generator()
                self.feasible.replace(rows, bad, rng)
        return self.neutralise(rows)

    def neighbours(self, row: Array) -> Array:
        """Return rows that differ from this one in the value of one discrete variable.

        Under constraints more than one value may differ: what one component of a mixture gives, the
        other takes.
        """
        if self.constrained:
            tried = self.feasible.neighbours(row)
        else:
            tried = np.vstack([row[None], *self.changes(row)])
        if self.activity is not None:
            tried = distinct_rows(self.neutralise(tried))
        changed: Array = tried[(tried != row).any(1)]
        return changed

    def changes(self, row: Array, skip: Sequence[int] = ()) -> Iterator[Array]:
        """Yield, for each discrete variable not to skip, the row with each value to be tried."""
        for number, (variable, place) in enumerate(self.blocks):
            if variable.discrete and number not in skip:
                values = variable.neighbours(row[place])
                rows = np.repeat(row[None], len(values), axis=0)
                rows[:, place] = values
                yield rows

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> list[Any]:
        """Return n random points that satisfy the constraints; equal seeds give equal points.

        Values of a grid and choices are drawn with equal probability, ranges on a log scale by
        their logarithms. A numpy Generator in place of the seed draws other points at each call.

        >>> from kernelbandits import Integer, MixedBox, Real
        >>> box = MixedBox({"heat": Real(20, 90, step=0.5), "stirs": Integer(1, 5)})
        >>> box.sample(2, seed=1)
        [{'heat': 24.5, 'stirs': 1}, {'heat': 20.0, 'stirs': 5}]
        """
        return [self.decode(row) for row in self.from_unit(draw_units(n, self.sides, seed))]

    # ------------------------------------------------------------------ finite sets of points

    def grid(self, size: int | None = None, **sizes: int) -> Arms:
        """Return a table of points as arms, with the points themselves in `values`.

        Numbers without a step take `size` evenly spread values, on a log scale evenly spread in
        logarithms; `sizes` gives the number of values by name. Variables with separate values take
        all of them, unless `sizes` names them. Points that break a constraint are left out.

        >>> from kernelbandits import Category, MixedBox, Real
        >>> box = MixedBox({"rate": Real(1e-3, 0.1, log=True), "acid": Category(("a", "b"))})
        >>> table = box.grid(rate=3)
        >>> len(table), table.values[0], table.values[-1]
        (6, {'rate': 0.001, 'acid': 'a'}, {'rate': 0.1, 'acid': 'b'})
        """
        known = self.names or tuple(f"x{number + 1}" for number in range(self.sides))
        for name, given in sizes.items():
            checks.needs(name in known, "grid", f"names among {known}", name)
            checks.whole("grid", name, given)
        wanted: list[int | None] = []
        for name, variable in zip(known, self.variables, strict=True):
            number = sizes.get(name, None if variable.discrete else size)
            if number is None and not math.isfinite(variable.levels):
                needed = f"a number of values for {name!r}, as in grid(5) or grid({name}=5)"
                checks.needs(False, "grid", needed, number)
            wanted.append(None if number is None else checks.whole("grid", "size", number))
        total = math.prod(
            variable.levels if number is None else min(number, variable.levels)
            for number, variable in zip(wanted, self.variables, strict=True)
        )
        limit = f"at most {20 * MOST_LISTED} points before constraints"
        checks.needs(total <= 20 * MOST_LISTED, "grid", limit, total)
        columns = [
            variable.grid_values(number)
            for number, variable in zip(wanted, self.variables, strict=True)
        ]
        return self._as_arms(columns)

    def _as_arms(self, columns: list[list[Any]]) -> Arms:
        """Return the combinations of the values that the constraints allow."""
        coded = [
            [variable.encode(value) for value in column]
            for variable, column in zip(self.variables, columns, strict=True)
        ]
        places = np.array(list(product(*(range(len(column)) for column in columns))))
        rows = np.hstack(
            [
                np.array(column, dtype=np.float64).reshape(len(column), -1)[numbers]
                for column, numbers in zip(coded, places.T, strict=True)
            ]
        )
        if self.constrained:
            kept = self.feasible.holds(rows)
            needed = "values of which some combination satisfies the constraints"
            checks.needs(bool(kept.any()), "grid", needed, [len(column) for column in columns])
            rows, places = rows[kept], places[kept]
        if self.activity is not None:
            rows = self.neutralise(rows)
            first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
            rows, places = rows[first], places[first]
        values = tuple(
            self._to_point([column[i] for column, i in zip(columns, numbers, strict=True)])
            for numbers in places.tolist()
        )
        spans = (range(place.start, place.stop) for _, place in self.blocks)
        blocks = tuple(tuple(place) for place in spans if place)
        return Arms(rows, f"a grid of {self}", blocks, values)

    def cover(self, size: int = COVER) -> Arms:
        """Return all points as arms if there are at most `size`, otherwise evenly spread ones.

        All are different. There are fewer than `size` only if so few floating-point numbers lie
        between the bounds of the real variables.
        """
        count = checks.whole("cover", "size", size)
        if self.count <= count:
            return Arms(self.all_rows(), f"all points of {self}")
        rows = self._spread_rows(count)
        return Arms(rows, f"a cover of {self} by {len(rows)} points")

    def all_rows(self) -> Array:
        """Return the rows of all points; an error if a variable is real."""
        checks.needs(math.isfinite(self.count), "all_rows", "a box without real variables", self)
        if self.constrained:
            assert self._allowed_rows is not None
            return self._allowed_rows.copy()
        if self.activity is not None:
            return self.activity.list_rows()
        return np.array(
            [
                np.concatenate(parts)
                for parts in product(*(variable.all_coordinates() for variable in self.variables))
            ]
        )

    def _spread_rows(self, count: int) -> Array:
        """Return `count` different rows from the recurrence that also covers a box.

        If those are too few, a finite box adds its other points in their own order.
        """
        for doubling in range(DOUBLINGS):
            rows = distinct_rows(self.from_unit(spread_points(count * 2**doubling, self.sides)))
            if len(rows) >= count:
                return rows[:count]
        return (
            distinct_rows(np.vstack([rows, self.all_rows()]))[:count]
            if math.isfinite(self.count)
            else rows
        )


def shorten(text: str) -> str:
    """Return the first signs of a long text."""
    return text if len(text) <= 40 else f"{text[:40]}..."


def change_ends(owner: str, name: str, variable: Real | Integer, ends: Sequence[Any]) -> Number:
    """Return a number with other ends, on the same grid."""
    low, high = ends
    checks.needs(low < high, owner, f"low < high for {name!r}", tuple(ends))
    if variable.step is not None:
        steps = (float(low) - variable.low) / variable.step
        on_grid = abs(steps - round(steps)) <= ON_GRID * max(1.0, abs(steps))
        needed = f"a low end of {name!r} in steps of {variable.step:g} from {variable.low:g}"
        checks.needs(on_grid, owner, needed, low)
    try:
        return replace(variable, low=low, high=high)
    except ValueError as error:
        raise ValueError(f"variable {name!r}: {error}") from None


def distinct_rows(rows: Array) -> Array:
    """Return each row once, at its first position; -0.0 counts as 0.0."""
    plain = rows + 0.0
    first: Array = plain[np.sort(np.unique(plain, axis=0, return_index=True)[1])]
    return first
