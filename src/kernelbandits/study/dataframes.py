"""A study as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.censored import average_results, side_of
from kernelbandits.checks import Array, Indices
from kernelbandits.study.events import State, Trial
from kernelbandits.study.targets import Target
from kernelbandits.study.units import Scale
from kernelbandits.study.words import row_cell
from kernelbandits.tables.export import (
    AVERAGE_BEYOND,
    BEYOND,
    FEASIBLE,
    FRONT,
    NOTED,
    TIMES,
    name_details,
    name_in_export,
    name_targets,
)

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.study.answers import Answers
    from kernelbandits.study.place import Place
    from kernelbandits.study.values import FrontPoint


def trials_frame(state: State, candidates: Place) -> pd.DataFrame:
    """Return one row for each trial, in their order; points of a space have no column "row"."""
    import pandas as pd

    names = name_in_export([*candidates.labels, *candidates.chosen])
    rows = [
        trial_row(trial, candidates, trial.scale(state.settings), trial.has_units(state.settings))
        for _, trial in sorted(state.trials.items())
    ]
    named = [*candidates.row_columns, *names.values()]
    header = ["trial", *named, "state", "value", *TIMES, "worker", *NOTED]
    told = [trial for _, trial in sorted(state.trials.items())]
    frame = pd.DataFrame(rows, columns=header).astype(dict.fromkeys(("value", *NOTED), float))
    for name in candidates.categories:
        frame[names[name]] = candidates.objects(name, [trial.row for trial in told])
    add_targets(frame, state, told, names.values())
    shown = name_details(names.values())
    for name, cells in list_details(told).items():
        if any(cell is not None for cell in cells):
            frame[shown[name]] = pd.Series(cells, dtype=float if name == "sem" else object)
    for name in TIMES:
        frame[name] = pd.to_datetime(frame[name], unit="s", utc=True).dt.round("ms")
    return frame


def add_targets(
    frame: pd.DataFrame, state: State, trials: Sequence[Trial], described: Iterable[str]
) -> None:
    """Add a column for each of several targets, which trials meet the limits on outcomes, and
    which are on the front.
    """
    import pandas as pd

    # All policies are imported with it, which an export of a single target does not need.
    from kernelbandits.policies.hypervolume import find_front

    settings = state.settings
    targets = settings.wanted
    if not settings.shows_targets:
        return
    names = name_targets(described, [one.name for one in targets])
    for one in targets:
        frame[names[one.name]] = [trial.values.get(one.name, np.nan) for trial in trials]
        sides = [side_of(trial.values.get(one.name)) for trial in trials]
        if any(sides):
            frame[f"{names[one.name]} {BEYOND}"] = pd.Series(sides, dtype=object)
        errors = [trial.sems.get(one.name, np.nan) for trial in trials]
        if not np.isnan(errors).all():
            frame[f"{names[one.name]} sem"] = errors
    if settings.outcomes:
        met = [settings.meets_limits(trial.values) for trial in trials]
        frame[FEASIBLE] = pd.Series(met, dtype=object)
    if not settings.combined:
        return
    complete = [
        i
        for i, trial in enumerate(trials)
        if trial.value is not None and settings.meets_limits(trial.values)
    ]
    qualities = [
        [float(one.quality(trials[i].values[one.name])) for one in settings.objectives]
        for i in complete
    ]
    front = {complete[i] for i in find_front(np.array(qualities))} if complete else set[int]()
    frame[FRONT] = [i in front for i in range(len(trials))]


def front_frame(
    points: Sequence[FrontPoint], place: Place, targets: Sequence[Target]
) -> pd.DataFrame:
    """Return one row for each candidate on the front."""
    import pandas as pd

    names = name_in_export([*place.labels, *place.chosen])
    columns = name_targets(names.values(), [one.name for one in targets])
    rows = [
        {
            **row_cell(one.row),
            **{
                names[name]: value
                for name, value in {**one.label, **one.x}.items()
                if name in names
            },
            **{columns[name]: value for name, value in one.values.items()},
            **{
                f"{columns[name]} {end}": value
                for name, ends in one.intervals.items()
                for end, value in zip(("low", "high"), ends, strict=True)
            },
            "desirability": one.desirability,
        }
        for one in points
    ]
    return pd.DataFrame(rows)


def list_details(trials: Sequence[Trial]) -> dict[str, list[Any]]:
    """List standard errors, notes, and who measured; an export leaves out empty columns."""
    bodies = [trial.told.body if trial.told else {} for trial in trials]
    return {
        BEYOND: [side_of(trial.value) for trial in trials],
        "sem": [trial.sem for trial in trials],
        "note": [body.get("note") for body in bodies],
        "by": [body.get("by") for body in bodies],
    }


def trial_row(trial: Trial, candidates: Place, scale: Scale, has_units: bool) -> list[Any]:
    note = trial.note
    times = [event.at if event else None for event in (trial.asked, trial.told)]
    mean = scale.estimate(note["mean"]) if has_units and "mean" in note else None
    sd = scale.length(note["sd"]) if has_units and "sd" in note else None
    noted = [note.get("weight"), note.get("width"), mean, sd]
    return [
        trial.number,
        *candidates.shown_cells(trial.row),
        trial.state,
        trial.value,
        *times,
        trial.worker,
        *noted,
    ]


def estimates_frame(answers: Answers) -> pd.DataFrame:
    """Return one row for each different candidate: what was measured there and what is known of it.

    Rows of the table that describe the same candidate are one row here, with the results of all of
    them; `row` is the first one that is allowed. A space has a row for each point with results or
    pending, without the columns row and allowed. `attrs["caution"]` says why the estimates are to
    be taken with care; "" if they are not.
    """
    import pandas as pd

    from kernelbandits.study.cautions import NO_RESULTS

    place, state = answers.candidates, answers.state
    used = [*state.counts, *(trial.row for trial in state.pending.values())]
    rows = place.shown_rows(used)
    counts, average, sides = count_results(state, place)
    own, names = place.members[rows], name_in_export([*place.labels, *place.chosen])
    numbers = dict.fromkeys(place.row_columns, rows)
    allowed = {"allowed": place.allowed_rows[rows]} if place.row_columns else {}
    described = {names[name]: place.objects(name, rows) for name in place.chosen}
    estimates = zip(("mean", "sd", "low", "high"), row_estimates(answers)[:, rows], strict=True)
    frame = pd.DataFrame(
        {
            **numbers,
            **described,
            **allowed,
            "results": counts[own],
            "average": average[own],
            **({AVERAGE_BEYOND: pd.Series(sides[own], dtype=object)} if any(sides) else {}),
            **dict(estimates),
        }
    )
    add_target_estimates(frame, answers, rows)
    frame.attrs["caution"] = answers.caution if answers.has_results else NO_RESULTS
    return frame


def add_target_estimates(frame: pd.DataFrame, answers: Answers, rows: Sequence[int]) -> None:
    """Add the estimates of each of several targets, by a model of its own, and the probability of
    meeting the limits on outcomes.
    """
    from kernelbandits.study.target_models import TargetModels

    if not answers.state.settings.shows_targets:
        return
    for target, own in TargetModels.of(answers):
        if own is answers:
            # The estimates of a single target with a direction are there already.
            continue
        found = row_estimates(own)[:, rows]
        for part, values in zip(("mean", "sd", "low", "high"), found, strict=True):
            frame[f"{target.name} {part}"] = values
    if answers.outcomes:
        chances = np.full(len(answers.candidates), np.nan)
        chances[answers.driver.rows] = answers.feasibilities
        frame[FEASIBLE] = chances[rows]


def with_labels(estimates: pd.DataFrame, place: Place) -> pd.DataFrame:
    """Insert what the table calls each row into the estimates, right after the row.

    Points of a space have no labels.
    """
    shown = name_in_export([*place.labels, *place.chosen])
    for name in reversed(place.labels):
        estimates.insert(1, shown[name], [place.label(row)[name] for row in estimates["row"]])
    return estimates


def list_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one object of JSON for each row; times as text, what is missing as null."""
    columns = []
    for name in frame.columns:
        cells, measured = frame[name].tolist(), frame[name].notna().tolist()
        if frame[name].dtype.kind == "M":
            cells = [at.isoformat() for at in cells]
        columns.append([cell if some else None for cell, some in zip(cells, measured, strict=True)])
    names = [str(name) for name in frame.columns]
    return [dict(zip(names, line, strict=True)) for line in zip(*columns, strict=True)]


