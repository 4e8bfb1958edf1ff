"""Finished games as lines of JSON.

One for each contestant, version, pool and seed, appended as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.json_lines import append_object, line_of, read_objects

MARKS = (10, 25, 50, 100)
"""The rounds after which the regret is kept."""


@dataclass(frozen=True)
class Played:
    """What one contestant did in one seed of a pool."""

    contestant: str
    version: str
    pool: str
    seed: int
    regret: tuple[float, ...]
    """The sum of max f - f(x_t) after 10, 25, 50 and 100 rounds."""
    simple: float
    """max f - f of the move it recommends in the end."""
    seconds: tuple[float, float]
    """The median and the mean of ask + tell, in seconds of the processor.

    What else runs on it does not count.
    """

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.contestant, self.version, self.pool, self.seed

    @property
    def line(self) -> str:
        return line_of(asdict(self))


def read(path: Path) -> list[Played]:
    return [played(fields) for fields in read_objects(path)]


def played(fields: dict[str, Any]) -> Played:
    return Played(
        **fields | {"regret": tuple(fields["regret"]), "seconds": tuple(fields["seconds"])}
    )


def append(path: Path, row: Played) -> None:
    append_object(path, asdict(row))


def latest(rows: Iterable[Played]) -> list[Played]:
    """Of each contestant the rows of the version that was appended last."""
    kept = list(rows)
    versions = {row.contestant: row.version for row in kept}
    return [row for row in kept if row.version == versions[row.contestant]]
