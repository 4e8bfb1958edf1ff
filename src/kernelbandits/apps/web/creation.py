"""New studies: what was understood of a table, the roles of its columns, and ranges."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.apps.web.inputs import (
    drop_missing,
    read_number,
    read_optional_number,
    read_setting,
    read_whole,
)
from kernelbandits.apps.web.library import Library
from kernelbandits.apps.web.uploads import Upload
from kernelbandits.apps.web.visitors import SubmittedForm
from kernelbandits.domains import Forbidden, LinearConstraint, MixedBox
from kernelbandits.domains.entries import ANY, parse_choices
from kernelbandits.domains.space_files import remark_recipe, space_from_file
from kernelbandits.study import Study
from kernelbandits.study.arguments import PAGE
from kernelbandits.study.candidates import Candidates, read_candidates
from kernelbandits.study.settings import Setting, settings_of
from kernelbandits.study.targets import AIM, MAXIMIZE, WITHIN, Target
from kernelbandits.tables import scaling
from kernelbandits.tables.cells import ERRORS, MISSING
from kernelbandits.tables.layout import NoHeader
from kernelbandits.tables.matrices import is_similarity
from kernelbandits.tables.results import read_results
from kernelbandits.tables.roles import LABEL, LEFT_OUT, LIMITS_HINT, OPEN, propose_columns
from kernelbandits.tables.sources import read_table
from kernelbandits.tables.table import (
    NUMBERS,
    Table,
    WrongCells,
    column_kind,
    column_numbers,
    column_texts,
    has_only_numbers,
    is_empty,
    origin,
)

DESCRIBES, NAMES, RESULT, COST, ALLOWED, UNUSED = (
    "describes the candidate",
    "names the row",
    "result",
    "cost",
    "allowed (yes or no)",
    "not used",
)
UNDECIDED = "a result, or not?"
"""The role of a column that looks like a result, until somebody says what it is."""
ROLES = (DESCRIBES, NAMES, RESULT, COST, ALLOWED, UNUSED)
SCALES = ("automatic", "linear", "logarithmic")
TARGETS = frozenset({"target", "result", "response", "yield", "score", "value", "y"})
"""Names of a column that is probably the result."""
RESULTS_HINT = "tell this file as results"
"""The end of a notice for those who create a study by a command."""
SIMILARITY = (
    "{file} is a symmetric matrix of {n} by {n} numbers: the similarity of candidates, or the "
    "edges of a graph, and no table of candidates. This page makes studies of tables and ranges; "
    "a study of a matrix is created by the command `kernelbandits study create NAME.db "
    "--gram {file} --target RESULT` (--graph for edges) in the folder of this page, and is then "
    "shown here"
)
SHOWN_ROWS = 8
MOST_SHOWN, MOST_MENDED = 30, 50
"""Columns of the file as it stands, and wrong cells, that the page shows."""
FREE_LINES = 2
"""Empty lines for further targets on a form that has none; "Check again" brings another."""
OFFERED = settings_of(PAGE)
"""Settings that the page has fields for."""


# ---------------------------------------------------------------------- settings of both forms


@dataclass(frozen=True)
class TargetLine:
    """The line of a form about one thing that is measured, as the texts that were typed."""

    target: str = ""
    direction: str = MAXIMIZE
    aim: str = ""
    low: str = ""
    high: str = ""
    weight: str = ""
    limit: str = ""

    @classmethod
    def of(cls, target: Target) -> TargetLine:
        """Return the line of a target that a study has."""
        parts = {part: getattr(target, part) for part in WORDS}
        texts = {part: "" if value is None else f"{value:.15g}" for part, value in parts.items()}
        if target.is_limit:
            texts["weight"] = ""
        return cls(target.name, target.direction, **texts)

    @property
    def has_details(self) -> bool:
        """Whether more is said than its direction."""
        details = (self.aim, self.low, self.high, self.weight, self.limit)
        return self.direction in (AIM, WITHIN) or any(details)

    def read(self) -> Target:
        """Return the target, if all that was typed of it fits together."""
        owner, meets = f"the result {self.target!r}", self.direction == AIM
        checks.needs(meets or not self.aim, owner, f"the direction {AIM_WORDS!r}", self.aim)
        if meets and not self.aim:
            raise ValueError(f"{owner} needs {AIM_WORDS} in its field")
        within = self.direction == WITHIN
        if within and not (self.low or self.high):
            raise ValueError(f"{owner} needs the least or the greatest value allowed, or both")
        both = within or bool(self.low) == bool(self.high)
        checks.needs(both, owner, "both ends of its range, or none", self.low or self.high)
        parts = ("aim", "low", "high", "weight", "limit")
        numbers = {
            part: read_optional_number(f"{WORDS[part]} of {self.target!r}", getattr(self, part))
            for part in parts
        }
        return Target(self.target, self.direction, **drop_missing(**numbers))


AIM_WORDS = "a value to be met"
WORDS = {
    "aim": "the value to be met",
    "low": "the range",
    "high": "the range",
    "weight": "the weight",
    "limit": "the limit",
}
"""What the form calls the parts of a target."""


def read_lines(form: SubmittedForm) -> list[TargetLine]:
    """Return the lines of a form about several things that are measured."""
    columns = [form.texts(f"more-{part}") for part in asdict(TargetLine())]
    return [TargetLine(*cells) for cells in zip_longest(*columns, fillvalue="")]


@dataclass(frozen=True)
class Aims:
    """The answers that both forms ask for beside the candidates, as the texts that were typed."""

    name: str = ""
    first: TargetLine = TargetLine()
    more: tuple[TargetLine, ...] = ()
    """The further things that are measured."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """What was typed for each setting, by its name."""

    @classmethod
    def of(cls, form: SubmittedForm) -> Aims:
        texts = {one.name: form.text(one.name) for one in OFFERED}
        parts = asdict(TargetLine())
        first = TargetLine(**{part: form.text(part, usual) for part, usual in parts.items()})
        lines = read_lines(form)
        # A line with details and without a name is refused when the study is created.
        more = tuple(one for one in lines if one.target or one.has_details)
        return cls(form.text("name"), first, more, texts)

    @property
    def lines(self) -> tuple[TargetLine, ...]:
        return (self.first, *self.more)

    @property
    def targets(self) -> list[str]:
        """All that is measured."""
        return [one.target for one in self.lines]

    @property
    def free_lines(self) -> list[TargetLine]:
        """The empty lines of the form for further targets."""
        return [TargetLine()] * max(1, FREE_LINES - len(self.more))

    def with_results(self, results: Sequence[str], columns: Container[str]) -> Aims:
        """Make targets of the columns that are results; what was typed of them stays.

        A typed name that is no column of the table stays too: its results come later. A column
        with another role is no target. A first line without a name is about the first result.
        """
        unseen = [name for name in results if name not in self.targets]
        first = self.first
        if unseen and not first.target:
            first = replace(first, target=unseen.pop(0))
        lines = [
            one for one in (first, *self.more) if one.target in results or one.target not in columns
        ]
        first, *more = [*lines, *map(TargetLine, unseen)] or [first]
        return replace(self, first=first, more=tuple(more))

    @property
    def fields(self) -> list[tuple[Setting, str]]:
        """The settings that the form offers, each with what was typed."""
        return [(one, self.texts.get(one.name, "")) for one in OFFERED]

    @property
    def has_settings(self) -> bool:
        """Whether a setting differs from its default."""
        return any(text not in ("", one.default) for one, text in self.fields)

    @property
    def is_plain(self) -> bool:
        """Whether one thing is measured of which more, or less, is better: no desirability."""
        return not self.more and not self.first.has_details

    def settings(self) -> dict[str, Any]:
        """Return the arguments of `Study.create`."""
        target = self.first.target
        checks.needs(bool(target), "a new study", "the name of what is measured", target)
        given = {one.name: read_setting(one, text) for one, text in self.fields if text}
        return {"targets": [line.read() for line in self.lines], **given}


def suggest_name(text: str, fixed: str | None, taken: Container[str] = ()) -> str:
    """Return a name for a study from that of a file, with a number if the name is taken.

    >>> suggest_name("my films", None, {"my-films", "my-films-2"})
    'my-films-3'
    """
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-_")[:40] or "study"
    numbered = [plain, *(f"{plain}-{number}" for number in range(2, 100))]
    return fixed or next((name for name in numbered if name not in taken), plain)


# ---------------------------------------------------------------------- from a table


@dataclass(frozen=True)
class ColumnChoice:
    """A column of a table: what it has, and what it is taken for."""

    name: str
    kind: str
    sample: str
    role: str
    scale: str
    reason: str = ""
    """Why it was proposed as not used, or why it may be a result."""


@dataclass(frozen=True)
class Mended:
    """A cell of the table that cannot be used, or in place of which something was typed."""

    cell: str
    said: str
    typed: str = ""


@dataclass(frozen=True)
class FileReading:
    """How the file is read, where somebody said it."""

    worksheet: str | None = None
    header_row: int | None = None
    cells: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, form: SubmittedForm) -> FileReading:
        row = form.text("choose-header") or form.text("header-row")
        typed = zip(form.texts("cell-name"), form.texts("cell-text"), strict=False)
        return cls(
            form.optional("worksheet"),
            read_whole("the row of the names", row) if row else None,
            {name: text for name, text in typed if text},
        )

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `Study.create` and `tell_all`."""
        return {
            "worksheet": self.worksheet,
            "header_row": self.header_row,
            "cells": dict(self.cells) or None,
        }


