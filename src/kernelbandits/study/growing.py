"""A table of candidates that changes: rows and columns added, rows forbidden and allowed again.

A change is described by a dictionary that a log keeps, and a table is changed by it:

    changed = grow_candidates(candidates, read_additions("more.csv", candidates).body)

Rows are added at the end, so the number of a row stays. The scales of columns stay too: a value
outside the range of its column gets a coordinate below 0 or above 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import LARGEST_COORDINATE, Array, StudyConflict
from kernelbandits.formatting import format_names
from kernelbandits.tables.cells import ABSENT, parse_typed, text_of
from kernelbandits.tables.headers import find, find_column
from kernelbandits.tables.roles import check_label, find_unclear_words, find_wrong_costs
from kernelbandits.tables.sources import array_table, read_table
from kernelbandits.tables.table import (
    LARGEST,
    MOST_ROWS,
    NUMBERS,
    TEXT,
    Table,
    cell_place,
    column_kind,
    column_texts,
    origin,
    read_numbers,
    read_texts,
    refuse_problems,
)

if TYPE_CHECKING:
    from kernelbandits.study.candidates import Candidates

Cells = Array | tuple[str, ...]
"""A column: numbers, or text."""
FAR = 0.5
"""A row is far outside if it is farther from the range of a column than this share of the range."""
LISTED = 3
"""How many rows far outside a notice lists."""
YES = "yes"


@dataclass(frozen=True)
class Additions:
    """Rows to be added to a table."""

    body: dict[str, Any]
    """As a log keeps them: cells by column, new columns, ranges of columns that had none."""
    notices: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many rows they are."""
        return max(map(len, self.body["columns"].values()), default=0)


def read_additions(
    source: Any, candidates: Candidates, columns: Mapping[str, Any] | None = None
) -> Additions:
    """Read rows to add from a file, a DataFrame or an array with the columns of the table.

    columns: new columns that describe candidates, with the value that the old rows have there.
    """
    refuse_growth(candidates, "add")
    added = dict(columns or {})
    for name in added:
        needed = "new columns that the table does not have"
        checks.needs(name not in candidates.columns, "add", needed, name)
    table = read_table(source)
    if table is None:
        table = array_table(source, [*candidates.chosen, *added])
    checks.needs(len(table) > 0, origin(table).source, "at least one row", 0)
    total = len(candidates) + len(table)
    checks.needs(
        total <= MOST_ROWS, origin(table).source, f"at most {MOST_ROWS} rows in all", total
    )
    where = {name: find_cells(table, candidates, name) for name in candidates.columns}
    cells = {name: read_cells(table, candidates, name, column) for name, column in where.items()}
    fresh: dict[str, list[Any]] = {}
    for name, old in added.items():
        fresh[name], cells[name] = read_new_column(table, name, old)
    body: dict[str, Any] = {"columns": cells, "new": fresh}
    body["ranges"] = fix_ranges(candidates, body)
    used = {*where.values(), *(find(table.columns, name) for name in added)}
    others = [name for name in table.columns if name not in used]
    left = [f"columns {others} are not in the table of the study and are left out"]
    notices = [*origin(table).notices, *(left if others else [])]
    check_reach(
        candidates,
        body,
        origin(table).source,
        lambda i, name: cell_place(table, i, where.get(name) or name),
    )
    return Additions(body, (*notices, *remark_additions(candidates, body)))


def list_cells(source: Any) -> Any:
    """Return the cells of rows to add: a file is the same again if its cells are."""
    table = read_table(source)
    if table is None:
        return source
    return {name: column_texts(table, name) for name in table.columns}


def refuse_growth(candidates: Candidates, owner: str) -> None:
    """Refuse a new candidate where candidates are known by their similarity only."""
    if candidates.by_similarity:
        raise StudyConflict(
            f"{owner} needs a study of a table for a candidate that it does not have, got one of a "
            "Gram matrix or graph, which has no similarity of a new candidate to the others; "
            "create another study with the larger matrix"
        )


