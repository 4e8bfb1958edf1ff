"""The values that the pages of a study show, from what the study answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.apps.web.example import find_answer
from kernelbandits.apps.web.snapshots import Snapshot
from kernelbandits.censored import with_side
from kernelbandits.formatting import (
    format_cell,
    format_interval,
    format_names,
    format_number,
    format_share,
    format_time,
)
from kernelbandits.study import Best, Study
from kernelbandits.study.dataframes import with_labels
from kernelbandits.study.words import describe_event, format_result, name_cells, name_sample
from kernelbandits.tables.export import (
    AVERAGE_BEYOND,
    BEYOND,
    name_details,
    name_in_export,
    name_targets,
)

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.study import Explained

PAGE = 100
"""Candidates on one page of the table."""
SHOWS = ("all", "measured", "unmeasured", "pending")
QUIET_EVENTS = ("fitted",)
"""Kinds of events that nobody did."""
MOST_DOTS = 100
"""Results in the small curve of the first page: the last ones."""
EVENTS = 200
"""Events on one page of the history."""


def candidate_cells(study: Study, row: int | None, x: Mapping[str, Any]) -> dict[str, str]:
    """Return the value of each column of a candidate by name, what it is called first."""
    names = name_cells(row, study.candidates.names_of(row))
    return {**names, **{name: format_cell(value) for name, value in x.items()}}


@dataclass(frozen=True)
class PendingTrial:
    """A candidate to measure, as its card shows it."""

    trial: int
    row: int | None
    cells: Mapping[str, str]
    values: Mapping[str, str]
    """Of several targets those that were told already."""
    why: str
    worker: str | None
    overdue: bool
    answered: bool = False
    """Whether the example, which one plays with, has its measured value."""


def pending_trials(snapshot: Snapshot, others: Sequence[int] = ()) -> list[PendingTrial]:
    """Return the trials that wait for a result, in their order.

    `others` are trials that are shown with them because something was typed of them.
    """
    found = []
    overdue = {one.trial for one in snapshot.study.waiting() if one.overdue}
    waiting = {record["trial"] for record in snapshot.pending}
    more = snapshot.trials[snapshot.trials["trial"].isin({*others} - waiting)]
    records = [*snapshot.pending, *more.to_dict("records")]
    for record in sorted(records, key=lambda one: int(one["trial"])):
        one = trial_row(snapshot.study, record)
        # A trial that nobody asked for is pending too while it has some of its values.
        asked = snapshot.asks.get(one.trial)
        answer = find_answer(snapshot.study, trial_point(snapshot.study, record))
        found.append(
            PendingTrial(
                trial=one.trial,
                row=one.row,
                cells=one.cells,
                values=one.values if one.trial in waiting else {},
                why=asked.body["why"] if asked else "",
                worker=asked.worker if asked else None,
                overdue=one.trial in overdue,
                answered=answer is not None,
            )
        )
    return found


@dataclass(frozen=True)
class TrialRow:
    """A trial in a list of results."""

    trial: int
    row: int | None
    name: str
    cells: Mapping[str, str]
    state: str
    value: str
    """The result; of several targets their desirability."""
    values: Mapping[str, str]
    """Of several targets those that were told."""


def recent_results(snapshot: Snapshot) -> list[TrialRow]:
    """Return the last results, the newest first."""
    return [trial_row(snapshot.study, one) for one in snapshot.recent]


def trial_point(study: Study, record: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the values of a candidate from a line of the table of trials."""
    place = study.candidates
    names = name_in_export([*place.labels, *place.chosen])
    return {name: record[names[name]] for name in place.chosen}


def place_names(study: Study) -> list[str]:
    """Return what the table of trials calls the columns of a candidate."""
    place = study.candidates
    return [*name_in_export([*place.labels, *place.chosen]).values()]


def trial_row(study: Study, record: Mapping[Any, Any]) -> TrialRow:
    """Return a trial from a line of the table of trials."""
    place = study.candidates
    row = int(record["row"]) if place.row_columns else None
    x = trial_point(study, record)
    # Digits of a result are shown as they were typed; a desirability was computed.
    write = format_number if study.combined else format_result
    side = record.get(name_details(place_names(study))[BEYOND])
    value = "" if math.isnan(record["value"]) else write(with_side(record["value"], side))
    return TrialRow(
        trial=int(record["trial"]),
        row=row,
        name="" if row is None else place.name(row),
        cells=candidate_cells(study, row, x),
        state=str(record["state"]),
        value=value,
        values=target_cells(study, record) if study.shows_targets else {},
    )


