"""Durability: workers killed, races to tell one trial, many workers at once, damaged stores.

SQLite and PostgreSQL; and a folder of studies behind a server, with commands beside it.
"""

from __future__ import annotations

import argparse

from benchmarks.durability.places import BACKENDS

SECTIONS = (
    "kills",
    "races",
    "workers",
    "damage",
    "space_kills",
    "space_races",
    "space_workers",
    "lab",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick", action="store_true", help="a small form, of which nothing is written to results/"
    )
    parser.add_argument(
        "--skip", nargs="+", default=[], choices=SECTIONS, help="experiments to leave out"
    )
    parser.add_argument("--backends", nargs="+", default=list(BACKENDS), choices=BACKENDS)
    parser.add_argument("--kills", type=int, help="how many workers are killed, by default 1000")
    parser.add_argument(
        "--resume",
        type=float,
        metavar="HOURS",
        help="leave out what was measured in the last HOURS, so that a run that ended goes on",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=120.0,
        help="begin nothing new after so many minutes: no more studies to be killed or raced in, "
        "and no further experiment",
    )
    parser.add_argument("--seed", type=int, default=1)


def run(given: argparse.Namespace) -> None:
    """The experiments take storage and server along only when they run."""
    from benchmarks.durability.experiments import measured

    measured(given)
