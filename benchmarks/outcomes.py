"""Games in which a measurement has several outcomes: what `front` and `limited` share.

Each player starts as it does by itself. Players without tables measure the row nearest to their
suggestion that was not measured yet, and are told where it is. What is told may be noisy; a game is
judged by the true values.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import kernelbandits as kb
from kernelbandits.checks import Array

AUTO = ("auto", "auto-told")
"""Our search, without a reference and told that of the problem, as qLogNEHVI is."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Outcomes on the unit cube, or on the rows of a table."""

    evaluate: Callable[[Array], Array]
    """Rows (n, d) -> values (n, k)."""
    dimension: int
    rows: Array | None = field(default=None, kw_only=True)
    """The rows of a table."""

    @property
    def domain(self) -> Any:
        sides = (0.0,) * self.dimension, (1.0,) * self.dimension
        return kb.Box(*sides) if self.rows is None else kb.Arms(self.rows)


def look_up(rows: Array, values: Array) -> Callable[[Array], Array]:
    """Return the function that gives the values of rows of a table."""
    known = {row.tobytes(): value for row, value in zip(rows, values, strict=True)}

    def evaluate(x: Array) -> Array:
        return np.array([known[row.tobytes()] for row in x])

    return evaluate


class Game(NamedTuple):
    """What decides a game."""

    problem: str
    noise: float
    player: str
    seed: int

    @property
    def key(self) -> tuple[Any, ...]:
        return (*self, self.revision)

    @property
    def revision(self) -> int:
        return kb.Auto.revision if self.player in AUTO else 0


def list_games(
    tasks: Sequence[tuple[str, float]], players: Sequence[str], seeds: int
) -> list[Game]:
    """Return all games of these problems and noises, one seed after the other."""
    return [
        Game(problem, noise, player, seed)
        for seed in range(seeds)
        for problem, noise in tasks
        for player in players
    ]


class Player:
    """Play as `kb.Auto` does; rivals have the same two methods.

    policies: those of each outcome, which are told its values. policy: the one that is asked.
    """

    def __init__(self, policies: Sequence[kb.Auto[Any]], policy: kb.Auto[Any]) -> None:
        self.policies, self.policy = policies, policy
        self.choice: Any = None

    def ask(self) -> Array:
        self.choice = self.policy.ask()
        return np.asarray(self.choice.x)

    def tell(self, row: Array, values: Array) -> None:
        for policy, value in zip(self.policies, values.tolist(), strict=True):
            policy.tell(self.choice, value)


class RandomPlaces:
    """Places at random, without repeats on a table."""

    def __init__(self, problem: Problem, seed: int, rounds: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.dimension = problem.dimension

    def ask(self) -> Array:
        return self.rng.random(self.dimension)

    def tell(self, row: Array, values: Array) -> None: ...


def measure(
    game: Game, player: Any, problem: Problem, rounds: int, sds: Array | float
) -> tuple[Array, dict[str, Any]]:
    """Play; return the true values, and what is stored of a game beside what they decide.

    `sds` are the standard deviations of the noise of what is told.
    """
    rng = np.random.default_rng([game.seed, 41])
    seen: list[Array] = []
    free = None if problem.rows is None else np.ones(len(problem.rows), dtype=bool)
    start = time.process_time()
    for _ in range(rounds):
        row = player.ask()
        if problem.rows is not None and game.player not in AUTO:
            row = nearest_row(problem.rows, row, free)
        truth = problem.evaluate(row[None])[0]
        player.tell(row, truth + sds * rng.standard_normal(len(truth)))
        seen.append(truth)
    spent = time.process_time() - start
    stored = {**game._asdict(), "revision": game.revision, "seconds": round(spent, 2)}
    return np.array(seen), stored


def nearest_row(rows: Array, point: Array, free: Any) -> Array:
    """Return the nearest row that is free, and take it."""
    distances = np.where(free, ((rows - point) ** 2).sum(1), np.inf)
    number = int(distances.argmin())
    free[number] = False
    return np.asarray(rows[number])


def arguments(
    command: argparse.ArgumentParser, seeds: int, players: Any, ours: Any, problems: Any
) -> None:
    """Add the options of a command."""
    command.add_argument("--seeds", type=int, default=seeds)
    command.add_argument("--minutes", type=float, default=30.0, help="start none after so many")
    command.add_argument("--players", nargs="+", default=list(ours), choices=players)
    command.add_argument("--problems", nargs="+", default=list(problems), choices=list(problems))


Rows = Sequence[Mapping[str, Any]]


def group_games(
    rows: Rows, decides: Callable[[Mapping[str, Any]], float]
) -> list[tuple[str, float, dict[str, Array]]]:
    """Return for each problem and noise the figures of the players, one for each game."""
    tasks: dict[tuple[str, float], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        tasks[row["problem"], row["noise"]][row["player"]].append(decides(row))
    return [
        (problem, noise, {name: np.array(found) for name, found in players.items()})
        for (problem, noise), players in sorted(tasks.items())
    ]


def show_means(players: Sequence[str], figures: Mapping[str, Array], digits: int) -> str:
    """Return the cells of a line: means with standard errors, ours in bold where it is least."""
    least = min(figures, key=lambda name: float(figures[name].mean()))
    cells = [
        show_mean(figures.get(name), name == least and name in AUTO, digits) for name in players
    ]
    return " | ".join(cells)


def show_mean(values: Array | None, bold: bool, digits: int) -> str:
    """Return a mean with its standard error."""
    if values is None:
        return ""
    mean = f"{values.mean():.{digits}f}"
    mean = f"**{mean}**" if bold else mean
    if len(values) == 1:
        return f"{mean} (1 seed)"
    return f"{mean} ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}"


def show_times(rows: Rows, players: Sequence[str]) -> list[str]:
    """Return the lines on the processor time of a game."""
    lines = ["## Processor seconds of a game, and games", ""]
    lines += ["| player | seconds | games |", "|---|--:|--:|"]
    for player in players:
        seconds = [row["seconds"] for row in rows if row["player"] == player]
        if seconds:
            lines += [f"| {player} | {np.mean(seconds):.1f} | {len(seconds)} |"]
    return lines
