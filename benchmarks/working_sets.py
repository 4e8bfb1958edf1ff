"""Is a working set as good as the whole pool? `Auto` with either, on the same pools and noise.

A posterior of all arms can still be kept for pools of 24 000 and 120 000 random points. Each game
is played three times with the same seed: with all arms, and with working sets that are as large
beside the pool as the usual one beside 120 000 and beside a million arms.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import kernelbandits as kb
from benchmarks import tables
from benchmarks.stored_games import play_missing, read_games
from kernelbandits.checks import Array
from kernelbandits.policies import working_set

SIZES, ROUNDS, SEEDS, NOISE = (24_000, 120_000), 50, 10, 0.05
GOALS = ("find", "earn")
ROWS = tables.RESULTS / "working-sets.jsonl"


WHOLE = "all arms"
SETS: Mapping[str, int] = {WHOLE: 0, "1/6": 120_000, "1/50": 1_000_000}
"""The share of the arms in the working set -> beside how many arms the usual one has it."""


def set_limits(compared: str, arms: int) -> None:
    """Make the working set of a pool as large beside it as the usual one beside its own pool."""
    beside = SETS[compared] or math.inf
    working_set.LARGEST_POOL = arms - (compared != WHOLE)
    working_set.LARGEST_SET = int(20_000 * arms / beside)
    working_set.SAMPLE = int(100_000 * arms / beside)
    working_set.NEIGHBOURS = int(1000 * arms / beside)


# ---------------------------------------------------------------- pools


class Pool(NamedTuple):
    points: Array
    values: Array

    @property
    def gaps(self) -> Array:
        return np.asarray(self.values.max() - self.values)


def waves(points: Array, rng: Any, lengthscale: float) -> Array:
    """A random smooth function with sd 1: 200 cosines, as of a squared-exponential kernel."""
    frequencies = rng.standard_normal((points.shape[1], 200)) / lengthscale
    phases = rng.uniform(0, 2 * np.pi, 200)
    return np.sqrt(2 / 200) * np.asarray(np.cos(points @ frequencies + phases).sum(1))


def smooth_pool(rng: Any, arms: int) -> Pool:
    """A random function of five variables, with lengthscale 0.6."""
    points = rng.random((arms, 5))
    return Pool(points, waves(points, rng, 0.6))


def planted_pool(rng: Any, arms: int) -> Pool:
    """A trend of five variables, and a peak of height 3 and width 0.3 about one of the arms."""
    points = rng.random((arms, 5))
    return Pool(points, 0.5 * waves(points, rng, 1.0) + peak(points, rng, 0.3))


def narrow_pool(rng: Any, arms: int) -> Pool:
    """A trend of three variables, and a peak of height 3 and width 0.1 about one of the arms."""
    points = rng.random((arms, 3))
    return Pool(points, 0.5 * waves(points, rng, 0.8) + peak(points, rng, 0.1))


def peak(points: Array, rng: Any, width: float) -> Array:
    centre = points[rng.integers(len(points))]
    return 3 * np.exp(-((points - centre) ** 2).sum(1) / (2 * width**2))


POOLS: Mapping[str, Callable[[Any, int], Pool]] = {
    "smooth": smooth_pool,
    "planted": planted_pool,
    "narrow": narrow_pool,
}


# ---------------------------------------------------------------- games


class Game(NamedTuple):
    arms: int
    pool: str
    goal: str
    seed: int
    compared: str
    """The name of a working set, or "all arms"."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What decides a game; other choices of `Auto` are other games."""
        return *self, kb.Auto.revision


def play(game: Game) -> dict[str, Any]:
    """Play one game; its losses are those of the arm recommended and of the arms played."""
    rng = np.random.default_rng([game.seed, *map(ord, game.pool)])
    pool = POOLS[game.pool](rng, game.arms)
    noise = NOISE * np.random.default_rng([game.seed, 1]).standard_normal(ROUNDS)
    set_limits(game.compared, game.arms)
    start = time.process_time()
    auto = kb.Auto(kb.Arms(pool.points), goal=game.goal, seed=game.seed)
    played: list[int] = []
    for t in range(ROUNDS):
        choice = auto.ask()
        played.append(int(choice.arm or 0))
        auto.tell(choice, float(pool.values[played[-1]] + noise[t]))
    gaps = pool.gaps
    return {
        **game._asdict(),
        "revision": kb.Auto.revision,
        "recommended": float(gaps[auto.recommend()]),
        "regret": float(gaps[played].mean()),
        "distinct": len(set(played)),
        "seconds": round(time.process_time() - start, 2),
    }


