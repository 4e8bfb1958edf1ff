"""The values that the figures and the page of a study show, read from the study once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import numpy.typing as npt

from kernelbandits.checks import Array, Indices
from kernelbandits.report.studies.truth import read_truth
from kernelbandits.tables.cells import NUMBER

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.storage import Event
    from kernelbandits.study import Study
    from kernelbandits.study.values import Explained, Status
    from kernelbandits.tables.candidates import Candidates

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Trials:
    """The trials of a study in their order, as arrays; an unknown number is nan."""

    number: Indices
    row: Indices
    state: npt.NDArray[np.str_]
    value: Array
    mean: Array
    sd: Array
    weight: Array
    width: Array
    top_estimate: Indices
    """The row with the best estimate when the trial was asked; -1 if there was none."""
    asked_at: Array
    told_at: Array
    worker: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.number)

    def has_state(self, state: str) -> Flags:
        return np.asarray(self.state == state, dtype=np.bool_)

    @property
    def has_result(self) -> Flags:
        """Which trials have a result that was neither withdrawn nor failed."""
        return self.has_state("told") & np.isfinite(self.value)


@dataclass(frozen=True)
class Estimates:
    """The estimates of the candidates; equal rows are one candidate."""

    row: Indices
    """The row that stands for each candidate: its first allowed row, else its first."""
    member: Indices
    """For each row of the table, the place of its candidate in these arrays."""
    allowed: Flags
    results: Indices
    average: Array
    """The mean of the results of all rows of a candidate; nan without any."""
    mean: Array
    sd: Array
    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.row)

    def bars(self, places: Indices) -> Array:
        """Return how far the intervals reach below and above the estimates."""
        mean = self.mean[places]
        return np.maximum([mean - self.low[places], self.high[places] - mean], 0.0)

    @property
    def is_complete(self) -> bool:
        """Whether every allowed candidate has an estimate."""
        return bool(
            np.isfinite(self.mean[self.allowed]).all() and np.isfinite(self.sd[self.allowed]).all()
        )


@dataclass(frozen=True)
class View:
    """A study at the time of its newest event."""

    name: str
    target: str
    direction: str
    candidates: Candidates
    trials: Trials
    estimates: Estimates
    status: Status
    settings: Mapping[str, Any]
    truth: Array | None
    explanation: Explained | None
    """Why the trial was chosen that the user wants to know about."""
    as_of: float
    """When the newest event was written, in seconds since 1970."""

    @property
    def sign(self) -> float:
        return 1.0 if self.direction == "maximize" else -1.0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns used that differ between candidates."""
        return self.candidates.varying

    def row_name(self, row: int) -> str:
        """Return the labels of a row; empty text without labels."""
        labels = self.candidates.label(row).items()
        return ", ".join(
            f"{name} {text}" if NUMBER.fullmatch(text) else text for name, text in labels
        )

    def texts(self, column: str) -> list[str]:
        """Return the cells of a column, one for each candidate."""
        cells = self.candidates.texts(column)
        return [cells[row] for row in self.estimates.row]

    def numbers(self, column: str) -> Array:
        return self.candidates.numbers(column)[self.estimates.row]

    @property
    def best(self) -> int | None:
        """The place of the likely best in the estimates."""
        return (
            None if self.status.best is None else int(self.estimates.member[self.status.best.row])
        )

    @property
    def pending(self) -> Indices:
        """The places of the candidates with a pending trial."""
        return np.unique(self.estimates.member[self.trials.row[self.trials.has_state("pending")]])

    @property
    def ranking(self) -> Indices:
        """The places of the allowed candidates, best estimate first; ties by row."""
        allowed = np.flatnonzero(self.estimates.allowed)
        return allowed[np.argsort(-self.sign * self.estimates.mean[allowed], kind="stable")]


def read_view(study: Study, truth: Any = None, trial: int | None = None) -> View:
    events = study.history()
    trials = read_trials(study, events)
    return View(
        name=study_name(study.place),
        target=study.target,
        direction=study.direction,
        candidates=study.candidates,
        trials=trials,
        estimates=read_estimates(study.estimates(), study.candidates, trials),
        status=study.status(),
        settings=study.settings,
        truth=None if truth is None else read_truth(study, truth, trials.row[trials.has_result]),
        explanation=None if trial is None else study.explain(trial),
        as_of=events[-1].at,
    )


def study_name(place: str) -> str:
    """Return the name of a study without its folder or its server.

    A page may be sent to others, who need not see folders, servers and user names.
    """
    if "://" not in place or place.startswith("sqlite"):
        return Path(place).stem
    parts = urlsplit(place)
    return parse_qs(parts.query).get("study", [parts.path.strip("/") or "study"])[0]


def read_trials(study: Study, events: Iterable[Event]) -> Trials:
    frame = study.to_dataframe()
    numbers = frame["trial"].to_numpy(dtype=np.int64)
    greedy = {event.trial: event.body.get("greedy") for event in events if event.kind == "asked"}
    found = [greedy.get(int(number)) for number in numbers]
    return Trials(
        number=numbers,
        row=frame["row"].to_numpy(dtype=np.int64),
        state=np.array([str(one) for one in frame["state"]], dtype=np.str_),
        top_estimate=np.array([-1 if row is None else row for row in found], dtype=np.int64),
        asked_at=to_seconds(frame["asked_at"]),
        told_at=to_seconds(frame["told_at"]),
        worker=tuple("" if one is None or one != one else str(one) for one in frame["worker"]),
        **{name: to_floats(frame[name]) for name in ("value", "mean", "sd", "weight", "width")},
    )


def read_estimates(frame: pd.DataFrame, candidates: Candidates, trials: Trials) -> Estimates:
    rows, member = candidates.different_rows, candidates.members
    told, values = member[trials.row[trials.has_result]], trials.value[trials.has_result]
    count = np.bincount(told, minlength=len(rows))
    total = np.bincount(told, values / count[told], minlength=len(rows))
    return Estimates(
        row=rows,
        member=member,
        allowed=candidates.allowed_rows[rows],
        results=count,
        average=np.where(count > 0, total, np.nan),
        **{name: to_floats(frame[name]) for name in ("mean", "sd", "low", "high")},
    )


def to_floats(values: Iterable[Any]) -> Array:
    """Return an array of numbers; a missing one is nan."""
    return np.array(
        [np.nan if one is None or one != one else one for one in values], dtype=np.float64
    )


def to_seconds(times: Iterable[Any]) -> Array:
    """Return times as seconds since 1970."""
    return to_floats(None if one != one else one.timestamp() for one in times)
