"""Results of several targets in a file or a table: a column for each target, some cells blank."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import DataNotice
from kernelbandits.tables.headers import find, find_strictly
from kernelbandits.tables.results import (
    SHEETS,
    Described,
    Layout,
    Result,
    Source,
    cell,
    has_failed,
    layout_of,
    notice_skipped,
    read_details,
    row_of,
    says_row,
    value_of,
    whole_number,
)
from kernelbandits.tables.sources import mapping_table, read_table
from kernelbandits.tables.table import Table


def read_target_results(
    source: Source, candidates: Described, targets: Sequence[str], worksheet: str | None = None
) -> list[Result]:
    """The results of a table, all of them checked; lines without any value are left out.

    The worksheet of a workbook is found as by `read_results`.

    Each result has its values by target in `details`, under "values", and the standard errors of
    columns such as "stability sem" under "sems".
    """
    table = read_table(source, worksheet, SHEETS)
    table = mapping_table(source) if table is None else table  # type: ignore[arg-type]
    if not len(table):
        return []
    for notice in table.notices:
        warnings.warn(f"{table.source}: {notice}", DataNotice, stacklevel=3)
    columns = {name: find_strictly(table.columns, name) for name in targets}
    columns = {name: found or find(table.columns, name) for name, found in columns.items()}
    there = {name: column for name, column in columns.items() if column is not None}
    checks.needs(
        bool(there),
        table.source,
        f"columns of targets among {tuple(targets)}",
        tuple(table.columns),
    )
    layout = layout_of(table, candidates, next(iter(there)))
    results = [read_line(table, layout, candidates, there, i) for i in range(len(table))]
    measured = [one for one in results if one is not None]
    notice_skipped(table, len(results) - len(measured))
    return measured


def read_line(
    table: Table, layout: Layout, candidates: Described, columns: Mapping[str, str], i: int
) -> Result | None:
    """The values of one line; None if it has none."""
    failed = has_failed(table, layout, i)
    values = {
        name: value_of(table, column, i)
        for name, column in columns.items()
        if cell(table, column, i) != ""
    }
    if not values and not failed:
        return None
    where = f"{table.source}, {table.unit} {table.lines[i]}"
    if values and failed:
        raise ValueError(f"{where} needs no value, because the measurement failed, got {values}")
    trial = whole_number(table, layout.trial, i, 1)
    named = trial is None or says_row(table, layout, i)
    details: dict[str, Any] = read_details(table, layout, i)
    details.pop("sem", None)
    if not failed:
        details |= {"values": values} | read_errors(table, values, i)
    return Result(
        trial=trial,
        row=row_of(table, layout, candidates, i) if named else None,
        failed=failed,
        key=cell(table, layout.key, i) or None,
        line=table.lines[i],
        place=where,
        details=details,
    )


def read_errors(table: Table, values: Mapping[str, float], i: int) -> dict[str, Any]:
    """The standard errors in columns called like a target with the word sem behind it."""
    sems: dict[str, float] = {}
    for name in values:
        column = find(table.columns, f"{name} sem")
        if column is not None and cell(table, column, i):
            sems[name] = table.number(i, column)
            if sems[name] <= 0:
                place = table.place(i, column)
                raise ValueError(
                    f"{table.source} needs a standard error > 0 {place}, got {sems[name]:g}"
                )
    return {"sems": sems} if sems else {}
