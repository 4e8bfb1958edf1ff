"""Finished cells of the leaderboard as lines of JSON: one policy on one problem, all seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.json_lines import append_object, read_objects

PLAYED, OVER, REFUSED = "played", "over time", "refused"
LISTS = ("seeds", "regret", "early", "certified")


@dataclass(frozen=True)
class BoardRow:
    """What one policy did on one problem with one horizon T, in each of the seeds."""

    problem: str
    policy: str
    """As it was given: a name of the catalogue with its settings, or module:name."""
    horizon: int
    version: str
    seeds: tuple[int, ...]
    code: str
    """Eight digits for the source of the package."""
    processor: str
    status: str
    reason: str = ""
    """Why it was not played."""
    regret: tuple[float, ...] = ()
    """After T rounds, for each seed."""
    early: tuple[float, ...] = ()
    """After T/10 rounds."""
    certified: tuple[float, ...] = ()
    """What the rewards prove that the T rounds have lost at most."""
    uniform: float = 0.0
    """What playing uniformly at random loses on average in T rounds."""
    seconds: float = 0.0
    """The mean of ask + tell, in seconds of the processor."""
    megabytes: float = 0.0

    @property
    def key(self) -> tuple[Any, ...]:
        return self.problem, self.policy, self.horizon, self.version, self.seeds

    @property
    def is_played(self) -> bool:
        return self.status == PLAYED

    @property
    def mean_regret(self) -> float:
        return fmean(self.regret)

    @property
    def mean_certified(self) -> float:
        return fmean(self.certified)

    @property
    def regret_error(self) -> float:
        return standard_error(self.regret)

    @property
    def exponent(self) -> float | None:
        """The slope of ln regret against ln t between T/10 and T; None if T/10 rounds lost nothing.

        ln(R(T) / R(T/10)) / ln 10

        >>> row = BoardRow("p", "q", 100, "1", (0,), "", "", PLAYED, regret=(20.0,), early=(2.0,))
        >>> round(row.exponent, 6)
        1.0
        """
        early, late = fmean(self.early), self.mean_regret
        return math.log10(late / early) if early > 0 else None

    @property
    def exceeded(self) -> int:
        """In how many seeds the regret is greater than what was certified."""
        pairs = zip(self.regret, self.certified, strict=True)
        return sum(lost > bound * (1 + 1e-9) for lost, bound in pairs)


def standard_error(values: Iterable[float]) -> float:
    """Return the standard error of the mean; 0 for a single value."""
    given = list(values)
    return stdev(given) / math.sqrt(len(given)) if len(given) > 1 else 0.0


def read(path: Path) -> list[BoardRow]:
    return [
        BoardRow(**fields | {name: tuple(fields[name]) for name in LISTS})
        for fields in read_objects(path)
    ]


def append(path: Path, row: BoardRow) -> None:
    append_object(path, asdict(row))


def latest(rows: Iterable[BoardRow]) -> list[BoardRow]:
    """Of each policy the rows of the version that was appended last."""
    kept = list(rows)
    versions = {row.policy: row.version for row in kept}
    return [row for row in kept if row.version == versions[row.policy]]
