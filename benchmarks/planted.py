"""One planted optimum in pools of 10^4 to 10^6 arms: is it found, and how soon?

A function of a task and a seed is the same for every size of the pool; only the other arms differ.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import kernelbandits as kb
from benchmarks import tables
from benchmarks.stored_games import play_missing, read_games
from benchmarks.working_sets import waves
from kernelbandits.checks import Array, Indices
from kernelbandits.experiment.engines import load_loops

SIZES, ROUNDS, SEEDS = (10_000, 100_001, 1_000_000), 100, 4
"""Up to 100 000 arms `Auto` looks at all of them, above at a working set."""
ROWS = tables.RESULTS / "planted.jsonl"
FOUND = 0.1
"""A recommended arm within this gap of the best, in heights of the peak, has found it."""


class Task(NamedTuple):
    """A peak of height 1 at one of the arms, f = trend + exp(-|x - x*|^2 / (2 width^2))."""

    dimension: int
    width: float
    trend: float
    """The sd of a smooth random function that is added."""
    noise: float


TASKS: Mapping[str, Task] = {
    "3 variables": Task(3, 0.2, 0.0, 0.05),
    "5 variables, exact": Task(5, 0.3, 0.05, 0.0),
    "5 variables, trend": Task(5, 0.3, 0.15, 0.02),
    "6 variables": Task(6, 0.5, 0.05, 0.05),
}


class Pool(NamedTuple):
    points: Array
    values: Array
    planted: int

    @property
    def gaps(self) -> Array:
        return np.asarray(self.values.max() - self.values)


def make_pool(task: Task, seed: int, arms: int) -> Pool:
    """Random points in the unit cube, one of which is the place of the peak."""
    shape = np.random.default_rng([seed, task.dimension])
    centre = shape.uniform(0.1, 0.9, task.dimension)
    rng = np.random.default_rng([seed, task.dimension, arms])
    points, planted = rng.random((arms, task.dimension)), int(rng.integers(arms))
    points[planted] = centre
    peak = np.exp(-((points - centre) ** 2).sum(1) / (2 * task.width**2))
    return Pool(points, peak + task.trend * waves(points, shape, 1.0), planted)


# ---------------------------------------------------------------- players

Played = tuple[Indices, int]
"""The arms played, and the one recommended in the end."""


def play_auto(pool: Pool, task: Task, seed: int) -> Played:
    """`Auto` with the goal find, which is told nothing of the function."""
    auto = kb.Auto(kb.Arms(pool.points), goal="find", seed=seed)
    noise = task.noise * np.random.default_rng([seed, 1]).standard_normal(ROUNDS)
    played = []
    for t in range(ROUNDS):
        choice = auto.ask()
        played.append(int(choice.arm or 0))
        auto.tell(choice, float(pool.values[played[-1]] + noise[t]))
    return np.array(played), int(auto.recommend())


def play_ucb(pool: Pool, task: Task, seed: int) -> Played:
    """Simple-UCB on all arms with the kernel of the peak, its noise and norm."""
    noise = max(task.noise, 0.01)
    instance = kb.problems.Instance(
        "planted", kb.Arms(pool.points), pool.values, kb.problems.GaussianNoise(noise)
    )
    policy = kb.SimpleUCB(
        instance.domain, kb.RBF(task.width), noise_scale=noise, norm_bound=1 + 2 * task.trend
    )
    record = kb.play(policy, instance, ROUNDS, kb.Streams(seed))
    return np.asarray(record.arms), int(record.recommended[-1])


def play_random(pool: Pool, task: Task, seed: int) -> Played:
    """Random arms; the one of the highest reward is recommended."""
    rng = np.random.default_rng([seed, 2])
    played = rng.integers(len(pool.points), size=ROUNDS)
    rewards = pool.values[played] + task.noise * rng.standard_normal(ROUNDS)
    return played, int(played[rewards.argmax()])


PLAYERS: Mapping[str, Callable[[Pool, Task, int], Played]] = {
    "auto": play_auto,
    "simple-ucb": play_ucb,
    "random": play_random,
}


# ---------------------------------------------------------------- games


class Game(NamedTuple):
    arms: int
    task: str
    player: str
    seed: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What decides a game; other choices of `Auto` are other games."""
        return *self, kb.Auto.revision


