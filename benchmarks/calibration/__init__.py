"""Whether the answers of a study can be trusted: intervals, probabilities, losses, stop rule."""

from __future__ import annotations

import argparse
from pathlib import Path

NOISES = (0.0, 0.03, 0.1)
"""Standard deviations of one measurement, as shares of the range."""


def arguments(command: argparse.ArgumentParser) -> None:
    from benchmarks.calibration import play
    from benchmarks.regret import seeds_of
    from benchmarks.search import tables

    command.add_argument(
        "--seeds", type=seeds_of, default=play.SEEDS, help="how many (3), or from-to (10-19)"
    )
    every = (*tables.NAMES, *tables.PERMUTED)
    command.add_argument("--tables", nargs="+", default=every, choices=every)
    command.add_argument("--noise", nargs="+", type=float, default=NOISES)
    command.add_argument(
        "--random", action="store_true", help="also judge studies of rows drawn at random"
    )
    command.add_argument(
        "--minutes",
        type=float,
        help="start no study later than this; 0 plays none, writes the tables",
    )
    command.add_argument("--workers", type=int, default=1, help="processes of one thread each")
    command.add_argument("--rows", type=Path, default=play.ROWS, help="the file of studies")


def run(given: argparse.Namespace) -> None:
    """Play what is missing, then write the tables and the figure."""
    from benchmarks.calibration import play, summary
    from benchmarks.calibration.rows import DESIGNS, RULE
    from benchmarks.search.tasks import Task

    tasks = [Task(name, noise) for noise in given.noise for name in given.tables]
    designs = DESIGNS if given.random else (RULE,)
    play.play(tasks, given.seeds, designs, given.minutes, given.rows, given.workers)
    summary.write(given.rows)
