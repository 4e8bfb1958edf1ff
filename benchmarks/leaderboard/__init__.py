"""Every policy of the catalogue on 12 problems: regret, certified regret, growth, time, memory."""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    from benchmarks.leaderboard import play, problems

    command.add_argument(
        "--policies",
        "--policy",
        nargs="+",
        default=play.CATALOGUE,
        metavar="POLICY",
        help="names of the catalogue, with or without settings (simple-bernoulli:p=0.25), or your "
        "own class or factory as module:name; all of the catalogue unless given",
    )
    names = tuple(problems.PROBLEMS)
    command.add_argument("--problems", nargs="+", default=names, choices=names)
    command.add_argument(
        "--horizons", nargs="+", type=int, default=play.HORIZONS, choices=play.HORIZONS
    )
    command.add_argument(
        "--minutes",
        type=float,
        help="start no cell later than this; 0 plays none, writes the tables",
    )
    command.add_argument("--workers", type=int, default=1, help="processes of one thread each")
    command.add_argument("--rows", type=Path, default=play.ROWS, help="the file of finished cells")
    command.add_argument(
        "--no-table", action="store_true", help="play, and leave tables and figure as they are"
    )


def run(given: argparse.Namespace) -> None:
    """Play what is missing, then write the tables and the figure."""
    from benchmarks.leaderboard import play

    try:
        play.check_policies(given.policies)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    play.play(
        given.policies, given.problems, given.horizons, given.minutes, given.rows, given.workers
    )
    if not given.no_table:
        from benchmarks.leaderboard import summary

        summary.write(given.rows)
