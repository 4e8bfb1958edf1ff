"""The real tables: public data sets of chemistry and materials, in three groups.

On the 14 tables of `DEVELOPMENT` the default of the package was chosen: 13 data sets and the
perovskite films. The three of `ROUGH` belong to the choice too: their neighbouring rows predict
little, and random rows find more than most models. On the ten of `HELD_OUT` nothing was chosen but
one of six rules (docs/decisions/0029), and nothing more should be. A table of `PERMUTED` has the values of a real one in another order in each seed,
so no model can be of use.

    value = (y - min y) / (max y - min y), y with its sign changed where less is better

so that the best row has the value 1 and simple regret is a share of the range. Rows that agree in
all describing columns are repeated measurements: they become one candidate with their mean. The
files are not part of the project: `python -m benchmarks fetch-tables` gets them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
        TableSource(
            "colors_n9",
            "difference_to_green",
            "minimize",
            "db2d502dd3f053faa67fd1f379c048974b91df02ce695a4857c99e2fbf502bd3",
        ),
        TableSource(
            "photo_wf3",
            "degradation",
            "minimize",
            "b4c03f308bd193164a79541559de684d759288e638081c92b3d51963c392d980",
        ),
        TableSource(
            "reizman_2",
            "yld",
            "maximize",
            "58ddffc23674fda855a920fa32fbd92d1f6fbf655450930c12cc39607b104298",
        ),
        TableSource(
            "reizman_3",
            "yld",
            "maximize",
            "a5601cb762a2d72f73f07103f7997b01e719ba03d82b9e123b9a3be4dbc1339d",
        ),
        TableSource(
            "reizman_4",
            "yld",
            "maximize",
            "57f126e2949a439f0c626e1b0bdc15e775d9c05e3973cb8046855aaff2eaa422",
        ),
        TableSource(
            "baumgartner_aniline",
            "yld",
            "maximize",
            "bc77503c2e8109f4081f2d6b67afa5939ccd39a41eb60dd569eafc20a76605f5",
        ),
        TableSource(
            "color_ph",
            "A",
            "maximize",
            "e3e8461f0ed560b82edb99e782578f7584ead59414198d9308192ed38f1c59d1",
        ),
        TableSource(
            "dreher_doyle",
            "yield",
            "maximize",
            "c8c8e14c68d3b9206d3fdac176dad4ba2b57f89eab94b3f2af96ff518aa2c193",
        ),
        TableSource(
            "suzuki_miyaura",
            "yield",
            "maximize",
            "aed909ac5c993a3af18721e90ab563452227733f282a538f12e14fab00b5db9c",
        ),
        TableSource(
            "esol",
            "measured log solubility in mols per litre",
            "maximize",
            "c62fd1273524c842708580ecbd803c372beacfa950e7be61c67793445ab5a59d",
        ),
        TableSource(
            "electrochem",
            "voltage",
            "maximize",
            "24d9c5fcf698281bf51bcdbe28112395fb8235d4277a8d9156a32869198429ee",
        ),
        TableSource(
            "P3HT",
            "Conductivity (measured) (S/cm)",
            "maximize",
            "8b07e7f9a5904578cef51125e747bcdc296731618dd5816f98721b69711e560d",
        ),
        TableSource(
            "AutoAM",
            "Score",
            "maximize",
            "4a35ce4d2d423a59338be8fe7db1c0087d954af112122cced1d36a2c2974fd9f",
        ),
    )
}
HELD_OUT = (
    "colors_n9",
    "photo_wf3",
    "reizman_2",
    "reizman_3",
    "reizman_4",
    "baumgartner_aniline",
    "color_ph",
    "dreher_doyle",
    "suzuki_miyaura",
    "esol",
)
"""The tables that chose nothing."""
ROUGH = ("electrochem", "P3HT", "AutoAM")
"""Tables of the choice on which neighbouring rows predict little."""
NAMES = tuple(SOURCES)
DEVELOPMENT = tuple(name for name in NAMES if name not in (*HELD_OUT, *ROUGH))
"""The tables on which the default of the package was chosen."""
PERMUTATION = "permuted:"
"""Before the name of a table whose values are permuted by the seed."""
PERMUTED = tuple(
    PERMUTATION + name for name in ("benzylation", "suzuki", "photo_pce10", "buchwald_a", "P3HT")
)
"""Permuted tables of 72 to 1020 rows, with numbers and with categories."""


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
    empty = [column for column in (*columns, target) if frame[column].isna().any()]
    if empty:
        # Grouping would leave such rows out without a word.
        raise ValueError(f"a table needs a value in every cell, {name} has empty ones in {empty}")
    means = frame.groupby(columns, sort=False, as_index=False)[target].mean()
    sign = {"maximize": 1.0, "minimize": -1.0}[goal]
    return Table(name, means[columns], scale_to_unit(sign * means[target].to_numpy(float)))


@cache
def load_table(name: str) -> Table:
    """Read a table whose file is on this machine; `DataUnavailable` says how to get it."""
    source = SOURCES[name]
    frame = pd.read_csv(find_file(source), encoding="utf-8-sig")
    return make_table(name, frame, source.target, source.goal, source.describing)


def name_of_original(name: str) -> str:
    """Return the name of the table whose rows these are.

    Examples
    --------
    >>> name_of_original("permuted:snar"), name_of_original("snar")
    ('snar', 'snar')
    """
    return name.removeprefix(PERMUTATION)


def permute(table: Table, generator: np.random.Generator) -> Table:
    """Return the same rows and the same values, in which row and value are independent."""
    return replace(table, values=generator.permutation(table.values))


def find_file(source: TableSource) -> Path:
    """In the folder KERNELBANDITS_DATA or in the cache, with the checksum it must have."""
    if source.name == PEROVSKITE:
        return perovskite_file()
    found = [path for path in possible_files(source.name) if path.is_file()]
    for path in found:
        if checksum(path) == source.sha256:
            return path
    if found:
        raise DataUnavailable(
            f"{found[0]} needs the sha256 {source.sha256}, got {checksum(found[0])}"
        )
    raise DataUnavailable(
        f"{source.name} needs {FOLDER}/{source.name}.csv in the folder {VARIABLE} or in the cache; "
        "python -m benchmarks fetch-tables gets it"
    )


def possible_files(name: str) -> Iterator[Path]:
    return (folder / f"{name}.csv" for folder in table_folders())


def table_folders() -> list[Path]:
    """Where tables are looked for; fetched ones are put into the first that can be written."""
    given = os.environ.get(VARIABLE)
    named = [Path(given) / FOLDER] if given else []
    return [*named, cache_folder() / FOLDER]