def list_games(arguments: Any) -> Iterator[Game]:
    """The games in order: all of a seed before those of the next."""
    for seed in range(arguments.seeds):
        for pool in arguments.pools:
            for goal in arguments.goals:
                for compared in arguments.sets:
                    yield Game(arguments.arms, pool, goal, seed, compared)


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seeds", type=int, default=SEEDS)
    command.add_argument("--arms", type=int, default=SIZES[0], choices=SIZES)
    command.add_argument("--pools", nargs="+", default=list(POOLS), choices=list(POOLS))
    command.add_argument("--goals", nargs="+", default=list(GOALS), choices=GOALS)
    command.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    command.add_argument("--minutes", type=float, default=np.inf, help="start no game after them")


def run(given: Any) -> None:
    """Play the games that are missing, and write results/working-sets.md."""
    play_missing(ROWS, list_games(given), play, given.minutes)
    text = document(read_games(ROWS, Game._fields))
    (tables.RESULTS / "working-sets.md").write_text(text)
    print(text)


# ---------------------------------------------------------------- the table

LOSSES = {"find": "recommended", "earn": "regret"}
"""What a goal loses: the gap of the arm recommended at the end, or the mean gap of those played."""
FOUND = 0.3
"""A recommended arm within this gap of the best has found the peak."""
HEAD = (
    *("arms", "pool", "goal", "set", "seeds", "loss", "all arms", "difference"),
    *("found", "seconds"),
)


def document(games: Mapping[Any, dict[str, Any]]) -> str:
    """Losses with a working set beside those of the same games with all arms."""
    cells = itertools.product(SIZES, POOLS, GOALS, [name for name in SETS if name != WHOLE])
    rows = [table_row(games, *cell) for cell in cells]
    lines = [HEAD, ("---",) * len(HEAD), *(row for row in rows if row)]
    told = (
        f"`Auto` on random points, {ROUNDS} rounds, noise {NOISE}. A set has a share of the arms: "
        "1/6 is that of 20 000 among 120 000, 1/50 that among a million. The loss of the goal find "
        "is the gap of the arm recommended in the end, that of earn the mean gap of the arms "
        "played. Differences are paired (same pool, noise and seed), with their standard errors. "
        f"Found: in how many games the arm recommended is within {FOUND} of the best, with the "
        "working set and with all arms. Seconds are processor times of a game, likewise. "
        f"Revision {kb.Auto.revision} of auto. Pools: "
        + " ".join(f"*{name}*: {make.__doc__}" for name, make in POOLS.items())
    )
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"# Working sets against whole pools\n\n{told}\n\n{table}\n"


def table_row(
    games: Mapping[Any, dict[str, Any]], arms: int, pool: str, goal: str, compared: str
) -> tuple[str, ...]:
    """One row of the table; empty before any pair was played."""
    pairs = []
    for game, row in games.items():
        size, *there, seed, name, revision = game
        if (size, *there, name) == (arms, pool, goal, compared) and revision == kb.Auto.revision:
            whole = games.get((size, *there, seed, WHOLE, revision))
            pairs += [(row, whole)] if whole else []
    if not pairs:
        return ()
    losses = np.array([[one[LOSSES[goal]] for one in pair] for pair in pairs])
    found = [sum(pair[i]["recommended"] < FOUND for pair in pairs) for i in (0, 1)]
    seconds = [np.median([pair[i]["seconds"] for pair in pairs]) for i in (0, 1)]
    difference = losses[:, 0] - losses[:, 1]
    error = difference.std(ddof=1) / np.sqrt(len(pairs)) if len(pairs) > 1 else np.nan
    mean = losses.mean(0)
    return (
        *(str(arms), pool, goal, compared, str(len(pairs))),
        *(f"{mean[0]:.3f}", f"{mean[1]:.3f}", f"{difference.mean():+.3f} ± {error:.3f}"),
        *(f"{found[0]}, {found[1]}", f"{seconds[0]:.0f}, {seconds[1]:.0f}"),
    )
