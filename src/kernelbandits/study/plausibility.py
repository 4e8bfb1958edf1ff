"""Results that look mistyped, and results that say nothing: what `tell` remarks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kernelbandits.censored import side_of
from kernelbandits.formatting import format_near
from kernelbandits.study.events import State, Trial
from kernelbandits.study.limits import UNLIMITED
from kernelbandits.study.settings import AUTO, Settings
from kernelbandits.study.units import FIRST
from kernelbandits.study.values import Told

if TYPE_CHECKING:
    from kernelbandits.study.place import Place

FEWEST, ENOUGH = 3, 8
"""Other results by which one is called unusual, and by which it is called so more readily."""
LATEST = 100
"""With how many other results one is compared at most, so that long files stay fast."""
UNUSUAL = 10.0
"""Of many others: spreads from the middle beyond which a result is unusual."""
UNUSUAL_RANGES = 30.0
"""Of few others: ranges from the nearest of them. Three results may lie close together by chance,
and of four normal results the last lies 30 ranges out in about one of 3000 studies."""
SPREAD = 1.4826
"""The sd of a normal, in median absolute deviations."""
SHIFTS = (-1, 1, -2, 2, -3, 3)
"""By how many digits a decimal point slips."""
TOO_LARGE, TOO_SMALL = 15.0, 2.0
"""By how much ln p of a result grows if its decimal point is moved, to the left or to the right,
for it to be called a slip. p is the normal law by which its row was suggested. The least gain means
that it is 5.5, or 2, standard deviations away. Good results surprise more often than bad ones, so
more is asked of large values. Of 768 right results of 16 real tables, each after 10 to 21 others,
these limits named 3; a limit of 5 for both would have named 11."""
NOISES = 5.0
"""Standard deviations of a difference beyond which two results of a row contradict the noise."""


class Expected(NamedTuple):
    """What was expected of a result when its row was suggested, in the units of the target."""

    mean: float
    sd: float
    """Of one result: the uncertainty of f and the noise."""


class Measured(NamedTuple):
    """One value with its place."""

    trial: int
    row: int
    value: float


Remembered = list[tuple[Trial, Mapping[str, float]]]
"""Trials with the values that they had."""


def remember_latest(state: State) -> Remembered:
    """Return the last trials with results, and those that have some of their values, as they are.

    A tell does this while nobody else can write, so it is quick. `remark_results` compares with it.
    """
    begun = [trial for trial in state.pending.values() if trial.values]
    return [(trial, trial.values) for trial in (*state.results[-LATEST:], *begun)]


def list_values(latest: Remembered, name: str) -> list[Measured]:
    """List the values of a target among some trials."""
    return [
        Measured(trial.number, trial.row, values[name])
        for trial, values in latest
        if name in values
    ]


def latest_values(state: State) -> list[Measured]:
    """Return the last values of a study, in the order in which they were told.

    With several targets these are the desirabilities.
    """
    return [
        Measured(trial.number, trial.row, trial.value)
        for trial in state.results[-LATEST:]
        if trial.value is not None
    ]


def remark_errors(told: Sequence[Told], state: State) -> list[str]:
    """Say once what a named policy does not learn: standard errors, and limits of results."""
    if state.settings.policy == AUTO:
        return []
    limited = [one.number for one in state.results if side_of(one.value) is not None]
    said = []
    if limited and limited[0] in {one.trial for one in told}:
        said = [
            f"the policy {state.settings.policy} takes the limit of a result for the result. Only "
            "auto learns that the result is beyond it"
        ]
    fresh = {one.trial for one in told if one.sem is not None}
    if not fresh:
        return said
    first = next((one for one in state.results if one.sem is not None), None)
    if first is None or first.number not in fresh:
        return said
    said.append(
        f"the policy {state.settings.policy} is a rule for noise of one size: it takes a "
        "result with a standard error as a plain one. Only auto weighs results by their errors"
    )
    return said


def remark_results(
    before: Remembered,
    told: Sequence[Told],
    state: State,
    place: Place,
    expected: Mapping[int, Expected],
) -> list[str]:
    """Return what is worth a word about the results just told, beside those known before.

    expected: what the model expected of results that nobody had asked for, by trial.
    """
    remarks: list[str] = []
    for target in state.settings.wanted:
        earlier = list_values(before, target.name)
        known = {one.trial for one in earlier}
        fresh = [
            Measured(trial.number, trial.row, trial.values[target.name])
            for trial in (state.trials[one.trial] for one in told if one.accepted)
            if target.name in trial.values
            and trial.number not in known
            # Of a limit, such as <0.5, nobody typed the digits of a result.
            and side_of(trial.values[target.name]) is None
        ]
        remarks += remark_unusual(earlier, fresh, state, place, target.name, expected)
        if target.name == state.settings.target:
            remarks += remark_equal(earlier, fresh, state.settings)
            remarks += remark_noise(earlier, fresh, state.settings.noise, place)
    return remarks


def remark_unusual(
    earlier: Sequence[Measured],
    fresh: Sequence[Measured],
    state: State,
    place: Place,
    target: str,
    expected: Mapping[int, Expected],
) -> Iterator[str]:
    """Name values of a target that are far from all others, or from what was expected of them.

    With few results an earlier one may turn out to be the unusual one, so all are looked at.
    """
    every = [*earlier, *fresh]
    news: Sequence[int] = range(len(earlier), len(every))
    if len(every) <= ENOUGH + 1:
        named = {
            i for i, one in enumerate(earlier) if is_unusual(one.value, other_values(earlier, i))
        }
        news = [i for i in range(len(every)) if i not in named]
    for i in news:
        others = other_values(every, i)
        fresh_of_many = i >= len(earlier) and len(others) >= ENOUGH
        learnt = fresh_of_many and target == state.settings.target
        found = find_slip(every[i], state, expected) if learnt else None
        if found is None and is_unusual(every[i].value, others):
            what = f"the other results ({min(others):g} to {max(others):g})"
            found = what, intended_value(every[i].value, others)
        if found is not None:
            name = target if state.settings.several else None
            yield describe_mistake(every[i], *found, place, name)


def other_values(every: Sequence[Measured], place: int) -> list[float]:
    """Return the latest values before one of them, and those after it if these are few."""
    earlier = every[max(0, place - LATEST) : place]
    later = every[place + 1 : place + 1 + LATEST - len(earlier)]
    return [one.value for one in (*earlier, *later)]


def is_unusual(value: float, others: Sequence[float]) -> bool:
    """Tell whether a value is far from all others, or far by a decimal point alone."""
    if len(others) < FEWEST:
        return False
    low, high = min(others), max(others)
    if low <= value <= high:
        return False
    if intended_value(value, others) is not None:
        return True
    distance = max(low - value, value - high)
    if is_within_decades(value, others):
        return False
    if len(others) < ENOUGH:
        return high > low and distance > UNUSUAL_RANGES * (high - low)
    middle = statistics.median(others)
    spread = SPREAD * statistics.median(abs(other - middle) for other in others)
    # Results that crowd about a few good rows have a small spread. A value just beyond the others
    # is not far from them yet: it must be farther away than they are from each other.
    apart = distance > high - low
    return apart and spread > 0 and abs(value - middle) > UNUSUAL * spread


def is_within_decades(value: float, others: Sequence[float]) -> bool:
    """Tell whether a value is no farther from results of one sign, in logarithms, than they span.

    Yields, counts and concentrations often differ by factors. Among 0.2, 1 and 4 a result of 20 is
    the next factor of five and nothing unusual, though it is four times as large as their range.
    """
    if not all(other * value > 0 for other in others):
        return False
    logs = [math.log(abs(other)) for other in others]
    here = math.log(abs(value))
    return max(min(logs) - here, here - max(logs)) <= max(logs) - min(logs)


def intended_value(value: float, others: Sequence[float]) -> float | None:
    """Return the value with its decimal point moved, if only that lies among the others; else None.

    That is tried only where all of them have one sign and the others vary by less than their size:
    among values that differ by factors of ten, one more factor of ten is nothing unusual.
    """
    low, high, middle = min(others), max(others), statistics.median(others)
    one_sign = (low > 0 and value > 0) or (high < 0 and value < 0)
    if not one_sign or high - low > abs(middle):
        return None
    # Equal results still vary a little: by a tenth of their size, until others are known.
    room = max(high - low, abs(middle) / 10)
    if low - 3 * room <= value <= high + 3 * room:
        return None
    for digits in SHIFTS:
        moved = move_point(value, digits)
        if low - room <= moved <= high + room:
            return moved
    return None


def move_point(value: float, digits: int) -> float:
    """Return a value with its decimal point moved to the right, or to the left if digits < 0."""
    # Rounded to the digits that were typed: 83 / 100 is 0.83 and not 0.8300000000000001.
    return float(f"{value * 10.0**digits:.12g}")


def find_slip(
    result: Measured, state: State, expected: Mapping[int, Expected]
) -> tuple[str, float | None] | None:
    """Return what a value is far from, and what was meant, if its decimal point has slipped.

    It has if the value fits what was expected of it much better with its decimal point moved. The
    estimate with which a row was suggested is stored with the ask, so no model is needed; of other
    rows the model was asked. Of one of several targets nothing is known, unless it is the only one
    with a direction: the others are not what the policy sees.
    """
    trial, limits = state.trials[result.trial], state.settings.limits_seen
    known = expected.get(result.trial) or expect_result(trial, state.settings)
    meant = None if known is None else undo_slip(result.value, known, limits)
    if known is None or meant is None:
        return None
    predicted = format_near(known.mean, known.sd)
    what = f"what the other results predicted for it ({predicted}, sd {known.sd:.2g})"
    return what, meant


def expect_result(trial: Trial, settings: Settings) -> Expected | None:
    """Return what was expected of the result of a trial; None if nothing was.

    The initial design is chosen before anything can be expected, and only auto notes the noise.
    """
    note, scale = trial.note, trial.scale(settings)
    if note.get("first") or not {"mean", "sd", "noise_scale"} <= {*note}:
        return None
    sd = math.hypot(note["sd"], note["noise_scale"])
    return Expected(float(scale.estimate(note["mean"])), float(scale.length(sd)))


def undo_slip(
    value: float, expected: Expected, limits: tuple[float, float] = UNLIMITED
) -> float | None:
    """Return the value with its decimal point moved, if that is much more probable; else None.

    A number beyond the limits of the target was not meant.

    >>> undo_slip(6.8, Expected(mean=70.0, sd=15.0)), undo_slip(48.0, Expected(70.0, 15.0))
    (68.0, None)
    """
    mean, sd = expected
    if not sd > 0:
        return None
    gains: dict[float, float] = {}
    for digits in SHIFTS:
        moved = move_point(value, digits)
        if not limits[0] <= moved <= limits[1]:
            continue
        away, left = abs(value - mean) / sd, abs(moved - mean) / sd
        # The difference of the squares, halved, without a square that may overflow.
        gain = (away - left) * (away + left) / 2
        if gain > (TOO_LARGE if digits < 0 else TOO_SMALL):
            gains[moved] = gain
    return max(gains, key=lambda moved: gains[moved], default=None)


def describe_mistake(
    result: Measured, what: str, meant: float | None, place: Place, target: str | None
) -> str:
    """Say from what a value is far, what was probably meant, and how to correct it.

    target: the name of the target, if there are several.
    """
    question = "." if meant is None else f"; did you mean {meant:g}?"
    right = "VALUE" if meant is None else f"{meant:g}"
    value = f"{result.value:g}" if target is None else f"{target} {result.value:g}"
    call = right if target is None else f'{{"{target}": {right}}}'
    option = right if target is None else f"--value {target}={right}"
    return (
        f"trial {result.trial} ({place.name(result.row)}): {value} is far from {what}"
        f"{question} It counts as it is. If it was mistyped, correct it: "
        f"study.correct({result.trial}, {call}), "
        f"or kernelbandits study correct PLACE {result.trial} {option}"
    )


def remark_equal(
    earlier: Sequence[Measured], fresh: Sequence[Measured], settings: Settings
) -> Iterator[str]:
    """Say once, with the fifth result, that all results so far are equal."""
    if not len(earlier) < FIRST <= len(earlier) + len(fresh):
        return
    values = [one.value for one in (*earlier, *fresh)]
    if len(set(values)) == 1 and settings.spread is None:
        yield (
            f"all {len(values)} results are {values[0]:g}, so the spread of {settings.target} is "
            "unknown. Estimates and intervals mean little until a result differs"
        )


def remark_noise(
    earlier: Sequence[Measured], fresh: Sequence[Measured], noise: float | None, place: Place
) -> Iterator[str]:
    """Say which two results of one candidate differ by more than the noise that was given."""
    if noise is None:
        return
    first_rows = place.first_rows
    last = {int(first_rows[one.row]): one for one in earlier}
    for one in fresh:
        other = last.get(int(first_rows[one.row]))
        last[int(first_rows[one.row])] = one
        if other is not None and abs(one.value - other.value) > NOISES * math.sqrt(2) * noise:
            yield (
                f"you gave a noise of {noise:g}, but {place.name(one.row)} gave {other.value:g} "
                f"(trial {other.trial}) and {one.value:g} (trial {one.trial}); where the results "
                "contradict the noise, it is fitted to them"
            )
