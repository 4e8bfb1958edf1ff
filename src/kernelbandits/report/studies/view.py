"""The values that the figures and the page of a study show, read from the study once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import numpy.typing as npt

from kernelbandits.checks import Array, Indices, StudyConflict
from kernelbandits.report.studies.truth import read_truth
from kernelbandits.study.dependence import MOST_LEVELS
from kernelbandits.study.targets import Target
from kernelbandits.tables.export import BEYOND, name_details, name_in_export, name_targets

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.storage import Event
    from kernelbandits.study import Check, Study
    from kernelbandits.study.dependence import EstimateMap
    from kernelbandits.study.place import Place
    from kernelbandits.study.values import Explained, Row, Status, X

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
    beyond: npt.NDArray[np.str_]
    """"<" or ">" where the value is a limit of the result; "" otherwise."""

    def __len__(self) -> int:
        return len(self.number)

    def has_state(self, state: str) -> Flags:
        return np.asarray(self.state == state, dtype=np.bool_)

    @property
    def has_result(self) -> Flags:
        """Which trials have a result that was neither withdrawn nor failed."""
        return self.has_state("told") & np.isfinite(self.value)

    @property
    def has_weights(self) -> bool:
        """Whether any trial was asked of a rule that draws an exploration weight."""
        return bool(np.isfinite(self.weight).any())


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
        """Whether every allowed candidate has an estimate, and there is one."""
        known = np.isfinite(self.mean[self.allowed]) & np.isfinite(self.sd[self.allowed])
        return bool(len(known)) and bool(known.all())


@dataclass(frozen=True)
class TargetSeries:
    """One of several targets."""

    target: Target
    values: Array
    """Its value in each trial; nan where there is none."""
    estimate: tuple[float, float, float] | None
    """What its own model says of the likely best: the mean and the ends of the 95 % interval."""

    @property
    def name(self) -> str:
        return self.target.name


@dataclass(frozen=True)
class View:
    """A study at the time of its newest event."""

    name: str
    target: str
    direction: str
    candidates: Place
    trials: Trials
    estimates: Estimates
    status: Status
    settings: Mapping[str, Any]
    truth: Array | None
    explanation: Explained | None
    """Why the trial was chosen that the user wants to know about."""
    as_of: float
    """When the newest event was written, in seconds since 1970."""
    check: Check
    """Whether the model can be trusted, and what the estimates depend on."""
    map: EstimateMap | None
    """The estimates over the two most relevant columns; None without results or two columns."""
    reasons: Mapping[int, str]
    """Why each pending trial was suggested."""
    targets: tuple[TargetSeries, ...] = ()
    """Several targets; () for one."""

    @property
    def others(self) -> tuple[TargetSeries, ...]:
        """The targets that are shown beside the number that the policy sees."""
        return tuple(one for one in self.targets if one.name != self.target)

    @property
    def objectives(self) -> int:
        """How many of several targets have a direction."""
        return sum(not one.target.is_limit for one in self.targets)

    @property
    def noun(self) -> str:
        return self.candidates.candidate_noun

    @property
    def column_noun(self) -> str:
        return self.candidates.column_noun

    def place_of(self, row: Row, x: X) -> int:
        """Return the place of a row, or of a point, in the estimates."""
        return int(self.estimates.member[self.candidates.find_named(row, x)])

    @property
    def sign(self) -> float:
        return 1.0 if self.direction == "maximize" else -1.0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns used that differ between candidates; of a similarity, their names."""
        place = self.candidates
        return place.chosen if place.by_similarity else place.varying

    def label(self, row: Row) -> Mapping[str, str]:
        """Return what the table calls a row; nothing for a point."""
        return self.candidates.names_of(row)

    @property
    def drawn(self) -> Indices:
        """The places of the candidates that figures show: allowed ones, and all with a mark."""
        allowed = self.estimates.allowed
        shown = (allowed | (self.estimates.results > 0)) if allowed.any() else ~allowed
        shown[self.pending] = True
        if self.explanation is not None:
            shown[self.place_of(self.explanation.row, self.explanation.x)] = True
        return np.flatnonzero(shown)

    def span(self, column: str) -> tuple[float, float]:
        """Return the ends of an axis: all numbers that a candidate may have, and all marks."""
        ends = [*self.candidates.span(column), *self.numbers(column)[self.drawn].tolist()]
        low, high = min(ends), max(ends)
        return (low, high) if low < high else self.candidates.range(column)

    def levels(self, column: str) -> list[str]:
        """Return the values of a choice that figures show, in the order of the table or space."""
        every = list(self.candidates.levels(column))
        if not self.candidates.lists_all:
            return every
        texts = self.texts(column)
        known = {texts[place] for place in self.drawn}
        return [text for text in every if text in known]

    def texts(self, column: str) -> list[str]:
        """Return the cells of a column, one for each candidate."""
        cells = self.candidates.texts(column)
        return [cells[row] for row in self.estimates.row]

    def numbers(self, column: str) -> Array:
        return self.candidates.numbers(column)[self.estimates.row]

    @property
    def best(self) -> int | None:
        """The place of the likely best in the estimates."""
        best = self.status.best
        return None if best is None else self.place_of(best.row, best.x)

    @property
    def pending(self) -> Indices:
        """The places of the candidates with a pending trial."""
        return np.unique(self.estimates.member[self.trials.row[self.trials.has_state("pending")]])

    @property
    def ranking(self) -> Indices:
        """The places of the allowed candidates, best estimate first; ties by row."""
        allowed = np.flatnonzero(self.estimates.allowed)
        return allowed[np.argsort(-self.sign * self.estimates.mean[allowed], kind="stable")]


