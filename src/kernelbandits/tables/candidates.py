"""The candidates of a study: a table of text, and which of its columns describe a candidate.

    points = [(x - min) / (max - min) for numbers, 1 / sqrt(2) at the place of the value for text]

so that each number lies in [0, 1] and two different words are at distance 1. Some columns of
numbers are scaled by their logarithms instead (`scaling`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, StudyConflict
from kernelbandits.tables import roles, scaling
from kernelbandits.tables.cells import canonical, text_of, truth, whole
from kernelbandits.tables.files import NUMBER, Sheet, read_sheet
from kernelbandits.tables.frames import array_sheet, frame_sheet, is_frame
from kernelbandits.tables.headers import NAMELESS, find_column
from kernelbandits.tables.roles import Notices
from kernelbandits.tables.scaling import LOG, logarithms, scale_to_unit

if TYPE_CHECKING:
    import pandas as pd

MOST_COORDINATES = 2**27
"""Numbers in the points of all candidates: 1 GiB."""

Source = str | PathLike[str] | npt.ArrayLike
"""A path, a DataFrame or an (n, d) array."""


@dataclass(frozen=True)
class Candidates:
    """The table and which of its columns count."""

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...] = field(repr=False)
    """One tuple of text for each row; numbers that count are canonical."""
    chosen: tuple[str, ...]
    cost: str | None = None
    allowed: str | None = None
    notices: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """The chosen columns that hold text."""
    labels: tuple[str, ...] = ()
    """The columns that identify a row for people: a sample name, a number."""
    log: tuple[str, ...] = ()
    """The chosen columns of positive numbers that the model sees by their logarithms."""

    def __post_init__(self) -> None:
        checks.needs(len(self.cells) > 0, "candidates", "at least one row", len(self.cells))
        known = {*self.columns}
        checks.needs(
            len(known) == len(self.columns), "candidates", "distinct columns", self.columns
        )
        for name in (*self.chosen, *self.categories, *self.labels, self.cost, self.allowed):
            checks.needs(
                name is None or name in known, "candidates", f"columns among {self.columns}", name
            )
        checks.needs(
            {*map(len, self.cells)} == {len(known)},
            "candidates",
            f"{len(known)} cells in each row",
            "others",
        )
        checks.needs(len(self.chosen) > 0, "candidates", "at least one chosen column", self.chosen)
        for name in self.log:
            number = name in self.chosen and name not in self.categories
            checks.needs(number, "candidates", "chosen columns of numbers for log", name)
        enough = len(self) * self.width <= MOST_COORDINATES
        size = f"{len(self)} rows of {self.width}"
        checks.needs(
            enough, "candidates", f"at most {MOST_COORDINATES} coordinates in memory", size
        )

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def kinds(self) -> dict[str, str]:
        return {name: "category" if name in self.categories else "number" for name in self.chosen}

    @property
    def body(self) -> dict[str, Any]:
        """What the log keeps beside the table, as JSON has it."""
        return {
            "chosen": list(self.chosen),
            "cost": self.cost,
            "allowed": self.allowed,
            "kinds": self.kinds,
            "notices": list(self.notices),
            "labels": list(self.labels),
            "log": list(self.log),
        }

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the table and of the tasks of its columns, however these are scaled."""
        tasks = [self.columns, self.chosen, self.categories, self.cost, self.allowed]
        digest = hashlib.sha256(json.dumps(tasks).encode())
        for row in self.cells:
            digest.update(json.dumps(row).encode())
        return digest.hexdigest()

    @property
    def stored(self) -> dict[str, list[float] | list[str]]:
        """The table by column as it is stored: numbers that count as numbers, all else as text."""
        counted = {*self.chosen, self.cost} - {*self.categories}
        return {
            name: self.numbers(name).tolist() if name in counted else list(self.column(name))
            for name in self.columns
        }

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The chosen columns that are not constant."""
        return tuple(name for name in self.chosen if len(set(self.column(name))) > 1)

    @property
    def width(self) -> int:
        """How many coordinates a candidate has."""
        return (
            sum(
                len(set(self.column(name))) if name in self.categories else 1
                for name in self.varying
            )
            or 1
        )

    @cached_property
    def points(self) -> Array:
        """One row of coordinates for each candidate; constant columns have none."""
        points = np.column_stack(
            [self.coordinates(name) for name in self.varying] or [np.zeros(len(self))]
        )
        points.setflags(write=False)
        return points

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The coordinates of each column that varies: several for a column of text."""
        blocks, start = [], 0
        for name in self.varying:
            width = len(set(self.column(name))) if name in self.categories else 1
            blocks.append(tuple(range(start, start + width)))
            start += width
        return tuple(blocks) or ((0,),)

    def coordinates(self, name: str) -> Array:
        if name in self.categories:
            return one_hot(self.column(name))
        values = self.numbers(name)
        return scale_to_unit(logarithms(values) if name in self.log else values)

    @cached_property
    def costs(self) -> Array | None:
        return None if self.cost is None else self.numbers(self.cost)

    @cached_property
    def allowed_rows(self) -> npt.NDArray[np.bool_]:
        if self.allowed is None:
            return np.ones(len(self), dtype=bool)
        return np.array([bool(truth(cell)) for cell in self.column(self.allowed)])

    def column(self, name: str) -> tuple[str, ...]:
        i = self.columns.index(name)
        return tuple(row[i] for row in self.cells)

    def numbers(self, name: str) -> Array:
        return np.array([float(cell) for cell in self.column(name)])

    def x(self, row: int) -> dict[str, float | str]:
        """What describes the candidate in this row."""
        cells = self.by_name(row)
        return {
            name: cells[name] if name in self.categories else float(cells[name])
            for name in self.chosen
        }

    def label(self, row: int) -> dict[str, str]:
        """What people call this row."""
        cells = self.by_name(row)
        return {name: cells[name] for name in self.labels}

    def by_name(self, row: int) -> dict[str, str]:
        checks.needs(
            checks.is_whole(row) and 0 <= row < len(self),
            "candidates",
            f"a row in [0, {len(self)})",
            row,
        )
        return dict(zip(self.columns, self.cells[row], strict=True))

    def row_with_label(self, name: str, text: str) -> int | None:
        """The row with this label, if there is one."""
        exact, near = self._label_rows[name]
        return exact.get(text, near.get(whole(text)))

    @cached_property
    def _label_rows(self) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
        return {name: index_labels(self.column(name)) for name in self.labels}

    def row_of(self, x: Mapping[str, float | str]) -> int:
        """The first row with these values of the chosen columns."""
        given = {
            find_column(self.chosen, name, "a candidate", "a column"): value
            for name, value in x.items()
        }
        missing = [name for name in self.chosen if name not in given]
        checks.needs(not missing, "a candidate", f"values of {self.chosen}", tuple(x))
        row = self._rows.get(tuple(self.cell(name, given[name]) for name in self.chosen))
        if row is None:
            raise StudyConflict(f"no candidate has {given}")
        return row

    def cell(self, name: str, value: Any) -> str:
        """A value of a chosen column as its text in the table."""
        text = text_of(value)
        if name in self.categories:
            return text
        checks.needs(bool(NUMBER.fullmatch(text)), "a candidate", f"a number for {name!r}", value)
        return canonical(float(text))

    @property
    def distinct(self) -> int:
        """How many different candidates there are."""
        return len(self._rows)

    @cached_property
    def _rows(self) -> dict[tuple[str, ...], int]:
        places = [self.columns.index(name) for name in self.chosen]
        rows: dict[tuple[str, ...], int] = {}
        for row, cells in enumerate(self.cells):
            rows.setdefault(tuple(cells[i] for i in places), row)
        return rows