def play(game: Game) -> dict[str, Any]:
    """Play one game: what was found, and in which round the best arm was first played."""
    task = TASKS[game.task]
    pool = make_pool(task, game.seed, game.arms)
    start = time.process_time()
    played, recommended = PLAYERS[game.player](pool, task, game.seed)
    seconds = time.process_time() - start
    gaps, best = pool.gaps, np.flatnonzero(pool.gaps[played] == 0)
    return {
        **game._asdict(),
        "revision": kb.Auto.revision,
        "recommended": float(gaps[recommended]),
        "best_played": float(gaps[played].min()),
        "first": int(best[0]) + 1 if len(best) else None,
        "distinct": len(set(played.tolist())),
        "seconds": round(seconds, 2),
    }


def list_games(given: Any) -> Iterator[Game]:
    """The games in order: all of a seed before those of the next."""
    for seed in range(given.seeds):
        for task, arms, player in itertools.product(given.tasks, given.arms, given.players):
            yield Game(arms, task, player, seed)


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seeds", type=int, default=SEEDS)
    command.add_argument("--arms", nargs="+", type=int, default=SIZES, choices=SIZES)
    command.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    command.add_argument("--players", nargs="+", default=list(PLAYERS), choices=list(PLAYERS))
    command.add_argument("--minutes", type=float, default=np.inf, help="start no game after them")


def run(given: Any) -> None:
    """Play the games that are missing, and write results/planted.md."""
    load_loops()  # Compiled here, and not in the time of the first game.
    play_missing(ROWS, list_games(given), play, given.minutes)
    text = document(read_games(ROWS, Game._fields))
    (tables.RESULTS / "planted.md").write_text(text)
    print(text)


# ---------------------------------------------------------------- the table

HEAD = (
    *("task", "player", "arms", "games", "found", "gap recommended", "best arm played"),
    *("distinct", "seconds"),
)


def document(games: Mapping[Any, dict[str, Any]]) -> str:
    """What each player found on each task and size."""
    cells = itertools.product(TASKS, PLAYERS, SIZES)
    rows = [table_row(games, *cell) for cell in cells]
    lines = [HEAD, ("---",) * len(HEAD), *(row for row in rows if row)]
    described = "; ".join(
        f"*{name}*: width {task.width}, trend {task.trend}, noise {task.noise}"
        for name, task in TASKS.items()
    )
    told = (
        f"Random points in the unit cube and a peak of height 1 at one of them, {ROUNDS} rounds. "
        "The function of a seed is the same for every size. Found: in how many games the arm "
        f"recommended in the end is within {FOUND} of the best. The gap recommended is its median; "
        "best arm played says in how many games, and the median round of its first play. Seconds "
        "are median processor times of a game. "
        + " ".join(f"*{name}*: {one.__doc__}" for name, one in PLAYERS.items())
        + f" Revision {kb.Auto.revision} of auto. Tasks, with the sd of a smooth trend: {described}."
    )
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"# A planted optimum\n\n{told}\n\n{table}\n"


def table_row(
    games: Mapping[Any, dict[str, Any]], task: str, player: str, arms: int
) -> tuple[str, ...]:
    """One row of the table; empty before any game was played."""
    rows = [row for key, row in games.items() if match_cell(key, task, player, arms)]
    if not rows:
        return ()
    found = sum(row["recommended"] <= FOUND for row in rows)
    firsts = [row["first"] for row in rows if row["first"] is not None]
    when = f", round {np.median(firsts):.0f}" if firsts else ""
    medians = {
        name: np.median([row[name] for row in rows])
        for name in ("recommended", "distinct", "seconds")
    }
    return (
        *(task, player, str(arms), str(len(rows)), f"{found} of {len(rows)}"),
        *(f"{medians['recommended']:.3f}", f"{len(firsts)} of {len(rows)}{when}"),
        *(f"{medians['distinct']:.0f}", f"{medians['seconds']:.1f}"),
    )


def match_cell(key: Any, task: str, player: str, arms: int) -> bool:
    """Whether a game of the present revision belongs to a row of the table."""
    size, there, who, _, revision = key
    return (size, there, who, revision) == (arms, task, player, kb.Auto.revision)