def target_cells(study: Study, record: Mapping[Any, Any]) -> dict[str, str]:
    """Return the value of each of several targets that was told."""
    targets = [one.name for one in study.targets]
    names = name_targets(place_names(study), targets)
    known = {
        name: with_side(record[names[name]], record.get(f"{names[name]} {BEYOND}"))
        for name in targets
    }
    return {name: format_result(value) for name, value in known.items() if not math.isnan(value)}


def find_trial(snapshot: Snapshot, number: int) -> TrialRow | None:
    frame = snapshot.trials
    found = frame[frame["trial"] == number].to_dict("records")
    return trial_row(snapshot.study, found[0]) if found else None


# ---------------------------------------------------------------------- list of studies


@dataclass(frozen=True)
class StudyCard:
    """A study in the list of all: what it is for, and how far it is."""

    aim: str
    told: int
    pending: int
    best: str
    """The sample with the best single result, and the result; no model is asked."""
    last: str
    """When something was last written, and what."""


def make_card(snapshot: Snapshot) -> StudyCard:
    """Return what the list of studies shows of one of them."""
    study, counts = snapshot.study, snapshot.counts
    told = snapshot.trials[snapshot.trials["state"] == "told"].dropna(subset="value")
    best = ""
    if len(told):
        values = told["value"].to_numpy()
        place = values.argmin() if study.direction == "minimize" else values.argmax()
        record = told.to_dict("records")[int(place)]
        one, number = trial_row(study, record), int(record["row"]) if "row" in record else None
        names = study.candidates.names_of(number)
        x = {name: one.cells[name] for name in one.cells if name not in names}
        best = f"{name_sample(number, names, x)}: {one.value}"
    event = next((one for one in reversed(snapshot.events) if one.kind not in QUIET_EVENTS), None)
    last = (
        ""
        if event is None
        else f"{format_time(event.at, utc=True)}: {describe_event(event, study.candidates.name)}"
    )
    targets = format_names(one.name for one in study.targets)
    return StudyCard(f"{study.direction} {targets}", counts.told, counts.pending, best, last)


# ---------------------------------------------------------------------- headline

WIDE, HIGH = 300.0, 60.0
"""The sides of the drawing of all results, in its own units."""


@dataclass(frozen=True)
class Headline:
    """The likely best as the first page shows it, and the results as a small curve."""

    best: Best
    cells: Mapping[str, str]
    estimate: str
    bar: tuple[float, float, float]
    """Where the interval begins, the estimate stands and the interval ends: shares of the width."""
    ends: tuple[str, str]
    """The least and the greatest of all results and of the interval."""
    dots: Sequence[tuple[float, float]]
    """The results in the order of their trials."""
    steps: str
    """The best result so far, as the points of a line."""


def make_headline(snapshot: Snapshot, best: Best) -> Headline:
    """Return the likely best, and the last results at the same scale."""
    study, frame = snapshot.study, snapshot.trials
    values = frame["value"][frame["state"] == "told"].dropna().tolist()[-MOST_DOTS:]
    low, high = min([best.low, *values]), max([best.high, *values])
    reach = (high - low) or 1.0
    bar = tuple((end - low) / reach for end in (best.low, best.mean, best.high))
    across = [WIDE * (i + 0.5) / max(len(values), 1) for i in range(len(values))]
    # The greatest value is at the top, whether or not greater is better.
    heights = [round(HIGH * (high - value) / reach, 1) for value in values]
    dots = [(round(x, 1), y) for x, y in zip(across, heights, strict=True)]
    better = max if study.direction == "minimize" else min
    steps, so_far = list[str](), None
    for x, y in dots:
        before, so_far = so_far, y if so_far is None else better(so_far, y)
        steps += [f"{x},{before}"] if before is not None else []
        steps.append(f"{x},{so_far}")
    return Headline(
        best=best,
        cells={name: format_cell(value) for name, value in best.x.items()},
        estimate=format_interval(best.mean, best.low, best.high).partition(" ")[0],
        bar=(bar[0], bar[1], bar[2]),
        ends=(format_number(low), format_number(high)),
        dots=dots,
        steps=" ".join(steps),
    )


