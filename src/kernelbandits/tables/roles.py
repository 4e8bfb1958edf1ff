"""What the columns of a table are for: to describe a candidate, its name, its cost, its result."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

import numpy as np

from kernelbandits import checks
from kernelbandits.formatting import format_count
from kernelbandits.tables.cells import ABSENT, COMMA_NUMBER, is_number, truth
from kernelbandits.tables.headers import (
    LETTERS,
    check_distinct,
    differs_in_case,
    find,
    find_column,
    has_words,
    is_nameless,
    loose,
    loose_bare,
    numbers_rows,
    resembles,
)
from kernelbandits.tables.sources import ARRAY
from kernelbandits.tables.table import (
    LARGEST,
    MOST_PROBLEMS,
    NUMBERS,
    TEXT,
    Table,
    WrongCell,
    WrongCells,
    came_as_numbers,
    cell_place,
    cell_problem,
    column_kind,
    column_numbers,
    column_results,
    column_texts,
    distinct_texts,
    find_missing_texts,
    find_wrong_numbers,
    has_distinct_cells,
    has_only_results,
    is_empty,
    origin,
    problems_of,
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
REMARKS = frozenset(
    {"comment", "comments", "note", "notes", "remark", "remarks", "observation", "observations"}
    | {"bemerkung", "bemerkungen", "kommentar", "kommentare", "anmerkung", "anmerkungen"}
)
PERSONS = frozenset(
    {"operator", "by", "who", "user", "analyst", "chemist", "technician", "person", "initials"}
    | {"prepared by", "measured by", "made by", "done by", "bearbeiter", "bearbeiterin"}
)
"""What columns of text are called that say nothing about a candidate."""
RESULTS = frozenset(
    {"yield", "conversion", "selectivity", "purity", "ee", "titer", "titre", "recovery", "pce"}
    | {"result", "results", "response", "outcome"}
    | {"ausbeute", "umsatz", "selektivit\u00e4t", "reinheit", "ergebnis"}
)
"""Words in the names of columns that are measured, and not set."""
WORDS = 4
"""How many words make a sentence of a cell."""
LEAST_COST, LARGEST_COST = 1e-150, 1e150


RESULTS_HINT = "tell this file as results"
"""Ends the notice that a table has results; it is left out where they are told with it."""
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
    results: tuple[str, ...] = ()
    """Those that hold results."""


class UndecidedColumns(ValueError):
    """Columns look like results and are no targets, and nobody said what they are for."""

    def __init__(self, source: str, reasons: Mapping[str, str]) -> None:
        self.columns = tuple(reasons)
        first = self.columns[0]
        listed = "; ".join(f"{name!r} {why}" for name, why in reasons.items())
        noun = (
            "columns that look like results and are"
            if len(reasons) > 1
            else "a column that looks like a result and is"
        )
        super().__init__(
            f"{source} needs to be told the use of {noun} no target: {listed}; for each say "
            f"--target {first!r}, --not-used {first!r} or --feature {first!r} (targets=, "
            "not_used=, feature=)"
        )


def find_roles(
    table: Table,
    columns: Iterable[str] | None,
    target: str | Sequence[str] | None,
    cost: str | None,
    allowed: str | None,
    notices: Notices,
    label: str | None = None,
    described: Iterable[str] = (),
    not_used: str | Sequence[str] | None = None,
    feature: str | Sequence[str] | None = None,
) -> Roles:
    """Find what the columns are for, by what is named and by what they hold.

    described: columns of text of whose values more is known than their names.
    not_used, feature: columns that describe no candidate, and columns that do whatever they hold.
    """
    named = [] if columns is None else find_named(table, columns, notices)
    targets = as_names(target)
    if allowed is None:
        allowed = find_exported(table, {*named, *targets, cost, label}, notices)
    price, permit, naming = (
        find_role(table, wanted, what, notices)
        for wanted, what in ((cost, "cost"), (allowed, "allowed"), (label, "the label"))
    )
    unused, features = (find_listed(table, one, notices) for one in (not_used, feature))
    taken = [*named, price, permit, naming, *features]
    for name in set(unused).intersection(taken):
        raise ValueError(
            f"{origin(table).source} needs one use for column {name!r}, got not used and another"
        )
    results = [find_target(table, one, taken, notices) for one in targets]
    own = permit is None or permit not in {*named, price}
    checks.needs(own, origin(table).source, "a column of its own for allowed", permit)
    if naming is not None:
        other = naming not in {*named, price, permit}
        checks.needs(other, origin(table).source, "a label that is a column of its own", naming)
        check_label(table, naming)
    known = [find_role(table, name, "descriptors", notices) for name in described]
    if named:
        chosen = [*named, *(name for name in features if name not in named)]
    else:
        others = {price, permit, naming, *results, *unused}
        chosen = find_default(table, others, notices, [*known, *features])
    for one, found in zip(targets, results, strict=True):
        values = () if found is None else column_numbers(table, found)
        notices += propose_limits(str(one if found is None else found), values)
        if not named and found is None and origin(table).source != ARRAY:
            notice_no_target(table, one, chosen, notices)
    if targets and not named:
        open_names = [name for name in chosen if name not in features]
        refuse_undecided(table, open_names, targets, results)
    free = [name for name in table.columns if name not in {*chosen, price, permit, *results}]
    labels = tuple(name for name in free if name == naming or identifies(table, name))
    if named:
        for name in labels:
            if name != naming:
                notices.append(f"column {name!r} names the rows: results can be told by it")
    return Roles(tuple(chosen), price, permit, labels, naming, tuple(filter(None, results)))


def as_names(given: str | Sequence[str] | None) -> list[str]:
    return [] if given is None else [given] if isinstance(given, str) else [*given]


def find_listed(table: Table, wanted: str | Sequence[str] | None, notices: Notices) -> list[str]:
    """Return the columns that are named."""
    return find_named(table, as_names(wanted), notices) if wanted else []


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
    unread = np.flatnonzero(np.isnan(column_results(table, name))).tolist()
    told = len(table) - len(unread)
    strange = [i for i in unread if texts[i]]
    if told:
        notices.append(
            f"column {name!r} holds {format_count(told, 'result')}; to use "
            f"{'it' if told == 1 else 'them'}, {RESULTS_HINT}"
        )
    if strange:
        first = strange[0]
        notices.append(
            f"column {name!r} has {format_count(len(strange), 'cell')} that "
            f"{'is' if len(strange) == 1 else 'are'} no result, such as {texts[first]!r} in "
            f"{row_place(table, first)}; blank is not measured yet, and <0.5 or n.d. a limit"
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
    """Return all columns without another role, except those that describe no candidate.

    described: columns that are used whatever they hold, such as those with descriptors.
    """
    free = [name for name in table.columns if name not in set(taken)]
    reasons = {name: "" if name in described else explain_unused(table, name) for name in free}
    left_out = [name for name in free if reasons[name] not in ("", EMPTY)]
    chosen = [name for name in free if not reasons[name]] or text_labels(table, left_out)
    for name in free:
        if name not in chosen:
            notices.append(
                f"column {name!r} {reasons[name]} and is left out; to use it, name it among the "
                "columns"
            )
    checks.needs(
        len(chosen) > 0,
        origin(table).source,
        "at least one column that describes a candidate",
        tuple(table.columns),
    )
    return chosen


EMPTY, NAMES_ROWS = "is empty", "only names the rows"


def explain_unused(table: Table, name: str) -> str:
    """Return why a column does not describe candidates unless it is named; "" if it does."""
    if is_empty(table, name):
        return EMPTY
    if name in origin(table).unnamed:
        return "has no name"
    if is_label(table, name) and loose_bare(name) not in REMARKS and not has_dates(table, name):
        return NAMES_ROWS
    if column_kind(table, name) != TEXT:
        return ""
    if has_dates(table, name):
        return "has dates or times"
    if loose_bare(name) in REMARKS:
        return "has remarks"
    if loose_bare(name) in PERSONS:
        return "says who did it"
    filled = [cell for cell in column_texts(table, name) if cell not in ABSENT]
    if 2 * len(filled) < len(table):
        return "is mostly blank"
    if 2 * sum(len(cell.split()) >= WORDS for cell in filled) >= len(filled):
        return "has sentences"
    return ""


def has_dates(table: Table, name: str) -> bool:
    """Tell whether every filled cell is a date or a time."""
    values = distinct_texts(table, name)
    return bool(values) and all(map(DATE.fullmatch, values))


LABEL, LEFT_OUT, USED, OPEN = "label", "left out", "used", "open"
"""What `propose_columns` takes a column for."""


def propose_columns(table: Table, targets: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return what each column but the targets is taken for unless somebody says it, and why."""
    results = [find(table.columns, one) for one in targets]
    free = [name for name in table.columns if name not in results]
    found = dict[str, tuple[str, str]]()
    for name in free:
        reason = explain_unused(table, name)
        label = reason == NAMES_ROWS and identifies(table, name)
        found[name] = (LABEL if label else LEFT_OUT if reason else USED), reason
        if not reason and (why := explain_result(table, name, targets, results)):
            found[name] = OPEN, why
    if all(use != USED and use != OPEN for use, _ in found.values()):
        found |= dict.fromkeys(text_labels(table, free), (USED, ""))
    return found


