"""Any table of measurements as a problem: its distinct rows are the arms, its target the reward."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice, Indices
from kernelbandits.domains import Arms
from kernelbandits.problems.base import Instance, scale_to_unit, span
from kernelbandits.problems.noise import PAPER_NOISE, EmpiricalNoise, Noise
from kernelbandits.row_index import RowIndex
from kernelbandits.streams import Streams
from kernelbandits.tables.headers import find_column
from kernelbandits.tables.roles import Notices, find_named
from kernelbandits.tables.sources import read_file
from kernelbandits.tables.table import (
    NUMBERS,
    Table,
    column_kind,
    column_numbers,
    is_empty,
    origin,
    read_numbers,
)

REPEATS = ("average", "replicates")
SHOWN = 8
"""How many columns a notice names with their ranges."""

Replicates = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class MeasuredTargets:
    """The target in each row of a table, and to which arm the row belongs."""

    values: Array
    arms: Indices
    """The number of the arm of each row; every arm has a row."""

    def replicates(self) -> Replicates:
        """Return the targets of each arm, in the order of the rows."""
        groups: list[list[float]] = [[] for _ in range(int(self.arms.max()) + 1)]
        for arm, value in zip(self.arms.tolist(), self.values.tolist(), strict=True):
            groups[arm].append(value)
        return tuple(map(tuple, groups))

    def means(self) -> Array:
        """Return the mean target of each arm."""
        if len(self.values) == int(self.arms.max()) + 1:
            # Each row is an arm of its own.
            means = np.empty(len(self.values))
            means[self.arms] = self.values
            return means
        return np.array([math.fsum(group) / len(group) for group in self.replicates()])

    def scale(self) -> MeasuredTargets:
        """Scale the targets, so that the means f of the arms span [0, 1].

        (y - min f) / (max f - min f)

        The rewards are shifted first, so that a large offset costs no digits.
        """
        shifted = replace(self, values=self.values - self.values.min())
        low, spread = span(shifted.means())
        return replace(self, values=(shifted.values - low) / spread)


@dataclass(frozen=True)
class TableProblem:
    """A table as a problem: its distinct rows are the arms, which are fixed, whatever the seed.

    f(x_i) = the mean target of the i-th distinct row

    >>> import pandas as pd
    >>> from kernelbandits.problems import read_table
    >>> table = pd.DataFrame({"Cs": [0.0, 0.5, 0.5], "stability": [1.0, 2.0, 4.0]})
    >>> table.to_csv("films.csv", index=False)
    >>> problem = read_table("films.csv", target="stability", scale=False)
    >>> problem.columns, problem.target, problem.table.values
    (('Cs',), 'stability', array([1., 3.]))
    """

    name: str
    """How files call the problem."""
    title: str
    """How tables and figures call it."""
    columns: tuple[str, ...]
    """What the coordinates of an arm are called."""
    target: str
    """What the reward was called, before direction and scaling."""
    table: Instance
    """The arms with their mean rewards, the same for every seed."""
    ranges: tuple[tuple[float, float], ...] = ()
    """Least and greatest value of each column in the file, where columns were scaled to [0, 1]."""

    def __post_init__(self) -> None:
        given, needed = len(self.columns), self.table.domain.dimension
        checks.needs(
            given == needed, "TableProblem", f"one name for each of {needed} columns", self.columns
        )

    @property
    def dimension(self) -> int:
        return int(self.table.domain.dimension)

    @property
    def description(self) -> str:
        arms = f"{len(self.table.domain)} arms by {', '.join(self.columns)}"
        if self.ranges:
            arms += f" scaled to [0, 1] ({write_ranges(self.columns, self.ranges)})"
        repeats = "each pull one of its replicates" if self.table.replicates else "repeats averaged"
        return f"{arms}; reward from {self.target}, {repeats}"

    @property
    def noise(self) -> Noise:
        return self.table.noise

    def instance(self, streams: Streams) -> Instance:
        return self.table


def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    direction: str = "maximize",
    repeats: str = "average",
    scale: bool = True,
    unit_columns: bool = True,
    noise: Noise | None = None,
    name: str | None = None,
    title: str | None = None,
) -> TableProblem:
    """Read a file as a problem: its distinct rows are the arms, a column is the reward.

    f(x_i) is the mean target over the rows whose columns equal x_i, or minus that mean where the
    target is to be minimised.

    Parameters
    ----------
    path
        A CSV file, whose encoding, delimiter and decimal mark are recognised, a workbook (.xlsx),
        a Parquet file or a numpy file (.npy), whose columns are called x1, x2, ...
    columns
        The columns that describe an arm; by default every numeric one except the target.
    target
        The column that holds the reward; by default the last one.
    direction
        "maximize" or "minimize" (max, min, maximise and minimise are the same).
    repeats
        What happens to rows that are measured several times: "average" plays their mean, and adds
        `noise`; with "replicates" each pull returns one of the measured values.
    scale
        Whether the rewards are scaled to [0, 1] over the arms.
    unit_columns
        Whether each column is scaled to [0, 1] over the arms, so that a lengthscale such as 0.2
        means the same for every column. A `DataNotice` then names the columns and their ranges.
        With False the kernel sees the columns in the units of the file.
    noise
        The law of the noise; the paper's, N(0, 0.01^2), if none is given.
    name, title
        How files and figures call the problem; by default after the file.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelbandits.problems import read_table
    >>> table = pd.DataFrame({"Cs": [0.0, 0.5, 1.0], "decay": [1.5, 2.0, 9.5]})
    >>> table.to_csv("films.csv", index=False)
    >>> films = read_table("films.csv", target="decay", direction="minimize")
    >>> films.columns, films.table.values.round(4)
    (('Cs',), array([1.    , 0.9375, 0.    ]))
    """
    checks.one_of("a table", "repeats", repeats, REPEATS)
    checks.needs(isinstance(path, (str, Path)), "a table", "the path of a file", path)
    for setting, flag in (("scale", scale), ("unit_columns", unit_columns)):
        checks.needs(isinstance(flag, bool), "a table", f"{setting} true or false", flag)
    sign = -1.0 if checks.direction("a table", direction) == "minimize" else 1.0
    notices = Notices()
    source = read_file(path)
    wanted = list(source.columns)[-1]
    if target is not None:
        wanted = find_column(source.columns, target, origin(source).source, "target")
    names = choose_columns(source, columns, wanted, notices)
    points, measured = group_rows(source, names, sign * read_numbers(source, wanted))
    kept = find_varying(names, points, notices)
    names, points = [names[i] for i in kept], points[:, kept]
    ranges = column_ranges(points) if unit_columns else ()
    if ranges:
        notices.append(
            f"each column is scaled to [0, 1] ({write_ranges(names, ranges)}); "
            "unit_columns=false keeps the units of the file"
        )
        points = np.column_stack([scale_to_unit(column) for column in points.T])
    for notice in notices:
        warnings.warn(f"{origin(source).source}: {notice}", DataNotice, stacklevel=2)
    name = Path(path).stem if name is None else name
    table = build_instance(name, Arms(points), measured, repeats, scale, noise)
    title = f"{name} (d = {len(names)})" if title is None else title
    return TableProblem(name, title, tuple(names), wanted, table, ranges)


def column_ranges(points: Array) -> tuple[tuple[float, float], ...]:
    """Return least and greatest value of each column; nothing if every column spans [0, 1]."""
    ranges = tuple((float(column.min()), float(column.max())) for column in points.T)
    return () if all(span == (0.0, 1.0) for span in ranges) else ranges


def write_ranges(names: Sequence[str], ranges: Sequence[tuple[float, float]]) -> str:
    """Write "Cs from 0 to 100, FA from 20 to 80"; of many columns the first, and how many more."""
    written = [
        f"{name} from {low:g} to {high:g}" for name, (low, high) in zip(names, ranges, strict=True)
    ]
    others = len(written) - SHOWN
    return ", ".join([*written[:SHOWN], f"and {others} more"] if others > 0 else written)


def choose_columns(
    source: Table, columns: Sequence[str] | None, target: str, notices: Notices
) -> list[str]:
    """Return the columns asked for, or every numeric one except the target and labels."""
    if columns is not None:
        names = find_named(source, columns, notices)
    else:
        names = []
        for name in source.columns:
            if name in origin(source).labels:
                notices.append(f"column {name!r} only names the rows and is left out")
            elif name != target and holds_numbers(source, name):
                names.append(name)
            elif name != target:
                notices.append(f"column {name!r} holds no number and is left out")
    owner = origin(source).source
    checks.needs(target not in names, owner, "a target that is not among the columns", target)
    needed = f"a numeric column besides the target {target!r}"
    checks.needs(len(names) > 0, owner, needed, list(source.columns))
    return names


def holds_numbers(source: Table, name: str) -> bool:
    """Tell whether any cell is a number, or most are meant to be."""
    meant = column_kind(source, name) == NUMBERS and not is_empty(source, name)
    return meant or not bool(np.isnan(column_numbers(source, name)).all())


def group_rows(source: Table, names: list[str], target: Array) -> tuple[Array, MeasuredTargets]:
    """Return the distinct rows in order of appearance, and the targets measured at each."""
    table = np.column_stack([read_numbers(source, name) for name in names]) + 0.0
    first, arms = np.unique(RowIndex(table).first, return_inverse=True)
    return table[first], MeasuredTargets(target, arms.reshape(-1))


def find_varying(names: list[str], points: Array, notices: Notices) -> list[int]:
    """Return the columns that tell arms apart; all of them if there is one arm only."""
    kept = [
        i for i, column in enumerate(points.T) if len(points) == 1 or (column != column[0]).any()
    ]
    for i in sorted(set(range(len(names))) - set(kept)):
        notices.append(f"column {names[i]!r} is constant and is dropped")
    return kept


def build_instance(
    name: str, arms: Arms, measured: MeasuredTargets, repeats: str, scale: bool, noise: Noise | None
) -> Instance:
    """Return the instance of averaged rows, with noise, or of replicates, with none besides."""
    targets = measured.scale() if scale else measured
    values = scale_to_unit(targets.means()) if scale else targets.means()
    if repeats == "average":
        return Instance(name, arms, values, PAPER_NOISE if noise is None else noise)
    checks.needs(noise is None, "repeats=replicates", "no noise besides the replicates", noise)
    replicates = targets.replicates()
    return Instance(name, arms, values, pool_residuals(values, replicates), replicates)


def pool_residuals(values: Array, replicates: Replicates) -> EmpiricalNoise:
    """Return the law of y_ij - f(x_i) over all arms; its R covers the noise of every arm."""
    residuals = [y - float(f) for f, group in zip(values, replicates, strict=True) for y in group]
    mean = math.fsum(residuals) / len(residuals)
    return EmpiricalNoise(tuple(residual - mean for residual in residuals))
