"""Any table of measurements as a problem: its distinct rows are the arms, its target the reward."""

from __future__ import annotations

import math
import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice
from kernelbandits.domains import Arms
from kernelbandits.problems.base import Instance, scaled, span
from kernelbandits.problems.noise import PAPER_NOISE, EmpiricalNoise, Noise
from kernelbandits.problems.sheet import Sheet, read_sheet
from kernelbandits.streams import Streams

DIRECTIONS = ("maximize", "minimize")
REPEATS = ("average", "replicates")

Replicates = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class TableProblem:
    """f(x_i) = the mean target of the i-th distinct row; the arms are fixed, whatever the seed."""

    name: str
    title: str
    columns: tuple[str, ...]
    """What the coordinates of an arm are called."""
    target: str
    """What the reward was called, before direction and scaling."""
    table: Instance

    def __post_init__(self) -> None:
        given, needed = len(self.columns), self.table.domain.dimension
        checks.needs(
            given == needed, "TableProblem", f"one name for each of {needed} columns", self.columns
        )

    @property
    def dimension(self) -> int:
        return self.table.domain.dimension

    @property
    def description(self) -> str:
        measured = (
            "each pull one of its replicates" if self.table.replicates else "repeats averaged"
        )
        return f"{len(self.table.domain)} arms by {', '.join(self.columns)}; reward from {self.target}, {measured}"

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
    unit_columns: bool = False,
    noise: Noise | None = None,
    name: str | None = None,
    title: str | None = None,
) -> TableProblem:
    """f(x_i) = +- the mean target over the rows whose columns equal x_i, min-max scaled over the arms.

    Columns: every numeric one except the target; target: the last one. Repeated rows are averaged, and a pull
    adds `noise` (the paper's if none is given); or they are kept as replicates, of which a pull returns one.
    Coordinates are the columns as they are, or with `unit_columns` each one min-max scaled to [0, 1].
    """
    checks.one_of("read_table", "direction", direction, DIRECTIONS)
    checks.one_of("read_table", "repeats", repeats, REPEATS)
    checks.needs(isinstance(path, (str, Path)), "read_table", "the path of a file", path)
    for name_, flag in (("scale", scale), ("unit_columns", unit_columns)):
        checks.needs(isinstance(flag, bool), "read_table", f"{name_} true or false", flag)
    sheet = read_sheet(path)
    wanted = chosen_target(sheet, target)
    names = chosen_columns(sheet, columns, wanted)
    sign = -1.0 if direction == "minimize" else 1.0
    points, measured = grouped(sheet, names, sign * sheet.numbers(wanted))
    kept = varying(sheet, names, points)
    name = Path(path).stem if name is None else name
    arms = Arms(unit_columns_of(points[:, kept]) if unit_columns else points[:, kept])
    table = tabled(name, arms, measured, repeats, scale, noise)
    title = f"{name} (d = {arms.dimension})" if title is None else title
    return TableProblem(name, title, tuple(names[i] for i in kept), wanted, table)


def chosen_target(sheet: Sheet, target: str | None) -> str:
    return list(sheet.columns)[-1] if target is None else known(sheet, "target", target)


def chosen_columns(sheet: Sheet, columns: Sequence[str] | None, target: str) -> list[str]:
    """The columns asked for, or every numeric one except the target."""
    if columns is None:
        names = numeric_columns(sheet, target)
    else:
        sequence = isinstance(columns, Sequence) and not isinstance(columns, str)
        checks.needs(sequence, "read_table", "a sequence of column names", columns)
        names = [known(sheet, "columns", column) for column in columns]
    checks.needs(
        target not in names, "read_table", "a target that is not among the columns", target
    )
    checks.needs(
        len(names) > 0,
        "read_table",
        f"a numeric column besides the target {target!r}",
        list(sheet.columns),
    )
    checks.needs(len(set(names)) == len(names), "read_table", "distinct columns", columns)
    return names


def numeric_columns(sheet: Sheet, target: str) -> list[str]:
    others = [name for name in sheet.columns if name != target]
    numeric = [name for name in others if sheet.is_numeric(name)]
    for name in others:
        if name not in numeric:
            warnings.warn(
                f"{sheet.file}: column {name!r} holds no number and is left out",
                DataNotice,
                stacklevel=4,
            )
    return numeric


def known(sheet: Sheet, argument: str, name: str) -> str:
    """The name in NFC, if the file has such a column."""
    wanted = unicodedata.normalize("NFC", str(name)).strip()
    checks.needs(
        wanted in sheet.columns, "read_table", f"{argument} among {tuple(sheet.columns)}", name
    )
    return wanted


def grouped(sheet: Sheet, names: list[str], target: Array) -> tuple[Array, Replicates]:
    """The distinct rows in order of appearance, and the targets measured at each."""
    table = np.column_stack([sheet.numbers(name) for name in names]) + 0.0
    groups: dict[tuple[float, ...], list[float]] = {}
    for row, reward in zip(table.tolist(), target.tolist(), strict=True):
        groups.setdefault(tuple(row), []).append(reward)
    return np.array(list(groups)), tuple(map(tuple, groups.values()))


def varying(sheet: Sheet, names: list[str], points: Array) -> list[int]:
    """The columns that tell arms apart; all of them if there is one arm only."""
    kept = [
        i for i, column in enumerate(points.T) if len(points) == 1 or (column != column[0]).any()
    ]
    for i in set(range(len(names))) - set(kept):
        warnings.warn(
            f"{sheet.file}: column {names[i]!r} is constant and is dropped",
            DataNotice,
            stacklevel=3,
        )
    return kept


def unit_columns_of(points: Array) -> Array:
    """Each column min-max scaled to [0, 1]."""
    return np.column_stack([scaled(column) for column in points.T])


def tabled(
    name: str, arms: Arms, measured: Replicates, repeats: str, scale: bool, noise: Noise | None
) -> Instance:
    """The instance of averaged rows, with noise, or of replicates, with none besides."""
    replicates = unit_scaled(measured) if scale else measured
    values = scaled(means(replicates)) if scale else means(replicates)
    if repeats == "average":
        return Instance(name, arms, values, PAPER_NOISE if noise is None else noise)
    checks.needs(noise is None, "read_table", "no noise besides the replicates", noise)
    return Instance(name, arms, values, pooled(values, replicates), replicates)


def means(measured: Replicates) -> Array:
    return np.array([math.fsum(group) / len(group) for group in measured])


def unit_scaled(measured: Replicates) -> Replicates:
    """(y - min f) / (max f - min f), f the means of the arms; shifted first, so an offset costs no digits."""
    least = min(map(min, measured))
    shifted = tuple(tuple(y - least for y in group) for group in measured)
    low, spread = span(means(shifted))
    return tuple(tuple((y - low) / spread for y in group) for group in shifted)


def pooled(values: Array, replicates: Replicates) -> EmpiricalNoise:
    """y_ij - f(x_i) over all arms, centred against rounding: the range, and so R, covers each arm's."""
    residuals = [y - float(f) for f, group in zip(values, replicates, strict=True) for y in group]
    mean = math.fsum(residuals) / len(residuals)
    return EmpiricalNoise(tuple(residual - mean for residual in residuals))
