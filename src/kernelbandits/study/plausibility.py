"""Results that look mistyped, and results that say nothing: what `tell` remarks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kernelbandits.study.events import State, Trial
from kernelbandits.study.settings import Settings
from kernelbandits.study.units import FIRST
from kernelbandits.study.values import Told

if TYPE_CHECKING:
    from kernelbandits.study.places import Place

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
NOISES = 5.0
"""Standard deviations of a difference beyond which two results of a row contradict the noise."""


class Measured(NamedTuple):
    """One value with its place."""

    trial: int
    row: int
    value: float


Remembered = list[tuple[Trial, float | None]]
"""Trials with the values that they had."""


def remember_latest(state: State) -> Remembered:
    """The last results of a study as they are now, which takes a tell little of its time to write.

    `list_values` makes the values of it that `remark_results` compares with.
    """
    return [(trial, trial.value) for trial in state.results[-LATEST:]]


def list_values(latest: Remembered) -> list[Measured]:
    """The values among some results."""
    return [
        Measured(trial.number, trial.row, value) for trial, value in latest if value is not None
    ]


def latest_values(state: State) -> list[Measured]:
    """The last values of a study, in the order in which they were told."""
    return list_values(remember_latest(state))


def remark_results(
    known: Sequence[Measured], told: Sequence[Told], settings: Settings, place: Place
) -> list[str]:
    """Return what is worth a word about the results just told, beside those known before."""
    before = {one.trial for one in known}
    fresh = [
        Measured(one.trial, one.row or 0, one.value)
        for one in told
        if one.accepted and one.value is not None and one.trial not in before
    ]
    return [
        *remark_unusual(known, fresh, place),
        *remark_equal(known, fresh, settings),
        *remark_noise(known, fresh, settings.noise, place),
    ]


def remark_unusual(
    known: Sequence[Measured], fresh: Sequence[Measured], place: Place
) -> Iterator[str]:
    """Name values that are far from all others, with what was probably meant.

    With few results an earlier one may turn out to be the unusual one, so all are looked at.
    """
    every = [*known, *fresh]
    news: Sequence[int] = range(len(known), len(every))
    if len(every) <= ENOUGH + 1:
        named = {i for i, one in enumerate(known) if is_unusual(one.value, rest(known, i))}
        news = [i for i in range(len(every)) if i not in named]
    for i in news:
        if is_unusual(every[i].value, rest(every, i)):
            yield describe_unusual(every[i], rest(every, i), place)


def rest(every: Sequence[Measured], place: int) -> list[float]:
    """The values before one of them, the latest of them, and those after it if these are few."""
    earlier = every[max(0, place - LATEST) : place]
    later = every[place + 1 : place + 1 + LATEST - len(earlier)]
    return [one.value for one in (*earlier, *later)]


def is_unusual(value: float, others: Sequence[float]) -> bool:
    """Whether a value is far from all others, or would lie among them but for a decimal point."""
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
    """Whether a value is no farther from results of one sign, in logarithms, than they span.

    Yields, counts and concentrations often differ by factors. Among 0.2, 1 and 4 a result of 20 is
    the next factor of five and nothing unusual, though it is four times as large as their range.
    """
    if not all(other * value > 0 for other in others):
        return False
    logs = [math.log(abs(other)) for other in others]
    here = math.log(abs(value))
    return max(min(logs) - here, here - max(logs)) <= max(logs) - min(logs)


def intended_value(value: float, others: Sequence[float]) -> float | None:
    """The value with its decimal point moved, if only that lies among the others.

    Asked only where all of them have one sign and the others vary by less than their size: among
    values that differ by factors of ten, one more factor of ten is nothing unusual.
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
        # Rounded to the digits that were typed: 83 / 100 is 0.83 and not 0.8300000000000001.
        moved = float(f"{value * 10.0**digits:.12g}")
        if low - room <= moved <= high + room:
            return moved
    return None


def describe_unusual(one: Measured, others: Sequence[float], place: Place) -> str:
    """Name the trial, its row, the others, and how to correct the value."""
    value = one.value
    meant = intended_value(value, others)
    question = "." if meant is None else f"; did you mean {meant:g}?"
    right = "VALUE" if meant is None else f"{meant:g}"
    return (
        f"trial {one.trial} ({place.name(one.row)}): {value:g} is far from the other results "
        f"({min(others):g} to {max(others):g}){question} It counts as it is. If it was mistyped, "
        f"correct it: study.correct({one.trial}, {right}), or "
        f"kernelbandits study correct PLACE {one.trial} {right}"
    )


def remark_equal(
    known: Sequence[Measured], fresh: Sequence[Measured], settings: Settings
) -> Iterator[str]:
    """Say once, with the fifth result, that all results so far are equal."""
    if not len(known) < FIRST <= len(known) + len(fresh):
        return
    values = [one.value for one in (*known, *fresh)]
    if len(set(values)) == 1 and settings.spread is None:
        yield (
            f"all {len(values)} results are {values[0]:g}, so the spread of {settings.target} is "
            "unknown. Estimates and intervals mean little until a result differs"
        )


def remark_noise(
    known: Sequence[Measured], fresh: Sequence[Measured], noise: float | None, place: Place
) -> Iterator[str]:
    """Say which two results of one candidate differ by more than the noise that was given."""
    if noise is None:
        return
    kinds = place.first_rows
    last = {int(kinds[one.row]): one for one in known}
    for one in fresh:
        other = last.get(int(kinds[one.row]))
        last[int(kinds[one.row])] = one
        if other is not None and abs(one.value - other.value) > NOISES * math.sqrt(2) * noise:
            yield (
                f"you gave a noise of {noise:g}, but {place.name(one.row)} gave {other.value:g} "
                f"(trial {other.trial}) and {one.value:g} (trial {one.trial}); where the results "
                "contradict the noise, it is fitted to them"
            )
