"""The front of two and three objectives: hypervolume regret after 20 and 40 measurements.

Six problems: ZDT1 with 4 columns, DTLZ2 with 5 columns and 3 objectives, Branin-Currin, VLMOP2, the
real table fullerenes (product and time) and a synthetic table of 300 rows; ZDT1 and Branin-Currin
also with noise of 5 % of the range of each objective on the front. Each player starts as it does by itself. A
game is judged by the true values of the places it has measured: the share of the greatest
hypervolume that is missing, above the reference of the problem. Players without tables measure the
row nearest to their suggestion that was not measured yet, and are told where it is. The protocol is
that of docs/decisions/0041.

    python -m benchmarks front                                 # ours, and random places
    python -m benchmarks front --players gp-sampler nsga-ii log-nehvi

The second line needs torch and BoTorch.
"""

from __future__ import annotations

import argparse
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
from benchmarks.search.tables import load_table
from benchmarks.stored_games import play_missing, read_games
from kernelbandits.checks import Array
from kernelbandits.policies.hypervolume import hypervolume

MEASUREMENTS, LOOKS, SEEDS = 40, (20, 40), 4
NOISE = 0.05
ROWS = results.RESULTS / "front.jsonl"
TABLE = results.RESULTS / "front.md"
OURS, RIVALS = (*outcomes.AUTO, "random"), ("gp-sampler", "nsga-ii", "log-nehvi")
PLAYERS = (*OURS, *RIVALS)


@dataclass(frozen=True, eq=False)
class Problem(outcomes.Problem):
    """Objectives to be maximised."""

    reference: Array
    front: Array
    """Values of which the front consists, closely spaced."""
    best: float | None = None
    """The greatest hypervolume, where it is known exactly."""

    @property
    def greatest(self) -> float:
        """The greatest hypervolume."""
        return hypervolume(self.front, self.reference) if self.best is None else self.best

    @property
    def spread(self) -> Array:
        """The range of each objective on the front."""
        return np.asarray(np.ptp(self.front, axis=0))


def zdt1() -> Problem:
    def evaluate(x: Array) -> Array:
        g = 1 + 9 * x[:, 1:].mean(1)
        return -np.column_stack([x[:, 0], g * (1 - np.sqrt(x[:, 0] / g))])

    ends = np.zeros((1000, 4))
    ends[:, 0] = np.linspace(0, 1, 1000) ** 2
    return Problem(evaluate, 4, np.array([-1.1, -1.1]), evaluate(ends))


def dtlz2() -> Problem:
    def evaluate(x: Array) -> Array:
        g = 1 + ((x[:, 2:] - 0.5) ** 2).sum(1)
        a, b = np.pi / 2 * x[:, 0], np.pi / 2 * x[:, 1]
        return -g[:, None] * np.column_stack(
            [np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)]
        )

    # The front is an eighth of the unit sphere.
    best = 1.1**3 - np.pi / 6
    return Problem(evaluate, 5, np.full(3, -1.1), -np.eye(3), best=best)


def branin_currin() -> Problem:
    def evaluate(x: Array) -> Array:
        a, b = 15 * x[:, 0] - 5, 15 * x[:, 1]
        square = (b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6) ** 2
        branin = square + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10
        first = x[:, 0]
        top = 2300 * first**3 + 1900 * first**2 + 2092 * first + 60
        under = 100 * first**3 + 500 * first**2 + 4 * first + 20
        with np.errstate(divide="ignore"):
            currin = (1 - np.exp(-1 / (2 * x[:, 1]))) * top / under
        return -np.column_stack([branin, currin])

    side = np.linspace(0, 1, 801)
    grid = evaluate(np.stack(np.meshgrid(side, side), -1).reshape(-1, 2))
    reference = np.array([-18.0, -6.0])
    # The best value known, of BoTorch's test functions.
    return Problem(
        evaluate, 2, reference, thin_out(grid[(grid > reference).all(1)]), best=59.36011875
    )


def vlmop2() -> Problem:
    def evaluate(x: Array) -> Array:
        z = 4 * x - 2
        away = [((z - sign / np.sqrt(2)) ** 2).sum(1) for sign in (1, -1)]
        return -np.column_stack([1 - np.exp(-one) for one in away])

    along = np.linspace(-1, 1, 1000)[:, None] / np.sqrt(2)
    return Problem(evaluate, 2, np.array([-1.1, -1.1]), evaluate((along * np.ones(2) + 2) / 4))


def fullerenes() -> Problem:
    """A reaction: much product in a short time, which is one of its columns."""
    table = load_table("fullerenes")
    rows = table.frame.to_numpy(dtype=float)
    time_taken = rows[:, list(table.frame.columns).index("reaction_time")]
    return of_table(rows, np.column_stack([table.values, -time_taken]))


