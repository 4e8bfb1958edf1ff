"""The real tables: 13 public data sets of chemistry and materials, and the perovskite films.

    value = (y - min y) / (max y - min y), y with its sign changed where less is better

so that the best row has the value 1 and simple regret is a share of the range. Rows that agree in
all describing columns are repeated measurements: they become one candidate with their mean. The
files are not part of the project: `python -m benchmarks fetch-tables` gets them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kernelbandits.problems.perovskite import (
    VARIABLE,
    DataUnavailable,
    cache_folder,
    checksum,
    perovskite_file,
)

Array = np.ndarray[Any, np.dtype[np.float64]]

PEROVSKITE = "perovskite"
FOLDER = "pools"
"""Of the folder KERNELBANDITS_DATA and of the cache."""


@dataclass(frozen=True)
class TableSource:
    """A converted file: its checksum, the column that was measured, and what is wanted of it."""

    name: str
    target: str
    goal: str
    sha256: str
    describing: tuple[str, ...] = ()
    """The columns that describe a candidate; none given: all but the target."""


SOURCES = {
    source.name: source
    for source in (
        TableSource(
            "alkox",
            "conversion",
            "maximize",
            "add726478a2346461cb93283052f4612161e6b32b347fa5478fa85907cf743c9",
        ),
        TableSource(
            "benzylation",
            "impurity",
            "minimize",
            "6112150217e135682ba100f32ffc2875d49d9f973e8f8da1ebb5a42f9b3a2de5",
        ),
        TableSource(
            "colors_bob",
            "difference_to_green",
            "minimize",
            "f5e4172e13ff11028ad8fcf59d51a6fa6230e5ad504bf21c1e44a83a33a3fddb",
        ),
        TableSource(
            "fullerenes",
            "product",
            "maximize",
            "af1fc0032dae8e9d124f755e67ba9e82ecc40ee2d6143b35930fe76f2e00b73b",
        ),
        TableSource(
            "hplc",
            "peak_area",
            "maximize",
            "15c553280c23363e7e884cfbee7732b16032c36fe5fd1437dba7e3693e33f99e",
        ),
        TableSource(
            "photo_pce10",
            "degradation",
            "minimize",
            "3d789fe287614c03426dce93a52350ec66f36e12f99009a7a266babb65948ff7",
        ),
        TableSource(
            "oer_plate_3496",
            "overpotential",
            "minimize",
            "4ac55295d753f2448ca4e12532234f4d3dc678fd0f1602f90c11747a46bdbae9",
        ),
        TableSource(
            "snar",
            "impurity",
            "minimize",
            "50b99b630371004263ce886a2bfe0dd3b96c35f921a384a9cea334860d6b0068",
        ),
        TableSource(
            "suzuki",
            "yield",
            "maximize",
            "8505c30ef49e37dfe3194ef12fd7432dbf47e94557feefeead43d51dd6ba5a28",
        ),
        TableSource(
            "liquid_water",
            "error",
            "minimize",
            "f66e55ab8c1b706f7a02777160ba8e902dc40f29aa5da12af4b9da4b16543fe3",
        ),
        TableSource(
            "buchwald_a",
            "yield",
            "maximize",
            "c012121aeee045c8786836e10028b2c1d3247d843763180d7e522b49f78ac2fe",
        ),
        TableSource(
            "suzuki_i",
            "yield",
            "maximize",
            "a3e9dce3b61217ef361a6342d5dbf003fc4887a70e41c46661e123c5e108866d",
        ),
        TableSource(
            "direct_arylation",
            "yield",
            "maximize",
            "62922a4b39205845d1614bdab1936fea699ac4e25bca01133b2985b97202596d",
        ),
        TableSource(
            PEROVSKITE,
            "Instability index",
            "minimize",
            "9e9c5c2c698902ae17ba5e8f037c7f10d5889c02a419fe3897e4724f805263b9",
            ("CsPbI", "FAPbI", "MAPbI"),
        ),
    )
}
NAMES = tuple(SOURCES)


@dataclass(frozen=True, eq=False)
class Table:
    """The different rows of a table, and the value of each."""

    name: str
    frame: pd.DataFrame
    """The describing columns, in their own units."""
    values: Array
    """From 0, the worst row, to 1, the best."""

    def __post_init__(self) -> None:
        if len(self.frame) != len(self.values) or len(self.values) < 2:
            raise ValueError(
                f"a table needs at least two rows with a value each, got {len(self.frame)} rows "
                f"and {len(self.values)} values"
            )
        if not (self.values.min() == 0 and self.values.max() == 1):
            raise ValueError(
                f"a table needs values from 0 to 1, got {self.values.min()} to {self.values.max()}"
            )

    @property
    def numbers(self) -> list[str]:
        """The columns of numbers."""
        columns = self.frame.columns
        return [name for name in columns if pd.api.types.is_numeric_dtype(self.frame[name])]

    @property
    def categories(self) -> list[str]:
        """The columns of text."""
        numbers = self.numbers
        return [name for name in self.frame.columns if name not in numbers]

    @property
    def points(self) -> Array:
        """Numbers scaled to [0, 1] over the rows, then categories as one-hot columns."""
        parts = [scale_to_unit(self.frame[name].to_numpy(float)) for name in self.numbers]
        parts += [pd.get_dummies(self.frame[name]).to_numpy(float) for name in self.categories]
        return np.column_stack(parts)


def scale_to_unit(column: Array) -> Array:
    """(x - min) / (max - min); a constant column becomes 0."""
    scaled: Array = (column - column.min()) / (np.ptp(column) or 1.0)
    return scaled


def make_table(
    name: str, frame: pd.DataFrame, target: str, goal: str, describing: tuple[str, ...] = ()
) -> Table:
    """Average repeated measurements, then bring the target to [0, 1] with 1 as the best."""
    columns = list(describing) or [column for column in frame.columns if column != target]
    means = frame.groupby(columns, sort=False, as_index=False)[target].mean()
    sign = {"maximize": 1.0, "minimize": -1.0}[goal]
    return Table(name, means[columns], scale_to_unit(sign * means[target].to_numpy(float)))


@cache
def load_table(name: str) -> Table:
    """Read a table whose file is on this machine; `DataUnavailable` says how to get it."""
    source = SOURCES[name]
    frame = pd.read_csv(find_file(source), encoding="utf-8-sig")
    return make_table(name, frame, source.target, source.goal, source.describing)


def find_file(source: TableSource) -> Path:
    """In the folder KERNELBANDITS_DATA or in the cache, with the checksum it must have."""
    if source.name == PEROVSKITE:
        return perovskite_file()
    for path in possible_files(source.name):
        if path.is_file():
            if checksum(path) != source.sha256:
                raise DataUnavailable(
                    f"{path} needs the sha256 {source.sha256}, got {checksum(path)}"
                )
            return path
    raise DataUnavailable(
        f"{source.name} needs {FOLDER}/{source.name}.csv in the folder {VARIABLE} or in the cache; "
        "python -m benchmarks fetch-tables gets it"
    )


def possible_files(name: str) -> Iterator[Path]:
    return (folder / f"{name}.csv" for folder in table_folders())


def table_folders() -> list[Path]:
    """Where tables are looked for; the first is where fetched ones are put."""
    given = os.environ.get(VARIABLE)
    named = [Path(given) / FOLDER] if given else []
    return [*named, cache_folder() / FOLDER]