def find_cells(table: Table, candidates: Candidates, name: str) -> str | None:
    """Return the column of a file for a column of the table; None if it may be missing."""
    found = find(table.columns, name)
    needed = (*candidates.chosen, candidates.cost, candidates.named_by)
    if found is None and name in needed:
        raise ValueError(
            f"{origin(table).source} needs a column {name!r}, as the table of the study has it, "
            f"got {format_names(table.columns)}"
        )
    return found


def read_cells(table: Table, candidates: Candidates, name: str, column: str | None) -> list[Any]:
    """Return the cells of the new rows in one column, checked as those of the table were."""
    if column is None:
        return [YES if name == candidates.allowed else ""] * len(table)
    if name == candidates.cost:
        refuse_problems(find_wrong_costs(table, column))
        return list(read_numbers(table, column, LARGEST).tolist())
    if name == candidates.named_by:
        check_label(table, column, candidates.texts(name))
    if name == candidates.allowed:
        refuse_problems(find_unclear_words(table, column))
    if name not in candidates.chosen:
        return list(column_texts(table, column))
    if name in candidates.categories:
        return read_texts(table, column)
    values = read_numbers(table, column, LARGEST)
    if name in candidates.log and values.min() <= 0:
        i = int((values <= 0).argmax())
        raise ValueError(
            f"{origin(table).source} needs values > 0 in a column that is scaled by its "
            f"logarithms, got {values[i]:g} {cell_place(table, i, column)}"
        )
    return list(values.tolist())


def read_new_column(table: Table, name: str, old: Any) -> tuple[list[Any], list[Any]]:
    """Read a column that is new: kind and value for the old rows, and the cells of the new rows."""
    column = find_column(table.columns, name, origin(table).source, f"the new column {name!r}")
    text = text_of(old)
    checks.needs(text not in ABSENT, "add", f"a value of {name!r} for the old rows", old)
    number = parse_typed(text)
    if not math.isnan(number) and column_kind(table, column) == NUMBERS:
        return [NUMBERS, number], read_numbers(table, column, LARGEST).tolist()
    return [TEXT, text], read_texts(table, column)


