"""What is to be found: the best row of a real table, or the best point of a box, under noise."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import kernelbandits as kb
from benchmarks.pools import PoolInstance, function_instance, table_instance
from benchmarks.search import functions, tables

NOISES = (0.0, 0.01, 0.03, 0.05, 0.15)
"""Standard deviations of one measurement, as shares of the range."""
BOX_NOISES = (0.0, 0.05)
BATCHES = (1, 4)
BUDGET = 60
MARKS = (10, 20, 30, 40, 60)
"""The numbers of measurements after which the answer is looked at."""
SCORED = (10, 20, 30, 40)
"""The marks over which the search score is averaged."""
PERMUTATION_DRAWS = 79
"""The column of the streams from which the permutation of a table comes."""


@dataclass(frozen=True)
class Task:
    """A table or a box, the noise, and how many measurements are asked for at once."""

    name: str
    noise: float
    batch: int = 1

    def __post_init__(self) -> None:
        if not self.is_table and self.name not in functions.NAMES:
            raise ValueError(f"No table and no function is called {self.name!r}")
        if not self.noise >= 0:
            raise ValueError(f"a task needs noise >= 0, got {self.noise}")
        if not self.batch >= 1:
            raise ValueError(f"a task needs a batch of at least 1, got {self.batch}")

    @property
    def is_table(self) -> bool:
        return tables.name_of_original(self.name) in tables.NAMES

    @property
    def is_permuted(self) -> bool:
        return self.name.startswith(tables.PERMUTATION)

    def instance(self, seed: int) -> PoolInstance:
        """The noise depends on name, seed and number of the measurement: all contestants share it.

        It is the same draw at every noise level, times the level.
        """
        streams = kb.Streams(zlib.crc32(f"{self.name} {seed}".encode()))
        if self.is_table:
            table = tables.load_table(tables.name_of_original(self.name))
            if self.is_permuted:
                table = tables.permute(table, streams.generator(PERMUTATION_DRAWS))
            return table_instance(table, streams, self.noise)
        return function_instance(functions.FUNCTIONS[self.name], streams, self.noise)
