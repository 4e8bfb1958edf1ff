"""Workbooks as labs have them: the same five films, each time with another sin."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openpyxl

NAMES = ["film", "Cs", "T", "solvent", "stability"]
FILMS = [
    ["A1", 0.1, 100, "DMF", 0.5],
    ["A2", 0.2, 120, "DMSO", 0.7],
    ["A3", 0.3, 100, "DMF", None],
    ["A4", 0.4, 120, "DMSO", None],
    ["A5", 0.5, 140, "DMF", None],
]
SHEET = "xl/worksheets/sheet1.xml"


@dataclass(frozen=True)
class Sin:
    """What is wrong with a workbook, and what becomes of it."""

    rows: list[list[Any]]
    change: Callable[[Any, Any], None] = lambda book, sheet: None
    columns: tuple[str, ...] = ("Cs", "T", "solvent")
    """Those that describe a candidate."""
    said: tuple[str, ...] = ()
    """Parts of the notices."""
    refused: tuple[str, ...] = ()
    """Parts of the sentence by which it is refused as it comes."""
    told: tuple[float, ...] = (0.5, 0.7)
    """The results of its rows."""
    options: tuple[str, ...] = ()
    """With these options of the command it is a study."""
    values: dict[bytes, bytes] = field(default_factory=dict)
    """What is exchanged in the sheet after it was saved."""


def merge(*areas: str) -> Callable[[Any, Any], None]:
    def change(book: Any, sheet: Any) -> None:
        for area in areas:
            sheet.merge_cells(area)

    return change


def hide(book: Any, sheet: Any) -> None:
    sheet.row_dimensions[3].hidden = sheet.column_dimensions["D"].hidden = True


def show_in_percent(book: Any, sheet: Any) -> None:
    for row in range(2, 7):
        sheet.cell(row, 2).number_format = "0 %"


def add_sheet(book: Any, sheet: Any) -> None:
    book.create_sheet("Old").append(["x", "y"])


def with_column(name: str, *cells: Any) -> list[list[Any]]:
    return [[*row, cell] for row, cell in zip([NAMES, *FILMS], [name, *cells], strict=True)]


def with_cells(**cells: Any) -> list[list[Any]]:
    """The films with other cells, by their names such as B3."""
    rows = [list(row) for row in (NAMES, *FILMS)]
    for name, cell in cells.items():
        rows[int(name[1:]) - 1]["ABCDE".index(name[0])] = cell
    return rows


DAY = dt.datetime(2026, 5, 4)
SINS = {
    "title rows": Sin(
        [["Films of May"], ["Operator:", "Kim"], [], NAMES, *FILMS],
        merge("A1:E1"),
        said=("the names of the columns are read in sheet 'Films', row 4; 2 rows ('Films of May'",),
    ),
    "units row": Sin(
        [NAMES, [None, "%", "(°C)", None, "h"], *FILMS],
        columns=("Cs (%)", "T (°C)", "solvent"),
        said=("row 2 has the units of the columns: Cs (%), T (°C), stability (h)",),
    ),
    "empty leading columns": Sin([[None, None, *row] for row in (NAMES, *FILMS)]),
    "trailing notes": Sin(
        [NAMES, *FILMS, [], ["Notes", "DMF is dried"], ["measured in notebook 12, page 7"]],
        said=("2 rows ('Notes', ...) from sheet 'Films', row 8 on left out, as notes",),
    ),
    "total row": Sin(
        [NAMES, *FILMS, ["Mean", 0.3, 116, None, 0.6]],
        said=("row 7 begins with 'Mean' and is left out",),
    ),
    "formulas": Sin(
        with_cells(B3="=B2*2"),
        said=("formulas in 1 cell of sheet 'Films'",),
        values={b"<f>B2*2</f><v />": b"<f>B2*2</f><v>0.2</v>"},
    ),
    "formulas without values": Sin(
        with_cells(B3="=B2*2", C4="=C2"),
        refused=("B3 (Cs) the formula '=B2*2'", "C4 (T) the formula '=C2'"),
        options=("--cell", "B3=0,2", "--cell", "C4=100"),
        said=("cell B3 is read as '0,2' in place of ''",),
    ),
    "error cells": Sin(
        with_cells(B3="#N/A", C4="#DIV/0!", D5="#REF!"),
        refused=("all 3 cells to correct: B3 (Cs)", "C4 (T)", "D5 (solvent)"),
        options=("--cell", "B3=0.2", "--cell", "C4=100", "--cell", "D5=DMSO"),
    ),
    "dates, remarks and initials": Sin(
        [
            [*row, *more]
            for row, more in zip(
                [NAMES, *FILMS],
                [
                    ["made", "comment", "operator"],
                    *[[DAY, None, "KL"]] * 3,
                    *[[DAY, "wet", "MB"]] * 2,
                ],
                strict=True,
            )
        ],
        said=(
            "column 'made' has dates or times and is left out",
            "column 'comment' has remarks and is left out",
            "column 'operator' says who did it and is left out",
        ),
    ),
    "percent formats": Sin(
        [NAMES, *FILMS], show_in_percent, said=("numbers in percent are read as they are stored",)
    ),
    "decimal commas as text": Sin(
        with_cells(B2="0,1", B3="0,2", B4="0,3"),
        said=("column 'Cs' has texts with a decimal comma, which are read as numbers",),
    ),
    "numbers as text": Sin(with_cells(B2="0.1", B3="0.2 ", C4=" 100", D5="DMSO ")),
    "trailing spaces in names": Sin([["film ", " Cs", "T\u00a0", "solvent", "stability "], *FILMS]),
    "duplicate headers": Sin(
        with_column("Cs", 1, 2, 1, 2, 3),
        refused=("needs distinct column names in sheet 'Films', row 1 (F1), got 'Cs' 2 times",),
        options=("--cell", "F1=FA"),
        columns=("Cs", "T", "solvent", "FA"),
    ),
    "hidden rows and columns": Sin(
        [NAMES, *FILMS],
        hide,
        said=("hidden rows of the sheet are read too: 3", "hidden columns of the sheet"),
    ),
    "two sheets": Sin(
        [NAMES, *FILMS],
        add_sheet,
        refused=("needs one sheet to read, got 2: 'Films', 'Old'",),
        options=("--worksheet", "Films"),
    ),
    "blank rows in between": Sin(
        [NAMES, *FILMS[:2], [], *FILMS[2:]], said=("row 4 of the sheet is blank",)
    ),
    "merged cells in the table": Sin(
        with_cells(C5=None, D4=None),
        merge("C4:C5", "D3:D4"),
        said=(
            "'T' has merged cells (C4:C5): their value is read for each of their rows",
            "(D3:D4)",
        ),
    ),
    "merged results": Sin(
        with_cells(E3=None),
        merge("E2:E3"),
        refused=("row 3, column 'stability' (E3), got the merged cells E2:E3; separate them",),
        options=("--cell", "E3=0.7"),
    ),
    "decimal commas and limits among results": Sin(
        with_cells(E2="0,5", E3="0,7", E4="<0,2", E5="n.d."),
        said=("'stability' has texts with a decimal comma", "holds 4 results"),
        told=(0.5, 0.7, 0.2, 0.0),
        options=("--limits", "0.."),
    ),
    "a second result": Sin(
        with_column("purity", 90, 95, None, None, None),
        refused=("'purity' is blank where 'stability' is", "--not-used 'purity'"),
        options=("--not-used", "purity"),
    ),
    "notes beside the table": Sin(
        [
            [*row, None, note]
            for row, note in zip([NAMES, *FILMS], [None, "a", *[None] * 4], strict=True)
        ],
        said=("column 'column G' has no name and is left out",),
    ),
    "gaps in a column that is not used": Sin(
        with_column("lot", "x1", None, "x1", None, None),
        said=("column 'lot' is mostly blank and is left out",),
    ),
}


def save_sin(name: str, path: Path) -> Path:
    """Save one of the workbooks; return its path."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Films"
    for row in SINS[name].rows:
        sheet.append(row)
    SINS[name].change(book, sheet)
    book.save(path)
    if SINS[name].values:
        with zipfile.ZipFile(path) as archive:
            parts = {part: archive.read(part) for part in archive.namelist()}
        for before, after in SINS[name].values.items():
            assert before in parts[SHEET]
            parts[SHEET] = parts[SHEET].replace(before, after)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, content in parts.items():
                archive.writestr(part, content)
    return path
