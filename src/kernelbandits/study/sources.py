"""Results of other studies that a study learns from: read once, copied, placed among its columns.

A source stands in the settings of the study, so the study replays when the other one is gone. Its
results are not results of this study: the policy gets them as `EarlierResults`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, StudyConflict
from kernelbandits.codec import write_compact
from kernelbandits.formatting import format_count, format_names
from kernelbandits.study.targets import MAXIMIZE
from kernelbandits.tables.headers import loose, loose_bare, unit_of

if TYPE_CHECKING:
    from kernelbandits.calibration import EarlierResults
    from kernelbandits.study.place import Place
    from kernelbandits.study.study import Study

MOST_RESULTS = 500
"""Results that are copied from one study: a model of more would take seconds in every process."""
FEWEST_RESULTS = 3
"""From two results nothing is learnt that a first measurement would not show."""


@dataclass(frozen=True)
class Source:
    """The results of another study, as they were copied from it."""

    name: str
    """What the other study was called: the name of its file, or where it is."""
    digest: str
    """The sha256 of all that is copied."""
    target: str
    direction: str
    results: int
    """How many results the other study had."""
    columns: tuple[tuple[str, tuple[Any, ...]], ...]
    """The columns that both studies have, by the names of this one, with a cell for each result."""
    values: tuple[float, ...]
    """The results that were copied, in their own units."""
    remarks: tuple[str, ...] = ()
    """What was left out, and why, in sentences."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Source:
        """Return the source that settings have stored."""
        columns = tuple((name, tuple(cells)) for name, cells in body["columns"])
        lists = {name: tuple(body[name]) for name in ("values", "remarks")}
        return cls(**{**body, **lists, "columns": columns})

    @property
    def body(self) -> dict[str, Any]:
        """What settings store of it, as JSON has it."""
        columns = [[name, list(cells)] for name, cells in self.columns]
        lists = {"values": list(self.values), "remarks": list(self.remarks)}
        return {**asdict(self), **lists, "columns": columns}

    @property
    def sentence(self) -> str:
        """What is learnt from it, in words."""
        names = format_names([name for name, _ in self.columns])
        count = format_count(len(self.values), "result")
        some = f" of {self.results}" if len(self.values) < self.results else ""
        return (
            f"learns from {self.name}: {count}{some} for {self.target} ({self.direction}), "
            f"by {names}"
        )

    def describe(self) -> list[str]:
        """Say what is learnt from it, and what is not used."""
        return [self.sentence, *self.remarks]

    def place_in(self, place: Place) -> EarlierResults:
        """Return the results in the coordinates of a place, without those that have no place there.

        Such are numbers that have no logarithm, and values that an ordered variable lacks.
        """
        # Imported here, because a study that only tells needs no models.
        from kernelbandits.calibration import EarlierResults

        points, shared = place.encode_columns(dict(self.columns), len(self.values))
        placed = np.isfinite(points[:, list(shared)]).all(1)
        sign = 1.0 if self.direction == MAXIMIZE else -1.0
        rewards = sign * np.array(self.values)
        return EarlierResults(np.nan_to_num(points[placed]), rewards[placed], shared)


def read_sources(
    owner: str, studies: Iterable[Study], place: Place, aim: tuple[str, str]
) -> list[dict[str, Any]]:
    """Read the studies to learn from, and return them as settings store them.

    `owner` asks for them, create or change; `place` is what this study may measure, and `aim` its
    target and direction.
    """
    if place.by_similarity:
        raise ValueError(
            f"{owner} needs a table with columns or a space to learn from other studies, got "
            "candidates that are known by their similarity"
        )
    found = [read_source(owner, one, place, aim) for one in studies]
    copied = [one.digest for one in found]
    twice = [one.name for one in found if copied.count(one.digest) > 1]
    checks.needs(not twice, owner, "each study to learn from once", next(iter(twice), None))
    return [one.body for one in found]


def is_same_place(one: Any, other: Any) -> bool:
    """Tell whether two places of studies are the same file or the same address."""
    if str(one) == str(other):
        return True
    if "://" in str(one) or "://" in str(other):
        return False
    return Path(one).resolve() == Path(other).resolve()


