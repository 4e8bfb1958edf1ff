"""Sheets to fill in: the trials of a batch on a page, and their results told back from it.

A sheet has one line for each trial. The first columns identify it: the study, the trial, the row,
and what the table says of the candidate. The last two, the target and "failed", are filled in. A
line is told only if all that identifies it is as it was written, up to the rounding of numbers by
a spreadsheet program.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NoReturn

from kernelbandits import checks
from kernelbandits.checks import StorageError, StudyConflict
from kernelbandits.outputs import check_output, replace_file
from kernelbandits.runtime import require
from kernelbandits.study.values import Suggestion, format_cell
from kernelbandits.tables.cells import plain, text_of, truth
from kernelbandits.tables.export import write_csv
from kernelbandits.tables.results import ROUNDED, Result, value_of, whole_number
from kernelbandits.tables.sources import read_table
from kernelbandits.tables.table import Table
from kernelbandits.tables.workbooks import Sheet, write_workbook

if TYPE_CHECKING:
    from kernelbandits.storage import Event
    from kernelbandits.study.events import State, Trial
    from kernelbandits.study.places import Place

OWNER = "a sheet"
FORMATS = (".xlsx", ".csv", ".html")
STUDY, TRIAL, ROW, FAILED = "study", "trial", "row", "failed"
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
    "Sheet of study {study}. Write the result of each trial under {target!r}, or yes under "
    "'failed'. Leave a trial that was not measured blank."
)


class SheetNotWritten(StorageError):
    """Rows were asked for and are pending, but their sheet could not be written."""

    def __init__(self, suggestions: Sequence[Suggestion], path: Any, error: Exception) -> None:
        self.suggestions = list(suggestions)
        trials = ", ".join(str(one.trial) for one in suggestions)
        super().__init__(
            f"trials {trials} were asked for and are pending, but their sheet {str(path)!r} could "
            f"not be written: {error}. `study sheet` (study.write_sheet) writes it again"
        )


def study_name(created: Event) -> str:
    """By what a sheet is known as one of this study: the checksum of its first event."""
    # The letter keeps a spreadsheet from reading a number in it, such as 12e45.
    return f"S-{created.check[:12]}"


@dataclass(frozen=True)
class Layout:
    """The columns of the sheets of a study."""

    row: bool
    """Whether candidates are rows of a table."""
    described: Mapping[str, str]
    """Label, column or variable -> what the sheet calls it."""
    target: str
    """What the sheet calls the column of results."""

    @classmethod
    def of(cls, place: Place, target: str) -> Layout:
        own = {STUDY, TRIAL, FAILED, *([ROW] if place.space is None else [])}
        result = f"{target} (result)" if target in own else target
        names = {
            name: f"{name} (candidate)" if name in own | {result} else name
            for name in (*place.labels, *place.chosen)
        }
        return cls(place.space is None, names, result)

    @property
    def identifying(self) -> list[str]:
        return [STUDY, TRIAL, *([ROW] if self.row else []), *self.described.values()]

    @property
    def to_fill(self) -> list[str]:
        return [self.target, FAILED]

    def identify(self, row: int, place: Place) -> dict[str, Any]:
        """Column -> what stands there of a candidate: its number, its labels, its description."""
        number = {ROW: row} if self.row else {}
        known = {**place.label(row), **place.x(row)}
        return number | {self.described[name]: value for name, value in known.items()}


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
    """Write a line for each trial, completely or not at all; blank where it is to be filled in."""
    layout = Layout.of(place, state.settings.target)
    study = study_name(state.events[0])
    header = [*layout.identifying, *layout.to_fill]
    rows = [
        [study, trial.number, *layout.identify(trial.row, place).values(), None, None]
        for trial in trials
    ]
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        write_csv(path, header, rows, force=force)
    elif suffix == ".xlsx":
        sheet = Sheet(NAME, header, rows, frozenset(layout.to_fill))
        write_workbook(path, [sheet], force=force)
    else:
        page = draw_page(header, rows, frozenset(layout.to_fill), study, state.settings.target)
        replace_file(path, page.encode(), owner=OWNER, force=force)


def draw_page(
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
    to_fill: frozenset[str],
    study: str,
    target: str,
) -> str:
    """A page to print, without what only a program needs: the name of the study is on top."""
    shown = range(1, len(header))
    kinds = [' class="fill"' if name in to_fill else "" for name in header]

    def draw_cell(i: int, value: Any) -> str:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        kind = ' class="number"' if is_number else kinds[i]
        text = "" if value is None else html.escape(format_cell(value))
        return f"<td{kind}>{text}</td>"

    lines = ["".join(draw_cell(i, cells[i]) for i in shown) for cells in rows]
    return PAGE.substitute(
        title=html.escape(f"{target}: {len(rows)} to measure"),
        lead=html.escape(LEAD.format(study=study, target=target)),
        header="".join(f"<th{kinds[i]}>{html.escape(header[i])}</th>" for i in shown),
        rows="\n".join(f"<tr>{line}</tr>" for line in lines),
    )


# ---------------------------------------------------------------------- telling back


def read_sheet(path: str | Path, state: State, place: Place) -> tuple[list[Result], list[str]]:
    """The results that were filled in, and what there is to say of the others.

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
    reader = SheetReader(table, Layout.of(place, state.settings.target), state, place)
    lines = range(len(table))
    results = [reader.read(i) for i in lines]
    found = [one for one in results if one is not None]
    blank = len(results) - len(found)
    notices = [f"{file}: {blank} of {len(table)} trials have no result yet"] if blank else []
    return found, notices


