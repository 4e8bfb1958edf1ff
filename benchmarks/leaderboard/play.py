"""Play the cells of the leaderboard that the file of rows does not hold yet.

Policies are built as `kb.run_experiment` builds them, from their names or from a class of your own,
and play by `ask` and `tell`. All policies of a seed meet the same function and the same noise.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import time
import tracemalloc
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import kernelbandits as kb
from benchmarks import machine
from benchmarks.leaderboard.problems import NOISE_SCALE, PROBLEMS
from benchmarks.leaderboard.rows import OVER, PLAYED, REFUSED, BoardRow, append, read
from benchmarks.opponents import source_hash
from benchmarks.search.play import play_games
from kernelbandits.analysis.certificates import certify_run
from kernelbandits.catalogue import POLICIES, policy_entry
from kernelbandits.catalogue.user_policy import unwrap
from kernelbandits.experiment import Cell
from kernelbandits.experiment.runner import plan_experiment
from kernelbandits.problems import Instance

HORIZONS = (100, 1000, 10_000)
SEEDS = tuple(range(5))
ROWS = Path(__file__).parents[1] / "results" / "leaderboard.jsonl"
LIMIT = 600.0
"""Seconds of the processor for ask and tell of a cell, all seeds together."""
FIRST_SHARE = 0.01
"""A cell is judged by its first rounds once they took this share of the limit: the very first ones
load modules, and say nothing about the others."""
MEMORY_ROUNDS = 100
"""Memory is measured in a run of at most so many rounds, which it makes slower."""
DEFAULTS = {"generic-gp": "generic-gp:exploration=adaptive-bernoulli(1)"}
"""The policies that cannot be built from R, D and the horizon alone, with what they are given."""
CATALOGUE = tuple(DEFAULTS.get(name, name) for name in POLICIES)


class OverTime(Exception):
    """A cell takes longer than the limit."""


@dataclass
class Clock:
    """The processor time of a cell, and what it will be after all rounds."""

    rounds: int
    """Rounds of all seeds."""
    limit: float = LIMIT
    spent: float = 0.0
    played: int = 0
    _mark: tuple[int, float] = field(default=(0, 0.0))
    """Rounds and seconds when half as many had been played."""

    def add(self, seconds: float) -> None:
        """Count a round; refuse to go on if the cell takes too long."""
        self.spent += seconds
        self.played += 1
        if self.spent > self.limit:
            raise OverTime(f"{self._describe()} took {self.spent / 60:.3g} CPU minutes")
        if self.played & (self.played - 1) == 0:
            expected = self._expect()
            if self.spent > FIRST_SHARE * self.limit and expected > self.limit:
                raise OverTime(f"{self._describe()} promise {expected / 60:.3g} CPU minutes")
            self._mark = self.played, self.spent

    def _expect(self) -> float:
        """Return the seconds of all rounds, if the others take as long as the latest half."""
        played, spent = self._mark
        rate = (self.spent - spent) / (self.played - played)
        return self.spent + rate * (self.rounds - self.played)

    def _describe(self) -> str:
        return f"the first {self.played} of {self.rounds} rounds"


# The policies


def read_entrant(text: str) -> Any:
    """Return what `kb.run_experiment` takes: a name of the catalogue, or the object of module:name.

    >>> read_entrant("simple-bernoulli:p=0.25")
    'simple-bernoulli:p=0.25'
    >>> read_entrant("kernelbandits.policies:Greedy").__name__
    'Greedy'
    """
    name, colon, attribute = text.partition(":")
    if name in POLICIES or not colon:
        policy_entry(name)
        return text
    try:
        return getattr(import_module(name), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{text} needs to be a policy of the catalogue or module:name of your own, "
            f"got {type(error).__name__}: {error}"
        ) from error


def version_of(text: str) -> str:
    """Return what tells one version of a policy from another.

    Of a policy of the catalogue it is its revision, of your own a hash of its file.
    """
    entrant = read_entrant(text)
    if isinstance(entrant, str):
        revision = policy_entry(text.partition(":")[0]).constructor.revision
        return f"{kb.__version__} revision {revision}"
    source = inspect.getsourcefile(unwrap(entrant))
    assert source is not None
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()[:8]


def check_policies(policies: Sequence[str]) -> None:
    """Refuse a policy that does not exist, or with settings that it does not take."""
    for policy in policies:
        BoardGame("independent", policy, HORIZONS[0], version_of(policy)).cell()


# A cell


@dataclass(frozen=True)
class BoardGame:
    """A cell to play, known by the texts from which another process can build it."""

    problem: str
    policy: str
    horizon: int
    version: str
    seeds: tuple[int, ...] = SEEDS
    limit: float = LIMIT

    @property
    def key(self) -> tuple[Any, ...]:
        return self.problem, self.policy, self.horizon, self.version, self.seeds

    def cell(self) -> Cell:
        """Return the cell that `kb.run_experiment` would play."""
        board = PROBLEMS[self.problem]
        [cell] = plan_experiment(
            [board.build()],
            [read_entrant(self.policy)],
            kernel=board.kernel,
            horizon=self.horizon,
            seeds=self.seeds,
            noise_scale=NOISE_SCALE,
            norm_bound=board.norm_bound,
        )
        return cell


def play_game(game: BoardGame) -> BoardRow:
    """Play all seeds of a cell, or say why it is not played."""
    with machine.threads.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell = game.cell()
        found: dict[str, Any]
        try:
            found = {"status": PLAYED, **play_cell(cell, game)}
        except OverTime as slow:
            found = {"status": OVER, "reason": str(slow)}
        except ValueError as refusal:
            found = {"status": REFUSED, "reason": str(refusal)}
    return BoardRow(
        game.problem,
        game.policy,
        game.horizon,
        game.version,
        game.seeds,
        source_hash(),
        machine.processor(),
        **found,
    )


def play_cell(cell: Cell, game: BoardGame) -> dict[str, Any]:
    """Return what the row of a cell says besides its names."""
    clock = Clock(cell.horizon * len(cell.seeds), game.limit)
    scales = NOISE_SCALE, PROBLEMS[game.problem].norm_bound
    regret, early, certified, uniform = [], [], [], []
    for seed in cell.seeds:
        instance = cell.problem.instance(kb.Streams(seed))
        arms, rewards = play_seed(cell, instance, seed, clock)
        lost = np.cumsum(instance.regrets(arms))
        regret.append(float(lost[-1]))
        early.append(float(lost[cell.horizon // 10 - 1]))
        last = np.array([cell.horizon])
        certified += certify_run(cell.kernel, instance, arms, rewards, last, *scales)
        uniform.append(cell.horizon * float(instance.gaps.mean()))
    return {
        "regret": tuple(round(value, 6) for value in regret),
        "early": tuple(round(value, 6) for value in early),
        "certified": tuple(round(value, 6) for value in certified),
        "uniform": round(float(np.mean(uniform)), 6),
        "seconds": round(clock.spent / clock.played, 9),
        "megabytes": round(peak_megabytes(cell), 4),
    }


def play_seed(cell: Cell, instance: Instance, seed: int, clock: Clock) -> tuple[Any, Any]:
    """Return the arms and rewards of all rounds; only ask and tell are timed."""
    streams, now = kb.Streams(seed), time.process_time
    policy = cell.contender.build(instance, cell.kernel)
    arms, rewards = np.empty(cell.horizon, dtype=np.intp), np.empty(cell.horizon)
    for t in range(1, cell.horizon + 1):
        began = now()
        choice = policy.ask(t, streams)
        asked = now()
        arm = int(choice.arm or 0)
        reward = instance.pull(arm, streams.uniform("noise", t), t)
        heard = now()
        policy.tell(choice, reward)
        clock.add(now() - heard + asked - began)
        arms[t - 1], rewards[t - 1] = arm, reward
    return arms, rewards


def peak_megabytes(cell: Cell) -> float:
    """Return the greatest memory of Python and numpy in a run of its own, of the first seed.

    What the instance holds is not counted.
    """
    seed = cell.seeds[0]
    streams, instance = kb.Streams(seed), cell.problem.instance(kb.Streams(seed))
    tracemalloc.start()
    try:
        policy = cell.contender.build(instance, cell.kernel)
        for t in range(1, min(cell.horizon, MEMORY_ROUNDS) + 1):
            choice = policy.ask(t, streams)
            policy.tell(choice, instance.pull(int(choice.arm or 0), streams.uniform("noise", t), t))
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


# The run


def schedule(
    policies: Sequence[str], problems: Sequence[str], horizons: Sequence[int]
) -> Iterator[BoardGame]:
    """Yield the cells: short horizons first, all policies of a problem before the next problem."""
    versions = {policy: version_of(policy) for policy in dict.fromkeys(policies)}
    for horizon in sorted(horizons):
        for problem in problems:
            for policy, version in versions.items():
                yield BoardGame(problem, policy, horizon, version)


def play(
    policies: Sequence[str] = CATALOGUE,
    problems: Sequence[str] = tuple(PROBLEMS),
    horizons: Sequence[int] = HORIZONS,
    minutes: float | None = None,
    path: Path = ROWS,
    workers: int = 1,
) -> None:
    """Play what the file does not hold yet; what is not there is left out and said to be."""
    until = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    there = [name for name in problems if not said_unavailable(name)]
    done = {row.key for row in read(path)}
    games = [game for game in schedule(policies, there, horizons) if game.key not in done]
    print(f"{len(games)} cells to play", file=sys.stderr, flush=True)
    for number, row in enumerate(play_games(games, until, workers, play_game), 1):
        append(path, row)
        tell_progress(row, number, len(games))


def said_unavailable(name: str) -> bool:
    """Only the films need a file."""
    try:
        PROBLEMS[name].build()
    except FileNotFoundError as absent:
        print(f"{name} is left out: {absent}", file=sys.stderr, flush=True)
        return True
    return False


def tell_progress(row: BoardRow, number: int, games: int) -> None:
    place = f"{number}/{games} T = {row.horizon} {row.problem:14} {row.policy:26}"
    found = row.reason
    if row.is_played:
        found = f"{row.mean_regret:9.2f} {row.mean_certified:9.2f} {1e3 * row.seconds:8.3f} ms"
    print(f"{place} {found}", file=sys.stderr, flush=True)