@dataclass(frozen=True)
class Preview:
    """A table as it was understood, before a study is created from it."""

    columns: Sequence[ColumnChoice]
    rows: Sequence[Sequence[str]]
    count: int
    aims: Aims
    notices: Sequence[str] = ()
    problem: str = ""
    results: int = 0
    """How many results the table has already."""
    tell_results: bool = True
    reading: FileReading = FileReading()
    wrong: Sequence[Mended] = ()
    """Cells to be mended, and those that were."""
    marked: Collection[str] = ()
    """The cells that cannot be used."""
    lines: Sequence[int] = ()
    """The number of each row that is shown, in a file of cells."""
    letters: Mapping[str, str] = field(default_factory=dict)
    """Column -> its letters in the file."""
    header: int = 0
    first_rows: Sequence[tuple[int, Sequence[str]]] = ()
    """The first rows of the file as they stand, of which one has the names."""

    @property
    def rest(self) -> int:
        return self.count - len(self.rows)

    @property
    def result_columns(self) -> list[str]:
        return result_names(self.columns)

    def describe_misplaced(self, typed: Sequence[str]) -> str:
        """Say which name typed as what is measured is a column with another role; "" if none is."""
        for one in self.columns:
            if one.name in typed and one.role != RESULT:
                return (
                    f"{one.name!r} is a column whose role is {one.role!r}, so it is not among what "
                    f"is measured; give it the role {RESULT!r}, or name another result"
                )
        return ""


