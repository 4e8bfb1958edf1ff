"""Results of several targets in a file or a table: a column for each target, some cells blank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernelbandits import checks
from kernelbandits.tables.export import (
    COMBINED,
    FRONT,
    is_export,
    name_in_export,
    name_targets,
)
from kernelbandits.tables.headers import find, find_strictly
from kernelbandits.tables.results import (
    Described,
    Layout,
    Result,
    Source,
    add_keys,
    cell,
    find_candidate,
    has_failed,
    layout_of,
    notice_others,
    notice_skipped,
    read_details,
    read_exported,
    read_lines,
    value_of,
    whole_number,
)
from kernelbandits.tables.table import Table, cell_place, origin, read_number, row_place


def read_target_results(
    source: Source,
    candidates: Described,
    targets: Sequence[str],
    worksheet: str | None = None,
    off_table: bool = False,
) -> list[Result]:
    """Read the results of a table and check them all; lines without any value are left out.

    The worksheet of a workbook, and candidates off the table, are taken as by `read_results`.

    Each result has its values by target in `details`, under "values", and the standard errors of
    columns such as "stability sem" under "sems".
    """
    table = read_lines(source, worksheet)
    if not len(table):
        return []
    there = find_targets(table, candidates, targets)
    checks.needs(
        bool(there),
        origin(table).source,
        f"columns of targets among {tuple(targets)}",
        tuple(table.columns),
    )
    layout = replace(layout_of(table, candidates, next(iter(there))), off_table=off_table)
    notice_others(table, layout, candidates, own_columns(table, there))
    results = [read_line(table, layout, candidates, there, i) for i in range(len(table))]
    measured = [one for one in results if one is not None]
    notice_skipped(table, len(results) - len(measured))
    return (
        add_failure_keys(origin(table).source, measured, candidates)
        if origin(table).from_file
        else measured
    )


def find_targets(table: Table, candidates: Described, targets: Sequence[str]) -> dict[str, str]:
    """Return the column of each target that the table has."""
    if is_export(table.columns):
        shown = name_in_export([*candidates.labels, *candidates.chosen]).values()
        exported = name_targets(shown, targets)
        return {name: column for name, column in exported.items() if column in table.columns}
    strictly = {name: find_strictly(table.columns, name) for name in targets}
    found = {name: column or find(table.columns, name) for name, column in strictly.items()}
    return {name: column for name, column in found.items() if column is not None}


def own_columns(table: Table, columns: Mapping[str, str]) -> set[str]:
    """Return the columns of targets and their standard errors, and what an export has besides."""
    errors = {error_column(table, column) for column in columns.values()} - {None}
    return {*columns.values(), *map(str, errors), FRONT, COMBINED}


def error_column(table: Table, column: str) -> str | None:
    """Return the column of the standard errors of a target: its name with the word sem behind."""
    return find(table.columns, f"{column} sem")


def add_failure_keys(file: str, results: list[Result], candidates: Described) -> list[Result]:
    """Give failures keys, by which a file told twice is recognised; values need none for that."""
    failed = iter(add_keys(file, [one for one in results if one.failed], candidates))
    return [next(failed) if one.failed else one for one in results]


def read_line(
    table: Table, layout: Layout, candidates: Described, columns: Mapping[str, str], i: int
) -> Result | None:
    """Return the result in one line; None if the line has no value and no failure."""
    failed = has_failed(table, layout, i)
    state = cell(table, layout.state, i)
    values = {
        name: value_of(table, column, i)
        for name, column in columns.items()
        if cell(table, column, i) != ""
    }
    if state == "withdrawn" or not (values or failed):
        return None
    where = f"{origin(table).source}, {row_place(table, i)}"
    if values and failed and layout.state is None:
        raise ValueError(f"{where} needs no value, because the measurement failed, got {values}")
    trial = whole_number(table, layout.trial, i, 1)
    details: dict[str, Any] = read_details(table, layout, i)
    details.pop("sem", None)
    if not failed:
        details |= {"values": values} | read_errors(table, values, columns, i)
    if state == "missing":
        details["missing"] = [name for name in columns if name not in values]
    return Result(
        trial=trial,
        **find_candidate(table, layout, candidates, i, trial),
        failed=failed,
        key=cell(table, layout.key, i) or None,
        line=int(table.index[i]),
        place=where,
        exported=None if layout.state is None else read_exported(table, i),
        details=details,
    )


def read_errors(
    table: Table, values: Mapping[str, float], columns: Mapping[str, str], i: int
) -> dict[str, Any]:
    """Return the standard errors of the values of one line."""
    sems: dict[str, float] = {}
    for name in values:
        column = error_column(table, columns[name])
        if column is not None and cell(table, column, i):
            sems[name] = read_number(table, i, column)
            if sems[name] <= 0:
                place = cell_place(table, i, column)
                raise ValueError(
                    f"{origin(table).source} needs a standard error > 0 {place}, got {sems[name]:g}"
                )
    return {"sems": sems} if sems else {}
