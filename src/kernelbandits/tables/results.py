"""Results in a file or a table: which trial or row each belongs to, and its values.

Each target has a column, and some cells may be blank.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

from kernelbandits import checks
from kernelbandits.censored import NOT_DETECTED, SIGNS, Censored, side_of
from kernelbandits.checks import LARGEST_REWARD, DataNotice, StudyConflict
from kernelbandits.codec import write_compact
from kernelbandits.formatting import format_names
from kernelbandits.tables.cells import ABSENT, canonical, is_number, parse_result, truth
from kernelbandits.tables.export import (
    BEYOND,
    COMBINED,
    FEASIBLE,
    FRONT,
    TIMES,
    TRIALS,
    is_export,
    name_in_export,
    name_targets,
)
from kernelbandits.tables.headers import bare, find, find_strictly, loose, unit_of
from kernelbandits.tables.sources import mapping_table, read_table
from kernelbandits.tables.table import (
    LARGEST,
    Table,
    WrongCell,
    cell_place,
    column_numbers,
    column_texts,
    number_problem,
    origin,
    problems_of,
    read_number,
    refuse_problems,
    row_place,
)

if TYPE_CHECKING:
    import pandas as pd


class PlaceOfResults(Protocol):
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
    def conditional(self) -> tuple[str, ...]:
        """The variables of a space that a point may lack; their cells may be blank."""

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

    def row_of(self, x: Mapping[str, Any], exported: bool = False) -> int:
        """Return the row with these values; those of an export were measured somewhere."""

    def row_with_label(self, name: str, text: str) -> int | None:
        """Return the row with this label, or None if there is none."""

    def row_called(self, text: str, owner: str = "candidates") -> int:
        """Return the row of this name, or the one that is printed so."""


SHEETS = ("trials", "results")
"""The sheets of a workbook that have results; the first one is that of an export."""
EXPORTED_WITHIN = 0.002
"""Seconds by which the time of an exported trial may be rounded."""
ROUNDED = 1e-8
"""By which share of themselves numbers may be rounded when a spreadsheet saves them."""
SEM = ("sem (result)", "sem")
"""What the column of the standard errors of a single target is called."""
SIDES = (f"{BEYOND} (result)", BEYOND)
"""What the column is called that has < or > where a value of a single target is a limit."""
MADE = "csv:"
"""How keys begin that are made of a line of a file."""

Source = str | PathLike[str] | Iterable[Mapping[str, Any]]
"""A path, a DataFrame or a list of mappings."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One measurement, of a trial or of a row.

    `read_results` returns them.

    >>> from kernelbandits.tables import Result
    >>> result = Result(trial=3, values={"yield": 0.7}, sems={"yield": 0.05}, line=4)
    >>> result.trial, result.values["yield"], result.failed
    (3, 0.7, False)
    """

    trial: int | None = None
    row: int | None = None
    any_sample: bool = False
    """Whether the candidate was given by its values alone, in a table with labels. The row is then
    its first one, and any other row of it may be meant as well."""
    by_hand: bool = False
    """Whether the row, or x, has the conditions of a trial that were really set."""
    x: Mapping[str, Any] | None = None
    """In place of a row: the values of a candidate that is not in the table."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Target -> its value, of those that were measured; empty for a failure."""
    sems: Mapping[str, float] = field(default_factory=dict)
    """Target -> the standard error of its value, where it is known."""
    missing: tuple[str, ...] = ()
    """Targets whose values will not come."""
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
    """What else is known of it: a note, and who measured it (by)."""


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

    values: dict[str, str]
    """Target -> the column of its values, as far as they are there."""
    errors: dict[str, str]
    """Target -> the column of their standard errors."""
    sides: dict[str, str]
    """Target -> the column that says which values are limits."""
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
    def used_columns(self) -> set[str]:
        own = {*self.values.values(), *self.errors.values(), *self.sides.values()}
        own |= {name for name in (self.trial, self.row, self.failed, self.key) if name}
        if self.state is not None:
            own |= {*TRIALS}
        return own | {*self.described.values(), *self.labels.values()}


