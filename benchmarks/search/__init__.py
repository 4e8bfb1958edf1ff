"""Simple regret of the default and its rivals when the budget ends, on real tables and boxes."""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    from benchmarks.regret import seeds_of
    from benchmarks.search import functions, groups, play, tables, tasks
    from benchmarks.search.contestants import CONTESTANTS

    permuted = tuple(tables.PERMUTATION + name for name in tables.NAMES)
    names = (*tables.NAMES, *functions.NAMES, *permuted)
    command.add_argument(
        "--seeds", type=seeds_of, default=play.SEEDS, help="how many (20), or from-to (10-19)"
    )
    of_groups = tuple(group.name for group in groups.GROUPS)
    command.add_argument(
        "--tables",
        nargs="+",
        default=of_groups,
        choices=(*of_groups, *names),
        metavar="NAME",
        help=f"tables and functions; {', '.join(of_groups)} are groups of them (all); "
        f"{tables.PERMUTATION}NAME is a table whose values are permuted by the seed",
    )
    command.add_argument("--noise", nargs="+", type=float, default=tasks.NOISES)
    command.add_argument("--batches", nargs="+", type=int, default=tasks.BATCHES)
    command.add_argument(
        "--contestants", nargs="+", default=tuple(CONTESTANTS), choices=tuple(CONTESTANTS)
    )
    command.add_argument(
        "--minutes",
        type=float,
        help="start no search later than this; 0 plays none, writes the table",
    )
    command.add_argument("--workers", type=int, default=1, help="processes of one thread each")
    command.add_argument(
        "--label",
        help="the version written in the rows of kernelbandits, instead of a hash of its source",
    )
    command.add_argument(
        "--times", action="store_true", help="time a suggestion after 20 to 500 results; no search"
    )
    command.add_argument(
        "--check-twin",
        action="store_true",
        help="compare the twin of LogEI with BoTorch; no search",
    )
    command.add_argument("--rows", type=Path, default=play.ROWS, help="the file of searches")
    command.add_argument(
        "--no-table", action="store_true", help="play, and leave the table as it is"
    )


def run(given: argparse.Namespace) -> None:
    """Play what is missing, or time suggestions, or check the twin, then write the table."""
    from benchmarks.search import agreement, groups, play, times

    if given.check_twin:
        agreement.check(given.minutes)
        given.minutes = 0.0
    if given.times:
        times.measure(given.contestants, given.label)
        given.minutes = 0.0
    names = groups.list_names(given.tables)
    tasks = play.list_tasks(names, given.noise, given.batches)
    play.play(
        tasks,
        given.seeds,
        given.contestants,
        given.minutes,
        given.label,
        given.rows,
        given.workers,
    )
    if not given.no_table:
        from benchmarks.search import summary

        summary.write(given.rows)


def fetch_tables() -> None:
    """Get the real tables from their origins."""
    from benchmarks.search import originals

    if not originals.fetch_all():
        raise SystemExit(1)
