"""The points of a space that a study knows: a place without a table.

A study over a space has no table. Its description stands in the first event, and each event of a
trial has the point in its body, as `x`. In memory a point has a number, in the order in which it
was met; the rest of the study works with these numbers as with the rows of a table. They are not
stored, and no user sees them.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice, Indices, StudyConflict
from kernelbandits.codec import write_compact, write_equal
from kernelbandits.domains import Box, Category, MixedBox, Real, read_space
from kernelbandits.domains.bounds import as_domain
from kernelbandits.domains.constraints import Constraint
from kernelbandits.domains.mixed import ABSENT, MeasuredPoint
from kernelbandits.domains.space_files import give_steps
from kernelbandits.domains.variables import Number, Variable
from kernelbandits.formatting import format_cell, format_count, format_names
from kernelbandits.storage import Draft, Event
from kernelbandits.study.mixtures import (
    MapGrid,
    ThreePartMixture,
    find_sum,
    holds_constraints,
    share_sums,
    spread_over,
)
from kernelbandits.study.place import Place
from kernelbandits.study.words import describe_point
from kernelbandits.tables.cells import parse_typed
from kernelbandits.tables.export import name_in_export

SUFFIXES = (".toml", ".json")
"""How the name of a file ends that describes a space; a table of candidates is a CSV file."""

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.insight.slices import Slice
    from kernelbandits.study.settings import Settings


class Points(Place):
    """A space, and the points of it that were asked for or measured, each with a number."""

    noun = candidate_noun = "point"
    column_noun = "variable"
    heading = "space"
    argument = "x"
    stored_as = "space"
    row_columns = ()
    lists_all = False
    cost = costs = None
    labels = ()
    notices = ()
    by_similarity = False

    def __init__(self, space: MixedBox, before: Points | None = None) -> None:
        """Begin without points; or with those of a space `before` ranges of it were changed.

        Both then have the same points with the same numbers, also those that are met later.
        """
        self._space = space
        self._points: list[dict[str, Any]] = [] if before is None else before._points
        self._texts: list[str] = [] if before is None else before._texts
        self._numbers: dict[str, int] = {} if before is None else before._numbers
        self._shown: dict[tuple[str, ...], list[int]] = {} if before is None else before._shown
        """The values of a point as they are shown -> the numbers of the points shown so."""
        self._changed: frozenset[str] = frozenset() if before is None else before._changed
        """The variables whose ranges were changed."""
        self._within: dict[int, bool] = {}
        """Whether the space may suggest a point, as far as it was asked."""
        self._rows = np.zeros((0, space.dimension))
        self._encoded = 0

    def __len__(self) -> int:
        return len(self._points)

    # ------------------------------------------------------------------ the space

    @property
    def space(self) -> MixedBox:
        return self._space

    @property
    def count(self) -> float:
        return self.space.count

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of the variables."""
        return self.space.names

    @property
    def columns(self) -> dict[str, Any]:
        return dict(zip(self.space.names, self.space.variables, strict=True))

    @property
    def categories(self) -> tuple[str, ...]:
        """The variables whose values a file has as text."""
        return tuple(name for name, one in self.columns.items() if not isinstance(one, Number))

    @property
    def conditional(self) -> tuple[str, ...]:
        """The variables that are there only under a condition."""
        return tuple(name for name, one in self.columns.items() if one.when is not None)

    @property
    def log(self) -> tuple[str, ...]:
        """The variables that the model sees by their logarithms."""
        return tuple(name for name, one in self.columns.items() if getattr(one, "log", False))

    @cached_property
    def body(self) -> dict[str, Any]:
        """The description of the space, as the first event has it."""
        return self.space.to_dict()

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the description of the space."""
        return hashlib.sha256(write_equal(self.body).encode()).hexdigest()

    @property
    def extent(self) -> str:
        return self.fingerprint

    @property
    def stored_columns(self) -> dict[str, list[Any]]:
        """No columns: the points stand in the events."""
        return {}

    @property
    def table(self) -> NoReturn:
        raise StudyConflict(
            "this needs a study of a table of candidates, got one over a space, which has no table"
        )

    @property
    def varying(self) -> tuple[str, ...]:
        """The variables that have more than one value."""
        return tuple(name for name, one in self.columns.items() if one.levels > 1)

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The coordinates of each variable that varies."""
        places = (place for variable, place in self.space.blocks if variable.levels > 1)
        return tuple(tuple(range(place.start, place.stop)) for place in places)

    def describe(self) -> str:
        """Return the space in words: heat: 20 to 90; acid: citric, acetic; with all constraints."""
        variables = [f"{name}: {describe_variable(one)}" for name, one in self.columns.items()]
        rules = [f"with {describe_constraint(one)}" for one in self.body["constraints"]]
        if self.space.allowed is not None:
            rules.append(f"of which {format_count(int(self.count), 'point')} are allowed")
        return "; ".join([*variables, *rules])

    def introduce(self) -> str:
        return f"A space: {self.describe()}."

    def introduce_in_methods(self) -> str:
        return f"The search space was {self.describe()}"

    def describe_size(self) -> str:
        points = self.count_candidates()["different"]
        count = "" if points is None else f" ({format_count(points, 'point')})"
        return f"a space of {format_count(len(self.chosen), 'variable')}{count}"

    def describe_repeats(self, settings: Settings) -> str:
        if settings.repeats is False:
            return "never: a point that has a result is not suggested again"
        return "whenever the policy chooses a point again"

    def describe_exhaustion(self, measured: Iterable[int]) -> list[str]:
        if len(self.on_grid(measured)) < self.count:
            return []
        count = format_count(int(self.count), "point")
        return [f"all {count} of the space are measured; further suggestions repeat them"]

    def count_candidates(self) -> dict[str, Any]:
        count = int(self.count) if math.isfinite(self.count) else None
        return {"rows": None, "allowed": None, "different": count}

    def check_batch(self, columns: Sequence[str], spread: bool) -> None:
        needed = "spread only in a study of a table"
        checks.needs(not spread, "ask", needed, "it in a study over a space")
        for name in columns:
            always = self.columns[name].when is None
            checks.needs(always, "ask", "variables in same that are always there", name)
        some = set(columns) < set(self.chosen)
        checks.needs(some, "ask", "a variable that is not in same", list(columns))

    def document(self) -> dict[str, Any]:
        return {"space": self.body}

    def summarise(self) -> dict[str, Any]:
        return self.document()

    def sheets(self) -> list[tuple[str, list[str], list[Sequence[Any]]]]:
        """Return a sheet of the variables with their values, and the constraints."""
        rows = [(name, describe_variable(variable)) for name, variable in self.columns.items()]
        rules = [("constraint", describe_constraint(one)) for one in self.body["constraints"]]
        return [("space", ["variable", "values"], [*rows, *rules])]

    # ------------------------------------------------------------------ geometry

    def domain(self, rows: Indices | None = None) -> MixedBox:
        return self.space

    def encode_columns(
        self, columns: Mapping[str, Sequence[Any]], size: int
    ) -> tuple[Array, tuple[int, ...]]:
        points, shared = np.zeros((size, self.space.dimension)), list[int]()
        for name, (variable, at) in zip(self.space.names, self.space.blocks, strict=True):
            if name in columns and variable.levels > 1:
                points[:, at] = [encode_cell(variable, cell) for cell in columns[name]]
                shared += range(at.start, at.stop)
        return points, tuple(shared)

    def side_lengths(self) -> Array:
        return np.subtract(self.space.upper, self.space.lower)

    def grid(self, name: str, most: int) -> list[tuple[Any, Array]]:
        variable = self.columns[name]
        return [(value, np.array(variable.encode(value))) for value in variable.grid_values(most)]

    def slices(self, name: str, points: Array) -> list[Slice]:
        # Imported here, because a study that only tells needs no insight.
        from kernelbandits.insight.slices import slice_space

        return slice_space(self.space, self.chosen.index(name))

    def find_mixture(self) -> ThreePartMixture | None:
        plain = [
            name
            for name, one in self.columns.items()
            if isinstance(one, Number) and one.low >= 0 and name not in self.log
        ]
        return find_sum(self.space, plain)

    def map_grid(self, row: Array, names: tuple[str, str], most: int) -> MapGrid:
        sides = self.grid(names[0], most), self.grid(names[1], most)
        rows, shared = share_sums(self.space, spread_over(self, row, names, sides), names)
        mixture = self.find_mixture()
        mixed = mixture is not None and {*names} <= {*mixture.names}
        total = mixture.total if mixture is not None and mixed else None
        rows = self.space.neutralise(rows)
        return MapGrid(sides, rows, holds_constraints(self.space, rows), shared, total)

    def levels(self, name: str) -> dict[str, int]:
        return {str(value): i for i, value in enumerate(self.columns[name].values)}

    def texts(self, name: str) -> list[str]:
        return [str(x.get(name, "")) for x in self._points]

    def numbers(self, name: str) -> Array:
        return np.array([x.get(name, math.nan) for x in self._points], dtype=np.float64)

    def range(self, name: str) -> tuple[float, float]:
        variable = self.columns[name]
        return float(variable.low), float(variable.last)

    def span(self, name: str) -> tuple[float, float]:
        return self.range(name)

    def objects(self, name: str, rows: Sequence[int]) -> Any:
        import pandas as pd

        # Values of choices as objects: pandas would make a missing value of None.
        kind = object if name in self.categories else None
        return pd.Series([self._points[row].get(name) for row in rows], dtype=kind)

    # ------------------------------------------------------------------ points

    def add(self, x: Any, owner: str = "a study", by_hand: bool = False) -> int:
        """Return the number of a point, which is remembered; an error if it is not in the space."""
        # A point as it is stored is known by its text at once.
        with suppress(TypeError, ValueError):
            if type(x) is dict and (known := self._numbers.get(write_compact(x))) is not None:
                return known
        if owner == "tell" and (shown := self._find_shown(x)) is not None:
            return shown
        point = self.canonical(x, owner, by_hand)
        if owner == "tell" and self.space.activity is not None:
            self.remark_inactive(x, point)
        return self._number(dict(point))

    def _number(self, point: dict[str, Any]) -> int:
        """Return the number of a point as it is stored, which is remembered."""
        text = write_compact(point)
        if text not in self._numbers:
            self._numbers[text] = len(self._points)
            self._points.append(point)
            self._texts.append(text)
            self._shown.setdefault(show_values(point), []).append(self._numbers[text])
        return self._numbers[text]

    def remark_inactive(self, x: Mapping[str, Any], point: Mapping[str, Any]) -> None:
        """Say which values were given of variables that are not there at a point."""
        for name in x:
            if name not in point and x[name] is not None:
                when = self.columns[name].when
                text = f"{name} is there only when {when}; the value {x[name]!r} is not kept"
                warnings.warn(text, DataNotice, stacklevel=3)

    def canonical(self, x: Any, owner: str = "a study", by_hand: bool = False) -> dict[str, Any]:
        """Return a point as it is stored, also one off the grid of the space.

        A point that is told must satisfy the constraints, unless it has the conditions of a trial
        as a hand has set them.
        """
        space, told = self.space, owner == "tell" and not by_hand
        if space.why_not(x) is not None and isinstance(x, Mapping):
            if told:
                self._check_ranges(x, owner)
            if owner == "tell":
                space.measurable.encode(dict(x), owner)
            measured: MeasuredPoint = space.canonical(MeasuredPoint(x), owner)
            broken = self.find_broken(measured) if told else None
            checks.needs(broken is None, owner, f"a point with {broken}", dict(x))
            return measured
        point: dict[str, Any] = space.canonical(x, owner)
        return point

    def _check_ranges(self, x: Mapping[str, Any], owner: str) -> None:
        """Refuse a point beyond a range; only what a hand has set of a trial may be there."""
        values = [x.get(name, ABSENT) for name in self.chosen]
        for name, there in zip(self.chosen, self.space.find_active_values(values), strict=True):
            variable = self.columns[name]
            needed = f"a value for {name!r}, which is there when {variable.when}"
            checks.needs(not there or variable.when is None or name in x, owner, needed, dict(x))
        for name, value in x.items():
            variable = self.columns.get(name)
            if isinstance(variable, Number) and checks.is_number(value):
                # Between the steps it may be.
                wanted = variable.requirement
                if isinstance(variable, Real):
                    wanted = replace(variable, step=None, digits=None).requirement
                inside = variable.low <= value <= variable.high
                checks.needs(inside, owner, f"{wanted} for {name!r}", value)

    def find_broken(self, x: MeasuredPoint) -> Constraint | str | None:
        """Return a constraint that a measured point misses; None if it satisfies all."""
        space = self.space
        return space.feasible.broken_constraint(space.encode(x)) if space.constrained else None

    def _find_shown(self, x: Any) -> int | None:
        """Return the number of the one point that is shown as this one but is not equal to it.

        None if there is none. A suggestion is shown with six digits. Who tells these digits back
        means the point that was suggested; the rounded one would be another point, and may break a
        constraint.
        """
        if not isinstance(x, Mapping) or not {*x} <= {*self.chosen}:
            return None
        given = {name: x[name] for name in self.chosen if name in x}
        found = self._shown.get(show_values(given), [])
        rounded = all(value == float(format_cell(value)) for value in floats_of(given))
        if len(found) != 1 or not rounded or given == self._points[found[0]]:
            return None
        text = (
            f"{describe_point(given)} is taken for the point that was suggested or measured "
            "before and is shown with these digits; to tell another one, give more digits"
        )
        warnings.warn(text, DataNotice, stacklevel=2)
        return found[0]

    def find(self, x: Any) -> int | None:
        """Return the number of a point; None if it was not met."""
        return self._numbers.get(write_compact(self.canonical(x)))

    def x(self, row: int) -> dict[str, Any]:
        return dict(self._points[row])

    def learnt_point(self, row: int) -> dict[str, Any]:
        """Return a point as a policy learns it, which knows one off the grid by its type."""
        point = self._points[row]
        return point if self._is_within(row) else MeasuredPoint(point)

    def on_grid(self, rows: Iterable[int]) -> set[int]:
        """Return those of some points that the space may suggest; others were only measured."""
        return {row for row in rows if self._is_within(row)}

    def _is_within(self, row: int) -> bool:
        """Tell whether the space may suggest a point."""
        if row not in self._within:
            self._within[row] = self._points[row] in self.space
        return self._within[row]

    def label(self, row: int) -> dict[str, str]:
        """Return no labels: points have none."""
        return {}

    @property
    def numbered_by(self) -> str:
        """Nothing: a point is known by its values."""
        return ""

    def names(self, row: int) -> dict[str, str]:
        """Return nothing: a point is known by its values."""
        return {}

    def row_with_label(self, name: str, text: str) -> int | None:
        """Return None: points have no labels."""
        return None

    def row_called(self, text: str, owner: str = "candidates") -> NoReturn:
        """Refuse a row: points have none."""
        self.check_row(text, owner)

    def number(self, row: int) -> None:
        """Return None, which a user sees in place of the row of a table."""

    def check_row(self, row: Any, owner: str = "candidates") -> NoReturn:
        """Refuse a row: points have none."""
        needed = "a point (x= in Python, --at in a command) in a study over a space"
        raise ValueError(f"{owner} needs {needed}, got {row!r}")

    def check_point(self, x: Mapping[str, Any], by_hand: bool = False) -> int:
        return self.add(x, "tell", by_hand)

    def name_columns(self, x: Mapping[str, Any]) -> dict[str, Any]:
        return dict(x)

    def remark_conditions(self, trial: int, row: int | None) -> list[str]:
        if row is None or self._is_within(row):
            return []
        broken = self.find_broken(MeasuredPoint(self._points[row]))
        missed = f"the conditions of trial {trial} miss {broken}; they are learnt as they were set"
        return [missed] if broken else []

    def find_named(self, row: int | None, x: Mapping[str, Any]) -> int:
        return self._numbers[write_compact(self.canonical(x))]

    def without_points(self) -> Points:
        fresh = Points(self.space)
        fresh._changed = self._changed
        return fresh

    def read_rows(self, frame: pd.DataFrame) -> list[int]:
        names = name_in_export(self.chosen)
        columns = [frame[names[name]].tolist() for name in self.chosen]
        lines = zip(*columns, strict=True)
        points = [dict(zip(self.chosen, values, strict=True)) for values in lines]
        if self.conditional:
            points = [self._without_blanks(point) for point in points]
        return [self.add(self.parse_point(point)) for point in points]

    def _without_blanks(self, x: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a line of a DataFrame in which a variable may be missing."""
        import pandas as pd

        # None may be a value of a choice.
        numbers = {*self.conditional}.difference(self.categories)
        return {k: value for k, value in x.items() if k not in numbers or pd.notna(value)}

    def shown_rows(self, used: Iterable[int]) -> list[int]:
        return sorted({*used})

    def identify(self, row: int) -> bytes:
        return self._texts[row].encode()

    def key(self, row: int) -> str:
        return self._texts[row]

    @property
    def points(self) -> Array:
        """The coordinates of all points met so far, as kernels see them."""
        if self._encoded < len(self):
            missing = range(self._encoded, len(self))
            fresh = [self.space.encode(self.learnt_point(row)) for row in missing]
            self._rows = np.vstack([self._rows, *fresh])
            self._encoded = self._encoded + len(missing)
        return self._rows

    @property
    def first_rows(self) -> Indices:
        """The numbers themselves: different numbers are different points."""
        return np.arange(len(self))

    @property
    def samples(self) -> Indices:
        """Points have no labels, so that a point is one sample."""
        return self.first_rows

    @property
    def members(self) -> Indices:
        return self.first_rows

    @property
    def different_rows(self) -> Indices:
        return self.first_rows

    @property
    def allowed_rows(self) -> npt.NDArray[np.bool_]:
        """All, but those beyond a range that was changed: they stay results."""
        allowed = np.ones(len(self), dtype=np.bool_)
        for name in self._changed:
            variable = self.columns[name]
            values = self.numbers(name)
            allowed &= np.isnan(values) | ((values >= variable.low) & (values <= variable.high))
        return allowed

    def with_ranges(self, ranges: Mapping[str, Any]) -> Points:
        changed = Points(self.space.with_ranges(ranges, "change"), self)
        changed._changed |= {*ranges}
        return changed

    def changed_by(self, event: Event) -> Points:
        """Return the space after its ranges were changed, with the same points."""
        return self.with_ranges(event.body["ranges"])

    def remark_ranges(self, pending: Sequence[tuple[int, int]], told: Iterable[int]) -> list[str]:
        allowed = self.allowed_rows
        waiting = [str(trial) for trial, row in pending if not allowed[row]]
        outside = sum(not allowed[row] for row in told)
        said = []
        if waiting:
            listed = f"trial {waiting[0]}" if len(waiting) == 1 else f"trials {', '.join(waiting)}"
            said.append(
                f"pending beyond the new ranges: {listed}; a result there still counts, or release "
                "what will not be measured"
            )
        if outside:
            count = format_count(outside, "result lies", "results lie")
            said.append(
                f"{count} beyond the new ranges: still learnt, and no longer suggested or "
                "recommended"
            )
        return said

    # ------------------------------------------------------------------ reading

    def row_of(self, x: Mapping[str, Any], exported: bool = False) -> int:
        """Return the number of a point whose values may be texts, as in a file or a command."""
        return self.add(self.parse_point(x), "tell", exported)

    def parse_point(self, x: Mapping[str, Any]) -> dict[str, Any]:
        """Read a point whose values may be texts."""
        for name in x:
            checks.needs(
                name in self.chosen, "tell", f"values of {format_names(self.chosen)}", name
            )
        always = [name for name, variable in self.columns.items() if variable.when is None]
        checks.needs(
            {*always} <= {*x},
            "tell",
            f"a value for each of {format_names(always)}",
            format_names(x),
        )
        if self.space.activity is None:
            return {name: self.parse(name, x[name]) for name in self.chosen}
        # What a point does not have may be an empty cell of a file: it is not read.
        read: dict[str, Any] = {}
        for number in self.space.activity.order:
            name, known = self.chosen[number], [read.get(one, ABSENT) for one in self.chosen]
            if name in x and self.space.activity.find_active_values(known)[number]:
                read[name] = self.parse(name, x[name])
        self.remark_inactive({name: value for name, value in x.items() if value != ""}, read)
        return {name: read[name] for name in self.chosen if name in read}

    def parse(self, name: str, value: Any) -> Any:
        """Read a value of a variable; a text is compared with the texts of its values."""
        variable = self.columns[name]
        if not isinstance(value, str) or variable.holds(value):
            return value
        if isinstance(variable, Number):
            number = parse_typed(value.strip())
            needed = f"{variable.requirement} for {name!r}"
            checks.needs(not math.isnan(number), "tell", needed, value)
            return number
        word = value.strip()
        for same in (str.__eq__, lambda one, other: one.casefold() == other.casefold()):
            found = [one for one in variable.values if any(same(word, t) for t in texts_of(one))]
            if len(found) == 1:
                return found[0]
        return value

    # ------------------------------------------------------------------ events

    def to_stored(self, drafts: list[Draft]) -> list[Draft]:
        """Return drafts with the point in the body, in place of its number."""
        return [
            one
            if one.row is None
            else replace(one, row=None, body={**one.body, "x": self._points[one.row]})
            for one in drafts
        ]

    def from_stored(self, events: Sequence[Event]) -> list[Event]:
        """Return events with the numbers of their points."""
        return [
            replace(one, row=self._number(one.body["x"]))
            if "x" in one.body and one.row is None
            else one
            for one in events
        ]


def show_values(x: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values of a point as a user sees them."""
    return tuple(map(format_cell, x.values()))


def floats_of(x: Mapping[str, Any]) -> list[float]:
    return [value for value in x.values() if isinstance(value, float)]


def encode_cell(variable: Variable, cell: Any) -> tuple[float, ...]:
    """Return the coordinates of a cell of another study, which need not be a value here.

    None stands for a variable that was not there.
    """
    known = {str(value): value for value in getattr(variable, "values", ())}
    if str(cell) in known:
        return variable.encode(known[str(cell)])
    if cell is None:
        return tuple(variable.neutral)
    if isinstance(variable, Number):
        number = float(cell)
        if variable.log:
            return (math.log(number) if number > 0 else math.nan,)
        return (number,)
    # A category has a place for a value that is like no other, an order has none.
    return (0.0 if isinstance(variable, Category) else math.nan,) * len(variable.lower)


def describe_variable(variable: Variable) -> str:
    """Return a variable in words: 20 to 90, by its logarithm; or the values of a choice."""
    known = variable.to_dict()
    when = "" if variable.when is None else f", only when {variable.when.replace('`', '')}"
    if "values" in known:
        return ", ".join(map(str, known["values"])) + when
    scale = ", by its logarithm" if known.get("log") else ""
    step = f", step {known['step']:g}" if known.get("step") is not None else ""
    digits = f", {known['digits']} digits" if known.get("digits") is not None else ""
    return f"{known['low']:g} to {known['high']:g}{scale}{step}{digits}{when}"


def describe_constraint(text: str) -> str:
    """Return a constraint as a person writes it who knows the names: without backticks."""
    return text.replace("`", "")


def texts_of(value: Any) -> tuple[str, ...]:
    """Return how a file or a command may write a value of a choice."""
    return ("", "None") if value is None else (str(value).strip(),)


def check_texts(name: str, values: Sequence[Any]) -> None:
    """Refuse choices such as 1 and "1": a file of results could not tell them apart."""
    texts = [text for value in values for text in texts_of(value)]
    needed = f"values of {name!r} that differ as text, because files and commands have them as text"
    checks.needs(len(set(texts)) == len(texts), "a study", needed, values)


def find_space(given: Any) -> MixedBox | None:
    """Return the space that a user gave in place of a table; None if it is no space.

    A space is a `MixedBox`, a `Box`, a dictionary of variables, a list of pairs that are tuples
    (low, high), a list of variables, or a file whose name ends in .toml or .json. An array, a
    DataFrame, a CSV file and a list of lists are tables. Ranges that are written as a text or a
    table, in a file or a dictionary, without a step, get one.
    """
    if isinstance(given, (str, PathLike)):
        return (
            with_names(read_space(given, steps=True))
            if Path(given).suffix.lower() in SUFFIXES
            else None
        )
    if isinstance(given, (MixedBox, Box)):
        return with_names(given)
    pairs = isinstance(given, (list, tuple)) and len(given) > 0
    if isinstance(given, Mapping):
        return give_steps(with_names(as_domain("Study", given)), {"variables": given})
    if pairs and all(is_bound(one) for one in given):
        return with_names(as_domain("Study", given))
    return None


def is_bound(given: Any) -> bool:
    """Tell whether this is a variable, or a tuple (low, high) with low < high."""
    if isinstance(given, Variable):
        return True
    pair = (
        isinstance(given, tuple) and len(given) == 2 and all(checks.is_number(end) for end in given)
    )
    return pair and given[0] < given[1]


def with_names(space: MixedBox | Box) -> MixedBox:
    """Return the space with a name for each variable: x1, x2, ... where it has none."""
    if isinstance(space, Box):
        ends = zip(space.lower, space.upper, strict=True)
        return MixedBox({f"x{i}": Real(low, high) for i, (low, high) in enumerate(ends, 1)})
    names = space.names or tuple(f"x{i}" for i in range(1, space.sides + 1))
    for name, variable in zip(names, space.variables, strict=True):
        if not isinstance(variable, Number):
            check_texts(name, variable.values)
    return space if space.names else replace(space, names=names)