def list_pairs(source: Any, candidates: PlaceOfResults, target: str) -> Any:
    """Return pairs of a candidate and its value as a list of mappings; anything else as it is.

    A candidate is a row, by its number or name, or the values of its columns, by name or in their
    order. Of several targets the value is a mapping.

    >>> import pandas as pd
    >>> from kernelbandits.study.candidates import read_candidates
    >>> candidates = read_candidates(pd.DataFrame({"heat": [20, 50, 90]}), target="yield")
    >>> list_pairs([(1, 0.7), ((90,), 0.4)], candidates, "yield")
    [{'row': 1, 'yield': 0.7}, {'heat': 90, 'yield': 0.4}]
    """
    listed = isinstance(source, (list, tuple)) and len(source) > 0
    if not listed or not all(isinstance(one, (list, tuple)) and len(one) == 2 for one in source):
        return source
    lines = list[dict[str, Any]]()
    for place, value in source:
        if isinstance(place, Mapping):
            named = dict(place)
        elif not candidates.row_columns and checks.is_number(place):
            # A point of a space with one variable.
            checks.needs(len(candidates.chosen) == 1, "results", "points with all values", place)
            named = {candidates.chosen[0]: place}
        elif isinstance(place, (list, tuple)) or getattr(place, "ndim", 0) == 1:
            size = len(candidates.chosen)
            checks.needs(len(place) == size, "results", f"points of {size} values", place)
            values = place.tolist() if hasattr(place, "tolist") else place
            named = dict(zip(candidates.chosen, values, strict=True))
        else:
            named = {"row": place}
        lines.append({**named, **(value if isinstance(value, Mapping) else {target: value})})
    return lines


def read_lines(
    source: Source | pd.DataFrame,
    worksheet: str | None,
    header_row: int | None = None,
    cells: Mapping[str, str] | None = None,
) -> Table:
    """Read the table with the results, of a file or in memory, and warn of what is odd in it."""
    table = read_table(source, worksheet, SHEETS, header_row=header_row, cells=cells, checked=False)
    table = mapping_table(source) if table is None else table  # type: ignore[arg-type]
    if len(table):
        for notice in origin(table).notices:
            warnings.warn(f"{origin(table).source}: {notice}", DataNotice, stacklevel=4)
    return table


def read_results(
    source: Source | pd.DataFrame,
    candidates: PlaceOfResults,
    targets: Sequence[str],
    worksheet: str | None = None,
    off_table: bool = False,
    header_row: int | None = None,
    cells: Mapping[str, str] | None = None,
) -> list[Result]:
    """Read the results of a table and check them all; rows that are not measured yet are left out.

    `source` is a path, a DataFrame or a list of mappings, and `candidates` what a study may
    measure. The values are those of the named targets, mostly one. The column of a single target
    may also be called "value", and the column of its standard errors "sem".

    Of a workbook the named worksheet is read; without a name the only one that has cells, or the
    one that is called "trials" or "results". With `off_table` a line may describe a candidate that
    is none of these; its result has `x` and no row. `header_row` and `cells` are those of
    `read_candidates`.

    >>> import pandas as pd
    >>> from kernelbandits.study.candidates import read_candidates
    >>> from kernelbandits.tables import read_results
    >>> candidates = read_candidates(pd.DataFrame({"heat": [20, 50, 90]}), target="yield")
    >>> measured = pd.DataFrame({"heat": [50, 90], "yield": [0.7, None]})
    >>> results = read_results(measured, candidates, ["yield"])
    >>> [(result.row, result.values) for result in results]
    [(1, {'yield': 0.7})]
    """
    table = read_lines(source, worksheet, header_row, cells)
    if not len(table):
        return []
    layout = replace(layout_of(table, candidates, targets), off_table=off_table)
    refuse_problems(problems_of(table, layout.used_columns, {*layout.described.values()}))
    notice_others(table, layout, candidates)
    measured = [i for i in range(len(table)) if is_measured(table, layout, i)]
    notice_skipped(table, len(table) - len(measured))
    told = [i for i in measured if not has_failed(table, layout, i)]
    refuse_problems(find_wrong_results(table, product(told, layout.values.values())), UNREAD)
    results = [read_result(table, layout, candidates, i) for i in measured]
    check_keys(table, results)
    return (
        add_keys(origin(table).source, results, candidates) if origin(table).from_file else results
    )