def row_estimates(answers: Answers) -> Array:
    """Return mean, sd and the ends of the 95 % interval of every row, in the target's units.

    Rows that are no arms have nan.
    """
    found = np.full((4, len(answers.candidates)), np.nan)
    view, scale = answers.view.complete(), answers.scale
    ends = np.sort([scale.estimate(view.low), scale.estimate(view.high)], axis=0)
    found[:, answers.driver.rows] = scale.estimate(view.mean), scale.length(view.sd), *ends
    return found


def count_results(state: State, place: Place) -> tuple[Indices, Array, Array]:
    """Count the results of every different candidate, and average their values.

    The mean is nan where there is no value. Where it is only a limit, the third array has its side.
    """
    members, n = place.members, len(place.different_rows)
    counts = np.zeros(n, dtype=np.int64)
    for row, count in state.counts.items():
        counts[members[row]] += count
    told = [trial for trial in state.results if trial.value is not None]
    places = members[[trial.row for trial in told]] if told else np.zeros(0, dtype=np.int64)
    values = np.bincount(places, minlength=n)
    sums = np.bincount(places, [float(trial.value or 0.0) for trial in told], minlength=n)
    mean: Array = np.divide(sums, values, out=np.full(n, np.nan), where=values > 0)
    sides = np.full(n, None, dtype=object)
    for one in {members[trial.row] for trial in told if side_of(trial.value)}:
        own = [
            trial.value for trial in told if trial.value is not None and members[trial.row] == one
        ]
        average = average_results(own)
        mean[one], sides[one] = average, side_of(average)
    return counts, mean, sides
