"""Blocks of seeds: the tasks into which cells are divided, and the files of their results.

A seed depends on no other seed, so any division of a cell gives the same bits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernelbandits.experiment.cells import ARRAYS, CURVES, Cell, CellResult, play_seeds
from kernelbandits.formatting import format_count

TASK_SECONDS = 1.0
"""How long a block is expected to take, where that is known: long enough that sending and storing
it cost little beside it, short enough that all workers finish at about the same time."""
LEAST_TASKS = 32
"""Into how many blocks an experiment is divided at least, where no times are known."""


@dataclass(frozen=True)
class SeedBlock:
    """Some neighbouring seeds of a cell, played one after the other: the task of one process.

    >>> from kernelbandits.experiment import SeedBlock, plan_experiment
    >>> (cell,) = plan_experiment("branin", ["simple-ucb"], horizon=20, seeds=10)
    >>> block = SeedBlock(cell, start=4, stop=6)
    >>> block.seeds, block.name
    ((4, 5), 'Simple-UCB on branin (2 seeds from 4 on)')
    """

    cell: Cell
    """The cell whose seeds they are."""
    start: int
    """The place of its first seed among those of the cell, counted from 0."""
    stop: int
    """The place after its last seed."""

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.cell.seeds[self.start : self.stop]

    @property
    def key(self) -> str:
        """What decides the result: the key of the cell, and which of its seeds.

        The block of all seeds has the key of the cell itself.
        """
        if self.is_whole:
            return self.cell.key
        return f"{self.cell.key}-{self.start}-{self.stop}"

    @property
    def is_whole(self) -> bool:
        return (self.start, self.stop) == (0, len(self.cell.seeds))

    @property
    def name(self) -> str:
        """How messages call it."""
        problem, policy = self.cell.name
        if self.is_whole:
            return f"{policy} on {problem}"
        seeds = format_count(len(self.seeds), "seed")
        return f"{policy} on {problem} ({seeds} from {self.seeds[0]} on)"

    def shapes(self, endings: bool) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays of the result; `endings` keeps the last round only."""
        runs = self.stop - self.start
        curve = (runs, 1 if endings else self.cell.horizon)
        return {name: curve if name in CURVES else (runs,) for name in ARRAYS}


def play_block(endings: bool, block: SeedBlock) -> CellResult:
    """Play the seeds of a block; `endings` keeps the last round only."""
    result = play_seeds(block.cell, block.seeds)
    return result.select_last_round() if endings else result


def play_and_store(folder: Path | str, endings: bool, block: SeedBlock) -> CellResult:
    """Play a block, and store its result at once."""
    result = play_block(endings, block)
    result.save(block_path(block, folder, endings), block.key)
    return result


def divide_blocks(
    gaps: Sequence[SeedBlock], seconds: Mapping[str, float] | None
) -> list[SeedBlock]:
    """Divide the seeds that are still to be played into tasks.

    Parameters
    ----------
    gaps
        The seeds that are not stored, as blocks of any size.
    seconds
        Key of a cell -> how long all its seeds are expected to take; None if nothing is known.
    """
    total = sum(gap.stop - gap.start for gap in gaps)
    even = max(1, math.ceil(total / LEAST_TASKS))
    blocks: list[SeedBlock] = []
    for gap in gaps:
        size = even if seconds is None else seeds_a_task(gap.cell, seconds[gap.cell.key])
        blocks += [
            SeedBlock(gap.cell, start, min(start + size, gap.stop))
            for start in range(gap.start, gap.stop, size)
        ]
    return blocks


def seeds_a_task(cell: Cell, seconds: float) -> int:
    """Return how many seeds take about as long as a task should."""
    fitting = TASK_SECONDS * len(cell.seeds) / max(seconds, 1e-9)
    return max(1, int(min(fitting, len(cell.seeds))))


def missing_blocks(cell: Cell, stored: Iterable[SeedBlock]) -> list[SeedBlock]:
    """Return the gaps that stored blocks leave among the seeds of a cell."""
    gaps, place = [], 0
    for block in sorted(stored, key=lambda block: block.start):
        if block.start > place:
            gaps.append(SeedBlock(cell, place, block.start))
        place = block.stop
    if place < len(cell.seeds):
        gaps.append(SeedBlock(cell, place, len(cell.seeds)))
    return gaps


def join_results(parts: Iterable[tuple[SeedBlock, CellResult]]) -> CellResult:
    """Join the results of blocks to that of their cell; together they hold every seed once."""
    ordered = [result for _, result in sorted(parts, key=lambda part: part[0].start)]
    if len(ordered) == 1:
        return ordered[0]
    arrays = {
        name: np.concatenate([getattr(result, name) for result in ordered]) for name in ARRAYS
    }
    notices = [tuple(pair) for result in ordered for pair in result.settings["notices"]]
    different = [list(pair) for pair in dict.fromkeys(notices)]
    return CellResult(settings={**ordered[0].settings, "notices": different}, **arrays)


def block_path(block: SeedBlock, folder: Path | str, endings: bool) -> Path:
    """Return the file of a block: the cell's key, and the places of its seeds unless it has all."""
    places = "" if block.is_whole else f"-{block.start}-{block.stop}"
    return Path(folder) / f"{block.cell.key}{'-ending' if endings else ''}{places}.npz"


def stored_blocks(cell: Cell, folder: Path | str, endings: bool) -> list[SeedBlock]:
    """Return the blocks of a cell of which the folder has a file; none of them share a seed."""
    whole = SeedBlock(cell, 0, len(cell.seeds))
    if block_path(whole, folder, endings).exists():
        return [whole]
    found: list[SeedBlock] = []
    for start, stop in sorted(stored_places(cell.key, folder, endings)):
        if (found[-1].stop if found else 0) <= start < stop <= len(cell.seeds):
            found.append(SeedBlock(cell, start, stop))
    return found


def stored_places(key: str, folder: Path | str, endings: bool) -> Sequence[tuple[int, int]]:
    """Return (start, stop) of every file of a part of the cell with this key."""
    ending = "-ending" if endings else ""
    name = re.compile(rf"{key}{ending}-([0-9]{{1,9}})-([0-9]{{1,9}})\.npz")
    matches = (name.fullmatch(path.name) for path in Path(folder).glob(f"{key}*.npz"))
    return [(int(found[1]), int(found[2])) for found in matches if found]
