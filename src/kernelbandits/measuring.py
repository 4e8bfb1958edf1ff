"""How the points of a batch are measured: one after the other, by a mapper, or by processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import reprlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Protocol, Self

from kernelbandits import checks
from kernelbandits.processes import ignore_interrupts, serve

Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""`map`, or a function with its arguments, such as the map of a process pool."""
Result = tuple[float | None, str]
"""A reward and no text, or no reward and the reason."""


class OutOfTime(Exception):
    """The time is over, and the points that are left are not measured."""


@dataclass(frozen=True)
class Attempt:
    """x -> (reward, "") or (None, why there is none).

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
            return None, describe_error(error)
        try:
            return checks.reward(value), ""
        except ValueError:
            return None, f"no finite number: {reprlib.repr(value)}"


def describe_error(error: BaseException) -> str:
    """The type and the message of an error."""
    # The message comes from the user's class, whose __str__ may raise as well.
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def put_in_order(results: Iterator[tuple[int, Result]]) -> Iterator[tuple[int, Result]]:
    """Hold each result back until those of all earlier points have come.

    So what follows does not depend on which worker is faster. When the time is over, or at Ctrl-C,
    those that were held back come before the exception.
    """
    held: dict[int, Result] = {}
    passed_on = 0
    try:
        for number, result in results:
            held[number] = result
            while passed_on in held:
                yield passed_on, held.pop(passed_on)
                passed_on += 1
    except (OutOfTime, KeyboardInterrupt):
        yield from sorted(held.items())
        raise


class Measurer(Protocol):
    """Measures the points of a batch; used as a context, at whose end it is closed."""

    def measure(self, points: Sequence[Any], deadline: float) -> Iterator[tuple[int, Result]]:
        """Yield the number of each point with its result, when that is there.

        `OutOfTime` is raised when the deadline is over.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


@dataclass(frozen=True)
class SerialMeasurer:
    """Measures in this process, one point after the other. The deadline counts between points."""

    attempt: Attempt

    def measure(self, points: Sequence[Any], deadline: float) -> Iterator[tuple[int, Result]]:
        for number, x in enumerate(points):
            if time.monotonic() >= deadline:
                raise OutOfTime
            yield number, self.attempt(x)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


@dataclass(frozen=True)
class MapperMeasurer(SerialMeasurer):
    """Measures by the user's mapper."""

    mapper: Mapper

    def measure(self, points: Sequence[Any], deadline: float) -> Iterator[tuple[int, Result]]:
        needed = f"a mapper that gives one result for each of {len(points)} points, in their order"
        results = self.mapper(self.attempt, points)
        checks.needs(isinstance(results, Iterable), "optimize", needed, results)
        number = 0
        for number, result in enumerate(results, 1):
            checks.needs(number <= len(points), "optimize", needed, f"{number} or more")
            checks.needs(isinstance(result, tuple) and len(result) == 2, "optimize", needed, result)
            yield number - 1, result
        checks.needs(number == len(points), "optimize", needed, number)


@dataclass
class MeasuringProcess:
    """A process that measures, this process's end of the pipe to it, and what it measures now."""

    process: BaseProcess
    pipe: Connection
    number: int | None = None
    answered: bool = False
    """Whether it has ever answered: if not, it may be unable to read the objective."""

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


@dataclass
class ProcessMeasurer:
    """Measures in several processes.

    A process that dies while it measures a point has failed to measure it; another takes its place.
    """

    attempt: Attempt
    workers: int
    processes: list[MeasuringProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        try:
            pickle.dumps(self.attempt)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                "optimize with workers needs an objective that can be sent to other processes, "
                f"such as a function at the top level of a module, got {error}"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for one in self.processes:
            one.stop()
        self.processes.clear()

    def start(self) -> MeasuringProcess:
        """Start a process."""
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, self.attempt), daemon=True)
        with ignore_interrupts():
            process.start()
        there.close()
        started = MeasuringProcess(process, here)
        self.processes.append(started)
        return started

    def measure(self, points: Sequence[Any], deadline: float) -> Iterator[tuple[int, Result]]:
        waiting, measured = list(range(len(points))), 0
        while measured < len(points):
            self._hand_out(points, waiting)
            for one in self._wait(deadline):
                number = one.number
                assert number is not None
                yield number, self._answer(one)
                measured += 1

    def _hand_out(self, points: Sequence[Any], waiting: list[int]) -> None:
        """Give each idle process a point, and start a process while points are waiting."""
        while waiting:
            idle = next((one for one in self.processes if one.number is None), None)
            if idle is None and len(self.processes) == self.workers:
                return
            idle = self.start() if idle is None else idle
            idle.number = waiting.pop(0)
            try:
                idle.pipe.send(points[idle.number])
            except OSError:
                # It died before: its end of the pipe is closed, which `_wait` notices.
                continue

    def _wait(self, deadline: float) -> list[MeasuringProcess]:
        """Return the processes that have an answer, or are dead."""
        busy = {one.pipe: one for one in self.processes if one.number is not None}
        left = deadline - time.monotonic()
        if left <= 0:
            raise OutOfTime
        # Waits of a year are too long for the system's timers.
        ready = connection.wait(list(busy), timeout=min(left, 1e6))
        return [busy[pipe] for pipe in ready]  # type: ignore[index]

    def _answer(self, one: MeasuringProcess) -> Result:
        """Return the result of a process; an exception of the objective is raised here."""
        one.number = None
        try:
            done, result = one.pipe.recv()
        except (EOFError, OSError):
            return self._replace_dead(one)
        one.answered = True
        if not done:
            raise result
        checked: Result = result
        return checked

    def _replace_dead(self, one: MeasuringProcess) -> Result:
        """Return the failure of a process that died."""
        one.process.join()
        self.processes.remove(one)
        one.pipe.close()
        code = one.process.exitcode
        if code == 1 and not one.answered:
            # A process that cannot import the objective ends like this, with its own message.
            raise ValueError(
                "optimize with workers needs an objective that other processes can import: "
                "define it in a module or script, not in an interactive session, and call optimize "
                "under `if __name__ == '__main__':`; the message of the process stands above"
            )
        return None, f"the worker process ended with exit code {code}"
