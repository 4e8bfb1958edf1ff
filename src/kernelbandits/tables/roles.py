"""What the columns of a table are for: to describe a candidate, its name, its cost, its result."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from kernelbandits import checks
from kernelbandits.formatting import format_count
from kernelbandits.tables.cells import ABSENT, COMMA_NUMBER, is_number, truth
from kernelbandits.tables.headers import (
    check_distinct,
    differs_in_case,
    find,
    find_column,
    is_nameless,
    loose,
    loose_bare,
    numbers_rows,
    resembles,
)
from kernelbandits.tables.sources import ARRAY
from kernelbandits.tables.table import (
    LARGEST,
    NUMBERS,
    TEXT,
    Table,
    came_as_numbers,
    cell_place,
    column_kind,
    column_numbers,
    column_texts,
    distinct_texts,
    has_distinct_cells,
    is_empty,
    origin,
    read_numbers,
    read_texts,
    refuse_missing,
    row_place,
)

ALLOWED = "allowed"
"""The column by which an export says which rows are allowed."""
SHOWN = 3
"""How many values of a column a notice shows."""
ALIKE = 0.7
"""How alike a target and a column must be spelt, by difflib, to ask whether that one is meant."""
LISTED = 8
"""How many names of columns a notice lists."""
OWN = frozenset({"trial", "row", "value", "failed", "key"})
"""Columns of results that have a meaning of their own."""
MEASURE = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?\s*[^\W\d_].*|[+-]?[0-9.,]+\s*[°µ%/].*")
"""A number with a unit behind it."""
DATE = re.compile(
    r"[0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{1,4}([ T].*)?|[0-9]{1,2}:[0-9]{2}(:[0-9.]+)?"
)
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
LEADING_ZERO = re.compile(r"0[0-9]+")
MANY_DIGITS = re.compile(r"[+-]?[1-9][0-9]{15,300}")
WHOLE = re.compile(r"[0-9]+(?:\.0*)?")
TOTALS = frozenset(
    {"total", "totals", "sum", "grand total", "subtotal", "average", "mean", "summe", "gesamt"}
)
"""Words in the last row of a sheet that has sums or averages below its columns."""
LEAST_COST, LARGEST_COST = 1e-150, 1e150


LIMITS_HINT = 'the limits 0..100 (--limits 0..100, limits="0..100")'
"""Ends the notice that proposes limits; it is left out where they are given."""


class Notices(list[str]):
    """Sentences about what was taken as it came."""

    def note_case(self, name: str, wanted: str) -> None:
        if differs_in_case(name, wanted):
            self.append(f"column {name!r} is used as {str(wanted)!r}")


@dataclass(frozen=True)
class Roles:
    """The roles of the columns of a table."""

    chosen: tuple[str, ...]
    """Those that describe a candidate."""
    cost: str | None
    allowed: str | None
    labels: tuple[str, ...]
    """Those that name every row differently, by which results can be told."""
    named_by: str | None = None
    """The one among them that the user gave as the label."""


def find_roles(
    table: Table,
    columns: Iterable[str] | None,
    target: str | Sequence[str] | None,
    cost: str | None,
    allowed: str | None,
    notices: Notices,
    label: str | None = None,
    described: Iterable[str] = (),
) -> Roles:
    """Find what the columns are for, by what is named and by what they hold.

    described: columns of text of whose values more is known than their names.
    """
    named = [] if columns is None else find_named(table, columns, notices)
    targets = [] if target is None else [target] if isinstance(target, str) else [*target]
    if allowed is None:
        allowed = find_exported(table, {*named, *targets, cost, label}, notices)
    price, permit, naming = (
        find_role(table, wanted, what, notices)
        for wanted, what in ((cost, "cost"), (allowed, "allowed"), (label, "the label"))
    )
    taken = [*named, price, permit, naming]
    results = [find_target(table, one, taken, notices) for one in targets]
    own = permit is None or permit not in {*named, price}
    checks.needs(own, origin(table).source, "a column of its own for allowed", permit)
    if naming is not None:
        other = naming not in {*named, price, permit}
        checks.needs(other, origin(table).source, "a label that is a column of its own", naming)
        check_label(table, naming)
    known = [find_role(table, name, "descriptors", notices) for name in described]
    chosen = named or find_default(table, {price, permit, naming, *results}, notices, known)
    for one, found in zip(targets, results, strict=True):
        values = () if found is None else column_numbers(table, found)
        notices += propose_limits(str(one), values)
        if not named and found is None and origin(table).source != ARRAY:
            notice_no_target(table, one, chosen, notices)
    free = [name for name in table.columns if name not in {*chosen, price, permit, *results}]
    labels = tuple(name for name in free if name == naming or identifies(table, name))
    if named:
        for name in labels:
            if name != naming:
                notices.append(f"column {name!r} names the rows: results can be told by it")
    return Roles(tuple(chosen), price, permit, labels, naming)


def find_exported(table: Table, taken: Collection[str | None], notices: Notices) -> str | None:
    """Return the column by which an export says which rows are allowed, if the table has it."""
    if ALLOWED not in table.columns or ALLOWED in taken:
        return None
    words = [truth(word) for word in column_texts(table, ALLOWED)]
    forbidden = words.count(False)
    if None in words or forbidden in (0, len(words)):
        return None
    notices.append(
        f"column {ALLOWED!r} says yes or no: {format_count(forbidden, 'row')} with no will not be "
        "suggested; to describe candidates by it, name it among the columns"
    )
    return ALLOWED


def find_role(table: Table, wanted: str | None, what: str, notices: Notices) -> str | None:
    """Return the column that holds the cost, says which rows are allowed, or has descriptors."""
    if wanted is None:
        return None
    found = find_column(table.columns, wanted, origin(table).source, f"a column for {what}")
    notices.note_case(found, wanted)
    return found


def find_target(
    table: Table, target: str | None, taken: Sequence[str | None], notices: Notices
) -> str | None:
    """Return the column of results, if the table has one."""
    found = None if target is None else find(table.columns, target)
    if found is None or (found in taken and differs_in_case(found, str(target))):
        return None
    checks.needs(
        found not in taken,
        origin(table).source,
        "a target that is not one of the columns that describe a candidate",
        found,
    )
    notices.note_case(found, str(target))
    notice_results(table, found, notices)
    return found


def notice_results(table: Table, name: str, notices: Notices) -> None:
    """Say how many results the table holds, and which cells are neither a result nor blank."""
    texts = column_texts(table, name)
    unread = np.flatnonzero(np.isnan(column_numbers(table, name))).tolist()
    told = len(table) - len(unread)
    strange = [i for i in unread if texts[i]]
    if told:
        notices.append(
            f"column {name!r} holds {format_count(told, 'result')}; to use "
            f"{'it' if told == 1 else 'them'}, tell this file as results"
        )
    if strange:
        first = strange[0]
        notices.append(
            f"column {name!r} has {format_count(len(strange), 'cell')} without a number, such as "
            f"{texts[first]!r} in {row_place(table, first)}; as results, leave "
            "these cells blank"
        )


def propose_limits(name: str, values: Iterable[float] = ()) -> list[str]:
    """Propose the limits of a result in percent; [] if it is none, or if a value does not fit.

    >>> propose_limits("yield (%)", [12.5, 98.0])[0][:39]
    "'yield (%)' is in %: if no true value i"
    >>> propose_limits("change / %", [-3.0])
    []
    """
    if "%" not in name or any(value < 0 or value > 100 for value in values):
        return []
    return [
        f"{name!r} is in %: if no true value is below 0 or above 100, say so with {LIMITS_HINT}"
    ]


def notice_no_target(table: Table, target: str, chosen: Sequence[str], notices: Notices) -> None:
    """Add a notice if a table has no results yet; refuse a target that is a part of a header."""
    for name in table.columns:
        if (name in chosen or is_empty(table, name)) and resembles(name, target):
            how = "write the target in full, or name the columns that describe a candidate"
            raise ValueError(
                f"{origin(table).source} needs a column {str(target)!r} or none like it, got "
                f"{name!r}; {how}"
            )
    count = len(table.columns)
    whose = f"{len(chosen)} of its {format_count(count, 'column')}"
    if len(chosen) == count:
        whose = "its column" if count == 1 else f"all {count} columns"
    verb = "describes" if len(chosen) == 1 else "describe"
    listed = ", ".join(chosen[:LISTED]) + (", ..." if len(chosen) > LISTED else "")
    notices.append(
        f"the table has no column {str(target)!r}, so its results come later; "
        f"{whose} {verb} candidates: {listed}{suggest_target(target, chosen)}"
    )


def suggest_target(target: str, names: Sequence[str]) -> str:
    """Return a hint if a column is spelt almost like the target, else ""."""
    known = {loose_bare(name): name for name in names}
    alike = get_close_matches(loose(str(target)), known, n=1, cutoff=ALIKE)
    return f". If {known[alike[0]]!r} is meant, create the study with that target" if alike else ""


def find_named(table: Table, columns: Iterable[str], notices: Notices) -> list[str]:
    checks.needs(
        not isinstance(columns, str), origin(table).source, "a sequence of column names", columns
    )
    wanted = list(columns)
    found = [find_column(table.columns, name, origin(table).source, "columns") for name in wanted]
    for name, given in zip(found, wanted, strict=True):
        notices.note_case(name, given)
    checks.needs(
        len(found) > 0,
        origin(table).source,
        "at least one column that describes a candidate",
        wanted,
    )
    return check_distinct(origin(table).source, found)


def find_default(
    table: Table,
    taken: Iterable[str | None],
    notices: Notices,
    described: Collection[str | None] = (),
) -> list[str]:
    """Return all columns without another role that are neither empty nor mere names of rows.

    Names of which descriptors are known are not mere names.
    """
    free = [name for name in table.columns if name not in set(taken)]
    filled = [name for name in free if not is_empty(table, name)]
    labels = [name for name in filled if name not in described and is_label(table, name)]
    chosen = [name for name in filled if name not in labels] or text_labels(table, labels)
    for name in free:
        if name not in chosen:
            why = "only names the rows" if name in labels else "is empty"
            notices.append(
                f"column {name!r} {why} and is left out; to use it, name it among the columns"
            )
    checks.needs(
        len(chosen) > 0,
        origin(table).source,
        "at least one column that describes a candidate",
        tuple(table.columns),
    )
    return chosen


def is_label(table: Table, name: str) -> bool:
    """Tell whether a column has row numbers, or text that is never the same twice."""
    if name in origin(table).labels or numbers_rows(name):
        return True
    return column_kind(table, name) == TEXT and has_distinct_cells(table, name)


def identifies(table: Table, name: str) -> bool:
    """Tell whether a column names every row differently, and can be used to tell results.

    Unnamed numbers cannot, nor columns that have another meaning in a file of results.
    """
    if loose(name) in OWN or (is_nameless(name) and column_kind(table, name) == NUMBERS):
        return False
    return is_label(table, name) and len(distinct_texts(table, name)) == len(table)


def text_labels(table: Table, labels: list[str]) -> list[str]:
    """Return the column of names that describes the candidates where there is nothing else."""
    return [name for name in labels if not numbers_rows(name) and column_kind(table, name) == TEXT][
        :1
    ]


def check_roles(table: Table, roles: Roles) -> None:
    """Refuse a cell that its column cannot have, by line and column."""
    if roles.allowed is not None:
        check_words(table, roles.allowed)
        allowed = any(map(truth, distinct_texts(table, roles.allowed)))
        needed = f"at least one allowed row in column {roles.allowed!r}"
        checks.needs(allowed, origin(table).source, needed, "none")
    if roles.cost is not None:
        check_cost(table, roles.cost)
    for name in roles.chosen:
        try:
            if column_kind(table, name) == NUMBERS:
                read_numbers(table, name, LARGEST)
            else:
                read_texts(table, name)
        except ValueError as error:
            raise ValueError(
                f"{error}; correct it, remove the row, or name only the columns to use"
            ) from None


def check_label(table: Table, name: str, taken: Iterable[str] = ()) -> None:
    """Refuse labels that are missing, that come twice, or that could be the number of a trial.

    taken: the labels of rows that are there already.
    """
    source, seen = origin(table).source, dict.fromkeys(taken, -1)
    for i, cell in enumerate(column_texts(table, name)):
        if cell in ABSENT:
            refuse_missing(table, i, name, "a label")
        if WHOLE.fullmatch(cell):
            raise ValueError(
                f"{source} needs labels that are no whole numbers, which could be numbers of "
                f"trials, got {cell!r} {cell_place(table, i, name)}; write a letter before it, "
                f"such as 'S{cell}'"
            )
        if cell in seen:
            first = "" if seen[cell] < 0 else f", after {row_place(table, seen[cell])}"
            raise ValueError(
                f"{source} needs a label of its own for each row, got {cell!r} again "
                f"{cell_place(table, i, name)}{first}"
            )
        seen[cell] = i


def check_cost(table: Table, name: str) -> None:
    """Refuse a cost that is not positive, or so small or large that sums of costs overflow."""
    values = read_numbers(table, name, LARGEST)
    wrong = ~((values >= LEAST_COST) & (values <= LARGEST_COST))
    if wrong.any():
        i = int(wrong.argmax())
        limits = f"between {LEAST_COST:g} and {LARGEST_COST:g}"
        raise ValueError(
            f"{origin(table).source} needs a cost > 0, {limits}, {cell_place(table, i, name)}, "
            f"got {float(values[i])!r}"
        )


def check_words(table: Table, name: str) -> None:
    """Refuse a cell that says neither yes nor no."""
    words = column_texts(table, name)
    unclear = {word for word in set(words) if truth(word) is None}
    if unclear:
        i = next(i for i, word in enumerate(words) if word in unclear)
        where = cell_place(table, i, name)
        raise ValueError(f"{origin(table).source} needs yes or no {where}, got {words[i]!r}")


def remark_table(table: Table, roles: Roles, described: Collection[str] = ()) -> Iterator[str]:
    """Yield what is worth knowing about a table that was taken as it came.

    described: columns of text of whose values more is known than their names.
    """
    yield from origin(table).notices
    for name in roles.chosen:
        if column_kind(table, name) == TEXT:
            yield from remark_text(table, name, name in described)
        else:
            yield from remark_codes(table, name)
    yield from remark_header(table)
    yield from remark_decimals(table)
    yield from remark_totals(table)


def remark_text(table: Table, name: str, described: bool) -> Iterator[str]:
    """Yield remarks on a column that is read as text, and on what else may be meant by it."""
    values = list(dict.fromkeys(column_texts(table, name)))
    if len(values) == 1:
        return
    shown = ", ".join(values[:SHOWN]) + (", ..." if len(values) > SHOWN else "")
    equal = "" if described else "; any two of them are equally far apart"
    yield f"column {name!r} is text with {len(values)} different values ({shown}){equal}"
    parsed = column_numbers(table, name)
    numbers = len(np.unique(parsed[~np.isnan(parsed)]))
    if numbers:
        yield (
            f"column {name!r} is read as text, because only {numbers} of its {len(values)} "
            "different values are numbers"
        )
    if all(map(DATE.fullmatch, values)):
        yield (
            f"column {name!r} is read as text; if its values are dates or times, write numbers, "
            "such as days or seconds"
        )
    elif all(map(MEASURE.fullmatch, values)):
        yield (
            f"column {name!r} is read as text; if its values are numbers with a unit, "
            "write the unit in the header"
        )
    yield from remark_spelling(name, values)


def remark_spelling(name: str, values: Sequence[str]) -> Iterator[str]:
    """Yield a remark on words that differ only in their case or in blanks."""
    alike: dict[str, list[str]] = defaultdict(list)
    for value in values:
        alike[loose(value)].append(value)
    for words in alike.values():
        if len(words) > 1:
            yield f"column {name!r} has {words[0]!r} and {words[1]!r}, which are read as different"
            return


def remark_codes(table: Table, name: str) -> Iterator[str]:
    """Yield remarks on codes such as 007 or 12345678901234567890, which are read as numbers."""
    if came_as_numbers(table, name):
        return
    numbers, texts = column_numbers(table, name), column_texts(table, name)
    cells = [texts[i] for i in np.flatnonzero(numbers == np.trunc(numbers)).tolist()]
    zeros = next((cell for cell in cells if LEADING_ZERO.fullmatch(cell)), None)
    if zeros is not None:
        yield (
            f"column {name!r} has numbers with leading zeros, such as {zeros!r}, and is read "
            "as numbers; if it holds codes, write a letter before them"
        )
    long = (cell for cell in cells if MANY_DIGITS.fullmatch(cell))
    rounded = next((cell for cell in long if int(cell) != int(float(cell))), None)
    if rounded is not None:
        yield (
            f"column {name!r} has numbers of more than 15 digits, such as {rounded!r}, which are "
            "rounded; if it holds codes, write a letter before them"
        )


def remark_header(table: Table) -> Iterator[str]:
    """Yield a remark on a first line of numbers, which may be a row of a file without a header."""
    header = origin(table).from_file and origin(table).unit != "row"
    if header and all(map(is_number, table.columns)):
        yield f"the first line is read as the names of the columns: {', '.join(table.columns)}"


def remark_decimals(table: Table) -> Iterator[str]:
    """Yield a remark on decimal commas that might as well separate thousands."""
    if origin(table).decimal != ",":
        return
    written = [
        cell
        for name in table.columns
        for cell in column_texts(table, name)
        if "," in cell and COMMA_NUMBER.fullmatch(cell)
    ]
    if written and all(map(THOUSANDS.fullmatch, written)):
        first = written[0]
        yield f"commas are read as decimal marks: {first!r} is {first.replace(',', '.')}"


def remark_totals(table: Table) -> Iterator[str]:
    """Yield a remark on a last row of sums or averages, which is no candidate."""
    for name in table.columns if len(table) > 2 else ():
        if not came_as_numbers(table, name) and column_kind(table, name) == TEXT:
            texts = column_texts(table, name)
            last = texts[-1]
            if loose(last).rstrip(":") in TOTALS and texts.count(last) == 1:
                yield (
                    f"the last row has {last!r} in column {name!r} and is taken as a candidate; "
                    "remove it from the table if it holds sums or averages"
                )
                return
