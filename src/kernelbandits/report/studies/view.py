"""What the figures show of a study, read from it once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import numpy.typing as npt

from kernelbandits.checks import Array, Indices
from kernelbandits.problems.sheet import NUMBER
from kernelbandits.report.studies.truth import truth_of

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.storage import Event
    from kernelbandits.study import Study
    from kernelbandits.study.candidates import Candidates
    from kernelbandits.study.values import Explained, Status

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Trials:
    """One entry for each trial, in their order; nan where a number is not known."""

    number: Indices
    row: Indices
    state: npt.NDArray[np.str_]
    value: Array
    mean: Array
    sd: Array
    weight: Array
    width: Array
    greedy: Indices
    """The row of the best estimate when the trial was asked; -1 where none was."""
    asked_at: Array
    told_at: Array
    worker: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.number)

    def are(self, state: str) -> Flags:
        return np.asarray(self.state == state, dtype=np.bool_)

    @property
    def stand(self) -> Flags:
        """Those with a result that counts."""
        return self.are("told") & np.isfinite(self.value)


@dataclass(frozen=True)
class Beliefs:
    """The estimates of different candidates: rows that are alike in all columns that count are one."""

    row: Indices
    """The first row of each, an allowed one where there is one."""
    member: Indices
    """Row of the table -> place in this list."""
    allowed: Flags
    results: Indices
    average: Array
    """Of the results of all its rows; nan without any."""
    mean: Array
    sd: Array
    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.row)

    def bars(self, places: Indices) -> Array:
        """How far the intervals reach below and above the estimates."""
        mean = self.mean[places]
        return np.maximum([mean - self.low[places], self.high[places] - mean], 0.0)

    @property
    def known(self) -> bool:
        """Whether every candidate allowed has an estimate."""
        return bool(
            np.isfinite(self.mean[self.allowed]).all() and np.isfinite(self.sd[self.allowed]).all()
        )


@dataclass(frozen=True)
class View:
    """A study as it stands."""

    name: str
    target: str
    direction: str
    candidates: Candidates
    trials: Trials
    beliefs: Beliefs
    status: Status
    settings: Mapping[str, Any]
    truth: Array | None
    marked: Explained | None
    """The trial that somebody asked about."""
    as_of: float
    """When the newest of its events was written, in seconds since 1970."""

    @property
    def sign(self) -> float:
        return 1.0 if self.direction == "maximize" else -1.0

    @property
    def columns(self) -> tuple[str, ...]:
        """Of those that count, the ones that differ between candidates."""
        return self.candidates.varying

    def called(self, row: int) -> str:
        """The labels of a row; blank without any."""
        labels = self.candidates.label(row).items()
        return ", ".join(
            f"{name} {text}" if NUMBER.fullmatch(text) else text for name, text in labels
        )

    def texts(self, column: str) -> list[str]:
        """The cells of the different candidates."""
        cells = self.candidates.column(column)
        return [cells[row] for row in self.beliefs.row]

    def numbers(self, column: str) -> Array:
        return np.array(self.texts(column), dtype=np.float64)

    @property
    def best(self) -> int | None:
        """The place of the likely best among the beliefs."""
        return None if self.status.best is None else int(self.beliefs.member[self.status.best.row])

    @property
    def pending(self) -> Indices:
        """Places of the candidates that are being measured."""
        return np.unique(self.beliefs.member[self.trials.row[self.trials.are("pending")]])

    @property
    def ranked(self) -> Indices:
        """Places of the allowed candidates, best estimate first; equal ones by row."""
        allowed = np.flatnonzero(self.beliefs.allowed)
        return allowed[np.argsort(-self.sign * self.beliefs.mean[allowed], kind="stable")]


def view_of(study: Study, truth: Any = None, trial: int | None = None) -> View:
    events = study.history()
    trials = trials_of(study, events)
    return View(
        name=name_of(study.place),
        target=study.target,
        direction=study.direction,
        candidates=study.candidates,
        trials=trials,
        beliefs=beliefs_of(study.estimates(), study.candidates, trials),
        status=study.status(),
        settings=study.settings,
        truth=None if truth is None else truth_of(study, truth, trials.row[trials.stand]),
        marked=None if trial is None else study.explain(trial),
        as_of=events[-1].at,
    )


def name_of(place: str) -> str:
    """What a study is called, without the folders or the server that a reader elsewhere has nothing of."""
    if "://" not in place or place.startswith("sqlite"):
        return Path(place).stem
    parts = urlsplit(place)
    return parse_qs(parts.query).get("study", [parts.path.strip("/") or "study"])[0]


def trials_of(study: Study, events: Iterable[Event]) -> Trials:
    frame = study.to_dataframe()
    numbers = frame["trial"].to_numpy(dtype=np.int64)
    greedy = {event.trial: event.body.get("greedy") for event in events if event.kind == "asked"}
    found = [greedy.get(int(number)) for number in numbers]
    return Trials(
        number=numbers,
        row=frame["row"].to_numpy(dtype=np.int64),
        state=np.array([str(one) for one in frame["state"]], dtype=np.str_),
        greedy=np.array([-1 if row is None else row for row in found], dtype=np.int64),
        asked_at=seconds(frame["asked_at"]),
        told_at=seconds(frame["told_at"]),
        worker=tuple("" if one is None or one != one else str(one) for one in frame["worker"]),
        **{name: real(frame[name]) for name in ("value", "mean", "sd", "weight", "width")},
    )


def beliefs_of(frame: pd.DataFrame, candidates: Candidates, trials: Trials) -> Beliefs:
    first, member = alike(
        list(zip(*(candidates.column(name) for name in candidates.chosen), strict=True))
    )
    rows = allowed_first(first, member, candidates.allowed_rows)
    told, values = member[trials.row[trials.stand]], trials.value[trials.stand]
    count = np.bincount(told, minlength=len(rows))
    total = np.bincount(told, values / count[told], minlength=len(rows))
    return Beliefs(
        row=rows,
        member=member,
        allowed=candidates.allowed_rows[rows],
        results=count,
        average=np.where(count > 0, total, np.nan),
        **{name: real(frame[name])[rows] for name in ("mean", "sd", "low", "high")},
    )


def alike(items: Sequence[Any]) -> tuple[Indices, Indices]:
    """The first place of each different item, and for each item which of these it is."""
    places: dict[Any, int] = {}
    member = np.array([places.setdefault(item, len(places)) for item in items], dtype=np.int64)
    return np.unique(member, return_index=True)[1].astype(np.int64), member


def allowed_first(first: Indices, member: Indices, allowed: Flags) -> Indices:
    """Of rows that are alike the first one allowed, if there is one."""
    groups, places = np.unique(member[allowed], return_index=True)
    rows = first.copy()
    rows[groups] = np.flatnonzero(allowed)[places]
    return rows


def real(values: Iterable[Any]) -> Array:
    """nan for what is not known."""
    return np.array(
        [np.nan if one is None or one != one else one for one in values], dtype=np.float64
    )


def seconds(times: Iterable[Any]) -> Array:
    """Since 1970."""
    return real(None if one != one else one.timestamp() for one in times)