def read_source(owner: str, other: Study, place: Place, aim: tuple[str, str]) -> Source:
    """Read the results of a study, in the columns that it shares with a place."""
    name, (target, direction) = Path(other.place).name, aim
    if loose_bare(other.target) == loose_bare(target) and other.direction != direction:
        raise StudyConflict(
            f"{owner} needs a study with the same direction to learn from, got {name}, whose "
            f"target {other.target} is to be {other.direction}d, and here it is to be {direction}d"
        )
    columns, remarks = match_columns(name, other, place)
    if not columns:
        raise StudyConflict(
            f"{owner} needs a study with a column in common to learn from, got {name}, which has "
            f"{format_names(other.candidates.chosen)}; here the columns are "
            f"{format_names(place.varying or place.chosen)}"
            + "".join(f". {remark}" for remark in remarks)
        )
    results = [trial for trial in other._session.state.results if trial.value is not None]
    values = np.array([float(trial.value) for trial in results if trial.value is not None])
    if len(values) < FEWEST_RESULTS or np.ptp(values) == 0:
        got = format_count(len(values), "result")
        equal = ", all equal" if len(values) >= FEWEST_RESULTS else ""
        raise StudyConflict(
            f"{owner} needs a study with at least {FEWEST_RESULTS} results, not all equal, to "
            f"learn from, got {name} with {got}{equal}"
        )
    chosen = choose_results(values if other.direction == MAXIMIZE else -values)
    if len(chosen) < len(values):
        remarks.append(
            f"{name} has {len(values)} results: the best {MOST_RESULTS // 2} are copied, and "
            f"{MOST_RESULTS // 2} of the others at even steps"
        )
    rows = [other.candidates.x(results[number].row) for number in chosen]
    cells = tuple(
        (mine, tuple(row.get(theirs) for row in rows)) for mine, theirs in columns.items()
    )
    kept = tuple(values[chosen].tolist())
    digest = hashlib.sha256(write_compact([cells, kept]).encode()).hexdigest()
    source = Source(
        name, digest, other.target, other.direction, len(values), cells, kept, tuple(remarks)
    )
    return check_placed(owner, source, place)


def check_placed(owner: str, source: Source, place: Place) -> Source:
    """Return a source with a remark on results that have no place among the columns."""
    placed = len(source.place_in(place).rewards)
    if placed < FEWEST_RESULTS:
        raise StudyConflict(
            f"{owner} needs at least {FEWEST_RESULTS} results with values that the columns can "
            f"have, got {placed} of {source.name}"
        )
    lost = len(source.values) - placed
    if not lost:
        return source
    said = f"{format_count(lost, 'result')} of {source.name} cannot be placed and are not used"
    return replace(source, remarks=(*source.remarks, said))


def choose_results(values: Array) -> Indices:
    """Return the numbers of the results to copy, in their order; more is better.

    All, or the best ones and others at even steps of their order.
    """
    if len(values) <= MOST_RESULTS:
        return np.arange(len(values))
    half = MOST_RESULTS // 2
    ranked = np.argsort(-values, kind="stable")
    others = np.sort(ranked[half:])
    steps = np.linspace(0, len(others) - 1, half).round().astype(int)
    return np.sort(np.concatenate([ranked[:half], others[steps]]))


def match_columns(name: str, other: Study, place: Place) -> tuple[dict[str, str], list[str]]:
    """Return which column of another study each column of a place is, and what does not match.

    Names are compared without the case of letters. Units, at the end of a name, must be the same
    where both names have one.
    """
    theirs = other.candidates
    found, remarks = dict[str, str](), list[str]()
    for mine in place.varying:
        alike = [one for one in theirs.chosen if loose_bare(one) == loose_bare(mine)]
        equal = [one for one in alike if loose(one) == loose(mine)]
        match = next(iter(equal or alike), None)
        if match is None:
            continue
        units = [loose(unit_of(one)) for one in (mine, match)]
        if all(units) and units[0] != units[1]:
            remarks.append(
                f"{mine!r} has another unit than {match!r} of {name}, and is not matched"
            )
        elif place.column_types[mine] != theirs.column_types[match]:
            remarks.append(
                f"{mine!r} holds {place.column_types[mine]} and {match!r} of {name} "
                f"{theirs.column_types[match]}: it is not matched"
            )
        elif not shares_values(place, mine, theirs, match):
            remarks.append(f"{mine!r} has no value in common with {match!r} of {name}")
        else:
            found[mine] = match
    extra = [one for one in theirs.varying if one not in found.values()]
    seen = " ".join(remarks)
    unseen = [one for one in extra if repr(one) not in seen]
    if unseen:
        remarks.append(f"only {name} has {format_names(unseen)}")
    return found, remarks


def shares_values(place: Place, mine: str, theirs: Place, match: str) -> bool:
    """Tell whether a column of text has a value in both; one of numbers always has."""
    if mine not in place.categories:
        return True
    return bool({*place.levels(mine)} & {*map(str, theirs.levels(match))})
