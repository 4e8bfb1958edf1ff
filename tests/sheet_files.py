"""Sheets as a person reads them and fills them in, .csv or .xlsx."""

from __future__ import annotations

import csv
from pathlib import Path

import openpyxl


def read_cells(path: Path) -> list[list]:
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.reader(file))
    return [[cell.value for cell in row] for row in openpyxl.load_workbook(path).active]


def edit(path: Path, changes: dict[tuple[int, str], object]) -> Path:
    """Write into a sheet as a person does: (line, column) -> value."""
    if path.suffix == ".csv":
        rows = read_cells(path)
        for (line, column), value in changes.items():
            rows[line][rows[0].index(column)] = str(value)
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
        return path
    book = openpyxl.load_workbook(path)
    header = [cell.value for cell in book.active[1]]
    for (line, column), value in changes.items():
        book.active.cell(line + 1, header.index(column) + 1).value = value
    book.save(path)
    return path