def layout_of(table: Table, candidates: PlaceOfResults, targets: Sequence[str]) -> Layout:
    """Find the columns: targets by their exact names, then the candidates', then the others."""
    if is_export(table.columns):
        return layout_of_export(table, candidates, targets)
    exact = {name: find_strictly(table.columns, name) for name in targets}
    described = find_described(table, candidates.chosen, {*exact.values()})
    free = [name for name in table.columns if name not in (*exact.values(), *described.values())]
    found = {name: column or find(free, name) for name, column in exact.items()}
    values = {name: column for name, column in found.items() if column is not None}
    labels = find_described(table, candidates.labels, {*values.values(), *described.values()})
    others = [name for name in free if name not in (*labels.values(), *values.values())]
    words = {loose(name): name for name in others}
    if len(targets) == 1 and not values and "value" in words:
        values = {targets[0]: words["value"]}
    layout = Layout(
        values=values,
        errors={},
        sides={},
        trial=words.get("trial"),
        row=words.get("row") if candidates.row_columns else None,
        failed=words.get("failed"),
        key=words.get("key"),
        described=described,
        complete=has_points(candidates, described),
        labels=labels,
    )
    given = format_names(table.columns)
    needed = f"columns of targets among {format_names(targets)}"
    needed = f"a column {targets[0]!r} or 'value'" if len(targets) == 1 else needed
    checks.needs(bool(layout.values or layout.failed), origin(table).source, needed, given)
    known = "".join(f", a column {name!r}" for name in candidates.labels)
    row = ", a column 'row'" if candidates.row_columns else ""
    always = [name for name in candidates.chosen if name not in candidates.conditional]
    who = f"a column 'trial'{row}{known} or all of {format_names(always)}"
    checks.needs(
        bool(layout.trial or layout.row or labels or layout.complete),
        origin(table).source,
        who,
        given,
    )
    return with_details(table, layout, targets)


def has_points(candidates: PlaceOfResults, described: Mapping[str, str]) -> bool:
    """Tell whether columns of their own have all values that every candidate has."""
    always = {*candidates.chosen}.difference(candidates.conditional)
    return always <= {*described} and len({*described.values()}) == len(described)


def layout_of_export(table: Table, candidates: PlaceOfResults, targets: Sequence[str]) -> Layout:
    """Return the columns of an export of trials, in which a single target is called "value"."""
    shown = name_in_export([*candidates.labels, *candidates.chosen])
    there = {name: column for name, column in shown.items() if column in table.columns}
    described = {name: there[name] for name in candidates.chosen if name in there}
    columns = name_targets(shown.values(), targets)
    values = {name: column for name, column in columns.items() if column in table.columns}
    if len(targets) == 1 and not values:
        values = {targets[0]: "value"}
    checks.needs(
        bool(values),
        origin(table).source,
        f"columns of targets among {format_names(targets)}",
        format_names(table.columns),
    )
    layout = Layout(
        values=values,
        errors={},
        sides={},
        trial="trial",
        row="row" if "row" in table.columns and candidates.row_columns else None,
        failed=None,
        key=None,
        described=described,
        complete=has_points(candidates, described),
        labels={name: there[name] for name in candidates.labels if name in there},
        state="state",
    )
    return with_details(table, layout, targets)


def with_details(table: Table, layout: Layout, targets: Sequence[str]) -> Layout:
    """Return a layout with the columns of standard errors and of limits, if there are any."""
    errors = find_beside(table, layout, targets, SEM)
    return replace(layout, errors=errors, sides=find_beside(table, layout, targets, SIDES))


def find_beside(
    table: Table, layout: Layout, targets: Sequence[str], words: Sequence[str]
) -> dict[str, str]:
    """Return target -> the column called like it with a word behind, such as sem.

    That of a single target may be called sem alone.
    """
    word = words[-1]
    free = {loose(name): name for name in table.columns if name not in layout.used_columns}
    alone = map(loose, words) if len(targets) == 1 else ()
    named = {name: (loose(f"{column} {word}"), *alone) for name, column in layout.values.items()}
    found = {name: [free[one] for one in known if one in free] for name, known in named.items()}
    return {name: columns[0] for name, columns in found.items() if columns}


def find_described(
    table: Table, wanted: Iterable[str], taken: Collection[str | None]
) -> dict[str, str]:
    """Return the column of the table for each column of the candidates that it has."""
    names = [name for name in table.columns if name not in taken]
    matches = ((name, find(names, name) or find(names, bare(name))) for name in wanted)
    found = {name: column for name, column in matches if column is not None}
    for name, column in found.items():
        units = {unit_of(name), unit_of(column)} - {""}
        if len(units) > 1:
            raise ValueError(
                f"{origin(table).source} needs column {name!r} in the unit of the study, got "
                f"{column!r}; convert its values, or call it {name!r} if they are in that unit"
            )
    return found


