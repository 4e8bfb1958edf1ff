"""Sheets to fill in: the trials of a batch on a page, and their results told back from it.

A sheet has one line for each trial. The first columns identify it: the study, the trial, the row,
and what the table says of the candidate. The others are filled in: each target, "failed", and
where the study has such details, standard errors ("sem"), a note and who measured it ("by"). A line
is told only if all that identifies it is as it was written, up to the rounding of numbers by a
spreadsheet program.
"""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NoReturn

from kernelbandits import checks
from kernelbandits.censored import side_of
from kernelbandits.checks import StorageError, StudyConflict
from kernelbandits.formatting import format_cell
from kernelbandits.outputs import check_output, replace_file
from kernelbandits.runtime import require
from kernelbandits.study.values import Suggestion
from kernelbandits.tables.cells import parse_number, plain, text_of, truth
from kernelbandits.tables.export import DETAILS, write_csv
from kernelbandits.tables.results import (
    ROUNDED,
    UNREAD,
    Result,
    find_wrong_results,
    read_errors,
    value_of,
    whole_number,
)
from kernelbandits.tables.sources import read_table
from kernelbandits.tables.table import (
    Table,
    cell_place,
    column_numbers,
    column_texts,
    origin,
    refuse_problems,
    row_place,
)
from kernelbandits.tables.workbooks import Sheet, write_workbook

if TYPE_CHECKING:
    from kernelbandits.storage import Event
    from kernelbandits.study.events import State, Trial
    from kernelbandits.study.place import Place
    from kernelbandits.study.settings import Settings

