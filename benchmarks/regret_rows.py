"""Finished games as lines of JSON.

One for each contestant, version, pool and seed, appended as a whole.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

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
        return json.dumps(asdict(self), separators=(",", ":")) + "\n"


def read(path: Path) -> list[Played]:
    """All rows; a last line cut short by a crash is passed over."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")[:-1]
    return [played(json.loads(line)) for line in lines if line.endswith("}")]


def played(fields: dict[str, Any]) -> Played:
    return Played(
        **fields | {"regret": tuple(fields["regret"]), "seconds": tuple(fields["seconds"])}
    )


def append(path: Path, row: Played) -> None:
    """One write under a lock, so that several processes may fill one file.

    A torn line before it is ended first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = file.seek(0, os.SEEK_END)
        torn = size > 0 and last_byte(file) != b"\n"
        file.write(("\n" * torn + row.line).encode())
        file.flush()
        os.fsync(file.fileno())


def last_byte(file: BinaryIO) -> bytes:
    file.seek(-1, os.SEEK_END)
    return file.read(1)


def latest(rows: Iterable[Played]) -> list[Played]:
    """Of each contestant the rows of the version that was appended last."""
    kept = list(rows)
    versions = {row.contestant: row.version for row in kept}
    return [row for row in kept if row.version == versions[row.contestant]]