def preview_table(
    upload: Upload,
    form: SubmittedForm | None,
    fixed: str | None = None,
    worksheet: str | None = None,
    taken: Container[str] = (),
    header_row: int | None = None,
) -> Preview:
    """Read a table with the roles that a form gives, or with guesses."""
    reading = FileReading(worksheet, header_row) if form is None else FileReading.of(form)
    try:
        table = read_table(upload.path, checked=False, **reading.options)
    except NoHeader as error:
        aims = Aims(name=suggest_name(upload.path.stem, fixed, taken))
        shown = as_rows(error.rows)
        return Preview([], [], 0, aims, problem=str(error), reading=reading, first_rows=shown)
    assert table is not None
    about = origin(table)
    if form is not None and form.text("shown-header", str(about.header)) != str(about.header):
        # Other columns have other roles.
        form = None
    if is_similarity(table):
        raise ValueError(SIMILARITY.format(file=upload.path.name, n=len(table)))
    if form is None:
        targets = guess_targets(table)
        name = suggest_name(upload.path.stem, fixed, taken)
        aims = Aims(name=name).with_results(targets, table.columns)
        columns = guess_columns(table, targets)
    else:
        columns = chosen_columns(table, form)
        aims = Aims.of(form).with_results(result_names(columns), table.columns)
    rows = [
        [column_texts(table, name)[i] for name in table.columns]
        for i in range(min(SHOWN_ROWS, len(table)))
    ]
    found = Preview(
        columns,
        rows,
        len(table),
        aims,
        notices=about.notices,
        reading=reading,
        wrong=[Mended(cell, "typed here", text) for cell, text in reading.cells.items()],
        lines=table.index[: len(rows)].tolist() if about.positions else (),
        letters=about.positions,
        header=about.header,
        first_rows=as_rows(about.first_rows),
        tell_results=form is None or form.has("tell-results"),
    )
    try:
        candidates = read_roles(upload, columns, aims.targets, reading)
    except WrongCells as error:
        cells = [one for one in error.cells if one.cell][:MOST_MENDED]
        mended = [
            Mended(one.cell, f"{one.column}: needs {one.needed}, got {one.got}") for one in cells
        ]
        known = {one.cell for one in mended}
        rest = [one for one in found.wrong if one.cell not in known]
        wrong = count_wrong(len(error.cells))
        problem = wrong if mended else str(error)
        return replace(found, problem=problem, wrong=[*mended, *rest], marked=known)
    except ValueError as error:
        return replace(found, problem=str(error))
    # That the table has results is said by a field of its own, and so are limits that were typed.
    said = (RESULTS_HINT, LIMITS_HINT) if aims.texts.get("limits") else (RESULTS_HINT,)
    notices = [one for one in candidates.notices if not one.endswith(said)]
    return replace(found, notices=notices, results=count_results(table, columns))


