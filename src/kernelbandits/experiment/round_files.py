"""The rounds of an experiment as Parquet files, one for each block of seeds that has finished."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kernelbandits import checks
from kernelbandits.experiment.blocks import SeedBlock
from kernelbandits.experiment.cells import Cell, CellResult
from kernelbandits.experiment.results import rounds_frame
from kernelbandits.runtime import require
from kernelbandits.tables.parquet_files import write_parquet

PART = re.compile(r"[0-9a-f]{32}(-[0-9]+-[0-9]+)?\.parquet")
"""How the files are called: by the key of a block."""


class RoundFiles:
    """A folder of Parquet files that `pandas.read_parquet` reads as one table.

    A single Parquet file can only be read after its end is written. A folder can be read at any
    time: it holds the rounds of all blocks that have finished, each in a file that is complete.
    The columns are those of `Results.to_dataframe`.

    Parameters
    ----------
    folder
        It is made if it does not exist. Files of an earlier run are removed, others are refused.
    cells
        The cells of the experiment, by which each block is named.
    """

    def __init__(self, folder: Path | str, cells: Sequence[Cell]) -> None:
        require("pyarrow", extra="parquet", owner="a folder of rounds")
        self.folder, self.cells = Path(folder), cells
        checks.needs(
            self.folder.is_dir() or not self.folder.exists(), "parquet", "a folder", str(folder)
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        files = [path for path in self.folder.iterdir() if not path.name.startswith(".")]
        foreign = [path.name for path in files if not PART.fullmatch(path.name)]
        checks.needs(
            not foreign, "parquet", "a folder of its own, without other files", sorted(foreign)
        )
        for path in files:
            path.unlink(missing_ok=True)

    def write(self, block: SeedBlock, result: CellResult) -> None:
        """Write the rounds of a finished block, once for each label of its cell."""
        import pandas as pd

        named = [cell for cell in self.cells if cell.key == block.cell.key]
        frames = [rounds_frame(cell, block.seeds, result) for cell in named]
        path = self.folder / f"{block.key}.parquet"
        write_parquet(path, pd.concat(frames, ignore_index=True), force=True)
