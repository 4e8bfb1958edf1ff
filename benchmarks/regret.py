"""Regret after 100 rounds of the default and its rivals, side by side, on the real tables, 6 pools
of candidates and 6 boxes, and how that of the default grows up to 1000 rounds."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median

import kernelbandits as kb
from benchmarks import machine
from benchmarks.opponents import CONTESTANTS, OURS, Contestant, version_of
from benchmarks.pools import BOX, POOLS, build_instance
from benchmarks.regret_rows import LONG, MARKS, ROUNDS, Played, append, read

SEEDS = 25
ROWS = Path(__file__).with_name("results") / "regret.jsonl"


def game(
    contestant: Contestant, version: str, pool: str, seed: int, rounds: int = ROUNDS
) -> Played:
    """One contestant for all rounds of one seed.

    What is timed is ask + tell, in seconds of the processor.
    """
    here = build_instance(pool, seed)
    player = contestant.opponent(here)
    lost, seconds = [], []
    for t in range(1, rounds + 1):
        began = time.process_time()
        move = player.ask(t)
        asked = time.process_time()
        reward = here.reward(move, t)
        heard = time.process_time()
        player.tell(move, reward)
        seconds.append(asked - began + time.process_time() - heard)
        lost.append(here.regret(move))
    regret = tuple(round(sum(lost[:mark]), 6) for mark in MARKS if mark <= rounds)
    taken = (round(median(seconds), 7), round(fmean(seconds), 7))
    return Played(
        contestant.name,
        version,
        pool,
        seed,
        regret,
        round(here.regret(player.recommend()), 7),
        taken,
    )


def schedule(
    seeds: Sequence[int], pools: Sequence[str], names: Sequence[str]
) -> Iterator[tuple[int, str, Contestant]]:
    """Seed by seed over all pools and contestants, so that what is finished is always paired."""
    for seed in seeds:
        for pool in pools:
            for name in names:
                if CONTESTANTS[name].plays(not pool.endswith(BOX)):
                    yield seed, pool, CONTESTANTS[name]


def play(
    seeds: Sequence[int],
    pools: Sequence[str] = POOLS,
    names: Sequence[str] | None = None,
    minutes: float | None = None,
    label: str | None = None,
    path: Path = ROWS,
    rounds: int = ROUNDS,
) -> None:
    """Play what the file does not hold yet; what is missing is left out and said to be.

    Most rivals would take hours for a long game, and only the growth of ours is judged there.
    """
    if names is None:
        names = tuple(CONTESTANTS) if rounds == ROUNDS else (OURS,)
    until = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    present = [name for name in names if not said_missing(CONTESTANTS[name])]
    there = [pool for pool in pools if not said_unavailable(pool)]
    versions = {name: version_of(CONTESTANTS[name], label) for name in present}
    done = {row.key for row in read(path)}
    with machine.threads.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", kb.DataNotice)
        for seed, pool, contestant in schedule(seeds, there, present):
            if (contestant.name, versions[contestant.name], pool, seed, rounds) in done:
                continue
            if time.monotonic() >= until:
                return
            row = game(contestant, versions[contestant.name], pool, seed, rounds)
            append(path, row)
            tell_progress(row)


def said_missing(contestant: Contestant) -> bool:
    if contestant.missing:
        print(f"{contestant.title} is left out: {contestant.missing}", file=sys.stderr, flush=True)
    return contestant.missing is not None


def said_unavailable(pool: str) -> bool:
    """Only the real tables need a file."""
    try:
        build_instance(pool, 0)
    except FileNotFoundError as absent:
        print(f"{pool} is left out: {absent}", file=sys.stderr, flush=True)
        return True
    return False


def tell_progress(row: Played) -> None:
    game = f"seed {row.seed} {row.pool:18} {row.contestant:14}"
    text = f"{game} {row.regret[-1]:8.2f} {1e3 * row.seconds[1]:9.2f} ms"
    print(text, file=sys.stderr, flush=True)


def seeds_of(text: str) -> range:
    """25 is 0..24, and 10-24 is 10..24."""
    first, dash, last = text.partition("-")
    return range(int(first), int(last) + 1) if dash else range(int(text))


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--seeds", type=seeds_of, default=range(SEEDS), help="how many (25), or from-to (10-24)"
    )
    command.add_argument("--pools", nargs="+", default=POOLS, choices=POOLS)
    command.add_argument(
        "--rounds",
        type=int,
        default=ROUNDS,
        choices=(ROUNDS, LONG),
        help="how long a game lasts; the long ones show how the regret grows (100)",
    )
    command.add_argument(
        "--contestants",
        nargs="+",
        choices=tuple(CONTESTANTS),
        help="who plays (all; kb.Auto alone in long games)",
    )
    command.add_argument(
        "--minutes",
        type=float,
        help="start no game later than this; 0 plays none, writes the table",
    )
    command.add_argument(
        "--label",
        help="the version written in the rows of kb.Auto, instead of a hash of its source",
    )
    command.add_argument("--rows", type=Path, default=ROWS, help="the file of finished games")
    command.add_argument(
        "--no-table", action="store_true", help="play, and leave the table as it is"
    )


def run(given: argparse.Namespace) -> None:
    play(
        given.seeds,
        given.pools,
        given.contestants,
        given.minutes,
        given.label,
        given.rows,
        given.rounds,
    )
    if not given.no_table:
        from benchmarks import regret_summary

        regret_summary.write(given.rows)