def count_results(table: Table, columns: Sequence[ColumnChoice]) -> int:
    """Count the rows of a table that have a result."""
    told = [find_gaps(table, one.name) for one in columns if one.role == RESULT]
    return len(table) - len(set.intersection(*told)) if told else 0


def find_gaps(table: Table, name: str) -> set[int]:
    """Return the rows in which a column has no value."""
    texts = column_texts(table, name)
    return {row for row, text in enumerate(texts) if text.casefold() in MISSING}


def find_blanks(table: Table, name: str) -> set[int]:
    """Return the rows in which a column has no value; none if a cell says that it is wrong."""
    wrong = any(text in ERRORS for text in column_texts(table, name))
    return set() if wrong else find_gaps(table, name)


def filled_cells(table: Table, name: str) -> list[str]:
    return [text for text in column_texts(table, name) if text.casefold() not in MISSING]


def guess_targets(table: Table) -> list[str]:
    """Return the columns that are probably results.

    These are the first with gaps, and all that have the same gaps: they were measured together.
    Without gaps, it is a column that has the name of a result.
    """
    wrong = {one.column for one in origin(table).problems}
    gaps = {
        name: missing
        for name in table.columns
        if has_only_numbers(table, name)
        and name not in wrong
        and (missing := find_blanks(table, name))
    }
    if gaps:
        first = next(iter(gaps.values()))
        return [name for name, missing in gaps.items() if missing == first]
    return [name for name in table.columns if name.casefold() in TARGETS][:1]


