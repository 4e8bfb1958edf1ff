"""Is the twin of LogEI as good as BoTorch's? `python -m benchmarks search --check-twin`.

Both play the same games from the same first rows. The twin also follows BoTorch's game: after the
same results, does it choose the same row? Different choices can have two reasons, and the value of
the twin's log expected improvement at both rows tells them apart: rows that tie, of which rounding
picks one, and fits that end at other hyperparameters.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks import machine
from benchmarks.json_lines import append_object, read_objects
from benchmarks.opponents import installed_version
from benchmarks.pools import PoolInstance
from benchmarks.regret_summary import lines
from benchmarks.search import play, tables
from benchmarks.search.contestants import CONTESTANTS, LOGEI, LOGEI_1, TWIN_1, TWIN_5
from benchmarks.search.opponents.twin import Twin
from benchmarks.search.tasks import SCORED, Task

ROWS = Path(__file__).parents[1] / "results" / "search_twin.jsonl"
PAIRS = {1: (LOGEI_1, TWIN_1), 5: (LOGEI, TWIN_5)}
"""By the number of random rows: BoTorch's contestant and its twin."""
NOISES = (0.0, 0.05)
SEEDS = range(3)
EARLY = 10
"""So many choices of the model count as the first ones."""
TIE = 1e-6
"""Rows whose log expected improvements differ by less tie."""


@dataclass(frozen=True)
class TwinGame:
    """One game of both, in numbers."""

    task: str
    noise: float
    first: int
    """The number of random rows."""
    seed: int
    botorch: str
    """The version of BoTorch."""
    choices: int
    """The choices of BoTorch's model."""
    equal: int
    """How many of them the twin makes after the same results."""
    tied: int
    """How many of the others tie with the twin's choice."""
    together: int
    """The choices of both games before the first that differs."""
    score: float
    """The search score of BoTorch's game."""
    twin_score: float

    @property
    def key(self) -> tuple[Any, ...]:
        return self.task, self.noise, self.first, self.seed


def list_games(
    seeds: Sequence[int] = SEEDS, names: Sequence[str] = (*tables.DEVELOPMENT, *tables.ROUGH)
) -> Iterator[tuple[Task, int, int]]:
    """Return tasks, numbers of random rows and seeds; 1 and 5 random rows take turns."""
    for seed, (number, name), (level, noise) in product(seeds, enumerate(names), enumerate(NOISES)):
        yield Task(name, noise), (1, 5)[(seed + number + level) % 2], seed


def check(minutes: float | None = None, path: Path = ROWS) -> None:
    """Play the games that the file does not hold yet."""
    missing = CONTESTANTS[LOGEI].missing
    if missing:
        raise SystemExit(f"--check-twin needs BoTorch: {missing}")
    until = math.inf if minutes is None else time.monotonic() + 60 * minutes
    done = {game.key for game in read(path)}
    absent = {name for name in tables.NAMES if play.said_unavailable(name)}
    for task, first, seed in list_games():
        if (task.name, task.noise, first, seed) in done or task.name in absent:
            continue
        if time.monotonic() >= until:
            return
        game = compare_game(task, first, seed)
        append_object(path, asdict(game))
        print(game, file=sys.stderr, flush=True)


def read(path: Path = ROWS) -> list[TwinGame]:
    return [TwinGame(**fields) for fields in read_objects(path)] if path.exists() else []


def compare_game(task: Task, first: int, seed: int) -> TwinGame:
    """Let BoTorch play with the twin following, then the twin alone."""
    with machine.threads.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        instance = task.instance(seed)
        real, twin = (CONTESTANTS[name].opponent(instance) for name in PAIRS[first])
        followed = Followed(real, twin, first)
        score, moves = play_scored(followed, instance)
        alone = CONTESTANTS[PAIRS[first][1]].opponent(instance)
        twin_score, own_moves = play_scored(alone, instance)
    differing = [t for t, (a, b) in enumerate(zip(moves, own_moves, strict=True)) if a != b]
    return TwinGame(
        task.name,
        task.noise,
        first,
        seed,
        str(installed_version("botorch")),
        len(moves) - first,
        followed.equal,
        followed.tied,
        (differing[0] if differing else len(moves)) - first,
        round(score, 7),
        round(twin_score, 7),
    )