def notice_others(table: Table, layout: Layout, candidates: PlaceOfResults) -> None:
    """Warn of columns that have no meaning here."""
    known = {*layout.used_columns, *detail_columns(table, layout).values()}
    # What an export has of several targets together is computed again.
    known |= {*SEM, FEASIBLE, FRONT, COMBINED} if layout.state is not None else set()
    others = [name for name in table.columns if name not in known | {*candidates.columns}]
    if others:
        warnings.warn(
            f"{origin(table).source}: columns {others} are ignored", DataNotice, stacklevel=3
        )


def notice_skipped(table: Table, skipped: int) -> None:
    if skipped:
        rows = "1 row has" if skipped == 1 else f"{skipped} rows have"
        warnings.warn(
            f"{origin(table).source}: {rows} no value yet and "
            f"{'is' if skipped == 1 else 'are'} left out",
            DataNotice,
            stacklevel=3,
        )


def is_measured(table: Table, layout: Layout, i: int) -> bool:
    if cell(table, layout.state, i) == "withdrawn":
        return False
    return has_failed(table, layout, i) or any(
        cell(table, column, i) != "" for column in layout.values.values()
    )


def cell(table: Table, name: str | None, i: int) -> str:
    return "" if name is None else column_texts(table, name)[i]


def has_failed(table: Table, layout: Layout, i: int) -> bool:
    if layout.state is not None:
        return cell(table, layout.state, i) == "failed"
    word = cell(table, layout.failed, i)
    failed = truth(word)
    if failed is None:
        raise ValueError(
            f"{origin(table).source} needs yes or no "
            f"{cell_place(table, i, str(layout.failed))}, got {word!r}"
        )
    return failed


def read_result(table: Table, layout: Layout, candidates: PlaceOfResults, i: int) -> Result:
    """Read the result in one line."""
    failed, state = has_failed(table, layout, i), cell(table, layout.state, i)
    trial = whole_number(table, layout.trial, i, 1)
    candidate = find_candidate(table, layout, candidates, i, trial)
    filled = {name: c for name, c in layout.values.items() if cell(table, c, i) != ""}
    if failed and filled and layout.state is None:
        place = cell_place(table, i, next(iter(filled.values())))
        raise ValueError(
            f"{origin(table).source} needs no value {place}, where the measurement failed, got one"
        )
    values = {} if failed else {name: value_of(table, c, i) for name, c in filled.items()}
    sides = {name: cell(table, c, i) for name, c in layout.sides.items() if name in values}
    for name, side in sides.items():
        if side:
            values[name] = join_side(table, layout.sides[name], i, values[name])
    absent = [name for name in layout.values if name not in values and state == "missing"]
    return Result(
        trial=trial,
        **candidate,
        values=values,
        sems=read_errors(table, layout.errors, values, i),
        missing=tuple(absent),
        failed=failed,
        key=cell(table, layout.key, i) or None,
        line=int(table.index[i]),
        place=f"{origin(table).source}, {row_place(table, i)}",
        exported=None if layout.state is None else read_exported(table, i),
        details=read_details(table, layout, i),
    )


def join_side(table: Table, column: str, i: int, value: float) -> Censored:
    """Return a value as the limit that another column of its line says it is."""
    side = cell(table, column, i)
    if side not in SIGNS:
        raise ValueError(
            f"{origin(table).source} needs < or > {cell_place(table, i, column)}, or nothing, got "
            f"{side!r}"
        )
    return Censored(value, side)


def read_errors(
    table: Table, columns: Mapping[str, str], values: Iterable[str], i: int
) -> dict[str, float]:
    """Read target -> the standard error of its value in one line, where there is one."""
    sems: dict[str, float] = {}
    for name in values:
        column = columns.get(name)
        if column is not None and cell(table, column, i):
            sems[name] = read_number(table, i, column)
            if sems[name] <= 0:
                where = cell_place(table, i, column)
                raise ValueError(
                    f"{origin(table).source} needs a standard error > 0 {where}, got {sems[name]:g}"
                )
    return sems