# ---------------------------------------------------------------------- candidates


@dataclass(frozen=True)
class Query:
    """The choice of candidates that are shown, and their order."""

    sort: str = "mean"
    descending: bool = True
    search: str = ""
    show: str = "all"
    page: int = 1


@dataclass(frozen=True)
class CandidateRow:
    """A candidate in the table of all candidates."""

    row: int | None
    name: str
    """What people call its row."""
    named: Mapping[str, str]
    """The value of each column, what it is called first."""
    results: int
    average: str
    estimate: str
    sd: str
    marks: Sequence[str]

    @property
    def cells(self) -> Sequence[str]:
        return tuple(self.named.values())


@dataclass(frozen=True)
class CandidateTable:
    """One page of the table of candidates."""

    columns: Sequence[str]
    numbered: str
    """What the numbers of rows are called, if the rows have no names: line or row."""
    sortable: Mapping[str, str]
    """Heading -> the name by which it is sorted."""
    rows: Sequence[CandidateRow]
    total: int
    matching: int
    pages: int
    query: Query
    caution: str = ""
    options: Sequence[str] = field(default=SHOWS)


def candidate_table(snapshot: Snapshot, query: Query, best: Best | None) -> CandidateTable:
    """Sort, filter and cut the estimates of all candidates."""
    study, frame = snapshot.study, snapshot.estimates
    place = study.candidates
    columns = [*name_in_export([*place.labels, *place.chosen]).values()]
    shown = with_labels(frame.copy(deep=False), place)
    numbers = ["results", "average", "mean", "sd"]
    sortable = {**({"row": "row"} if "row" in shown else {}), **dict.fromkeys(columns, "")}
    sortable = {name: name for name in (*sortable, *numbers)}
    pending = find_pending(snapshot, shown)
    kept = shown[select_rows(shown, columns, pending, query)]
    if query.sort in sortable:
        kept = kept.sort_values(
            query.sort, ascending=not query.descending, kind="stable", na_position="last"
        )
    pages = max(1, -(-len(kept) // PAGE))
    page = min(max(query.page, 1), pages)
    part = kept.iloc[(page - 1) * PAGE : page * PAGE]
    rows = [
        candidate_row(study, record, columns, bool(pending[index]), best)
        for index, record in zip(part.index, part.to_dict("records"), strict=True)
    ]
    query = Query(query.sort, query.descending, query.search, query.show, page)
    return CandidateTable(
        columns,
        place.numbered_by,
        sortable,
        rows,
        len(shown),
        len(kept),
        pages,
        query,
        frame.attrs["caution"],
    )


def find_candidate(snapshot: Snapshot, row: int, best: Best | None) -> CandidateRow | None:
    """Return what is known of a candidate by its row; None if the table has no such row."""
    study, frame = snapshot.study, snapshot.estimates
    place = study.candidates
    if not place.row_columns or row >= len(place):
        return None
    # Rows that describe the same candidate have one line of estimates.
    shown = with_labels(frame.copy(deep=False), place)
    first = place.first_rows
    [index] = np.flatnonzero(first[frame["row"].to_numpy()] == first[row])[:1]
    record = shown.iloc[int(index)].to_dict() | {"row": row, "allowed": place.allowed_rows[row]}
    columns = [*name_in_export([*place.labels, *place.chosen]).values()]
    known = name_in_export([*place.labels, *place.chosen])
    record |= {known[name]: text for name, text in place.label(row).items()}
    pending = bool(find_pending(snapshot, shown)[int(index)])
    return candidate_row(study, record, columns, pending, best)


def trials_of(snapshot: Snapshot, row: int) -> list[TrialRow]:
    """Return the trials of a row, in their order."""
    own = snapshot.trials[snapshot.trials["row"] == row]
    return [trial_row(snapshot.study, one) for one in own.to_dict("records")]


def find_pending(snapshot: Snapshot, frame: pd.DataFrame) -> Any:
    """Tell which lines are candidates with a pending trial."""
    place = snapshot.study.candidates.without_points()
    rows = place.read_rows(frame)
    waiting = place.read_rows(snapshot.trials[snapshot.trials["state"] == "pending"])
    return np.isin(place.first_rows[rows], place.first_rows[waiting])


def select_rows(frame: pd.DataFrame, columns: Sequence[str], pending: Any, query: Query) -> Any:
    """Tell which lines the visitor wants to see."""
    kept = np.ones(len(frame), dtype=bool)
    if query.show == "measured":
        kept &= frame["results"].to_numpy() > 0
    elif query.show == "unmeasured":
        kept &= frame["results"].to_numpy() == 0
    elif query.show == "pending":
        kept &= pending
    if query.search:
        wanted = query.search.casefold()
        there = np.zeros(len(frame), dtype=bool)
        for name in columns:
            texts = frame[name].map(lambda value: wanted in format_cell(value).casefold())
            there |= texts.to_numpy(dtype=bool)
        kept &= there
    return kept


def candidate_row(
    study: Study,
    record: Mapping[Any, Any],
    columns: Sequence[str],
    pending: bool,
    best: Best | None,
) -> CandidateRow:
    row, place = int(record["row"]) if "row" in record else None, study.candidates
    number = name_cells(row, place.names_of(row)) if place.numbered_by else {}
    marks = ["pending"] if pending else []
    if not record.get("allowed", True):
        marks.append("not allowed")
    if best is not None:
        point = [record[name] for name in columns]
        if row == best.row if row is not None else point == list(best.x.values()):
            marks.append("likely best")
    return CandidateRow(
        row=row,
        name="" if row is None else place.name(row),
        named=number | {name: format_cell(record[name]) for name in columns},
        results=int(record["results"]),
        average=format_number(with_side(record["average"], record.get(AVERAGE_BEYOND)))
        if record["results"]
        else "",
        estimate=format_interval(record["mean"], record["low"], record["high"]),
        sd=format_number(record["sd"], 2),
        marks=marks,
    )


# ---------------------------------------------------------------------- history


@dataclass(frozen=True)
class EventLine:
    """An event in words."""

    number: int
    when: str
    what: str
    trial: int | None
    worker: str
    undone: bool


def event_lines(snapshot: Snapshot, before: int | None = None) -> list[EventLine]:
    """Return events in words, the newest first: at most a page of them, before this number."""
    undone = {event.body["of"] for event in snapshot.events if event.kind == "undone"}
    last = snapshot.number if before is None else max(0, before - 1)
    chosen = snapshot.events[max(0, last - EVENTS) : last]
    return [
        EventLine(
            number=event.seq,
            when=format_time(event.at, utc=True),
            what=describe_event(event, snapshot.study.candidates.name),
            trial=event.trial,
            worker=str(event.body.get("by") or event.worker or ""),
            undone=event.seq in undone,
        )
        for event in reversed(chosen)
    ]


# ---------------------------------------------------------------------- answers


def explanation_rows(explained: Explained) -> tuple[str, list[tuple[str, str]]]:
    """Return why a trial was suggested: a sentence, and the numbers behind it."""
    numbers = {
        "estimate": explained.mean,
        # The sentence has the one with the pending results imagined.
        f"standard deviation{' by the results alone' if explained.pending else ''}": explained.sd,
        "expected improvement": explained.improvement,
        "exploration weight": explained.weight,
        "confidence width": explained.width,
        "weight × width × sd": explained.bonus,
        "gain": explained.gain,
        "horizon": explained.horizon,
        "index": explained.index,
        "best estimate then": explained.greedy_mean,
    }
    if not explained.results:
        # Before the first result the model has no units.
        numbers = {"exploration weight": explained.weight}
    rows = [(name, format_number(value)) for name, value in numbers.items() if value is not None]
    shares = {"probability of being the best": explained.chance}
    rows += [(name, format_share(value)) for name, value in shares.items() if value is not None]
    rows.append(("results known then", str(explained.results)))
    rows.append(("pending then", str(explained.pending)))
    return explained.sentence, rows
