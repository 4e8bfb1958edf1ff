"""A finite list of arms."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice
from kernelbandits.domains.gram import factorise_gram
from kernelbandits.row_index import RowIndex


@dataclass(frozen=True, eq=False)
class Arms:
    """A finite list of n arms, the rows of an (n, d) array.

    Policies accept the array itself too. The points are copied and cannot be written to. Rows that
    repeat another row are accepted with a notice.

    >>> from kernelbandits import Arms
    >>> arms = Arms([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    >>> arms
    Arms(3 points in 2 dimensions)
    >>> arms.points[1]
    array([0.5, 0.5])
    >>> Arms([1.0, 2.0])
    Traceback (most recent call last):
    ...
    ValueError: Arms needs an (n, d) array, got shape (2,); pass points[:, None] for one column
    """

    points: Array
    """One row for each arm."""
    origin: str = ""
    """What the arms represent if they are not everything, for example a cover of a box."""
    blocks: tuple[tuple[int, ...], ...] = ()
    """The coordinates of each column: several for an unordered category that is encoded by one
    coordinate for each value (1/sqrt(2) at the value). By default every coordinate is a column."""
    sides: tuple[float, ...] = ()
    """The extent of each coordinate, of which lengthscales are shares, where it is not that of the
    points: arms may be added outside the range by which a column was scaled."""
    values: tuple[Any, ...] = ()
    """The arms in the user's own values, for example as dicts (`MixedBox.grid`); empty if the
    points are all there is."""
    features: bool = False
    """Whether the points are features, whose inner product is the kernel (`from_gram`)."""

    def __init__(
        self,
        points: Any,
        origin: str = "",
        blocks: tuple[tuple[int, ...], ...] = (),
        values: Sequence[Any] = (),
        features: bool = False,
        sides: tuple[float, ...] = (),
    ) -> None:
        rows = checks.points("Arms", points)
        rows.flags.writeable = False
        object.__setattr__(self, "points", rows)
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "blocks", check_blocks("Arms", blocks, rows.shape[1]))
        known = all(side > 0 for side in sides) and len(sides) in (0, rows.shape[1])
        checks.needs(known, "Arms", f"no sides, or {rows.shape[1]} above 0", sides)
        object.__setattr__(self, "sides", tuple(sides))
        fits = isinstance(values, Sequence) and len(values) in (0, len(rows))
        checks.needs(fits, "Arms", f"no values, or one for each of {len(rows)} arms", values)
        object.__setattr__(self, "values", tuple(values))
        object.__setattr__(self, "features", bool(features))
        repeats = len(rows) - self.index.distinct
        if repeats:
            warnings.warn(
                f"Arms: {repeats} of {len(rows)} points repeat another", DataNotice, stacklevel=2
            )

    @cached_property
    def index(self) -> RowIndex:
        """Which arms are at the same point, and which arm is at a point."""
        return RowIndex(self.points)

    @classmethod
    def from_gram(cls, matrix: Any, values: Sequence[Any] = ()) -> Arms:
        """Return candidates that are known by their similarity only: K = P P', with the arms in P.

        K is the (n, n) matrix of a kernel: symmetric, without negative eigenvalues, such as
        similarities of molecules, or `kb.kernels.graph_matern` of a network. It is divided by the
        mean of its diagonal, with a notice unless that is 1. `kb.Auto` and `kb.Study` then have
        this kernel; give `kb.Linear()` to other policies. `values` are the names of the candidates.

        >>> import numpy as np
        >>> import kernelbandits as kb
        >>> similarity = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.1], [0.1, 0.1, 1.0]])
        >>> arms = kb.Arms.from_gram(similarity, values=["aspirin", "salol", "caffeine"])
        >>> bool(np.allclose(arms.points @ arms.points.T, similarity))
        True
        >>> arms.values[kb.Auto(arms, seed=1).ask().arm] in ("aspirin", "salol", "caffeine")
        True
        """
        points = factorise_gram("Arms.from_gram", matrix)
        return cls(points, values=values, features=True)

    @classmethod
    def from_file(cls, path: str | PathLike[str], columns: Sequence[str] | None = None) -> Arms:
        """Return the rows of a file as candidates, in the units of the file.

        Parameters
        ----------
        path
            A numpy file (.npy), a Parquet file, a CSV file or a workbook (.xlsx), known by its
            content. A numpy file of a million rows is read fastest.
        columns
            The columns that describe a candidate, all of numbers. By default every column. Those
            of a numpy file are called x1, x2, ...

        Examples
        --------
        >>> import numpy as np
        >>> import kernelbandits as kb
        >>> np.save("pool.npy", np.linspace(0, 1, 3000).reshape(1000, 3))
        >>> pool = kb.Arms.from_file("pool.npy")
        >>> pool
        Arms(1000 points in 3 dimensions)
        >>> policy = kb.Auto(pool, seed=1)
        """
        from kernelbandits.tables.headers import find_column
        from kernelbandits.tables.sources import read_file
        from kernelbandits.tables.table import origin, read_numbers

        table = read_file(path)
        source = origin(table).source
        checks.needs(not isinstance(columns, str), source, "a list of columns", columns)
        names = list(table.columns) if columns is None else columns
        found = [find_column(table.columns, name, source, "columns") for name in names]
        checks.needs(len(found) > 0, source, "at least one column", names)
        try:
            return cls(np.column_stack([read_numbers(table, name) for name in found]))
        except ValueError as error:
            advice = "; name the columns to use, all of numbers" if columns is None else ""
            raise ValueError(f"{error}{advice}") from None

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        if self.features:
            return f"Arms({len(self)} candidates known by their similarity)"
        return f"Arms({len(self)} points in {self.dimension} dimensions)"

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return int(self.points.shape[1])


def check_blocks(owner: str, blocks: Any, dimension: int) -> tuple[tuple[int, ...], ...]:
    """Return the coordinates of each block, which contain all of them once.

    Without any, every coordinate is a block.
    """
    given = tuple(tuple(block) for block in blocks) or tuple((j,) for j in range(dimension))
    covered = sorted(j for block in given for j in block) == list(range(dimension))
    needed = f"blocks that contain each of {dimension} coordinates once"
    checks.needs(covered, owner, needed, blocks)
    return given
