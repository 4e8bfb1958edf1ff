"""Results in a file or a table: which trial or row each belongs to, and its value."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.checks import DataNotice, StudyConflict
from kernelbandits.tables.candidates import Candidates
from kernelbandits.tables.cells import canonical, truth
from kernelbandits.tables.files import LARGEST, Sheet, read_sheet
from kernelbandits.tables.frames import frame_sheet, is_frame, mapping_sheet
from kernelbandits.tables.headers import NAMELESS, bare, find, find_strictly, loose

if TYPE_CHECKING:
    import pandas as pd

Source = str | PathLike[str] | Iterable[Mapping[str, Any]]
"""A path, a DataFrame or a list of mappings."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One measurement, of a trial or of a row."""

    trial: int | None = None
    row: int | None = None
    value: float | None = None
    failed: bool = False
    key: str | None = None
    """By which the same line is known again."""
    line: int
    """Where it stands: the line of a file (from 1), the row of a table (from 0)."""
    place: str = field(default="", compare=False)
    """The same in words: results.csv, line 7."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """In which columns of a sheet the parts of a result stand."""

    value: str | None
    trial: str | None
    row: str | None
    failed: str | None
    key: str | None
    described: dict[str, str]
    """Column of the candidates -> column of the sheet, as far as they are there."""
    complete: bool
    """Whether all of them are."""
    labels: dict[str, str]
    """The same for the columns that identify a row."""

    @property
    def used_columns(self) -> set[str | None]:
        own = {self.value, self.trial, self.row, self.failed, self.key}
        return own | {*self.described.values(), *self.labels.values()}


def read_results(
    source: Source | pd.DataFrame, candidates: Candidates, target: str
) -> list[Result]:
    """The results of a table, all of them checked; rows that were not measured yet are left out."""
    sheet = sheet_of(source)
    if not sheet.lines:
        return []
    layout = layout_of(sheet, candidates, target)
    notice_others(sheet, layout, candidates)
    measured = [i for i in range(len(sheet.lines)) if is_measured(sheet, layout, i)]
    notice_skipped(sheet, len(sheet.lines) - len(measured))
    results = [read_result(sheet, layout, candidates, i) for i in measured]
    check_keys(sheet, results)
    return add_keys(sheet.file, results) if sheet.unit == "line" else results


def sheet_of(source: Any) -> Sheet:
    if isinstance(source, (str, PathLike)):
        return read_sheet(source, NAMELESS)
    return frame_sheet(source) if is_frame(source) else mapping_sheet(source)


def layout_of(sheet: Sheet, candidates: Candidates, target: str) -> Layout:
    """Find the columns: the target by its exact name, then the candidates', then the others."""
    value = find_strictly(sheet.columns, target)
    described = described_by(sheet, candidates.chosen, {value})
    free = [name for name in sheet.columns if name not in (value, *described.values())]
    value = value or find(free, target)
    labels = described_by(sheet, candidates.labels, {value, *described.values()})
    free = [name for name in free if name not in labels.values()]
    words = {loose(name): name for name in free if name != value}
    layout = Layout(
        value=value or words.get("value"),
        trial=words.get("trial"),
        row=words.get("row"),
        failed=words.get("failed"),
        key=words.get("key"),
        described=described,
        complete=len(set(described.values())) == len(candidates.chosen),
        labels=labels,
    )
    given = tuple(sheet.columns)
    checks.needs(
        bool(layout.value or layout.failed), sheet.file, f"a column {target!r} or 'value'", given
    )
    known = "".join(f", a column {name!r}" for name in candidates.labels)
    who = f"a column 'trial', a column 'row'{known} or all of {candidates.chosen}"
    checks.needs(
        bool(layout.trial or layout.row or labels or layout.complete), sheet.file, who, given
    )
    return layout


def described_by(sheet: Sheet, wanted: Iterable[str], taken: set[str | None]) -> dict[str, str]:
    """Column of the candidates -> column of the sheet, as far as they are there."""
    names = [name for name in sheet.columns if name not in taken]
    found = {name: find(names, name) or find(names, bare(name)) for name in wanted}
    return {name: column for name, column in found.items() if column is not None}


def notice_others(sheet: Sheet, layout: Layout, candidates: Candidates) -> None:
    others = [
        name
        for name in sheet.columns
        if name not in layout.used_columns and name not in candidates.columns
    ]
    if others:
        warnings.warn(f"{sheet.file}: columns {others} are ignored", DataNotice, stacklevel=3)


def notice_skipped(sheet: Sheet, skipped: int) -> None:
    if skipped:
        warnings.warn(
            f"{sheet.file}: {skipped} rows have no value yet and are left out",
            DataNotice,
            stacklevel=3,
        )


def is_measured(sheet: Sheet, layout: Layout, i: int) -> bool:
    return has_failed(sheet, layout, i) or cell(sheet, layout.value, i) != ""


def cell(sheet: Sheet, name: str | None, i: int) -> str:
    return "" if name is None else sheet.columns[name][i]


def has_failed(sheet: Sheet, layout: Layout, i: int) -> bool:
    word = cell(sheet, layout.failed, i)
    failed = truth(word)
    if failed is None:
        raise ValueError(
            f"{sheet.file} needs yes or no {sheet.place(i, str(layout.failed))}, got {word!r}"
        )
    return failed


