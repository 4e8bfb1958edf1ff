"""Results in a file or a table: which trial or row each belongs to, and its value."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

from kernelbandits import checks
from kernelbandits.checks import DataNotice, StudyConflict
from kernelbandits.tables.cells import canonical, truth
from kernelbandits.tables.export import (
    DETAILS,
    TIMES,
    TRIALS,
    is_export,
    name_details,
    name_in_export,
)
from kernelbandits.tables.headers import bare, find, find_strictly, loose, unit_of
from kernelbandits.tables.sources import mapping_table, read_table
from kernelbandits.tables.table import LARGEST, Table

if TYPE_CHECKING:
    import pandas as pd


class Described(Protocol):
    """The candidates as results need them: a table, or the points of a space."""

    @property
    def chosen(self) -> tuple[str, ...]:
        """The columns that describe a candidate."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that identify a row."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """All columns."""

    @property
    def categories(self) -> tuple[str, ...]:
        """The chosen columns of text."""

    @property
    def row_columns(self) -> tuple[str, ...]:
        """The column of an export that has the number of a row; none for points of a space."""

    def __len__(self) -> int: ...

    def x(self, row: int) -> Mapping[str, Any]:
        """Return the values that describe a candidate, by column."""

    def label(self, row: int) -> Mapping[str, str]:
        """Return the names of a candidate, by column of labels."""

    def key(self, row: int) -> int | str:
        """Return what identifies the candidate of a line in a file of results."""

    def row_of(self, x: Mapping[str, Any]) -> int:
        """Return the row with these values."""

    def row_with_label(self, name: str, text: str) -> int | None:
        """Return the row with this label, or None if there is none."""


SHEETS = ("trials", "results")
"""The sheets of a workbook that have results; the first one is that of an export."""
EXPORTED_WITHIN = 0.002
"""Seconds by which the time of an exported trial may be rounded."""
ROUNDED = 1e-8
"""By which share of themselves numbers may be rounded when a spreadsheet saves them."""
MADE = "csv:"
"""How keys begin that are made of a line of a file."""

Source = str | PathLike[str] | Iterable[Mapping[str, Any]]
"""A path, a DataFrame or a list of mappings."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One measurement, of a trial or of a row."""

    trial: int | None = None
    row: int | None = None
    any_sample: bool = False
    """Whether the candidate was given by its values alone, in a table with labels. The row is then
    its first one, and any other row of it may be meant as well."""
    x: Mapping[str, Any] | None = None
    """In place of a row: the values of a candidate that is not in the table."""
    value: float | None = None
    failed: bool = False
    key: str | None = None
    """By which the same line is known again."""
    line: int
    """Where it stands: the line of a file (from 1), the row of a table (from 0)."""
    place: str = field(default="", compare=False)
    """The same in words: results.csv, line 7."""
    exported: Exported | None = None
    """Of a line of an export: how its trial is known again."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else is known of it: its standard error (sem), a note, and who measured it (by)."""