def remarks(sheet: Sheet, candidates: Candidates, decided: Mapping[str, str]) -> Iterator[str]:
    """What is worth knowing about a table that was taken as it came.

    decided: the scales of the columns for which the user named none.
    """
    for name in candidates.chosen:
        if name not in candidates.varying:
            yield f"column {name!r} has the same value in every row and has no effect"
    for name, scale in decided.items():
        yield from scaling.remark_scale(name, scale, candidates.numbers(name))
    for name in candidates.categories:
        yield from roles.category_remarks(sheet, name)
    repeated = len(candidates) - candidates.distinct
    if repeated:
        yield f"{repeated} of {len(candidates)} rows describe the same candidate as an earlier one"
    yield from roles.header_remarks(sheet)
    yield from roles.decimal_remarks(sheet)


def choose_scales(candidates: Candidates, named: Mapping[str, str]) -> dict[str, str]:
    """Column -> "log" or "linear", for the columns of numbers for which the user named none."""
    free = [name for name in candidates.varying if name not in {*candidates.categories, *named}]
    return {name: scaling.choose_scale(candidates.numbers(name)) for name in free}


def index_labels(cells: Sequence[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Return label -> row, and number -> row where the number is unique.

    Spreadsheets turn the label 033 into 33, so a label is also found by its number.
    """
    numbers = [whole(cell) for cell in cells]
    counts = Counter(numbers)
    near = {number: row for row, number in enumerate(numbers) if counts[number] == 1}
    return {cell: row for row, cell in enumerate(cells)}, near


def one_hot(cells: Sequence[str]) -> Array:
    """One coordinate for each value, in the order in which they first come."""
    levels = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    points = np.zeros((len(cells), len(levels)))
    points[np.arange(len(cells)), [levels[cell] for cell in cells]] = math.sqrt(0.5)
    return points


def read_candidates(
    source: Source | pd.DataFrame,
    *,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    cost: str | None = None,
    allowed: str | None = None,
    log: str | Sequence[str] | None = None,
    linear: str | Sequence[str] | None = None,
) -> Candidates:
    """Read candidates from a CSV file, a DataFrame or an (n, d) array.

    columns: those that describe a candidate; None takes all that may.
    log, linear: columns of numbers that are scaled by their logarithms, or by their values. A
    column that is in neither is scaled by its logarithms if it is plainly one of ratios.
    """
    sheet, notices = sheet_of(source, columns), Notices()
    checks.needs(len(sheet.lines) > 0, sheet.file, "at least one row", 0)
    tasks = roles.tasks(sheet, columns, target, cost, allowed, notices)
    table = {name: roles.cells(sheet, name, tasks) for name in sheet.columns}
    scales = scaling.name_scales(sheet.columns, sheet.file, log, linear, notices)
    scaling.check_scales(sheet, tasks, scales)
    found = Candidates(
        tuple(table),
        tuple(zip(*table.values(), strict=True)),
        tasks.chosen,
        tasks.cost,
        tasks.allowed,
        categories=tasks.categories,
        labels=tasks.labels,
    )
    decided = choose_scales(found, scales)
    log = tuple(name for name, scale in (scales | decided).items() if scale == LOG)
    said = (*notices, *remarks(sheet, found, decided))
    return replace(found, log=tuple(name for name in tasks.chosen if name in log), notices=said)


def sheet_of(source: Any, columns: Sequence[str] | None) -> Sheet:
    if isinstance(source, (str, PathLike)):
        return read_sheet(source, NAMELESS)
    return frame_sheet(source) if is_frame(source) else array_sheet(source, columns)


def stored_candidates(
    columns: Mapping[str, Sequence[float] | Sequence[str]], body: Mapping[str, Any]
) -> Candidates:
    """The same value again, from what a log keeps."""
    texts = [
        [cell if isinstance(cell, str) else canonical(cell) for cell in cells]
        for cells in columns.values()
    ]
    return Candidates(
        tuple(columns),
        tuple(zip(*texts, strict=True)),
        tuple(body["chosen"]),
        body["cost"],
        body["allowed"],
        tuple(body.get("notices", ())),
        tuple(name for name in body["chosen"] if body["kinds"][name] == "category"),
        tuple(body.get("labels", ())),
        tuple(body.get("log", ())),
    )