def fix_ranges(candidates: Candidates, body: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return ranges for columns of numbers that had none: new ones, and constant ones."""
    found: dict[str, list[float]] = {}
    for name in candidates.chosen:
        if name in candidates.categories or name in candidates.varying:
            continue
        every = [candidates.range(name)[0], *body["columns"][name]]
        found[name] = [min(every), max(every)]
    for name, (kind, old) in body["new"].items():
        if kind == NUMBERS:
            every = [old, *body["columns"][name]]
            found[name] = [min(every), max(every)]
    return found


def check_reach(
    candidates: Candidates, body: Mapping[str, Any], owner: str, place: Callable[[int, str], str]
) -> None:
    """Refuse new rows so far outside the range of a column that the model cannot be fitted to them.

    place: the number of a new row and a column -> where the cell stands.
    """
    after, before = grow_candidates(candidates, body), len(candidates)
    for name in after.varying:
        if name in after.categories:
            continue
        # A coordinate may be too large for a float: infinity is too large here, too.
        with np.errstate(over="ignore"):
            places = np.abs(after.coordinates(name)[before:])
        if places.max() > LARGEST_COORDINATE:
            i, (low, high) = int(places.argmax()), after.range(name)
            raise ValueError(
                f"{owner} needs a value within {LARGEST_COORDINATE:g} times the range {low:g} to "
                f"{high:g}, by which the model scales the column, {place(i, name)}, "
                f"got {after.numbers(name)[before + i]:g}"
            )


def remark_additions(candidates: Candidates, body: Mapping[str, Any]) -> Iterator[str]:
    """Yield remarks on rows that are added: new values, values far outside, repeated candidates."""
    after, before = grow_candidates(candidates, body), len(candidates)
    for name in candidates.chosen:
        if name in candidates.categories:
            fresh = [one for one in after.levels(name) if one not in candidates.levels(name)]
            if fresh:
                yield f"column {name!r} has new values: {', '.join(fresh[:LISTED])}"
            descriptors = candidates.descriptors.get(name)
            if descriptors is not None:
                by_name = [one for one in fresh if one not in descriptors.places]
                if by_name:
                    yield f"values of {name!r} without descriptors: {', '.join(by_name[:LISTED])}"
        elif name in after.varying:
            yield from remark_outside(after, name, before)
    for name in body["new"]:
        if name not in after.varying:
            yield f"the new column {name!r} has the same value in every row and has no effect"
    repeated = int((after.first_rows[before:] != np.arange(before, len(after))).sum())
    if repeated:
        size = len(after) - before
        yield f"{repeated} of {size} rows describe the same candidate as an earlier one"
    yield from remark_allowed_again(after, before)


def list_first(texts: Sequence[str]) -> str:
    """Return the first few of many texts, and how many more there are."""
    more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return ", ".join(texts[:LISTED]) + more


def remark_allowed_again(candidates: Candidates, before: int) -> Iterator[str]:
    """Yield a remark on new rows by which a forbidden candidate can be suggested again.

    A row is forbidden, and not what it describes: the new row may be a new sample, or one that can
    be made now. So it is allowed, and that is said.
    """
    allowed, first = candidates.allowed_rows, candidates.first_rows
    earlier = {*first[:before][allowed[:before]].tolist()}
    forbidden = {*first[:before].tolist()} - earlier - candidates.off_table
    again = [
        row
        for row in range(before, len(candidates))
        if allowed[row] and int(first[row]) in forbidden
    ]
    if again:
        listed = list_first(
            [f"{candidates.name(row)} (as {candidates.name(int(first[row]))})" for row in again]
        )
        yield (
            f"{listed}: the same candidate as a forbidden row. The new row is allowed, so "
            "the candidate can be suggested again; forbid the new row too if it cannot be made"
        )


def remark_forbidden(
    candidates: Candidates, rows: Sequence[int], pending: Sequence[int]
) -> Iterator[str]:
    """Yield what may still be measured of forbidden rows: pending trials, and equal rows."""
    if pending:
        listed = ", ".join(map(str, pending))
        yield f"pending trials of these rows: {listed}; their results still count, or release them"
    first, allowed = candidates.first_rows, candidates.allowed_rows
    same = np.isin(first, first[list(rows)]) & allowed
    others = np.flatnonzero(same).tolist()
    if others:
        listed = list_first([candidates.name(row) for row in others])
        yield (
            f"the same candidate is still allowed as {listed}, so it can be suggested; "
            "forbid that too if it cannot be made"
        )


def remark_outside(candidates: Candidates, name: str, before: int) -> Iterator[str]:
    """Yield a remark on rows that are far outside the range by which a column is scaled."""
    places: Array = candidates.coordinates(name)[before:]
    outside = before + np.flatnonzero((places < -FAR) | (places > 1 + FAR))
    if not len(outside):
        return
    low, high = candidates.range(name)
    values = candidates.numbers(name)
    listed = list_first([f"{candidates.name(row)} ({values[row]:g})" for row in outside.tolist()])
    yield (
        f"{listed}: far outside {low:g} to {high:g}, by which the model scales the column "
        f"{name!r}; the scale stays as it was fixed, so estimates there are extrapolated"
    )


def draft_point(candidates: Candidates, x: Mapping[str, Any]) -> Additions:
    """Return the addition of a candidate that is not in the table: it is never suggested."""
    refuse_growth(candidates, "tell")
    given = candidates.parse_point(x)
    for name in candidates.log:
        positive = float(given[name]) > 0
        checks.needs(positive, "tell", f"a value > 0 for {name!r}, a column of logarithms", given)
    known: dict[str, Any] = {**given}
    if candidates.cost is not None and candidates.costs is not None:
        # Nobody pays for a point that is never suggested, but a cost there must be.
        known[candidates.cost] = float(candidates.costs.max())
    cells = {name: [known.get(name, "")] for name in candidates.columns}
    body: dict[str, Any] = {"columns": cells, "new": {}, "off_table": True}
    if candidates.allowed is not None:
        cells[candidates.allowed] = ["no"]
    body["ranges"] = fix_ranges(candidates, body)
    check_reach(candidates, body, "tell", lambda i, name: f"in column {name!r}")
    return Additions(body, tuple(remark_additions(candidates, body)))


def grow_candidates(candidates: Candidates, body: Mapping[str, Any]) -> Candidates:
    """Return the table with rows and columns added, as a log has kept them."""
    candidates = pad_lost_rows(candidates, body)
    before, cells, fresh = len(candidates), body["columns"], body["new"]
    size = len(next(iter(cells.values())))
    columns: dict[str, Cells] = {
        name: extend_cells(known, cells[name]) for name, known in candidates.columns.items()
    }
    for name, (kind, old) in fresh.items():
        first: Cells = np.full(before, old) if kind == NUMBERS else (old,) * before
        columns[name] = extend_cells(first, cells[name])
    fixed = {
        name: candidates.range(name)
        for name in candidates.chosen
        if name not in candidates.categories
    }
    ranges = {name: (low, high) for name, (low, high) in body["ranges"].items()}
    rows = range(before, before + size) if body.get("off_table") else ()
    return replace(
        candidates,
        columns=columns,
        chosen=(*candidates.chosen, *fresh),
        ranges={**fixed, **ranges},
        off_table=candidates.off_table | {*rows},
        changed=True,
    )


def pad_lost_rows(candidates: Candidates, body: Mapping[str, Any]) -> Candidates:
    """Return the table with rows in place of lost ones, so that later rows keep their numbers.

    Only a study that was salvaged has any. They are never suggested, and nothing is known of them.
    """
    lost = int(body.get("first", len(candidates))) - len(candidates)
    if lost <= 0:
        return candidates
    cells = {name: [known[0]] * lost for name, known in candidates.columns.items()}
    named = {name: [""] * lost for name in candidates.labels}
    filler = {"columns": {**cells, **named}, "new": {}, "ranges": {}, "off_table": True}
    return grow_candidates(candidates, filler)


def extend_cells(cells: Cells, more: Sequence[Any]) -> Cells:
    if isinstance(cells, np.ndarray):
        return np.concatenate([cells, np.array(more, dtype=np.float64)])
    return (*cells, *more)


def permit_rows(candidates: Candidates, rows: Iterable[int], permitted: bool) -> Candidates:
    """Return the table with some rows forbidden, or allowed again."""
    return replace(candidates, overrides={**candidates.overrides, **dict.fromkeys(rows, permitted)})


def check_permission(candidates: Candidates, rows: Sequence[int], permitted: bool) -> None:
    """Refuse to forbid all rows, and to allow or forbid what is so already or is off the table."""
    owner = "allow" if permitted else "forbid"
    for row in rows:
        if row in candidates.off_table:
            raise StudyConflict(
                f"{owner} needs rows of the table, got row {row}, a point off the table, which is "
                "never suggested; to have it suggested, add it to the table"
            )
        if bool(candidates.allowed_rows[row]) is permitted:
            state = "allowed" if permitted else "forbidden"
            raise StudyConflict(
                f"{owner} needs rows that are not {state} yet, got {candidates.name(row)}"
            )
    if not permit_rows(candidates, rows, permitted).allowed_rows.any():
        raise StudyConflict(f"{owner} needs at least one row that stays allowed, got all of them")
