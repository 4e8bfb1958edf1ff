"""Play the searches that the file of rows does not hold yet."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.opponents import version_of
from benchmarks.pools import PoolInstance
from benchmarks.search import functions, tables
from benchmarks.search.contestants import CONTESTANTS, SearchContestant
from benchmarks.search.rows import Searched, append, read
from benchmarks.search.tasks import BOX_NOISES, BUDGET, MARKS, Task

SEEDS = range(20)
ROWS = Path(__file__).parents[1] / "results" / "search.jsonl"


@dataclass(frozen=True)
class Game:
    """One contestant on one task in one seed."""

    task: Task
    contestant: str
    version: str
    seed: int

    @property
    def key(self) -> tuple[Any, ...]:
        task = self.task
        return task.name, task.noise, task.batch, self.contestant, self.version, self.seed


def play_game(game: Game) -> Searched:
    """Measure until the budget ends; only ask and tell are timed."""
    contestant = CONTESTANTS[game.contestant]
    with machine.threads.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        instance = game.task.instance(game.seed)
        record = search(contestant.opponent(instance), instance, game.task.batch)
    task = game.task
    return Searched(
        task.name,
        task.noise,
        task.batch,
        game.contestant,
        game.version,
        game.seed,
        tuple(round(regret, 7) for regret in record.measured),
        tuple(round(regret, 7) for regret in record.recommended),
        record.different,
        (round(median(record.seconds), 7), round(fmean(record.seconds), 7)),
    )


@dataclass(frozen=True)
class Record:
    """The answers after each mark, and the seconds of each measurement."""

    measured: tuple[float, ...]
    recommended: tuple[float, ...]
    different: int
    seconds: tuple[float, ...]


def search(player: Any, instance: PoolInstance, batch: int = 1, budget: int = BUDGET) -> Record:
    """Ask for a batch, measure it, tell the results; look at the answers at the marks.

    A mark inside a batch counts the results told so far, in the order of the batch.
    """
    if instance.finite:
        budget = min(budget, len(instance.domain))
    regrets: list[float] = []
    seconds: list[float] = []
    places: set[Any] = set()
    measured, recommended = {}, {}
    while len(regrets) < budget:
        first = len(regrets) + 1
        moves: list[Any] = []
        for t in range(first, min(first + batch, budget + 1)):
            began = time.process_time()
            moves.append(player.ask(t, tuple(moves)))
            seconds.append(time.process_time() - began)
        for t, move in enumerate(moves, first):
            result = instance.reward(move, t)
            began = time.process_time()
            player.tell(move, result)
            seconds[t - 1] += time.process_time() - began
            regrets.append(instance.regret(move))
            places.add(tuple(np.ravel(move).tolist()))
            if t in MARKS or t == budget:
                measured[t] = min(regrets)
                recommended[t] = instance.regret(player.recommend())
    # A table with fewer rows than a mark has been measured completely by then.
    marks = [min(mark, budget) for mark in MARKS]
    return Record(
        tuple(measured[mark] for mark in marks),
        tuple(recommended[mark] for mark in marks),
        len(places),
        tuple(seconds),
    )


def list_tasks(names: Sequence[str], noises: Sequence[float], batches: Sequence[int]) -> list[Task]:
    """Batches are played on tables only, and boxes at the noise levels of boxes only."""
    tasks = [Task(name, noise, batch) for batch in batches for noise in noises for name in names]
    return [
        task for task in tasks if task.is_table or (task.batch == 1 and task.noise in BOX_NOISES)
    ]


def schedule(
    seeds: Sequence[int], tasks: Sequence[Task], versions: Mapping[str, str]
) -> Iterator[Game]:
    """Seed by seed over all tasks and contestants, so that what is finished is always paired."""
    for seed in seeds:
        for task in tasks:
            for name, version in versions.items():
                if CONTESTANTS[name].takes(task):
                    yield Game(task, name, version, seed)


def play(
    tasks: Sequence[Task],
    seeds: Sequence[int] = SEEDS,
    names: Sequence[str] = tuple(CONTESTANTS),
    minutes: float | None = None,
    label: str | None = None,
    path: Path = ROWS,
    workers: int = 1,
) -> None:
    """Play what the file does not hold yet; what cannot be played is said."""
    until = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    present = [CONTESTANTS[name] for name in names if not said_missing(CONTESTANTS[name])]
    absent = [name for name in dict.fromkeys(task.name for task in tasks) if said_unavailable(name)]
    there = [task for task in tasks if task.name not in absent]
    versions = {contestant.name: version_of(contestant, label) for contestant in present}
    done = {row.key for row in read(path)}
    games = [game for game in schedule(seeds, there, versions) if game.key not in done]
    print(f"{len(games)} searches to play", file=sys.stderr, flush=True)
    for number, row in enumerate(play_games(games, until, workers), 1):
        append(path, row)
        tell_progress(row, number, len(games))


def play_games(
    games: Sequence[Any], until: float, workers: int, play_one: Callable[[Any], Any] = play_game
) -> Iterator[Any]:
    """In this process, or in several; no game is started after the time is over."""
    in_time = (game for game in games if time.monotonic() < until)
    if workers == 1:
        yield from map(play_one, in_time)
        return
    # Games are handed out as workers become free: a pool's imap would take all of them at once.
    with get_context("spawn").Pool(workers) as pool:
        running = [
            pool.apply_async(play_one, (game,))
            for _, game in zip(range(workers), in_time, strict=False)
        ]
        while running:
            ready = [result for result in running if result.ready()]
            for result in ready:
                running.remove(result)
                following = next(in_time, None)
                if following is not None:
                    running.append(pool.apply_async(play_one, (following,)))
                yield result.get()
            if not ready:
                time.sleep(0.01)


def said_missing(contestant: SearchContestant) -> bool:
    if contestant.missing:
        print(f"{contestant.title} is left out: {contestant.missing}", file=sys.stderr, flush=True)
    return contestant.missing is not None


def said_unavailable(name: str) -> bool:
    """Only tables need a file."""
    if name in functions.NAMES:
        return False
    try:
        tables.load_table(tables.name_of_original(name))
    except FileNotFoundError as absent:
        print(f"{name} is left out: {absent}", file=sys.stderr, flush=True)
        return True
    return False


def tell_progress(row: Searched, number: int, games: int) -> None:
    place = f"noise {row.noise:<4g} batch {row.batch} {row.task:18} {row.contestant:20}"
    found = f"{row.measured[-1]:.4f} {row.recommended[-1]:.4f} {1e3 * row.seconds[1]:8.1f} ms"
    print(f"{number}/{games} seed {row.seed} {place} {found}", file=sys.stderr, flush=True)
