"""How points are measured: one after the other, by a mapper, or by processes."""

from __future__ import annotations

import copy
import inspect
import math
import reprlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, Self, SupportsFloat

from kernelbandits import checks
from kernelbandits.processes import Death, Mapper, ProcessPool, Supply

Measured = float | dict[str, float]
"""A reward, or the values of several targets by their names."""


class ObjectiveResult(NamedTuple):
    """What was measured and no text, or nothing and the reason."""

    measured: Measured | None = None
    failure: str = ""
    reports: tuple[tuple[float, float], ...] = ()
    """The steps and values that the objective reported on the way."""
    stopped: bool = False
    """Whether it was stopped after the last of them: then nothing was measured in the end."""


class OutOfTime(Exception):
    """The time is over, and the points that are left are not measured."""


INTERRUPTS = (OutOfTime, KeyboardInterrupt)
"""What ends a batch early: results that have come are kept."""


class Watched(NamedTuple):
    """A point for an objective that takes a trial beside it."""

    x: Any
    bars: Mapping[float, float]
    """Step -> the reward below which a measurement is stopped there."""


@dataclass(frozen=True)
class Attempt:
    """x -> a result: the reward, or why there is none.

    It is a class and no inner function, so that it can be sent to a worker process.
    """

    objective: Callable[..., Any]
    catch: tuple[type[BaseException], ...] = ()
    """Exceptions that mean a failed measurement; others are raised."""
    sign: float = 1.0
    """1 to maximise, -1 to minimise."""
    watched: bool = False
    """Whether the objective takes a trial; then what is measured is a `Watched` point."""

    def __call__(self, item: Any) -> ObjectiveResult:
        if not self.watched:
            return self._measure(item)
        trial = RunningTrial(item.bars, self.sign)
        result = self._measure(item.x, trial)
        return result if result.failure else trial.complete(result)

    def refuse_trial(self, targets: Sequence[str]) -> None:
        """Refuse an objective that takes a trial where there are several targets."""
        needed = "one target for an objective that takes a trial: a report foretells one number"
        checks.needs(not self.watched, "optimize", needed, list(targets))

    def _measure(self, x: Any, *trial: RunningTrial) -> ObjectiveResult:
        try:
            # An objective that changes x in place must not change the point of the choice.
            value = self.objective(copy.copy(x), *trial)
        except self.catch as error:
            return ObjectiveResult(failure=describe_error(error))
        if any(one.stopped for one in trial):
            # What is returned by a measurement without an end says nothing.
            return ObjectiveResult()
        return read_result(value)


class RunningTrial:
    """A measurement that is being made, for an objective that takes it as its second argument.

    The objective reports values on the way, such as the loss after each epoch, and asks whether to
    stop. Without arguments nothing ever stops, so an objective can be called by hand, too.

    Parameters
    ----------
    bars
        Step -> the reward below which a measurement is stopped there: the median of what earlier
        measurements had reported.
    sign
        1 if the values are maximised, -1 if they are minimised: rewards are sign times values.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> def loss(x, trial):
    ...     for epoch in range(1, 28):
    ...         value = (x[0] - 0.3) ** 2 + 1 / epoch
    ...         trial.report(value, epoch)
    ...         if trial.should_stop():
    ...             break
    ...     return value
    >>> round(loss([0.5], kb.RunningTrial()), 3)
    0.077
    >>> outcome = kb.optimize(loss, [(0, 1)], 12, direction="minimize")
    >>> sum(trial.stopped is not None for trial in outcome.trials) > 0
    True
    """

    def __init__(self, bars: Mapping[float, float] = MappingProxyType({}), sign: float = 1) -> None:
        self._bars, self._sign = bars, sign
        self._reports: dict[float, float] = {}
        self.stopped = False
        """Whether `should_stop` was answered with True, and nothing was reported since."""

    def report(self, value: SupportsFloat, step: float) -> None:
        """Report the value at a step, such as the loss after an epoch; steps increase."""
        number = checks.to_number(value)
        if number is None:
            needed = "report needs a number, or float('nan') for training that diverges"
            raise checks.NoNumber(f"{needed}, got {checks.describe_value(value)}")
        at = float(checks.number("report", "a step", step))
        last = max(self._reports, default=-math.inf)
        checks.needs(at > last, "report", f"a step after the last one, {last:g}", step)
        self._reports[at], self.stopped = number, False

    def should_stop(self) -> bool:
        """Tell whether to stop: all values so far are worse than the median of others at this step.

        It is so from five earlier measurements on that have reported there. A value that is not
        finite is a reason to stop, too. The measurement counts as stopped if the objective ends
        without another report, whatever it returns. Its final value is then predicted.
        """
        if not self._reports:
            return False
        step, value = next(reversed(self._reports.items()))
        best = max(self._sign * one for one in self._usable().values()) if self._usable() else 0.0
        self.stopped = not is_usable(value) or best < self._bars.get(step, -math.inf)
        return self.stopped

    def _usable(self) -> dict[float, float]:
        return {step: value for step, value in self._reports.items() if is_usable(value)}

    def complete(self, result: ObjectiveResult) -> ObjectiveResult:
        """Return a result with what was reported on its way."""
        reports = tuple(self._usable().items())
        if self.stopped and not is_usable(next(reversed(self._reports.values()))):
            step, value = next(reversed(self._reports.items()))
            return ObjectiveResult(failure=f"stopped at step {step:g}, where it reported {value}")
        return result._replace(reports=reports, stopped=self.stopped)