@dataclass(frozen=True)
class Exported:
    """The time at which the trial of an exported line began, by which a study knows its own."""

    at: float | None
    """When it was asked for or, if nobody asked, told; in seconds since 1970. None if the export
    does not say it in a way that can be read."""

    def is_of(self, began: float) -> bool:
        """Tell whether a trial that began then may be this one; exports have milliseconds."""
        return self.at is None or abs(self.at - began) <= EXPORTED_WITHIN


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The columns of a table in which the parts of a result stand."""

    value: str | None
    trial: str | None
    row: str | None
    failed: str | None
    key: str | None
    described: dict[str, str]
    """Column of the candidates -> column of the table, as far as they are there."""
    complete: bool
    """Whether all of them are."""
    labels: dict[str, str]
    """The same for the columns that identify a row."""
    state: str | None = None
    """Of an export: told, failed, pending or withdrawn."""
    off_table: bool = False
    """Whether a line may describe a candidate that is not in the table."""

    @property
    def used_columns(self) -> set[str | None]:
        own = {self.value, self.trial, self.row, self.failed, self.key}
        if self.state is not None:
            own |= {*TRIALS}
        return own | {*self.described.values(), *self.labels.values()}


def read_lines(source: Source | pd.DataFrame, worksheet: str | None) -> Table:
    """Read the table with the results, of a file or in memory, and warn of what is odd in it."""
    table = read_table(source, worksheet, SHEETS)
    table = mapping_table(source) if table is None else table  # type: ignore[arg-type]
    if len(table):
        for notice in table.notices:
            warnings.warn(f"{table.source}: {notice}", DataNotice, stacklevel=4)
    return table


def read_results(
    source: Source | pd.DataFrame,
    candidates: Described,
    target: str,
    worksheet: str | None = None,
    off_table: bool = False,
) -> list[Result]:
    """Read the results of a table and check them all; rows that are not measured yet are left out.

    Of a workbook the named worksheet is read; without a name the only one that has cells, or the
    one that is called "trials" or "results". With `off_table` a line may describe a candidate that
    is none of these; its result has `x` and no row.
    """
    table = read_lines(source, worksheet)
    if not len(table):
        return []
    layout = replace(layout_of(table, candidates, target), off_table=off_table)
    notice_others(table, layout, candidates)
    measured = [i for i in range(len(table)) if is_measured(table, layout, i)]
    notice_skipped(table, len(table) - len(measured))
    results = [read_result(table, layout, candidates, i) for i in measured]
    results = [
        replace(one, details=read_details(table, layout, i))
        for one, i in zip(results, measured, strict=True)
    ]
    check_keys(table, results)
    return add_keys(table.source, results, candidates) if table.from_file else results


def layout_of(table: Table, candidates: Described, target: str) -> Layout:
    """Find the columns: the target by its exact name, then the candidates', then the others."""
    if is_export(table.columns):
        return layout_of_export(table, candidates)
    value = find_strictly(table.columns, target)
    described = find_described(table, candidates.chosen, {value})
    free = [name for name in table.columns if name not in (value, *described.values())]
    value = value or find(free, target)
    labels = find_described(table, candidates.labels, {value, *described.values()})
    free = [name for name in free if name not in labels.values()]
    words = {loose(name): name for name in free if name != value}
    layout = Layout(
        value=value or words.get("value"),
        trial=words.get("trial"),
        row=words.get("row") if candidates.row_columns else None,
        failed=words.get("failed"),
        key=words.get("key"),
        described=described,
        complete=len(set(described.values())) == len(candidates.chosen),
        labels=labels,
    )
    given = tuple(table.columns)
    checks.needs(
        bool(layout.value or layout.failed), table.source, f"a column {target!r} or 'value'", given
    )
    known = "".join(f", a column {name!r}" for name in candidates.labels)
    row = ", a column 'row'" if candidates.row_columns else ""
    who = f"a column 'trial'{row}{known} or all of {candidates.chosen}"
    checks.needs(
        bool(layout.trial or layout.row or labels or layout.complete), table.source, who, given
    )
    return layout


def layout_of_export(table: Table, candidates: Described) -> Layout:
    """Return the columns of an export of trials, whose names do not depend on the target."""
    shown = name_in_export([*candidates.labels, *candidates.chosen])
    there = {name: column for name, column in shown.items() if column in table.columns}
    described = {name: there[name] for name in candidates.chosen if name in there}
    return Layout(
        value="value",
        trial="trial",
        row="row" if "row" in table.columns and candidates.row_columns else None,
        failed=None,
        key=None,
        described=described,
        complete=len(described) == len(candidates.chosen),
        labels={name: there[name] for name in candidates.labels if name in there},
        state="state",
    )


def find_described(table: Table, wanted: Iterable[str], taken: set[str | None]) -> dict[str, str]:
    """Return the column of the table for each column of the candidates that it has."""
    names = [name for name in table.columns if name not in taken]
    matches = ((name, find(names, name) or find(names, bare(name))) for name in wanted)
    found = {name: column for name, column in matches if column is not None}
    for name, column in found.items():
        units = {unit_of(name), unit_of(column)} - {""}
        if len(units) > 1:
            raise ValueError(
                f"{table.source} needs column {name!r} in the unit of the study, got {column!r}; "
                f"convert its values, or call it {name!r} if they are in that unit"
            )
    return found