OWNER = "a sheet"
FORMATS = (".xlsx", ".csv", ".html")
STUDY, TRIAL, ROW, FAILED = "study", "trial", "row", "failed"
_, SEM, NOTE, BY = DETAILS
MISSING = "missing"
"""What is written in place of a value that will not come."""
NAME = "sheet"
"""The name of the sheet in a workbook."""
LEAST_DIGITS = 4
"""A number that was rounded to this many digits, or more, is still the same number."""
PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>$title</title>
<style>
@page { size: A4 landscape; margin: 12mm; }
body { font: 11pt/1.4 sans-serif; color: #111; margin: 1.5em; }
h1 { font-size: 15pt; margin: 0 0 .2em; }
p { margin: 0 0 1em; }
table { border-collapse: collapse; width: 100%; }
th, td { border: 1px solid #777; padding: .35em .6em; text-align: left; }
th { background: #eee; }
thead { display: table-header-group; }
tr { break-inside: avoid; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
th.fill, td.fill { background: #fff8dc; min-width: 7em; height: 1.6em; }
</style>
<h1>$title</h1>
<p>$lead</p>
<table>
<thead><tr>$header</tr></thead>
<tbody>
$rows
</tbody>
</table>
</html>
""")
LEAD = (
    "Sheet of study {study}. Write the result of each trial under {targets}, or yes under "
    "'failed'. Leave what was not measured yet blank, and write 'missing' where no value will come."
)


class SheetNotWritten(StorageError):
    """Rows were asked for and are pending, but their sheet could not be written.

    `suggestions` has the rows, and `Study.write_sheet` writes their sheet again, for instance when
    there is space on the disk.

    >>> import kernelbandits as kb
    >>> study = kb.Study.create("sheets.db", [[20.0], [50.0], [90.0]], target="yield")
    >>> suggestions = study.ask(2)
    >>> error = kb.study.SheetNotWritten(suggestions, "today.csv", OSError("no space left"))
    >>> [suggestion.trial for suggestion in error.suggestions]
    [1, 2]
    >>> study.close()
    """

    def __init__(self, suggestions: Sequence[Suggestion], path: Any, error: Exception) -> None:
        self.suggestions = list(suggestions)
        trials = ", ".join(str(one.trial) for one in suggestions)
        super().__init__(
            f"trials {trials} were asked for and are pending, but their sheet {str(path)!r} could "
            f"not be written: {error}. `study sheet` (study.write_sheet) writes it again"
        )


def study_name(created: Event) -> str:
    """Return by what a sheet is known as one of this study: the checksum of its first event."""
    # The letter keeps a spreadsheet from reading a number in it, such as 12e45.
    return f"S-{created.check[:12]}"


@dataclass(frozen=True)
class SheetLayout:
    """The columns of the sheets of a study."""

    numbers: tuple[str, ...]
    """The column with the number of a row; none for points."""
    described: Mapping[str, str]
    """Label, column or variable -> what the sheet calls it."""
    targets: Mapping[str, str]
    """Target -> what the sheet calls the column of its results."""
    errors: Mapping[str, str]
    """Target -> what the sheet calls the column of its standard errors."""
    note: str
    by: str

    @classmethod
    def of(cls, place: Place, settings: Settings) -> SheetLayout:
        names = [one.name for one in settings.wanted]
        own = {STUDY, TRIAL, FAILED, *place.row_columns}
        targets = {name: f"{name} (result)" if name in own else name for name in names}
        described = {
            name: f"{name} (candidate)" if name in own | {*targets.values()} else name
            for name in (*place.labels, *place.chosen)
        }
        taken = {*own, *targets.values(), *described.values()}
        plain_names = {name: f"{name} {SEM}" if settings.several else SEM for name in names}
        errors = {name: rename_taken(column, taken) for name, column in plain_names.items()}
        note, by = (rename_taken(name, taken) for name in (NOTE, BY))
        return cls(place.row_columns, described, targets, errors, note, by)

    @property
    def identifying(self) -> list[str]:
        return [STUDY, TRIAL, *self.numbers, *self.described.values()]

    @property
    def needed(self) -> list[str]:
        """The columns to fill in that every sheet has."""
        return [*self.targets.values(), FAILED]

    def to_fill(self, trials: Iterable[Trial]) -> list[str]:
        """Return the columns to fill in: those of every sheet, and details that trials have."""
        used = list(trials)
        columns = []
        for name, column in self.targets.items():
            known = any(name in trial.sems for trial in used)
            columns += [column, *([self.errors[name]] if known else [])]
        told = [trial.told.body for trial in used if trial.told]
        details = {NOTE: self.note, BY: self.by}
        given = [column for name, column in details.items() if any(name in body for body in told)]
        return [*columns, FAILED, *given]

    def identify(self, row: int, place: Place) -> dict[str, Any]:
        """Return column -> what stands there of a candidate: its number, labels and description."""
        known = {**place.label(row), **place.x(row)}
        # A variable that is not there is an empty cell.
        return place.row_cell(row) | {
            column: known.get(name, "") for name, column in self.described.items()
        }


def rename_taken(name: str, taken: Collection[str]) -> str:
    return f"{name} (result)" if name in taken else name


# ---------------------------------------------------------------------- writing


def check_sheet(path: str | Path, force: bool) -> None:
    """Refuse a sheet that cannot be written, before anything is asked for."""
    suffix = Path(path).suffix.lower()
    checks.needs(suffix in FORMATS, OWNER, f"a name that ends in {', '.join(FORMATS)}", str(path))
    if suffix == ".xlsx":
        require("openpyxl", extra="excel", owner=Path(path).name)
    check_output(OWNER, path, force)


def write_sheet(
    path: str | Path, trials: Sequence[Trial], state: State, place: Place, force: bool
) -> None:
    """Write a line for each trial, completely or not at all.

    What is to be filled in is blank, except for the values of some of several targets that a trial
    has already.
    """
    layout = SheetLayout.of(place, state.settings)
    study = study_name(state.events[0])
    to_fill = layout.to_fill(state.trials.values())
    header = [*layout.identifying, *to_fill]
    rows = [
        [study, trial.number, *layout.identify(trial.asked_row, place).values()]
        + [stored_values(trial, layout).get(column) for column in to_fill]
        for trial in trials
    ]
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        write_csv(path, header, rows, force=force)
    elif suffix == ".xlsx":
        write_workbook(path, [Sheet(NAME, header, rows, frozenset(to_fill))], force=force)
    else:
        page = draw_page(header, rows, frozenset(to_fill), study, [*layout.targets])
        replace_file(path, page.encode(), owner=OWNER, force=force)


def stored_values(trial: Trial, layout: SheetLayout) -> dict[str, Any]:
    """Return column -> what was told already of several targets."""
    values = {layout.targets[name]: y for name, y in trial.values.items()}
    errors = {layout.errors[name]: sem for name, sem in trial.sems.items()}
    absent = dict.fromkeys((layout.targets[name] for name in trial.missing), MISSING)
    return values | errors | absent


def draw_page(
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
    to_fill: frozenset[str],
    study: str,
    targets: Sequence[str],
) -> str:
    """Draw a page to print, without what only a program needs: the name of the study is on top."""
    shown = range(1, len(header))
    kinds = [' class="fill"' if name in to_fill else "" for name in header]

    def draw_cell(i: int, value: Any) -> str:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        kind = kinds[i] or (' class="number"' if is_number else "")
        text = "" if value is None else html.escape(format_cell(value))
        return f"<td{kind}>{text}</td>"

    lines = ["".join(draw_cell(i, cells[i]) for i in shown) for cells in rows]
    return PAGE.substitute(
        title=html.escape(f"{', '.join(targets)}: {len(rows)} to measure"),
        lead=html.escape(LEAD.format(study=study, targets=" and ".join(map(repr, targets)))),
        header="".join(f"<th{kinds[i]}>{html.escape(header[i])}</th>" for i in shown),
        rows="\n".join(f"<tr>{line}</tr>" for line in lines),
    )


# ---------------------------------------------------------------------- telling back


def read_sheet(path: str | Path, state: State, place: Place) -> tuple[list[Result], list[str]]:
    """Read the results that were filled in; a notice says how many trials have none.

    A sheet of another study, and one that was changed where it identifies its trials, is refused.
    """
    file = Path(path).name
    if Path(path).suffix.lower() in (".html", ".htm"):
        raise ValueError(
            f"{file} needs to be a sheet in .xlsx or .csv to be told back, got a page to print; "
            "`study sheet` writes the same trials as .xlsx or .csv"
        )
    table = read_table(path, preferred=(NAME,))
    assert table is not None
    reader = TrialSheetReader(table, SheetLayout.of(place, state.settings), state, place)
    refuse_problems(find_wrong_results(table, reader.list_filled()), UNREAD)
    lines = range(len(table))
    results = [reader.read(i) for i in lines]
    found = [one for one in results if one is not None]
    blank = len(results) - len(found)
    verb = "has" if blank == 1 else "have"
    notices = [f"{file}: {blank} of {len(table)} trials {verb} no result yet"] if blank else []
    return found, notices


class TrialSheetReader:
    """Compares the lines of a sheet with the trials of a study, and reads what was filled in."""

    def __init__(self, table: Table, layout: SheetLayout, state: State, place: Place) -> None:
        self.table, self.layout, self.state, self.place = table, layout, state, place
        self.source, self.study = origin(table).source, study_name(state.events[0])
        self.lines: dict[int, int] = {}
        """Trial -> the line that has it."""
        if STUDY not in table.columns:
            raise StudyConflict(
                f"{self.source} needs to be a sheet that ask --sheet wrote, got a table without a "
                f"column {STUDY!r}; tell --file reads other tables. Nothing was stored"
            )

    def list_filled(self) -> Iterator[tuple[int, str]]:
        """Yield the cells in which a result is meant to be: the row and the column of each."""
        for i, column in product(range(len(self.table)), self.layout.targets.values()):
            if not truth(self._cell(i, FAILED)) and self._cell(i, column).casefold() != MISSING:
                yield i, column

    def read(self, i: int) -> Result | None:
        """Read the result in a line; None if it is blank."""
        self._check_study(i)
        trial = self._find_trial(i)
        self._check_candidate(i, trial)
        failed = truth(self._cell(i, FAILED))
        if failed is None:
            got = self._cell(i, FAILED)
            raise ValueError(f"{self.source} needs yes or no {self._at(i, FAILED)}, got {got!r}")
        written = {name: c for name, c in self.layout.targets.items() if self._cell(i, c)}
        if not written and not failed:
            self._read_errors(i, {})
            return None
        place = f"{self.source}, {row_place(self.table, i)}"
        line = int(self.table.index[i])
        found = Result(trial=trial.number, line=line, place=place)
        details = self._read_details(i)
        if failed:
            self._refuse_values(i, trial, written)
            return replace(found, failed=True, details=details)
        absent = [name for name, c in written.items() if self._cell(i, c).casefold() == MISSING]
        values = {
            name: self._read_value(i, column, trial.values.get(name))
            for name, column in written.items()
            if name not in absent
        }
        sems = self._read_errors(i, values)
        return replace(found, values=values, sems=sems, missing=tuple(absent), details=details)

    def _read_value(self, i: int, column: str, stored: float | None) -> float:
        """Read the value in a cell; the stored one if the cell has that up to rounding."""
        value = value_of(self.table, column, i)
        alike = stored is not None and side_of(value) == side_of(stored)
        same = alike and math.isclose(value, stored or 0.0, rel_tol=ROUNDED)
        return stored if same and stored is not None else value

    def _read_errors(self, i: int, values: Mapping[str, float]) -> dict[str, float]:
        """Read target -> the standard error of its value, where one was written."""
        for name, column in self.layout.errors.items():
            if name not in values and self._cell(i, column):
                raise ValueError(
                    f"{self.source} needs a standard error {self._at(i, column)} only beside "
                    f"a value, got {self._cell(i, column)}"
                )
        columns = {name: c for name, c in self.layout.errors.items() if c in self.table.columns}
        return read_errors(self.table, columns, values, i)

    def _read_details(self, i: int) -> dict[str, Any]:
        columns = {NOTE: self.layout.note, BY: self.layout.by}
        found = {name: self._cell(i, column) for name, column in columns.items()}
        return {name: text for name, text in found.items() if text}

    def _refuse_values(self, i: int, trial: Trial, written: Mapping[str, str]) -> None:
        """Refuse values of a measurement that failed, except those that were told before."""
        for name, column in written.items():
            stored = trial.values.get(name)
            if stored is None or self._read_value(i, column, stored) != stored:
                at = self._at(i, column)
                raise ValueError(
                    f"{self.source} needs no value {at}, where the measurement failed, got one"
                )

    def _check_study(self, i: int) -> None:
        missing = [
            name
            for name in (*self.layout.identifying, *self.layout.needed)
            if name not in self.table.columns
        ]
        there = self._cell(i, STUDY)
        if there != self.study:
            got = f"{there!r}, a sheet of another study" if there else "none"
            self._refuse(f"{self.study!r} {self._at(i, STUDY)}, the name of this study", got)
        if missing:
            self._refuse(f"the columns of the sheet as they were, {missing[0]!r} too", "it without")

    def _find_trial(self, i: int) -> Trial:
        number = whole_number(self.table, TRIAL, i, 1)
        trial = None if number is None else self.state.trials.get(number)
        if trial is None:
            got = "none" if number is None else f"trial {number}, which does not exist"
            self._refuse(f"a trial of this study {self._at(i, TRIAL)}", got)
        if trial.number in self.lines:
            self._refuse(
                f"each trial once, trial {trial.number} too", f"it {self._at(i, TRIAL)} again"
            )
        self.lines[trial.number] = i
        return trial

    def _check_candidate(self, i: int, trial: Trial) -> None:
        for column, there in self.layout.identify(trial.asked_row, self.place).items():
            number = float(column_numbers(self.table, column)[i])
            if not is_same(there, self._cell(i, column), number):
                self._refuse(
                    f"{format_cell(there)!r} {self._at(i, column)}, as trial {trial.number} has it",
                    repr(self._cell(i, column)),
                )

    def _cell(self, i: int, column: str) -> str:
        """Return the text of a cell; blank where the sheet has no such column."""
        return column_texts(self.table, column)[i] if column in self.table.columns else ""

    def _at(self, i: int, column: str) -> str:
        return cell_place(self.table, i, column)

    def _refuse(self, needed: str, got: str) -> NoReturn:
        raise StudyConflict(f"{self.source} needs {needed}, got {got}. Nothing was stored")


def is_same(written: Any, text: str, number: float) -> bool:
    """Tell whether a cell still has the value that was written there, up to rounding and case."""
    if isinstance(written, bool) or not isinstance(written, (int, float)):
        name = plain(text_of(written))
        # A spreadsheet writes the name 007 as the number 7.
        same_number = parse_number(name) == number
        return same_number or name.casefold() == text.casefold()
    if math.isnan(number):
        return False
    digits = len(text.lower().partition("e")[0].lstrip("+-0.,").replace(".", "").replace(",", ""))
    rounded = float(f"{written:.{max(digits, LEAST_DIGITS) - 1}e}")
    return math.isclose(written, number, rel_tol=ROUNDED) or math.isclose(rounded, number)