class SheetReader:
    """Compares the lines of a sheet with the trials of a study, and reads what was filled in."""

    def __init__(self, table: Table, layout: Layout, state: State, place: Place) -> None:
        self.table, self.layout, self.state, self.place = table, layout, state, place
        self.study = study_name(state.events[0])
        self.lines: dict[int, int] = {}
        """Trial -> the line that has it."""
        if STUDY not in table.columns:
            raise StudyConflict(
                f"{table.source} needs to be a sheet that ask --sheet wrote, got a table without a "
                f"column {STUDY!r}; tell --file reads other tables. Nothing was stored"
            )

    def read(self, i: int) -> Result | None:
        """The result in a line; None if it is blank."""
        self._check_study(i)
        trial = self._find_trial(i)
        self._check_candidate(i, trial)
        failed = truth(self._cell(i, FAILED))
        if failed is None:
            got = self._cell(i, FAILED)
            raise ValueError(
                f"{self.table.source} needs yes or no {self._at(i, FAILED)}, got {got!r}"
            )
        written = self._cell(i, self.layout.target)
        if not written and not failed:
            return None
        if written and failed:
            at = self._at(i, self.layout.target)
            raise ValueError(
                f"{self.table.source} needs no value {at}, where the measurement failed, got one"
            )
        value = None if failed else value_of(self.table, self.layout.target, i)
        line = self.table.lines[i]
        place = f"{self.table.source}, {self.table.unit} {line}"
        return Result(trial=trial.number, value=value, failed=failed, line=line, place=place)

    def _check_study(self, i: int) -> None:
        missing = [
            name
            for name in (*self.layout.identifying, *self.layout.to_fill)
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
        for column, there in self.layout.identify(trial.row, self.place).items():
            number = float(self.table.columns[column].numbers[i])
            if not is_same(there, self._cell(i, column), number):
                self._refuse(
                    f"{format_cell(there)!r} {self._at(i, column)}, as trial {trial.number} has it",
                    repr(self._cell(i, column)),
                )

    def _cell(self, i: int, column: str) -> str:
        return self.table.columns[column].texts[i]

    def _at(self, i: int, column: str) -> str:
        return self.table.place(i, column)

    def _refuse(self, needed: str, got: str) -> NoReturn:
        raise StudyConflict(f"{self.table.source} needs {needed}, got {got}. Nothing was stored")


def is_same(there: Any, text: str, number: float) -> bool:
    """Whether a cell still has the value that was written there, up to rounding and case."""
    if isinstance(there, bool) or not isinstance(there, (int, float)):
        return plain(text_of(there)).casefold() == text.casefold()
    if math.isnan(number):
        return False
    digits = len(text.lower().partition("e")[0].lstrip("+-0.,").replace(".", "").replace(",", ""))
    rounded = float(f"{there:.{max(digits, LEAST_DIGITS) - 1}e}")
    return math.isclose(there, number, rel_tol=ROUNDED) or math.isclose(rounded, number)
