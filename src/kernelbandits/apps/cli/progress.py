"""Progress on standard error: a bar over cells, or a word while something is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from kernelbandits.apps.cli.screen import err

if TYPE_CHECKING:
    from kernelbandits.experiment.blocks import SeedBlock
    from kernelbandits.processes import Mapper


@contextmanager
def count_cells(task: str, total: int, quiet: bool) -> Iterator[Callable[[], None]]:
    """Show a bar, on a terminal only; call what it yields once for every cell."""
    with bar(quiet) as shown:
        number = shown.add_task(task, total=total, cells=total, ready=0)
        yield lambda: count(shown, number, advance=1)


@dataclass(frozen=True)
class Cells:
    """A bar over cells of unequal duration: it counts cells and moves by their seconds."""

    bar: Progress
    number: TaskID
    seconds: Mapping[str, float]
    """key of a cell -> what it is expected to take"""

    def ready(self) -> None:
        """Count one more cell, played or found in the folder."""
        count(self.bar, self.number, advance=0)

    def watch(self, mapper: Mapper) -> WatchedMapper:
        """Return the mapper, with the bar moved by every block of seeds that it finishes."""
        return WatchedMapper(mapper, self)

    def weigh(self, block: SeedBlock) -> float:
        """Return the seconds that a block is expected to take."""
        return self.seconds[block.cell.key] * len(block.seeds) / len(block.cell.seeds)


@dataclass(frozen=True)
class WatchedMapper:
    """A mapper whose finished blocks move a bar."""

    mapper: Mapper
    cells: Cells

    def __call__(self, work: Callable[[Any], Any], blocks: Sequence[Any]) -> Iterator[Any]:
        return iter(self.mapper(work, blocks))

    def as_completed(
        self, work: Callable[[Any], Any], blocks: Sequence[Any]
    ) -> Iterator[tuple[Any, Any]]:
        from kernelbandits.experiment.workers import map_as_completed

        bar, number = self.cells.bar, self.cells.number
        bar.update(number, total=sum(map(self.cells.weigh, blocks)))
        for block, result in map_as_completed(self.mapper, work, blocks):
            bar.advance(number, self.cells.weigh(block))
            yield block, result


@contextmanager
def weigh_cells(task: str, seconds: Mapping[str, float], quiet: bool) -> Iterator[Cells]:
    with bar(quiet) as shown:
        number = shown.add_task(task, total=sum(seconds.values()), cells=len(seconds), ready=0)
        yield Cells(shown, number, seconds)


def bar(quiet: bool) -> Progress:
    console = err()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[ready]}/{task.fields[cells]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, disable=quiet or not console.is_terminal)


def count(shown: Progress, number: TaskID, advance: float) -> None:
    (task,) = (task for task in shown.tasks if task.id == number)
    shown.update(number, advance=advance, ready=task.fields["ready"] + 1)


@contextmanager
def show_task(task: str, quiet: bool) -> Iterator[None]:
    console = err()
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(task):
        yield
