"""Mappers that spread the work of an experiment over processes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kernelbandits.processes import (
    Death,
    Mapper,
    ProcessPool,
    WorkersLost,
    check_workers,
    put_in_order,
)

MOST_DEATHS = 4
"""An item is given up when so many processes were killed while they worked on it."""

Numbered = Iterator[tuple[int, Any]]
"""The numbers of items with their results, in any order."""


@contextmanager
def process_mapper(workers: int) -> Iterator[Mapper]:
    """Yield a mapper that spreads work over `workers` processes, each on one BLAS thread.

    With one worker the work is done in this process. If a process is killed, as systems do when
    memory is short, another one begins its item again, three times at most.

    >>> from kernelbandits.experiment import process_mapper
    >>> with process_mapper(1) as mapper:
    ...     list(mapper(abs, [-1, -2]))
    [1, 2]
    """
    count = check_workers("an experiment", workers)
    if count == 1:
        yield map
        return
    needs, preload = (
        "several workers need functions and classes",
        "kernelbandits.experiment.preload",
    )
    with ProcessPool(count, needs, preload) as pool:
        yield SpreadMapper(pool.run, MOST_DEATHS)


def yields_as_completed(mapper: Mapper) -> bool:
    """Tell whether the mapper hands over each result when it is ready."""
    return mapper is map or hasattr(mapper, "as_completed")


def map_as_completed(
    mapper: Mapper, work: Callable[[Any], Any], items: Sequence[Any]
) -> Iterator[tuple[Any, Any]]:
    """Yield (item, result) as soon as each is ready, or in order if the mapper cannot say when.

    A mapper can if it has a method `as_completed(work, items)`.

    >>> list(map_as_completed(map, abs, [-1, -2]))
    [(-1, 1), (-2, 2)]
    """
    if hasattr(mapper, "as_completed"):
        yield from mapper.as_completed(work, items)
    else:
        yield from zip(items, mapper(work, items), strict=True)


@dataclass(frozen=True)
class SpreadMapper:
    """A mapper whose items are worked on elsewhere: their results come in order, or as they come.

    Items whose workers always die are named in a `WorkersLost` error, after all others are done.
    """

    run: Callable[[Callable[[Any], Any], Sequence[Any]], Numbered]
    """Begins the work on items at once, and yields the numbers of items with their results, or with
    a `Death`."""
    most_deaths: int = 1
    """How often an item is begun."""

    def __call__(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Begin the work at once, and return the results in the order of the items."""
        # Results have no numbers here, so at an interrupt nothing may come after a gap.
        results = put_in_order(self._bear_deaths(work, items, self.run(work, items)))
        return (result for _, result in results)

    def as_completed(
        self, work: Callable[[Any], Any], items: Sequence[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Begin the work at once, and return the items with their results when these are ready."""
        results = self._bear_deaths(work, items, self.run(work, items))
        return ((items[number], result) for number, result in results)

    def _bear_deaths(
        self, work: Callable[[Any], Any], items: Sequence[Any], results: Numbered
    ) -> Numbered:
        """Yield the results, and begin items whose workers have died again after all others."""
        begun = list(range(len(items)))
        for begins_left in reversed(range(self.most_deaths)):
            dead = []
            for place, result in results:
                number = begun[place]
                if not isinstance(result, Death):
                    yield number, result
                    continue
                dead.append(number)
                if begins_left:
                    name = describe_item(items[number])
                    text = f"a worker process was killed; another begins {name} again"
                    warnings.warn(text, stacklevel=2)
            if not dead:
                return
            begun = sorted(dead)
            if begins_left:
                results = self.run(work, [items[number] for number in begun])
        raise WorkersLost(describe_lost([items[number] for number in begun], len(items)))


def describe_lost(lost: Iterable[Any], total: int) -> str:
    """Name what could not be done, and say why."""
    names = [describe_item(item) for item in lost]
    return (
        f"{len(names)} of {total} could not be played, because the worker process was killed "
        f"{MOST_DEATHS} times: {', '.join(names)}. Perhaps memory is short; fewer workers need less"
    )


def describe_item(item: Any) -> str:
    """Return a cell by its policy and problem, anything else by its name or text."""
    name = getattr(item, "name", item)
    return f"{name[1]} on {name[0]}" if isinstance(name, tuple) else str(name)
