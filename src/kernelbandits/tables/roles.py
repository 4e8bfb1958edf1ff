"""Which columns of a sheet describe a candidate, and how each of them is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kernelbandits import checks
from kernelbandits.formatting import format_count
from kernelbandits.tables.cells import ABSENT, canonical, looks_numeric, truth
from kernelbandits.tables.files import COMMA_NUMBER, LARGEST, MISSING, NUMBER, Sheet
from kernelbandits.tables.frames import ARRAY
from kernelbandits.tables.headers import (
    distinct,
    find,
    find_column,
    is_nameless,
    loose,
    numbers_rows,
    other_case,
    resembles,
)

MANY_LEVELS = 50
OWN = frozenset({"trial", "row", "value", "failed", "key"})
"""Columns of results that have a meaning of their own."""
MEASURE = re.compile(r"[+-]?[0-9]")
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
LEAST_COST, LARGEST_COST = 1e-150, 1e150


class Notices(list[str]):
    """Sentences about what was taken as it came."""

    def case(self, found: str, wanted: str) -> None:
        if other_case(found, wanted):
            self.append(f"column {found!r} is used as {str(wanted)!r}")


@dataclass(frozen=True)
class Tasks:
    """What the columns of a sheet are for."""

    chosen: tuple[str, ...]
    categories: tuple[str, ...]
    cost: str | None
    allowed: str | None
    labels: tuple[str, ...]


def tasks(
    sheet: Sheet,
    columns: Iterable[str] | None,
    target: str | None,
    cost: str | None,
    allowed: str | None,
    notices: Notices,
) -> Tasks:
    price, permit = role(sheet, cost, "cost", notices), role(sheet, allowed, "allowed", notices)
    named = [] if columns is None else named_columns(sheet, columns, notices)
    result = target_column(sheet, target, [*named, price, permit], notices)
    chosen = named or default_columns(sheet, {price, permit, result}, notices)
    if not named and result is None and target is not None and sheet.file != ARRAY:
        notice_no_target(sheet, target, chosen, notices)
    categories = tuple(name for name in chosen if kind_of(sheet, name) == "category")
    free = [name for name in sheet.columns if name not in {*chosen, price, permit, result}]
    return Tasks(
        tuple(chosen),
        categories,
        price,
        permit,
        tuple(name for name in free if identifies(sheet, name)),
    )


def cells(sheet: Sheet, name: str, tasks: Tasks) -> tuple[str, ...]:
    """The column as it is kept, checked for what it is to do."""
    if name == tasks.allowed:
        check_allowed(sheet, name)
    if name == tasks.cost:
        check_cost(sheet, name)
    if name in tasks.chosen:
        return describing_cells(sheet, name, "category" if name in tasks.categories else "number")
    return number_cells(sheet, name) if name == tasks.cost else other_cells(sheet, name)


def role(sheet: Sheet, wanted: str | None, what: str, notices: Notices) -> str | None:
    """The column that holds the cost, or who is allowed."""
    if wanted is None:
        return None
    found = find_column(sheet.columns, wanted, sheet.file, f"a column for {what}")
    notices.case(found, wanted)
    return found


def target_column(
    sheet: Sheet, target: str | None, taken: Sequence[str | None], notices: Notices
) -> str | None:
    """Return the column of results, if the table has one."""
    found = None if target is None else find(sheet.columns, target)
    if found is None or (found in taken and other_case(found, str(target))):
        return None
    checks.needs(
        found not in taken,
        sheet.file,
        "a target that is not one of the columns that describe a candidate",
        found,
    )
    notices.case(found, str(target))
    told = sum(cell.casefold() not in MISSING for cell in sheet.columns[found])
    if told:
        notices.append(
            f"column {found!r} holds {format_count(told, 'result')}; to use them, "
            "tell this file as results"
        )
    return found


UNNAMED = "value"
"""The target if none was named."""


def notice_no_target(sheet: Sheet, target: str, chosen: Sequence[str], notices: Notices) -> None:
    """A table may be without results; a target that is only half of a header is a slip."""
    for name, cells in sheet.columns.items():
        if (name in chosen or not any(cells)) and resembles(name, target):
            how = "write the target in full, or name the columns that describe a candidate"
            raise ValueError(
                f"{sheet.file} needs a column {str(target)!r} or none like it, got {name!r}; {how}"
            )
    if target != UNNAMED:
        notices.append(
            f"the table has no column {str(target)!r}; "
            f"{how_many(sheet, chosen)} describe candidates"
        )


def how_many(sheet: Sheet, chosen: Sequence[str]) -> str:
    count = len(sheet.columns)
    return (
        f"all {count} columns" if len(chosen) == count else f"{len(chosen)} of its {count} columns"
    )


def named_columns(sheet: Sheet, columns: Iterable[str], notices: Notices) -> list[str]:
    checks.needs(not isinstance(columns, str), sheet.file, "a sequence of column names", columns)
    wanted = list(columns)
    found = [find_column(sheet.columns, name, sheet.file, "columns") for name in wanted]
    for name, given in zip(found, wanted, strict=True):
        notices.case(name, given)
    checks.needs(
        len(found) > 0, sheet.file, "at least one column that describes a candidate", wanted
    )
    return distinct(sheet.file, found)


def default_columns(sheet: Sheet, taken: Iterable[str | None], notices: Notices) -> list[str]:
    """All columns without another task, except those that are empty or only name the rows."""
    free = [name for name in sheet.columns if name not in set(taken)]
    filled = [name for name in free if any(sheet.columns[name])]
    labels = [name for name in filled if is_label(sheet, name)]
    chosen = [name for name in filled if name not in labels] or text_labels(sheet, labels)
    for name in free:
        if name not in chosen:
            why = "only names the rows" if name in labels else "is empty"
            notices.append(
                f"column {name!r} {why} and is left out; to use it, name it among the columns"
            )
    checks.needs(
        len(chosen) > 0,
        sheet.file,
        "at least one column that describes a candidate",
        tuple(sheet.columns),
    )
    return chosen


def is_label(sheet: Sheet, name: str) -> bool:
    """A column of row numbers, or of text that is never the same twice."""
    if name in sheet.labels or numbers_rows(name):
        return True
    cells = [cell for cell in sheet.columns[name] if cell not in ABSENT]
    return len(set(cells)) == len(cells) and kind_of(sheet, name) == "category"


def identifies(sheet: Sheet, name: str) -> bool:
    """Whether a column names every row differently, and can be used to tell results.

    Unnamed numbers cannot, nor columns that have another meaning in a file of results.
    """
    cells, known = sheet.columns[name], set(sheet.columns[name])
    if loose(name) in OWN or (is_nameless(name) and kind_of(sheet, name) == "number"):
        return False
    return is_label(sheet, name) and len(known) == len(cells) and not known & ABSENT


def text_labels(sheet: Sheet, labels: list[str]) -> list[str]:
    """Where there is nothing but names, the names are the candidates."""
    return [
        name for name in labels if not numbers_rows(name) and kind_of(sheet, name) == "category"
    ][:1]


def kind_of(sheet: Sheet, name: str) -> str:
    """Return "number" if half of the cells are numbers or all look like one, else "category"."""
    cells = [cell for cell in sheet.columns[name] if cell not in ABSENT]
    numbers = sum(sheet.value(cell, LARGEST) is not None for cell in cells)
    meant = 2 * numbers >= len(cells) or all(map(looks_numeric, cells))
    return "number" if meant else "category"


def describing_cells(sheet: Sheet, name: str, kind: str) -> tuple[str, ...]:
    """The cells of a column that counts: canonical numbers, or text without gaps."""
    try:
        return number_cells(sheet, name) if kind == "number" else text_cells(sheet, name)
    except ValueError as error:
        raise ValueError(
            f"{error}; correct it, remove the row, or name only the columns to use"
        ) from None


def number_cells(sheet: Sheet, name: str) -> tuple[str, ...]:
    return tuple(canonical(value) for value in sheet.numbers(name, LARGEST).tolist())


def text_cells(sheet: Sheet, name: str) -> tuple[str, ...]:
    cells = sheet.columns[name]
    for i, cell in enumerate(cells):
        if cell in ABSENT:
            raise ValueError(
                f"{sheet.file} needs a value {sheet.place(i, name)}, got a missing one ({cell!r})"
            )
    return cells


def check_cost(sheet: Sheet, name: str) -> None:
    for i, value in enumerate(sheet.numbers(name, LARGEST).tolist()):
        if not LEAST_COST <= value <= LARGEST_COST:
            limits = f"between {LEAST_COST:g} and {LARGEST_COST:g}"
            raise ValueError(
                f"{sheet.file} needs a cost > 0, {limits}, {sheet.place(i, name)}, got {value!r}"
            )


def check_allowed(sheet: Sheet, name: str) -> None:
    words = sheet.columns[name]
    for i, word in enumerate(words):
        if truth(word) is None:
            raise ValueError(f"{sheet.file} needs yes or no {sheet.place(i, name)}, got {word!r}")
    checks.needs(
        any(map(truth, words)), sheet.file, f"at least one allowed row in column {name!r}", "none"
    )


def other_cells(sheet: Sheet, name: str) -> tuple[str, ...]:
    """A column that does not count, as it stands; numbers get a decimal point."""
    cells = sheet.columns[name]
    numbers = all(cell in ABSENT or sheet.value(cell, LARGEST) is not None for cell in cells)
    return tuple(cell.replace(",", ".") for cell in cells) if numbers else cells


def category_remarks(sheet: Sheet, name: str) -> Iterator[str]:
    """Text that may be meant otherwise: very many values, numbers among it, numbers with units."""
    values = set(sheet.columns[name])
    numbers = sum(sheet.value(cell, LARGEST) is not None for cell in values)
    if len(values) > MANY_LEVELS:
        yield (
            f"column {name!r} is text with {len(values)} different values; "
            "any two of them are equally far apart"
        )
    if numbers:
        yield (
            f"column {name!r} is read as text, because only {numbers} of its {len(values)} "
            "different values are numbers"
        )
    if len(values) > 1 and all(MEASURE.match(cell) for cell in values):
        yield (
            f"column {name!r} is read as text; if its values are numbers with a unit, "
            "write the unit in the header"
        )


def header_remarks(sheet: Sheet) -> Iterator[str]:
    """A first line of numbers, which may be a row of a file without a header."""
    if sheet.unit == "line" and all(NUMBER.fullmatch(name) for name in sheet.columns):
        yield f"the first line is read as the names of the columns: {', '.join(sheet.columns)}"


def decimal_remarks(sheet: Sheet) -> Iterator[str]:
    """Commas that might as well separate thousands."""
    if sheet.decimal == ",":
        found = [
            cell
            for cells in sheet.columns.values()
            for cell in cells
            if COMMA_NUMBER.fullmatch(cell)
        ]
        if all(map(THOUSANDS.fullmatch, found)):
            yield f"commas are read as decimal marks: {found[0]!r} is {found[0].replace(',', '.')}"