def synthetic() -> Problem:
    """300 random rows of 4 columns; two objectives that are smooth and disagree."""
    rng = np.random.default_rng(7)
    rows = rng.random((300, 4))
    first = np.sin(3 * rows[:, 0]) + rows[:, 1] - (rows[:, 2] - 0.4) ** 2
    second = np.cos(3 * rows[:, 0]) - rows[:, 1] ** 2 + 0.5 * np.sin(5 * rows[:, 3])
    return of_table(rows, np.column_stack([first, second]))


def of_table(rows: Array, values: Array) -> Problem:
    """Return the problem of a table; its reference is the median of each objective."""
    unit = (rows - rows.min(0)) / np.ptp(rows, axis=0)
    front = thin_out(values)
    reference = np.median(values, axis=0)
    return Problem(look_up(unit, values), rows.shape[1], reference, front, rows=unit)


def thin_out(values: Array) -> Array:
    """Return the front of many values of two objectives."""
    ordered = values[np.lexsort((-values[:, 1], -values[:, 0]))]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(ordered[:, 1])[:-1]])
    return np.asarray(ordered[ordered[:, 1] > before])


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "zdt1": zdt1,
    "dtlz2": dtlz2,
    "branin-currin": branin_currin,
    "vlmop2": vlmop2,
    "fullerenes": fullerenes,
    "synthetic": synthetic,
}
NOISY = ("zdt1", "branin-currin")
find_problem = cache(lambda name: PROBLEMS[name]())


def look_for_front(problem: Problem, seed: int, rounds: int, told: bool) -> outcomes.Player:
    """Return our search, which may be told the reference of the problem."""
    k = len(problem.reference)
    policies = [kb.Auto(problem.domain, seed=seed, rounds=rounds) for _ in range(k)]
    first, *others = policies
    reference = problem.reference.tolist() if told else None
    return outcomes.Player(policies, first.trading_off(*others, reference=reference))


def make_player(name: str, problem: Problem, seed: int, rounds: int) -> Any:
    if name in outcomes.AUTO:
        return look_for_front(problem, seed, rounds, told=name != "auto")
    if name == "random":
        return RandomPlaces(problem, seed, rounds)
    rivals = import_module("benchmarks.opponents.outcomes")
    return rivals.FRONT_MAKERS[name](problem, seed)


def play(game: Game) -> dict[str, Any]:
    """Play one game; keep its regret after the looks, and the processor time of the player."""
    problem = find_problem(game.problem)
    player = make_player(game.player, problem, game.seed, MEASUREMENTS)
    noise = game.noise * problem.spread
    seen, stored = outcomes.measure(game, player, problem, MEASUREMENTS, noise)
    greatest = problem.greatest
    regrets = [1 - hypervolume(seen[:at], problem.reference) / greatest for at in LOOKS]
    return {**stored, "regrets": regrets}


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    outcomes.arguments(command, SEEDS, PLAYERS, OURS, PROBLEMS)


def run(given: argparse.Namespace) -> None:
    """Play what is missing and write the table."""
    tasks = [
        (problem, noise)
        for problem in given.problems
        for noise in ((0.0, NOISE) if problem in NOISY else (0.0,))
    ]
    games = outcomes.list_games(tasks, given.players, given.seeds)
    play_missing(ROWS, games, play, given.minutes)
    TABLE.write_text(summarise(read_games(ROWS, Game._fields)), "utf-8")


def summarise(rows: dict[Any, dict[str, Any]]) -> str:
    """Return the table: means of the regrets with their standard errors, and times."""
    lines = [f"# {(__doc__ or '').splitlines()[0]}", ""]
    lines += [
        "The share of the greatest hypervolume that is missing, in percent, with the standard"
    ]
    lines += ["error of the mean over seeds. Bold: our search, where its mean is the least.", ""]
    for place, look in enumerate(LOOKS):
        lines += [f"## After {look} measurements", ""]
        lines += [f"| problem | noise | {' | '.join(PLAYERS)} |"]
        lines += ["|---|--:|" + "--:|" * len(PLAYERS)]
        percent = [{**row, "regret": 100 * row["regrets"][place]} for row in rows.values()]
        for problem, noise, figures in outcomes.group_games(percent, itemgetter("regret")):
            lines += [f"| {problem} | {noise:g} | {outcomes.show_means(PLAYERS, figures, 1)} |"]
        lines += [""]
    lines += outcomes.show_times(list(rows.values()), PLAYERS)
    return "\n".join(lines) + "\n"