def read_exported(table: Table, i: int) -> Exported:
    """Return when the trial of a line of an export began, as far as the line says it."""
    text = next((text for text in (cell(table, name, i) for name in TIMES) if text), "")
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return Exported(None)
    return Exported((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())


def row_of_export(table: Table, layout: Layout, candidates: PlaceOfResults, i: int) -> int | None:
    """Return the row that a line of an export names, perhaps an export of another study.

    The rows may be numbered in another way there, and a spreadsheet may have rounded the numbers:
    the row that the line names counts if it is what the line describes, up to rounding. None if it
    is not: then the candidate is found by what describes it.
    """
    described = read_parts(table, layout, candidates, i)
    numbered = whole_number(table, layout.row, i, 0)
    given = {name: column_texts(table, column)[i] for name, column in layout.labels.items()}
    labelled = [candidates.row_with_label(name, text) for name, text in given.items() if text]
    for row in (*labelled, numbered):
        if row is not None and row < len(candidates) and is_close(candidates.x(row), described):
            return row
    return None


def is_close(x: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two candidates differ at most by rounding, as spreadsheets do when they save."""
    return x.keys() == other.keys() and all(
        math.isclose(x[name], value, rel_tol=ROUNDED)
        if isinstance(value, float) and isinstance(x[name], (int, float))
        else x[name] == value
        for name, value in other.items()
    )


def read_details(table: Table, layout: Layout, i: int) -> dict[str, Any]:
    """Read the note of a result and who measured it, from columns that have no other meaning."""
    columns = detail_columns(table, layout)
    found = {name: cell(table, column, i) for name, column in columns.items()}
    return {name: text for name, text in found.items() if text}


def detail_columns(table: Table, layout: Layout) -> dict[str, str]:
    """Return the column of each detail that the table has.

    Beside a column of the candidates called note, the note of a result is note (result).
    """
    free = {loose(name): name for name in table.columns if name not in layout.used_columns}
    words = {name: (loose(f"{name} (result)"), name) for name in ("note", "by")}
    return {
        name: free[found]
        for name, known in words.items()
        if (found := next((word for word in known if word in free), None)) is not None
    }


def names_row(table: Table, layout: Layout, i: int) -> bool:
    """Tell whether a line with a trial names its row besides: then they must agree."""
    described = [column_texts(table, column)[i] for column in layout.described.values()]
    names = [cell(table, column, i) for column in (layout.row, *layout.labels.values())]
    return any(names) or (layout.complete and all(described))


UNREAD = "; blank is not measured yet, and a column 'failed' tells failures"
"""What to write in place of a result that is none."""


def find_wrong_results(table: Table, cells: Iterable[tuple[int, str]]) -> Iterator[WrongCell]:
    """Yield those of these cells, each a row and its column, that are neither results nor blank."""
    for i, name in cells:
        if cell(table, name, i):
            value = value_of(table, name, i)
            if value != NOT_DETECTED and not abs(value) <= LARGEST_REWARD:
                yield number_problem(table, i, name, LARGEST_REWARD)


def value_of(table: Table, name: str, i: int) -> float:
    """Return the result in a cell, a number or a limit; nan if it is none."""
    limit = parse_result(column_texts(table, name)[i], origin(table).decimal)
    return limit if isinstance(limit, Censored) else float(column_numbers(table, name)[i])


def whole_number(table: Table, name: str | None, i: int, least: int) -> int | None:
    """Return the whole number in a cell, or None if it is blank or there is no such column."""
    if name is None or not column_texts(table, name)[i]:
        return None
    number = read_number(table, i, name)
    if number != int(number) or number < least:
        raise ValueError(
            f"{origin(table).source} needs a whole number >= {least} "
            f"{cell_place(table, i, name)}, got {number}"
        )
    return int(number)


def find_candidate(
    table: Table, layout: Layout, candidates: PlaceOfResults, i: int, trial: int | None
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
    return {"x": read_parts(table, layout, candidates, i)}


def row_of(table: Table, layout: Layout, candidates: PlaceOfResults, i: int) -> int:
    """Return the row of a line: by its number or name, else by its labels, else by what describes
    it."""
    called = cell(table, layout.row, i)
    where = f"{origin(table).source}, {row_place(table, i)},"
    row = (
        candidates.row_called(called, where)
        if called and not is_number(called)
        else whole_number(table, layout.row, i, 0)
    )
    labelled = find_labelled_rows(table, layout, candidates, i)
    for found in (row, *labelled.values()):
        if found is not None:
            return check_row(table, layout, candidates, i, found)
    cells = [column_texts(table, column)[i] for column in layout.described.values()]
    if not layout.complete or not any(cells):
        who = ", ".join(["a trial", *(f"{name!r}" for name in layout.labels)])
        raise ValueError(
            f"{origin(table).source} needs {who} or a row in {row_place(table, i)}, got neither"
        )
    parts = read_parts(table, layout, candidates, i)
    try:
        return candidates.row_of(parts, layout.state is not None)
    except (StudyConflict, ValueError) as refusal:
        # A candidate that is not in the table is a conflict, a point outside the space an error.
        kind = StudyConflict if isinstance(refusal, StudyConflict) else ValueError
        way = (
            ". If that is right, tell the table with --off-table (off_table=True): the result is "
            "learnt as a point that is never suggested"
        )
        way = way if kind is StudyConflict else ""
        raise kind(f"{origin(table).source}, {row_place(table, i)}: {refusal}{way}") from None


def check_row(table: Table, layout: Layout, candidates: PlaceOfResults, i: int, row: int) -> int:
    """Return the row if it exists and agrees with all else that its line says."""
    if row >= len(candidates):
        place = cell_place(table, i, str(layout.row))
        raise StudyConflict(
            f"{origin(table).source} needs a row below {len(candidates)} {place}, got {row}"
        )
    check_labels(table, layout, candidates, i, row)
    for name, column in layout.described.items():
        there = candidates.x(row).get(name)
        if (
            column_texts(table, column)[i]
            and read_part(table, layout, candidates, name, i) != there
        ):
            said = f"{there!r} {cell_place(table, i, column)}, as row {row} has it"
            raise StudyConflict(
                f"{origin(table).source} needs {said}, got {column_texts(table, column)[i]!r}"
            )
    return row


def find_labelled_rows(
    table: Table, layout: Layout, candidates: PlaceOfResults, i: int
) -> dict[str, int]:
    """Return the row that each label of the line names."""
    given = {name: column_texts(table, column)[i] for name, column in layout.labels.items()}
    rows = {name: candidates.row_with_label(name, text) for name, text in given.items() if text}
    for name, row in rows.items():
        if row is None:
            place = cell_place(table, i, layout.labels[name])
            raise StudyConflict(
                f"{origin(table).source} needs a label of a candidate {place}, got {given[name]!r}"
            )
    return {name: row for name, row in rows.items() if row is not None}


def check_labels(
    table: Table, layout: Layout, candidates: PlaceOfResults, i: int, row: int
) -> None:
    for name, other in find_labelled_rows(table, layout, candidates, i).items():
        if other != row:
            column = layout.labels[name]
            place = cell_place(table, i, column)
            said = f"{candidates.label(row)[name]!r} {place}, as row {row} has it"
            raise StudyConflict(
                f"{origin(table).source} needs {said}, got {column_texts(table, column)[i]!r}"
            )


def read_parts(
    table: Table, layout: Layout, candidates: PlaceOfResults, i: int
) -> dict[str, float | str]:
    """Return what a line says about the columns of the candidates.

    Of variables under a condition cells may be blank, and columns may not be there.
    """
    blank = {
        name
        for name in candidates.conditional
        # None may be a value of a choice, and is a blank cell too.
        if name not in layout.described
        or (
            name not in candidates.categories
            and column_texts(table, layout.described[name])[i] in ABSENT
        )
    }
    return {
        name: read_part(table, layout, candidates, name, i)
        for name in candidates.chosen
        if name not in blank
    }


def read_part(
    table: Table, layout: Layout, candidates: PlaceOfResults, name: str, i: int
) -> float | str:
    """Return what a line says about one column of the candidates."""
    column = layout.described[name]
    return (
        column_texts(table, column)[i]
        if name in candidates.categories
        else read_number(table, i, column, LARGEST)
    )


def check_keys(table: Table, results: list[Result]) -> None:
    """Check that a key stands for one result, however often it is in the table."""
    said: dict[str, Result] = {}
    for one in results:
        first = said.setdefault(one.key, one) if one.key else one
        if replace(first, line=one.line) != one:
            place = f"in {origin(table).unit} {one.line}"
            raise ValueError(
                f"{origin(table).source} needs another key {place}, "
                f"got {one.key!r} of {origin(table).unit} {first.line} again"
            )


def add_keys(file: str, results: list[Result], candidates: PlaceOfResults) -> list[Result]:
    """Give results without a key one made of file, trial or row, and values.

    Equal lines are numbered, so that a file told twice is recognised line by line.
    """
    seen: Counter[str] = Counter()
    keys = []
    for one in results:
        row: Any = None if one.row is None else candidates.key(one.row)
        row = row if one.x is None else dict(one.x)
        values = {
            name: f"{side_of(value) or ''}{canonical(value)}" for name, value in one.values.items()
        }
        said = write_compact([file, one.trial, row, values])
        keys.append(
            one.key or f"{MADE}{hashlib.sha256(f'{said}{seen[said]}'.encode()).hexdigest()[:32]}"
        )
        seen[said] += 1
    return [replace(one, key=key) for one, key in zip(results, keys, strict=True)]