def as_rows(rows: Sequence[tuple[int, Mapping[int, str]]]) -> list[tuple[int, list[str]]]:
    """Return the first rows of a file as lists of cells, each with its number."""
    shown = rows[:SHOWN_ROWS]
    width = min(max((max(cells, default=0) for _, cells in shown), default=0), MOST_SHOWN)
    return [(line, [cells.get(i, "") for i in range(1, width + 1)]) for line, cells in shown]


def count_wrong(count: int) -> str:
    cells = "1 cell needs" if count == 1 else f"{count} cells need"
    return f"{cells} another value; type it below, or give the column another role"


def guess_columns(table: Table, targets: Sequence[str]) -> list[ColumnChoice]:
    """Return the columns with the roles that a study would give them by itself."""
    proposed = propose_columns(table, targets)

    def describe(name: str) -> ColumnChoice:
        if name in targets:
            return describe_column(table, name, RESULT, SCALES[0])
        use, reason = proposed[name]
        role = {LABEL: NAMES, LEFT_OUT: UNUSED, OPEN: UNDECIDED}.get(use, DESCRIBES)
        values = np.unique(column_numbers(table, name)) if role == DESCRIBES else np.zeros(0)
        numbers = column_kind(table, name) == NUMBERS and not np.isnan(values).any()
        log = role == DESCRIBES and numbers and scaling.choose_scale(values) == scaling.LOG
        one = describe_column(table, name, role, SCALES[2] if log else SCALES[0])
        return replace(one, reason=reason)

    return [describe(name) for name in table.columns]


def chosen_columns(table: Table, form: SubmittedForm) -> list[ColumnChoice]:
    """Return the columns with the roles and scales that the form gives them, by position."""
    roles, scales = form.starting_with("role-"), form.starting_with("scale-")
    known = (*ROLES, UNDECIDED)
    return [
        describe_column(
            table,
            name,
            roles.get(str(i), UNUSED) if roles.get(str(i)) in known else UNUSED,
            scales.get(str(i), SCALES[0]) if scales.get(str(i)) in SCALES else SCALES[0],
        )
        for i, name in enumerate(table.columns)
    ]


def describe_column(table: Table, name: str, role: str, scale: str) -> ColumnChoice:
    values = list(dict.fromkeys(filled_cells(table, name)))
    sample = ", ".join(values[:3]) + (", …" if len(values) > 3 else "")
    kind = "numbers" if column_kind(table, name) == NUMBERS else f"text, {len(values)} different"
    kind = "empty" if is_empty(table, name) else kind
    return ColumnChoice(name, kind, sample[:60], role, scale)


def result_names(columns: Sequence[ColumnChoice]) -> list[str]:
    return [one.name for one in columns if one.role == RESULT]


def read_roles(
    upload: Upload, columns: Sequence[ColumnChoice], targets: list[str], reading: FileReading
) -> Candidates:
    """Read the candidates of a table by the roles of its columns."""
    roles, named = role_settings(columns), [name for name in targets if name]
    return read_candidates(upload.path, target=named or None, **reading.options, **roles)


def role_settings(columns: Sequence[ColumnChoice]) -> dict[str, Any]:
    """Return the arguments of `Study.create` that say what the columns are for."""

    def only(role: str) -> str | None:
        found = [one.name for one in columns if one.role == role]
        checks.needs(len(found) < 2, "a new study", f"at most one column as {role!r}", found)
        return found[0] if found else None

    undecided = [one.name for one in columns if one.role == UNDECIDED]
    needed = f"to be told what {' and '.join(undecided)} is for: a result, or what else"
    checks.needs(not undecided, "a new study", needed, "no answer")
    described = [one for one in columns if one.role == DESCRIBES]
    checks.needs(bool(described), "a new study", f"a column that {DESCRIBES}", "none")
    return {
        "columns": [one.name for one in described],
        "cost": only(COST),
        "allowed": only(ALLOWED),
        "log": [one.name for one in described if one.scale == SCALES[2]] or None,
        "linear": [one.name for one in described if one.scale == SCALES[1]] or None,
    }


