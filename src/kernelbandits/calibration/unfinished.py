"""Runs that were stopped before their end, and the final value that their last report foretells.

>>> completed = [Curve({1: 0.9, 3: 0.5}, 0.3), Curve({1: 0.8, 3: 0.6}, 0.3)]
>>> found = predict_final(Curve({1: 1.2}), completed)
>>> round(found, 2), round(found.sem, 2)
(0.65, 0.09)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.rewards import Measurement
from kernelbandits.checks import LARGEST_REWARD, Array

ENOUGH = 2
"""From so many completed runs on, the spread of what is still to come is known."""
LEAST_WEIGHT = 0.05
"""The weight of a run that was at another value: where no run was near, all count alike."""
FAR = 3 * 1.4826
"""What is usual, in median distances from the median: three standard deviations of a normal law."""
LEAST_SHARE = 1e-3
"""The least standard error of a prediction, in shares of the spread of the final values."""
LEAST_ERROR = 1e-12
"""The least standard error where these do not differ at all."""


@dataclass(frozen=True)
class Curve:
    """What a run has reported at its steps, and its final value if it was completed.

    Parameters
    ----------
    reports
        Step -> value. Steps are numbers of epochs, trees or seconds, in any order. A value may be
        NaN or infinite, as of a model whose training diverges; it is passed over.
    final
        The result of the run; None if it was stopped before its end.

    Examples
    --------
    >>> from kernelbandits.calibration.unfinished import Curve
    >>> Curve({1: 0.9, 3: 0.5}, final=0.3).last
    (3, 0.5)
    """

    reports: Mapping[float, float]
    final: float | None = None

    def __post_init__(self) -> None:
        for step, value in self.reports.items():
            checks.number("a curve", "a step", step)
            checks.needs(isinstance(value, Real), "a curve", "numbers as reports", value)
        if self.final is not None:
            checks.reward(self.final)

    @property
    def last(self) -> tuple[float, float] | None:
        """The last step and its value; None if nothing was reported."""
        return max(self.reports.items()) if self.reports else None

    @property
    def diverged(self) -> bool:
        """Whether the last report is no number that a policy can learn: NaN, infinite, too large.

        >>> Curve({1: 0.9, 2: float("nan")}).diverged, Curve({}).diverged
        (True, False)
        """
        return self.last is not None and not is_usable(self.last[1])

    def at(self, step: float) -> float | None:
        """Return the value at a step; None if no report can be used.

        It lies on the line between the reports before and after the step. Before the first report
        and after the last one it is that of the nearest.

        >>> Curve({1: 0.9, 3: 0.5}).at(2), Curve({1: 0.9, 3: 0.5}).at(9)
        (0.7, 0.5)
        """
        known = self.reports.get(step, math.nan)
        if is_usable(known):
            return float(known)
        usable = sorted((one, y) for one, y in self.reports.items() if is_usable(y))
        if not usable:
            return None
        steps, values = zip(*usable, strict=True)
        return float(np.interp(step, steps, values))


def is_usable(value: float) -> bool:
    """Tell whether a report is a number that a policy can learn."""
    return abs(value) <= LARGEST_REWARD


def predict_final(stopped: Curve, completed: Sequence[Curve]) -> Measurement | None:
    """Return the final value that a stopped run would have had, with its standard error.

    Let v be the last report, at step s, and d_i what the completed run i, which had v_i at this
    step, has gained from there to its end. A run that had come about as far says more. With h the
    standard deviation of the v_i,

        v + sum_i w_i d_i / sum_i w_i,    w_i = exp(-(v - v_i)^2 / (2 h^2)) + 0.05.

    The standard error is the weighted standard deviation of the d_i times sqrt(1 + 1/n), where n
    is the number of runs that count, (sum w)^2 / sum w^2. Training may diverge. So a gain farther
    from the median of all than three standard deviations, by the median distance, counts as one
    that is as far, and a prediction lies no farther from all that completed runs have reported, at
    this step and in the end, than these differ from each other.

    It is None where fewer than two completed runs have reported anything, and where the last report
    of the stopped run is no number that a policy can learn.
    """
    if stopped.last is None or stopped.diverged:
        return None
    step, value = stopped.last
    pairs = [
        (run.final, known)
        for run in completed
        if run.final is not None and (known := run.at(step)) is not None
    ]
    if len(pairs) < ENOUGH:
        return None
    finals, there = np.array(pairs).T
    gains = limit_outliers(finals - there)
    weights = weigh_runs(value - there, float(np.std(limit_outliers(there))))
    gain, share = float(weights @ gains), float(weights @ weights)
    variance = float(weights @ (gains - gain) ** 2) / (1 - share)
    spread = math.sqrt(variance * (1 + share))
    least = LEAST_SHARE * float(np.std([*finals, value]))
    # Equal numbers throughout have no spread, and a standard error is above zero.
    predicted, error = limit_to_range(value + gain, pairs), max(spread, least, LEAST_ERROR)
    return Measurement(predicted, error) if is_usable(predicted) and is_usable(error) else None


def limit_outliers(values: Array) -> Array:
    """Return values, those far from the median of all moved to the limit of what is usual.

    >>> limit_outliers(np.array([1.0, 2.0, 3.0, 1e6])).round(2)
    array([1.  , 2.  , 3.  , 6.95])
    """
    middle = np.median(values)
    reach = FAR * float(np.median(np.abs(values - middle)))
    return np.asarray(np.clip(values, middle - reach, middle + reach))


def limit_to_range(predicted: float, pairs: Sequence[tuple[float, float]]) -> float:
    """Return a prediction, moved towards the values of completed runs if it is far from them all.

    >>> limit_to_range(1e6, [(0.3, 0.9), (0.2, 0.5)])
    1.6
    """
    values = np.array(pairs)
    low, high = float(values.min()), float(values.max())
    return min(max(predicted, 2 * low - high), 2 * high - low)


def weigh_runs(gaps: Array, scale: float) -> Array:
    """Return the shares of completed runs in a prediction, by how far they were from its value.

    >>> import numpy as np
    >>> weigh_runs(np.array([0.0, 0.0, 9.0]), 1.0).round(3)
    array([0.488, 0.488, 0.023])
    """
    weights = np.full(len(gaps), LEAST_WEIGHT)
    if scale > 0:
        # Beyond 40 deviations the exponential is 0, and a square could overflow.
        weights += np.exp(-(np.minimum(np.abs(gaps) / scale, 40.0) ** 2) / 2)
    return np.asarray(weights / weights.sum())


class RunResults:
    """The results of runs, in the order in which they become known.

    The result of a completed run is its final value. That of a stopped run is predicted from the
    runs completed before it (`predict_final`). If these are too few, it becomes known as soon as
    enough others are completed. So results only join the end: what was learnt never changes.

    A prediction counts like a final value, without its standard error. The error says what another
    run there might give, but where a run was stopped, the next one will mostly be stopped as well:
    an uncertain place would be tried again and again (docs/decisions/0043).

    Examples
    --------
    >>> from kernelbandits.calibration.unfinished import Curve, RunResults
    >>> results = RunResults()
    >>> results.add("a", Curve({1: 1.2})), results.add("b", Curve({1: 0.9}, final=0.3))
    ([], [('b', 0.3)])
    >>> [(key, round(value, 2)) for key, value in results.add("c", Curve({1: 0.8}, final=0.3))]
    [('c', 0.3), ('a', 0.65)]
    """

    def __init__(self) -> None:
        self.completed: list[Curve] = []
        self.waiting: list[tuple[Any, Curve]] = []
        """The keys of stopped runs without a result, and their curves."""

    def add(self, key: Any, run: Curve) -> list[tuple[Any, float]]:
        """Add the run that ended last; return the keys of runs and their results, new ones."""
        results: list[tuple[Any, float]] = []
        if run.final is None:
            candidates, others = [(key, run)], self.waiting
        else:
            self.completed.append(run)
            results.append((key, run.final))
            candidates, others = self.waiting, []
        left = []
        for waiting, stopped in candidates:
            found = predict_final(stopped, self.completed)
            if found is None:
                left.append((waiting, stopped))
            else:
                results.append((waiting, float(found)))
        self.waiting = others + left
        return results