def read_result(sheet: Sheet, layout: Layout, candidates: Candidates, i: int) -> Result:
    failed = has_failed(sheet, layout, i)
    trial = whole_number(sheet, layout.trial, i, 1)
    row = (
        row_of(sheet, layout, candidates, i)
        if trial is None or says_row(sheet, layout, i)
        else None
    )
    value = None if failed else value_of(sheet, str(layout.value), i)
    if failed and cell(sheet, layout.value, i):
        place = sheet.place(i, str(layout.value))
        raise ValueError(
            f"{sheet.file} needs no value {place}, where the measurement failed, got one"
        )
    key = cell(sheet, layout.key, i) or None
    place = f"{sheet.file}, {sheet.unit} {sheet.lines[i]}"
    return Result(
        trial=trial, row=row, value=value, failed=failed, key=key, line=sheet.lines[i], place=place
    )


def says_row(sheet: Sheet, layout: Layout, i: int) -> bool:
    """Whether a line with a trial names its row besides: then they must agree."""
    described = [sheet.columns[column][i] for column in layout.described.values()]
    names = [cell(sheet, column, i) for column in (layout.row, *layout.labels.values())]
    return any(names) or (layout.complete and all(described))


def value_of(sheet: Sheet, name: str, i: int) -> float:
    try:
        return sheet.number(i, name) + 0.0
    except ValueError as error:
        raise ValueError(
            f"{error}; blank is not measured yet, and a column 'failed' tells failures"
        ) from None


def whole_number(sheet: Sheet, name: str | None, i: int, least: int) -> int | None:
    """A whole number that may be absent."""
    if name is None or not sheet.columns[name][i]:
        return None
    number = sheet.number(i, name)
    if number != int(number) or number < least:
        raise ValueError(
            f"{sheet.file} needs a whole number >= {least} {sheet.place(i, name)}, got {number}"
        )
    return int(number)


def row_of(sheet: Sheet, layout: Layout, candidates: Candidates, i: int) -> int:
    """The row by its number, else by its labels, else by what describes it."""
    row = whole_number(sheet, layout.row, i, 0)
    labelled = labelled_rows(sheet, layout, candidates, i)
    for found in (row, *labelled.values()):
        if found is not None:
            return check_row(sheet, layout, candidates, i, found)
    cells = [sheet.columns[column][i] for column in layout.described.values()]
    if not layout.complete or not any(cells):
        who = ", ".join(["a trial", *(f"{name!r}" for name in layout.labels)])
        raise ValueError(
            f"{sheet.file} needs {who} or a row in {sheet.unit} {sheet.lines[i]}, got neither"
        )
    try:
        return candidates.row_of(
            {name: part(sheet, layout, candidates, name, i) for name in candidates.chosen}
        )
    except StudyConflict as refusal:
        raise StudyConflict(f"{sheet.file}, {sheet.unit} {sheet.lines[i]}: {refusal}") from None


def check_row(sheet: Sheet, layout: Layout, candidates: Candidates, i: int, row: int) -> int:
    """A row that is there, and is what the line says besides."""
    if row >= len(candidates):
        place = sheet.place(i, str(layout.row))
        raise StudyConflict(f"{sheet.file} needs a row below {len(candidates)} {place}, got {row}")
    check_labels(sheet, layout, candidates, i, row)
    for name, column in layout.described.items():
        there = candidates.x(row)[name]
        if sheet.columns[column][i] and part(sheet, layout, candidates, name, i) != there:
            said = f"{there!r} {sheet.place(i, column)}, as row {row} has it"
            raise StudyConflict(f"{sheet.file} needs {said}, got {sheet.columns[column][i]!r}")
    return row


def labelled_rows(sheet: Sheet, layout: Layout, candidates: Candidates, i: int) -> dict[str, int]:
    """Label -> the row that it names, for those that the line has."""
    given = {name: sheet.columns[column][i] for name, column in layout.labels.items()}
    rows = {name: candidates.row_with_label(name, text) for name, text in given.items() if text}
    for name, row in rows.items():
        if row is None:
            place = sheet.place(i, layout.labels[name])
            raise StudyConflict(
                f"{sheet.file} needs a label of a candidate {place}, got {given[name]!r}"
            )
    return {name: row for name, row in rows.items() if row is not None}


def check_labels(sheet: Sheet, layout: Layout, candidates: Candidates, i: int, row: int) -> None:
    for name, other in labelled_rows(sheet, layout, candidates, i).items():
        if other != row:
            column = layout.labels[name]
            said = f"{candidates.label(row)[name]!r} {sheet.place(i, column)}, as row {row} has it"
            raise StudyConflict(f"{sheet.file} needs {said}, got {sheet.columns[column][i]!r}")


def part(sheet: Sheet, layout: Layout, candidates: Candidates, name: str, i: int) -> float | str:
    """What a line says about one column of the candidates."""
    column = layout.described[name]
    return (
        sheet.columns[column][i]
        if name in candidates.categories
        else sheet.number(i, column, LARGEST)
    )


def check_keys(sheet: Sheet, results: list[Result]) -> None:
    """One key is one result, however often it stands there."""
    said: dict[str, Result] = {}
    for one in results:
        first = said.setdefault(one.key, one) if one.key else one
        if replace(first, line=one.line) != one:
            place = f"in {sheet.unit} {one.line}"
            raise ValueError(
                f"{sheet.file} needs another key {place}, "
                f"got {one.key!r} of {sheet.unit} {first.line} again"
            )


def add_keys(file: str, results: list[Result]) -> list[Result]:
    """Give results without a key one made of file, trial or row, and value.

    Equal lines are numbered, so that a file told twice is recognised line by line.
    """
    seen: Counter[str] = Counter()
    keys = []
    for one in results:
        said = json.dumps(
            [file, one.trial, one.row, None if one.value is None else canonical(one.value)]
        )
        keys.append(
            one.key or f"csv:{hashlib.sha256(f'{said}{seen[said]}'.encode()).hexdigest()[:32]}"
        )
        seen[said] += 1
    return [replace(one, key=key) for one, key in zip(results, keys, strict=True)]