def refuse_undecided(
    table: Table, names: Iterable[str], targets: Sequence[str], results: Sequence[str | None]
) -> None:
    """Refuse columns that may be results as well as descriptions, as nobody can tell them apart."""
    found = {name: why for name in names if (why := explain_result(table, name, targets, results))}
    if found:
        raise UndecidedColumns(origin(table).source, found)


def explain_result(
    table: Table, name: str, targets: Sequence[str], results: Sequence[str | None]
) -> str:
    """Return why a column of numbers looks like a result; "" if it does not."""
    if column_kind(table, name) != NUMBERS:
        return ""
    words = set(re.findall(r"\w+", loose_bare(name)))
    called = "is called as results are" if words & RESULTS else ""
    if not has_only_results(table, name):
        return called
    gaps = np.isnan(column_results(table, name))
    for result in results:
        if result is not None and not is_empty(table, result):
            unmeasured = np.isnan(column_results(table, result))
            if unmeasured.any() and gaps[unmeasured].all():
                return f"is blank where {result!r} is"
    if 2 * np.count_nonzero(gaps) >= len(table):
        return f"is blank in {np.count_nonzero(gaps)} of {len(table)} rows"
    limits = ~gaps & np.isnan(column_numbers(table, name))
    if limits.any():
        return f"has limits such as {column_texts(table, name)[int(limits.argmax())]!r}"
    alike = [
        one for one in targets if len(loose(one)) >= LETTERS and has_words(loose(name), loose(one))
    ]
    if alike:
        return f"is called almost as the target {alike[0]!r}"
    return called


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
    """Refuse the cells that their columns cannot have, all of them at once.

    The cells of columns that are not used may be anything.
    """
    used = {*roles.chosen, *roles.results, roles.cost, roles.allowed, roles.named_by}
    problems = problems_of(table, used, roles.chosen)
    if roles.allowed is not None:
        problems += find_unclear_words(table, roles.allowed)
    if roles.cost is not None:
        problems += find_wrong_costs(table, roles.cost)
    advice = "" if problems else ADVICE
    known = {one.cell for one in problems if one.cell}
    for name in roles.chosen:
        numbers = column_kind(table, name) == NUMBERS
        found = (
            find_wrong_numbers(table, name, LARGEST) if numbers else find_missing_texts(table, name)
        )
        problems += [one for one in found if one.cell not in known]
    if problems:
        raise WrongCells(problems, advice if len(problems) == 1 else ADVICE)
    if roles.allowed is not None:
        allowed = any(map(truth, distinct_texts(table, roles.allowed)))
        needed = f"at least one allowed row in column {roles.allowed!r}"
        checks.needs(allowed, origin(table).source, needed, "none")


ADVICE = "; correct it, remove the row, or name only the columns to use"


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


def find_wrong_costs(table: Table, name: str) -> Iterator[WrongCell]:
    """Yield costs that are not positive, or so small or large that sums of costs overflow."""
    yield from find_wrong_numbers(table, name, LARGEST)
    values = column_numbers(table, name)
    limits = f"between {LEAST_COST:g} and {LARGEST_COST:g}"
    for i in np.flatnonzero((values < LEAST_COST) | (values > LARGEST_COST))[
        :MOST_PROBLEMS
    ].tolist():
        yield cell_problem(table, i, name, f"a cost > 0, {limits},", repr(float(values[i])))


def find_unclear_words(table: Table, name: str) -> Iterator[WrongCell]:
    """Yield cells that say neither yes nor no."""
    words = column_texts(table, name)
    unclear = {word for word in set(words) if truth(word) is None}
    wrong = (i for i, word in enumerate(words) if word in unclear) if unclear else ()
    for i in islice(wrong, MOST_PROBLEMS):
        yield cell_problem(table, i, name, "yes or no", repr(words[i]))


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
