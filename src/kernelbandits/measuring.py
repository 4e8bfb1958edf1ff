"""How points are measured: one after the other, by a mapper, or by processes."""

from __future__ import annotations

import copy
import reprlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

from kernelbandits import checks
from kernelbandits.processes import Death, Mapper, ProcessPool, Supply

Measured = float | dict[str, float]
"""A reward, or the values of several targets by their names."""


class Result(NamedTuple):
    """What was measured and no text, or nothing and the reason."""

    measured: Measured | None = None
    failure: str = ""


class OutOfTime(Exception):
    """The time is over, and the points that are left are not measured."""


INTERRUPTS = (OutOfTime, KeyboardInterrupt)
"""What ends a batch early: results that have come are kept."""


@dataclass(frozen=True)
class Attempt:
    """x -> a result: the reward, or why there is none.

    It is a class and no inner function, so that it can be sent to a worker process.
    """

    objective: Callable[[Any], Any]
    catch: tuple[type[BaseException], ...] = ()
    """Exceptions that mean a failed measurement; others are raised."""

    def __call__(self, x: Any) -> Result:
        try:
            # An objective that changes x in place must not change the point of the choice.
            value = self.objective(copy.copy(x))
        except self.catch as error:
            return Result(failure=describe_error(error))
        return read_result(value)


RETURNS = (
    "optimize needs an objective that returns a number, or float('nan') for a measurement that "
    "failed"
)


def read_result(value: Any) -> Result:
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
    if not all(abs(number) <= checks.LARGEST_REWARD for number in numbers):
        return Result(failure=f"no finite number: {reprlib.repr(value)}")
    return Result(measured)


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

    def measure(self, supply: Supply, deadline: float) -> Iterator[tuple[int, Result]]:
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

    def measure(self, supply: Supply, deadline: float) -> Iterator[tuple[int, Result]]:
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

    def measure(self, supply: Supply, deadline: float) -> Iterator[tuple[int, Result]]:
        while batch := list(iter(supply, None)):
            if time.monotonic() >= deadline:
                raise OutOfTime
            numbers, points = zip(*batch, strict=True)
            for place, result in enumerate(self._map(list(points))):
                yield numbers[place], result

    def _map(self, points: list[Any]) -> Iterator[Result]:
        """Yield one result for each point; refuse what a mapper gives beside that."""
        needed = f"a mapper that gives one result for each of {len(points)} points, in their order"
        results = self.mapper(self.attempt, points)
        checks.needs(isinstance(results, Iterable), "optimize", needed, results)
        number = 0
        for number, result in enumerate(results, 1):
            checks.needs(number <= len(points), "optimize", needed, f"{number} or more")
            checks.needs(isinstance(result, Result), "optimize", needed, result)
            yield result
        checks.needs(number == len(points), "optimize", needed, number)


@dataclass(frozen=True)
class ProcessMeasurer(SerialMeasurer):
    """Measures in several processes; one that dies has failed to measure its point."""

    pool: ProcessPool

    def __post_init__(self) -> None:
        self.pool.pack_work(self.attempt)

    def measure(self, supply: Supply, deadline: float) -> Iterator[tuple[int, Result]]:
        begun: set[int] = set()

        def begin() -> tuple[int, Any] | None:
            given = supply()
            begun.update([] if given is None else [given[0]])
            return given

        for number, result in self.pool.run_supply(self.attempt, begin, deadline):
            if isinstance(result, Death):
                code = result.exit_code
                result = Result(failure=f"the worker process ended with exit code {code}")
            begun.remove(number)
            yield number, result
        if begun:
            raise OutOfTime

    def __exit__(self, *error: object) -> None:
        self.pool.close()
