"""Tables written to CSV files: completely or not at all, without formulas in cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from numbers import Number
from pathlib import Path
from typing import Any

from kernelbandits import checks
from kernelbandits.outputs import replace_file
from kernelbandits.tables.cells import FORMULA, is_number, text_of

DANGEROUS = re.compile(f"'*{FORMULA}")
"""What a spreadsheet may take for a formula, guarded already or not."""
TIMES = ("asked_at", "told_at")
NOTED = ("weight", "width", "mean", "sd")
TRIALS = ("trial", "row", "state", "value", *TIMES, "worker", *NOTED)
"""Columns of our own in an export of trials."""
COMBINED = "desirability"
"""What a study of several targets calls the number that its policy sees."""
AVERAGE_BEYOND = "average beyond"
"""Column with < or > where the average of results is below or above its value."""
OWN = frozenset({*TRIALS, "allowed", "results", "average", AVERAGE_BEYOND, "low", "high"})
"""The same, and those in a table of estimates."""


def name_in_export(columns: Iterable[str]) -> dict[str, str]:
    """Return what an export calls each column of the candidates beside columns of its own.

    >>> name_in_export(["Cs", "mean"])
    {'Cs': 'Cs', 'mean': 'mean (candidate)'}
    """
    names = list(columns)
    shown: dict[str, str] = {}
    for name in names:
        label = name
        while label in OWN or (label != name and label in names):
            label = f"{label} (candidate)"
        shown[name] = label
    return shown


BEYOND = "beyond"
"""Column with < or > where the result is below or above its value."""
DETAILS = (BEYOND, "sem", "note", "by")
"""Columns that say more of a result: which limit it is, its standard error, a note, and who
measured it."""
FEASIBLE = "feasible"
"""Column that says whether a trial met the limits on outcomes, or how probably a candidate does."""
FRONT = "front"
"""Column that marks the trials on the Pareto front of several targets."""


def name_details(columns: Iterable[str]) -> dict[str, str]:
    """Return what an export calls each column of details beside those of the candidates.

    >>> name_details(["Cs", "note"])
    {'beyond': 'beyond', 'sem': 'sem', 'note': 'note (result)', 'by': 'by'}
    """
    taken = set(columns)
    return {name: f"{name} (result)" if name in taken else name for name in DETAILS}


def name_targets(columns: Iterable[str], targets: Iterable[str]) -> dict[str, str]:
    """Return what an export calls each of several targets beside the columns of the candidates.

    >>> name_targets(["Cs"], ["stability", "mean"])
    {'stability': 'stability', 'mean': 'mean (target)'}
    """
    taken = {*columns, *OWN, *DETAILS, FEASIBLE, FRONT, COMBINED}
    return {name: f"{name} (target)" if name in taken else name for name in targets}


def is_export(names: Iterable[str]) -> bool:
    """Tell whether these are the columns of an export of trials; that of a space has no rows."""
    return set(TRIALS) - {"row"} <= set(names)


def write_csv(
    path: str | Path, header: Sequence[str], rows: Iterable[Sequence[Any]], force: bool = False
) -> None:
    """Write a table in UTF-8; missing values are blank.

    An existing file is only replaced with `force`, and a study never. Text that looks like a
    formula gets an apostrophe in front, so that a spreadsheet does not run it.
    """
    table = [list(cells) for cells in (header, *rows)]
    for cells in table:
        checks.needs(
            len(cells) == len(header), "an export", f"{len(header)} cells in each row", cells
        )
    replace_file(path, "".join(map(line, table)).encode(), force=force)


def line(cells: Sequence[Any]) -> str:
    """Return a line of the file.

    The csv module quotes a cell only if it holds a character of its line end, so both are in it.
    """
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerow([cell_text(cell) for cell in cells])
    return text.getvalue().removesuffix("\r\n") + "\n"


def cell_text(value: Any) -> str:
    """Return a value as the text of a cell that a spreadsheet takes for no formula."""
    if is_missing(value):
        return ""
    text = value if isinstance(value, str) else text_of(value)
    return text if isinstance(value, Number) else guard_formula(text)


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, or what pandas has in their place."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def guard_formula(text: str) -> str:
    return "'" + text if is_formula(text) else text


def is_formula(text: str) -> bool:
    """Tell whether a spreadsheet may take a text for a formula."""
    return bool(DANGEROUS.match(text)) and not is_number(text)