def notice_others(
    table: Table, layout: Layout, candidates: Described, besides: Collection[str] = ()
) -> None:
    """Warn of columns that have no meaning here; `besides` are further ones that have."""
    others = [
        name
        for name in table.columns
        if name not in layout.used_columns
        and name not in candidates.columns
        and name not in detail_columns(table, layout).values()
        and name not in besides
    ]
    if others:
        warnings.warn(f"{table.source}: columns {others} are ignored", DataNotice, stacklevel=3)


def notice_skipped(table: Table, skipped: int) -> None:
    if skipped:
        rows = "1 row has" if skipped == 1 else f"{skipped} rows have"
        warnings.warn(
            f"{table.source}: {rows} no value yet and {'is' if skipped == 1 else 'are'} left out",
            DataNotice,
            stacklevel=3,
        )


def is_measured(table: Table, layout: Layout, i: int) -> bool:
    if layout.state is not None and cell(table, layout.state, i) in ("pending", "withdrawn"):
        return False
    return has_failed(table, layout, i) or cell(table, layout.value, i) != ""


def cell(table: Table, name: str | None, i: int) -> str:
    return "" if name is None else table.columns[name].texts[i]


def has_failed(table: Table, layout: Layout, i: int) -> bool:
    if layout.state is not None:
        return cell(table, layout.state, i) == "failed"
    word = cell(table, layout.failed, i)
    failed = truth(word)
    if failed is None:
        raise ValueError(
            f"{table.source} needs yes or no {table.place(i, str(layout.failed))}, got {word!r}"
        )
    return failed


def read_result(table: Table, layout: Layout, candidates: Described, i: int) -> Result:
    failed = has_failed(table, layout, i)
    trial = whole_number(table, layout.trial, i, 1)
    exported = None if layout.state is None else read_exported(table, i)
    candidate = find_candidate(table, layout, candidates, i, trial)
    value = None if failed else value_of(table, str(layout.value), i)
    if failed and cell(table, layout.value, i):
        place = table.place(i, str(layout.value))
        raise ValueError(
            f"{table.source} needs no value {place}, where the measurement failed, got one"
        )
    key = cell(table, layout.key, i) or None
    place = f"{table.source}, {table.unit} {table.lines[i]}"
    return Result(
        trial=trial,
        **candidate,
        value=value,
        failed=failed,
        key=key,
        line=table.lines[i],
        place=place,
        exported=exported,
    )


