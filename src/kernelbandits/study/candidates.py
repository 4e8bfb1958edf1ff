"""The candidates of a study: a table by column, and which of its columns describe a candidate.

    points = [(x - low) / (high - low) for numbers, 1 / sqrt(2) at the place of the value for text]

so that each number lies in [0, 1] and two different words are at distance 1. Some columns of
numbers are scaled by their logarithms instead (`scaling`). Words with descriptors are nearer to
each other, the more alike these are (`tables.descriptors`). Low and high are fixed when a study is
created. Two rows are the same candidate if the numbers and texts that describe them are the same,
whatever becomes of them by scaling.

Candidates that are known by their similarity have a column of names, and coordinates of their own,
whose inner product is the kernel (`name_candidates`).
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, StudyConflict
from kernelbandits.codec import write_compact
from kernelbandits.formatting import did_you_mean, format_count, format_names
from kernelbandits.row_index import RowIndex
from kernelbandits.study.growing import Cells, grow_candidates, permit_rows
from kernelbandits.study.mixtures import (
    MapGrid,
    Side,
    ThreePartMixture,
    describe_sums,
    fill_mixture,
    find_shares,
    spread_over,
)
from kernelbandits.study.place import Place
from kernelbandits.tables import scaling
from kernelbandits.tables.cells import canonical_texts, parse_typed, text_of, truth, whole
from kernelbandits.tables.descriptors import Descriptors, describing_sheet, read_descriptors
from kernelbandits.tables.headers import find_column
from kernelbandits.tables.packing import count_packed, pack_rows, unpack_rows
from kernelbandits.tables.roles import (
    ALLOWED,
    Notices,
    Roles,
    check_roles,
    find_roles,
    remark_table,
)
from kernelbandits.tables.scaling import LOG, logarithms, scale_to_unit
from kernelbandits.tables.sources import array_table, read_table
from kernelbandits.tables.table import (
    NUMBERS,
    column_kind,
    column_numbers,
    column_texts,
    has_only_numbers,
    origin,
)

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.domains import Arms
    from kernelbandits.insight.slices import Slice
    from kernelbandits.storage import Event
    from kernelbandits.study.settings import Settings

SHEET = "candidates"
"""The sheet of an exported workbook with the table of candidates."""
NAME, SIMILARITY = "candidate", "similarity"
"""Of candidates known by their similarity: the column of names, and that of their coordinates."""
DESCRIBE = "describe"
"""The descriptors of the values of columns, as a study stores them."""
LINE, ROW = "line", "row"
"""How the numbers of rows are called: the line of a file as a spreadsheet counts it, and the row of
the table counted from 0."""
MOST_COORDINATES = 2**27
"""Numbers in the points of all candidates: 1 GiB."""

Source = str | PathLike[str] | npt.ArrayLike
"""A path, a DataFrame or an (n, d) array."""


@dataclass(frozen=True, eq=False)
class Candidates(Place):
    """A table by column, and what its columns are for."""

    noun: ClassVar[str] = "row"
    column_noun: ClassVar[str] = "column"
    candidate_noun: ClassVar[str] = "candidate"
    heading: ClassVar[str] = "columns"
    argument: ClassVar[str] = "row"
    stored_as: ClassVar[str] = "candidates"
    row_columns: ClassVar[tuple[str, ...]] = ("row",)
    conditional: ClassVar[tuple[str, ...]] = ()
    lists_all: ClassVar[bool] = True
    space: ClassVar[None] = None

    columns: Mapping[str, Cells] = field(repr=False)
    """Name -> numbers for what describes a candidate by a number and for costs, text for the rest,
    as it stood."""
    chosen: tuple[str, ...]
    """The columns that describe a candidate."""
    cost: str | None = None
    allowed: str | None = None
    notices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    """The columns that identify a row for people: a sample name, a number."""
    log: tuple[str, ...] = ()
    """The chosen columns of positive numbers that the model sees by their logarithms."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Column of numbers -> which number becomes 0 and which 1; its least and greatest, if it is not
    named here."""
    named_by: str | None = None
    """The column among the labels that the user gave as the label."""
    off_table: frozenset[int] = frozenset()
    """Rows that hold results of points that are no candidates: they are never suggested."""
    overrides: Mapping[int, bool] = field(default_factory=dict)
    """Row -> whether it may be measured, where that was changed since the study was created."""
    changed: bool = False
    """Whether rows or columns were added since the study was created."""
    lines: tuple[int, ...] = ()
    """The line of the file in which each row stood when the study was created; () if unknown."""
    descriptors: Mapping[str, Descriptors] = field(default_factory=dict, repr=False)
    """Column of text -> the descriptors of its values, where these were given."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How a user said that the file is read: `header_row`, and `cells`."""
    packed: tuple[str, ...] = field(default=(), repr=False)
    """Of candidates known by their similarity: the coordinates of each row, as the log keeps them
    (`packing`). The inner product of two rows is their similarity. () for any other table."""

    def __post_init__(self) -> None:
        for name in (*self.chosen, *self.labels, self.cost, self.allowed):
            checks.needs(
                name is None or name in self.columns,
                "candidates",
                f"columns among {format_names(self.columns)}",
                name,
            )
        for name in self.chosen:
            checks.short_name("a column of the candidates", name)
        lengths = {len(cells) for cells in self.columns.values()}
        checks.needs(len(lengths) == 1, "candidates", "as many cells in each column", lengths)
        checks.needs(len(self) > 0, "candidates", "at least one row", len(self))
        checks.needs(len(self.chosen) > 0, "candidates", "at least one chosen column", self.chosen)
        for name in self.log:
            number = name in self.chosen and name not in self.categories
            checks.needs(number, "candidates", "chosen columns of numbers for log", name)
        paired = len(self.packed) in (0, len(self))
        checks.needs(paired, "candidates", "coordinates of each row", len(self.packed))
        enough = len(self) * self.width <= MOST_COORDINATES
        size = f"{len(self)} rows of {self.width}"
        checks.needs(
            enough, "candidates", f"at most {MOST_COORDINATES} coordinates in memory", size
        )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The chosen columns that hold text."""
        return tuple(name for name in self.chosen if isinstance(self.columns[name], tuple))

    @property
    def body(self) -> dict[str, Any]:
        """The part of the candidates that a log keeps beside the table, as JSON has it."""
        return {
            "chosen": list(self.chosen),
            "cost": self.cost,
            "allowed": self.allowed,
            "kinds": self.column_types,
            "notices": list(self.notices),
            "labels": list(self.labels),
            "log": list(self.log),
            "ranges": {
                name: list(self.range(name)) for name in self.chosen if name not in self.categories
            },
            "named_by": self.named_by,
            "lines": write_lines(self.lines),
            DESCRIBE: self._describe_values(),
            SIMILARITY: self.by_similarity,
            **({"reading": dict(self.reading)} if self.reading else {}),
        }

    @property
    def lists(self) -> dict[str, list[Any]]:
        """The columns as lists of Python's own numbers and texts, as a log keeps them."""
        return {
            name: list(cells) if isinstance(cells, tuple) else cells.tolist()
            for name, cells in self.columns.items()
        }

    @property
    def stored_columns(self) -> dict[str, list[Any]]:
        """The columns that a log keeps, with the coordinates of candidates that have no others."""
        return self.lists | ({SIMILARITY: list(self.packed)} if self.packed else {})

    @property
    def by_similarity(self) -> bool:
        """Whether the candidates are known by their similarity, and not by their columns."""
        return bool(self.packed)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table as rows of text."""
        return list(zip(*map(self.texts, self.columns), strict=True))

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the table and of the roles of its columns, however these are scaled."""
        roles = [self.chosen, self.categories, self.cost, self.allowed]
        return hashlib.sha256(write_compact([roles, self.stored_columns]).encode()).hexdigest()

    def levels(self, name: str) -> dict[str, int]:
        """Return the values of a column of text, numbered in the order in which they first come."""
        if name not in self._levels:
            self._levels[name] = {
                text: i for i, text in enumerate(dict.fromkeys(self.columns[name]))
            }
        return self._levels[name]

    @cached_property
    def _levels(self) -> dict[str, dict[str, int]]:
        return {}

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The chosen columns that the model sees: those that are not constant, and no name."""
        if self.by_similarity:
            return ()
        return tuple(name for name in self.chosen if self._varies(name))

    def _varies(self, name: str) -> bool:
        if name in self.categories:
            return len(self.levels(name)) > 1
        low, high = self.range(name)
        return low < high

    @property
    def width(self) -> int:
        """The number of coordinates of a candidate."""
        if self.by_similarity:
            return count_packed(self.packed[0])
        return sum(map(self._width, self.varying)) or 1

    def _width(self, name: str) -> int:
        return len(self.levels(name)) if name in self.categories else 1

    @cached_property
    def points(self) -> Array:
        """One row of coordinates for each candidate; constant columns have none."""
        if self.by_similarity:
            points = unpack_rows(self.packed)
        else:
            points = np.column_stack(
                [self.coordinates(name) for name in self.varying] or [np.zeros(len(self))]
            )
        points.setflags(write=False)
        return points

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The coordinates of each column that varies: several for a column of text."""
        if self.by_similarity:
            return tuple((j,) for j in range(self.width))
        blocks, start = [], 0
        for name in self.varying:
            blocks.append(tuple(range(start, start + self._width(name))))
            start += self._width(name)
        return tuple(blocks) or ((0,),)

    def coordinates(self, name: str) -> Array:
        if name in self.categories:
            levels = self.levels(name)
            return self._place_levels(name)[[levels[cell] for cell in self.columns[name]]]
        values, (low, high) = self.numbers(name), self.range(name)
        if name not in self.log:
            return scale_to_unit(values, low, high)
        return scale_to_unit(logarithms(values), math.log10(low), math.log10(high))

    def _place_levels(self, name: str) -> Array:
        """Return the point of each value of a column of text, two of them at most 1 apart."""
        if name in self.descriptors:
            return self.descriptors[name].embed(list(self.levels(name)))
        return math.sqrt(0.5) * np.eye(len(self.levels(name)))

    def number_at(self, name: str, coordinate: float) -> float:
        """Return the number of a column that has this coordinate, to nine digits."""
        low, high = self.range(name)
        if name in self.log:
            found = 10 ** ((1 - coordinate) * math.log10(low) + coordinate * math.log10(high))
        else:
            found = (1 - coordinate) * low + coordinate * high
        # Rows that were added may lie outside the range by which the model scales the column.
        values = self.numbers(name)
        return float(f"{min(max(found, values.min()), values.max()):.9g}")

    def range(self, name: str) -> tuple[float, float]:
        """Return the two numbers of a column whose coordinates are 0 and 1."""
        if name in self.ranges:
            return self.ranges[name]
        values = self.numbers(name)
        return float(values.min()), float(values.max())

    def span(self, name: str) -> tuple[float, float]:
        values = self.numbers(name)[self.offered_rows]
        return float(values.min()), float(values.max())

    @cached_property
    def costs(self) -> Array | None:
        return None if self.cost is None else self.numbers(self.cost)

    @cached_property
    def allowed_rows(self) -> npt.NDArray[np.bool_]:
        found = np.ones(len(self), dtype=bool)
        if self.allowed is not None:
            known = {text: bool(truth(text)) for text in self.levels(self.allowed)}
            found = np.array([known[text] for text in self.texts(self.allowed)])
        found[list(self.off_table)] = False
        found[list(self.overrides)] = list(self.overrides.values())
        return found

    @cached_property
    def offered_rows(self) -> Indices:
        """The rows that curves and maps are drawn for: the allowed ones, or all if none is."""
        rows = np.flatnonzero(self.allowed_rows)
        return rows if len(rows) else np.arange(len(self))

    @cached_property
    def table_rows(self) -> Indices:
        """The rows that are candidates: all but points off the table."""
        inside = np.ones(len(self), dtype=bool)
        inside[list(self.off_table)] = False
        return np.flatnonzero(inside)

    def texts(self, name: str) -> Sequence[str]:
        """Return the cells of a column as text; numbers in their canonical form."""
        cells = self.columns[name]
        return cells if isinstance(cells, tuple) else canonical_texts(cells)

    def numbers(self, name: str) -> Array:
        cells = self.columns[name]
        return np.array(list(map(float, cells))) if isinstance(cells, tuple) else cells

    def x(self, row: int) -> dict[str, float | str]:
        return {name: self._value(name, self.check_row(row)) for name in self.chosen}

    def _value(self, name: str, row: int) -> float | str:
        cell = self.columns[name][row]
        return cell if isinstance(cell, str) else float(cell)

    def label(self, row: int) -> dict[str, str]:
        self.check_row(row)
        return {name: str(self.columns[name][row]) for name in self.labels}

    def names(self, row: int) -> dict[str, str]:
        if row >= len(self):
            return {}
        columns = dict.fromkeys((*self._naming_columns, *self.labels))
        if columns or not self.lines:
            return {name: str(self.columns[name][row]) for name in columns}
        # Rows that were added later stood in no line of the file.
        return {LINE: str(self.lines[row]) if row < len(self.lines) else ""}

    def number(self, row: int) -> int | None:
        return row

    @cached_property
    def extent(self) -> int | str:
        """The number by which a digest of results identifies the whole table.

        Once the table has changed it is a digest of the coordinates, which the model sees.
        """
        if not self.changed:
            return len(self)
        return hashlib.sha256(self.points.tobytes()).hexdigest()

    def identify(self, row: int) -> bytes:
        return struct.pack("<q", row)

    def key(self, row: int) -> int | str:
        return row

    def check_row(self, row: Any, owner: str = "candidates") -> int:
        place = checks.whole(owner, "row", row, least=0)
        checks.needs(place < len(self), owner, f"a row below {len(self)}", row)
        return place

    def check_point(self, x: Mapping[str, Any], by_hand: bool = False) -> None:
        # Whether it is a row is decided when its result is written: rows may be added meanwhile.
        self.parse_point(x)

    def values(self, row: int, columns: Iterable[str]) -> dict[str, Any]:
        # A batch may share any column, also one that does not describe candidates.
        return {name: self._value(name, row) for name in columns}

    def find_named(self, row: int | None, x: Mapping[str, Any]) -> int:
        assert row is not None
        return row

    def without_points(self) -> Candidates:
        return self

    def read_rows(self, frame: pd.DataFrame) -> list[int]:
        return list(map(int, frame["row"]))

    def shown_rows(self, used: Iterable[int]) -> list[int]:
        return list(self.different_rows.tolist())

    def count_candidates(self) -> dict[str, Any]:
        rows = self.table_rows
        different = len(np.unique(self.first_rows[rows]))
        return {
            "rows": len(rows),
            "allowed": int(self.allowed_rows.sum()),
            "different": different,
        }

    def check_batch(self, columns: Sequence[str], spread: bool) -> None:
        """Accept whatever is demanded of a batch: a table can share any columns."""

    def describe(self) -> str:
        parts = [scaling.describe_scales(self.log)]
        for name, found in self.descriptors.items():
            size = format_count(len(found.columns), "descriptor")
            parts.append(f"values of {name} are compared by {size}")
        return "; ".join(parts)

    def introduce(self) -> str:
        rows = format_count(len(self.table_rows), "row")
        if self.by_similarity:
            return f"{format_count(len(self.table_rows), 'candidate')} known by their similarity."
        different = f", {self.distinct} of them different" if self.distinct < len(self) else ""
        return f"A table of {rows}{different}, described by {', '.join(self.chosen)}."

    def introduce_in_methods(self) -> str:
        return f"The candidates were {self.describe_size()} of a given table; {self.describe()}"

    def describe_size(self) -> str:
        return format_count(self.count_candidates()["different"], "candidate")

    def describe_repeats(self, settings: Settings) -> str:
        return settings.repeats_sentence

    def describe_exhaustion(self, measured: Iterable[int]) -> list[str]:
        """Return nothing: that rows of a table are repeated is a setting of the study."""
        return []

    # ------------------------------------------------------------------ geometry

    def domain(self, rows: Indices | None = None) -> Arms:
        # Imported here, because a study that only tells needs no domains.
        from kernelbandits.domains import Arms

        points = self.points if rows is None else self.points[rows]
        if self.by_similarity:
            return Arms(points, features=True)
        # The scales of a table that has grown stay, whatever the range of its new rows.
        # Nor does the range of the points tell how far apart values with descriptors may be.
        fixed = self.changed or self.descriptors
        return Arms(points, blocks=self.blocks, sides=self._sides() if fixed else ())

    def encode_columns(
        self, columns: Mapping[str, Sequence[Any]], size: int
    ) -> tuple[Array, tuple[int, ...]]:
        points, shared = np.zeros((size, self.width)), list[int]()
        for name, block in zip(self.varying, self.blocks, strict=True):
            if name in columns:
                points[:, list(block)] = self._encode_cells(name, columns[name])
                shared += block
        return points, tuple(shared)

    def _encode_cells(self, name: str, cells: Sequence[Any]) -> Array:
        """Return cells that may stand in no row of the table as coordinates of their column."""
        if name in self.categories:
            levels, places = self.levels(name), self._place_levels(name)
            unknown = np.zeros(places.shape[1])
            known = (levels.get(str(cell)) for cell in cells)
            return np.array([unknown if level is None else places[level] for level in known])
        values, (low, high) = np.array(cells, dtype=np.float64), self.range(name)
        if name not in self.log:
            return scale_to_unit(values, low, high)[:, None]
        positive = np.where(values > 0, values, np.nan)
        return scale_to_unit(np.log10(positive), math.log10(low), math.log10(high))[:, None]

    def _sides(self) -> tuple[float, ...]:
        """Return the extent of each coordinate by the fixed scales, whatever rows came since."""
        sides: list[float] = []
        for name, block in zip(self.varying, self.blocks, strict=False):
            sides += [math.sqrt(0.5) if name in self.categories else 1.0] * len(block)
        return tuple(sides) or (1.0,)

    def side_lengths(self) -> Array:
        """Return 1 for each coordinate: columns are scaled to [0, 1] already."""
        return np.ones(self.width)

    def grid(self, name: str, most: int) -> list[tuple[Any, Array]]:
        rows = self.offered_rows
        coordinates = self.coordinates(name).reshape(len(self), -1)[rows]
        if name in self.categories:
            # Later places first, so that the first place of each text stays.
            place = {
                text: i for i, text in reversed([*enumerate(self.objects(name, rows.tolist()))])
            }
            known = [text for text in self.levels(name) if text in place]
            return [(text, coordinates[place[text]]) for text in known]
        numbers, first = np.unique(self.numbers(name)[rows], return_index=True)
        if len(numbers) <= most:
            pairs = zip(numbers, first, strict=True)
            return [(float(number), coordinates[row]) for number, row in pairs]
        ends = float(coordinates.min()), float(coordinates.max())
        places = np.linspace(*ends, most).tolist()
        return [(self.number_at(name, place), np.array([place])) for place in places]

    def slices(self, name: str, points: Array) -> list[Slice]:
        from kernelbandits.insight.slices import VALUES, Slice, select_rows, set_columns

        block = list(dict(zip(self.varying, self.blocks, strict=True))[name])
        others = points[select_rows(len(points))]
        return [
            Slice(value, set_columns(others, block, at)) for value, at in self.grid(name, VALUES)
        ]

    def find_mixture(self) -> ThreePartMixture | None:
        return find_shares({name: self.numbers(name) for name in self.plain_numbers})

    def map_grid(self, row: Array, names: tuple[str, str], most: int) -> MapGrid:
        mixture = self.find_mixture()
        if mixture is not None and {*names} <= {*mixture.names}:
            return fill_mixture(self, row, names, mixture, most)
        sides = self.grid(names[0], most), self.grid(names[1], most)
        rows = spread_over(self, row, names, sides)
        return MapGrid(sides, rows, ~self._forbid_pairs(names, sides))

    def _forbid_pairs(
        self, names: tuple[str, str], sides: tuple[Side, Side]
    ) -> npt.NDArray[np.bool_]:
        """Tell which pairs of values stand in rows of the table, but in no row that is allowed."""
        pairs = list(zip(*(self.objects(name, range(len(self))) for name in names), strict=True))
        allowed = {pairs[row] for row in self.offered_rows}
        forbidden = set(pairs) - allowed
        across, up = sides
        return np.array([(x, y) in forbidden for y, _ in up for x, _ in across], dtype=np.bool_)

    def objects(self, name: str, rows: Sequence[int]) -> Any:
        cells = self.columns[name]
        return [cells[row] for row in rows]

    def document(self) -> dict[str, Any]:
        return {
            "columns": self.chosen,
            "labels": self.labels,
            "table": self.lists,
            DESCRIBE: self._describe_values(),
        }

    def _describe_values(self) -> dict[str, Any]:
        """Return the descriptors of values by column, as JSON has them."""
        return {name: found.body for name, found in self.descriptors.items()}

    def summarise(self) -> dict[str, Any]:
        return {
            "rows": len(self),
            "columns": list(self.chosen),
            "label": self.named_by,
            "similarity": self.by_similarity,
            "log": list(self.log),
            "described": {name: list(one.columns) for name, one in self.descriptors.items()},
            "notices": list(self.notices),
            "fingerprint": self.fingerprint,
        }

    def sheets(self) -> list[tuple[str, list[str], list[Sequence[Any]]]]:
        """Return the whole table and all descriptors, from which the study can be created again."""
        tables: dict[str, Mapping[str, Sequence[Any]]] = {SHEET: self.lists | self._list_allowed()}
        for name, found in self.descriptors.items():
            tables[describing_sheet(name)] = {name: found.values, **found.columns}
        return [
            (sheet, list(columns), [*zip(*columns.values(), strict=True)])
            for sheet, columns in tables.items()
        ]

    def _list_allowed(self) -> dict[str, list[Any]]:
        """Return the column that says which rows are allowed now; none where all are."""
        if self.allowed is None and self.allowed_rows.all():
            return {}
        name = self.allowed or ALLOWED
        while name != self.allowed and name in self.columns:
            name = f"{name} (row)"
        return {name: ["yes" if allowed else "no" for allowed in self.allowed_rows.tolist()]}

    # ------------------------------------------------------------------ events

    @property
    def table(self) -> Candidates:
        return self

    def changed_by(self, event: Event) -> Candidates:
        if event.kind == "added":
            return grow_candidates(self, event.body)
        return permit_rows(self, event.body["rows"], event.kind == "allowed")

    # ------------------------------------------------------------------ labels and lines

    @property
    def _naming_columns(self) -> tuple[str, ...]:
        """The columns by which a row is found: the one given as the label, or else all labels."""
        return self.labels if self.named_by is None else (self.named_by,)

    @property
    def numbered_by(self) -> str:
        if self._naming_columns:
            return ""
        return LINE if self.lines else ROW

    def find_label(self, text: str) -> int:
        """Return the row with this label, in the column given as label or else in any of labels."""
        named = bool(self._naming_columns)
        checks.needs(named, "label", "a table with a column that names its rows", text)
        return self._find_name("label", text)

    def row_called(self, text: str, owner: str = "candidates") -> int:
        """Return the row of this name, or the one that is printed so: line 5, row 3, nr 17.

        In a table without names a number alone is that of a line, or that of a row if the table
        came from no file: it is what is printed there.
        """
        text = text.strip()
        if self._list_named(text):
            return self._find_name(owner, text)
        heading, _, rest = text.rpartition(" ")
        if heading in self._naming_columns:
            return self._find_name(owner, rest)
        word = heading.lower() or self.numbered_by
        if word in (LINE, ROW) and re.fullmatch("[0-9]{1,18}", rest):
            number = int(rest)
            return self.row_in_line(number) if word == LINE else self.check_row(number, owner)
        if self._naming_columns:
            return self._find_name(owner, text)
        example = f"{LINE} {self.lines[0]}" if self.lines else f"{ROW} 0"
        needed = f"a number such as {example!r}, because no column names the rows of this table"
        raise StudyConflict(f"{owner} needs {needed}, got {text!r}")

    def _find_name(self, owner: str, text: str) -> int:
        """Return the one row of a name; refuse a name that none has, or several."""
        rows = self._list_named(text)
        if len(rows) > 1:
            numbers = " and ".join(f"row {row}" for row in rows)
            raise StudyConflict(
                f"{owner} needs the name of one row, got {text!r}, which names {numbers}"
            )
        if not rows:
            columns = self._naming_columns
            known = [one for name in columns for one in self.texts(name) if one]
            hint = ""
            if text.isdecimal():
                hint = f" Write 'line {text}' for a line of the file, 'row {text}' for a row from 0"
            raise StudyConflict(
                f"{owner} needs a name in the column {' or '.join(map(repr, columns))}, "
                f"got {text!r}.{did_you_mean(text, known)}{hint}".rstrip(".")
            )
        return rows[0]

    def _list_named(self, text: str) -> list[int]:
        """Return the rows of a name: several, where columns or rows that were added share it."""
        found: set[int] = set()
        for name in self._naming_columns if text else ():
            row = self.row_with_label(name, text)
            same = (i for i, one in enumerate(self.texts(name)) if one == text)
            found.update(same if row is None else [row])
        return sorted(found)

    def row_in_line(self, line: int) -> int:
        """Return the row that stood in a line of the file from which the study was created."""
        if not self.lines:
            raise StudyConflict(
                f"line needs a study that knows the lines of its file, got line {line} of a table "
                "that came without; tell the row instead, counted from 0"
            )
        if line not in self._rows_by_line:
            raise StudyConflict(
                f"line needs a line with a candidate, from {self.lines[0]} to {self.lines[-1]} "
                f"of the file from which the study was created, got {line}"
            )
        return self._rows_by_line[line]

    @cached_property
    def _rows_by_line(self) -> dict[int, int]:
        return {line: row for row, line in enumerate(self.lines)}

    def row_with_label(self, name: str, text: str) -> int | None:
        """Return the row with this label, or None if there is none."""
        exact, near = self._label_rows[name]
        return exact.get(text, near.get(whole(text)))

    @cached_property
    def _label_rows(self) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
        named = self.labels if self.named_by is None else (*self.labels, self.named_by)
        return {name: index_labels(self.texts(name)) for name in dict.fromkeys(named)}

    def row_of(self, x: Mapping[str, float | str], exported: bool = False) -> int:
        """Return the first row with these values of the chosen columns; refuse others."""
        row = self.find_row(x)
        if row is None:
            raise StudyConflict(f"no candidate has {dict(x)}")
        return row

    def find_row(self, x: Mapping[str, Any]) -> int | None:
        """Return the first row with these values of the chosen columns; None if none has them."""
        return self._rows.get(tuple(self.parse_point(x).values()))

    def name_columns(self, x: Mapping[str, Any]) -> dict[str, Any]:
        return {
            find_column(self.chosen, name, "a candidate", "a column"): value
            for name, value in x.items()
        }

    def parse_point(self, x: Mapping[str, Any]) -> dict[str, float | str]:
        """Return the values of all chosen columns as the table has them, from numbers or texts."""
        given = self.name_columns(x)
        missing = [name for name in self.chosen if name not in given]
        checks.needs(
            not missing, "a candidate", f"values of {format_names(self.chosen)}", format_names(x)
        )
        return {name: self.parse(name, given[name]) for name in self.chosen}

    def parse(self, name: str, value: Any) -> float | str:
        """Return a value of a chosen column as the table has it: a number, or text."""
        text = text_of(value)
        if name in self.categories:
            return text
        number = parse_typed(text)
        checks.needs(not math.isnan(number), "a candidate", f"a number for {name!r}", value)
        return number + 0.0

    @cached_property
    def _rows(self) -> dict[tuple[float | str, ...], int]:
        lists = [self.lists[name] for name in self.chosen]
        rows: dict[tuple[float | str, ...], int] = {}
        for row, described in enumerate(zip(*lists, strict=True)):
            rows.setdefault(described, row)
        return rows

    @cached_property
    def first_rows(self) -> Indices:
        """The first row that describes the same candidate as each row: often the row itself."""
        return RowIndex(np.column_stack([self._codes(name) for name in self.chosen])).first

    @cached_property
    def samples(self) -> Indices:
        """The first row of the same sample as each row: the same candidate and the same labels.

        Without labels nobody can tell rows of one candidate apart, and they are one sample.
        """
        if not self.labels or self.distinct == len(self):
            return self.first_rows
        names = (*self.chosen, *self.labels)
        return RowIndex(np.column_stack([self._codes(name) for name in names])).first

    def _codes(self, name: str) -> Array:
        """Return the numbers of a column, or a number for each text."""
        cells = self.columns[name]
        if isinstance(cells, np.ndarray):
            return cells
        levels = self.levels(name)
        return np.array([levels[text] for text in cells], dtype=np.float64)

    @cached_property
    def members(self) -> Indices:
        """The number of the candidate of each row, in the order in which candidates first come."""
        return np.unique(self.first_rows, return_inverse=True)[1].reshape(-1)

    @cached_property
    def different_rows(self) -> Indices:
        """The first allowed row of each different candidate, else its first row."""
        rows: Indices = np.unique(self.first_rows)
        groups, places = np.unique(self.members[self.allowed_rows], return_index=True)
        rows[groups] = np.flatnonzero(self.allowed_rows)[places]
        return rows

    @property
    def distinct(self) -> int:
        """The number of different candidates."""
        return len(self.different_rows)

    @property
    def count(self) -> int:
        return self.distinct

    @property
    def plain_numbers(self) -> list[str]:
        """The columns that vary and hold numbers that the model sees by their values."""
        return [name for name in self.varying if name not in (*self.categories, *self.log)]