def takes_trial(objective: Callable[..., Any]) -> bool:
    """Tell whether an objective has a second argument, without a default.

    >>> takes_trial(lambda x, trial: 0), takes_trial(lambda x, power=2: 0), takes_trial(max)
    (True, False, False)
    """
    try:
        arguments = [*inspect.signature(objective).parameters.values()]
    except (TypeError, ValueError):
        # Some functions written in C do not say what they take.
        return False
    placed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    second = [one for one in arguments if one.kind in placed][1:2]
    return any(one.default is inspect.Parameter.empty for one in second)


RETURNS = (
    "optimize needs an objective that returns a number, or float('nan') for a measurement that "
    "failed"
)


def read_result(value: Any) -> ObjectiveResult:
    """Return what an objective has returned as a result.

    A number that is not finite is a failure. What is no number is an error, because it is a mistake
    in the program: it would fail at every point.

    >>> read_result(0.5).measured, read_result(float("nan")).failure
    (0.5, 'no finite number: nan')
    >>> read_result({"gloss": 3}).measured
    {'gloss': 3.0}
    """
    measured: Measured
    if isinstance(value, Mapping):
        measured = {str(name): read_number(number) for name, number in value.items()}
        numbers = list(measured.values())
    else:
        measured = read_number(value)
        numbers = [measured]
    if not all(is_usable(number) for number in numbers):
        return ObjectiveResult(failure=f"no finite number: {reprlib.repr(value)}")
    return ObjectiveResult(measured)


def is_usable(number: float) -> bool:
    """Tell whether a number is finite, and no larger than rewards may be."""
    return abs(number) <= checks.LARGEST_REWARD


def read_number(value: Any) -> float:
    """Return one number that an objective has returned, which may be NaN, as a float."""
    number = checks.to_number(value)
    if number is None:
        raise checks.NoNumber(f"{RETURNS}, got {checks.describe_value(value)}")
    return number


def single_reward(measured: Measured) -> float:
    """Return the reward of a run that measures one number; several by name are an error."""
    if isinstance(measured, dict):
        several = "values by name need study= with a study of several targets"
        raise checks.NoNumber(f"{RETURNS}, got {checks.describe_value(measured)}; {several}")
    return measured


def describe_error(error: BaseException) -> str:
    """Return the type and the message of an error."""
    # The message comes from the user's class, whose __str__ may raise as well.
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


class Measurer(Protocol):
    """Measures points as they are supplied; used as a context, at whose end it is closed."""

    @property
    def attempt(self) -> Attempt:
        """What is done with each point."""
        ...

    def measure(self, supply: Supply, deadline: float) -> Iterator[tuple[int, ObjectiveResult]]:
        """Yield the number of each point with its result, when that is there.

        `supply` is asked for a point when one can be measured, and has none when the results that
        were yielded have to be learnt first, or nothing is left to measure. `OutOfTime` is raised
        when the deadline is over.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


@dataclass(frozen=True)
class SerialMeasurer:
    """Measures in this process, one point after the other. The deadline counts between points."""

    attempt: Attempt

    def measure(self, supply: Supply, deadline: float) -> Iterator[tuple[int, ObjectiveResult]]:
        while (given := supply()) is not None:
            if time.monotonic() >= deadline:
                raise OutOfTime
            number, x = given
            yield number, self.attempt(x)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


@dataclass(frozen=True)
class MapperMeasurer(SerialMeasurer):
    """Measures batches by the mapper of the user. The deadline counts between batches."""

    mapper: Mapper

    def measure(self, supply: Supply, deadline: float) -> Iterator[tuple[int, ObjectiveResult]]:
        while batch := list(iter(supply, None)):
            if time.monotonic() >= deadline:
                raise OutOfTime
            numbers, points = zip(*batch, strict=True)
            for place, result in enumerate(self._map(list(points))):
                yield numbers[place], result

    def _map(self, points: list[Any]) -> Iterator[ObjectiveResult]:
        """Yield one result for each point; refuse what a mapper gives beside that."""
        needed = f"a mapper that gives one result for each of {len(points)} points, in their order"
        results = self.mapper(self.attempt, points)
        checks.needs(isinstance(results, Iterable), "optimize", needed, results)
        number = 0
        for number, result in enumerate(results, 1):
            checks.needs(number <= len(points), "optimize", needed, f"{number} or more")
            checks.needs(isinstance(result, ObjectiveResult), "optimize", needed, result)
            yield result
        checks.needs(number == len(points), "optimize", needed, number)


@dataclass(frozen=True)
class ProcessMeasurer(SerialMeasurer):
    """Measures in several processes; one that dies has failed to measure its point."""

    pool: ProcessPool

    def __post_init__(self) -> None:
        self.pool.pack_work(self.attempt)

    def measure(self, supply: Supply, deadline: float) -> Iterator[tuple[int, ObjectiveResult]]:
        begun: set[int] = set()

        def begin() -> tuple[int, Any] | None:
            given = supply()
            begun.update([] if given is None else [given[0]])
            return given

        for number, result in self.pool.run_supply(self.attempt, begin, deadline):
            if isinstance(result, Death):
                code = result.exit_code
                result = ObjectiveResult(failure=f"the worker process ended with exit code {code}")
            begun.remove(number)
            yield number, result
        if begun:
            raise OutOfTime

    def __exit__(self, *error: object) -> None:
        self.pool.close()