def read_exported(table: Table, i: int) -> Exported:
    """Return when the trial of a line of an export began, as far as the line says it."""
    text = next((text for text in (cell(table, name, i) for name in TIMES) if text), "")
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return Exported(None)
    return Exported((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())


def row_of_export(table: Table, layout: Layout, candidates: Described, i: int) -> int | None:
    """Return the row that a line of an export names, perhaps an export of another study.

    The rows may be numbered in another way there, and a spreadsheet may have rounded the numbers:
    the row that the line names counts if it is what the line describes, up to rounding. None if it
    is not: then the candidate is found by what describes it.
    """
    described = {name: read_part(table, layout, candidates, name, i) for name in candidates.chosen}
    numbered = whole_number(table, layout.row, i, 0)
    given = {name: table.columns[column].texts[i] for name, column in layout.labels.items()}
    labelled = [candidates.row_with_label(name, text) for name, text in given.items() if text]
    for row in (*labelled, numbered):
        if row is not None and row < len(candidates) and is_close(candidates.x(row), described):
            return row
    return None


def is_close(x: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two candidates differ at most by rounding, as spreadsheets do when they save."""
    return all(
        math.isclose(x[name], value, rel_tol=ROUNDED)
        if isinstance(value, float) and isinstance(x[name], (int, float))
        else x[name] == value
        for name, value in other.items()
    )


def read_details(table: Table, layout: Layout, i: int) -> dict[str, Any]:
    """Read standard error, note and name of a result, from columns that have no other meaning."""
    columns = detail_columns(table, layout)
    found: dict[str, Any] = {name: cell(table, column, i) for name, column in columns.items()}
    found = {name: text for name, text in found.items() if text}
    if "sem" in found:
        column = columns["sem"]
        error = table.number(i, column)
        if error <= 0:
            where = table.place(i, column)
            raise ValueError(f"{table.source} needs a standard error > 0 {where}, got {error:g}")
        found["sem"] = error
    return found


def detail_columns(table: Table, layout: Layout) -> dict[str, str]:
    """Return the column of each detail that the table has.

    Beside a column of the candidates called note, the note of a result is note (result).
    """
    free = {loose(name): name for name in table.columns if name not in layout.used_columns}
    words: dict[str, tuple[str, ...]] = {
        name: (loose(other), name) for name, other in name_details(DETAILS).items()
    }
    # As in a study of several targets, where each has its own.
    words["sem"] = (*words["sem"], loose(f"{layout.value} sem"))
    return {
        name: free[found]
        for name, known in words.items()
        if (found := next((word for word in known if word in free), None)) is not None
    }


def names_row(table: Table, layout: Layout, i: int) -> bool:
    """Tell whether a line with a trial names its row besides: then they must agree."""
    described = [table.columns[column].texts[i] for column in layout.described.values()]
    names = [cell(table, column, i) for column in (layout.row, *layout.labels.values())]
    return any(names) or (layout.complete and all(described))


def value_of(table: Table, name: str, i: int) -> float:
    try:
        return table.number(i, name) + 0.0
    except ValueError as error:
        raise ValueError(
            f"{error}; blank is not measured yet, and a column 'failed' tells failures"
        ) from None


def whole_number(table: Table, name: str | None, i: int, least: int) -> int | None:
    """Return the whole number in a cell, or None if it is blank or there is no such column."""
    if name is None or not table.columns[name].texts[i]:
        return None
    number = table.number(i, name)
    if number != int(number) or number < least:
        raise ValueError(
            f"{table.source} needs a whole number >= {least} {table.place(i, name)}, got {number}"
        )
    return int(number)


def find_candidate(
    table: Table, layout: Layout, candidates: Described, i: int, trial: int | None
) -> dict[str, Any]:
    """Return what a result has of its candidate: its row, or the values of one off the table.

    It has nothing where a trial stands alone. A line that names a trial, a row or a label means a
    candidate of the table; in an export these may be those of another study.
    """
    exported = layout.state is not None
    if exported and layout.complete:
        row = row_of_export(table, layout, candidates, i)
        if row is not None:
            return {"row": row}
        layout = replace(layout, row=None, labels={})
    elif not exported and trial is not None and not names_row(table, layout, i):
        return {}
    names = [cell(table, column, i) for column in (layout.row, *layout.labels.values())]
    unnamed = bool(candidates.labels) and not any(names)
    try:
        return {"row": row_of(table, layout, candidates, i), "any_sample": unnamed}
    except StudyConflict:
        named = not exported and (trial is not None or any(names))
        if named or not (layout.off_table and layout.complete):
            raise
    return {
        "x": {name: read_part(table, layout, candidates, name, i) for name in candidates.chosen}
    }


def row_of(table: Table, layout: Layout, candidates: Described, i: int) -> int:
    """Return the row of a line: by its number, else by its labels, else by what describes it."""
    row = whole_number(table, layout.row, i, 0)
    labelled = find_labelled_rows(table, layout, candidates, i)
    for found in (row, *labelled.values()):
        if found is not None:
            return check_row(table, layout, candidates, i, found)
    cells = [table.columns[column].texts[i] for column in layout.described.values()]
    if not layout.complete or not any(cells):
        who = ", ".join(["a trial", *(f"{name!r}" for name in layout.labels)])
        raise ValueError(
            f"{table.source} needs {who} or a row in {table.unit} {table.lines[i]}, got neither"
        )
    parts = {name: read_part(table, layout, candidates, name, i) for name in candidates.chosen}
    try:
        return candidates.row_of(parts)
    except (StudyConflict, ValueError) as refusal:
        # A candidate that is not in the table is a conflict, a point outside the space an error.
        kind = StudyConflict if isinstance(refusal, StudyConflict) else ValueError
        way = (
            ". If that is right, tell the table with --off-table (off_table=True): the result is "
            "learnt as a point that is never suggested"
        )
        way = way if kind is StudyConflict else ""
        raise kind(f"{table.source}, {table.unit} {table.lines[i]}: {refusal}{way}") from None


def check_row(table: Table, layout: Layout, candidates: Described, i: int, row: int) -> int:
    """Return the row if it exists and agrees with all else that its line says."""
    if row >= len(candidates):
        place = table.place(i, str(layout.row))
        raise StudyConflict(
            f"{table.source} needs a row below {len(candidates)} {place}, got {row}"
        )
    check_labels(table, layout, candidates, i, row)
    for name, column in layout.described.items():
        there = candidates.x(row)[name]
        if (
            table.columns[column].texts[i]
            and read_part(table, layout, candidates, name, i) != there
        ):
            said = f"{there!r} {table.place(i, column)}, as row {row} has it"
            raise StudyConflict(
                f"{table.source} needs {said}, got {table.columns[column].texts[i]!r}"
            )
    return row


def find_labelled_rows(
    table: Table, layout: Layout, candidates: Described, i: int
) -> dict[str, int]:
    """Return the row that each label of the line names."""
    given = {name: table.columns[column].texts[i] for name, column in layout.labels.items()}
    rows = {name: candidates.row_with_label(name, text) for name, text in given.items() if text}
    for name, row in rows.items():
        if row is None:
            place = table.place(i, layout.labels[name])
            raise StudyConflict(
                f"{table.source} needs a label of a candidate {place}, got {given[name]!r}"
            )
    return {name: row for name, row in rows.items() if row is not None}


def check_labels(table: Table, layout: Layout, candidates: Described, i: int, row: int) -> None:
    for name, other in find_labelled_rows(table, layout, candidates, i).items():
        if other != row:
            column = layout.labels[name]
            said = f"{candidates.label(row)[name]!r} {table.place(i, column)}, as row {row} has it"
            raise StudyConflict(
                f"{table.source} needs {said}, got {table.columns[column].texts[i]!r}"
            )


def read_part(
    table: Table, layout: Layout, candidates: Described, name: str, i: int
) -> float | str:
    """Return what a line says about one column of the candidates."""
    column = layout.described[name]
    return (
        table.columns[column].texts[i]
        if name in candidates.categories
        else table.number(i, column, LARGEST)
    )


def check_keys(table: Table, results: list[Result]) -> None:
    """Check that a key stands for one result, however often it is in the table."""
    said: dict[str, Result] = {}
    for one in results:
        first = said.setdefault(one.key, one) if one.key else one
        if replace(first, line=one.line) != one:
            place = f"in {table.unit} {one.line}"
            raise ValueError(
                f"{table.source} needs another key {place}, "
                f"got {one.key!r} of {table.unit} {first.line} again"
            )


def add_keys(file: str, results: list[Result], candidates: Described) -> list[Result]:
    """Give results without a key one made of file, trial or row, and value or values.

    Equal lines are numbered, so that a file told twice is recognised line by line.
    """
    seen: Counter[str] = Counter()
    keys = []
    for one in results:
        row: Any = None if one.row is None else candidates.key(one.row)
        row = row if one.x is None else dict(one.x)
        value: Any = None if one.value is None else canonical(one.value)
        value = one.details.get("values", value)
        said = json.dumps([file, one.trial, row, value])
        keys.append(
            one.key or f"{MADE}{hashlib.sha256(f'{said}{seen[said]}'.encode()).hexdigest()[:32]}"
        )
        seen[said] += 1
    return [replace(one, key=key) for one, key in zip(results, keys, strict=True)]
