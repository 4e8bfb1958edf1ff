"""What a study may measure: the rows of a table, or the points of a space.

    Place -> Candidates (`candidates`), Points (`points`)

All of a study works with the numbers of candidates. In a table they are its rows. In a space they
count the points that were asked for or measured, and no user sees them: users know a point by its
values. What differs between the two is a method here, so that no other module has to ask which of
them it is given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, StudyConflict
from kernelbandits.storage import Draft, Event
from kernelbandits.study.words import describe_candidate, describe_point, name_row, row_cell
from kernelbandits.tables.table import NUMBERS, TEXT

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.domains import Arms, MixedBox
    from kernelbandits.insight.slices import Slice
    from kernelbandits.study.candidates import Candidates
    from kernelbandits.study.mixtures import MapGrid, ThreePartMixture
    from kernelbandits.study.settings import Settings


class Place(ABC):
    """The candidates of a study, each with a number."""

    noun: ClassVar[str]
    """What a candidate is called: row or point."""
    column_noun: ClassVar[str]
    """What describes a candidate: a column or a variable."""
    candidate_noun: ClassVar[str]
    """What is compared: candidates, of which a table may have several rows, or points."""
    heading: ClassVar[str]
    """What `describe` describes: the columns, or the space."""
    argument: ClassVar[str]
    """By which argument `tell` gets a candidate that nobody asked for."""
    stored_as: ClassVar[str]
    """The name of its description in the first event of a study."""
    row_columns: ClassVar[tuple[str, ...]]
    """The column of an export that has the number of a candidate; none, if users do not know it."""
    lists_all: ClassVar[bool]
    """Whether all candidates are listed, so that a policy chooses among arms."""

    if TYPE_CHECKING:
        # Only declared: a dataclass would take a property of its base for the default of a field.

        @property
        @abstractmethod
        def chosen(self) -> tuple[str, ...]:
            """The columns or variables that describe a candidate."""

        @property
        @abstractmethod
        def categories(self) -> tuple[str, ...]:
            """Those of them that hold text, or choices."""

        @property
        def conditional(self) -> tuple[str, ...]:
            """The variables of a space that are there only under a condition."""

        @property
        @abstractmethod
        def varying(self) -> tuple[str, ...]:
            """Those of them that the model sees, because they differ between candidates."""

        @property
        @abstractmethod
        def log(self) -> tuple[str, ...]:
            """Those of them that the model sees by their logarithms."""

        @property
        @abstractmethod
        def blocks(self) -> tuple[tuple[int, ...], ...]:
            """The coordinates of each one that varies."""

        @property
        @abstractmethod
        def labels(self) -> tuple[str, ...]:
            """The columns that name a candidate for people."""

        @property
        @abstractmethod
        def numbered_by(self) -> str:
            """How numbers of candidates without names are called: line or row; "" if none are."""

        @property
        @abstractmethod
        def columns(self) -> Mapping[str, Any]:
            """All columns or variables by name."""

        @property
        @abstractmethod
        def notices(self) -> tuple[str, ...]:
            """What is to be said of it when a study is created."""

        @property
        @abstractmethod
        def cost(self) -> str | None:
            """The column of costs; None if there is none."""

        @property
        @abstractmethod
        def costs(self) -> Array | None:
            """The cost of each candidate; None if they cost the same."""

        @property
        @abstractmethod
        def by_similarity(self) -> bool:
            """Whether the model sees the similarity of candidates, and not their columns."""

        @property
        @abstractmethod
        def points(self) -> Array:
            """The coordinates of each candidate, as kernels see them."""

        @property
        @abstractmethod
        def body(self) -> dict[str, Any]:
            """The description that the first event of a study has."""

        @property
        @abstractmethod
        def fingerprint(self) -> str:
            """The sha256 of all that is described."""

        @property
        @abstractmethod
        def stored_columns(self) -> dict[str, list[Any]]:
            """The columns that a log keeps beside its events."""

        @property
        @abstractmethod
        def extent(self) -> int | str:
            """What identifies the whole place in a digest of results."""

        @property
        @abstractmethod
        def space(self) -> MixedBox | None:
            """The space; None for a table."""

        @property
        @abstractmethod
        def count(self) -> float:
            """How many different candidates there are; infinitely many where a variable is
            continuous."""

        @property
        @abstractmethod
        def first_rows(self) -> Indices:
            """For each number the first one of the same candidate."""

        @property
        @abstractmethod
        def samples(self) -> Indices:
            """For each number the first one of the same sample: the same candidate and labels."""

        @property
        @abstractmethod
        def members(self) -> Indices:
            """For each number the place of its candidate among the different ones."""

        @property
        @abstractmethod
        def different_rows(self) -> Indices:
            """The number that stands for each different candidate."""

        @property
        @abstractmethod
        def allowed_rows(self) -> npt.NDArray[np.bool_]:
            """Which candidates may be suggested."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many candidates have a number."""

    # ------------------------------------------------------------------ in words

    @abstractmethod
    def describe(self) -> str:
        """Say how columns are scaled, or which variables and constraints a space has."""

    @abstractmethod
    def introduce(self) -> str:
        """Return a sentence: a table of so many rows and these columns, or the space."""

    @abstractmethod
    def introduce_in_methods(self) -> str:
        """Return the same for the methods section of a paper, in the past tense."""

    @abstractmethod
    def describe_size(self) -> str:
        """Say how many candidates there are, or of how many variables the space is."""

    @abstractmethod
    def describe_repeats(self, settings: Settings) -> str:
        """Say when a candidate is measured again."""

    @abstractmethod
    def describe_exhaustion(self, measured: Iterable[int]) -> list[str]:
        """Say so if all candidates are measured, and who asks might not expect it."""

    def name(self, row: int) -> str:
        """Return the words by which a sentence names a candidate: A7, line 5, or the point."""
        number = self.number(row)
        return describe_point(self.x(row)) if number is None else name_row(number, self.names(row))

    def describe_candidate(self, row: int) -> str:
        """Return a candidate in words: A7 (Cs 0.25), or the point."""
        return describe_candidate(self.number(row), self.names(row), self.x(row))

    # ------------------------------------------------------------------ candidates

    @property
    def column_types(self) -> dict[str, str]:
        """For each column or variable whether it is a number or a category."""
        return {name: TEXT if name in self.categories else NUMBERS for name in self.chosen}

    @abstractmethod
    def x(self, row: int) -> dict[str, Any]:
        """Return the values that describe a candidate, by column.

        A variable of a space that is there only under a condition may be missing.
        """

    @abstractmethod
    def label(self, row: int) -> dict[str, str]:
        """Return the names of a candidate, by column of labels."""

    @abstractmethod
    def names(self, row: int) -> dict[str, str]:
        """Return what people call a candidate: its labels or, if it has none, its line of the file.

        Nothing for a point, for a row without either, and for a row that is not there any more.
        """

    @abstractmethod
    def number(self, row: int) -> int | None:
        """Return the number by which programs know a candidate; None for a point."""

    def row_cell(self, row: int) -> dict[str, int]:
        """Return the number of a candidate by its heading; nothing for a point."""
        return row_cell(self.number(row))

    def names_of(self, number: int | None) -> dict[str, str]:
        """Return what people call the candidate of this number; nothing for a point."""
        return {} if number is None else self.names(number)

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """The headings of a table of candidates: the row, if it has one, labels, and values."""
        return (*self.row_columns, *self.labels, *self.chosen)

    def shown_cells(self, row: int) -> list[Any]:
        """Return what stands of a candidate below `shown_columns`."""
        x = self.x(row)
        described = (x.get(name) for name in self.chosen)
        return [*self.row_cell(row).values(), *self.label(row).values(), *described]

    def fill_absent(self, x: Mapping[str, Any]) -> dict[str, Any]:
        """Return values with a dash for each variable that is not there, as a table shows them."""
        if not self.conditional:
            return dict(x)
        return {name: x.get(name, "–") for name in self.chosen}

    def point(self, row: int) -> dict[str, Any] | None:
        """Return the point of a candidate that users know by it; None for a row."""
        return self.x(row) if self.number(row) is None else None

    def reference(self, row: int) -> int | dict[str, Any]:
        """Return what names a candidate in a document: its number, or the point."""
        number = self.number(row)
        return self.x(row) if number is None else number

    @abstractmethod
    def identify(self, row: int) -> bytes:
        """Return the bytes by which a candidate enters a digest of results."""

    @abstractmethod
    def key(self, row: int) -> int | str:
        """Return what identifies the candidate of a line in a file of results."""

    def resolve_row(self, owner: str, row: Any = None, label: Any = None, line: Any = None) -> Any:
        """Return the row that is given by its number or name, its label or its line.

        None if none is given. The number is returned as it was given.
        """
        given = [one for one in (row, label, line) if one is not None]
        checks.needs(len(given) <= 1, owner, "one of row, label and line", given)
        if label is not None:
            checks.needs(isinstance(label, str), owner, "a label as text", label)
            return self.table.find_label(label)
        if isinstance(row, str):
            return self.row_called(row, owner)
        return row if line is None else self.table.row_in_line(checks.whole(owner, "line", line))

    def resolve_rows(
        self, owner: str, row: Sequence[Any], label: Sequence[Any], line: Sequence[Any]
    ) -> list[int]:
        """Return the rows that are given by their numbers, labels and lines, each once."""
        given = {"row": row, "label": label, "line": line}
        found = [
            self.check_row(self.resolve_row(owner, **{name: item}), owner)
            for name, items in given.items()
            for item in items
        ]
        return list(dict.fromkeys(found))

    @abstractmethod
    def check_row(self, row: Any, owner: str = "candidates") -> int:
        """Check the number of a candidate that a user gave."""

    @abstractmethod
    def check_point(self, x: Mapping[str, Any], by_hand: bool = False) -> int | None:
        """Check a candidate that a user described; return its number if it has one for good.

        Conditions that were set by hand may miss a constraint.
        """

    @abstractmethod
    def name_columns(self, x: Mapping[str, Any]) -> dict[str, Any]:
        """Return values by the names of the columns that are meant."""

    def remark_conditions(self, trial: int, row: int | None) -> list[str]:
        """Say what is to be known of conditions that were set by hand."""
        return []

    @abstractmethod
    def parse_point(self, x: Mapping[str, Any]) -> dict[str, Any]:
        """Read a candidate whose values may be texts."""

    @abstractmethod
    def row_of(self, x: Mapping[str, Any], exported: bool = False) -> int:
        """Return the number of the candidate with these values, which may be texts.

        Those of an export may be what a hand has set.
        """

    @abstractmethod
    def row_with_label(self, name: str, text: str) -> int | None:
        """Return the candidate with this label; None if there is none."""

    @abstractmethod
    def row_called(self, text: str, owner: str = "candidates") -> int:
        """Return the row of this name, or the one that is printed so; refuse one of a space."""

    @abstractmethod
    def find_named(self, row: int | None, x: Mapping[str, Any]) -> int:
        """Return the number of a candidate that is named as users know it."""

    @abstractmethod
    def without_points(self) -> Place:
        """Return the same place as it is before anything is measured."""

    @abstractmethod
    def read_rows(self, frame: pd.DataFrame) -> list[int]:
        """Return the candidate of each line of a table of trials or estimates."""

    def values(self, row: int, columns: Iterable[str]) -> dict[str, Any]:
        """Return the values of a candidate in some columns."""
        x = self.x(row)
        return {name: x.get(name) for name in columns}

    @abstractmethod
    def shown_rows(self, used: Iterable[int]) -> Sequence[int]:
        """Return the candidates of a table of estimates; `used` are those of trials."""

    @abstractmethod
    def count_candidates(self) -> dict[str, Any]:
        """Count rows, allowed rows and different candidates; None for what there is not."""

    @abstractmethod
    def check_batch(self, columns: Sequence[str], spread: bool) -> None:
        """Refuse what cannot be demanded of a batch: columns to share, or to be far apart."""

    # ------------------------------------------------------------------ columns

    @abstractmethod
    def levels(self, name: str) -> dict[str, int]:
        """Return the values of a choice as texts, numbered in their order."""

    @abstractmethod
    def texts(self, name: str) -> Sequence[str]:
        """Return the values of all candidates in one column as texts."""

    @abstractmethod
    def numbers(self, name: str) -> Array:
        """Return the values of all candidates in a column of numbers."""

    @abstractmethod
    def range(self, name: str) -> tuple[float, float]:
        """Return the least and the greatest number of a column, as the model scales it."""

    @abstractmethod
    def span(self, name: str) -> tuple[float, float]:
        """Return the least and the greatest number that a candidate may have in a column."""

    @abstractmethod
    def objects(self, name: str, rows: Sequence[int]) -> Any:
        """Return the values of some candidates in one column, as a DataFrame takes them."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """Return the whole table, or the space, for JSON."""

    @abstractmethod
    def summarise(self) -> dict[str, Any]:
        """Return what the table is, without its cells, or the space, for JSON."""

    @abstractmethod
    def sheets(self) -> list[tuple[str, list[str], list[Sequence[Any]]]]:
        """Return the sheets of a workbook that describe the place: name, header and rows."""

    # ------------------------------------------------------------------ geometry

    @abstractmethod
    def domain(self, rows: Indices | None = None) -> Arms | MixedBox:
        """Return what a policy plays on: all candidates, or of a table some rows."""

    @abstractmethod
    def encode_columns(
        self, columns: Mapping[str, Sequence[Any]], size: int
    ) -> tuple[Array, tuple[int, ...]]:
        """Return rows of cells as coordinates, and the coordinates of the columns that they have.

        The cells may be those of another study. Of a category an unknown value is like no other; a
        value without a place, such as a number without a logarithm, is nan.
        """

    @abstractmethod
    def side_lengths(self) -> Array:
        """Return the range of each coordinate."""

    @abstractmethod
    def grid(self, name: str, most: int) -> list[tuple[Any, Array]]:
        """Return values of a column that candidates may have, with their coordinates.

        Numbers are in increasing order. A column of more numbers than `most` has that many, evenly
        spaced between its ends.
        """

    @abstractmethod
    def slices(self, name: str, points: Array) -> list[Slice]:
        """Return candidates with several values of one column; `points` are those compared."""

    @abstractmethod
    def find_mixture(self) -> ThreePartMixture | None:
        """Find three columns of numbers that sum to 1 or to 100 %."""

    @abstractmethod
    def map_grid(self, row: Array, names: tuple[str, str], most: int) -> MapGrid:
        """Return a candidate with all values of two columns, the others as they are there."""

    # ------------------------------------------------------------------ events

    @property
    @abstractmethod
    def table(self) -> Candidates:
        """The table that may grow; an error for a space, which has none."""

    def changed_by(self, event: Event) -> Place:
        """Return the place after an event that changes it."""
        return self.table.changed_by(event)

    def with_ranges(self, ranges: Mapping[str, Any]) -> Place:
        """Return the place with other ends of some ranges; an error for a table, which has none."""
        raise StudyConflict(
            "change needs a study over a space for ranges, got one of a table of candidates, which "
            "grows by add"
        )

    def remark_ranges(self, pending: Sequence[tuple[int, int]], told: Iterable[int]) -> list[str]:
        """Say what lies beyond ranges that were changed: pending trials (number, row), results."""
        return []

    def to_stored(self, drafts: list[Draft]) -> list[Draft]:
        """Return drafts as they are stored."""
        return drafts

    def from_stored(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return stored events as they are in memory."""
        return events


def is_list(given: Any) -> bool:
    """Tell whether these are several values: a list, a tuple or an array."""
    return isinstance(given, (list, tuple)) or getattr(given, "ndim", 0) == 1


def as_list(given: Any) -> list[Any]:
    """Return one row or label, several, or none, as a list."""
    if given is None:
        return []
    return [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