def create_from_table(library: Library, upload: Upload, preview: Preview) -> tuple[Study, int]:
    """Create a study and return it, with the number of results of the table told to it."""
    columns, aims, reading = preview.columns, preview.aims, preview.reading.options
    settings, told = aims.settings(), preview.tell_results and preview.results > 0
    candidates = read_roles(upload, columns, aims.targets, preview.reading)
    if told:
        # All results are checked before the study is created.
        read_results(upload.path, candidates, aims.targets, **reading)
    study = library.create(aims.name, upload.path, **reading, **role_settings(columns), **settings)
    return study, len(study.tell_all(upload.path, **reading)) if told else 0


# ---------------------------------------------------------------------- from ranges


@dataclass(frozen=True)
class NumberLine:
    """A line of the form of ranges about a number, as it was typed."""

    name: str = ""
    unit: str = ""
    kind: str = "real"
    """One of NUMBER_KINDS."""
    low: str = ""
    high: str = ""
    step: str = ""
    part: bool = False
    """Whether it is a part of the sum that is given."""

    @property
    def is_empty(self) -> bool:
        return not (self.name or self.low or self.high or self.step)

    @property
    def title(self) -> str:
        """The name of the variable, with its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def describe(self) -> dict[str, Any]:
        """Return the range as a space file has it."""
        checks.needs(bool(self.name), "a range", "a name", f"{self.low} to {self.high}")
        owner = f"variable {self.title!r}"
        checks.one_of(owner, "type", self.kind, NUMBER_KINDS)
        ends = {"low": self.low, "high": self.high}
        for word, text in zip(("from", "to"), ends.values(), strict=True):
            checks.needs(bool(text), owner, f"a number in the field {word!r}", text)
        whole = self.kind == "integer"
        numbers: dict[str, Any] = {key: self._read(key, text, whole) for key, text in ends.items()}
        if self.step.casefold() == ANY:
            numbers["step"] = ANY
        elif self.step:
            numbers["step"] = self._read("step", self.step, whole)
        scale = {"log": True} if self.kind == "log" else {}
        return {"type": "integer" if whole else "real", **numbers, **scale}

    def _read(self, part: str, text: str, whole: bool) -> float:
        word = {"low": "from", "high": "to"}.get(part, part)
        number = read_number(f"{word!r} of {self.title!r}", text)
        return int(number) if whole and number.is_integer() else number


@dataclass(frozen=True)
class ChoiceLine:
    """A line of the form of ranges about a choice, as it was typed."""

    name: str = ""
    kind: str = "choice"
    values: str = ""

    def describe(self) -> str:
        """Return the choice as a space file has it."""
        checks.needs(bool(self.name), "a choice", "a name", self.values)
        checks.one_of(f"variable {self.name!r}", "type", self.kind, CHOICE_KINDS)
        return f"{self.kind} {self.values}"

    @property
    def options(self) -> list[str]:
        """Its values for the menus of what must not be together: acid = citric."""
        texts = [text.strip() for text in self.values.split(",")]
        return [f"{self.name}{IS}{text}" for text in texts if self.name and text]


NUMBER_KINDS = {"real": "number", "log": "number, log scale", "integer": "whole number"}
CHOICE_KINDS = {"choice": "without an order", "ordered": "in this order"}
SUMS = {"100": "100 %", "1": "1"}
"""What the parts that are ticked may sum to."""
IS = " = "
MORE_NUMBERS, MORE_CHOICES, PAIRS = 4, 2, 2
"""Empty lines of an empty form; "More lines" brings as many again."""


@dataclass(frozen=True)
class Ranges:
    """The form of ranges."""

    numbers: Sequence[NumberLine]
    choices: Sequence[ChoiceLine]
    pairs: Sequence[tuple[str, str]]
    """Two values of choices, of which only one may be taken: ("acid = citric", "salt = NaI")."""
    total: str
    constraints: str
    aims: Aims

    @classmethod
    def of(cls, form: SubmittedForm | None, fixed: str | None = None) -> Ranges:
        if form is None:
            return cls([], [], [], "100", "", Aims(name=fixed or "")).with_more_lines()
        texts = ("name", "unit", "kind", "low", "high", "step")
        typed = zip_longest(*(form.texts(f"number-{part}") for part in texts), fillvalue="")
        numbers = [
            NumberLine(**dict(zip(texts, line, strict=True)), part=form.has(f"part-{i}"))
            for i, line in enumerate(typed)
        ]
        parts = (form.texts(f"choice-{part}") for part in ("name", "kind", "values"))
        choices = [ChoiceLine(*line) for line in zip_longest(*parts, fillvalue="")]
        pairs = zip_longest(form.texts("pair-one"), form.texts("pair-other"), fillvalue="")
        aims, total = Aims.of(form), form.text("total", "100")
        found = cls(numbers, choices, [*pairs], total, form.text("constraints"), aims)
        return found.with_more_lines() if form.text("action") == "more" else found

    def with_more_lines(self) -> Ranges:
        return replace(
            self,
            numbers=[*self.numbers, *[NumberLine()] * MORE_NUMBERS],
            choices=[*self.choices, *[ChoiceLine()] * MORE_CHOICES],
            pairs=[*self.pairs, *[("", "")] * PAIRS],
        )

    @property
    def options(self) -> list[str]:
        """All values of choices, for the menus of what must not be together."""
        return [option for line in self.choices for option in line.options]

    def space(self) -> tuple[MixedBox, list[str]]:
        """Return the space that the lines describe, and remarks; empty lines do not count."""
        numbers = [one for one in self.numbers if not one.is_empty]
        choices = [one for one in self.choices if one.name or one.values]
        names = [*(one.title for one in numbers), *(one.name for one in choices)]
        checks.needs(bool(names), "a new study", "at least one variable", "none")
        entries = [*(one.describe() for one in numbers), *(one.describe() for one in choices)]
        for name in names:
            again = names.count(name) == 1
            checks.needs(again, "a new study", "a name of its own for each variable", name)
        typed = [line.strip() for line in self.constraints.splitlines() if line.strip()]
        rules = [*self._sum([one.title for one in numbers if one.part]), *typed]
        variables = dict(zip(names, entries, strict=True))
        recipe = {"variables": variables, "constraints": [*rules, *self._forbidden()]}
        space = space_from_file(recipe, steps=True)
        return space, remark_recipe(recipe, space)

    def _sum(self, parts: Sequence[str]) -> list[LinearConstraint]:
        """Return that the parts which are ticked sum to the total."""
        if not parts:
            return []
        checks.one_of("a sum", "total", self.total, SUMS)
        checks.needs(len(parts) > 1, "a sum", "at least two parts that are ticked", parts[0])
        return [LinearConstraint(dict.fromkeys(parts, 1.0), "==", float(self.total))]

    def _forbidden(self) -> list[Forbidden]:
        """Return the pairs of values that must not be together."""
        found = []
        for pair in self.pairs:
            if not any(pair):
                continue
            owner = "what must not be together"
            checks.needs(all(pair), owner, "two values, one in each menu", next(filter(None, pair)))
            named = dict(self._read_value(owner, text) for text in pair)
            checks.needs(len(named) == 2, owner, "values of two different choices", pair[0])
            found.append(Forbidden(named))
        return found

    def _read_value(self, owner: str, option: str) -> tuple[str, Any]:
        """Return the name and the value that an option of the menus stands for."""
        for line in self.choices:
            if option in line.options:
                values = parse_choices(line.values)
                return line.name, values[line.options.index(option)]
        raise ValueError(f"{owner} needs values of the choices above, got {option!r}")