class Followed:
    """BoTorch's player, whose results the twin is told and whose choices it is asked about."""

    def __init__(self, real: Any, twin: Twin, first: int) -> None:
        self.real, self.twin, self.first = real, twin, first
        self.equal = self.tied = 0

    def ask(self, t: int, pending: Sequence[Any]) -> Any:
        move = self.real.ask(t, pending)
        if t > self.first:
            rows = self.twin.unmeasured()
            scores = self.twin.scores(rows)
            if rows[int(scores.argmax())] == move:
                self.equal += 1
            elif scores.max() - scores[rows.index(move)] < TIE:
                self.tied += 1
        return move

    def tell(self, move: Any, result: float) -> None:
        self.real.tell(move, result)
        self.twin.tell(move, result)

    def recommend(self) -> Any:
        return self.real.recommend()


def play_scored(player: Any, instance: PoolInstance) -> tuple[float, list[Any]]:
    """Return the search score of a game and its rows in order."""
    moves: list[Any] = []
    regrets: list[float] = []
    scored: dict[int, float] = {}
    budget = min(SCORED[-1], len(instance.domain))
    for t in range(1, budget + 1):
        move = player.ask(t, ())
        player.tell(move, instance.reward(move, t))
        moves.append(move)
        regrets.append(instance.regret(move))
        if t in SCORED or t == budget:
            answer = instance.regret(player.recommend()) if instance.noise else min(regrets)
            scored[t] = answer
    return fmean(scored[min(mark, budget)] for mark in SCORED), moves


@dataclass(frozen=True)
class Agreement:
    """What some games say."""

    games: int
    equal: float
    """The share of choices that are equal after the same results."""
    equal_or_tied: float
    early: float
    """The share of games with equal first choices."""
    same: float
    """The share of games with equal choices to the end."""
    score: float
    difference: float
    """The mean score of the twin minus that of BoTorch."""
    error: float

    @property
    def p_value(self) -> float:
        """The two-sided p value of no difference."""
        return float(2 * norm.sf(abs(self.difference) / self.error)) if self.error else 1.0


def summarise(games: Sequence[TwinGame]) -> Agreement:
    choices = sum(game.choices for game in games)
    equal = sum(game.equal for game in games)
    gaps = np.array([game.twin_score - game.score for game in games])
    return Agreement(
        len(games),
        equal / choices,
        (equal + sum(game.tied for game in games)) / choices,
        fmean(game.together >= EARLY for game in games),
        fmean(game.together == game.choices for game in games),
        fmean(game.score for game in games),
        float(gaps.mean()),
        float(gaps.std(ddof=1)) / math.sqrt(len(gaps)) if len(gaps) > 1 else math.nan,
    )


def sections() -> Iterator[str]:
    """The comparison of the twin with BoTorch, if it was played."""
    games = read()
    if not games:
        return
    versions = ", ".join(sorted({game.botorch for game in games}))
    yield (
        f"The twin and BoTorch {versions} played the same games of {SCORED[-1]} measurements from "
        "the same random rows (`--check-twin`). Choices are compared after the same results, in "
        "BoTorch's game; rows tie whose log expected improvements differ by less than "
        f"{TIE:g}. Of both games side by side the table says in how many the first "
        f"{EARLY} choices of the model are equal, and in how many all are. Scores are "
        "search scores, compared game by game."
    )
    head = (
        "setting",
        "games",
        "equal choices",
        "equal or tied",
        f"first {EARLY} equal",
        "all equal",
        "BoTorch's score",
        "twin - BoTorch",
        "p",
    )
    parts: dict[str, list[TwinGame]] = {"all": games}
    for noise in NOISES:
        for first in PAIRS:
            title = f"noise {noise:g}, from {first} row{'s' * (first > 1)}"
            parts[title] = [one for one in games if (one.noise, one.first) == (noise, first)]
    body = [line_of(title, part) for title, part in parts.items() if len(part) > 1]
    yield lines([head, *body])


def line_of(title: str, games: Sequence[TwinGame]) -> tuple[str, ...]:
    one = summarise(games)
    return (
        title,
        str(one.games),
        f"{one.equal:.1%}",
        f"{one.equal_or_tied:.1%}",
        f"{one.early:.0%}",
        f"{one.same:.0%}",
        f"{one.score:.4f}",
        f"{one.difference:+.4f} ± {one.error:.4f}",
        f"{one.p_value:.2f}",
    )
