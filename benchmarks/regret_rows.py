"""Finished games as lines of JSON.

One for each contestant, version, pool, seed and number of rounds, appended as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.json_lines import append_object, line_of, read_objects

MARKS = (10, 25, 50, 100, 300, 1000)
"""The rounds after which the regret is kept."""
ROUNDS, LONG = 100, 1000
"""How long a game lasts: that in which the rivals are compared, and that which shows growth."""


@dataclass(frozen=True)
class Played:
    """What one contestant did in one seed of a pool."""

    contestant: str
    version: str
    pool: str
    seed: int
    regret: tuple[float, ...]
    """The sum of max f - f(x_t) after each of MARKS that the game reached."""
    simple: float
    """max f - f of the move it recommends in the end."""
    seconds: tuple[float, float]
    """The median and the mean of ask + tell, in seconds of the processor.

    What else runs on it does not count.
    """

    @property
    def rounds(self) -> int:
        """How many rounds the game lasted."""
        return MARKS[len(self.regret) - 1]

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        return self.contestant, self.version, self.pool, self.seed, self.rounds

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
    """Of each contestant the rows of the version that was appended last.

    Games of other lengths may be of another version.
    """
    kept = list(rows)
    versions = {(row.contestant, row.rounds): row.version for row in kept}
    return [row for row in kept if row.version == versions[row.contestant, row.rounds]]
