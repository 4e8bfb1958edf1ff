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
from kernelbandits.tables.cells import text_of
from kernelbandits.tables.files import FORMULA, NUMBER

DANGEROUS = re.compile(f"'*{FORMULA}")
"""What a spreadsheet may take for a formula, guarded already or not."""


def write_csv(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table in UTF-8; missing values are blank.

    Text that looks like a formula gets an apostrophe in front, so that a spreadsheet does not run
    it.
    """
    table = [list(cells) for cells in (header, *rows)]
    for cells in table:
        checks.needs(
            len(cells) == len(header), "an export", f"{len(header)} cells in each row", cells
        )
    replace_file(Path(path), "".join(map(line, table)).encode())


def line(cells: Sequence[Any]) -> str:
    """Return a line of the file.

    The csv module quotes a cell only if it holds a character of its line end, so both are in it.
    """
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerow([cell_text(cell) for cell in cells])
    return text.getvalue().removesuffix("\r\n") + "\n"


def cell_text(value: Any) -> str:
    """A value as the text of a cell."""
    if is_missing(value):
        return ""
    text = value if isinstance(value, str) else text_of(value)
    return text if isinstance(value, Number) else guard_formula(text)


def is_missing(value: Any) -> bool:
    """None, NaN, and what pandas has in their place."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def guard_formula(text: str) -> str:
    return "'" + text if DANGEROUS.match(text) and not NUMBER.fullmatch(text) else text
