"""A study as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.study.answers import Answers
from kernelbandits.study.cautions import NO_RESULTS
from kernelbandits.study.state import State, Trial
from kernelbandits.study.units import Scale
from kernelbandits.tables.candidates import Candidates

if TYPE_CHECKING:
    import pandas as pd

TIMES = ("asked_at", "told_at")
NOTED = ("weight", "width", "mean", "sd")
OWN = {
    "trial",
    "row",
    "state",
    "value",
    *TIMES,
    "worker",
    *NOTED,
    "allowed",
    "results",
    "average",
    "low",
    "high",
}


def trials_frame(state: State, candidates: Candidates) -> pd.DataFrame:
    """One row for each trial, in their order."""
    import pandas as pd

    sign, names = state.settings.sign, columns_of(candidates)
    rows = [
        trial_row(trial, candidates, names, trial.scale(sign))
        for _, trial in sorted(state.trials.items())
    ]
    labels = [beside_ours(name) for name in candidates.labels]
    header = ["trial", "row", *labels, *names.values(), "state", "value", *TIMES, "worker", *NOTED]
    frame = pd.DataFrame(rows, columns=header).astype(dict.fromkeys(("value", *NOTED), float))
    for name in TIMES:
        frame[name] = pd.to_datetime(frame[name], unit="s", utc=True).dt.round("ms")
    return frame


def columns_of(candidates: Candidates) -> dict[str, str]:
    """Column -> what it is called beside our own columns."""
    return {name: beside_ours(name) for name in candidates.chosen}


def beside_ours(name: str) -> str:
    return f"{name} (candidate)" if name in OWN else name


def trial_row(
    trial: Trial, candidates: Candidates, names: dict[str, str], scale: Scale
) -> list[Any]:
    x, note = candidates.x(trial.row), trial.note
    times = [event.at if event else None for event in (trial.asked, trial.told)]
    mean = scale.outward(note["mean"]) if "mean" in note else None
    sd = scale.length(note["sd"]) if "sd" in note else None
    noted = [note.get("weight"), note.get("width"), mean, sd]
    return [
        trial.number,
        trial.row,
        *candidates.label(trial.row).values(),
        *(x[name] for name in names),
        trial.state,
        trial.value,
        *times,
        trial.worker,
        *noted,
    ]


def estimates_frame(answers: Answers) -> pd.DataFrame:
    """One row for each candidate: what was measured there and what is known of it.

    `attrs["caution"]` says why the estimates are to be taken with care; "" if they are not.
    """
    import pandas as pd

    candidates, n = answers.candidates, len(answers.candidates)
    xs = [candidates.x(row) for row in range(n)]
    mean, sd, low, high = row_estimates(answers)
    counts = [answers.state.counts.get(row, 0) for row in range(n)]
    told: dict[str, Any] = {
        shown: [x[name] for x in xs] for name, shown in columns_of(candidates).items()
    }
    told |= {
        "allowed": candidates.allowed_rows,
        "results": counts,
        "average": averages(answers.state, n),
    }
    told |= {"mean": mean, "sd": sd, "low": low, "high": high}
    frame = pd.DataFrame({"row": np.arange(n), **told})
    frame.attrs["caution"] = answers.caution if answers.has_results else NO_RESULTS
    return frame


def row_estimates(answers: Answers) -> Array:
    """Return mean, sd and the ends of the 95 % interval of every row, in the target's units.

    Rows that are no arms have nan.
    """
    found = np.full((4, len(answers.candidates)), np.nan)
    view, scale = answers.view, answers.scale
    ends = np.sort([scale.outward(view.low), scale.outward(view.high)], axis=0)
    found[:, answers.driver.rows] = scale.outward(view.mean), scale.length(view.sd), *ends
    return found


def averages(state: State, n: int) -> Array:
    """The mean value of every row; none where there is no value."""
    sums, counts = np.zeros(n), np.zeros(n)
    for trial in state.results:
        if trial.value is not None:
            sums[trial.row] += trial.value
            counts[trial.row] += 1
    mean: Array = np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0)
    return mean
