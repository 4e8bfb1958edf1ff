"""Limits on outcomes: simple regret among what is feasible after 30 measurements.

Six problems: Gardner's first and second, Branin on a disc, Gramacy's with two limits, Hartmann's
function of 6 columns inside a sphere, and a table of 300 rows of which 30 % are feasible; all without
noise. The regret is that of the best feasible place that was measured, in standard deviations of the
objective. A game without one counts twice the gap from the optimum to the mean of the feasible
places. The protocol is that of docs/decisions/0039.

    python -m benchmarks limited                               # ours, and random places
    python -m benchmarks limited --players gp-sampler log-nei --seeds 3

The second line needs torch and BoTorch.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from operator import itemgetter
from typing import Any

import numpy as np

import kernelbandits as kb
from benchmarks import outcomes
from benchmarks import tables as results
from benchmarks.outcomes import Game, RandomPlaces, look_up
from benchmarks.stored_games import play_missing, read_games
from kernelbandits.checks import Array
from kernelbandits.policies import LimitedOutcome
from kernelbandits.problems import functions

MEASUREMENTS, SEEDS = 30, 6
ROWS = results.RESULTS / "limited.jsonl"
TABLE = results.RESULTS / "limited.md"
OURS, RIVALS = ("auto", "random"), ("gp-sampler", "log-nei")
PLAYERS = (*OURS, *RIVALS)


@dataclass(frozen=True, eq=False)
class Problem(outcomes.Problem):
    """An objective to be maximised, the first outcome, where all others are at most 0."""

    limits: int
    best: float
    """The greatest objective where the limits are met."""

    @property
    def sample(self) -> Array:
        """Outcomes of all rows, or of 20 000 random points."""
        points = np.random.default_rng(0).random((20000, self.dimension))
        return self.evaluate(points if self.rows is None else self.rows)

    @property
    def unit(self) -> float:
        """The standard deviation of the objective."""
        return float(self.sample[:, 0].std())

    @property
    def fine(self) -> float:
        """The objective that a game without a feasible place counts as."""
        values = self.sample
        return float(2 * values[find_feasible(values), 0].mean() - self.best)

    def regret(self, values: Array) -> float:
        """Return the regret of measured outcomes, in standard deviations of the objective."""
        reached = values[find_feasible(values), 0].max(initial=-math.inf)
        return (self.best - (reached if math.isfinite(reached) else self.fine)) / self.unit


def find_feasible(values: Array) -> Any:
    """Return which of many outcomes meet all limits."""
    return (values[:, 1:] <= 0).all(1)


def gardner_1() -> Problem:
    def evaluate(x: Array) -> Array:
        a, b = 6 * x.T
        value = np.cos(2 * a) * np.cos(b) + np.sin(a)
        return np.column_stack([-value, np.cos(a + b) - 0.5])

    return Problem(evaluate, 2, 1, 2.0)


def gardner_2() -> Problem:
    def evaluate(x: Array) -> Array:
        a, b = 6 * x.T
        return np.column_stack([-np.sin(a) - b, np.sin(a) * np.sin(b) + 0.95])

    # At a = 3/2 pi, where the limit reads sin(b) >= 0.95.
    return Problem(evaluate, 2, 1, 1 - math.asin(0.95))


def branin_disc() -> Problem:
    branin = functions.branin()

    def evaluate(x: Array) -> Array:
        point = 15 * x + [-5, 0]
        away = ((point - [2.5, 7.5]) ** 2).sum(1)
        return np.column_stack([-branin(point), away - 50])

    return Problem(evaluate, 2, 1, -branin.minimum)


def gramacy() -> Problem:
    def evaluate(x: Array) -> Array:
        a, b = x.T
        wave = 1.5 - a - 2 * b - 0.5 * np.sin(2 * np.pi * (a**2 - 2 * b))
        return np.column_stack([-a - b, wave, a**2 + b**2 - 1.5])

    return Problem(evaluate, 2, 2, -0.599788052)


def hartmann_sphere() -> Problem:
    hartmann = functions.hartmann6()

    def evaluate(x: Array) -> Array:
        return np.column_stack([-hartmann(x), (x**2).sum(1) - 1])

    return Problem(evaluate, 6, 1, -hartmann.minimum)


def table() -> Problem:
    """300 random rows of 4 columns: where the objective is large, the limit is broken."""
    rows = np.random.default_rng(39).random((300, 4))
    a, b, c, d = rows.T
    value = np.sin(3 * a) + b - (c - 0.4) ** 2
    limited = a + b**2 + 0.5 * np.sin(5 * d)
    values = np.column_stack([value, limited - np.quantile(limited, 0.3)])
    return Problem(
        look_up(rows, values), 4, 1, float(value[find_feasible(values)].max()), rows=rows
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "gardner-1": gardner_1,
    "gardner-2": gardner_2,
    "branin-disc": branin_disc,
    "gramacy": gramacy,
    "hartmann6-sphere": hartmann_sphere,
    "table": table,
}
find_problem = cache(lambda name: PROBLEMS[name]())


def heed_limits(problem: Problem, seed: int, rounds: int) -> outcomes.Player:
    """Return our search for the best place that meets all limits."""
    count = 1 + problem.limits
    policies = [kb.Auto(problem.domain, seed=seed, rounds=rounds) for _ in range(count)]
    first, *others = policies
    limited = first.limited_by(*(LimitedOutcome(one, high=0.0) for one in others))
    return outcomes.Player(policies, limited)


def make_player(name: str, problem: Problem, seed: int, rounds: int) -> Any:
    if name == "auto":
        return heed_limits(problem, seed, rounds)
    if name == "random":
        return RandomPlaces(problem, seed, rounds)
    rivals = import_module("benchmarks.opponents.outcomes")
    return rivals.LIMIT_MAKERS[name](problem, seed)


def play(game: Game) -> dict[str, Any]:
    """Play one game; keep its regret, how many places were feasible, and the processor time."""
    problem = find_problem(game.problem)
    player = make_player(game.player, problem, game.seed, MEASUREMENTS)
    seen, stored = outcomes.measure(game, player, problem, MEASUREMENTS, 0.0)
    feasible = int(find_feasible(seen).sum())
    return {**stored, "regret": problem.regret(seen), "feasible": feasible}


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    outcomes.arguments(command, SEEDS, PLAYERS, OURS, PROBLEMS)


def run(given: argparse.Namespace) -> None:
    """Play what is missing and write the table."""
    tasks = [(problem, 0.0) for problem in given.problems]
    games = outcomes.list_games(tasks, given.players, given.seeds)
    play_missing(ROWS, games, play, given.minutes)
    TABLE.write_text(summarise(read_games(ROWS, Game._fields)), "utf-8")


def summarise(rows: dict[Any, dict[str, Any]]) -> str:
    """Return the table: means of the regrets with their standard errors, misses and times."""
    stored = list(rows.values())
    head = [f"| problem | {' | '.join(PLAYERS)} |", "|---|" + "--:|" * len(PLAYERS)]
    lines = [f"# {(__doc__ or '').splitlines()[0]}", ""]
    lines += ["In standard deviations of the objective, with the standard error of the mean over"]
    lines += ["seeds. Bold: our search, where its mean is the least.", "", *head]
    for problem, _, figures in outcomes.group_games(stored, itemgetter("regret")):
        lines += [f"| {problem} | {outcomes.show_means(PLAYERS, figures, 4)} |"]
    lines += ["", "## Games without a feasible measurement", "", *head]
    for problem, _, counts in outcomes.group_games(stored, itemgetter("feasible")):
        cells = [
            f"{(counts[name] == 0).sum()} of {len(counts[name])}" if name in counts else ""
            for name in PLAYERS
        ]
        lines += [f"| {problem} | {' | '.join(cells)} |"]
    lines += ["", *outcomes.show_times(stored, PLAYERS)]
    return "\n".join(lines) + "\n"
