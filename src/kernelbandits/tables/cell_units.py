"""Units that stand in every cell of a column, such as 10 mM: they belong into its header."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from kernelbandits.tables.cells import ABSENT, parse_number
from kernelbandits.tables.headers import bare
from kernelbandits.tables.table import Column, Table

QUANTITY = re.compile(r"([+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?)(?:\s+|(?=°))([^\W\d_]\S*|°\S*)")
"""A number, and a unit behind a blank; 13C may be a name."""


def move_units_to_headers(table: Table) -> Table:
    """Return the table with columns such as `conc` of 10 mM, 20 mM as numbers of `conc (mM)`.

    The unit stays in the name, so a file of results with other units is not taken for the same
    column. A notice says what was done.
    """
    columns: dict[str, Column] = {}
    notices = list(table.notices)
    for name, column in table.columns.items():
        unit = None if name in table.labels else find_unit(column)
        title = name if bare(name) != name else f"{name} ({unit})"
        taken = title != name and title in table.columns
        if unit is None or taken or unit not in title:
            columns[name] = column
            continue
        cells = tuple(remove_unit(cell) for cell in column.texts)
        columns[title] = Column(cells, column.decimal)
        notices.append(
            f"column {name!r} has the unit {unit} in every cell and is read as numbers, as column "
            f"{title!r}"
        )
    return replace(table, columns=columns, notices=tuple(notices))


def find_unit(column: Column) -> str | None:
    """Return the unit that every cell has behind its number; None if there is none."""
    if not isinstance(column.given, tuple):
        return None
    filled = [cell for cell in column.given if cell not in ABSENT]
    # Most columns of text are told apart by their first cell.
    if not filled or not QUANTITY.fullmatch(filled[0]):
        return None
    units = set()
    for cell in set(filled):
        found = QUANTITY.fullmatch(cell)
        if found is None or math.isnan(parse_number(found[1], column.decimal)):
            return None
        units.add(found[2])
    return units.pop() if len(units) == 1 else None


def remove_unit(cell: str) -> str:
    found = QUANTITY.fullmatch(cell)
    return cell if found is None else found[1]
