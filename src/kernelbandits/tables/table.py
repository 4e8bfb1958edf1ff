"""A table: named columns, each held as text and as numbers, each cell traceable to its line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelbandits.checks import LARGEST_REWARD, Array
from kernelbandits.tables.cells import (
    ABSENT,
    MISSING,
    NUMBER,
    canonical_texts,
    looks_numeric,
    parse_numbers,
    suggest_number,
)

MOST_ROWS = 2**20
"""As many as a spreadsheet holds."""
LARGEST = sys.float_info.max
SHOWN = 60
"""How many characters of a cell a message shows."""

NUMBERS, TEXT = "number", "category"
"""The two kinds of columns: numbers, and text whose values are categories."""


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of one column. The other of the two forms is made when it is first needed."""

    given: tuple[str, ...] | Array
    """Text, or numbers, where nan is a missing one."""
    decimal: str = "."
    """The decimal mark of text."""

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The cells as they stand; numbers that came as numbers in their canonical form."""
        if isinstance(self.given, tuple):
            return self.given
        finite = np.isfinite(self.given)
        texts = canonical_texts(np.where(finite, self.given, 0.0))
        for i in np.flatnonzero(~finite).tolist():
            texts[i] = "" if np.isnan(self.given[i]) else str(self.given[i])
        return tuple(texts)

    @cached_property
    def numbers(self) -> Array:
        """The number in each cell, nan where there is none; -0.0 is 0."""
        if isinstance(self.given, tuple):
            return parse_numbers(self.given, self.decimal) + 0.0
        return np.where(np.isfinite(self.given), self.given, np.nan) + 0.0

    @cached_property
    def values(self) -> set[str]:
        """The different cells, without missing ones."""
        return set(self.texts) - ABSENT

    @cached_property
    def is_empty(self) -> bool:
        if isinstance(self.given, tuple):
            return not any(self.given)
        return bool(np.isnan(self.given).all())

    @cached_property
    def is_numeric(self) -> bool:
        """Whether every cell is a number."""
        return not np.isnan(self.numbers).any()

    @cached_property
    def has_only_numbers(self) -> bool:
        """Whether every cell that is not missing is a number."""
        return all(cell in ABSENT for cell in self._texts_without_number)

    @property
    def _texts_without_number(self) -> Iterator[str]:
        return (self.texts[i] for i in np.flatnonzero(np.isnan(self.numbers)).tolist())

    @cached_property
    def kind(self) -> str:
        """The kind of the cells: numbers if half of them are or look like numbers, else text."""
        if self.is_numeric:
            return NUMBERS
        filled = [cell for cell in self.texts if cell not in ABSENT]
        numbers = int(np.count_nonzero(~np.isnan(self.numbers)))
        if 2 * numbers >= len(filled):
            return NUMBERS
        meant = {cell for cell in self.values if looks_numeric(cell)}
        return NUMBERS if 2 * sum(cell in meant for cell in filled) >= len(filled) else TEXT

    @cached_property
    def is_unique(self) -> bool:
        """Whether no cell, missing ones apart, is there twice."""
        filled = sum(cell not in ABSENT for cell in self.texts)
        return len(self.values) == filled


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file, a DataFrame, an array or a list by name."""

    source: str
    """How messages call it: films.csv, the DataFrame."""
    columns: Mapping[str, Column]
    lines: Sequence[int]
    """Where each row stands, counted in `unit`."""
    unit: str = "line"
    labels: tuple[str, ...] = ()
    """Columns that only number or name the rows."""
    notices: tuple[str, ...] = ()
    """What was decided about the file: its encoding, its delimiter."""
    from_file: bool = False
    """Whether it may be told again after it has grown."""

    def __len__(self) -> int:
        return len(self.lines)

    def place(self, i: int, name: str) -> str:
        return f"in {self.unit} {self.lines[i]}, column {name!r}"

    def numbers(self, name: str, largest: float = LARGEST_REWARD) -> Array:
        """Return the column as finite numbers; refuse a cell that is none by line and column."""
        values = self.columns[name].numbers
        wrong = np.isnan(values) | (np.abs(values) > largest)
        if wrong.any():
            self.number(int(wrong.argmax()), name, largest)
        return values

    def number(self, i: int, name: str, largest: float = LARGEST_REWARD) -> float:
        """Return cell i of the column as a finite number; refuse any other cell."""
        column = self.columns[name]
        value = float(column.numbers[i])
        if abs(value) <= largest:
            return value
        cell = column.texts[i]
        if cell.casefold() in MISSING:
            raise ValueError(
                f"{self.source} needs a value {self.place(i, name)}, got a missing one ({cell!r})"
            )
        mark = "comma" if column.decimal == "," else "point"
        too_large = largest < LARGEST or (column.decimal == "." and NUMBER.fullmatch(cell))
        limit = f", at most {largest:g}" if too_large else ""
        form = f"ASCII digits, decimal {mark}{limit}"
        hint = suggest_number(cell, column.decimal)
        shown = cell if len(cell) <= SHOWN else f"{cell[:SHOWN]}..."
        raise ValueError(
            f"{self.source} needs a number ({form}) {self.place(i, name)}, got {shown!r}"
            + (f"; {hint}" if hint else "")
        )