def index_labels(cells: Sequence[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Return label -> row, and number -> row where the number is unique.

    Spreadsheets turn the label 033 into 33, so a label is also found by its number.
    """
    numbers = [whole(cell) for cell in cells]
    counts, exact = Counter(numbers), Counter(cells)
    near = {number: row for row, number in enumerate(numbers) if counts[number] == 1 and number}
    # Rows that were added later may repeat a number or have no name.
    return {cell: row for row, cell in enumerate(cells) if exact[cell] == 1 and cell}, near


def read_candidates(
    source: Source | pd.DataFrame,
    *,
    columns: Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    cost: str | None = None,
    allowed: str | None = None,
    log: str | Sequence[str] | None = None,
    linear: str | Sequence[str] | None = None,
    worksheet: str | None = None,
    label: str | None = None,
    describe: Mapping[str, Any] | None = None,
    not_used: str | Sequence[str] | None = None,
    feature: str | Sequence[str] | None = None,
    header_row: int | None = None,
    cells: Mapping[str, str] | None = None,
) -> Candidates:
    """Read candidates from a file, a DataFrame or an (n, d) array.

    A file is a CSV file, a workbook (.xlsx), a Parquet file or a numpy file (.npy).

    columns: those that describe a candidate; None takes all that may.
    label: the column that names the rows, each by a name of its own.
    log, linear: columns of numbers that are scaled by their logarithms, or by their values. A
    column that is in neither is scaled by its logarithms if it is plainly one of ratios.
    worksheet: the sheet of a workbook; None if only one has cells, or one is called "candidates".
    describe: column of text -> a file or a DataFrame with descriptors of its values.
    not_used, feature: columns that describe no candidate, and columns that do whatever they hold.
    header_row: the row of a file with the names of the columns; None if it is to be found.
    cells: what to read in place of some cells of a file, by their names such as B7.
    """
    table = read_table(source, worksheet, (SHEET,), columns, header_row, cells, checked=False)
    notices = Notices()
    if table is None:
        table = array_table(source, columns)
    checks.needs(len(table) > 0, origin(table).source, "at least one row", 0)
    needed = "describe as a mapping from columns to tables of descriptors"
    known = describe is None or isinstance(describe, Mapping)
    checks.needs(known, origin(table).source, needed, type(describe).__name__)
    described = dict(describe or {})
    roles = find_roles(
        table, columns, target, cost, allowed, notices, label, described, not_used, feature
    )
    check_roles(table, roles)
    scales = scaling.name_scales(table.columns, origin(table).source, log, linear, notices)
    scaling.check_scales(table, roles, scales)
    found = Candidates(
        {name: keep_cells(table, name, roles) for name in table.columns},
        roles.chosen,
        roles.cost,
        roles.allowed,
        labels=roles.labels,
        named_by=roles.named_by,
        lines=tuple(table.index.tolist()) if origin(table).unit == "line" else (),
        reading=drop_defaults(header_row, cells),
    )
    different = {
        name: np.unique(found.numbers(name))
        for name in found.varying
        if name not in found.categories
    }
    decided = {
        name: scaling.choose_scale(values)
        for name, values in different.items()
        if name not in scales
    }
    logs = {name for name, scale in (scales | decided).items() if scale == LOG}
    scaled = replace(
        found,
        log=tuple(name for name in roles.chosen if name in logs),
        ranges={name: found.range(name) for name in found.chosen if name not in found.categories},
    )
    descriptors, remarks = describe_values(scaled, described, origin(table).source)
    scaled = replace(scaled, descriptors=descriptors)
    notices += [*remark_table(table, roles, descriptors), *remarks]
    notices += remark_candidates(scaled, decided)
    for name, values in different.items():
        scale = LOG if name in scaled.log else scaling.LINEAR
        notices += scaling.remark_collisions(name, scale, values)
    return replace(scaled, notices=tuple(notices))


def drop_defaults(header_row: int | None, cells: Mapping[str, str] | None) -> dict[str, Any]:
    """Return how the file was read, as far as a user said it."""
    return ({} if header_row is None else {"header_row": header_row}) | (
        {"cells": dict(cells)} if cells else {}
    )


def describe_values(
    candidates: Candidates, given: Mapping[str, Any], owner: str
) -> tuple[dict[str, Descriptors], list[str]]:
    """Return the descriptors of the values of some columns, and what is to be said of them."""
    found: dict[str, Descriptors] = {}
    notices: list[str] = []
    for wanted, source in given.items():
        name = find_column(candidates.chosen, wanted, owner, "a column that describes candidates")
        if name not in candidates.categories:
            got = f"{name!r}, which holds numbers"
            raise ValueError(f"{owner} needs a column of text for descriptors, got {got}")
        checks.needs(name not in found, owner, "descriptors of each column once", name)
        found[name], said = read_descriptors(name, source, list(candidates.levels(name)))
        notices += said
    return found, notices


def read_columns_again(source: Source, created: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return what a log keeps of a table, from the file of the candidates and the first event."""
    roles = created.get("candidates")
    checks.needs(roles is not None, "salvage", "no candidates for a space", str(source))
    assert roles is not None
    options = {name: roles[name] for name in ("cost", "allowed")} | roles.get("reading", {})
    found = read_candidates(source, columns=roles["chosen"], label=roles["named_by"], **options)
    return found.stored_columns


def name_candidates(points: Array, names: Sequence[str]) -> Candidates:
    """Return candidates that have a name and whose similarity is the inner product of points.

    >>> import numpy as np
    >>> found = name_candidates(np.eye(2), ["aspirin", "caffeine"])
    >>> found.x(1), found.find_label("aspirin")
    ({'candidate': 'caffeine'}, 0)
    """
    counts = Counter(names)
    for name, times in counts.items():
        checks.needs(times == 1, "labels", "a name of its own for each candidate", name)
        checks.needs(name.strip() != "", "labels", "a name for each candidate", repr(name))
    return Candidates({NAME: tuple(names)}, (NAME,), named_by=NAME, packed=pack_rows(points))


def keep_cells(table: pd.DataFrame, name: str, roles: Roles) -> Cells:
    """Return the column as it is kept: numbers where they count, else the text as it stands.

    Numbers that do not count keep their text, but get a decimal point.
    """
    if name == roles.cost or (name in roles.chosen and column_kind(table, name) == NUMBERS):
        return column_numbers(table, name)
    texts = column_texts(table, name)
    if origin(table).decimal == "," and has_only_numbers(table, name):
        return tuple(text.replace(",", ".") for text in texts)
    return tuple(texts)


def remark_candidates(candidates: Candidates, decided: Mapping[str, str]) -> Iterator[str]:
    """Yield remarks on constant columns, scales, and rows that are the same candidate.

    decided: the scales of the columns for which the user named none.
    """
    for name in candidates.chosen:
        if name not in candidates.varying:
            yield f"column {name!r} has the same value in every row and has no effect"
    for name, scale in decided.items():
        yield from scaling.remark_scale(name, scale, candidates.numbers(name))
    mixture = candidates.find_mixture()
    if mixture is not None and mixture.sums is not None:
        yield (
            f"{', '.join(mixture.names)} sum to {mixture.total:g} up to rounding"
            f"{describe_sums(mixture.sums)}: they are shown as the shares of a mixture, with the "
            "numbers of the table"
        )
    repeated = len(candidates) - candidates.distinct
    if repeated:
        yield f"{repeated} of {len(candidates)} rows describe the same candidate as an earlier one"


def stored_candidates(columns: Mapping[str, Sequence[Any]], body: Mapping[str, Any]) -> Candidates:
    """Return the candidates that a log keeps as columns of numbers or texts, and their roles."""
    numeric = {name for name in body["chosen"] if body["kinds"][name] == NUMBERS} | {body["cost"]}
    packed = tuple(columns[SIMILARITY]) if body[SIMILARITY] else ()
    return Candidates(
        {
            name: np.array(cells, dtype=np.float64) if name in numeric else tuple(cells)
            for name, cells in columns.items()
            if not (packed and name == SIMILARITY)
        },
        tuple(body["chosen"]),
        body["cost"],
        body["allowed"],
        tuple(body["notices"]),
        tuple(body["labels"]),
        tuple(body["log"]),
        {name: (low, high) for name, (low, high) in body["ranges"].items()},
        body["named_by"],
        lines=read_line_numbers(body["lines"], len(next(iter(columns.values())))),
        descriptors={name: Descriptors.of(known) for name, known in body[DESCRIBE].items()},
        reading=body.get("reading", {}),
        packed=packed,
    )


def write_lines(lines: Sequence[int]) -> list[int]:
    """Return the lines of a file as they are stored: only the first, if they follow each other."""
    if lines and list(lines) == list(range(lines[0], lines[0] + len(lines))):
        return [lines[0]]
    return list(lines)


def read_line_numbers(stored: Sequence[int], size: int) -> tuple[int, ...]:
    """Return the lines of a table of some size that `write_lines` wrote."""
    if len(stored) == 1:
        return tuple(range(stored[0], stored[0] + size))
    return tuple(stored)