def read_view(
    study: Study,
    truth: Any = None,
    trial: int | None = None,
    *,
    check: Check | None = None,
    status: Status | None = None,
) -> View:
    """Read what the figures and the page of a study show.

    `check` and `status` are what the study answered, if it was asked already: both take long.
    """
    events = study.history()
    frame = study.to_dataframe()
    # Points that were asked for and undone, and so have no trial, are not shown.
    place = study.candidates.without_points()
    trials = read_trials(frame, place, events)
    check = study.check() if check is None else check
    status = study.status() if status is None else status
    return View(
        name=study_name(study.place),
        target=study.target,
        direction=study.direction,
        candidates=place,
        trials=trials,
        estimates=read_estimates(study.estimates(), place, trials),
        status=status,
        settings=study.settings,
        truth=None if truth is None else read_truth(study, truth, trials.row[trials.has_result]),
        explanation=None if trial is None else study.explain(trial),
        as_of=events[-1].at,
        check=check,
        map=read_map(study, place, check),
        reasons=read_reasons(trials, events),
        targets=read_target_series(study, status, frame, place),
    )


def read_target_series(
    study: Study, status: Status, frame: pd.DataFrame, place: Place
) -> tuple[TargetSeries, ...]:
    """Return the values and estimates of several targets."""
    shown = name_in_export([*place.labels, *place.chosen]).values()
    columns = name_targets(shown, [one.name for one in status.targets])
    found = []
    # With a single target the status lists none.
    for target, one in zip(study.targets, status.targets, strict=study.shows_targets):
        known = one.mean, one.mean_low, one.mean_high
        mean, low, high = (np.nan if end is None else end for end in known)
        estimate = None if None in known else (mean, low, high)
        found.append(TargetSeries(target, to_floats(frame[columns[target.name]]), estimate))
    return tuple(found)


def read_map(study: Study, place: Place, check: Check) -> EstimateMap | None:
    """Return the map of the two most relevant columns, of the first two while that is unknown."""
    known = [one.column for one in check.columns] or list(place.varying)
    few = [
        name
        for name in known
        if place.column_types[name] == "number" or len(place.levels(name)) <= MOST_LEVELS
    ]
    # Numbers are drawn along the longer side, and a choice beside them.
    chosen = sorted(few[:2], key=lambda name: place.column_types[name] != "number")
    mixture = place.find_mixture()
    if mixture is not None and few and few[0] in mixture.names:
        chosen = [*mixture.names[:2]]
    if len(chosen) < 2:
        return None
    try:
        found = study.estimate_map(*chosen)
    except StudyConflict:
        return None
    means = found.mean[np.isfinite(found.mean)]
    # With one result, or equal ones, the estimate is the same everywhere.
    return found if len(means) and np.ptp(means) > 0 else None


def read_reasons(trials: Trials, events: Iterable[Event]) -> dict[int, str]:
    """Return why each pending trial was suggested, in the words of that time."""
    asked = {event.trial: event.body for event in events if event.kind == "asked"}
    pending = trials.number[trials.has_state("pending")].tolist()
    return {number: str(asked.get(number, {}).get("why", "")) for number in pending}


def study_name(place: str) -> str:
    """Return the name of a study without its folder or its server.

    A page may be sent to others, who need not see folders, servers and user names.
    """
    if "://" not in place or place.startswith("sqlite"):
        return Path(place).stem
    parts = urlsplit(place)
    return parse_qs(parts.query).get("study", [parts.path.strip("/") or "study"])[0]


def read_trials(frame: pd.DataFrame, place: Place, events: Iterable[Event]) -> Trials:
    numbers = frame["trial"].to_numpy(dtype=np.int64)
    greedy = {event.trial: event.body.get("greedy") for event in events if event.kind == "asked"}
    found = [greedy.get(int(number)) for number in numbers]
    names = name_in_export([*place.labels, *place.chosen])
    sides = frame.get(name_details(names.values())[BEYOND], [None] * len(frame))
    return Trials(
        number=numbers,
        row=np.array(place.read_rows(frame), dtype=np.int64),
        state=np.array([str(one) for one in frame["state"]], dtype=np.str_),
        top_estimate=np.array([-1 if row is None else row for row in found], dtype=np.int64),
        asked_at=to_seconds(frame["asked_at"]),
        told_at=to_seconds(frame["told_at"]),
        worker=tuple("" if one is None or one != one else str(one) for one in frame["worker"]),
        beyond=np.array([one or "" for one in sides], dtype=np.str_),
        **{name: to_floats(frame[name]) for name in ("value", "mean", "sd", "weight", "width")},
    )


def read_estimates(frame: pd.DataFrame, place: Place, trials: Trials) -> Estimates:
    rows, member = place.different_rows, place.members
    told, values = member[trials.row[trials.has_result]], trials.value[trials.has_result]
    count = np.bincount(told, minlength=len(rows))
    total = np.bincount(told, values / count[told], minlength=len(rows))
    # Points whose trials all failed, or were withdrawn or released, have no estimate.
    there = member[place.read_rows(frame)]
    columns = {name: np.full(len(rows), np.nan) for name in ("mean", "sd", "low", "high")}
    for name, column in columns.items():
        column[there] = to_floats(frame[name])
    allowed = np.zeros(len(rows), dtype=np.bool_)
    allowed[there] = place.allowed_rows[rows[there]]
    return Estimates(
        row=rows,
        member=member,
        allowed=allowed,
        results=count,
        average=np.where(count > 0, total, np.nan),
        **columns,
    )


def to_floats(values: Iterable[Any]) -> Array:
    """Return an array of numbers; a missing one is nan."""
    return np.array(
        [np.nan if one is None or one != one else one for one in values], dtype=np.float64
    )


def to_seconds(times: Iterable[Any]) -> Array:
    """Return times as seconds since 1970."""
    return to_floats(None if one != one else one.timestamp() for one in times)
