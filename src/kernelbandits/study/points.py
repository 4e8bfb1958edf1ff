"""The points of a space that a study knows: the other kind of place beside a table of candidates.

A study over a space has no table. Its description stands in the first event, and each event of a
trial has the point in its body, as `x`. In memory a point has a number, in the order in which it
was met; the rest of the study works with these numbers as with the rows of a table. They are not
stored, and no user sees them.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice, Indices
from kernelbandits.domains import Box, MixedBox, Real, read_space
from kernelbandits.domains.bounds import as_domain
from kernelbandits.domains.variables import Number, Variable
from kernelbandits.storage import Draft, Event
from kernelbandits.study.values import describe_candidate, format_cell
from kernelbandits.tables.cells import parse_number

SUFFIXES = (".toml", ".json")
"""How the name of a file ends that describes a space; a table of candidates is a CSV file."""

Written = TypeVar("Written", Draft, Event)


class Points:
    """A space, and the points of it that were asked for or measured, each with a number."""

    noun = "point"
    cost = costs = allowed = None
    labels: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    def __init__(self, space: MixedBox) -> None:
        self.space = space
        self._points: list[dict[str, Any]] = []
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._shown: dict[tuple[str, ...], list[int]] = {}
        """The values of a point as they are shown -> the numbers of the points shown so."""
        self._rows = np.zeros((0, space.dimension))
        self._encoded = 0

    def __len__(self) -> int:
        return len(self._points)

    # ------------------------------------------------------------------ the space

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
        return hashlib.sha256(json.dumps(self.body, sort_keys=True).encode()).hexdigest()

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
        rules = [f"with {one}" for one in self.body["constraints"]]
        return "; ".join([*variables, *rules])

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.space.count)

    # ------------------------------------------------------------------ points

    def add(self, x: Any, owner: str = "a study") -> int:
        """Return the number of a point, which is remembered; an error if it is not in the space."""
        # A point as it is stored is known by its text at once.
        known = self._numbers.get(json.dumps(x, default=repr)) if type(x) is dict else None
        if known is not None:
            return known
        if owner == "tell" and (shown := self._find_shown(x)) is not None:
            return shown
        point = self.space.canonical(x, owner)
        text = json.dumps(point)
        if text not in self._numbers:
            self._numbers[text] = len(self._points)
            self._points.append(point)
            self._texts.append(text)
            self._shown.setdefault(show_values(point), []).append(self._numbers[text])
        return self._numbers[text]

    def _find_shown(self, x: Any) -> int | None:
        """Return the number of the one point that is shown as this one but is not equal to it.

        None if there is none. A suggestion is shown with six digits. Who tells these digits back
        means the point that was suggested; the rounded one would be another point, and may break a
        constraint.
        """
        if not isinstance(x, Mapping) or set(x) != set(self.chosen):
            return None
        given = {name: x[name] for name in self.chosen}
        found = self._shown.get(show_values(given), [])
        rounded = all(value == float(format_cell(value)) for value in floats_of(given))
        if len(found) != 1 or not rounded or given == self._points[found[0]]:
            return None
        text = (
            f"{describe_candidate(given)} is taken for the point that was suggested or measured "
            "before and is shown with these digits; to tell another one, give more digits"
        )
        warnings.warn(text, DataNotice, stacklevel=2)
        return found[0]

    def find(self, x: Any) -> int | None:
        """Return the number of a point; None if it was not met."""
        return self._numbers.get(json.dumps(self.space.canonical(x)))

    def x(self, row: int) -> dict[str, Any]:
        return dict(self._points[row])

    def label(self, row: int | None) -> dict[str, str]:
        """Return no labels: points have none."""
        return {}

    def row_with_label(self, name: str, text: str) -> int | None:
        """Return None: points have no labels."""
        return None

    def number(self, row: int) -> None:
        """Return None, which a user sees in place of the row of a table."""

    def name(self, row: int) -> str:
        """Return a point as a sentence names it: temperature = 30, solvent = DMF."""
        return describe_candidate(self._points[row])

    def identify(self, row: int) -> bytes:
        """Return the bytes by which a point enters a digest of results."""
        return self._texts[row].encode()

    def key(self, row: int) -> str:
        """Return the text by which a line of a file of results is known again."""
        return self._texts[row]

    @property
    def points(self) -> Array:
        """The coordinates of all points met so far, as kernels see them."""
        if self._encoded < len(self):
            fresh = [self.space.encode(x) for x in self._points[self._encoded :]]
            self._rows = np.vstack([self._rows, *fresh])
            self._encoded = len(self)
        return self._rows

    @property
    def first_rows(self) -> Indices:
        """Different numbers are different points."""
        return np.arange(len(self))

    @property
    def samples(self) -> Indices:
        """Points have no labels, so that a point is one sample."""
        return self.first_rows

    @property
    def allowed_rows(self) -> npt.NDArray[np.bool_]:
        return np.ones(len(self), dtype=np.bool_)

    # ------------------------------------------------------------------ reading

    def row_of(self, x: Mapping[str, Any]) -> int:
        """Return the number of a point whose values may be texts, as in a file or a command."""
        return self.add(self.parse_point(x), "tell")

    def parse_point(self, x: Mapping[str, Any]) -> dict[str, Any]:
        """Read a point whose values may be texts."""
        for name in x:
            checks.needs(name in self.chosen, "tell", f"values of {self.chosen}", name)
        missing = [name for name in self.chosen if name not in x]
        checks.needs(not missing, "tell", f"a value for each of {self.chosen}", tuple(x))
        return {name: self.parse(name, x[name]) for name in self.chosen}

    def parse(self, name: str, value: Any) -> Any:
        """Read a value of a variable; a text is compared with the texts of its values."""
        variable = self.columns[name]
        if not isinstance(value, str) or variable.holds(value):
            return value
        if isinstance(variable, Number):
            number = parse_number(value.strip())
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

    def to_stored(self, draft: Draft) -> Draft:
        """Return a draft with its point in the body, as it is stored."""
        if draft.row is None:
            return draft
        return replace(draft, row=None, body={**draft.body, "x": self._points[draft.row]})

    def from_stored(self, event: Event) -> Event:
        """Return an event with the number of its point."""
        if "x" not in event.body or event.row is not None:
            return event
        return replace(event, row=self.add(event.body["x"]))


def show_values(x: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values of a point as a user sees them."""
    return tuple(map(format_cell, x.values()))


def floats_of(x: Mapping[str, Any]) -> list[float]:
    return [value for value in x.values() if isinstance(value, float)]


def describe_variable(variable: Variable) -> str:
    """Return a variable in words: 20 to 90, by its logarithm; or the values of a choice."""
    known = variable.to_dict()
    if "values" in known:
        return ", ".join(map(str, known["values"]))
    scale = ", by its logarithm" if known.get("log") else ""
    step = f", step {known['step']:g}" if known.get("step") is not None else ""
    return f"{known['low']:g} to {known['high']:g}{scale}{step}"


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
    DataFrame, a CSV file and a list of lists are tables.
    """
    if isinstance(given, (str, PathLike)):
        return (
            with_names(read_space(Path(given))) if Path(given).suffix.lower() in SUFFIXES else None
        )
    if isinstance(given, (MixedBox, Box)):
        return with_names(given)
    pairs = isinstance(given, (list, tuple)) and len(given) > 0
    if isinstance(given, Mapping) or (pairs and all(is_bound(one) for one in given)):
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
    return space if space.names else MixedBox(space.variables, names, space.constraints)
